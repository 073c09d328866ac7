//go:build linux

package gleam

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/wire"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/state/pairs"
)

// splitStages are the run's, and one that only these tests know.
var splitStages = append(job.SplitStages(), engine.Stage{
	Name: stageOwn, Task: countWords, Reads: (*engine.Job).ReadsFirst, Counts: engine.Bytes.Always, Analyzes: true,
})

const stageOwn = "own"

// countWords counts the features of a split's documents.
func countWords(ctx context.Context, job *engine.Job, rec *rundir.TaskRecord, _ int) error {
	w := job.Analyzer.NewWorkspace()
	read := int64(0)
	err := input.EachDocument(ctx, job.Splits[rec.Task], job.Config.Input.ReaderOptions(),
		func(n int64) { read += n; job.Tell(n) },
		func(bad *data.BadRecord) { rec.RowsIn++; rec.Skipped[bad.Reason]++ },
		func(doc *data.Document) error {
			rec.RowsIn++
			rec.RowsOut++
			rec.Counts["bytes"] += int64(len(w.Normalize(nil, doc.Text)))
			return nil
		})
	rec.Bytes = read
	return err
}

// A worker finds a step of each of the names that a flow can have, of which it
// does one thing. No stage has the name of a step of the engine's own.
func TestSteps(t *testing.T) {
	names := append(slices.Collect(maps.Keys(joinSteps)), cluster.Deal)
	for _, s := range splitStages {
		if slices.Contains(append(names, attempt.Driver, stageCheck), s.Name) {
			t.Errorf("job/stages.go: %s is the name of a step of the cluster's flows too", s.Name)
		}
		names = append(names, s.Name)
	}
	for _, name := range names {
		s, err := stepOf(name, splitStages)
		if err != nil || (s.first != nil) == (s.later != nil) {
			t.Errorf("%s: first %t, later %t, %v", name, s.first != nil, s.later != nil, err)
		}
	}
	if _, err := stepOf("nonsense", splitStages); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("nonsense: %v", err)
	}
}

// A stage that the engine was never told of but by the list runs on its workers
// as it does in one process.
func ownStageEqualsLocal(t *testing.T, c *testCluster) {
	m := manifestOf(t, config.Default(), dump(t, t.TempDir()))
	want, err := eachTask(t.Context(), t, local.New(2), openRun(t), stageOwn, m)
	if err != nil {
		t.Fatal(err)
	}
	got, err := eachTask(t.Context(), t, newEngine(t, Options{Master: c.master}), openRun(t), stageOwn, m)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if g, w := recordText(t, got[i]), recordText(t, want[i]); g != w || want[i].Counts["bytes"] == 0 && want[i].RowsOut > 0 {
			t.Errorf("got %s, want %s", g, w)
		}
	}
}

// The driver has a result only when each task was reported, once.
func TestReports(t *testing.T) {
	spec := &attempt.Spec{Assigned: [][]int{{4, 1}, {2}}, Steps: []attempt.Step{{Stage: stage.Write, Tasks: 2}}}
	d := &driver{missing: reports(spec), ledger: wire.NewLedger(stage.Write, 1, 2)}
	report := func(task int) error {
		text, err := json.Marshal(rundir.TaskRecord{Task: task})
		if err != nil {
			t.Fatal(err)
		}
		return d.take(wire.Frame{Kind: wire.Data, Step: 1, Payload: text, Records: 1}, 0)
	}
	if err := errors.Join(report(2), report(4)); err != nil {
		t.Error(err)
	}
	for _, task := range []int{2, 3} {
		if err := report(task); !errors.Is(err, wire.ErrFrame) {
			t.Errorf("task %d: %v", task, err)
		}
	}
	if err := d.take(wire.Frame{Kind: wire.Data, Step: 1, Payload: []byte("no record")}, 0); !errors.Is(err, wire.ErrFrame) {
		t.Errorf("no record: %v", err)
	}
	if res := d.finish(); res.Failure == nil || !res.Failure.Lost {
		t.Errorf("task 1 is missing: %+v", res)
	}
	if err := report(1); err != nil {
		t.Error(err)
	}
	if res := d.finish(); res.Failure != nil {
		t.Error(res.Failure)
	}
	spec = &attempt.Spec{Steps: []attempt.Step{{Stage: stageSegment, Tasks: 2}, {Stage: stageFinal, Tasks: 3}}}
	if want := map[int]bool{0: true, 1: true, 2: true}; !maps.Equal(reports(spec), want) {
		t.Errorf("got %v, want %v", reports(spec), want)
	}
}

// Pairs are passed on only when all references arrived, and all of them.
func TestPairs(t *testing.T) {
	m := matchPayload{Documents: 5, Last: 2, References: 9}
	if err := m.arrived(8); !errors.As(err, new(*attempt.LostError)) {
		t.Errorf("a lost reference: %v", err)
	}
	if err := m.arrived(9); err != nil {
		t.Error(err)
	}
	dir := attempt.Dir(t.TempDir())
	var want []data.Pair
	for task, n := range []int{3, 0, 2*batchPairs + 1} {
		out, err := pairs.Create(pairsPath(dir, task))
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			p := data.Pair{A: uint64(len(want)), B: 1 << 39, Distance: 3, Evidence: data.Evidence{Reason: data.Undecided, Figure: 7}}
			want = append(want, p)
			if err := out.Add([]pairs.Pair{{Pair: p, Overlap: data.UnknownOverlap()}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	var got []data.Pair
	emit := func(batch []data.Pair) error { got = append(got, batch...); return nil }
	if err := readPairs(t.Context(), dir, 3, emit); err != nil || !slices.Equal(got, want) {
		t.Errorf("%d pairs, %v, want %d", len(got), err, len(want))
	}
	if err := readPairs(t.Context(), dir, 4, emit); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
