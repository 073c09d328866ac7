package job

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state/identical"
	"github.com/neardup/neardup/job/internal/state/spill"
)

// identical finds the documents that others stand for: later rows of an id,
// deleted ones, and all but the first of equal ones. Rows go in; out come those
// that are left of each id, the rest is counted.
func (r *run) identical(ctx context.Context, rec *rundir.TaskRecord) (err error) {
	if err := os.RemoveAll(r.dir.Path(rundir.State, engine.IdenticalFolder)); err != nil {
		return err // of an earlier attempt
	}
	documents, err := r.documents()
	if err != nil {
		return err
	}
	found := spill.New(documents.Parts(), spill.Options{Dir: r.dir.Path(rundir.Scratch, stageIdentical), Head: identical.RecordBytes})
	defer func() { err = errors.Join(err, found.Close()) }()
	var counts [identical.EqualShort + 1]atomic.Int64
	x := engine.Identities{
		Documents: documents, Rule: engine.Rule(r.config.Match), Workers: r.workers, Memory: r.config.Execution.MemoryLimit(), Pass: r.job.Pass,
		IDs: func(ctx context.Context, split int, yield func(id []byte) error) error {
			return r.job.EachID(ctx, split, nil, func(_ int64, id []byte) error { return yield(id) })
		},
	}
	if r.library != nil {
		x.Deleted = r.library.Forever()
	}
	deal := found.Dealer()
	var mu sync.Mutex
	var record []byte
	err = x.Find(ctx, func(d identical.Document) error {
		if d.Kind == identical.DuplicateID && r.config.Input.DuplicateIDs == "fail" {
			return r.duplicate(ctx, documents, d)
		}
		counts[d.Kind].Add(1)
		mu.Lock()
		defer mu.Unlock()
		record = identical.Append(record[:0], d)
		return deal.Put(documents.Part(d.Doc), record, nil)
	})
	if err := errors.Join(err, deal.Flush()); err != nil {
		return fmt.Errorf("%s: %w", stageIdentical, err)
	}
	if rec.Outputs, err = r.writeSorted(ctx, found, engine.IdenticalFolder, identical.FileKind); err != nil {
		return err
	}
	forms, n, err := engine.WriteForms(r.job)
	if err != nil {
		return fmt.Errorf("%s: %w", stageIdentical, err)
	}
	if forms != "" {
		rec.Outputs, rec.Counts["forms"] = append(rec.Outputs, forms), int64(n)
	}
	rec.RowsIn = int64(documents.Len())
	rec.RowsOut = rec.RowsIn
	for kind, reason := range map[identical.Kind]string{identical.DuplicateID: data.ReasonDuplicateID, identical.Deleted: data.ReasonDeleted} {
		if n := counts[kind].Load(); n > 0 {
			rec.Skipped[reason] = n
			rec.RowsOut -= n
		}
	}
	rec.Counts["equal"] = counts[identical.Equal].Load() + counts[identical.EqualShort].Load()
	return nil
}

// duplicate is the error for an id that may not appear twice.
func (r *run) duplicate(ctx context.Context, documents *engine.Documents, d identical.Document) error {
	task := documents.Part(d.Doc)
	row := int64(d.Doc - documents.First(task))
	next := func() int64 {
		defer func() { row = -1 }()
		return row
	}
	return r.job.EachID(ctx, task, next, func(_ int64, id []byte) error {
		return fmt.Errorf("id %q appears more than once (row %d of the dump): mend the dump, or let later ones be skipped with --set input.duplicate_ids=skip", id, d.Doc)
	})
}
