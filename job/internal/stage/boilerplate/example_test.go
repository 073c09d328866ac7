package boilerplate_test

import (
	"context"
	"fmt"

	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/stage/boilerplate"
	"github.com/neardup/neardup/job/internal/summary"
)

// What the stage learn sampled is kept for the stage templates.
func Example() {
	r := &stage.Run{Sum: &summary.Summary{}}
	err := boilerplate.KeepSamples(context.Background(), r, []rundir.TaskRecord{{RowsOut: 20}})
	fmt.Println(r.Samples[0].RowsOut, err)
	// Output: 20 <nil>
}
