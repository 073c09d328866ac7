package cli

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/neardup/neardup/data/sample"
)

// The scripts of python.md run, each in a folder of its own with pages.jsonl.
func TestPythonPage(t *testing.T) {
	if testing.Short() {
		t.Skip("Python loads large packages: the long tests run the scripts")
	}
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "python.md"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	wrapper := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", asProgram, program)
	if err := os.WriteFile(filepath.Join(bin, "neardup"), []byte(wrapper), 0o700); err != nil { //nolint:gosec // it is executed
		t.Fatal(err)
	}
	folder, err := filepath.Abs(filepath.Join("..", "..", "python"))
	if err != nil {
		t.Fatal(err)
	}
	source := "PYTHONPATH=" + folder // the package as a wheel would bring it
	scripts := regexp.MustCompile("(?s)## ([^\n]+)\n[^#]*?```python\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(scripts) != 6 {
		t.Fatalf("%d scripts", len(scripts))
	}
	for _, script := range scripts {
		t.Run(script[1], func(t *testing.T) {
			first, _, _ := strings.Cut(script[2], "\n")
			needs, ok := strings.CutPrefix(first, "# pip install ")
			if !ok {
				t.Fatalf("its first line does not say what it needs: %s", first)
			}
			needed := exec.Command("python3", "-c", "import "+strings.ReplaceAll(needs, " ", ", "))
			needed.Env = append(os.Environ(), source)
			if needed.Run() != nil {
				t.Skipf("python3 has not all of %s: the script is not run", needs)
			}
			dir := t.TempDir()
			writePages(t, filepath.Join(dir, "pages.jsonl"))
			cmd := exec.Command("python3", "-c", script[2])
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "HF_HOME="+filepath.Join(dir, "hf"), "HF_HUB_OFFLINE=1", source, "NEARDUP="+filepath.Join(bin, "neardup"))
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v:\n%s", err, said)
			}
		})
	}
}

// writePages writes the sample's pages of one file, without the malformed ones.
func writePages(t *testing.T, path string) {
	t.Helper()
	raw, err := fs.ReadFile(sample.Files(), "pages-01.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	out := json.NewEncoder(&lines)
	for line := range strings.Lines(string(raw)) {
		var page struct {
			ID   string `json:"id"`
			Text string `json:"text"`
		}
		if json.Unmarshal([]byte(line), &page) == nil && page.ID != "" && page.Text != "" {
			if err := out.Encode(page); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
