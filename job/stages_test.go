package job

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// An entry of the list says all that engines, progress and documentation ask
// of a stage of its kind.
func TestStages(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range stages {
		wrong := func(what string) { t.Errorf("stages in job/stages.go: %q %s", s.Name, what) }
		if s.Name == "" || seen[s.Name] || strings.ContainsAny(s.Name, "-/ ") {
			wrong("has no name of its own that files of records can have")
		}
		seen[s.Name] = true
		if s.Doc == "" || !strings.Contains(s.Doc, "→") {
			wrong("does not say what becomes of what: Doc")
		}
		if (s.Of == "") != (s.when == nil) {
			wrong("is of some runs alone: both Of and when say of which, or neither")
		}
		switch {
		case s.Task == nil && s.task == nil:
			wrong("does nothing: Task for each split, or task for one")
		case s.Task != nil && s.task != nil:
			wrong("has a task for each split, and one")
		case s.Task != nil && (s.Reads == nil || s.Counts == nil):
			wrong("does not say what its tasks read of the input and what progress counts: Reads, Counts")
		case s.Task == nil && (s.Reads != nil || s.Counts != nil || s.Analyzes || s.Normalizes):
			wrong("is one task of this process: Reads, Counts, Analyzes and Normalizes are for tasks of splits")
		}
	}
}

// Every function of package engine or of a stage's that has the form of a task of a
// split is a listed stage's: no other ever runs.
func TestTasksAreStages(t *testing.T) {
	listed := map[string]bool{} // by package and name
	for _, s := range SplitStages() {
		name := runtime.FuncForPC(reflect.ValueOf(s.Task).Pointer()).Name()
		listed[name[strings.LastIndex(name, "/")+1:]] = true
	}
	tasks := 0
	for _, folder := range []string{"internal/engine", "internal/stage"} {
		eachFile(t, folder, func(path string, file *ast.File) {
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || f.Recv != nil || !isTask(f.Type) {
					continue
				}
				tasks++
				if name := file.Name.Name + "." + f.Name.Name; !listed[name] {
					t.Errorf("job/%s: %s is the task of a split, and no stage in job/stages.go has it", path, name)
				}
			}
		})
	}
	if tasks != len(listed) {
		t.Errorf("%d functions are tasks of splits, %d are listed", tasks, len(listed))
	}
}

// eachFile calls visit with the files of a folder and those below it, but tests.
func eachFile(t *testing.T, folder string, visit func(path string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			visit(path, parse(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Every value of engine.Stage in the code is an entry of the list, or a variable
// of a package that an entry of the list has. One that only repeats the task
// of a listed stage would never run, and nothing else would say so.
func TestStageValuesAreListed(t *testing.T) {
	const list = "stages.go"
	used := map[string]bool{} // variables in the list, by package and name
	ast.Inspect(parse(t, list), func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			used[typeName(s)] = true
		}
		return true
	})
	values := 0
	eachFile(t, ".", func(path string, file *ast.File) {
		if path == list {
			return
		}
		kind := "engine.Stage"
		if file.Name.Name == "engine" {
			kind = "Stage"
		}
		of := map[ast.Node]string{} // the variable that a value is of
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, v := range n.Values {
					of[v] = file.Name.Name + "." + n.Names[i].Name
				}
			case *ast.CompositeLit:
				if typeName(n.Type) != kind || len(n.Elts) == 0 {
					break
				}
				if values++; !used[of[n]] {
					t.Errorf("job/%s: the stage %s is not in the list in job/%s", path, statedName(n), list)
				}
			}
			return true
		})
	})
	if want := len(SplitStages()); values != want {
		t.Errorf("%d values of engine.Stage outside of the list, which has %d stages with a task for each split", values, want)
	}
}

// statedName returns the name that a stage value states, as it is written.
func statedName(n *ast.CompositeLit) string {
	for _, e := range n.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok && typeName(kv.Key) == "Name" {
			if lit, ok := kv.Value.(*ast.BasicLit); ok {
				return lit.Value
			}
			return typeName(kv.Value)
		}
	}
	return "without a name"
}

func parse(t *testing.T, path string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// isTask reports whether a function has the parameters of a stage's Task.
func isTask(f *ast.FuncType) bool {
	var types []string
	for _, p := range f.Params.List {
		for range max(1, len(p.Names)) {
			types = append(types, strings.Replace(typeName(p.Type), "*engine.Job", "*Job", 1)) // package engine says *Job
		}
	}
	return slices.Equal(types, []string{"context.Context", "*Job", "*rundir.TaskRecord", "int"})
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return "*" + typeName(e.X)
	case *ast.SelectorExpr:
		return typeName(e.X) + "." + e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}
