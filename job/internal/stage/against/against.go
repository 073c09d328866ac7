// Package against is the stage against. The task of a split searches its documents for
// the texts of the reference, and writes the hits and the clean dump. Then the stage
// checks that the table has all hits and the clean dump all documents, and sums up
// what of the reference was found.
package against

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/stage/intake"
	"github.com/neardup/neardup/job/internal/summary"
)

// Done sums up the tasks.
func Done(ctx context.Context, r *stage.Run, records []rundir.TaskRecord) error {
	if err := intake.Documents(r, records); err != nil {
		return err
	}
	ref, err := Read(r.Job)
	if err != nil {
		return err
	}
	f := &found{of: map[string]*summary.AgainstSet{}, texts: map[string]bool{}, documents: map[string]int64{}}
	f.sum.Verdicts = map[string]int64{}
	for _, s := range ref.Sets {
		f.sum.Sets = append(f.sum.Sets, summary.AgainstSet{Name: s.Name, Texts: s.Texts, Short: s.Short, Repeated: s.Repeated})
	}
	for i := range f.sum.Sets {
		f.of[f.sum.Sets[i].Name] = &f.sum.Sets[i]
	}
	s := r.Sum
	for _, rec := range records {
		if err := f.part(ctx, r.Dir, &rec); err != nil {
			return err
		}
		s.Dropped += rec.Counts[countDropped]
		f.sum.Cut += rec.Counts[countCut]
	}
	if r.Job.Cleans() {
		s.Kept = s.Documents - s.Dropped
		if want := f.sum.Documents; r.Config.Against.Action != config.AgainstKeep && s.Dropped+f.sum.Cut != want {
			return fmt.Errorf("%s: %w: %d documents have hits, %d are left out or cut", stage.Against, rundir.ErrNotConserved, want, s.Dropped+f.sum.Cut)
		}
	}
	s.Against = &f.sum
	return nil
}

// found counts what stands in the table.
type found struct {
	sum       summary.Against
	of        map[string]*summary.AgainstSet // by name
	texts     map[string]bool                // of the reference that were found: set, 0, id
	documents map[string]int64               // by set: the row of its last document, plus 1
}

// part counts the hits of a task.
func (f *found) part(ctx context.Context, dir *rundir.Dir, rec *rundir.TaskRecord) error {
	path, err := dir.Part(rundir.Against, rec.Task, ".parquet")
	if err != nil {
		return err
	}
	last, rows := int64(data.NoRow), int64(0)
	var key bytes.Buffer
	err = parquet.ReadTable(ctx, path, &data.Against, func(row *data.AgainstRow) error {
		rows++
		set := f.of[row.Set]
		if set == nil {
			return fmt.Errorf("%s: a set %q that the reference does not have", path, row.Set)
		}
		f.sum.Hits++
		f.sum.Verdicts[row.Verdict]++
		if row.Row != last {
			f.sum.Documents++
		}
		if last = row.Row; f.documents[row.Set] != row.Row+1 {
			f.documents[row.Set] = row.Row + 1
			set.Documents++
		}
		key.Reset()
		key.WriteString(row.Set)
		key.WriteByte(0)
		key.Write(row.RefID)
		if !f.texts[key.String()] {
			f.texts[key.String()] = true
			set.Found++
		}
		return nil
	})
	if want := rec.Counts[countHits]; err == nil && rows != want {
		err = fmt.Errorf("%s: %w: %d hits were found, %d stand in %s", stage.Against, rundir.ErrNotConserved, want, rows, path)
	}
	return errors.Join(ctx.Err(), err)
}
