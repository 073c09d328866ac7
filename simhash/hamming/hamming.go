// Package hamming finds every pair of fingerprints within a Hamming distance k,
// exactly. A [Joiner] finds them inside groups that share a key. An [Index] holds
// one set of fingerprints, and a [Prober] finds those near to each fingerprint
// that streams past.
//
// A [Plan] lists the keys. A key is a choice of bits, and any two fingerprints
// within k agree on all bits of at least one key. The simplest plan rests on the
// pigeonhole principle: cut the fingerprint into k + 1 blocks; k differing bits
// touch at most k of them, so one block is equal.
//
//	k = 3   a   0123 4567 89ab cdef
//	        b   0123 4567 89ab cdcb     they differ in 2 bits of the last block,
//	            ──── ──── ────          so they agree on the first three
//
// Fingerprints that agree on a key are a group. A Joiner compares a group's members
// eight at a time. It splits a large group by a plan of its own, made for the bits
// that still vary in the group, so a group of g costs about g and not g². A pair
// may agree on several keys; only the first of these reports it ([Plan.First]). The
// plan decides the speed alone: every plan finds the same pairs.
//
// The package opens no file, prints nothing, and knows nothing of documents. It
// caches the plans that it chose; all other state belongs to the caller's values.
package hamming

import (
	"errors"
	"runtime"

	"github.com/neardup/neardup/simhash/columns"
)

var (
	errBits     = errors.New("fingerprint width must be 1 to 64 bits, or 1 to 128 for Uint128")
	errDistance = errors.New("distance must be 0 to 15, or 0 to 31 for more than 64 bits")
	errPlan     = errors.New("plan does not fit")
)

// Options of an [Index] and a [Joiner]. The zero value is right for full-width
// fingerprints.
type Options struct {
	Workers int // goroutines; 0: GOMAXPROCS
	Bits    int // width of the fingerprints; 0: that of their type, 64 or 128

	portable bool  // compare in portable Go even where AVX-512 is there
	plan     *Plan // set by tests; nil: the cost model chooses, from Bits, k and the number of distinct fingerprints
}

func (o Options) simd() bool { return haveSIMD && !o.portable }

func (o Options) workers() int {
	if o.Workers > 0 {
		return o.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// width returns the width in bits of fingerprints of type F.
func width[F columns.Fingerprint](o Options) int {
	if o.Bits == 0 {
		return columns.Width[F]()
	}
	return o.Bits
}
