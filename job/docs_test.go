package job

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "make the table of stages in docs/architecture.md anew")

// The table of stages in architecture.md is the list of stages.
func TestArchitecture(t *testing.T) {
	const path, mark = "docs/architecture.md", "<!-- stages -->\n"
	var table strings.Builder
	table.WriteString("| stage | tasks | of | from → to |\n|---|---|---|---|\n")
	for _, s := range stages {
		tasks, of := "one", s.Of
		if s.PerSplit() {
			tasks = "each split"
		}
		if of == "" {
			of = "every run"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", s.Name, tasks, of, s.Doc)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, after, ok := strings.Cut(string(text), mark)
	if !ok {
		t.Fatalf("%s has no %s", path, mark)
	}
	old, rest, _ := strings.Cut(after, "\n\n")
	if want := strings.TrimSuffix(table.String(), "\n"); old != want {
		if !*update {
			t.Fatalf("%s does not list the stages as they are: go test ./job -run TestArchitecture -update makes it", path)
		}
		if err := os.WriteFile(path, []byte(before+mark+want+"\n\n"+rest), 0o644); err != nil { //nolint:gosec // a page of the repository
			t.Fatal(err)
		}
	}
}
