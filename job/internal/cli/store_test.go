package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/data/object/objecttest"
)

// A run whose input stands in an S3 store, and which is published there, has
// the bytes of one on files.
func TestRunInStore(t *testing.T) {
	server := objecttest.Start(t, "crawl")
	dir := t.TempDir()
	in := filepath.Join(dir, "dump")
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}
	dump(t, in, 3, 300)
	whole := compress(t, filepath.Join(in, "002.jsonl"))
	if err := os.WriteFile(filepath.Join(in, "002.jsonl.gz"), whole, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(in, "002.jsonl")); err != nil {
		t.Fatal(err)
	}
	sample := filepath.Join("..", "..", "..", "data", "sample", "crawl-00.warc.gz")
	text, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(in, "crawl-00.warc.gz"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(in, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		server.Put("dump/"+f.Name(), text)
	}
	here, there := filepath.Join(dir, "here"), filepath.Join(dir, "there")
	for _, args := range [][]string{
		{"run", in, "--set", "input.split_bytes=100000", "--out", here},
		{"run", "s3://crawl/dump", "--set", "input.split_bytes=100000", "--out", there, "--publish", "s3://crawl/published/night"},
		{"match", filepath.Join(server.Folder, "published", "night"), "--out", filepath.Join(dir, "again")},
	} {
		cmd, stderr := start(t, args...)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, stderr)
		}
	}
	published := filepath.Join(server.Folder, "published", "night")
	for _, table := range []string{"matches", "clusters"} {
		for _, other := range []string{there, published} {
			if out, err := exec.Command("diff", "-r", filepath.Join(here, table), filepath.Join(other, table)).CombinedOutput(); err != nil {
				t.Errorf("%s of %s: %s", table, other, out)
			}
		}
	}
	for _, table := range []string{"fingerprints", "clean"} { // they name their input
		if out, err := exec.Command("diff", "-r", filepath.Join(there, table), filepath.Join(published, table)).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", table, out)
		}
	}
	if _, err := os.Stat(filepath.Join(published, "_SUCCESS")); err != nil {
		t.Error(err)
	}
}
