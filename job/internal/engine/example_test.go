package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
)

// A stage is a value: an engine executes its task for a split, on any host, and the
// record says what the task did.
func Example() {
	dir, err := os.MkdirTemp("", "engine")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	run, err := rundir.Open(filepath.Join(dir, "run"))
	if err != nil {
		fmt.Println(err)
		return
	}
	count := engine.Stage{
		Name: "count", Counts: engine.Splits.Always,
		Task: func(_ context.Context, job *engine.Job, rec *rundir.TaskRecord, _ int) error {
			rec.Bytes = job.Splits[rec.Task].Size
			return nil
		},
	}
	job := &engine.Job{Dir: run, Splits: []data.Split{{Path: "a.jsonl", Size: 70}, {Path: "b.jsonl", Size: 30}}}
	for task := range job.Splits {
		rec, err := count.Execute(context.Background(), job, task, 1)
		fmt.Println(rec.Source, rec.Bytes, err)
	}
	_, done, err := run.Record("count", 1)
	fmt.Println(done, err, run.Close())
	// Output:
	// a.jsonl 70 <nil>
	// b.jsonl 30 <nil>
	// true <nil> <nil>
}
