package sketch

import (
	"math/bits"
	"slices"

	"github.com/neardup/neardup/simhash"
)

// shingleSize is the number of characters of a shingle.
const shingleSize = 5

// A shingle is shingleSize successive letters, digits and marks of a text in
// normal form; everything between them (spaces, punctuation, symbols) does not
// count, so a text that is wrapped or punctuated anew keeps its shingles. A
// text of fewer such characters, but at least one, is one shingle.
//
// A shingle's hash is that of simhash.Grams; fold makes 64 even bits of it.
const foldSeed = 0xd1b54a32d192ed03

// fold multiplies to 128 bits and joins the halves.
func fold(x uint64) uint64 {
	hi, lo := bits.Mul64(x^x>>32, foldSeed)
	return hi ^ lo
}

// Shingles appends the hashes of the distinct shingles of text, which is in
// normal form, to dst in ascending order. Two shingles share a hash with a
// probability of about 2⁻⁶⁴.
func Shingles(dst []uint64, text []byte) []uint64 {
	from := len(dst)
	var g simhash.Grams
	g.Start(text, shingleSize)
	for block := g.Next(); len(block) > 0; block = g.Next() {
		for _, h := range block {
			dst = append(dst, fold(h))
		}
	}
	dst = sortHashes(dst, from)
	return dst[:from+len(slices.Compact(dst[from:]))]
}

// manyHashes take too much memory to be sorted beside themselves.
const manyHashes = 1 << 20

// sortHashes sorts what stands in x from a place on; behind it x may get room.
// Hashes are even, so their highest bits deal them into groups of a few.
func sortHashes(x []uint64, from int) []uint64 {
	const most = 11 // bits
	n := len(x) - from
	if n > manyHashes {
		slices.Sort(x[from:])
		return x
	}
	shift := 64 - min(most, bits.Len(uint(n/4)))
	x = slices.Grow(x, n)
	hashes, dealt := x[from:], x[len(x):][:n]
	var ends [1 << most]int32 // of the groups; at first where they begin
	for _, h := range hashes {
		if group := h>>shift + 1; group < 1<<most {
			ends[group]++
		}
	}
	for i := range ends[1:] {
		ends[i+1] += ends[i]
	}
	for _, h := range hashes {
		group := h >> shift
		dealt[ends[group]] = h
		ends[group]++
	}
	copy(hashes, dealt)
	begin := int32(0)
	for _, end := range ends[:1<<(64-shift)] {
		slices.Sort(hashes[begin:end])
		begin = end
	}
	return x
}

// Overlap returns the Jaccard similarity of two sets of hashes as Shingles gives
// them, |a∩b| / |a∪b|, and their containment, |a∩b| / min(|a|, |b|), each 0 to 1:
// a containment of 1 says that one text has all shingles of the other. Both are 0
// if either is empty.
func Overlap(a, b []uint64) (jaccard, containment float64) {
	both := Shared(a, b)
	if both == 0 {
		return 0, 0
	}
	return float64(both) / float64(len(a)+len(b)-both), float64(both) / float64(min(len(a), len(b)))
}

// Shared returns |a∩b| of two sets of hashes as Shingles gives them. It merges the
// smaller hashes and the larger ones side by side: two independent merges, neither
// of which waits for the other's comparisons.
func Shared(a, b []uint64) (n int) {
	const half = 1 << 63
	p, _ := slices.BinarySearch(a, half)
	q, _ := slices.BinarySearch(b, half)
	c, d := a[p:], b[q:]
	a, b = a[:p], b[:q]
	i, j, k, l := 0, 0, 0, 0
	for i < len(a) && j < len(b) && k < len(c) && l < len(d) {
		one, other, both := order(a[i], b[j])
		i, j, n = i+one, j+other, n+both
		one, other, both = order(c[k], d[l])
		k, l, n = k+one, l+other, n+both
	}
	return n + merged(a[i:], b[j:]) + merged(c[k:], d[l:])
}

// merged is Shared, one hash after the other.
func merged(a, b []uint64) (n int) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		one, other, both := order(a[i], b[j])
		i, j, n = i+one, j+other, n+both
	}
	return n
}

// order compares x and y for a merge: one is 1 if x comes next, other if y does, and
// both if they are equal; else they are 0. It compiles without branches, which would
// be unpredictable.
func order[T uint32 | uint64](x, y T) (one, other, both int) {
	if x <= y {
		one = 1
	}
	if y <= x {
		other = 1
	}
	return one, other, one & other
}
