// Package subset numbers the members of a set of documents anew, 0 to m-1, so that
// slices indexed by member take memory for the members alone. In most dumps only
// few documents have a match.
//
// The set is a bitmap with counts, so both directions are fast:
//
//	words     a bit for each document, in blocks of eight words
//	before    for each block: the number of members in earlier blocks
//	blocks    for every 512th member: its block
//
// Rank of a document: before of its block, plus the bits before it in the block.
// Member of an index: blocks says where to search before; then count bits.
package subset

import (
	"math/bits"
	"slices"
	"sync/atomic"
)

// Set is a set of documents that numbers its members 0 to m-1 in their order. It
// takes at most a bit and a half for each document of the run, and holds at most
// 2³² − 1 members.
//
// First call Add for all members, then Seal, then the other methods.
type Set struct {
	words  []atomic.Uint64
	before []uint32 // by block of eight words: members in earlier blocks
	blocks []uint32 // by stride of members: the block of the first of these
	size   int
}

const (
	blockWords = 8
	stride     = blockWords * 64
)

// New returns an empty set of documents 0 to n-1.
func New(n uint64) *Set {
	return &Set{words: make([]atomic.Uint64, (n+63)/64)}
}

// Add adds doc, and reports whether it was no member before. Safe for concurrent use
// with itself, but not with other methods. Do not call it after Seal.
func (s *Set) Add(doc uint64) (added bool) {
	w, bit := &s.words[doc/64], uint64(1)<<(doc%64)
	return w.Load()&bit == 0 && w.Or(bit)&bit == 0
}

// Seal numbers the members. Afterwards the set never changes, and is safe for
// concurrent use.
func (s *Set) Seal() {
	s.before = make([]uint32, (len(s.words)+blockWords-1)/blockWords)
	for i := range s.words {
		block := i / blockWords
		if i%blockWords == 0 {
			s.before[block] = uint32(s.size)
		}
		s.size += bits.OnesCount64(s.words[i].Load())
		if len(s.blocks)*stride < s.size { // at most once: a stride has the members of eight words
			s.blocks = append(s.blocks, uint32(block))
		}
	}
}

// Len returns the number of members.
func (s *Set) Len() int { return s.size }

// Index returns the new number of doc; ok is false if doc is no member.
func (s *Set) Index(doc uint64) (index uint32, ok bool) {
	if !s.Has(doc) {
		return 0, false
	}
	return s.Rank(doc), true
}

// Rank returns the number of members smaller than doc, which may be n.
func (s *Set) Rank(doc uint64) uint32 {
	at := doc / 64
	if at == uint64(len(s.words)) {
		return uint32(s.size)
	}
	rank := s.before[at/blockWords] + uint32(bits.OnesCount64(s.words[at].Load()&(1<<(doc%64)-1)))
	for i := at - at%blockWords; i < at; i++ {
		rank += uint32(bits.OnesCount64(s.words[i].Load()))
	}
	return rank
}

// Member returns the document with the new number index: the inverse of Index.
func (s *Set) Member(index uint32) uint64 {
	first, last := s.blocks[index/stride], uint32(len(s.before))
	if next := int(index/stride) + 1; next < len(s.blocks) {
		last = s.blocks[next] + 1
	}
	after, _ := slices.BinarySearch(s.before[first:last], index+1)
	block := int(first) + after - 1
	rest := int(index - s.before[block])
	for w := block * blockWords; ; w++ {
		word := s.words[w].Load()
		if n := bits.OnesCount64(word); rest >= n {
			rest -= n
			continue
		}
		for range rest {
			word &= word - 1
		}
		return uint64(w*64 + bits.TrailingZeros64(word))
	}
}

// Has reports whether doc is a member.
func (s *Set) Has(doc uint64) bool { return s.words[doc/64].Load()>>(doc%64)&1 != 0 }

// Any reports whether a document from first to last − 1 is a member.
func (s *Set) Any(first, last uint64) bool {
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
