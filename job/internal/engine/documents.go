package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state/exactdup"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/columns"
)

// Folders within the run directory's state, with a file for each split.
const (
	ViewsFolder = "views" // what a verdict looks at, see package views
	ExactFolder = "exact" // documents that others stand for, see package exactdup
)

// Documents are a run's documents as its joins take them, by their numbers.
// They are safe for concurrent use.
type Documents struct {
	*views.Folder
	excluded []atomic.Uint64 // a bit a document: it emits no keys
	prints   *Prints         // as ExactDeduper left them
}

// Prints are the fingerprints of the documents that emit keys, up to 64 bits:
// the lists name document Docs[i] by i.
type Prints struct {
	Lists *columns.Lists[uint64]
	Docs  []uint64
}

// ViewPath is the file of the views of split task of the run in folder dir.
func ViewPath(dir *rundir.Dir, task int) string {
	return dir.Path(rundir.StatePart(ViewsFolder, task))
}

// ExactPath is the file of the documents of split task that others stand
// for.
func ExactPath(dir *rundir.Dir, task int) string {
	return dir.Path(rundir.StatePart(ExactFolder, task))
}

// OpenDocuments opens the documents of a run of so many splits. Those that
// others stand for emit no keys; before the stage that finds them has run, all
// do.
func OpenDocuments(dir *rundir.Dir, splits int) (*Documents, error) {
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
			break // that stage is yet to come
		}
		if err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Duplicates calls yield with the documents of split task that others stand for,
// in ascending order.
func (d *Documents) Duplicates(dir *rundir.Dir, task int, yield func(exactdup.Document) error) error {
	return exactdup.Read(ExactPath(dir, task), yield)
}

// silence takes a document out of what Each yields.
func (d *Documents) exclude(doc uint64) { d.excluded[doc/64].Or(1 << (doc % 64)) }

// Excluded reports whether a document emits no keys.
func (d *Documents) Excluded(doc uint64) bool { return d.excluded[doc/64].Load()>>(doc%64)&1 != 0 }

// Each calls yield with the documents from number first to last − 1 that emit
// keys, in order: those that are matched, each of several equal ones once. The
// row is used again for the next.
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

// TakePrints returns the fingerprints that the search for equal documents
// collapsed, once: they take memory. It returns nil where fingerprints alone do
// not make documents equal, where they were too many for one pass, and if the
// documents were opened anew since.
func (d *Documents) TakePrints() *Prints {
	p := d.prints
	d.prints = nil
	return p
}

// Gather returns what scan, called for each split on workers goroutines, yields
// of the split's documents from first to last − 1, with the documents, in their
// order. Of about one in share documents something is yielded.
func Gather[T any](ctx context.Context, d *Documents, workers int, share uint64,
	scan func(first, last uint64, yield func(doc uint64, value T)) error) (docs []uint64, values []T, err error) {
	type part struct {
		docs   []uint64
		values []T
	}
	parts := make([]part, d.Parts())
	if share == 1 { // the parts stand where they belong but for what is not yielded
		docs, values = make([]uint64, d.Len()), make([]T, d.Len())
		for split := range parts {
			first, last := d.First(split), d.First(split+1)
			parts[split] = part{docs[first:first:last], values[first:first:last]}
		}
	}
	err = Parallel(ctx, d.Parts(), workers, func(_ context.Context, split int) error {
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

// ViewForm is the form of the views of a run.
func ViewForm(c config.Config) views.Form {
	return views.Form{Wide: c.Features.Bits > 64, Verified: c.Match.Verified(), Keep: c.Clusters.Keep != config.KeepFirst, Sampled: c.Match.Rules().Containment > 0}
}

// Rule is the rule for candidates and verdicts that the settings say.
func Rule(m config.Match) mapper.Rule {
	return mapper.Rule{K: m.Distance, Bands: m.Verified() && m.Bands, ShortTexts: m.Verified() && m.ShortTexts, Verified: m.Verified(), ByLength: m.Verify == config.VerifyLength, Rules: m.Rules()}
}

// hasVerdict reports whether a verdict on a document with itself says that it
// is the same: of one without a sketch and letters nothing is known.
func hasVerdict(rule *mapper.Rule, v *data.View) bool {
	return !rule.Estimates() || v.Sketch != [data.SketchSize]byte{} || len(v.Letters) > 0
}
