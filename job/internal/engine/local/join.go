package local

import (
	"context"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/hamming"
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
}

// What the join in memory takes for a document, in bytes: for its fingerprint,
// seven times its width (measured, see job/docs/benchmarks), and for its view.
const (
	viewBytes   = data.SketchSize + 48
	sampleBytes = 256
)

func match[F hamming.Fingerprint](ctx context.Context, j *join, pack func(hi, lo uint64) F) error {
	need := int64(j.documents.Len()) * 7 * int64(unsafe.Sizeof(*new(F)))
	if j.rule.Verified {
		need += int64(j.documents.Len()) * j.viewBytes()
	}
	if need > j.limit {
		return spilled(ctx, j, pack)
	}
	return inMemory(ctx, j, pack)
}

// viewBytes is about what a view takes in memory.
func (j *join) viewBytes() int64 {
	if j.rule.Containment > 0 {
		return viewBytes + sampleBytes
	}
	return viewBytes
}

// memory is the documents that emit keys, in memory: document i has the number
// numbers[i].
type memory[F hamming.Fingerprint] struct {
	*join
	numbers []uint64
	normal  []uint32      // the documents of the normal lane; nil if that is all of them
	views   *mapper.Units // nil without verification
	judges  []judge       // by worker
}

// judge is what one worker compares and verifies with.
type judge struct {
	compare *mapper.Comparer
	verify  *mapper.Verifier
	a, b    data.View
}

func inMemory[F hamming.Fingerprint](ctx context.Context, j *join, pack func(hi, lo uint64) F) error {
	m := &memory[F]{join: j}
	set, err := m.load(ctx, pack)
	if err != nil {
		return err
	}
	m.appoint()
	if err := m.near(ctx, set); err != nil {
		return err
	}
	if j.rule.Sketched() {
		if err := m.shared(ctx); err != nil {
			return err
		}
	}
	return j.out.flush()
}

// load reads the documents, and collapses their fingerprints where that is not
// done.
func (m *memory[F]) load(ctx context.Context, pack func(hi, lo uint64) F) (*hamming.Set[F], error) {
	prints := m.documents.TakePrints()
	if prints != nil && !m.rule.Verified && m.layout.Bits() == 64 {
		if set, ok := any(prints.Set).(*hamming.Set[F]); ok {
			m.numbers = prints.Docs
			return set, nil
		}
	}
	fps, err := m.loadViews(ctx, pack)
	if err != nil {
		return nil, err
	}
	return hamming.Collapse(fps, m.options())
}

func (m *memory[F]) options() hamming.Options {
	return hamming.Options{Bits: m.layout.Bits(), Workers: m.workers}
}

// loadViews reads the documents, and returns the fingerprints of those of the
// normal lane. Where the fingerprints alone decide, all that are matched are.
func (m *memory[F]) loadViews(ctx context.Context, pack func(hi, lo uint64) F) (fps []F, err error) {
	if !m.rule.Verified {
		m.numbers, fps, err = engine.Gather(ctx, m.documents, m.workers, 1, func(first, last uint64, yield func(doc uint64, fp F)) error {
			return m.documents.Each(ctx, first, last, 0, func(doc uint64, r *views.Row) error {
				yield(doc, pack(r.View.Hi, r.View.Lo))
				return nil
			})
		})
		return fps, err
	}
	m.views = mapper.NewUnits(true)
	n := m.documents.Len()
	m.numbers, fps = make([]uint64, 0, n), make([]F, 0, n)
	return fps, m.documents.Each(ctx, 0, n, views.Verdict, func(doc uint64, r *views.Row) error {
		i := uint32(len(m.numbers))
		m.numbers = append(m.numbers, doc)
		m.views.Append(&r.View)
		if !r.View.Normal {
			if m.normal == nil {
				m.normal = make([]uint32, len(fps), n)
				for p := range m.normal {
					m.normal[p] = uint32(p)
				}
			}
			return nil
		}
		if m.normal != nil {
			m.normal = append(m.normal, i)
		}
		fps = append(fps, pack(r.View.Hi, r.View.Lo))
		return nil
	})
}

// appoint makes the judges.
func (m *memory[F]) appoint() {
	m.judges = make([]judge, m.workers)
	for w := range m.judges {
		k := &m.judges[w]
		view := func(doc uint64, v *data.View) error {
			m.views.View(uint32(doc), v)
			return nil
		}
		k.verify = mapper.NewVerifier(m.rule)
		k.compare = mapper.NewComparer(m.layout, m.rule, view, func(c mapper.Candidate) error {
			if !k.verify.Unlike(m.views, c.Table, uint32(c.A), uint32(c.B)) {
				m.verify(w, &c)
			}
			return nil
		})
	}
}

// verify has a worker verify a candidate pair.
func (m *memory[F]) verify(worker int, c *mapper.Candidate) {
	k := &m.judges[worker]
	m.views.View(uint32(c.A), &k.a)
	m.views.View(uint32(c.B), &k.b)
	if p, ok := k.verify.Pair(c, &k.a, &k.b); ok {
		p.A, p.B = m.numbers[p.A], m.numbers[p.B]
		m.out.add(worker, p)
	}
}

// document is the document of a fingerprint's place.
func (m *memory[F]) document(place uint32) uint64 {
	if m.normal != nil {
		return uint64(m.normal[place])
	}
	return uint64(place)
}

