package mapper

import (
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
	// maxGroup is the most documents of one fingerprint or band that are all
	// compared with each other, and maxShortGroup the most of a short text's key: more
	// are told apart by the rest of their sketches, see forest, until parts have no
	// more than maxPart.
	maxGroup      = 4096
	maxShortGroup = 512
	maxPart       = 128

	// In groups of more than maxPlain documents these are told to be unlike by their
	// sketches before anybody asks for a verdict.
	maxPlain = 512

	// maxNear is the most documents of a fingerprint that are compared with those of
	// another near it; of more the first are.
	maxNear = 512

	// maxSampled is the most documents of one sampled shingle that are compared
	// with each other; of more none are. What so many share is a footer or a
	// phrase, and texts that contain each other share more.
	maxSampled = 128
)

// MostNear is how many documents of a fingerprint Near need be told of: more
// change nothing.
const MostNear = maxNear

// Crowded reports whether a bound may keep documents from being compared that share
// a value in a table of [Tables], or a fingerprint, with so many in all.
func Crowded(table, documents int) bool {
	if table == SegmentTables {
		return documents > maxNear
	}
	if most := Tables[table].Most; most > 0 {
		return documents > most
	}
	return documents > mostCompared(table)
}

// mostCompared is the most documents of a key of the table that are all compared.
func mostCompared(table int) int {
	if table == ShortTexts {
		return maxShortGroup
	}
	return maxGroup
}

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
// g costs about g: inside it the remaining bits are split again.
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
	view   func(doc uint64, v *data.View) error
	visit  func(Candidate) error
	verify *Verifier // nil without verification
}

// NewComparer returns a Comparer. It calls visit with every candidate pair, once
// for each value that brings it together; within segments once. Of a hot key's
// documents it reads the views, and leaves out what the rule's verdict is certainly
// no on, as Verifier.Unlike says it.
func NewComparer(rule Rule, view func(doc uint64, v *data.View) error, visit func(Candidate) error) *Comparer {
	c := &Comparer{view: view, visit: visit}
	if rule.Verified {
		c.verify = NewVerifier(rule)
	}
	return c
}

// Candidate visits a candidate pair that was found in another way.
func (c *Comparer) Candidate(p Candidate) error { return c.visit(p) }

// Near visits the pairs of the documents of one fingerprint with those of
// another at that distance, both ascending.
func (c *Comparer) Near(a, b []uint64, distance int) error {
	a, b = a[:min(len(a), maxNear)], b[:min(len(b), maxNear)]
	p := Candidate{Table: SegmentTables, Distance: uint8(distance)}
	if len(a)*len(b) <= maxPlain*maxPlain/2 {
		for _, x := range a {
			for _, y := range b {
				p.A, p.B = min(x, y), max(x, y)
				if err := c.visit(p); err != nil {
					return err
				}
			}
		}
		return nil
	}
	hot, err := c.gather(slices.Concat(a, b), p)
	for x := range a {
		for y := range b {
			if err == nil {
				err = hot.compare(uint32(x), uint32(len(a)+y))
			}
		}
	}
	return err
}

// Shared visits the pairs of documents, ascending, that share a key: the same
// fingerprint, a band, a short text's key or a sampled shingle.
func (c *Comparer) Shared(table int, key uint64, docs []uint64) error {
	p := Candidate{Table: table, Key: key}
	if table >= 0 && Tables[table].Most > 0 && len(docs) > Tables[table].Most {
		return nil
	}
	if len(docs) <= maxPlain {
		for i, x := range docs {
			for _, y := range docs[i+1:] {
				p.A, p.B = x, y
				if err := c.visit(p); err != nil {
					return err
				}
			}
		}
		return nil
	}
	hot, err := c.gather(docs, p)
	if err != nil {
		return err
	}
	n := uint32(len(docs))
	if len(docs) > mostCompared(table) {
		members := make([]uint32, n)
		for u := range n {
			members[u] = u
		}
		return newForest(hot.units, members, table).pairs(len(docs), hot.compare)
	}
	for a := range n {
		for b := a + 1; b < n; b++ {
			if err := hot.compare(a, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// hotDocuments are those of a hot key, with their views.
type hotDocuments struct {
	*Comparer
	Candidate // but for its documents
	docs      []uint64
	units     *Units // of docs
}

func (c *Comparer) gather(docs []uint64, of Candidate) (*hotDocuments, error) {
	h := &hotDocuments{c, of, docs, NewUnits(true)}
	var v data.View
	for _, doc := range docs {
		if err := c.view(doc, &v); err != nil {
			return nil, err
		}
		h.units.Append(&v)
	}
	return h, nil
}

// compare visits two of the documents, by their places, unless they are unlike.
func (h *hotDocuments) compare(a, b uint32) error {
	if h.verify != nil && h.verify.Unlike(h.units, h.Table, a, b) {
		return nil
	}
	p := h.Candidate
	p.A, p.B = min(h.docs[a], h.docs[b]), max(h.docs[a], h.docs[b])
	return h.visit(p)
}
