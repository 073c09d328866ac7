package simhash

import "math/bits"

// The sum step adds weight w to every bit of the fingerprint where the
// feature's hash has a 1, and subtracts it where it has a 0. It is enough to
// add up the ones: with W the sum of all weights, the signed sum of bit i is
// 2·ones[i] − W, and the bit is set if that is positive. A sum of zero gives 0.

// bitSums holds, for each of 64 bits, the sum of the weights of the features
// whose hash has it set.
type bitSums [64]uint64

// signs returns the bits whose signed sum is positive.
func (s *bitSums) signs(total uint64) uint64 {
	f := uint64(0)
	for i, one := range s {
		// 2·one > total: total and one are far below 2⁶².
		f |= (total - 2*one) >> 63 << i
	}
	return f
}

// maxBlock is the largest total weight of one call of the kernels, whose lanes
// have 32 bits.
const maxBlock = 1<<32 - 1

// add adds the features' weights. The slices have one length.
func (s *bitSums) add(hashes []uint64, weights []uint32) {
	for len(hashes) > 0 {
		n, total := 0, uint64(0)
		for n < len(weights) && total+uint64(weights[n]) <= maxBlock {
			total += uint64(weights[n])
			n++
		}
		var block [64]uint32
		switch {
		case hasAVX512:
			addAVX512(&block, &hashes[0], &weights[0], n)
		case hasAVX2:
			addAVX2(&block, &hashes[0], &weights[0], n)
		default:
			addPacked(&block, hashes[:n], weights[:n])
		}
		for i, v := range block {
			s[i] += uint64(v)
		}
		hashes, weights = hashes[n:], weights[n:]
	}
}

// spread has a nibble's bits in four lanes of 16 bits, the lowest first.
var spread = func() (t [16]uint64) {
	for n := range t {
		for bit := range 4 {
			t[n] |= uint64(n>>bit&1) << (16 * bit)
		}
	}
	return t
}()

// addPacked is the kernel in Go: lanes of 16 bits, four to a word, that are
// emptied into sums before they could overflow.
func addPacked(sums *[64]uint32, hashes []uint64, weights []uint32) {
	var lanes [16]uint64
	total := uint32(0)
	empty := func() {
		for i, v := range lanes {
			sums[4*i] += uint32(v & 0xffff)
			sums[4*i+1] += uint32(v >> 16 & 0xffff)
			sums[4*i+2] += uint32(v >> 32 & 0xffff)
			sums[4*i+3] += uint32(v >> 48)
		}
		lanes, total = [16]uint64{}, 0
	}
	for f, h := range hashes {
		w := weights[f]
		if w > 0xffff {
			for ; h != 0; h &= h - 1 {
				sums[bits.TrailingZeros64(h)] += w
			}
			continue
		}
		if total += w; total > 0xffff {
			empty()
			total = w
		}
		for i := range lanes {
			lanes[i] += spread[h&15] * uint64(w)
			h >>= 4
		}
	}
	empty()
}

// slices64 holds 64 counters: for each bit, how many of the added words have it set.
// The counters are stored bit-sliced: plane i holds bit i of all 64, so one logical
// operation works on all of them. Words are added by carry-save addition, eight at a
// time (Harley and Seal's population count, in columns).
type slices64 [40]uint64

func (s *slices64) add(words []uint64) {
	for len(words) >= 8 {
		s.addEight((*[8]uint64)(words))
		words = words[8:]
	}
	if len(words) > 0 {
		var last [8]uint64
		copy(last[:], words)
		s.addEight(&last)
	}
}

func (s *slices64) addEight(q *[8]uint64) {
	one, two, four := s[0], s[1], s[2]
	one, a := csa(one, q[0], q[1])
	one, b := csa(one, q[2], q[3])
	two, c := csa(two, a, b)
	one, a = csa(one, q[4], q[5])
	one, b = csa(one, q[6], q[7])
	two, d := csa(two, a, b)
	four, carry := csa(four, c, d)
	s[0], s[1], s[2] = one, two, four
	for i := 3; carry != 0 && i < len(s); i++ {
		s[i], carry = s[i]^carry, s[i]&carry
	}
}

// csa adds three bits in each of 64 columns.
func csa(a, b, c uint64) (sum, carry uint64) {
	u := a ^ b
	return u ^ c, a&b | u&c
}

// multiply multiplies all counters, as the sum of shifted copies.
func (s *slices64) multiply(times uint64) {
	once := *s
	*s = slices64{}
	for ; times != 0; times &= times - 1 {
		carry := uint64(0)
		for i, shift := 0, bits.TrailingZeros64(times); i+shift < len(s); i++ {
			s[i+shift], carry = csa(s[i+shift], once[i], carry)
		}
	}
}

// above returns the bits whose count is greater than limit.
func (s *slices64) above(limit uint64) uint64 {
	above, equal := uint64(0), ^uint64(0) // by the planes so far
	for i := len(s) - 1; i >= 0; i-- {
		one := -(limit >> i & 1) // limit's bit, for all
		above |= equal & s[i] &^ one
		equal &^= s[i] ^ one
	}
	return above
}
