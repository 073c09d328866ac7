package shuffle

import (
	"context"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/reducer"
	"github.com/neardup/neardup/simhash/columns"
)

// Memory is the join of documents in memory: it finds candidates in all tables
// and verifies them. It calls documents by their places, 0 to n-1. Set the
// fields, then call Pairs, once.
type Memory[F columns.Fingerprint] struct {
	Rule   mapper.Rule
	Tiers  mapper.Tiers      // those of the rule
	Lists  *columns.Lists[F] // distinct fingerprints of the documents of normal length; Pairs lets go of them
	Normal []uint32          // maps members of Lists to places of documents; nil if these are the same, as all are of normal length
	Views  *mapper.Units     // views of all documents, by place; nil without verification
	Options

	workers []*Verdicts // by worker
}

// Pairs calls emit with the pairs that mapper.Verifier.Pair reports: those that
// are the same, and those that only the texts can decide. A and B of a pair are
// places. Workers call emit as those of [Segments] call visit.
//
// Without verification it emits each pair of distinct fingerprints within the
// distance once, as the pair of their first documents.
func (m *Memory[F]) Pairs(ctx context.Context, emit func(worker int, p data.Pair)) error {
	m.Workers = max(m.Workers, 1)
	if m.Views == nil {
		o := m.Options
		o.once = true
		return Segments(ctx, m.Lists, &m.Tiers[0], o, func(worker int, i, j uint32, distance int) {
			a, b := uint64(m.document(m.Lists.Members(int(i))[0])), uint64(m.document(m.Lists.Members(int(j))[0]))
			emit(worker, data.Pair{A: min(a, b), B: max(a, b), Distance: uint8(distance)})
		})
	}
	m.workers = make([]*Verdicts, m.Workers)
	for w := range m.workers {
		m.workers[w] = NewVerdicts(m.Rule, m.Views, func(p data.Pair) { emit(w, p) })
	}
	for _, find := range []func(context.Context) error{m.equal, m.near, m.shared} {
		if err := find(ctx); err != nil {
			return err
		}
	}
	for _, w := range m.workers {
		if m.Counts != nil {
			w.AddTo(m.Counts[m.Tiers.Tables():])
		}
	}
	return nil
}

// document returns the place of the document that Lists calls place.
func (m *Memory[F]) document(place uint32) uint32 { return documentOf(m.Normal, place) }

// documentOf returns the place of the document that lists of some of them call place;
// nil places stand for all documents.
func documentOf(places []uint32, place uint32) uint32 {
	if places != nil {
		return places[place]
	}
	return place
}

// equal finds the pairs of documents with the same fingerprint.
func (m *Memory[F]) equal(ctx context.Context) error {
	buffers := make([][]uint64, m.Workers)
	return Each(ctx, m.Workers, m.Lists.Len(), func(worker, i int) error {
		if len(m.Lists.Members(i)) < 2 {
			return nil
		}
		buffers[worker] = members(buffers[worker][:0], m.Lists, m.Normal, uint32(i))
		return m.workers[worker].Shared(mapper.SegmentTables, 0, buffers[worker])
	})
}

// members appends to dst the places of the documents with distinct fingerprint i of
// lists, which calls them as documentOf says.
func members[F columns.Fingerprint](dst []uint64, lists *columns.Lists[F], places []uint32, i uint32) []uint64 {
	for _, place := range lists.Members(int(i)) {
		dst = append(dst, uint64(documentOf(places, place)))
	}
	return dst
}

