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
	heads := make([]data.Entry, len(parts)) // the next entry of each part
	var left []int                          // the parts that have one
	for i, next := range parts {
		more, err := next(&heads[i])
		if err != nil {
			return err
		}
		if more {
			left = append(left, i)
		}
	}
	var g members
	for len(left) > 0 {
		key := heads[left[0]].Key
		for _, i := range left[1:] {
			key = min(key, heads[i].Key)
		}
		g.pieces, g.came = g.pieces[:0], g.came[:0]
		rest := left[:0]
		for _, i := range left {
			more, err := g.take(parts[i], &heads[i], key)
			if err != nil {
				return err
			}
			if more {
				rest = append(rest, i)
			}
		}
		left = rest
		if err := group(g.entries(key)); err != nil {
			return err
		}
	}
	return nil
}

// members are the entries of one group, with documents of their own.
type members struct {
	pieces []piece // of entries, as they came
	came   []uint64
	all    []data.Entry
	docs   []uint64
}

// piece is what came of an entry; its documents are came[from:to].
type piece struct {
	hi, lo   uint64
	from, to int
}

// take takes the entries of a part that have the key, from head on, and leaves
// the next one in head; more is false if there is none.
func (g *members) take(next Part, head *data.Entry, key uint64) (more bool, err error) {
	for more = true; more && head.Key == key; {
		g.pieces = append(g.pieces, piece{head.Hi, head.Lo, len(g.came), len(g.came) + len(head.Docs)})
		g.came = append(g.came, head.Docs...)
		hi, lo := head.Hi, head.Lo
		if more, err = next(head); err == nil && more && compareBits(head.Key, head.Hi, head.Lo, key, hi, lo) < 0 {
			err = fmt.Errorf("%w: key %x, %x %x behind key %x, %x %x", errOrder, head.Key, head.Hi, head.Lo, key, hi, lo)
		}
		if err != nil {
			return false, err
		}
	}
	return more, nil
}

// entries returns the entries in order, each one's documents ascending and each
// once.
func (g *members) entries(key uint64) []data.Entry {
	slices.SortStableFunc(g.pieces, func(a, b piece) int { return compareBits(0, a.hi, a.lo, 0, b.hi, b.lo) })
	g.all, g.docs = g.all[:0], slices.Grow(g.docs[:0], len(g.came))
	for i := 0; i < len(g.pieces); {
		p, from, n := g.pieces[i], len(g.docs), 0
		for ; i < len(g.pieces) && g.pieces[i].hi == p.hi && g.pieces[i].lo == p.lo; i++ {
			g.docs = append(g.docs, g.came[g.pieces[i].from:g.pieces[i].to]...)
			n++
		}
		docs := g.docs[from:]
		if n > 1 {
			slices.Sort(docs)
			docs = slices.Compact(docs)
		}
		g.all = append(g.all, data.Entry{Key: key, Hi: p.hi, Lo: p.lo, Docs: slices.Clip(docs)})
	}
	return g.all
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
