package engine

import (
	"math/bits"
	"sync/atomic"
)

// Subset is a set of documents that renumbers its members 0 to m-1 in their
// order, so that what follows costs memory for the members alone: of most
// dumps few documents have a match. A bit and a half per document; there are
// at most 2³² − 1 members.
type Subset struct {
	words  []atomic.Uint64
	before []uint32 // by block of eight words: members in earlier blocks
	size   int
}

const blockWords = 8

// NewSubset returns the empty subset of documents 0 to n-1.
func NewSubset(n uint64) *Subset {
	return &Subset{words: make([]atomic.Uint64, (n+63)/64)}
}

// Add puts doc into the subset. Safe for concurrent use, but not with Index,
// and not after Seal.
func (s *Subset) Add(doc uint64) {
	w, bit := &s.words[doc/64], uint64(1)<<(doc%64)
	if w.Load()&bit == 0 {
		w.Or(bit)
	}
}

// Seal numbers the members; Len, Index and Members may be used from then on.
func (s *Subset) Seal() {
	s.before = make([]uint32, (len(s.words)+blockWords-1)/blockWords)
	for i := range s.words {
		if i%blockWords == 0 {
			s.before[i/blockWords] = uint32(s.size)
		}
		s.size += bits.OnesCount64(s.words[i].Load())
	}
}

// Len is the number of members.
func (s *Subset) Len() int { return s.size }

// Index returns the new number of doc; ok is false when it is no member.
func (s *Subset) Index(doc uint64) (index uint32, ok bool) {
	at := doc / 64
	word := s.words[at].Load()
	if word>>(doc%64)&1 == 0 {
		return 0, false
	}
	index = s.before[at/blockWords] + uint32(bits.OnesCount64(word&(1<<(doc%64)-1)))
	for i := at - at%blockWords; i < at; i++ {
		index += uint32(bits.OnesCount64(s.words[i].Load()))
	}
	return index, true
}

// Has reports whether doc is a member.
func (s *Subset) Has(doc uint64) bool { return s.words[doc/64].Load()>>(doc%64)&1 != 0 }

// Any reports whether a document from first to last − 1 is a member.
func (s *Subset) Any(first, last uint64) bool {
	for ; first < last && first%64 != 0; first++ {
		if s.Has(first) {
			return true
		}
	}
	for ; first+64 <= last; first += 64 {
		if s.words[first/64].Load() != 0 {
			return true
		}
	}
	for ; first < last; first++ {
		if s.Has(first) {
			return true
		}
	}
	return false
}

// Members lists the documents in order: entry i is the one renumbered i.
func (s *Subset) Members() []uint64 {
	out := make([]uint64, 0, s.size)
	for i := range s.words {
		for w := s.words[i].Load(); w != 0; w &= w - 1 {
			out = append(out, uint64(i*64+bits.TrailingZeros64(w)))
		}
	}
	return out
}
