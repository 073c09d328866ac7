package mapper

import (
	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/hamming"
)

// Comparer is the third map: it finds the pairs within distance k inside a
// group. It holds buffers that are used again, so one goroutine uses it at a
// time.
type Comparer struct {
	layout *simhash.Layout
	k      int
	narrow *hamming.Joiner[uint64]
	wide   *hamming.Joiner[hamming.Uint128]
}

// NewComparer returns a Comparer for groups of the layout's keys.
func NewComparer(layout *simhash.Layout, k int) *Comparer {
	c := &Comparer{layout: layout, k: k}
	if layout.Bits() > 64 {
		c.wide = hamming.NewJoiner[hamming.Uint128]()
	} else {
		c.narrow = hamming.NewJoiner[uint64]()
	}
	return c
}

// Group calls emit for every pair of one key's group, its entries distinct,
// within distance k: the representatives of two entries when the group's
// table is the first in which they meet, and, in the first table alone, an
// entry's representative with each of its other documents at distance 0. So
// all groups together report every pair once. A group of g entries costs
// about g: inside it the rest of the bits is split again.
func (c *Comparer) Group(entries []data.Entry, emit func(data.Pair)) error {
	if len(entries) == 0 {
		return nil
	}
	table := simhash.Key(entries[0].Key).Table()
	if table == 0 {
		for _, e := range entries {
			Identical(e.Docs, emit)
		}
	}
	return c.within(entries, func(a, b, distance int) {
		if c.layout.FirstCommonTable(c.fingerprint(entries[a]), c.fingerprint(entries[b])) == table {
			emit(pair(entries[a], entries[b], distance))
		}
	})
}

func (c *Comparer) fingerprint(e data.Entry) simhash.Fingerprint {
	return c.layout.Join(simhash.Key(e.Key), simhash.Fingerprint{Hi: e.Hi, Lo: e.Lo})
}

// within calls visit with the places of every pair of entries within k.
func (c *Comparer) within(entries []data.Entry, visit func(a, b, distance int)) error {
	if len(entries) < 2 {
		return nil
	}
	if c.wide != nil {
		group := make([]hamming.Uint128, len(entries))
		for i, e := range entries {
			group[i] = hamming.Uint128{Hi: e.Hi, Lo: e.Lo}
		}
		return c.wide.Within(group, c.k, visit)
	}
	group := make([]uint64, len(entries))
	for i, e := range entries {
		group[i] = e.Lo
	}
	return c.narrow.Within(group, c.k, visit)
}

// Identical calls emit with the pairs of documents that share a fingerprint:
// the first, which represents them, with each of the others.
func Identical(docs []uint32, emit func(data.Pair)) {
	for _, doc := range docs[1:] {
		emit(data.Pair{A: docs[0], B: doc})
	}
}

func pair(a, b data.Entry, distance int) data.Pair {
	x, y := a.Docs[0], b.Docs[0]
	return data.Pair{A: min(x, y), B: max(x, y), Distance: uint8(distance)}
}
