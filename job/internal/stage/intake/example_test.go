package intake_test

import (
	"fmt"
	"log/slog"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage/intake"
	"github.com/neardup/neardup/job/internal/summary"
)

// More unusable records than input.max_bad allows end the run.
func Example() {
	in := intake.Intake{
		Log: slog.New(slog.DiscardHandler), Input: config.Default().Input, Splits: make([]data.Split, 1), Look: "night1/quarantine",
		Records: []rundir.TaskRecord{{Source: "dump.jsonl", RowsIn: 100, RowsOut: 60, Skipped: map[string]int64{data.ReasonMalformed: 40}}},
		Sum:     &summary.Summary{Skipped: map[string]int64{}},
	}
	fmt.Println(in.Check())
	// Output: too many unusable records: 40 of 100 records (skipped: 40 malformed), more than 10% or 10: look into night1/quarantine, mend the input, or let them pass with --max-bad 40
}
