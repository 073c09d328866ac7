package write_test

import (
	"context"
	"fmt"

	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/stage/write"
	"github.com/neardup/neardup/job/internal/summary"
)

// A table that lacks a row is an error.
func Example() {
	r := &stage.Run{Sum: &summary.Summary{Matched: 2}}
	fmt.Println(write.Done(context.Background(), r, []rundir.TaskRecord{{Counts: map[string]int64{"matches": 1}}}))
	// Output: write: rows not conserved: 2 rows of matches were decided, 1 were written
}
