package hamming

import (
	"context"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func checkBest[F Fingerprint](t rapid.TB, fps []F, k int, opt Options) {
	t.Helper()
	got, err := Best(context.Background(), fps, k, opt)
	if err != nil {
		t.Fatal(err)
	}
	want := bruteBest(fps, k)
	for i := range fps {
		if got.Match[i] != want.Match[i] || got.Distance[i] != want.Distance[i] {
			t.Fatalf("k=%d: document %d: match %d at %d, want %d at %d", k, i, got.Match[i], got.Distance[i], want.Match[i], want.Distance[i])
		}
	}
}

// flipped returns centre with so many random bits flipped.
func flipped(rng *rand.Rand, centre uint64, flips int) uint64 {
	for _, b := range rng.Perm(64)[:flips] {
		centre ^= 1 << b
	}
	return centre
}

// crowds are sets with balls: of all radii up to three, of one radius only
// (so that none has another at distance 1), two that overlap, one with values
// just around it, a subcube, and one so large that its members are far apart.
func crowds(seed uint64, n int) map[string][]uint64 {
	sets := map[string][]uint64{}
	for name, member := range map[string]func(rng *rand.Rand, i int) uint64{
		"ball":    func(rng *rand.Rand, _ int) uint64 { return flipped(rng, 0xabcdef, rng.IntN(4)) },
		"sphere":  func(rng *rand.Rand, _ int) uint64 { return flipped(rng, 0xabcdef, 2) },
		"overlap": func(rng *rand.Rand, i int) uint64 { return flipped(rng, 0xabcdef^uint64(i%2)*0x1f, rng.IntN(4)) },
		"around":  func(rng *rand.Rand, i int) uint64 { return flipped(rng, ^uint64(0), rng.IntN(3)+i%7/6*4) },
		"cube":    func(rng *rand.Rand, _ int) uint64 { return 0xabc<<50 | rng.Uint64()>>53<<20 },
		"sparse":  func(rng *rand.Rand, _ int) uint64 { return flipped(rng, 0xabcdef, 8) },
		"small":   func(rng *rand.Rand, i int) uint64 { return flipped(rng, 0x1234567<<uint(i%4*8), 2) },
	} {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		fps := make([]uint64, n)
		for i := range fps {
			fps[i] = rng.Uint64()
			if rng.IntN(3) != 0 {
				fps[i] = member(rng, i)
			}
		}
		sets[name] = fps
	}
	return sets
}

// Best matches in balls are those that comparing all with all gives.
func TestBalls(t *testing.T) {
	for name, fps := range crowds(1, 4000) {
		t.Run(name, func(t *testing.T) {
			for _, k := range []int{1, 3, 5, 12} {
				checkBest(t, fps, k, Options{NoSIMD: k == 3, Workers: k})
			}
			checkBest(t, wide(fps), 14, Options{})
		})
	}
}

// The sets above do have balls that are taken out of the join.
func TestBallsAreFound(t *testing.T) {
	for name, k := range map[string]int{"ball": 3, "sphere": 3, "overlap": 3, "around": 3, "cube": 5, "small": 4} {
		s, err := Collapse(crowds(1, 4000)[name], Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := NewReducer(s, Options{})
		rest := s.balls(context.Background(), k, Options{}, r)
		t.Logf("%s: %d of %d in balls", name, s.Len()-len(rest), s.Len())
		if len(rest) == s.Len() {
			t.Errorf("%s: no ball found", name)
		}
		for i := 1; i < len(rest); i++ {
			if rest[i-1] >= rest[i] {
				t.Fatalf("%s: the others do not ascend", name)
			}
		}
	}
	// Where there is none, none is found.
	s, err := Collapse(planted(1, 100_000, 64, 4), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rest := s.balls(context.Background(), 3, Options{}, NewReducer(s, Options{})); len(rest) != s.Len() {
		t.Errorf("%d members of balls in a random set", s.Len()-len(rest))
	}
}

func TestBallProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		balls := rapid.IntRange(1, 3).Draw(rt, "balls")
		radius := rapid.IntRange(1, 5).Draw(rt, "radius")
		share := rapid.IntRange(1, 10).Draw(rt, "share")
		centres := make([]uint64, balls)
		for i := range centres {
			centres[i] = flipped(rng, 0x5555, rapid.SampledFrom([]int{1, 6, 40}).Draw(rt, "apart"))
		}
		fps := make([]uint64, 2500)
		for i := range fps {
			fps[i] = rng.Uint64()
			if rng.IntN(10) < share {
				fps[i] = flipped(rng, centres[rng.IntN(balls)], rng.IntN(radius+1))
			}
		}
		checkBest(rt, fps, rapid.IntRange(1, 15).Draw(rt, "k"), Options{NoSIMD: rapid.Bool().Draw(rt, "portable")})
	})
}
