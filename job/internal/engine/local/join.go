package local

import (
	"context"
	"unsafe"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/shuffle"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/columns"
)

// join is one match under way.
type join struct {
	job       *engine.Job
	documents *engine.Documents
	rule      mapper.Rule
	layout    *simhash.Layout
	workers   int
	limit     int64 // bytes
	out       *batches
	counts    []*shuffle.Count // by table: the segments', then those of mapper.Tables
}

// count is that of a table of mapper.Tables.
func (j *join) count(table int) *shuffle.Count { return j.counts[j.layout.Tables()+table] }

// What the join in memory takes for a document, in bytes: for its fingerprint,
// seven times its width (measured, see job/docs/benchmarks), and for its view.
const (
	viewBytes   = data.SketchSize + 48
	sampleBytes = 256
)

func match[F columns.Fingerprint](ctx context.Context, j *join) error {
	need := int64(j.documents.Len()) * 7 * int64(unsafe.Sizeof(*new(F)))
	if j.rule.Verified {
		need += int64(j.documents.Len()) * j.viewBytes()
	}
	if need > j.limit {
		return spilled[F](ctx, j)
	}
	return inMemory[F](ctx, j)
}

// viewBytes is about what a view takes in memory.
func (j *join) viewBytes() int64 {
	if j.rule.Containment > 0 {
		return viewBytes + sampleBytes
	}
	return viewBytes
}

func inMemory[F columns.Fingerprint](ctx context.Context, j *join) error {
	m := &shuffle.Memory[F]{Rule: j.rule, Layout: j.layout, Options: shuffle.Options{Workers: j.workers, Counts: j.counts, Pass: j.job.Pass.Begin}}
	numbers, err := load(ctx, j, m)
	if err != nil {
		return err
	}
	err = m.Pairs(ctx, func(worker int, p data.Pair) {
		p.A, p.B = numbers[p.A], numbers[p.B]
		j.out.add(worker, p)
	})
	if err != nil {
		return err
	}
	return j.out.flush()
}

// load reads the documents that emit keys, and has phase one reduce the postings
// of their segments, of all tables at once, where that is not done: document i has
// the number numbers[i].
func load[F columns.Fingerprint](ctx context.Context, j *join, m *shuffle.Memory[F]) (numbers []uint64, err error) {
	if prints := j.documents.TakePrints(); prints != nil && !j.rule.Verified && j.layout.Bits() == 64 {
		if lists, ok := any(prints.Lists).(*columns.Lists[F]); ok {
			m.Lists = lists
			return prints.Docs, nil
		}
	}
	var postings []F
	if j.rule.Verified {
		numbers, postings, err = loadViews(ctx, j, m)
	} else { // the fingerprints alone decide, and all that are matched are of normal length
		numbers, postings, err = engine.Gather(ctx, j.documents, j.workers, 1, func(first, last uint64, yield func(doc uint64, posting F)) error {
			return j.documents.Each(ctx, first, last, 0, func(doc uint64, r *views.Row) error {
				yield(doc, mapper.Segments[F](&r.View))
				return nil
			})
		})
	}
	if err != nil {
		return nil, err
	}
	m.Lists, err = columns.Collapse(postings, j.layout.Bits(), j.workers)
	return numbers, err
}

// loadViews reads the documents, and maps those of normal length to their
// postings.
func loadViews[F columns.Fingerprint](ctx context.Context, j *join, m *shuffle.Memory[F]) (numbers []uint64, postings []F, err error) {
	m.Views = mapper.NewUnits(true)
	n := j.documents.Len()
	numbers, postings = make([]uint64, 0, n), make([]F, 0, n)
	err = j.documents.Each(ctx, 0, n, views.Verdict, func(doc uint64, r *views.Row) error {
		place := uint32(len(numbers))
		numbers = append(numbers, doc)
		m.Views.Append(&r.View)
		if !r.View.Normal {
			if m.Normal == nil {
				m.Normal = make([]uint32, len(postings), n)
				for p := range m.Normal {
					m.Normal[p] = uint32(p)
				}
			}
			return nil
		}
		if m.Normal != nil {
			m.Normal = append(m.Normal, place)
		}
		postings = append(postings, mapper.Segments[F](&r.View))
		return nil
	})
	return numbers, postings, err
}

// each calls f for 0 to n-1, with the number of the worker.
func (j *join) each(ctx context.Context, n int, f func(worker, i int) error) error {
	return shuffle.Each(ctx, j.workers, n, f)
}
