package hamming

import "math/bits"

// scanned is how many fingerprints a Scanner compares at once.
const scanned = 32

// A Scanner compares a fingerprint with each of a list: brute force, against which
// other ways to find pairs are checked. It is immutable and safe for concurrent
// use.
type Scanner struct {
	values []uint64 // a multiple of scanned
	n      int
}

// NewScanner returns a Scanner of a copy of the fingerprints, of 64 bits or the low
// 64 of more.
func NewScanner(fingerprints []uint64) *Scanner {
	s := &Scanner{make([]uint64, (len(fingerprints)+scanned-1)/scanned*scanned), len(fingerprints)}
	copy(s.values, fingerprints)
	return s
}

// Within calls yield with the place of each fingerprint that is within k of f, in
// their order.
func (s *Scanner) Within(f uint64, k int, yield func(i int)) {
	for from := 0; ; from += scanned {
		if from = nextNear(f, s.values, k, from); from == len(s.values) {
			return
		}
		for i, v := range s.values[from:min(from+scanned, s.n)] {
			if bits.OnesCount64(f^v) <= k {
				yield(from + i)
			}
		}
	}
}

// nextNearGo looks through the blocks of v, the first at from, for one that has a
// fingerprint within k of f. It returns where that block begins, or len(v).
func nextNearGo(f uint64, v []uint64, k, from int) int {
	for ; from < len(v); from += scanned {
		for _, x := range v[from : from+scanned] {
			if bits.OnesCount64(f^x) <= k {
				return from
			}
		}
	}
	return from
}
