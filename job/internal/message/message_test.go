package message

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/state/decision"
	"github.com/neardup/neardup/simhash"
)

// used are the keys that the project's code and pages say, with where.
func used(t *testing.T) (texts, counted map[string]string) {
	t.Helper()
	texts, counted = map[string]string{}, map[string]string{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || filepath.Base(filepath.Dir(path)) == "message" {
			return err
		}
		switch filepath.Ext(path) {
		case ".go":
			return inCode(t, path, texts, counted)
		case ".html":
			return onPage(path, texts, counted)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts, counted
}

// inCode collects the constants that a Go file gives to Text, Count and Key.
func inCode(t *testing.T, path string, texts, counted map[string]string) error {
	body, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(body), "job/internal/message") && !strings.Contains(string(body), "std.language") {
		return err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, body, 0)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if of, is := f.X.(*ast.Ident); is && slices.Contains([]string{"strings", "bytes", "show"}, of.Name) {
			return true
		}
		at := map[string]int{"Text": 0, "Key": 0, "Count": 1}
		i, ours := at[f.Sel.Name]
		if !ours || i >= len(call.Args) {
			return true
		}
		if l, ok := call.Args[i].(*ast.BasicLit); ok && l.Kind == token.STRING {
			key, err := strconv.Unquote(l.Value)
			if err != nil {
				t.Fatal(err)
			}
			to := texts
			if i == 1 {
				to = counted
			}
			to[key] = set.Position(l.Pos()).String()
		}
		return true
	})
	return nil
}

var (
	pageText  = regexp.MustCompile(`\b(?:say|table|\.Text|named [.$][\w.]*) "((?:[^"\\]|\\.)*)"`)
	pageTable = regexp.MustCompile(`\btable "[^"]*" "([^"]+)"`)
	pageCount = regexp.MustCompile(`\bsome [.$]?[\w.]+ "([^"]+)"`)
)

// onPage collects those of a page.
func onPage(path string, texts, counted map[string]string) error {
	body, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(body), "{{say ") {
		return err
	}
	for _, of := range []struct {
		is *regexp.Regexp
		to map[string]string
	}{{pageText, texts}, {pageTable, texts}, {pageCount, counted}} {
		for _, m := range of.is.FindAllStringSubmatch(string(body), -1) {
			if m[1] != "" {
				of.to[m[1]] = path
			}
		}
	}
	return nil
}

// Every message has a Chinese form, and every Chinese form is that of a message.
func TestCatalogue(t *testing.T) {
	texts, counted := used(t)
	if len(texts) < 100 || len(counted) < 3 {
		t.Fatalf("%d messages and %d things were found", len(texts), len(counted))
	}
	for _, of := range []struct {
		used map[string]string
		have map[string]string
	}{{texts, chinese}, {counted, things}} {
		for key, where := range of.used {
			if of.have[key] == "" && failures[key] == "" {
				t.Errorf("%s: no Chinese form of %q", where, key)
			}
		}
		for key := range of.have {
			if of.used[key] == "" {
				t.Errorf("nothing says %q", key)
			}
		}
	}
}

// printing are the folders whose code prints to people.
var printing = []string{"job", "job/internal/cli", "job/internal/eval", "job/internal/learn", "job/internal/lookup", "job/internal/plan", "job/internal/review", "job/internal/show", "job/internal/stage/history", "job/internal/summary"}

// Nothing is printed that is a sentence of the code itself: it goes through Text,
// Count, Name, Help or Error. Comments of files that are written begin with #, pages with <.
func TestPrintedHasChinese(t *testing.T) {
	sentence := regexp.MustCompile(`[A-Za-z]{2,}[ ,:;]+[A-Za-z]{2,}`)
	prints := []string{"Fprint", "Fprintf", "Fprintln", "WriteString", "Row", "Texts", "Field", "row", "line", "add"}
	calls := 0
	for _, folder := range printing {
		files, err := filepath.Glob(filepath.Join("..", "..", "..", filepath.FromSlash(folder), "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(files), err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !slices.Contains(prints, funcName(call.Fun)) {
					return true
				}
				calls++
				for _, arg := range call.Args {
					ast.Inspect(arg, func(n ast.Node) bool {
						if c, ok := n.(*ast.CallExpr); ok && slices.Contains([]string{"Text", "Count", "Name", "Help", "Error", "Errorf", "Key"}, funcName(c.Fun)) {
							return false
						}
						if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
							if text, _ := strconv.Unquote(l.Value); sentence.MatchString(text) && !strings.HasPrefix(text, "#") && !strings.HasPrefix(text, "<") {
								t.Errorf("%s: %q is printed without a Chinese form", set.Position(l.Pos()), text)
							}
						}
						return true
					})
				}
				return true
			})
		}
	}
	if calls < 100 {
		t.Fatalf("%d calls that print were found", calls)
	}
}

