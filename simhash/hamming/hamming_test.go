package hamming

import (
	"context"
	"math/rand/v2"
	"sort"
	"sync"
	"testing"
)

type pair struct {
	i, j     uint32
	distance int
}

// bruteBest compares every document with every other.
func bruteBest[F Fingerprint](fps []F, k int) *Matches {
	m := &Matches{Match: make([]uint32, len(fps)), Distance: make([]uint8, len(fps))}
	for i := range fps {
		m.Match[i] = None
		best := k + 1
		for j := range fps {
			if d := distance(&fps[i], &fps[j]); i != j && d < best {
				best = d
				m.Match[i], m.Distance[i] = uint32(j), uint8(d)
			}
		}
	}
	return m
}

func brutePairs[F Fingerprint](values []F, k int) []pair {
	var pairs []pair
	for i := range values {
		for j := i + 1; j < len(values); j++ {
			if d := distance(&values[i], &values[j]); d <= k {
				pairs = append(pairs, pair{uint32(i), uint32(j), d})
			}
		}
	}
	return pairs
}

func sortPairs(p []pair) {
	sort.Slice(p, func(a, b int) bool { return p[a].i < p[b].i || p[a].i == p[b].i && p[a].j < p[b].j })
}

// planted returns n random fingerprints, a tenth of them copies of others with
// 0 to flips bits flipped.
func planted(seed uint64, n, bits, flips int) []uint64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	fps := make([]uint64, n)
	for i := range fps {
		if i > 0 && rng.IntN(10) == 0 {
			fps[i] = fps[rng.IntN(i)]
			for range rng.IntN(flips + 1) {
				fps[i] ^= 1 << rng.IntN(bits)
			}
			continue
		}
		fps[i] = rng.Uint64() >> (64 - bits)
	}
	return fps
}

func check[F Fingerprint](t *testing.T, fps []F, k int, opt Options) {
	t.Helper()
	s, err := Collapse(fps, opt)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var got []pair
	err = s.Pairs(context.Background(), k, opt, func(_ int, i, j uint32, d int) {
		mu.Lock()
		got = append(got, pair{i, j, d})
		mu.Unlock()
	})
	if err != nil {
		t.Fatal(err)
	}
	sortPairs(got)
	values := make([]F, s.Len())
	for i := range values {
		values[i] = s.Value(i)
	}
	want := brutePairs(values, k)
	if len(got) != len(want) {
		t.Fatalf("k=%d: %d pairs, want %d", k, len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("k=%d: pair %v, want %v", k, got[i], want[i])
		}
	}
	best, err := s.Best(context.Background(), k, opt)
	if err != nil {
		t.Fatal(err)
	}
	wantBest := bruteBest(fps, k)
	for i := range fps {
		if best.Match[i] != wantBest.Match[i] || best.Distance[i] != wantBest.Distance[i] {
			t.Fatalf("k=%d: document %d: match %d at %d, want %d at %d", k, i, best.Match[i], best.Distance[i], wantBest.Match[i], wantBest.Distance[i])
		}
	}
}

func TestPlanted(t *testing.T) {
	for k := 0; k <= 15; k++ {
		for _, n := range []int{0, 1, 2, 100, 3000} {
			check(t, planted(uint64(k), n, 64, k+2), k, Options{})
		}
		check(t, planted(uint64(k), 300, 32, k+2), k, Options{Bits: 32})
	}
}

func TestSkewed(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var fps []uint64
	for range 6000 { // one segment value
		fps = append(fps, rng.Uint64()&^(0xffff<<48))
	}
	for range 5000 { // a dense ball
		fps = append(fps, 0x123456789abcdef^1<<rng.IntN(64)^1<<rng.IntN(64)^1<<rng.IntN(64))
	}
	fps = append(fps, planted(1, 3000, 64, 4)...)
	for _, k := range []int{1, 3, 4} {
		check(t, fps, k, Options{})
		wide := make([]Uint128, len(fps))
		for i, f := range fps {
			wide[i] = Uint128{f, f * 0x9E3779B97F4A7C15 >> 62}
		}
		check(t, wide, k, Options{Workers: 3})
	}
}
