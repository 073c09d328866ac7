package sketch

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Hashes are sorted behind what stands before them, few and many, even and not.
func TestSortHashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mask := rapid.SampledFrom([]uint64{1<<64 - 1, 3, 1<<63 | 7, 0}).Draw(t, "mask")
		n := rapid.SampledFrom([]int{0, 1, 2, 3, 4, 7, 8, 100, 9000, manyHashes + 1}).Draw(t, "n")
		x := []uint64{9, 3}
		h := rapid.Uint64().Draw(t, "seed")
		for range n {
			h = fold(h + 1)
			x = append(x, h&mask)
		}
		want := slices.Clone(x)
		slices.Sort(want[2:])
		if got := sortHashes(x, 2); !slices.Equal(got, want) {
			t.Fatalf("%x, want %x", got, want)
		}
	})
}
