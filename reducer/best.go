package reducer

import "sync/atomic"

// Best holds the best match of each of n documents: the one at the smallest
// distance, ties to the smaller document number. The order in which pairs
// arrive does not matter. Eight bytes a document.
type Best struct {
	// candidates[doc] is the distance in the upper half and the match in the
	// lower, so that the smaller value is the better match and none is the
	// largest value of all.
	candidates []atomic.Uint64
}

const noCandidate = ^uint64(0)

// NewBest returns the reducer for documents 0 to n-1, none matched.
func NewBest(n int) *Best {
	b := &Best{candidates: make([]atomic.Uint64, n)}
	for i := range b.candidates {
		b.candidates[i].Store(noCandidate)
	}
	return b
}

// Add offers two documents to each other. Safe for concurrent use.
func (b *Best) Add(x, y uint32, distance uint8) {
	b.Offer(x, y, distance)
	b.Offer(y, x, distance)
}

// Offer offers a match to a document. Safe for concurrent use.
func (b *Best) Offer(doc, match uint32, distance uint8) {
	c := &b.candidates[doc]
	offered := uint64(distance)<<32 | uint64(match)
	for {
		have := c.Load()
		if offered >= have || c.CompareAndSwap(have, offered) {
			return
		}
	}
}

// Match returns doc's best match and its distance; ok is false when doc has
// none.
func (b *Best) Match(doc uint32) (match uint32, distance uint8, ok bool) {
	c := b.candidates[doc].Load()
	return uint32(c), uint8(c >> 32), c != noCandidate
}

// Len is the number of documents.
func (b *Best) Len() int { return len(b.candidates) }
