//go:build linux

package gleam

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/data/object/objecttest"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/stage"
)

// TestStore reads the input from an S3 server. What is gone in the middle of a
// run ends it with the object's name and the remedy; where the server comes
// back in time, the run has the bytes of one on this machine. An agent that may
// not read is refused before any work.
func TestStore(t *testing.T) {
	needCluster(t)
	skipShort(t)
	server := objecttest.Start(t, "crawl")
	folder := t.TempDir()
	dump(t, folder)
	put := func(t *testing.T, name string) {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		server.Put("dump/"+name, text)
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		put(t, f.Name())
	}
	splits, err := source.Expand([]string{"s3://crawl/dump"}, source.ExpandOptions{SplitBytes: 100 << 10})
	if err != nil {
		t.Fatal(err)
	}
	runs := newFingerprintRuns(t, splits)
	c := startCluster(t, 2, 4)
	const large = "s3://crawl/dump/part-2.jsonl" // every worker reads of it
	for _, f := range []fault{
		{name: "object gone", strike: func(*trial, int) { server.Remove("dump/part-2.jsonl") }, after: func(tr *trial) { put(tr.T, "part-2.jsonl") },
			want: failed(large, "file does not exist", "bring it back, then run the same command again")},
		{name: "server gone", strike: func(*trial, int) { server.Stop() }, after: func(*trial) { server.Again() },
			want: failed("s3://crawl/dump/", "the store does not answer", "NEARDUP_S3_ENDPOINT", "run the same command again")},
		{name: "server gone for a moment", strike: func(*trial, int) { server.Stop() }, mend: func(*trial) { server.Again() },
			want: rightOr("the store does not answer")}, // where it takes longer to start than its client waits
	} {
		t.Run(f.name, func(t *testing.T) { runs.try(t, c, f, point{stage.Fingerprint, 0, early}) })
	}
	t.Run("wrong credentials", func(t *testing.T) {
		t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong") // of the agents: this process has begun to use the store
		c := startCluster(t, 1, 4)
		dir := openRun(t)
		records, err := fingerprintRun(t, newEngine(t, Options{Master: c.master}), dir, splits)
		if wrong := failed("cluster not ready", c.address(0), "s3://crawl/dump/", "with the store's endpoint and credentials in its environment")(err); wrong != "" {
			t.Error(wrong)
		}
		for _, rec := range records {
			if rec.Stage != "" {
				t.Errorf("work was done: %+v", rec)
			}
		}
		t.Log(err)
		c.left(dir.Path())
	})
}
