package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// What against.md shows that a run over the sample prints is what it prints, but
// for time and memory.
func TestAgainstPage(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "job", "docs", "against.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Symlink(filepath.Join(root, "data"), "data"); err != nil {
		t.Skipf("no links here: %v", err)
	}
	evals := regexp.MustCompile("(?s)```jsonl\n(.*?)```").FindSubmatch(page)
	at := regexp.MustCompile("(?s)neardup run data/sample --against evals.jsonl --out checked\n```\n\n```\n(.*?)```").FindSubmatchIndex(page)
	if evals == nil || at == nil {
		t.Fatalf("%s does not show the run", path)
	}
	if err := os.WriteFile("evals.jsonl", evals[1], 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := Main([]string{"run", "data/sample", "--against", "evals.jsonl", "--out", "checked"}, bytes.NewReader(nil), &stdout, &stderr); code != exitDone {
		t.Fatalf("exit code %d, said: %s", code, &stderr)
	}
	machines := regexp.MustCompile(`(?m)^(time|peak memory) .*$|^ +[\d.]+m?s  against$`)
	mask := func(text []byte) []byte { return machines.ReplaceAll(text, []byte("$1")) }
	if bytes.Equal(mask(page[at[2]:at[3]]), mask(stdout.Bytes())) {
		return
	}
	if !*update {
		t.Fatalf("%s shows something else than is printed; go test ./job/internal/cli -run TestAgainstPage -update makes it:\n%s", path, &stdout)
	}
	page = bytes.Join([][]byte{page[:at[2]], stdout.Bytes(), page[at[3]:]}, nil)
	if err := os.WriteFile(path, page, 0o644); err != nil { //nolint:gosec // a page of the documentation
		t.Fatal(err)
	}
}
