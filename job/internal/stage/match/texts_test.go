package match_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage/match"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/texts"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
)

// damage changes a byte of a file.
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

// newJob makes a job over splits of JSONL with so many documents each.
func newJob(t *testing.T, perSplit int, splits ...string) (*engine.Job, *views.Folder) {
	t.Helper()
	dir, err := rundir.Open(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	analyzer, release, err := method.NewAnalyzer(cfg.Features)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(release(), dir.Close()); err != nil {
			t.Error(err)
		}
	})
	job := &engine.Job{Config: cfg, Dir: dir, Analyzer: analyzer}
	paths := make([]string, len(splits))
	for task, text := range splits {
		path := filepath.Join(t.TempDir(), "in.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		job.Splits = append(job.Splits, data.Split{Path: path, Format: "jsonl", Size: int64(len(text)), End: -1})
		paths[task] = corpus.ViewPath(dir, task)
		w, err := views.Create(paths[task], views.Form{})
		if err != nil {
			t.Fatal(err)
		}
		for range perSplit {
			if err := w.Write(&views.Row{Keep: math.NaN()}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	job.Manifest = rundir.Manifest{Command: rundir.CommandRun, Splits: job.Splits}
	documents, err := views.Open(paths)
	if err != nil {
		t.Fatal(err)
	}
	return job, documents
}

// The stage of texts writes the shingles and letters of the wanted rows of each split, and
// Shingles finds them by number, however little it holds.
func TestShinglesOfWantedDocuments(t *testing.T) {
	const perSplit = 40
	var splits [3]string
	want := map[uint64]mapper.Text{}
	analyzer, release, err := method.NewAnalyzer(config.Default().Features)
	if err != nil {
		t.Fatal(err)
	}
	w := analyzer.NewWorkspace()
	rows := make([][]int64, len(splits))
	for doc := range perSplit * len(splits) {
		task, row := doc/perSplit, doc%perSplit
		text := strings.Repeat(fmt.Sprintf("word%d and its %d neighbours ", doc, doc*doc), 9)
		splits[task] += fmt.Sprintf("{\"id\":\"%d\",\"text\":%q}\n", doc, text)
		if row%3 == 1 && task != 1 { // the split in the middle has none
			rows[task] = append(rows[task], int64(row))
			var of mapper.Text
			of.Set(w.Normalize(nil, []byte(text)))
			want[uint64(doc)] = of
		}
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	job, documents := newJob(t, perSplit, splits[:]...)
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
	path := func(task int) string { return job.Dir.Path(rundir.StatePart(texts.ShinglesFolder, task)) }
	for _, limit := range []int64{0, 1 << 14, 1 << 30} {
		shingles := texts.Open(path, documents, limit)
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
	if err := texts.Open(path, documents, 0).Read(1, new(mapper.Text)); !errors.Is(err, state.ErrDamaged) {
		t.Errorf("of a damaged file: %v", err)
	}
	if _, err := match.Texts.Execute(context.Background(), job, 0, 1); !errors.Is(err, state.ErrDamaged) {
		t.Errorf("of damaged rows: %v", err)
	}
}
