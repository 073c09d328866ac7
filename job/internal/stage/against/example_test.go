package against_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/stage/against"
	"github.com/neardup/neardup/job/internal/summary"
)

// A dump without documents ends the run before anything is said of the reference.
func Example() {
	folder, err := os.MkdirTemp("", "against")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	dir, err := rundir.Open(folder)
	if err != nil {
		panic(err)
	}
	defer dir.Close()
	r := &stage.Run{
		Config: config.Default(), Dir: dir, Log: slog.New(slog.DiscardHandler),
		Job: &engine.Job{Splits: []data.Split{{Path: "dump.jsonl"}}}, Sum: &summary.Summary{Skipped: map[string]int64{}},
	}
	fmt.Println(against.Done(context.Background(), r, []rundir.TaskRecord{{Source: "dump.jsonl"}}))
	// Output: no document: the input is empty: name a file that has some
}
