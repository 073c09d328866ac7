package runs_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/data/object/objecttest"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/runs"
)

// What a run before left in the quarantine goes, where one was published. Nothing else
// goes that this run has not: not a clean dump, and no folder of that name in a place
// where none was published.
func TestPublishOverAnother(t *testing.T) {
	server := objecttest.Start(t, "crawl")
	publish := func(prefix string, names ...string) {
		t.Helper()
		run := t.TempDir()
		for _, name := range append(names, rundir.ManifestFile, rundir.SummaryFile, rundir.SuccessFile) {
			path := filepath.Join(run, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if err := runs.Publish(context.Background(), run, prefix); err != nil {
			t.Fatal(err)
		}
	}
	has := func(name string, want bool) {
		t.Helper()
		if _, err := os.Stat(filepath.Join(server.Folder, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	matches, dump, quarantine := rundir.Matches+"/part-00000.parquet", rundir.Clean+"/part-00000.jsonl", rundir.Quarantine+"/part-00000.jsonl"
	publish("s3://crawl/night", matches, rundir.Matches+"/part-00001.parquet", dump, quarantine)
	has("night/"+quarantine, true)
	publish("s3://crawl/night/", matches)
	has("night/"+matches, true)
	has("night/"+rundir.Matches+"/part-00001.parquet", false)
	has("night/"+quarantine, false)
	has("night/"+dump, true)

	server.Put("mine/"+quarantine, []byte("of another program"))
	publish("s3://crawl/mine", matches)
	has("mine/"+quarantine, true)
	has("mine/"+rundir.SuccessFile, true)
}