// near finds the pairs by the fingerprints.
func (m *memory[F]) near(ctx context.Context, set *hamming.Set[F]) error {
	options := m.options()
	options.Pass = func(tables int64) func(int64) { return m.job.Pass.Begin(tables, "tables") }
	if m.views == nil {
		return set.Pairs(ctx, m.rule.K, options, func(worker int, i, j uint32, distance int) {
			a, b := m.numbers[m.document(set.Members(int(i))[0])], m.numbers[m.document(set.Members(int(j))[0])]
			m.out.add(worker, data.Pair{A: min(a, b), B: max(a, b), Distance: uint8(distance)})
		})
	}
	members := func(dst []uint64, i uint32) []uint64 {
		for _, place := range set.Members(int(i)) {
			dst = append(dst, m.document(place))
		}
		return dst
	}
	type lists struct{ a, b []uint64 }
	buffers := make([]lists, m.workers)
	err := m.each(ctx, set.Len(), func(worker, i int) error {
		if len(set.Members(i)) < 2 {
			return nil
		}
		b := &buffers[worker]
		b.a = members(b.a[:0], uint32(i))
		return m.judges[worker].compare.Shared(mapper.Fingerprints, 0, b.a)
	})
	if err != nil {
		return err
	}
	return set.Pairs(ctx, m.rule.K, options, func(worker int, i, j uint32, distance int) {
		b := &buffers[worker]
		b.a, b.b = members(b.a[:0], i), members(b.b[:0], j)
		_ = m.judges[worker].compare.Near(b.a, b.b, distance) // which reads memory alone
	})
}

// shared finds the pairs by the other tables: each is sorted by value, and its
// groups are compared.
func (m *memory[F]) shared(ctx context.Context) error {
	var records, spare []uint64
	values := mapper.NewMap(nil, m.rule)
	var v data.View
	advance := m.job.Pass.Begin(mapper.SketchTables, "tables")
	for table := range mapper.SketchTables {
		records = records[:0]
		for doc := range m.views.Len() {
			m.views.View(uint32(doc), &v)
			for _, value := range values.Values(table, &v) {
				records = append(records, value<<32|uint64(doc))
			}
		}
		spare = slices.Grow(spare[:0], len(records))[:len(records)]
		records, spare = sorted(records, spare)
		var err error
		if table == mapper.Samples && len(records) > 0 {
			err = m.sampled(ctx, mapper.NewSampled(m.views, records, spare))
		} else {
			err = m.each(ctx, m.workers, func(_, part int) error { return m.sharedPart(ctx, table, part, records) })
		}
		if err != nil {
			return err
		}
		advance(1)
	}
	return nil
}

// sampled finds the pairs by the samples, the last table.
func (m *memory[F]) sampled(ctx context.Context, found *mapper.Sampled) error {
	return m.each(ctx, m.views.Len(), func(worker, unit int) error {
		k := &m.judges[worker]
		found.Each(k.verify, uint32(unit), func(other uint32) {
			m.verify(worker, &mapper.Candidate{A: uint64(unit), B: uint64(other), Table: mapper.Samples})
		})
		return nil
	})
}

// sharedPart compares the groups that begin in a part of a table's records.
func (m *memory[F]) sharedPart(ctx context.Context, table, part int, records []uint64) error {
	start := func(part int) int {
		at := len(records) * part / m.workers
		for at > 0 && at < len(records) && records[at]>>32 == records[at-1]>>32 {
			at++
		}
		return at
	}
	at, end := start(part), start(part+1)
	var docs []uint64
	compare := m.judges[part].compare
	for n := 0; at < end; n++ {
		if n&0xffff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		value := records[at] >> 32
		docs = docs[:0]
		for ; at < len(records) && records[at]>>32 == value; at++ {
			docs = append(docs, uint64(uint32(records[at])))
		}
		if len(docs) < 2 {
			continue
		}
		if err := compare.Shared(table, value, docs); err != nil {
			return err
		}
	}
	return nil
}

// each calls f for 0 to n-1, in runs of some, with the number of the worker.
func (j *join) each(ctx context.Context, n int, f func(worker, i int) error) error {
	const most = 4096
	run := max(min(n/(8*j.workers), most), 1)
	var next atomic.Int64
	return engine.Parallel(ctx, j.workers, j.workers, func(ctx context.Context, w int) error {
		for from := int(next.Add(int64(run))) - run; from < n; from = int(next.Add(int64(run))) - run {
			if err := ctx.Err(); err != nil {
				return err
			}
			for i := from; i < min(from+run, n); i++ {
				if err := f(w, i); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// sorted sorts records by their upper 32 bits, keeping the order of those that
// share them: four passes of a radix sort, those of a byte that is the same
// everywhere left out. It returns the other of its two slices second.
func sorted(from, to []uint64) (sorted, spare []uint64) {
	for shift := 32; shift < 64; shift += 8 {
		var at [257]int
		for _, r := range from {
			at[int(byte(r>>shift))+1]++
		}
		if slices.Contains(at[1:], len(from)) {
			continue
		}
		for i := range 256 {
			at[i+1] += at[i]
		}
		for _, r := range from {
			b := byte(r >> shift)
			to[at[b]] = r
			at[b]++
		}
		from, to = to, from
	}
	return from, to
}
