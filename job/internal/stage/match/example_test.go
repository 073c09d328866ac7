package match_test

import (
	"context"
	"fmt"

	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/stage/match"
	"github.com/neardup/neardup/job/internal/summary"
)

// The summary has what each table of the join came to.
func Example() {
	r := &stage.Run{Sum: &summary.Summary{Documents: 3}}
	err := match.Joined(context.Background(), r, []rundir.TaskRecord{{RowsIn: 3, Tables: []rundir.TableCount{{Table: "00A", Postings: 3, Keys: 2}}}})
	fmt.Println(r.Sum.Tables[0].Table, r.Sum.Tables[0].Keys, err)
	// Output: 00A 2 <nil>
}
