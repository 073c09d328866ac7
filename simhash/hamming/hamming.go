// Package hamming finds, exactly and in memory, every pair of fingerprints
// within a Hamming distance k.
//
// Identical fingerprints are collapsed into a [Set] first. A [Plan] then lists
// keys, groups of bits chosen so that any two fingerprints within k agree on at
// least one of them: fingerprints that share a key are compared, no others, and
// a pair is reported for the first key that it agrees on, so once. The plan
// decides the speed only; every plan finds the same pairs.
//
// The package computes: it opens no file, prints nothing, and knows nothing of
// documents but their number. Between calls it keeps the plans that it chose,
// and nothing else but what a [Joiner] or [Prober] of the caller holds.
package hamming

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"unsafe"
)

// maxDocuments is the largest number of fingerprints a Set holds.
const maxDocuments = 1<<32 - 1

var (
	errBits     = errors.New("fingerprint width must be 1 to 64 bits, or 1 to 128 for Uint128")
	errDistance = errors.New("distance must be 0 to 15, or 0 to 31 for more than 64 bits")
	errPlan     = errors.New("plan does not fit")
)

// Uint128 is a fingerprint of up to 128 bits; Hi holds the more significant
// half.
type Uint128 struct{ Hi, Lo uint64 }

func (a Uint128) and(b Uint128) Uint128 { return Uint128{a.Hi & b.Hi, a.Lo & b.Lo} }
func (a Uint128) or(b Uint128) Uint128  { return Uint128{a.Hi | b.Hi, a.Lo | b.Lo} }
func (a Uint128) not() Uint128          { return Uint128{^a.Hi, ^a.Lo} }
func (a Uint128) isZero() bool          { return a.Hi|a.Lo == 0 }
func (a Uint128) ones() int             { return bits.OnesCount64(a.Hi) + bits.OnesCount64(a.Lo) }
func (a Uint128) length() int {
	if a.Hi != 0 {
		return 64 + bits.Len64(a.Hi)
	}
	return bits.Len64(a.Lo)
}
func (a Uint128) less(b Uint128) bool { return a.Hi < b.Hi || a.Hi == b.Hi && a.Lo < b.Lo }

// everything has all bits set.
var everything = Uint128{}.not()

// shr returns a shifted right by n bits.
func (a Uint128) shr(n int) Uint128 {
	if n >= 64 {
		return Uint128{Lo: a.Hi >> (n - 64)}
	}
	return Uint128{a.Hi >> n, a.Lo>>n | a.Hi<<(64-n)}
}

// span returns the mask of width bits from bit shift on.
func span(shift, width int) Uint128 {
	var m Uint128
	for b := shift; b < shift+width; b++ {
		m = m.or(bit(b))
	}
	return m
}

func bit(b int) Uint128 {
	if b >= 64 {
		return Uint128{Hi: 1 << (b - 64)}
	}
	return Uint128{Lo: 1 << b}
}

// Fingerprint is the type of a fingerprint. Narrower ones (32 bits) are
// uint64s whose high bits are zero; Options.Bits says so.
type Fingerprint interface{ uint64 | Uint128 }

// Options of a call. The zero value is right for full-width fingerprints.
type Options struct {
	Workers int // goroutines; 0: GOMAXPROCS
	Bits    int // width of the fingerprints; 0: that of their type, 64 or 128

	// Pass, if not nil, is told how many tables there are, and what it returns
	// is called with 1 as each is done.
	Pass func(tables int64) (advance func(int64))

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

// width returns the checked width in bits of fingerprints of type F.
func width[F Fingerprint](o Options) (int, error) {
	full := int(8 * unsafe.Sizeof(*new(F)))
	if o.Bits == 0 {
		return full, nil
	}
	if o.Bits < 1 || o.Bits > full {
		return 0, fmt.Errorf("hamming: bits %d: %w", o.Bits, errBits)
	}
	return o.Bits, nil
}

// The accessors below read a fingerprint of either type through its address.
// The size test is constant in each instantiation, so they cost nothing.

func word[F Fingerprint](p *F) Uint128 {
	if unsafe.Sizeof(*p) == 8 {
		return Uint128{Lo: *(*uint64)(unsafe.Pointer(p))}
	}
	return *(*Uint128)(unsafe.Pointer(p))
}

func diff[F Fingerprint](p, q *F) Uint128 {
	if unsafe.Sizeof(*p) == 8 {
		return Uint128{Lo: *(*uint64)(unsafe.Pointer(p)) ^ *(*uint64)(unsafe.Pointer(q))}
	}
	a, b := (*Uint128)(unsafe.Pointer(p)), (*Uint128)(unsafe.Pointer(q))
	return Uint128{a.Hi ^ b.Hi, a.Lo ^ b.Lo}
}

func distance[F Fingerprint](p, q *F) int {
	if unsafe.Sizeof(*p) == 8 {
		return bits.OnesCount64(*(*uint64)(unsafe.Pointer(p)) ^ *(*uint64)(unsafe.Pointer(q)))
	}
	return diff(p, q).ones()
}

func less[F Fingerprint](p, q *F) bool {
	if unsafe.Sizeof(*p) == 8 {
		return *(*uint64)(unsafe.Pointer(p)) < *(*uint64)(unsafe.Pointer(q))
	}
	return word(p).less(word(q))
}

// A spread maps the masked bits of fingerprints to numbers below
// 1<<(64-shift). Equal bits give equal numbers; that is all the join relies on.
type spread struct {
	mask, mul Uint128
	shift     uint // below 64
}

// Multipliers of two independent hashes: the fingerprints of one bucket of a
// block have to spread by a key that contains the block.
var (
	bucketHash = Uint128{0xA0761D6478BD642F, 0xD6E8FEB86659FD93}
	groupHash  = Uint128{0xC2B2AE3D27D4EB4F, 0x9E3779B97F4A7C15}
)

// newSpread returns a spread by the bits of mask to at most width > 0 bits, and
// how many they are. Fingerprints are known to agree outside free. If the free
// bits of mask are few and adjacent they are the number, and different bits
// give different numbers; otherwise it is a hash (multiplicative hashing,
// Knuth vol. 3, 6.4).
func newSpread(mask, free Uint128, width int, hash Uint128) (spread, int) {
	m := mask.and(free)
	n := m.ones()
	if m.isZero() || n > width {
		return spread{mask, hash, uint(64 - width)}, width
	}
	if low := bits.TrailingZeros64(m.Lo); m.Hi == 0 && m.Lo>>low == 1<<n-1 {
		return spread{m, Uint128{Lo: 1 << (64 - n - low)}, uint(64 - n)}, n
	}
	if low := bits.TrailingZeros64(m.Hi); m.Lo == 0 && m.Hi>>low == 1<<n-1 {
		return spread{m, Uint128{Hi: 1 << (64 - n - low)}, uint(64 - n)}, n
	}
	return spread{mask, hash, uint(64 - width)}, width
}

func number[F Fingerprint](p *F, s *spread) uint64 {
	if unsafe.Sizeof(*p) == 8 {
		return *(*uint64)(unsafe.Pointer(p)) & s.mask.Lo * s.mul.Lo >> (s.shift & 63)
	}
	q := (*Uint128)(unsafe.Pointer(p))
	return (q.Lo&s.mask.Lo*s.mul.Lo + q.Hi&s.mask.Hi*s.mul.Hi) >> (s.shift & 63)
}
