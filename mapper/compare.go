package mapper

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash"
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

// Comparer is the third map: it finds the candidate pairs of a group. It holds
// buffers that are used again, so one goroutine uses it at a time.
type Comparer struct {
	layout *simhash.Layout
	rule   Rule
	narrow *hamming.Joiner[uint64]
	wide   *hamming.Joiner[hamming.Uint128]
	view   func(doc uint64, v *data.View) error
	visit  func(Candidate) error

	docs []uint64
	hot  []hotDocument
}

type hotDocument struct {
	doc    uint64
	sketch [data.SketchSize]byte
}

// NewComparer returns a Comparer for the groups of the layout's keys and of the
// other tables of the rule. It calls visit with every candidate pair, once for
// each key but segments that brings it together; within segments once. view
// reads the view of a hot key's document.
func NewComparer(layout *simhash.Layout, rule Rule, view func(doc uint64, v *data.View) error, visit func(Candidate) error) *Comparer {
	return &Comparer{layout: layout, rule: rule, view: view, visit: visit}
}

// Group visits the candidate pairs of one key's group as the final reduce
// gathers it. Of a segment's group those are the documents within the distance
// that no earlier segment brings together, and in the first table those of the
// same fingerprint. A group of g entries costs about g: inside it the rest of
// the bits is split again.
func (c *Comparer) Group(entries []data.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	key := simhash.Key(entries[0].Key)
	if t := key.Table() - c.layout.Tables(); t >= 0 {
		c.docs = c.docs[:0]
		for _, e := range entries {
			c.docs = append(c.docs, e.Docs...)
		}
		slices.Sort(c.docs)
		return c.Shared(t, key.Value(), c.docs)
	}
	if key.Table() == 0 {
		for _, e := range entries {
			if err := c.Shared(Fingerprints, 0, e.Docs); err != nil {
				return err
			}
		}
	}
	var failed error
	err := c.within(entries, func(a, b, distance int) {
		if failed == nil && c.layout.FirstCommonTable(c.fingerprint(entries[a]), c.fingerprint(entries[b])) == key.Table() {
			failed = c.Near(entries[a].Docs, entries[b].Docs, distance)
		}
	})
	return cmp.Or(err, failed)
}

func (c *Comparer) fingerprint(e data.Entry) simhash.Fingerprint {
	return c.layout.Join(simhash.Key(e.Key), simhash.Fingerprint{Hi: e.Hi, Lo: e.Lo})
}

// within calls visit with the places of every pair of entries within the
// distance.
func (c *Comparer) within(entries []data.Entry, visit func(a, b, distance int)) error {
	if len(entries) < 2 {
		return nil
	}
	if c.layout.Bits() > 64 {
		if c.wide == nil {
			c.wide = hamming.NewJoiner[hamming.Uint128]()
		}
		group := make([]hamming.Uint128, len(entries))
		for i, e := range entries {
			group[i] = hamming.Uint128{Hi: e.Hi, Lo: e.Lo}
		}
		return c.wide.Within(group, c.rule.K, visit)
	}
	if c.narrow == nil {
		c.narrow = hamming.NewJoiner[uint64]()
	}
	group := make([]uint64, len(entries))
	for i, e := range entries {
		group[i] = e.Lo
	}
	return c.narrow.Within(group, c.rule.K, visit)
}

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
	if table == Samples && window > maxSampled {
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
