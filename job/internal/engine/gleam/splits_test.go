//go:build linux

package gleam

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
)

// A small sample is read where the command runs, without a cluster; a larger one and
// what is no sample are for the agents.
func TestSmallSampleIsReadHere(t *testing.T) {
	e, err := New(Options{Master: "127.0.0.1:1", Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	here := e.sampledHere * int64(runtime.GOMAXPROCS(0))
	job := &engine.Job{Config: config.Default(), Dir: openRun(t), Splits: make([]data.Split, 3), Log: testLog(t)}
	for _, c := range []struct {
		name    string
		sampled func(*engine.Job) int64
		here    bool
	}{
		{"small", func(*engine.Job) int64 { return here }, true},
		{"large", func(*engine.Job) int64 { return here + 1 }, false},
		{"all", nil, false},
	} {
		stage := engine.Stage{Name: c.name, Sampled: c.sampled, Reads: func(*engine.Job, int) bool { return false }, Task: func(_ context.Context, _ *engine.Job, rec *rundir.TaskRecord, _ int) error {
			rec.RowsIn, rec.RowsOut = 1, 1
			return nil
		}}
		ctx, cancel := t.Context(), func() {}
		if !c.here { // there is no cluster to wait for
			ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
		}
		var tasks []int
		err := e.Each(ctx, job, stage, []int{0, 2}, func(rec rundir.TaskRecord) error {
			tasks = append(tasks, rec.Task)
			return nil
		})
		cancel()
		slices.Sort(tasks)
		if c.here && (err != nil || !slices.Equal(tasks, []int{0, 2})) || !c.here && (err == nil || tasks != nil) {
			t.Errorf("%s: tasks %v, %v", c.name, tasks, err)
		}
	}
}
