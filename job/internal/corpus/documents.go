// Package corpus gives the joins the documents of a run.
//
// [Documents] has their views by document number, for the join of these documents with
// each other. [Deduper] finds those that take no part in it, since an earlier one
// stands for them. [Night] has the documents in memory, for the join with the library:
// documents of earlier nights stream past.
//
//	views of the splits ──► Documents ──Deduper──► Documents without copies ──► engine.Match
//	fingerprints ─────────► Night ◄── documents of earlier nights, by ── engine.History
//
// It knows neither engine nor stage: these say where and when.
package corpus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state/exactdup"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/columns"
)

// ViewsFolder holds, within the run directory's state, what a verdict looks at: a
// file for each split, see package views.
const ViewsFolder = "views"

// Documents gives the joins the views of a run's documents, by document number,
// without those that exact dedup leaves out. It is safe for concurrent use,
// except TakePrints.
type Documents struct {
	*views.Folder
	excluded []atomic.Uint64 // a bit for each document that emits no keys
	prints   *Prints         // left by Deduper; may be nil
}

// Prints holds the distinct fingerprints of the documents that emit keys, of up
// to 64 bits. A member i of Lists is document Docs[i].
type Prints struct {
	Lists *columns.Lists[uint64]
	Docs  []uint64
}

// ViewPath returns the path of the views of split task.
func ViewPath(dir *rundir.Dir, task int) string {
	return dir.Path(rundir.StatePart(ViewsFolder, task))
}

// ExactPath returns the path of the file that names the documents of split task
// that exact dedup leaves out.
func ExactPath(dir *rundir.Dir, task int) string {
	return dir.Path(rundir.StatePart(exactdup.Folder, task))
}

// Open opens the documents of a run with the given number of splits. It
// excludes those that exact dedup has found; before that stage has run it
// excludes none.
func Open(dir *rundir.Dir, splits int) (*Documents, error) {
	paths := make([]string, splits)
	for i := range paths {
		paths[i] = ViewPath(dir, i)
	}
	folder, err := views.Open(paths)
	if err != nil {
		return nil, err
	}
	d := &Documents{Folder: folder, excluded: make([]atomic.Uint64, folder.Len()/64+1)}
	for i := range paths {
		err := d.Duplicates(dir, i, func(e exactdup.Document) error {
			if e.Doc >= folder.Len() {
				return fmt.Errorf("%s names document %d of %d", ExactPath(dir, i), e.Doc, folder.Len())
			}
			d.exclude(e.Doc)
			return nil
		})
		if errors.Is(err, fs.ErrNotExist) {
			break // exact dedup has not run yet
		}
		if err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Duplicates calls yield with the documents of split task that exact dedup leaves
// out, in ascending order.
func (d *Documents) Duplicates(dir *rundir.Dir, task int, yield func(exactdup.Document) error) error {
	return exactdup.Read(ExactPath(dir, task), yield)
}

// exclude leaves a document out of what Each yields.
func (d *Documents) exclude(doc uint64) { d.excluded[doc/64].Or(1 << (doc % 64)) }

// Excluded reports whether a document emits no keys.
func (d *Documents) Excluded(doc uint64) bool { return d.excluded[doc/64].Load()>>(doc%64)&1 != 0 }

// Each calls yield with the documents numbered first to last − 1 that emit keys,
// in order. These are the documents that take part in matching; of several equal
// ones only the first. r has the columns c and the fingerprint, and is reused.
func (d *Documents) Each(ctx context.Context, first, last uint64, c views.Columns, yield func(doc uint64, r *views.Row) error) error {
	return d.Scan(first, last, c|views.Fingerprint, func(doc uint64, r *views.Row) error {
		if doc&0xffff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !r.Matched() || d.Excluded(doc) {
			return nil
		}
		return yield(doc, r)
	})
}

// Sizes returns how many documents are in each tier. The first has all, whether or not
// exact dedup leaves them out.
func (d *Documents) Sizes(ctx context.Context, tiers mapper.Tiers, workers int) ([]uint64, error) {
	sizes := make([]uint64, len(tiers))
	sizes[0] = d.Len()
	if len(tiers) == 1 {
		return sizes, nil
	}
	var mu sync.Mutex
	return sizes, parallel.Each(ctx, d.Parts(), workers, func(ctx context.Context, split int) error {
		of := make([]uint64, len(tiers))
		err := d.Each(ctx, d.First(split), d.First(split+1), views.Reading(tiers.Reads()), func(_ uint64, r *views.Row) error {
			tiers.Count(of, &r.View)
			return nil
		})
		mu.Lock()
		defer mu.Unlock()
		for t := range tiers[1:] {
			sizes[1+t] += of[1+t]
		}
		return err
	})
}

// TakePrints returns the distinct fingerprints that exact dedup has in memory, and
// gives up its own reference to free that memory later. It returns nil at the
// second call, if documents are not equal by fingerprint alone, if they were too
// many for one pass, and if the documents were opened again since.
func (d *Documents) TakePrints() *Prints {
	p := d.prints
	d.prints = nil
	return p
}

// Gather collects values of documents, in order of document number. It calls scan
// for each split, with the split's first document number and last + 1, on workers
// goroutines. scan must yield documents in order, at most one value for each.
// share tells how much memory to reserve: about one in share documents has a
// value.
func Gather[T any](ctx context.Context, d *Documents, workers int, share uint64,
	scan func(first, last uint64, yield func(doc uint64, value T)) error) (docs []uint64, values []T, err error) {
	type part struct {
		docs   []uint64
		values []T
	}
	parts := make([]part, d.Parts())
	if share == 1 { // parts are written almost where they belong; the end closes the gaps
		docs, values = make([]uint64, d.Len()), make([]T, d.Len())
		for split := range parts {
			first, last := d.First(split), d.First(split+1)
			parts[split] = part{docs[first:first:last], values[first:first:last]}
		}
	}
	err = parallel.Each(ctx, d.Parts(), workers, func(_ context.Context, split int) error {
		p := parts[split]
		err := scan(d.First(split), d.First(split+1), func(doc uint64, value T) {
			p.docs, p.values = append(p.docs, doc), append(p.values, value)
		})
		parts[split] = p
		return err
	})
	if share > 1 {
		n := 0
		for _, p := range parts {
			n += len(p.docs)
		}
		docs, values = make([]uint64, n), make([]T, n)
	}
	docs, values = docs[:0], values[:0]
	for split, p := range parts {
		docs, values = append(docs, p.docs...), append(values, p.values...)
		parts[split] = part{}
	}
	return docs, values, err
}

// hasVerdict reports whether a verdict would call the document the same as an
// equal one. It would not if it has to estimate and the document has neither
// sketch nor letters.
func hasVerdict(rule *mapper.Rule, v *data.View) bool {
	return !rule.Estimates() || v.Sketch != [data.SketchSize]byte{} || len(v.Letters) > 0
}
