package reducer

import "sync/atomic"

// Best holds the best match of each of n documents. A document that is the same is
// a better match than one that contains it or is contained in it; after that the
// smaller distance decides, and after that the smaller document number. The result
// does not depend on the order in which pairs arrive. Best takes eight bytes a
// document, and its methods are safe for concurrent use.
type Best struct {
	// candidates[doc] is a Match by rank, so that the smaller value is the
	// better match and none is the largest value of all.
	candidates []atomic.Uint64
}

const noCandidate = ^uint64(0)

// Match is a document's match.
type Match struct {
	Doc      uint32 // the other document
	Distance uint8  // of the fingerprints
	Same     bool   // false: one contains the other
}

// Before reports whether m is the better match of the two.
func (m Match) Before(other Match) bool { return m.rank() < other.rank() }

// rank is the match as a number; the smaller one is the better match. Bit 40 is set
// unless it is the same, bits 32 to 39 are the distance, the lower half the
// document.
func (m Match) rank() uint64 {
	rank := uint64(m.Distance)<<32 | uint64(m.Doc)
	if !m.Same {
		rank |= 1 << 40
	}
	return rank
}

// NewBest returns the reducer for documents 0 to n-1, none matched.
func NewBest(n int) *Best {
	b := &Best{candidates: make([]atomic.Uint64, n)}
	for i := range b.candidates {
		b.candidates[i].Store(noCandidate)
	}
	return b
}

// Add makes each of two documents a match of the other, and keeps it where it is
// the best so far.
func (b *Best) Add(x, y uint32, distance uint8, same bool) {
	b.offer(x, Match{y, distance, same})
	b.offer(y, Match{x, distance, same})
}

func (b *Best) offer(doc uint32, m Match) {
	c := &b.candidates[doc]
	offered := m.rank()
	for {
		have := c.Load()
		if offered >= have || c.CompareAndSwap(have, offered) {
			return
		}
	}
}

// Match returns doc's best match; ok is false when doc has none.
func (b *Best) Match(doc uint32) (m Match, ok bool) {
	c := b.candidates[doc].Load()
	return Match{uint32(c), uint8(c >> 32), c>>40 == 0}, c != noCandidate
}
