package reducer

import "sync/atomic"

// Best holds the best match of each of n documents: one that is the same before
// one that contains it, or that it contains, then the one at the smallest
// distance, ties to the smaller document number. The order in which pairs arrive
// does not matter. Eight bytes a document.
type Best struct {
	// candidates[doc] is a Match by rank, so that the smaller value is the
	// better match and none is the largest value of all.
	candidates []atomic.Uint64
}

const noCandidate = ^uint64(0)

// Match is a document's match.
type Match struct {
	Doc      uint32
	Distance uint8
	Same     bool // else one contains the other
}

// Before reports whether m is the better match of the two.
func (m Match) Before(other Match) bool { return m.rank() < other.rank() }

// rank has the match in the lower half, its distance and whether it is the same
// above.
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

// Add offers two documents to each other. Safe for concurrent use.
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
