package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage/match"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/lineage"
	"github.com/neardup/neardup/job/internal/state/texts"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
)

func TestHistoryComesBack(t *testing.T) {
	job := newJob(t, config.Default(), "")
	docs := []history.Document{{Doc: 7, FirstSeen: "2026-11-01"}, {Doc: 9, Match: &history.Match{Night: "2026-11-02", ID: "x", Distance: 2, Similarity: 0.9, Reason: "texts alike"}, Clusters: []string{"a", "b"}, Kept: &history.Match{Night: "2026-11-01", ID: "y"}}}
	if err := history.WriteDocuments(job.Dir.Path(rundir.StatePart(history.Folder, 3)), docs); err != nil {
		t.Fatal(err)
	}
	got, err := history.ReadDocuments(job.Dir.Path(rundir.StatePart(history.Folder, 3)))
	if err != nil || len(got) != 2 || !reflect.DeepEqual(got[7], &docs[0]) || !reflect.DeepEqual(got[9], &docs[1]) {
		t.Errorf("got %v, %v", got, err)
	}
	want := map[uint64]lineage.Lineage{1 << 33: {Component: "2026-11-01/a", Versions: "2026-11-02/b"}, 0: {}}
	if err := lineage.Write(job.Dir.Path(rundir.State, lineage.File), want); err != nil {
		t.Fatal(err)
	}
	if ids, err := lineage.Read(job.Dir.Path(rundir.State, lineage.File)); err != nil || !reflect.DeepEqual(ids, want) {
		t.Errorf("got %v, %v", ids, err)
	}
	if _, err := history.ReadDocuments(job.Dir.Path(rundir.StatePart(history.Folder, 4))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a file that is not there: %v", err)
	}
	damage(t, job.Dir.Path(rundir.State, lineage.File))
	if _, err := lineage.Read(job.Dir.Path(rundir.State, lineage.File)); !errors.Is(err, state.ErrDamaged) {
		t.Errorf("of a damaged file: %v", err)
	}
}

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
		if _, err := engine.Fingerprint.Execute(context.Background(), job, task, 1); err != nil {
			t.Fatal(err)
		}
	}
	return job
}

// The stage of texts writes the shingles and letters of the wanted rows of each split, and
// Shingles finds them by number, however little it holds.
func TestShinglesOfWantedDocuments(t *testing.T) {
	const perSplit = 40
	var splits [3]string
	want := map[uint64]mapper.Text{}
	analyzer, err := simhash.New(simhash.Options{Bits: 64, Kind: simhash.KindNGrams, N: 2, Weight: simhash.WeightTF, Stop: simhash.StopNone, MinFeatures: 16})
	if err != nil {
		t.Fatal(err)
	}
	w := analyzer.NewWorkspace()
	rows := make([][]int64, len(splits))
	for doc := range perSplit * len(splits) {
		task, row := doc/perSplit, doc%perSplit
		splits[task] += page(doc) + "\n"
		if row%3 == 1 && task != 1 { // the split in the middle has none
			rows[task] = append(rows[task], int64(row))
			_, text, _ := strings.Cut(page(doc), `"text":"`)
			normal := w.Normalize(nil, []byte(strings.TrimSuffix(text, `"}`)))
			var of mapper.Text
			of.Set(normal)
			want[uint64(doc)] = of
		}
	}
	job := fingerprinted(t, splits[:]...)
	for task := range splits {
		if len(rows[task]) > 0 {
			if err := texts.WriteRows(job.Dir.Path(rundir.StatePart(texts.WantedFolder, task)), rows[task]); err != nil {
				t.Fatal(err)
			}
		}
		rec, err := match.Texts.Execute(context.Background(), job, task, 1)
		if err != nil || rec.RowsIn != int64(len(rows[task])) || rec.RowsOut != rec.RowsIn || len(rec.Outputs) != min(len(rows[task]), 1) {
			t.Fatalf("split %d: %+v, %v", task, rec, err)
		}
	}
	documents, err := engine.OpenDocuments(job.Dir, len(splits))
	if err != nil {
		t.Fatal(err)
	}
	path := func(task int) string { return job.Dir.Path(rundir.StatePart(texts.ShinglesFolder, task)) }
	for _, limit := range []int64{0, 1 << 14, 1 << 30} {
		shingles := texts.Open(path, documents.Folder, limit)
		for range 2 {
			for doc, of := range want {
				got := mapper.Text{Shingles: []uint64{5}}
				if err := shingles.Read(doc, &got); err != nil || !reflect.DeepEqual(got, of) {
					t.Fatalf("document %d: %+v, want %+v, %v", doc, got, of, err)
				}
			}
		}
		if err := shingles.Read(0, new(mapper.Text)); err == nil || !strings.Contains(err.Error(), "document 0") {
			t.Errorf("of a document that was not wanted: %v", err)
		}
		if err := shingles.Read(perSplit, new(mapper.Text)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("of a split without any: %v", err)
		}
	}
	for _, folder := range []string{texts.ShinglesFolder, texts.WantedFolder} {
		damage(t, job.Dir.Path(rundir.State, folder, rundir.PartName(0, "")))
	}
	if err := texts.Open(path, documents.Folder, 0).Read(1, new(mapper.Text)); !errors.Is(err, state.ErrDamaged) {
		t.Errorf("of a damaged file: %v", err)
	}
	if _, err := match.Texts.Execute(context.Background(), job, 0, 1); !errors.Is(err, state.ErrDamaged) {
		t.Errorf("of damaged rows: %v", err)
	}
}

