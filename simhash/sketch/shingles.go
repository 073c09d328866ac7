package sketch

import (
	"math/bits"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"
)

// ShingleSize is the number of characters of a shingle.
const ShingleSize = 5

// A shingle is ShingleSize successive letters, digits and marks of a text in
// normal form; everything between them (spaces, punctuation, symbols) does not
// count, so a text that is wrapped or punctuated anew keeps its shingles. A
// text of fewer such characters, but at least one, is one shingle.
//
// A shingle's hash rolls: Σ (c+1)·shingleBase^i modulo 2⁶⁴ over its characters
// from the last to the first, and fold makes 64 even bits of it.
const (
	shingleBase  = 0x9e3779b97f4a7c15
	shingleLeave = shingleBase * shingleBase % (1 << 64) * shingleBase % (1 << 64) * shingleBase % (1 << 64) * shingleBase % (1 << 64)
	foldSeed     = 0xd1b54a32d192ed03
)

// fold multiplies to 128 bits and joins the halves.
func fold(x uint64) uint64 {
	hi, lo := bits.Mul64(x^x>>32, foldSeed)
	return hi ^ lo
}

// counted has a bit for every character that counts, of those below its end.
type counted [0x40000 / 64]uint64

var letters = sync.OnceValue(func() *counted {
	t := new(counted)
	set := func(lo, hi, stride rune) {
		for r := lo; r <= hi && r < rune(len(t)*64); r += stride {
			t[r/64] |= 1 << (r % 64)
		}
	}
	for _, table := range []*unicode.RangeTable{unicode.L, unicode.N, unicode.M} {
		for _, r := range table.R16 {
			set(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range table.R32 {
			set(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return t
})

// decode reads a character of valid UTF-8. Of other bytes it makes something
// that depends on them alone.
func decode(text []byte) (rune, int) {
	if len(text) >= 3 && text[0]&0xf0 == 0xe0 {
		return rune(text[0]&0x0f)<<12 | rune(text[1]&0x3f)<<6 | rune(text[2]&0x3f), 3
	}
	return utf8.DecodeRune(text)
}

// roller reads the hashes of a text's shingles, in order.
type roller struct {
	letters            *counted
	h                  uint64 // rolling hash
	c0, c1, c2, c3, c4 uint64 // the last characters plus 1, the oldest first
	n                  int    // characters read
}

// Shingles appends the hashes of the distinct shingles of text, which is in
// normal form, to dst in ascending order. Two shingles share a hash with a
// probability of about 2⁻⁶⁴.
func Shingles(dst []uint64, text []byte) []uint64 {
	from := len(dst)
	r := roller{letters: letters()}
	for len(text) > 0 {
		c, size := rune(text[0]), 1
		if c >= utf8.RuneSelf {
			c, size = decode(text)
		}
		text = text[size:]
		if r.push(c) {
			dst = append(dst, fold(r.h))
		}
	}
	if r.n > 0 && r.n < ShingleSize {
		dst = append(dst, fold(r.h))
	}
	slices.Sort(dst[from:])
	return dst[:from+len(slices.Compact(dst[from:]))]
}

// push takes the next character in and reports whether a shingle is complete.
func (r *roller) push(c rune) bool {
	if uint32(c) >= uint32(len(r.letters)*64) || r.letters[c/64]>>(c%64)&1 == 0 {
		return false
	}
	r.h = r.h*shingleBase + uint64(c) + 1 - r.c0*shingleLeave
	r.c0, r.c1, r.c2, r.c3, r.c4 = r.c1, r.c2, r.c3, r.c4, uint64(c)+1
	r.n++
	return r.n >= ShingleSize
}

// Jaccard returns |a∩b| / |a∪b| of two sets of hashes as Shingles gives them,
// 0 to 1; 0 if both are empty.
func Jaccard(a, b []uint64) float64 {
	both := Shared(a, b)
	if both == 0 {
		return 0
	}
	return float64(both) / float64(len(a)+len(b)-both)
}

// Containment returns |a∩b| / min(|a|, |b|), 0 to 1: 1 when one text has all
// shingles of the other. It is 0 if either is empty.
func Containment(a, b []uint64) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	return float64(Shared(a, b)) / float64(min(len(a), len(b)))
}

// Shared returns |a∩b| of two sets of hashes as Shingles gives them.
func Shared(a, b []uint64) int {
	n := 0
	for len(a) > 0 && len(b) > 0 {
		x, y := a[0], b[0]
		if x == y {
			n++
		}
		if x <= y {
			a = a[1:]
		}
		if y <= x {
			b = b[1:]
		}
	}
	return n
}
