package message

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// unsaid are the folders whose errors no command prints to a person: what hosts
// of a cluster tell each other, and mistakes of a Go program.
var unsaid = []string{
	"job/internal/engine/gleam", "job/internal/nightstest", "job/dedup", "job/internal/state/spill", "data/object/objecttest", "data/internal/page", "data/wal",
	"simhash/hamming", "simhash/passage", "simhash/sketch", "simhash/gojieba",
}

// form is the format of an expression: of a literal, of a sum with %s for what is
// none, of a call of Sprintf.
func form(e ast.Expr) (format string, ok bool) {
	switch x := e.(type) {
	case *ast.BasicLit:
		if x.Kind == token.STRING {
			text, err := strconv.Unquote(x.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		left, isLeft := form(x.X)
		right, isRight := form(x.Y)
		if !isLeft {
			left = "%s"
		}
		if !isRight {
			right = "%s"
		}
		return left + right, isLeft || isRight
	case *ast.CallExpr:
		if f, is := x.Fun.(*ast.SelectorExpr); is && f.Sel.Name == "Sprintf" {
			return form(x.Args[0])
		}
	}
	return "", false
}

// errorForms are the formats of the errors that commands print, with where.
// every has any other text of the code too.
func errorForms(t *testing.T) (all map[string]string, every map[string]bool) {
	t.Helper()
	all, every = map[string]string{}, map[string]bool{}
	root := filepath.Join("..", "..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "message" || d.Name() == ".git" || slices.Contains(unsaid, filepath.ToSlash(rel))):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		add := func(e ast.Expr) {
			if text, ok := form(e); ok && speaks(text) {
				all[text] = set.Position(e.Pos()).String()
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if len(n.Args) > 0 && isError(n.Fun) {
					add(n.Args[0])
				}
				if slices.Contains(logs, funcName(n.Fun)) && len(n.Args) > 0 && !isCall(n.Args[0]) {
					add(n.Args[0])
				}
				if name := funcName(n.Fun); slices.Contains([]string{"Info", "Warn", "Debug", "warn", "Text", "group"}, name) || name == "fail" && file.Name.Name == "lookup" || strings.HasSuffix(name, "Var") || strings.HasSuffix(name, "VarP") {
					made := len(n.Args) > 0 && isCall(n.Args[0])
					return name == "group" || made // in the log, in the help, or in an answer by HTTP
				}
			case *ast.Field:
				return n.Tag == nil
			case *ast.KeyValueExpr:
				name, _ := n.Key.(*ast.Ident)
				switch {
				case name == nil:
				case name.Name == "Remedy":
					add(n.Value)
				case slices.Contains([]string{"Short", "Long", "Example", "Use"}, name.Name):
					return false
				}
			case *ast.CompositeLit:
				if name := typeName(n.Type); name == "SettingError" && len(n.Elts) == 3 {
					add(n.Elts[2])
				}
			case *ast.AssignStmt:
				if name, ok := n.Lhs[0].(*ast.Ident); ok && name.Name == "remedy" {
					add(n.Rhs[0])
				}
			case *ast.FuncDecl: // Error itself, and those that say what a setting may be
				if n.Body == nil || n.Name.Name != "Error" && n.Name.Name != "Problem" && n.Name.Name != "firstDifference" && (n.Name.Name != "Check" || file.Name.Name != "config") {
					return true
				}
				ast.Inspect(n.Body, func(n ast.Node) bool {
					if e, ok := n.(ast.Expr); ok {
						if text, ok := form(e); ok && strings.Contains(text, " ") {
							add(e)
							return false
						}
					}
					return true
				})
			case ast.Expr:
				if text, ok := form(n); ok {
					every[text] = true
					if remedy.MatchString(text) && !strings.Contains(text, "\n") {
						add(n)
						return false
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, every
}

// logs are the names of functions that write a sentence to the log.
var logs = []string{"Debug", "Info", "Warn", "Error", "warn"}

// typeName is a type's name, without its package.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// remedy is in what tells a person what to do.
var remedy = regexp.MustCompile(`(?:^|[:;,] |, or )(?:write|name|give|mend|raise|put|remove|unpack|save|convert|recompress|let|choose|look into|set) `)

// funcName is the name of a function that is called, without what it is of.
func funcName(f ast.Expr) string {
	switch f := f.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// isError reports whether a function makes an error of a format.
func isError(f ast.Expr) bool {
	of, ok := f.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, _ := of.X.(*ast.Ident)
	switch name := of.Sel.Name; {
	case name == "wrong":
		return true
	case x == nil:
		return false
	}
	return slices.Contains([]string{"fmt.Errorf", "errors.New", "message.Key"}, x.Name+"."+of.Sel.Name)
}

// speaks reports whether a format has words of its own.
func speaks(format string) bool {
	return regexp.MustCompile(`[A-Za-z]{2}`).MatchString(verb.ReplaceAllString(format, ""))
}

// Every error that a command can print has a Chinese form, and every Chinese form
// is that of an error.
func TestErrorsHaveChinese(t *testing.T) {
	used, every := errorForms(t)
	if len(used) < 400 {
		t.Fatalf("only %d errors were found", len(used))
	}
	for format, where := range used {
		if failures[format] == "" && chinese[format] == "" {
			t.Errorf("%s: no Chinese form of %q", where, format)
		}
	}
	for format := range failures {
		if used[format] == "" && !every[format] {
			t.Errorf("nothing says %q", format)
		}
	}
}

// An error is found again by its form, whatever stands in it, and all of that is
// said.
func TestErrorIsFoundAgain(t *testing.T) {
	verbs := func(form string) (all []string) {
		for _, m := range verb.FindAllStringSubmatch(form, -1) {
			if m[2] != "%" {
				all = append(all, m[0])
			}
		}
		return all
	}
	for format, form := range failures {
		want := verbs(format)
		if got := verbs(form); len(got) != len(want) {
			t.Errorf("%q takes %d, in Chinese %d: %q", format, len(want), len(got), form)
			continue
		}
		var args []any
		for i, v := range want {
			switch v[len(v)-1] {
			case 'd', 'x', 'c':
				args = append(args, 100+i)
			case 'f':
				args = append(args, 0.5)
			case 't':
				args = append(args, true)
			case 'w':
				args = append(args, fmt.Errorf("/%d", i))
			default:
				args = append(args, fmt.Sprintf("/%d", i))
			}
		}
		err := errors.New(format)
		if len(args) > 0 {
			err = fmt.Errorf(format, args...)
		}
		said := Chinese.Error(err)
		if said == err.Error() || !regexp.MustCompile(`\p{Han}|：|，`).MatchString(said) {
			t.Errorf("%q is said as %q", err, said)
		}
		for i, arg := range args {
			if text := fmt.Sprintf(strings.Replace(want[i], "w", "v", 1), arg); !strings.Contains(said, text) {
				t.Errorf("%q does not say %q: %q", err, text, said)
			}
		}
	}
}

func TestErrorInChinese(t *testing.T) {
	gone := &fs.PathError{Op: "open", Path: "b.yaml", Err: fs.ErrNotExist}
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("--config %s: %w: name a file that is there", "a.yaml", fs.ErrNotExist), "--config a.yaml：文件不存在：请指明存在的文件"},
		{fmt.Errorf("config: %w", gone), "设置：打开 b.yaml：文件不存在"},
		{errors.Join(errors.New("write en or zh"), gone), "请写 en 或 zh\n打开 b.yaml：文件不存在"},
		{errors.New("who knows: what this is"), "who knows: what this is"},
	} {
		if got := Chinese.Error(c.err); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		if got := English.Error(c.err); got != c.err.Error() {
			t.Errorf("in English %q, want %q", got, c.err)
		}
	}
}

func isCall(e ast.Expr) bool { _, ok := e.(*ast.CallExpr); return ok }
