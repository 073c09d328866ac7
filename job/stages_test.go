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
		case s.Task == nil && (s.Reads != nil || s.Counts != nil || s.Analyzes):
			wrong("is one task of this process: Reads, Counts and Analyzes are for tasks of splits")
		}
	}
}

// Every function of the engine that has the form of a task of a split is a
// listed stage's: no other ever runs.
func TestTasksAreStages(t *testing.T) {
	listed := map[string]bool{}
	for _, s := range SplitStages() {
		name := runtime.FuncForPC(reflect.ValueOf(s.Task).Pointer()).Name()
		listed[name[strings.LastIndex(name, ".")+1:]] = true
	}
	const folder = "internal/engine"
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	tasks := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		path := filepath.Join(folder, e.Name())
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !isTask(f.Type) {
				continue
			}
			tasks++
			if !listed[f.Name.Name] {
				t.Errorf("job/%s: %s is the task of a split, and no stage in job/stages.go has it", path, f.Name.Name)
			}
		}
	}
	if tasks != len(listed) {
		t.Errorf("%d functions of package engine are tasks, %d are listed", tasks, len(listed))
	}
}

// isTask reports whether a function of package engine has the parameters of a
// stage's Task.
func isTask(f *ast.FuncType) bool {
	var types []string
	for _, p := range f.Params.List {
		for range max(1, len(p.Names)) {
			types = append(types, typeName(p.Type))
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