// Fingerprints that are read become the views that their documents became.
func TestReadMakesTheSameViews(t *testing.T) {
	job := fingerprinted(t, page(1)+"\n"+page(2)+"\n"+`{"id":"s","text":"short"}`+"\n")
	want, err := os.ReadFile(engine.ViewPath(job.Dir, 0))
	if err != nil {
		t.Fatal(err)
	}
	again := newJob(t, job.Config, "")
	if again.Splits, err = input.ExpandFingerprints([]string{job.Dir.Path(rundir.Fingerprints)}); err != nil {
		t.Fatal(err)
	}
	again.Manifest = rundir.Manifest{Command: rundir.CommandMatch, Splits: again.Splits}
	rec, err := engine.Read.Execute(context.Background(), again, 0, 1)
	if err != nil || rec.RowsOut != 3 || rec.Counts["normal"] != 2 {
		t.Fatalf("%+v, %v", rec, err)
	}
	if got, err := os.ReadFile(engine.ViewPath(again.Dir, 0)); err != nil || !slices.Equal(got, want) {
		t.Errorf("%d bytes, want %d, %v", len(got), len(want), err)
	}
	var ids []string
	err = again.EachID(context.Background(), 0, nil, func(_ int64, id []byte) error { ids = append(ids, string(id)); return nil })
	if err != nil || !slices.Equal(ids, []string{"1", "2", "s"}) {
		t.Errorf("ids %v, %v", ids, err)
	}
	again.Config.Features.Bits = 128
	if _, err := engine.Read.Execute(context.Background(), again, 0, 1); err == nil || !strings.Contains(err.Error(), "features.bits=64") {
		t.Errorf("fingerprints of another width: %v", err)
	}
}

// Signatures are found by document number, whatever documents are asked for, and those
// of short titles are not kept.
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
	documents, err := engine.OpenDocuments(job.Dir, len(splits))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []int{1, 3, 511, 5000} {
		var docs []uint64
		for doc := step / 2; doc < len(want); doc += step {
			docs = append(docs, uint64(doc))
		}
		got, err := engine.Signatures(context.Background(), job, documents, 2, docs)
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
	damage(t, job.Dir.Path(rundir.State, "signatures", rundir.PartName(2, "")))
	if _, err := engine.Signatures(context.Background(), job, documents, 2, []uint64{2*perSplit + 1}); !errors.Is(err, state.ErrDamaged) {
		t.Errorf("of a damaged file: %v", err)
	}
	if _, err := engine.Signatures(context.Background(), job, documents, 2, []uint64{1}); err != nil {
		t.Errorf("of another split: %v", err)
	}
}