// near finds the pairs of documents with different fingerprints within the
// distance, tier after tier.
func (m *Memory[F]) near(ctx context.Context) error {
	first := 0 // the tier's first table
	for t := range m.Tiers {
		tier := &m.Tiers[t]
		lists, places := m.Lists, m.Normal
		if m.Lists, m.Normal = nil, nil; t > 0 { // they take memory
			var err error
			if lists, places, err = m.in(tier); err != nil {
				return err
			}
		}
		o := m.Options
		if o.Counts != nil {
			o.Counts = o.Counts[first:]
		}
		first += tier.Layout.Tables()
		type documents struct{ a, b []uint64 }
		buffers := make([]documents, m.Workers)
		err := Segments(ctx, lists, tier, o, func(worker int, i, j uint32, distance int) {
			b := &buffers[worker]
			b.a, b.b = members(b.a[:0], lists, places, i), members(b.b[:0], lists, places, j)
			_ = m.workers[worker].Near(b.a, b.b, distance) // which reads memory alone
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// in returns the distinct fingerprints of the documents of a tier, and their places.
func (m *Memory[F]) in(tier *mapper.Tier) (lists *columns.Lists[F], places []uint32, err error) {
	var v data.View
	var postings []F
	for doc := range uint32(m.Views.Len()) {
		if m.Views.View(doc, &v); tier.Has(&v) {
			places, postings = append(places, doc), append(postings, mapper.Segments[F](&v))
		}
	}
	lists, err = columns.Collapse(postings, tier.Layout.Bits(), m.Workers)
	return lists, places, err
}

// documentPostings is room for the postings of a document in a table: of sampled
// shingles it has at most 255.
const documentPostings = 256

// roomFor is how much room the postings of the documents want beyond those that the
// first done of them have: as much as these let expect, and a sixteenth of it. With
// append alone they would be moved many times, and their old rooms wait to be collected.
func roomFor(postings, done, documents int) int {
	more := float64(postings) / float64(max(done, 1)) * float64(documents-done)
	return int(more*17/16) + postings/16 + documentPostings
}

// shared finds the pairs of the tables of mapper.Tables: it sorts the postings of
// each by value, and compares the documents that share one.
func (m *Memory[F]) shared(ctx context.Context) error {
	if !m.Rule.Sketched() {
		return nil
	}
	var postings, spare []uint64
	keys := mapper.NewKeyEmitter(nil, m.Rule)
	var v data.View
	advance := m.begin(int64(len(mapper.Tables)))
	for table := range mapper.Tables {
		postings = slices.Grow(postings[:0], m.Views.Len()+documentPostings)
		for doc := range m.Views.Len() {
			m.Views.View(uint32(doc), &v)
			if cap(postings)-len(postings) < documentPostings {
				postings = slices.Grow(postings, roomFor(len(postings), doc, m.Views.Len()))
			}
			postings = keys.Column(postings, table, &v, uint32(doc))
		}
		spare = slices.Grow(spare[:0], len(postings))[:len(postings)]
		var err error
		if table == mapper.Samples {
			postings, spare = reducer.ByValue(postings, spare, m.Workers)
			m.count(m.Tiers.Tables() + table).Add(values(postings))
			err = m.sampled(ctx, mapper.NewSampled(m.Views, postings, spare))
		} else {
			postings, spare, err = Values(ctx, postings, spare, m.Workers, m.count(m.Tiers.Tables()+table), func(worker int, value uint64, places []uint64) error {
				return m.workers[worker].Shared(table, value, places)
			})
		}
		if err != nil {
			return err
		}
		advance(1)
	}
	return nil
}

// values counts the groups of a column, which must be sorted by value.
func values(sorted []uint64) (did rundir.TableCount) {
	for from, to := 0, 0; from < len(sorted); from = to {
		for to < len(sorted) && mapper.Value(sorted[to]) == mapper.Value(sorted[from]) {
			to++
		}
		AddDocuments(&did, int64(to-from))
	}
	return did
}

// sampled finds the pairs of documents that share enough of their samples.
func (m *Memory[F]) sampled(ctx context.Context, found *mapper.Sampled) error {
	return Each(ctx, m.Workers, m.Views.Len(), func(worker, unit int) error {
		w := m.workers[worker]
		found.Each(w.verify, uint32(unit), func(other uint32) {
			_ = w.Candidate(mapper.Candidate{A: uint64(unit), B: uint64(other), Table: mapper.Samples}) // which reads memory alone
		})
		return nil
	})
}
