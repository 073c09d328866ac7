package exact_test

import (
	"context"
	"fmt"

	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/stage/exact"
	"github.com/neardup/neardup/job/internal/summary"
)

// A stage fails if a row was lost before it.
func Example() {
	r := &stage.Run{Sum: &summary.Summary{Documents: 3, Skipped: map[string]int64{}}}
	fmt.Println(exact.Done(context.Background(), r, []rundir.TaskRecord{{RowsIn: 2}}))
	// Output: identical: rows not conserved: 3 rows fingerprinted, 2 rows came in
}
