package mapper

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/columns"
	"github.com/neardup/neardup/simhash/hamming"
)

// Bounds on hot keys, where very many documents that are not the same share a
// key: pages of one template, hot bands. Without them such a group would cost
// the square of its size, and as many pairs. They depend on nothing but the
// documents of the key, so that every way to carry the records finds the same.
const (
	// maxGroup is the most documents of one fingerprint, band or short text's
	// key that are all compared with each other; of more, each is compared with
	// the groupWindow next in order of their sketches.
	maxGroup    = 512
	groupWindow = 64

	// maxNear is the most pairs of documents of two fingerprints that are all
	// compared; of more, the nearDocuments smallest on either side are.
	maxNear       = 4096
	nearDocuments = 16

	// maxSampled is the most documents of one sampled shingle that are compared
	// with each other; of more none are. What so many share is a footer or a
	// phrase, and texts that contain each other share more.
	maxSampled = 128
)

// MostNear is how many documents of a fingerprint Near need be told of: more
// change nothing.
const MostNear = maxNear + 1

// SegmentComparer is the second map for the groups of segment keys: it computes
// the Hamming distance h inside each group, and so the similarity 1 − h/bits. It
// holds buffers that are used again, so one goroutine uses it at a time.
type SegmentComparer[F columns.Fingerprint] struct {
	layout *simhash.Layout
	k      int
	joiner *hamming.Joiner[F]
}

// NewSegmentComparer returns a comparer of groups of the layout's keys that finds
// what is within k.
func NewSegmentComparer[F columns.Fingerprint](layout *simhash.Layout, k int) *SegmentComparer[F] {
	return &SegmentComparer[F]{layout: layout, k: k, joiner: hamming.NewJoiner[F]()}
}

// Target is the size of group that costs least to compare.
func (c *SegmentComparer[F]) Target() int { return c.joiner.Target() }

// Groups visits the pairs of fingerprints within the distance in the groups of a
// table's key, a column as reducer.Grouper gives it: those that no earlier key
// brings together, so that all groups of all keys visit each pair once. A group of
// g costs about g: inside it the rest of the bits is split again.
func (c *SegmentComparer[F]) Groups(ctx context.Context, table, key int, values []F, ends []uint32, visit func(a, b *F, distance int)) error {
	return c.joiner.Groups(ctx, values, ends, c.k, func(a, b *F, distance int) {
		if t, i := c.layout.First(columns.Diff(a, b)); t == table && i == key {
			visit(a, b, distance)
		}
	})
}

// Comparer is the second map for documents: it makes the candidate pairs of those
// that share a key. It holds buffers that are used again, so one goroutine uses it
// at a time.
type Comparer struct {
	view  func(doc uint64, v *data.View) error
	visit func(Candidate) error
	hot   []hotDocument
}

type hotDocument struct {
	doc    uint64
	sketch [data.SketchSize]byte
}

// NewComparer returns a Comparer. It calls visit with every candidate pair, once
// for each value that brings it together; within segments once. view reads the
// view of a hot key's document.
func NewComparer(view func(doc uint64, v *data.View) error, visit func(Candidate) error) *Comparer {
	return &Comparer{view: view, visit: visit}
}

// Candidate visits a candidate pair that was found in another way.
func (c *Comparer) Candidate(p Candidate) error { return c.visit(p) }

// Near visits the pairs of the documents of one fingerprint with those of
// another at that distance, both ascending.
func (c *Comparer) Near(a, b []uint64, distance int) error {
	if len(a)*len(b) > maxNear {
		a, b = a[:min(len(a), nearDocuments)], b[:min(len(b), nearDocuments)]
	}
	for _, x := range a {
		for _, y := range b {
			if err := c.visit(Candidate{A: min(x, y), B: max(x, y), Table: Fingerprints, Distance: uint8(distance)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Shared visits the pairs of documents, ascending, that share a key: the same
// fingerprint, a band, a short text's key or a sampled shingle.
func (c *Comparer) Shared(table int, key uint64, docs []uint64) error {
	window := len(docs)
	if table >= 0 && Tables[table].Most > 0 && window > Tables[table].Most {
		return nil
	}
	if window > maxGroup {
		window = groupWindow
		var err error
		if docs, err = c.bySketch(docs); err != nil {
			return err
		}
	}
	for i, x := range docs {
		for _, y := range docs[i+1 : min(i+1+window, len(docs))] {
			if err := c.visit(Candidate{A: min(x, y), B: max(x, y), Table: table, Key: key}); err != nil {
				return err
			}
		}
	}
	return nil
}

// bySketch returns the documents in order of their sketches.
func (c *Comparer) bySketch(docs []uint64) ([]uint64, error) {
	c.hot = slices.Grow(c.hot[:0], len(docs))[:len(docs)]
	var v data.View
	for i, doc := range docs {
		if err := c.view(doc, &v); err != nil {
			return nil, err
		}
		c.hot[i] = hotDocument{doc, v.Sketch}
	}
	slices.SortFunc(c.hot, func(a, b hotDocument) int {
		return cmp.Or(bytes.Compare(a.sketch[:], b.sketch[:]), cmp.Compare(a.doc, b.doc))
	})
	out := make([]uint64, len(docs))
	for i := range c.hot {
		out[i] = c.hot[i].doc
	}
	return out, nil
}

// Bounded reports whether a bound may have kept two documents from being
// compared: prints says how many documents have the fingerprint of either, and
// shared how many have the band or short text's key in common with both, of
// these keys the one of the most documents, and sampled the same of sampled
// shingles, of which one of few documents is enough: the one of the fewest.
func Bounded(prints [2]int, shared, sampled int) bool {
	return prints[0]*prints[1] > maxNear || max(prints[0], prints[1], shared) > maxGroup || sampled > maxSampled
}
