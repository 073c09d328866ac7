package simhash

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// plainSums is the sum step as it is usually written.
func plainSums(hashes []uint64, weights []uint32) (signed [64]int64) {
	for f, h := range hashes {
		for i := range signed {
			if h>>i&1 == 1 {
				signed[i] += int64(weights[f])
			} else {
				signed[i] -= int64(weights[f])
			}
		}
	}
	return signed
}

func TestKernelsAgree(t *testing.T) {
	kernels := map[string]func(*[64]uint32, []uint64, []uint32){"packed": addPacked}
	if hasAVX512 {
		kernels["AVX-512"] = func(s *[64]uint32, h []uint64, w []uint32) { addAVX512(s, &h[0], &w[0], len(h)) }
	}
	if hasAVX2 {
		kernels["AVX2"] = func(s *[64]uint32, h []uint64, w []uint32) { addAVX2(s, &h[0], &w[0], len(h)) }
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "features")
		hashes := rapid.SliceOfN(rapid.Uint64(), n, n).Draw(t, "hashes")
		largest := rapid.SampledFrom([]uint32{1, 5, 300, 0xffff, 0x10000, math.MaxUint32 / 300}).Draw(t, "largest weight")
		weights := rapid.SliceOfN(rapid.Uint32Max(largest), n, n).Draw(t, "weights")
		start := rapid.Uint32Max(1000).Draw(t, "sums before")
		total := int64(0)
		for _, w := range weights {
			total += int64(w)
		}
		want := plainSums(hashes, weights)
		for name, add := range kernels {
			var sums [64]uint32
			for i := range sums {
				sums[i] = start
			}
			add(&sums, hashes, weights)
			for i, s := range sums {
				if got := 2*int64(s-start) - total; got != want[i] {
					t.Fatalf("%s: sum of bit %d is %d, want %d", name, i, got, want[i])
				}
			}
		}
	})
}

// Weights that no length class of 32 bits could take together.
func TestSumOfLargeWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "features")
		hashes := rapid.SliceOfN(rapid.Uint64(), n, n).Draw(t, "hashes")
		weights := rapid.SliceOfN(rapid.Uint32(), n, n).Draw(t, "weights")
		var sums bitSums
		sums.add(hashes, weights)
		total := uint64(0)
		for _, w := range weights {
			total += uint64(w)
		}
		want := uint64(0)
		for i, s := range plainSums(hashes, weights) {
			if s > 0 {
				want |= 1 << i
			}
		}
		if got := sums.signs(total); got != want {
			t.Fatalf("signs %016x, want %016x", got, want)
		}
	})
}

func TestSumTiesAreZero(t *testing.T) {
	var sums bitSums
	sums.add([]uint64{0xff, 0x0f}, []uint32{3, 3})
	if got := sums.signs(6); got != 0x0f {
		t.Errorf("signs %x, want f: bits 4 to 7 are a tie", got)
	}
}

func TestSlices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s slices64
		var want bitSums
		for _, words := range rapid.SliceOfN(rapid.SliceOfN(rapid.Uint64(), 0, 60), 0, 8).Draw(t, "words") {
			s.add(words)
			for _, w := range words {
				for i := range want {
					want[i] += w >> i & 1
				}
			}
		}
		times, limit := rapid.Uint64Range(0, 1000).Draw(t, "times"), rapid.Uint64Range(0, 100_000).Draw(t, "limit")
		if rapid.Bool().Draw(t, "limit of a count") {
			limit = want[rapid.IntRange(0, 63).Draw(t, "bit")] * times
		}
		s.multiply(times)
		above := uint64(0)
		for i, count := range want {
			if count*times > limit {
				above |= 1 << i
			}
		}
		if got := s.above(limit); got != above {
			t.Fatalf("%v, %d times: more than %d at %x, want %x", want, times, limit, got, above)
		}
	})
}

func TestHashSet(t *testing.T) {
	var s hashSet
	rapid.Check(t, func(t *rapid.T) {
		s.clear(rapid.IntRange(0, 100).Draw(t, "expected"))
		seen := map[uint64]bool{}
		for range rapid.IntRange(0, 6).Draw(t, "blocks") {
			s.reserve(gramBlock)
			for _, h := range rapid.SliceOfN(rapid.Uint64(), 0, gramBlock).Draw(t, "hashes") {
				for _, h := range []uint64{h | 1, h &^ 1 << 13, h % 100} {
					key := max(h, 1)
					if s.n == len(s.slots)/2 {
						s.reserve(gramBlock)
					}
					if got := s.add(h) == 1; got == seen[key] {
						t.Fatalf("hash %x is new: %t, want %t", h, got, !seen[key])
					}
					seen[key] = true
				}
			}
		}
		if s.n != len(seen) {
			t.Fatalf("%d hashes, want %d", s.n, len(seen))
		}
	})
}
