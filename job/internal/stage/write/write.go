// Package write is the stage write. The task of a split writes its parts of the tables
// and of the clean dump. Then the stage checks that the tables have all decisions and
// that the clean dump accounts for all documents, reports which sites lose much, and
// compares the texts of a sample of removals.
package write

import (
	"context"
	"errors"
	"fmt"

	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/summary"
)

// Done does the checks that the package comment lists, with the records of the tasks. It
// returns ErrUnlike if the sample has too many removals that are no copies.
func Done(ctx context.Context, r *stage.Run, records []rundir.TaskRecord) error {
	s := r.Sum
	rows := map[string]int64{}
	for _, rec := range records {
		s.Kept += rec.RowsOut
		s.Dropped += rec.RowsIn - rec.RowsOut
		stage.AddCounts(rows, rec.Counts)
	}
	for _, t := range []struct {
		table string
		want  int64
	}{{countMatches, s.Matched}, {countClusters, s.Clustered + s.Alone}, {countPairs, s.Pairs}} {
		if rows[t.table] != t.want {
			return fmt.Errorf("%s: %w: %d rows of %s were decided, %d were written", stage.Write, rundir.ErrNotConserved, t.want, t.table, rows[t.table])
		}
	}
	if s.Library != nil {
		s.Library.Dropped = rows[countInHistory]
	}
	if r.Job.Cleans() && s.Kept+s.Dropped != s.Documents {
		return fmt.Errorf("%s: %w: %d documents, %d kept, %d dropped", stage.Write, rundir.ErrNotConserved, s.Documents, s.Kept, s.Dropped)
	}
	if r.Job.Cleans() && s.Dropped > 0 {
		s.Saved = summary.NewSaved(rows[countSaved], rows[countText], rows[countSavedWide], rows[countSavedOthers])
	}
	return errors.Join(lose(ctx, r), reread(ctx, r))
}
