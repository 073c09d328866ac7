package shuffle

import (
	"cmp"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/state/subset"
	"github.com/neardup/neardup/mapper"
)

// batchViews is how many documents are in the groups of a Batch before it reads their
// views. More take more memory, some 150 bytes a document; with fewer the blocks of
// views are read more often, since each batch reads nearly all of them. A document is
// in groups of many tables: batchMembers is how many members the groups have at most
// for each view.
const (
	batchViews   = 1 << 20
	batchMembers = 4
)

// Batch compares the documents of groups whose views are on shared storage, where
// random reads are slow. It collects many groups, reads the view of each of their
// documents once, in order of document number, and compares them in memory. Not
// safe for concurrent use.
type Batch struct {
	Rule      mapper.Rule
	Documents uint64                               // number of documents of the run
	View      func(doc uint64, v *data.View) error // reads the view of one of them
	Emit      func(data.Pair) error                // is called with each pair that is the same, or that the texts decide
	Counts    []*Count                             // of mapper.Tables; candidates and pairs are added
	Most      int                                  // views that it reads at a time; 0: batchViews

	groups   []group
	docs     []uint64    // of all groups, one behind the other
	distinct *subset.Set // of docs
	views    int         // in distinct
}

// group is the documents under one key or, if near, those of two fingerprints.
type group struct {
	key      uint64
	a, b     uint32 // number of documents; b is that of the second fingerprint
	table    int32
	distance uint8 // of the two fingerprints
	near     bool
}

// Shared collects a group as [mapper.Comparer.Shared] takes it.
func (b *Batch) Shared(table int, key uint64, docs []uint64) error {
	return b.add(group{table: int32(table), key: key, a: uint32(len(docs))}, docs)
}

// Near collects two groups as [mapper.Comparer.Near] takes them.
func (b *Batch) Near(x, y []uint64, distance int) error {
	x, y = x[:min(len(x), mapper.MostNear)], y[:min(len(y), mapper.MostNear)]
	return b.add(group{near: true, distance: uint8(distance), a: uint32(len(x)), b: uint32(len(y))}, x, y)
}

func (b *Batch) add(g group, docs ...[]uint64) error {
	if b.distinct == nil {
		b.distinct = subset.New(b.Documents)
	}
	b.groups = append(b.groups, g)
	for _, of := range docs {
		b.docs = append(b.docs, of...)
		for _, doc := range of {
			if b.distinct.Add(doc) {
				b.views++
			}
		}
	}
	if most := cmp.Or(b.Most, batchViews); b.views < most && len(b.docs) < most*batchMembers {
		return nil
	}
	return b.Flush()
}

// Flush compares the documents of the groups collected so far.
func (b *Batch) Flush() error {
	if len(b.groups) == 0 {
		return nil
	}
	places := b.distinct
	b.distinct, b.views = nil, 0
	if !b.Rule.Verified { // the fingerprints have decided
		return b.compare(mapper.NewComparer(b.Rule, b.View, func(c mapper.Candidate) error {
			return b.Emit(data.Pair{A: c.A, B: c.B, Distance: c.Distance})
		}))
	}
	places.Seal()
	views := mapper.NewUnits(true)
	views.Grow(places.Len())
	var view data.View
	for place := range uint32(places.Len()) {
		if err := b.View(places.Member(place), &view); err != nil {
			return err
		}
		views.Append(&view)
	}
	for i, doc := range b.docs {
		b.docs[i] = uint64(places.Rank(doc))
	}
	var failed error
	v := NewVerdicts(b.Rule, views, func(p data.Pair) {
		if failed == nil {
			p.A, p.B = places.Member(uint32(p.A)), places.Member(uint32(p.B))
			failed = b.Emit(p)
		}
	})
	if err := b.compare(v.Comparer); err != nil {
		return err
	}
	v.AddTo(b.Counts)
	return failed
}

// compare passes the groups to c, and forgets them.
func (b *Batch) compare(c *mapper.Comparer) (err error) {
	docs := b.docs
	for _, g := range b.groups {
		x, y := docs[:g.a], docs[g.a:g.a+g.b]
		docs = docs[g.a+g.b:]
		if g.near {
			err = c.Near(x, y, int(g.distance))
		} else {
			err = c.Shared(int(g.table), g.key, x)
		}
		if err != nil {
			return err
		}
	}
	b.groups, b.docs = b.groups[:0], b.docs[:0]
	return nil
}
