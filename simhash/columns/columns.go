// Package columns holds the operations of the join on columns of fingerprints:
// deal them to partitions on all cores ([Deal]), sort and collapse equal ones
// ([Collapse]), group them by some of their bits ([Grouper]), and find them again
// ([Lists]). Map, reduce and compare are made of these. The package knows neither
// tables nor documents.
//
// A posting of a segment table is a key and the other bits, the suffix. Together
// they are the fingerprint, whatever the table, so a column of fingerprints is
// the column of postings of every segment table at once: the table is a [Mask]
// that says which bits are the key.
//
//	          fingerprint, 64 bits
//	00A   [ key |                  suffix ]
//	01B   [ suf | key |            suffix ]
//	10C   [    suffix | key |      suffix ]
//	11D   [          suffix      |    key ]
//
// Postings of the other tables have a value in the upper bits and what names the
// document in the lower. They are uint64s too, so the same operations serve.
package columns

import (
	"fmt"
	"math/bits"
	"unsafe"
)

// Uint128 is a fingerprint of up to 128 bits; Hi holds the more significant
// half.
type Uint128 struct{ Hi, Lo uint64 }

// Mask is a choice of bits of a fingerprint; those of 64 bits use Lo alone.
type Mask = Uint128

// And returns the bits of both.
func (a Uint128) And(b Uint128) Uint128 { return Uint128{a.Hi & b.Hi, a.Lo & b.Lo} }

// Or returns the bits of either.
func (a Uint128) Or(b Uint128) Uint128 { return Uint128{a.Hi | b.Hi, a.Lo | b.Lo} }

// Not returns the other bits.
func (a Uint128) Not() Uint128 { return Uint128{^a.Hi, ^a.Lo} }

// IsZero reports whether no bit is set.
func (a Uint128) IsZero() bool { return a.Hi|a.Lo == 0 }

// Ones is the number of bits that are set.
func (a Uint128) Ones() int { return bits.OnesCount64(a.Hi) + bits.OnesCount64(a.Lo) }

// Len is the number of bits up to the highest that is set.
func (a Uint128) Len() int {
	if a.Hi != 0 {
		return 64 + bits.Len64(a.Hi)
	}
	return bits.Len64(a.Lo)
}

// Less reports whether a is the smaller number.
func (a Uint128) Less(b Uint128) bool { return a.Hi < b.Hi || a.Hi == b.Hi && a.Lo < b.Lo }

// Shr returns a shifted right by n bits.
func (a Uint128) Shr(n int) Uint128 {
	if n >= 64 {
		return Uint128{Lo: a.Hi >> (n - 64)}
	}
	return Uint128{a.Hi >> n, a.Lo>>n | a.Hi<<(64-n)}
}

// Everything has all bits set.
var Everything = Uint128{}.Not()

// Bit returns the mask of bit b alone.
func Bit(b int) Mask {
	if b >= 64 {
		return Uint128{Hi: 1 << (b - 64)}
	}
	return Uint128{Lo: 1 << b}
}

// Span returns the mask of width bits from bit shift on.
func Span(shift, width int) Mask {
	var m Uint128
	for b := shift; b < shift+width; b++ {
		m = m.Or(Bit(b))
	}
	return m
}

// Fingerprint is the type of a fingerprint. Narrower ones (32 bits) are uint64s
// whose high bits are zero.
type Fingerprint interface{ uint64 | Uint128 }

// Width is the width of the type in bits.
func Width[F Fingerprint]() int { return int(8 * unsafe.Sizeof(*new(F))) }

// Of returns the fingerprint of the two halves; of 64 bits, lo is all of it.
func Of[F Fingerprint](hi, lo uint64) (f F) {
	if unsafe.Sizeof(f) == 8 {
		*(*uint64)(unsafe.Pointer(&f)) = lo
	} else {
		*(*Uint128)(unsafe.Pointer(&f)) = Uint128{hi, lo}
	}
	return f
}

// The accessors below read a fingerprint of either type through its address.
// The size test is constant in each instantiation, so they cost nothing.

// Word returns the bits of a fingerprint.
func Word[F Fingerprint](p *F) Uint128 {
	if unsafe.Sizeof(*p) == 8 {
		return Uint128{Lo: *(*uint64)(unsafe.Pointer(p))}
	}
	return *(*Uint128)(unsafe.Pointer(p))
}

