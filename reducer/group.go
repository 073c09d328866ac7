package reducer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/neardup/neardup/data"
)

// errOrder: a part is not sorted.
var errOrder = errors.New("entries are not in order")

// Part is what one partial reduce delivered for a partition of the keys, in
// its order: each call puts the next entry into e, whose documents are good
// until the next call, or returns false at the end. An entry may come in
// pieces, one after the other.
type Part func(e *data.Entry) (bool, error)

// Partial is phase one of the salted reduce: the records of one (salt, key)
// partition, in any order and of any number of keys, become one entry per
// distinct fingerprint and key, its documents ascending and each once, in order
// of key, then fingerprint. The Part returned has no error. records is sorted in
// place, and not to be changed while the Part is read.
//
// The salt is taken from the fingerprint, so identical fingerprints are
// always in the same partition and collapse here, before they travel on.
func Partial(records []data.Keyed) Part {
	sortKeyed(records)
	var docs []uint64
	return func(e *data.Entry) (bool, error) {
		if len(records) == 0 {
			return false, nil
		}
		r, n := records[0], 0
		for docs = docs[:0]; n < len(records); n++ {
			next := &records[n]
			if next.Key != r.Key || next.Lo != r.Lo || next.Hi != r.Hi {
				break
			}
			if n == 0 || next.Doc != docs[len(docs)-1] { // a record delivered twice counts once
				docs = append(docs, next.Doc)
			}
		}
		records = records[n:]
		e.Key, e.Hi, e.Lo, e.Docs = r.Key, r.Hi, r.Lo, docs
		return true, nil
	}
}

// Final is phase two: it merges what the salts' partial reduces delivered for
// one partition of the keys and calls group once per key in ascending order
// with the key's entries in ascending order of fingerprint. The entries are
// used again. It stops at group's or a part's first error and returns it, and
// with an error at a part out of order. It holds one group at a time.
func Final(parts []Part, group func(entries []data.Entry) error) error {
	m := merge{parts: parts, heads: make([]data.Entry, len(parts))}
	for i := range parts {
		ok, err := parts[i](&m.heads[i])
		if err != nil {
			return err
		}
		if ok {
			m.heap = append(m.heap, i)
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	var g members
	for len(m.heap) > 0 {
		g.reset()
		key := m.heads[m.heap[0]].Key
		for len(m.heap) > 0 && m.heads[m.heap[0]].Key == key {
			g.add(&m.heads[m.heap[0]])
			if err := m.advance(); err != nil {
				return err
			}
		}
		if err := group(g.close()); err != nil {
			return err
		}
	}
	return nil
}

// merge is parts under way: a heap of those that have a next entry.
type merge struct {
	parts []Part
	heads []data.Entry // the next entry of each part
	heap  []int
}

// advance takes the next entry of the heap's first part.
func (m *merge) advance() error {
	i := m.heap[0]
	head := &m.heads[i]
	key, hi, lo := head.Key, head.Hi, head.Lo
	ok, err := m.parts[i](head)
	switch {
	case err != nil:
		return err
	case !ok:
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
	case compareBits(head.Key, head.Hi, head.Lo, key, hi, lo) < 0:
		return fmt.Errorf("%w: part %d has key %x, %x %x behind key %x, %x %x", errOrder, i, head.Key, head.Hi, head.Lo, key, hi, lo)
	}
	m.down(0)
	return nil
}

// down lets the heap's element at place i sink to where it belongs.
func (m *merge) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.heap); child++ {
			if m.less(m.heap[child], m.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		m.heap[i], m.heap[least] = m.heap[least], m.heap[i]
		i = least
	}
}

func (m *merge) less(a, b int) bool {
	x, y := &m.heads[a], &m.heads[b]
	return compareBits(x.Key, x.Hi, x.Lo, y.Key, y.Hi, y.Lo) < 0
}

// members are the entries of one group, with documents of their own.
type members struct {
	entries []data.Entry
	starts  []int // of each entry's documents
	docs    []uint64
	pieces  bool // an entry was put together of several
}

func (g *members) reset() {
	g.entries, g.starts, g.docs, g.pieces = g.entries[:0], g.starts[:0], g.docs[:0], false
}

// add takes the next entry in order, or a further piece of the last.
func (g *members) add(e *data.Entry) {
	if last := len(g.entries) - 1; last >= 0 && g.entries[last].Lo == e.Lo && g.entries[last].Hi == e.Hi {
		g.pieces = true
	} else {
		g.entries = append(g.entries, data.Entry{Key: e.Key, Hi: e.Hi, Lo: e.Lo})
		g.starts = append(g.starts, len(g.docs))
	}
	g.docs = append(g.docs, e.Docs...)
}

// close returns the entries, each one's documents ascending and each once.
func (g *members) close() []data.Entry {
	for i := range g.entries {
		end := len(g.docs)
		if i+1 < len(g.starts) {
			end = g.starts[i+1]
		}
		docs := g.docs[g.starts[i]:end:end]
		if g.pieces {
			slices.Sort(docs)
			docs = slices.Compact(docs)
		}
		g.entries[i].Docs = docs
	}
	return g.entries
}

func compareBits(aKey, aHi, aLo, bKey, bHi, bLo uint64) int {
	if c := cmp.Compare(aKey, bKey); c != 0 {
		return c
	}
	if c := cmp.Compare(aHi, bHi); c != 0 {
		return c
	}
	return cmp.Compare(aLo, bLo)
}
