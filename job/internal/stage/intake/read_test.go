package intake_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage/intake"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/signatures"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
)

func damage(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// fingerprinted is a job over splits of JSONL that were fingerprinted.
func fingerprinted(t *testing.T, splits ...string) *engine.Job {
	t.Helper()
	job := newJob(t, config.Default(), splits[0])
	for i, text := range splits[1:] {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("in-%d.jsonl", i+1))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		job.Splits = append(job.Splits, data.Split{Path: path, Format: "jsonl", Size: int64(len(text)), End: -1})
	}
	job.Manifest = rundir.Manifest{Command: rundir.CommandRun, Splits: job.Splits}
	for task := range splits {
		if _, err := intake.Fingerprint.Execute(context.Background(), job, task, 1); err != nil {
			t.Fatal(err)
		}
	}
	return job
}

// Fingerprints that are read become the views that their documents became.
func TestReadMakesTheSameViews(t *testing.T) {
	job := fingerprinted(t, page(1)+"\n"+page(2)+"\n"+`{"id":"s","text":"short"}`+"\n")
	want, err := os.ReadFile(corpus.ViewPath(job.Dir, 0))
	if err != nil {
		t.Fatal(err)
	}
	again := newJob(t, job.Config, "")
	if again.Splits, err = input.ExpandFingerprints([]string{job.Dir.Path(rundir.Fingerprints)}); err != nil {
		t.Fatal(err)
	}
	again.Manifest = rundir.Manifest{Command: rundir.CommandMatch, Splits: again.Splits}
	rec, err := intake.Read.Execute(context.Background(), again, 0, 1)
	if err != nil || rec.RowsOut != 3 || rec.Counts["normal"] != 2 {
		t.Fatalf("%+v, %v", rec, err)
	}
	if got, err := os.ReadFile(corpus.ViewPath(again.Dir, 0)); err != nil || !slices.Equal(got, want) {
		t.Errorf("%d bytes, want %d, %v", len(got), len(want), err)
	}
	var ids []string
	err = again.EachID(context.Background(), 0, nil, func(_ int64, id []byte) error { ids = append(ids, string(id)); return nil })
	if err != nil || !slices.Equal(ids, []string{"1", "2", "s"}) {
		t.Errorf("ids %v, %v", ids, err)
	}
	again.Config.Features.Bits = 128
	if _, err := intake.Read.Execute(context.Background(), again, 0, 1); err == nil || !strings.Contains(err.Error(), "features.bits=64") {
		t.Errorf("fingerprints of another width: %v", err)
	}
}

// The signatures of a split's documents are kept, but those of short titles, and found
// by document number, whatever documents are asked for.
func TestSignaturesOfDocuments(t *testing.T) {
	const perSplit = 600 // more than a block has
	var splits [3]string
	analyzer, err := simhash.New(config.Default().Features.Options)
	if err != nil {
		t.Fatal(err)
	}
	f := mapper.NewFingerprinter(analyzer.NewWorkspace(), true, nil)
	f.Signatures = true
	want := make([]data.FingerprintRow, perSplit*len(splits))
	for i := range want {
		id, text := fmt.Sprint("p", i), "a title"
		if i%7 > 0 && i/perSplit != 1 { // the split in the middle has only titles
			text = strings.Repeat(fmt.Sprintf("page %d of many has its own words %d ", i, i*i), 3+i%50)
		}
		splits[i/perSplit] += fmt.Sprintf("{\"id\":%q,\"text\":%q}\n", id, text)
		f.Fingerprint(&data.Document{ID: []byte(id), Text: []byte(text)}, "", &want[i])
	}
	job := fingerprinted(t, splits[:]...)
	documents, err := corpus.Open(job.Dir, len(splits))
	if err != nil {
		t.Fatal(err)
	}
	path := func(task int) string { return job.Dir.Path(rundir.StatePart(signatures.Folder, task)) }
	for _, step := range []int{1, 3, 511, 5000} {
		var docs []uint64
		for doc := step / 2; doc < len(want); doc += step {
			docs = append(docs, uint64(doc))
		}
		got, err := signatures.Read(context.Background(), path, documents.Folder, 2, docs)
		if err != nil || len(got) != len(docs) {
			t.Fatalf("%d signatures of %d documents, %v", len(got), len(docs), err)
		}
		for i, doc := range docs {
			row := &want[doc]
			switch {
			case (got[i].Signature != nil) != (len(row.Signature) > 0):
				t.Fatalf("document %d: %+v, want %x", doc, got[i], row.Signature)
			case got[i].Signature != nil && (string(got[i].Signature[:]) != string(row.Signature) || got[i].Length != int(row.Length)):
				t.Fatalf("document %d of %d characters: %+v, want %x of %d", doc, got[i].Length, got[i].Signature, row.Signature, row.Length)
			}
		}
	}
	damage(t, path(2))
	if _, err := signatures.Read(context.Background(), path, documents.Folder, 2, []uint64{2*perSplit + 1}); !errors.Is(err, state.ErrDamaged) {
		t.Errorf("of a damaged file: %v", err)
	}
	if _, err := signatures.Read(context.Background(), path, documents.Folder, 2, []uint64{1}); err != nil {
		t.Errorf("of another split: %v", err)
	}
}
