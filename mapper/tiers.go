package mapper

import (
	"fmt"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/sketch"
)

// Tier is one join by fingerprints: the documents that are in it, and the distance
// within which two of them are candidates. Most rules have one tier, of all
// documents. A rule by length has two:
//
//	all texts                                 within sketch.PieceLong    4 tables
//	those below sketch.PiecesFrom characters  within K                  11 tables
//
// The larger the distance, the more tables it takes and the larger are their groups,
// so only the texts that need it are in the second one.
type Tier struct {
	Layout  *simhash.Layout // its segment tables; set by Tiers.Choose
	K       int             // two documents of the tier are candidates within this distance
	Beyond  int             // but not within this one: the tier before has these pairs; 0: there is none
	Shorter uint32          // only texts of fewer characters are in the tier; 0: all are
}

// Has reports whether a document is in the tier.
func (t *Tier) Has(v *data.View) bool { return v.Normal && (t.Shorter == 0 || v.Length < t.Shorter) }

// reports tells whether the tier reports pairs of that distance.
func (t *Tier) reports(distance int) bool { return t.Beyond == 0 || distance > t.Beyond }

// Reads is what Has reads of a view, besides the fingerprint.
func (t *Tier) Reads() data.ViewColumns {
	if t.Shorter == 0 {
		return 0
	}
	return data.ReadSketch
}

// name is that of one of the tier's tables: 00A.
func (t *Tier) name(table int) string {
	if t.Shorter == 0 {
		return t.Layout.Prefix(table)
	}
	return fmt.Sprintf("%s below %d", t.Layout.Prefix(table), t.Shorter)
}

// Tiers are the tiers of a rule. Their segment tables are numbered from 0, tier after
// tier. The first tier has all documents of the others, and reports the pairs of
// equal fingerprints.
type Tiers []Tier

// Tiers returns the rule's tiers, without layouts.
func (r *Rule) Tiers() Tiers {
	if !r.ByLength || r.K <= sketch.PieceLong {
		return Tiers{{K: r.K}}
	}
	return Tiers{{K: sketch.PieceLong}, {K: r.K, Beyond: sketch.PieceLong, Shorter: sketch.PiecesFrom}}
}

// Count adds a document to the sizes of the tiers that it is in.
func (s Tiers) Count(sizes []uint64, v *data.View) {
	for i := range s {
		if s[i].Has(v) {
			sizes[i]++
		}
	}
}

// Choose sets each tier's layout to that of the lowest modelled cost for its size. Bits
// is the width of the fingerprints.
func (s Tiers) Choose(bits int, sizes []uint64) (err error) {
	for i := range s {
		if s[i].Layout, err = simhash.ChooseLayout(bits, s[i].K, sizes[i]); err != nil {
			return err
		}
	}
	return nil
}

// Tables is the number of segment tables of all tiers.
func (s Tiers) Tables() (n int) {
	for i := range s {
		n += s[i].Layout.Tables()
	}
	return n
}

// Table returns the tier that a segment table belongs to, and its number there. For a
// table behind these the tier is nil, and the number its place in [Tables].
func (s Tiers) Table(t int) (tier *Tier, table int) {
	for i := range s {
		n := s[i].Layout.Tables()
		if t < n {
			return &s[i], t
		}
		t -= n
	}
	return nil, t
}

// Reads is what tells which documents are in which tier, besides the fingerprint.
func (s Tiers) Reads() (c data.ViewColumns) {
	for i := range s {
		c |= s[i].Reads()
	}
	return c
}
