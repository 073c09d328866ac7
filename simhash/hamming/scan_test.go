package hamming

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestScanner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Uint64().Draw(t, "fingerprint")
		values := rapid.SliceOfN(rapid.Uint64(), 0, 100).Draw(t, "others")
		for i := range values { // some near, at both ends and between
			for range rapid.SampledFrom([]int{0, 1, 3, 6, 64}).Draw(t, "bits") {
				values[i] = f
				f ^= 1 << rapid.IntRange(0, 63).Draw(t, "bit")
			}
		}
		k := rapid.SampledFrom([]int{0, 1, 3, 6, 12, 64}).Draw(t, "k")
		var want, got []int
		for i, v := range values {
			if bits.OnesCount64(f^v) <= k {
				want = append(want, i)
			}
		}
		s := NewScanner(values)
		s.Within(f, k, func(i int) { got = append(got, i) })
		if !slices.Equal(got, want) {
			t.Fatalf("%d of %d are found, want %d", got, len(values), want)
		}
		for from := 0; from <= len(s.values); from += scanned {
			if a, b := nextNear(f, s.values, k, from), nextNearGo(f, s.values, k, from); a != b {
				t.Fatalf("from %d: %d, in Go %d", from, a, b)
			}
		}
	})
}

func BenchmarkScanner(b *testing.B) {
	values := make([]uint64, 400)
	for i := range values {
		values[i] = rand.Uint64()
	}
	s := NewScanner(values)
	b.Run("Within", func(b *testing.B) {
		for f := uint64(0); b.Loop(); f += 0x9e3779b97f4a7c15 {
			s.Within(f, 3, func(int) {})
		}
	})
	b.Run("Go", func(b *testing.B) {
		for f := uint64(0); b.Loop(); f += 0x9e3779b97f4a7c15 {
			nextNearGo(f, s.values, 3, 0)
		}
	})
}
