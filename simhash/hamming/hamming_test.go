package hamming

import (
	"context"
	"encoding/binary"
	"errors"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sort"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/simhash/columns"
)

type pair struct {
	i, j     uint32
	distance int
}

// brutePairs, like the other oracles, shares nothing with others and takes most of
// a test's time: the race detector leaves it alone.
//
//go:norace
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

// check compares the pairs of fps with those of comparing all with all.
func check[F Fingerprint](t rapid.TB, fps []F, k int, opt Options) {
	t.Helper()
	s, err := Collapse(fps, opt)
	if err != nil {
		t.Fatal(err)
	}
	n, values := s.Len(), s.Values()
	seen := make([]bool, n*n)
	var wrong, got []pair
	err = s.Pairs(context.Background(), k, opt, func(i, j uint32, d int) {
		if i >= j || seen[int(i)*n+int(j)] || d > k || d != distance(&values[i], &values[j]) {
			wrong = append(wrong, pair{i, j, d})
			return
		}
		seen[int(i)*n+int(j)] = true
		if len(fps) <= 300 {
			for _, a := range s.Members(int(i)) {
				for _, b := range s.Members(int(j)) {
					got = append(got, pair{min(a, b), max(a, b), d})
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(wrong) > 0 {
		t.Fatalf("k=%d: pair %v is none, or was seen before", k, wrong[0])
	}
	if p, ok := unseen(values, k, seen); ok {
		t.Fatalf("k=%d: pair %v was not found", k, p)
	}
	if len(fps) > 300 {
		return
	}
	// With the identical ones, the documents' pairs.
	for i := range n {
		members := s.Members(i)
		for b := range members {
			for a := range b {
				got = append(got, pair{members[a], members[b], 0})
			}
		}
	}
	sortPairs(got)
	if want := brutePairs(fps, k); !slices.Equal(got, want) {
		t.Fatalf("k=%d: pairs of documents %v, want %v", k, got, want)
	}
}

// unseen returns a pair within k that was not seen.
//
//go:norace
func unseen[F Fingerprint](values []F, k int, seen []bool) (p pair, found bool) {
	for i := range values {
		for j := i + 1; j < len(values); j++ {
			if d := distance(&values[i], &values[j]); d <= k && !seen[i*len(values)+j] {
				return pair{uint32(i), uint32(j), d}, true
			}
		}
	}
	return pair{}, false
}

// sized is the size of a set that is compared with all of itself: in the short
// form, with which the race detector runs, a quarter.
func sized(n int) int {
	if testing.Short() {
		return n / 4
	}
	return n
}

func TestPlanted(t *testing.T) {
	for k := 0; k <= 15; k++ {
		for _, n := range []int{0, 1, 2, 100, 1500} {
			check(t, planted(uint64(k), n, 64, k+2), k, Options{})
		}
		check(t, planted(uint64(k), 300, 32, k+2), k, Options{Bits: 32})
		check(t, planted(uint64(k), 1000, 64, k+2), k, Options{portable: true, Workers: 7})
	}
}

// wide spreads fingerprints over 128 bits, keeping distances of up to 64 bits.
func wide(fps []uint64) []Uint128 {
	w := make([]Uint128, len(fps))
	for i, f := range fps {
		w[i] = Uint128{Hi: f & 0xffff0000ffff0000, Lo: f & 0x0000ffff0000ffff}
	}
	return w
}

func TestWide(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, k := range []int{1, 3, 8, 16, 24, 31} {
		fps := make([]Uint128, 1200)
		for i := range fps {
			fps[i] = Uint128{Hi: rng.Uint64(), Lo: rng.Uint64()}
			if i > 0 && i%3 == 0 {
				fps[i] = fps[rng.IntN(i)]
				for range rng.IntN(k + 3) {
					w := columns.Bit(rng.IntN(128))
					fps[i].Hi ^= w.Hi
					fps[i].Lo ^= w.Lo
				}
			}
		}
		for _, opt := range []Options{{}, {portable: true}, {Workers: 7}} {
			check(t, fps, k, opt)
		}
	}
}

// twins returns n random fingerprints, each with a copy that differs in
// exactly d bits.
func twins(seed uint64, n, d int) []uint64 {
	rng := rand.New(rand.NewPCG(seed, uint64(d)))
	var fps []uint64
	for range n {
		x := rng.Uint64()
		y := x
		for _, b := range rng.Perm(64)[:d] {
			y ^= 1 << b
		}
		fps = append(fps, x, y)
	}
	return fps
}

func countPairs[F Fingerprint](t *testing.T, fps []F, k int, opt Options) int {
	t.Helper()
	s, err := Collapse(fps, opt)
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	if err := s.Pairs(context.Background(), k, opt, func(_, _ uint32, _ int) { n.Add(1) }); err != nil {
		t.Fatal(err)
	}
	return int(n.Load())
}

// At the border: of pairs at exactly k none is missed, of those at k+1 none is
// found. The sets are large enough for tables, keys and groups of every size.
func TestBorder(t *testing.T) {
	n := sized(20_000)
	for _, k := range []int{1, 2, 3, 4, 5, 6, 8} {
		for _, opt := range []Options{{}, {portable: true}} {
			if got := countPairs(t, twins(1, n, k), k, opt); got != n {
				t.Errorf("k=%d: found %d of %d pairs at distance %d", k, got, n, k)
			}
			if got := countPairs(t, twins(1, n, k+1), k, opt); got != 0 {
				t.Errorf("k=%d: found %d pairs at distance %d", k, got, k+1)
			}
		}
	}
}

// skewed has a hot segment, a dense ball and identical fingerprints, with
// groups large enough to be split again.
func skewed() []uint64 {
	rng := rand.New(rand.NewPCG(7, 7))
	var fps []uint64
	for range 2500 { // one segment value
		fps = append(fps, rng.Uint64()&^(0xffff<<48))
	}
	for range 2500 { // a dense ball
		fps = append(fps, 0x123456789abcdef^1<<rng.IntN(64)^1<<rng.IntN(64)^1<<rng.IntN(64))
	}
	for range 500 {
		fps = append(fps, 42)
	}
	return append(fps, planted(1, 1000, 64, 4)...)
}

func TestSkewed(t *testing.T) {
	if testing.Short() {
		t.Skip("skewed sets take seconds against the oracle: skipped with -short")
	}
	fps := skewed()
	check(t, fps, 3, Options{})
	check(t, fps, 2, Options{Workers: 7, portable: true})
	check(t, wide(fps), 3, Options{Workers: 3})
}

func TestDegenerate(t *testing.T) {
	same := make([]uint64, 5000)
	for i := range same {
		same[i] = 0xdeadbeef
	}
	check(t, same, 3, Options{})
	var ball []uint64 // everything within 2 of everything
	for b := range 64 {
		ball = append(ball, 1<<b)
	}
	for k := range 5 {
		check(t, ball, k, Options{})
	}
	var low []uint64 // every value of the low 11 bits
	for x := range uint64(sized(2048)) {
		low = append(low, x|0xabc<<40)
	}
	for _, k := range []int{1, 3, 11, 12} {
		check(t, low, k, Options{})
	}
	narrow := make([]uint64, 256)
	for i := range narrow {
		narrow[i] = uint64(i % 16)
	}
	for _, width := range []int{4, 5, 32, 64} {
		for k := range 6 {
			check(t, narrow, k, Options{Bits: width})
		}
	}
}

// Every plan finds the same.
func TestPlans(t *testing.T) {
	for _, c := range []struct {
		k       int
		regions string
	}{
		{3, "all pairs"},
		{3, "64/3/1"},
		{3, "64/3/2"},
		{3, "64/3/5"},
		{3, "32/1/2+32/1/2"},
		{3, "20/0/1+44/2/2"},
		{3, "4/0/1+4/0/1+4/0/1+4/0/1"},
		{5, "64/15/1"},
		{8, "30/3/4/2+34/4/4/4"},
		{4, "64/4/3/3"},
		{2, "60/2/5/3"},
	} {
		plan, err := parsePlan(64, c.k, c.regions)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{3, 2500} {
			check(t, planted(9, n, 64, c.k+1), c.k, Options{plan: plan})
			check(t, planted(9, n, 64, c.k+1), c.k-1, Options{plan: plan, Workers: 1})
		}
	}
}

func pairsOf(fps []uint64, k int, opt Options) error {
	s, err := Collapse(fps, opt)
	if err != nil {
		return err
	}
	return s.Pairs(context.Background(), k, opt, func(uint32, uint32, int) {})
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		want error
		err  func() error
	}{
		{errBits, func() error { _, err := parsePlan(129, 3, "all pairs"); return err }},
		{errDistance, func() error { return pairsOf([]uint64{1}, 16, Options{}) }},
		{errDistance, func() error { return pairsOf([]uint64{1}, -1, Options{}) }},
		{errDistance, func() error { return NewJoiner[Uint128]().Groups(context.Background(), nil, nil, 32, nil) }},
		{errPlan, func() error { _, err := parsePlan(64, 3, "64/2/1"); return err }},
		{errPlan, func() error { _, err := parsePlan(64, 3, "65/3/1"); return err }},
		{errPlan, func() error { _, err := parsePlan(64, 15, "64/15/40"); return err }},
		{errPlan, func() error {
			p, _ := parsePlan(64, 2, "all pairs")
			return pairsOf([]uint64{1}, 3, Options{plan: p})
		}},
	} {
		if err := c.err(); !errors.Is(err, c.want) {
			t.Errorf("got %v, want %v", err, c.want)
		}
	}
}

func TestCancel(t *testing.T) {
	defer goleak.VerifyNone(t)
	s, err := Collapse(skewed(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var visited atomic.Int64
	err = s.Pairs(ctx, 3, Options{Workers: 4}, func(uint32, uint32, int) {
		if visited.Add(1) == 10 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || visited.Load() < 10 {
		t.Fatalf("%v after %d pairs", err, visited.Load())
	}
	if err := s.Pairs(ctx, 3, Options{}, func(uint32, uint32, int) {}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 120).Draw(rt, "n")
		bits := rapid.SampledFrom([]int{8, 32, 64}).Draw(rt, "bits")
		k := rapid.IntRange(0, 15).Draw(rt, "k")
		opt := Options{
			Bits:     bits,
			Workers:  rapid.SampledFrom([]int{1, 2, 7}).Draw(rt, "workers"),
			portable: rapid.Bool().Draw(rt, "portable"),
		}
		check(rt, planted(rapid.Uint64().Draw(rt, "seed"), n, bits, k+2), k, opt)
	})
}

func FuzzPairs(f *testing.F) {
	f.Add([]byte("near-duplicate fingerprints of nearly equal pages"), uint8(3), false)
	f.Add(make([]byte, 800), uint8(15), true)
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 7}, uint8(1), false)
	f.Fuzz(func(t *testing.T, data []byte, k uint8, portable bool) {
		var fps []uint64
		for ; len(data) >= 8 && len(fps) < 500; data = data[8:] {
			fps = append(fps, binary.BigEndian.Uint64(data))
		}
		check(t, fps, int(k%16), Options{portable: portable})
		check(t, wide(fps), int(k%32), Options{portable: portable})
	})
}

// The plan that is chosen for a large set, with its buckets, whole lines and
// parts, finds what plans of other tables find, with other workers and without
// SIMD.
func TestPlansAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("1.5 M fingerprints take seconds: skipped with -short")
	}
	const n, k = 1_500_000, 3
	fps := planted(11, n, 64, k+1)
	for i := range n / 100 { // a hot segment, identical ones, a ball
		fps[i*50] = fps[i*50]&(1<<48-1) | 0xbeef<<48
		fps[i*50+1] = 42
		if i%10 == 0 {
			fps[i*50+2] = 0xfedcba9876543210 ^ 1<<(i%64) ^ 1<<(i/64%64)
		}
	}
	s, err := Collapse(fps, Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Number and digest of the pairs, whatever their order.
	pairs := func(opt Options) (n, digest uint64) {
		var found, sum atomic.Uint64
		err := s.Pairs(context.Background(), k, opt, func(i, j uint32, d int) {
			hi, lo := bits.Mul64(uint64(i)<<32|uint64(j), columns.GroupHash.Lo)
			found.Add(1)
			sum.Add((hi ^ lo) * uint64(d))
		})
		if err != nil {
			t.Fatal(err)
		}
		return found.Load(), sum.Load()
	}
	wantN, want := pairs(Options{})
	if wantN < n/20 {
		t.Fatalf("only %d pairs", wantN)
	}
	for _, c := range []struct {
		regions string
		opt     Options
	}{
		{"64/3/1", Options{Workers: 3}},
		{"64/3/2", Options{Workers: 1}},
		{"20/0/1+44/2/1", Options{portable: true}},
	} {
		if c.opt.plan, err = parsePlan(64, k, c.regions); err != nil {
			t.Fatal(err)
		}
		if n, digest := pairs(c.opt); n != wantN || digest != want {
			t.Errorf("%v: %d pairs of digest %x, with the chosen plan %d of digest %x", c.opt.plan, n, digest, wantN, want)
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

// Sets with many values near a centre, as pages of one template have: of all
// radii up to three, of one radius only (so that none has another at distance
// 1), two that overlap, one with values just around it, a subcube, and one so
// large that its members are far apart.
func TestBalls(t *testing.T) {
	n := max(sized(2500), 1000)
	for name, member := range map[string]func(rng *rand.Rand, i int) uint64{
		"ball":    func(rng *rand.Rand, _ int) uint64 { return flipped(rng, 0xabcdef, rng.IntN(4)) },
		"sphere":  func(rng *rand.Rand, _ int) uint64 { return flipped(rng, 0xabcdef, 2) },
		"overlap": func(rng *rand.Rand, i int) uint64 { return flipped(rng, 0xabcdef^uint64(i%2)*0x1f, rng.IntN(4)) },
		"around":  func(rng *rand.Rand, i int) uint64 { return flipped(rng, ^uint64(0), rng.IntN(3)+i%7/6*4) },
		"cube":    func(rng *rand.Rand, _ int) uint64 { return 0xabc<<50 | rng.Uint64()>>53<<20 },
		"sparse":  func(rng *rand.Rand, _ int) uint64 { return flipped(rng, 0xabcdef, 8) },
		"small":   func(rng *rand.Rand, i int) uint64 { return flipped(rng, 0x1234567<<uint(i%4*8), 2) },
	} {
		if testing.Short() && slices.Contains([]string{"ball", "sparse", "small"}, name) {
			continue // the long tests have them
		}
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			fps := make([]uint64, n)
			for i := range fps {
				fps[i] = rng.Uint64()
				if rng.IntN(3) != 0 {
					fps[i] = member(rng, i)
				}
			}
			for _, k := range []int{1, 3, 5, 12} {
				check(t, fps, k, Options{portable: k == 3, Workers: k})
			}
			check(t, wide(fps), 14, Options{})
		})
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
		fps := make([]uint64, 1500)
		for i := range fps {
			fps[i] = rng.Uint64()
			if rng.IntN(10) < share {
				fps[i] = flipped(rng, centres[rng.IntN(balls)], rng.IntN(radius+1))
			}
		}
		check(rt, fps, rapid.IntRange(1, 15).Draw(rt, "k"), Options{portable: rapid.Bool().Draw(rt, "portable")})
	})
}
