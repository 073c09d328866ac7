package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// What the README, in both languages, shows that a run over the sample prints
// is what it prints, but for time and memory; there is nothing to warn of.
func TestReadmeShowsTheRun(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Symlink(filepath.Join(root, "data"), "data"); err != nil {
		t.Skipf("no links here: %v", err)
	}
	var stdout, stderr bytes.Buffer
	code := Main([]string{"run", "data/sample", "--out", "night1"}, bytes.NewReader(nil), &stdout, &stderr)
	told := regexp.MustCompile(`(?m)^.* msg=progress .*\n`).ReplaceAll(stderr.Bytes(), nil) // of a slow machine
	if code != exitDone || len(told) > 0 {
		t.Fatalf("exit code %d, said: %s", code, told)
	}
	shown := regexp.MustCompile("(?s)neardup run data/sample --out night1\n```\n\n```\n(.*?)```")
	machines := regexp.MustCompile(`(?m)^(time|peak memory) .*$`)
	mask := func(text []byte) []byte { return machines.ReplaceAll(text, []byte("$1")) }
	for _, page := range []string{"README.md", "job/docs/README.zh.md"} {
		path := filepath.Join(root, page)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at := shown.FindSubmatchIndex(text)
		if at == nil {
			t.Fatalf("%s does not show the run", page)
		}
		if said := text[at[2]:at[3]]; bytes.Equal(mask(said), mask(stdout.Bytes())) {
			continue
		}
		if !*update {
			t.Errorf("%s shows something else than is printed; go test ./job/internal/cli -run TestReadme -update makes it:\n%s", page, &stdout)
			continue
		}
		text = bytes.Join([][]byte{text[:at[2]], stdout.Bytes(), text[at[3]:]}, nil)
		if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // a page of the documentation
			t.Fatal(err)
		}
	}
}