// Diff returns the bits in which two fingerprints differ.
func Diff[F Fingerprint](p, q *F) Uint128 {
	if unsafe.Sizeof(*p) == 8 {
		return Uint128{Lo: *(*uint64)(unsafe.Pointer(p)) ^ *(*uint64)(unsafe.Pointer(q))}
	}
	a, b := (*Uint128)(unsafe.Pointer(p)), (*Uint128)(unsafe.Pointer(q))
	return Uint128{a.Hi ^ b.Hi, a.Lo ^ b.Lo}
}

// Distance is the Hamming distance of two fingerprints.
func Distance[F Fingerprint](p, q *F) int {
	if unsafe.Sizeof(*p) == 8 {
		return bits.OnesCount64(*(*uint64)(unsafe.Pointer(p)) ^ *(*uint64)(unsafe.Pointer(q)))
	}
	return Diff(p, q).Ones()
}

// Less reports whether *p is the smaller fingerprint.
func Less[F Fingerprint](p, q *F) bool {
	if unsafe.Sizeof(*p) == 8 {
		return *(*uint64)(unsafe.Pointer(p)) < *(*uint64)(unsafe.Pointer(q))
	}
	return Word(p).Less(Word(q))
}

// Shifted returns the low 64 bits of a fingerprint shifted right, by no more
// than its width.
func Shifted[F Fingerprint](p *F, shift uint) uint64 {
	if unsafe.Sizeof(*p) == 8 {
		return *(*uint64)(unsafe.Pointer(p)) >> shift
	}
	return Word(p).Shr(int(shift)).Lo
}

// Masked returns a fingerprint with only the bits of a mask.
func Masked[F Fingerprint](f F, m Mask) F {
	w := Word(&f).And(m)
	return Of[F](w.Hi, w.Lo)
}

// Check returns an error unless the fingerprint has no more than width bits.
func Check[F Fingerprint](p *F, width int) error {
	if Word(p).Len() > width {
		return fmt.Errorf("columns: fingerprint %x has more than %d bits", Word(p), width)
	}
	return nil
}

// Varying returns the bits in which not all values agree.
func Varying[F Fingerprint](values []F) Mask {
	var vary Uint128
	for i := range values {
		vary = vary.Or(Diff(&values[0], &values[i]))
	}
	return vary
}

// A Spread maps fingerprints to numbers below 1<<(64-Shift) by their masked bits.
// Equal bits give equal numbers. The number is ((f & Mask) · Mul mod 2⁶⁴) >> Shift;
// for 128 bits the products of the two halves are added before the shift.
type Spread struct {
	Mask, Mul Uint128
	Shift     uint // below 64
}

// Multipliers of two independent hashes. What the one brings together into a
// partition, the other must still spread over groups.
var (
	DealHash  = Uint128{0xA0761D6478BD642F, 0xD6E8FEB86659FD93}
	GroupHash = Uint128{0xC2B2AE3D27D4EB4F, 0x9E3779B97F4A7C15}
)

// NewSpread returns a spread by the bits of mask, and the width of its numbers in
// bits: at most width, which must be more than 0. The fingerprints must agree in
// the bits outside free.
//
// If the free bits of mask are at most width, adjacent and in one half, they are the
// number: a power of two as multiplier shifts them to the top. Different bits then
// give different numbers. Otherwise the number is a hash (multiplicative hashing,
// Knuth vol. 3, 6.4).
func NewSpread(mask, free Mask, width int, hash Uint128) (Spread, int) {
	m := mask.And(free)
	n := m.Ones()
	if m.IsZero() || n > width {
		return Spread{mask, hash, uint(64 - width)}, width
	}
	if low := bits.TrailingZeros64(m.Lo); m.Hi == 0 && m.Lo>>low == 1<<n-1 {
		return Spread{m, Uint128{Lo: 1 << (64 - n - low)}, uint(64 - n)}, n
	}
	if low := bits.TrailingZeros64(m.Hi); m.Lo == 0 && m.Hi>>low == 1<<n-1 {
		return Spread{m, Uint128{Hi: 1 << (64 - n - low)}, uint(64 - n)}, n
	}
	return Spread{mask, hash, uint(64 - width)}, width
}

// Number is the spread's number of a fingerprint.
func Number[F Fingerprint](p *F, s *Spread) uint64 {
	if unsafe.Sizeof(*p) == 8 {
		return *(*uint64)(unsafe.Pointer(p)) & s.Mask.Lo * s.Mul.Lo >> (s.Shift & 63)
	}
	q := (*Uint128)(unsafe.Pointer(p))
	return (q.Lo&s.Mask.Lo*s.Mul.Lo + q.Hi&s.Mask.Hi*s.Mul.Hi) >> (s.Shift & 63)
}
