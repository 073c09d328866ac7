package eval

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "make the tables of definitions, edits and methods in job/docs/evaluation.md anew")

// The tables of definitions, edits and methods in evaluation.md are what the code states.
func TestAccuracyPage(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "evaluation.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	methods := "| method | what it takes for near-duplicates | source |\n|---|---|---|\n"
	for _, m := range Methods() {
		methods += fmt.Sprintf("| `%s` | %s | %s |\n", m.Name, strings.ReplaceAll(m.Doc, "|", "\\|"), m.Source)
	}
	definitions, edits := "| `--truth` | a pair is right when | in a report |\n|---|---|---|\n", "| edit | what it does | strength | in the sources' protocol |\n|---|---|---|---|\n"
	for _, d := range Definitions() {
		definitions += fmt.Sprintf("| `%s` | %s | %s |\n", d.Name, d.Doc, d.condition(0.5))
	}
	for _, e := range Edits() {
		paper := ""
		if e.paper > 0 {
			paper = Planned{e.Name, e.paper}.String()
		}
		edits += fmt.Sprintf("| `%s` | %s | 0 to %v | %s |\n", e.Name, e.Doc, e.Most, paper)
	}
	text := string(page)
	for mark, table := range map[string]string{"<!-- definitions -->\n": definitions, "<!-- edits -->\n": edits, "<!-- methods -->\n": methods} {
		before, after, ok := strings.Cut(text, mark)
		if !ok {
			t.Fatalf("%s has no %s", path, mark)
		}
		_, rest, _ := strings.Cut(after, "\n\n")
		text = before + mark + table + "\n" + rest
	}
	switch {
	case text == string(page):
	case !*update:
		t.Errorf("%s says something else than the code: go test ./job/internal/eval -run TestAccuracyPage -update makes it", path)
	default:
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // a page of the repository
			t.Fatal(err)
		}
	}
}