// A Chinese form takes what the English one does.
func TestArguments(t *testing.T) {
	verb := regexp.MustCompile(`%[-+ #0]*[\d.]*(?:\[(\d+)\])?([a-z%])`)
	of := func(form string) (verbs []string) {
		at := 0
		for _, m := range verb.FindAllStringSubmatch(form, -1) {
			if m[2] == "%" {
				continue
			}
			if at++; m[1] != "" {
				at, _ = strconv.Atoi(m[1])
			}
			verbs = append(verbs, strconv.Itoa(at)+m[2])
		}
		slices.Sort(verbs)
		return verbs
	}
	for key, form := range chinese {
		want, got := of(key), of(form)
		if !slices.Equal(want, got) {
			t.Errorf("%q takes %v, in Chinese %v", key, want, got)
		}
		var args []any
		for _, verb := range want {
			args = append(args, map[byte]any{'d': 1, 'f': 0.5}[verb[len(verb)-1]])
			if args[len(args)-1] == nil {
				args[len(args)-1] = "x"
			}
		}
		for _, l := range []Language{English, Chinese} {
			if text := l.Text(key, args...); strings.Contains(text, "%!") {
				t.Errorf("%s of %q: %s", l, key, text)
			}
		}
	}
	if got := of("%[2]d of %s and %.3f, 95 %%"); !slices.Equal(got, []string{"2d", "3s", "4f"}) {
		t.Errorf("%v", got)
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{English.Count(1, "document"), "1 document"},
		{English.Count(1234567, "document"), "1,234,567 documents"},
		{English.Count(2, "earlier night"), "2 earlier nights"},
		{Chinese.Count(1234567, "document"), "1,234,567 篇文档"},
		{English.Text("distance %d", 3), "distance 3"},
		{Chinese.Text("distance %d", 3), "汉明距离 3"},
		{Language("").Text("distance %d", 3), "distance 3"},
		{English.Name("copy"), "copy"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	for name, want := range map[string]Language{"zh_CN.UTF-8": Chinese, "ZH": Chinese, "en_GB": English, "C": English, "": English} {
		if got := Parse(name); got != want {
			t.Errorf("%q is %s", name, got)
		}
		if got := Locale(func(key string) string { return map[string]string{"LANG": name}[key] }); got != want {
			t.Errorf("LANG=%s is %s", name, got)
		}
	}
}

// What tables say of pairs, documents and records has a Chinese form, with the
// word itself.
func TestWords(t *testing.T) {
	all := []string{
		data.ReasonMalformed, data.ReasonTruncated, data.ReasonTooLarge, data.ReasonNoText, data.ReasonUndecodable, data.ReasonNotPage,
		data.ReasonHTTPStatus, data.ReasonDuplicateID, data.ReasonDeleted, data.ReasonUnreadable, data.ReasonDamaged,
		simhash.LengthNormal, "short", "empty", simhash.LengthTemplate, "shell", "error", "login",
	}
	for r := data.ByDistance; r < data.NotTheSame; r++ {
		if r != data.Undecided {
			all = append(all, r.String())
		}
	}
	for r := decision.Copy; r <= decision.Deleted; r++ {
		all = append(all, r.String())
	}
	for _, word := range all {
		if form := Chinese.Name(word); !strings.HasSuffix(form, "("+word+")") || English.Name(word) != word {
			t.Errorf("%q is %q", word, form)
		}
	}
}
