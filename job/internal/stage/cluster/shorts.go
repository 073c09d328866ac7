package cluster

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/neardup/neardup/simhash/sketch"
)

// shorts finds those of many short texts that may be few edits away from another one.
// It counts for 64 of them at once how many characters of the other they lack.
type shorts struct {
	texts []shortSample // by number of letters
	reach [1 << 8]reach // by the number of letters of the other, which is a byte
	lacks [64][]uint64  // for each bit of an outline's characters, a bitmap of the texts without it
}

// shortSample is the outline of the short text of sample number at.
type shortSample struct {
	outline sketch.Outline
	at      int
}

// reach says which of the texts have about as many letters as another one, from first
// to after − 1, and how many edits may be between it and these.
type reach struct{ first, after, most int }

func newShorts(texts []shortSample) *shorts {
	letters := func(s *shortSample) int { return s.outline.Letters() }
	slices.SortFunc(texts, func(a, b shortSample) int { return cmp.Compare(letters(&a), letters(&b)) })
	s := &shorts{texts: texts}
	for n := range s.reach {
		r := &s.reach[n]
		for i := range texts {
			switch m := letters(&texts[i]); {
			case m < n-sketch.MostEdits(n):
				r.first = i + 1
			case m-sketch.MostEdits(m) <= n:
				r.after, r.most = i+1, sketch.MostEdits(max(m, n))
			}
		}
	}
	for bit := range s.lacks {
		s.lacks[bit] = make([]uint64, (len(texts)+63)/64)
		for i := range texts {
			s.lacks[bit][i/64] |= (^texts[i].outline.Characters() >> bit & 1) << (i % 64)
		}
	}
	return s
}

// each calls yield with the sample of each text that is not Unlike the one of that
// outline.
func (s *shorts) each(o sketch.Outline, yield func(at int)) {
	r := &s.reach[o.Letters()]
	// A counter of five bits for each text begins so that it overflows beyond r.most.
	begin := uint64(1<<5 - 1 - r.most)
	b0, b1, b2, b3, b4 := -(begin & 1), -(begin >> 1 & 1), -(begin >> 2 & 1), -(begin >> 3 & 1), -(begin >> 4 & 1)
	for word := r.first / 64; word*64 < r.after; word++ {
		n0, n1, n2, n3, n4, over := b0, b1, b2, b3, b4, uint64(0)
		for rest := o.Characters(); rest != 0; rest &= rest - 1 {
			carry := s.lacks[bits.TrailingZeros64(rest)][word]
			n0, carry = n0^carry, n0&carry
			n1, carry = n1^carry, n1&carry
			n2, carry = n2^carry, n2&carry
			n3, carry = n3^carry, n3&carry
			n4, carry = n4^carry, n4&carry
			over |= carry
		}
		for may := ^over; may != 0; may &= may - 1 {
			i := word*64 + bits.TrailingZeros64(may)
			if i >= r.first && i < r.after && !s.texts[i].outline.Unlike(o) {
				yield(s.texts[i].at)
			}
		}
	}
}
