package columns

import "math/bits"

// A sorter sorts pairs of fingerprint and document by fingerprint and keeps the
// order of equal ones. It is a radix sort from the most significant bits that vary;
// short stretches are sorted by insertion.
type sorter[F Fingerprint] struct {
	values []F // scratch, as docs
	docs   []uint32
	counts [][]uint32 // by depth of recursion
}

const insertionMax = 32

// sort sorts v, and docs along with it, and returns the number of distinct values.
func (s *sorter[F]) sort(v []F, docs []uint32) int {
	if len(v) == 0 {
		return 0
	}
	if cap(s.values) < len(v) {
		s.values, s.docs = make([]F, len(v)+len(v)/4), make([]uint32, len(v)+len(v)/4)
	}
	s.radix(v, docs, 0)
	distinct := 1
	for i := 1; i < len(v); i++ {
		if v[i] != v[i-1] {
			distinct++
		}
	}
	return distinct
}

func (s *sorter[F]) radix(v []F, docs []uint32, depth int) {
	if len(v) <= insertionMax {
		insertion(v, docs)
		return
	}
	var vary Uint128
	for i := range v {
		vary = vary.Or(Diff(&v[0], &v[i]))
	}
	top := vary.Len()
	if top == 0 {
		return
	}
	digit := min(top, max(4, min(14, bits.Len(uint(len(v)))-1)))
	shift, mask := uint(top-digit), uint64(1)<<digit-1
	if depth == len(s.counts) {
		s.counts = append(s.counts, nil)
	}
	if len(s.counts[depth]) <= 1<<digit {
		s.counts[depth] = make([]uint32, 1<<digit+1)
	}
	c := s.counts[depth][:1<<digit+1]
	clear(c)
	for i := range v {
		c[Shifted(&v[i], shift)&mask]++
	}
	at := uint32(0)
	for b, n := range c {
		c[b] = at
		at += n
	}
	tv, td := s.values[:len(v)], s.docs[:len(v)]
	for i := range v {
		b := Shifted(&v[i], shift) & mask
		at := c[b]
		c[b]++
		tv[at], td[at] = v[i], docs[i]
	}
	copy(v, tv)
	copy(docs, td)
	lo := uint32(0)
	for b := range 1 << digit {
		hi := c[b]
		if hi-lo > 1 {
			s.radix(v[lo:hi], docs[lo:hi], depth+1)
		}
		lo = hi
	}
}

func insertion[F Fingerprint](v []F, docs []uint32) {
	for i := 1; i < len(v); i++ {
		x, d := v[i], docs[i]
		j := i
		for ; j > 0 && Less(&x, &v[j-1]); j-- {
			v[j], docs[j] = v[j-1], docs[j-1]
		}
		v[j], docs[j] = x, d
	}
}
