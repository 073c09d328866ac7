// Package exact is the stage exact: exact dedup. Before anything is matched, it finds
// documents that an earlier one stands for, so that a million equal pages are one
// posting in each table. It also settles which forms the short texts of the run have,
// which verdicts on them need.
package exact

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/state/exactdup"
	"github.com/neardup/neardup/job/internal/state/spill"
)

// Find is the task of the stage. It finds later documents of an id, deleted
// documents, and all but the first of equal documents, and writes them for each
// split. The record counts the first two as skipped; equal documents are not, since
// they still get a match and a cluster.
func Find(ctx context.Context, r *stage.Run, rec *rundir.TaskRecord) (err error) {
	if err := os.RemoveAll(r.Dir.Path(rundir.State, exactdup.Folder)); err != nil {
		return err // of an earlier attempt
	}
	documents, err := r.Documents()
	if err != nil {
		return err
	}
	found := spill.New(documents.Parts(), spill.Options{Dir: r.Dir.Path(rundir.Scratch, stage.Exact), Head: exactdup.RecordBytes})
	defer func() { err = errors.Join(err, found.Close()) }()
	var counts [exactdup.EqualShort + 1]atomic.Int64
	x := corpus.Deduper{
		Documents: documents, Rule: method.Rule(r.Config.Match), Workers: r.Workers, Memory: r.Config.Execution.MemoryLimit(), Pass: r.Job.Pass,
		IDs: func(ctx context.Context, split int, yield func(id []byte) error) error {
			return r.Job.EachID(ctx, split, nil, func(_ int64, id []byte) error { return yield(id) })
		},
	}
	if r.Library != nil {
		x.Deleted = r.Library.Forever()
	}
	deal := found.Dealer()
	var mu sync.Mutex
	var record []byte
	err = x.Find(ctx, func(d exactdup.Document) error {
		if d.Kind == exactdup.DuplicateID && r.Config.Input.DuplicateIDs == "fail" {
			return duplicate(ctx, r, documents, d)
		}
		counts[d.Kind].Add(1)
		mu.Lock()
		defer mu.Unlock()
		record = exactdup.Append(record[:0], d)
		return deal.Put(documents.Part(d.Doc), record, nil)
	})
	if err := errors.Join(err, deal.Flush()); err != nil {
		return fmt.Errorf("%s: %w", stage.Exact, err)
	}
	if rec.Outputs, err = r.WriteSorted(ctx, found, exactdup.Folder, exactdup.FileKind); err != nil {
		return err
	}
	forms, n, err := writeForms(ctx, r)
	if err != nil {
		return fmt.Errorf("%s: %w", stage.Exact, err)
	}
	if forms != "" {
		rec.Outputs, rec.Counts["forms"] = append(rec.Outputs, forms), int64(n)
	}
	rec.RowsIn = int64(documents.Len())
	rec.RowsOut = rec.RowsIn
	for kind, reason := range map[exactdup.Kind]string{exactdup.DuplicateID: data.ReasonDuplicateID, exactdup.Deleted: data.ReasonDeleted} {
		if n := counts[kind].Load(); n > 0 {
			rec.Skipped[reason] = n
			rec.RowsOut -= n
		}
	}
	rec.Counts["equal"] = counts[exactdup.Equal].Load() + counts[exactdup.EqualShort].Load()
	return nil
}

// duplicate returns the error for an id that appears twice although the settings
// forbid it.
func duplicate(ctx context.Context, r *stage.Run, documents *corpus.Documents, d exactdup.Document) error {
	task := documents.Part(d.Doc)
	row := int64(d.Doc - documents.First(task))
	next := func() int64 {
		defer func() { row = -1 }()
		return row
	}
	return r.Job.EachID(ctx, task, next, func(_ int64, id []byte) error {
		return fmt.Errorf("id %q appears more than once (row %d of the dump): mend the dump, or let later ones be skipped with --set input.duplicate_ids=skip", id, d.Doc)
	})
}

// Done checks that no row was lost, and adds the skipped ones to the summary.
func Done(_ context.Context, r *stage.Run, records []rundir.TaskRecord) error {
	rec, s := records[0], r.Sum
	if rec.RowsIn != s.Documents {
		return fmt.Errorf("%s: %w: %d rows fingerprinted, %d rows came in", stage.Exact, rundir.ErrNotConserved, s.Documents, rec.RowsIn)
	}
	stage.AddCounts(s.Skipped, rec.Skipped)
	s.Bad += rec.Skipped[data.ReasonDuplicateID]
	return nil
}
