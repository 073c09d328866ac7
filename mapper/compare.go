package mapper

import (
	"context"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash/columns"
	"github.com/neardup/neardup/simhash/hamming"
)

// Bounds on hot keys: keys that very many different documents share, such as the
// pages of one template. Without bounds a group of g documents costs g²
// comparisons, and may yield as many pairs. The bounds depend on nothing but the
// documents of the key, so memory, disk and cluster find the same pairs.
const (
	// maxGroup is the size up to which all pairs of a group are compared, and
	// maxShortGroup the same for a short text's key. A forest divides a larger
	// group into parts of at most maxPart documents, by the rest of their sketches.
	maxGroup      = 4096
	maxShortGroup = 512
	maxPart       = 128

	// maxPlain is the size up to which every pair of a group is a candidate. In a
	// larger group pairs that their sketches rule out are dropped at once.
	maxPlain = 512

	// maxNear is how many documents of one fingerprint are compared with those of a
	// near one: the first, if there are more.
	maxNear = 512

	// maxSampled is the size beyond which a group of a sampled shingle is not
	// compared at all. What so many documents share is a footer or a phrase; a text
	// that contains another shares more shingles with it than this one.
	maxSampled = 128
)

// MostNear is how many documents of one fingerprint [Comparer.Near] reads. It
// ignores any behind them, so callers need not pass them.
const MostNear = maxNear

// Crowded reports whether a bound may leave pairs of a group uncompared. The group
// is that of a value in a table of [Tables], or, for [SegmentTables], of one
// fingerprint; documents is its size.
func Crowded(table, documents int) bool { return documents > MostCompared(table) }

// MostCompared is the size up to which all pairs of such a group are compared.
func MostCompared(table int) int {
	switch {
	case table == SegmentTables:
		return maxNear
	case Tables[table].Most > 0:
		return Tables[table].Most
	case table == ShortTexts:
		return maxShortGroup
	}
	return maxGroup
}

// CrowdedPairs is about how many pairs of a crowded group in a table of [Tables] are
// compared, for each of its documents. Parts of Bands trees have up to half of
// Bands · maxPart of them; but most parts are not full, and have pairs in common.
func CrowdedPairs(table int) float64 {
	if Tables[table].Most > 0 {
		return 0 // it is not compared
	}
	return maxPart
}

// SegmentComparer is the second map for the groups of segment keys. It computes
// the Hamming distance h of the fingerprints inside each group, from which the
// similarity is 1 − h/bits. It reuses its buffers, so only one goroutine may use
// it at a time.
type SegmentComparer[F columns.Fingerprint] struct {
	tier   Tier
	joiner *hamming.Joiner[F]
}

// NewSegmentComparer returns a comparer that finds the tier's pairs in the groups of
// its keys.
func NewSegmentComparer[F columns.Fingerprint](tier *Tier) *SegmentComparer[F] {
	return &SegmentComparer[F]{tier: *tier, joiner: hamming.NewJoiner[F]()}
}

// Target is the group size that is cheapest to compare: making groups smaller
// gains nothing.
func (c *SegmentComparer[F]) Target() int { return c.joiner.Target() }

// Groups visits the tier's pairs of fingerprints in the groups of one key of a table. Values and ends are as reducer.Grouper returns them: group g is
// values[ends[g-1]:ends[g]]. Groups skips a pair that an earlier key also brings
// together, so over all keys each pair is visited once. A group of g fingerprints
// costs about g, not g², because a large one is split by its remaining bits.
// Groups returns the error of ctx if that is cancelled.
func (c *SegmentComparer[F]) Groups(ctx context.Context, table, key int, values []F, ends []uint32, visit func(a, b *F, distance int)) error {
	return c.joiner.Groups(ctx, values, ends, c.tier.K, func(a, b *F, distance int) {
		if !c.tier.reports(distance) {
			return
		}
		if t, i := c.tier.Layout.First(columns.Diff(a, b)); t == table && i == key {
			visit(a, b, distance)
		}
	})
}

// Comparer is the second map for documents: it makes the candidate pairs of a
// group. Only one goroutine may use it at a time.
type Comparer struct {
	view   func(doc uint64, v *data.View) error
	visit  func(Candidate) error
	verify *Verifier // nil without verification
}

// NewComparer returns a Comparer. It calls visit with every candidate pair: once
// for each value that the two documents share, and once in all for the segment
// tables. [Verifier.Pair] then keeps one of these. For a hot key the Comparer reads
// the documents' views and skips pairs that [Verifier.Unlike] rules out. An error
// from view or visit ends the call and is returned.
func NewComparer(rule Rule, view func(doc uint64, v *data.View) error, visit func(Candidate) error) *Comparer {
	c := &Comparer{view: view, visit: visit}
	if rule.Verified {
		c.verify = NewVerifier(rule)
	}
	return c
}

// Candidate visits a candidate pair that the caller found in another way.
func (c *Comparer) Candidate(p Candidate) error { return c.visit(p) }

// Near visits the pairs of a document of one fingerprint, in a, and one of
// another, in b; distance is that of the fingerprints. Both lists ascend.
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

// Shared visits the pairs of documents that share a key: a fingerprint (table is
// [SegmentTables]), a band, a short text's key or a sampled shingle. The documents
// ascend.
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
	if len(docs) > MostCompared(table) {
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

// hotDocuments are the documents of a hot key, with their views.
type hotDocuments struct {
	*Comparer
	Candidate // all of it but A and B
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

// compare visits the pair of docs[a] and docs[b], unless their sketches rule it
// out.
func (h *hotDocuments) compare(a, b uint32) error {
	if h.verify != nil && h.verify.Unlike(h.units, h.Table, a, b) {
		return nil
	}
	p := h.Candidate
	p.A, p.B = min(h.docs[a], h.docs[b]), max(h.docs[a], h.docs[b])
	return h.visit(p)
}
