package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Each format that has a name has a reader, and files that are told by their
// names.
func TestFormats(t *testing.T) {
	const path = "source.go"
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 && strings.HasPrefix(v.Names[0].Name, "Format") {
			if text, ok := v.Values[0].(*ast.BasicLit); ok {
				name, _ := strconv.Unquote(text.Value) // it compiles
				named = append(named, name)
			}
		}
		return true
	})
	have := Formats()
	for _, name := range named {
		if !slices.Contains(have, name) {
			t.Errorf("data/source/%s: format %s has no reader among formats", path, name)
		}
	}
	if slices.Sort(have); len(named) != len(have) || len(slices.Compact(have)) != len(named) {
		t.Errorf("formats %v, names %v", Formats(), named)
	}
	for _, f := range formats {
		if f.open == nil || !slices.Contains(slices.Collect(maps.Values(extensions)), f.name) {
			t.Errorf("data/source: format %s: no reader in formats (source.go), or no file name in extensions (detect.go)", f.name)
		}
	}
}
