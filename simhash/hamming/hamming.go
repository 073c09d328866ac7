// Package hamming compares: it finds, exactly, every pair of fingerprints within
// a Hamming distance k inside the groups that share a key, and what of an
// [Index] is near to what streams past.
//
// A [Plan] lists the keys: choices of bits of which any two fingerprints within
// k agree on one at least. What shares a key is a group; a [Joiner] compares a
// column of groups eight at a time, and splits a large group by a plan for the
// bits that still vary in it, so that a group of g costs about g and not g². The
// plan decides the speed only; every plan finds the same pairs.
//
// The package computes: it opens no file, prints nothing, and knows nothing of
// documents. Between calls it keeps the plans that it chose, and nothing else
// but what a [Joiner] or [Prober] of the caller holds.
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
	plan     *Plan // of a test; nil: chosen by the cost model from Bits, k and the number of distinct fingerprints
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
