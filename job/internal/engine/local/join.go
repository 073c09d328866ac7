package local

import (
	"context"
	"unsafe"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/shuffle"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/columns"
)

// join is one call of Match.
type join struct {
	job       *engine.Job
	documents *corpus.Documents
	rule      mapper.Rule
	tiers     mapper.Tiers
	bits      int // of a fingerprint
	workers   int
	limit     int64 // bytes
	out       *batches
	counts    []*shuffle.Count // by table: the segments', then those of mapper.Tables
}

// count returns the count of mapper.Tables[table].
func (j *join) count(table int) *shuffle.Count { return j.counts[j.tiers.Tables()+table] }

// Memory of a join in memory, in bytes a document, beside seven times the width
// of its fingerprint (measured, see job/docs/benchmarks).
const (
	viewBytes   = data.SketchSize + 48 // a view
	sampleBytes = 256                  // its sample, under a rule that looks for containment
)

// match runs the join in memory or on disk, whichever its estimated memory
// allows.
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

// viewBytes estimates the memory of a view under the rule.
func (j *join) viewBytes() int64 {
	if j.rule.Containment > 0 {
		return viewBytes + sampleBytes
	}
	return viewBytes
}

func inMemory[F columns.Fingerprint](ctx context.Context, j *join) error {
	m := &shuffle.Memory[F]{Rule: j.rule, Tiers: j.tiers, Options: shuffle.Options{Workers: j.workers, Counts: j.counts, Pass: j.job.Pass.Begin}}
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

// load reads the documents that emit keys and sets m.Lists: the partial reduce
// of their postings, one list for each distinct fingerprint, for all segment
// tables at once. If exact dedup has left these lists in memory and they are all
// that the rule needs, load takes them instead. The join calls documents by their
// places; numbers[i] is the document number of place i.
func load[F columns.Fingerprint](ctx context.Context, j *join, m *shuffle.Memory[F]) (numbers []uint64, err error) {
	if prints := j.documents.TakePrints(); prints != nil && !j.rule.Verified && j.bits == 64 {
		if lists, ok := any(prints.Lists).(*columns.Lists[F]); ok {
			m.Lists = lists
			return prints.Docs, nil
		}
	}
	var postings []F
	if j.rule.Verified {
		numbers, postings, err = loadViews(ctx, j, m)
	} else { // the fingerprints alone decide, and all that are matched are of normal length
		numbers, postings, err = corpus.Gather(ctx, j.documents, j.workers, 1, func(first, last uint64, yield func(doc uint64, posting F)) error {
			return j.documents.Each(ctx, first, last, 0, func(doc uint64, r *views.Row) error {
				yield(doc, mapper.Segments[F](&r.View))
				return nil
			})
		})
	}
	if err != nil {
		return nil, err
	}
	m.Lists, err = columns.Collapse(postings, j.bits, j.workers)
	return numbers, err
}

// loadViews reads the views of the documents that emit keys into m.Views, and
// returns their numbers and the postings of those of normal length. m.Normal
// stays nil as long as all of them are.
func loadViews[F columns.Fingerprint](ctx context.Context, j *join, m *shuffle.Memory[F]) (numbers []uint64, postings []F, err error) {
	m.Views = mapper.NewUnits(true)
	n := j.documents.Len()
	m.Views.Grow(int(n))
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

// each is shuffle.Each on the join's workers.
func (j *join) each(ctx context.Context, n int, f func(worker, i int) error) error {
	return shuffle.Each(ctx, j.workers, n, f)
}
