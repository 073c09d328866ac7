package job_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/method"
)

// Every setting is read by what it is for. That its value is checked, or set to
// a default, is no use of it.
func TestSettingsAreRead(t *testing.T) {
	if testing.Short() {
		t.Skip("checks the types of all packages")
	}
	read := readFields(t)
	var visit func(prefix string, of reflect.Type)
	visit = func(prefix string, of reflect.Type) {
		for i := range of.NumField() {
			f := of.Field(i)
			name, inline, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			switch {
			case inline != "":
				visit(prefix, f.Type)
			case f.Type.Kind() == reflect.Struct:
				visit(name+".", f.Type)
			case !read[of.PkgPath()+"."+of.Name()+"."+f.Name]:
				t.Errorf("setting %s%s: no program reads %s.%s of %s: who sets it changes nothing", prefix, name, of.Name(), f.Name, of.PkgPath())
			}
		}
	}
	visit("", reflect.TypeFor[config.Config]())
}

// readFields are the fields of the structs of packages config and simhash that
// the code of our packages reads, as package.Struct.Field, but for reads in
// functions that check settings or fill them in.
func readFields(t *testing.T) map[string]bool {
	t.Helper()
	settings := []string{module + "job/internal/config", module + "simhash"}
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,GoFiles,CgoFiles,Export", module+"...")
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles, CgoFiles       []string
	}
	exports, ours := map[string]string{}, []listed{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, module) && len(p.CgoFiles) == 0 {
			ours = append(ours, p)
		}
	}
	files := token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("go list has no export data of %s", path)
		}
		return os.Open(exports[path])
	})
	read := map[string]bool{}
	for _, p := range ours {
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, f)
		}
		info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
		if _, err := (&types.Config{Importer: imports}).Check(p.ImportPath, files, parsed, info); err != nil {
			t.Fatal(err)
		}
		for _, f := range parsed {
			for _, d := range f.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && slices.Contains(settings, p.ImportPath) && slices.Contains([]string{"Check", "Default", "preset", "Recorded"}, f.Name.Name) {
					continue
				}
				eachRead(d, func(s *ast.SelectorExpr) {
					if of := info.Selections[s]; of != nil && of.Kind() == types.FieldVal {
						read[fieldName(of)] = true
					}
				})
			}
		}
	}
	return read
}

// eachRead calls yield with the selectors below n that are not assigned to.
func eachRead(n ast.Node, yield func(*ast.SelectorExpr)) {
	assigned := map[ast.Expr]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.ASSIGN {
				for _, to := range n.Lhs {
					assigned[to] = true
				}
			}
		case *ast.SelectorExpr:
			if !assigned[n] {
				yield(n)
			}
		}
		return true
	})
}

// fieldName is a selected field as package.Struct.Field, of the struct that
// declares it.
func fieldName(s *types.Selection) string {
	of := s.Recv()
	for _, at := range s.Index()[:len(s.Index())-1] {
		of = structOf(of).Field(at).Type()
	}
	if p, ok := of.Underlying().(*types.Pointer); ok {
		of = p.Elem()
	}
	name, ok := types.Unalias(of).(*types.Named)
	if !ok {
		return ""
	}
	return name.Obj().Pkg().Path() + "." + name.Obj().Name() + "." + s.Obj().Name()
}

func structOf(t types.Type) *types.Struct {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	return t.Underlying().(*types.Struct)
}

// A program has gojieba only if it imports package job/gojieba, as the command does.
func TestWithoutGojieba(t *testing.T) {
	f := config.Default().Features
	f.Segmenter = config.SegmenterGojieba
	_, _, err := method.NewAnalyzer(f)
	if wrong, ok := errors.AsType[*config.SettingError](err); !ok || wrong.Value != config.SegmenterGojieba {
		t.Errorf("got %v, want the setting refused", err)
	}
}
