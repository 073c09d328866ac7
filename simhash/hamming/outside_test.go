package hamming_test

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/neardup/neardup/simhash/hamming"
)

// A program instantiates the package's generic functions in a package of its
// own, as this test does: the compiler may then treat them in another way
// than within the package. Enough fingerprints go through for every path that
// several workers take.
func TestInstantiatedOutside(t *testing.T) {
	n, k := 200_000, 3
	if testing.Short() {
		n = 50_000
	}
	r := rand.New(rand.NewPCG(11, 11))
	prints := make([]uint64, n)
	for i := range prints {
		prints[i] = r.Uint64()
		if i > 0 && i%10 == 0 {
			prints[i] = prints[r.IntN(i)]
			for range r.IntN(k + 1) {
				prints[i] ^= 1 << r.IntN(64)
			}
		}
	}
	outside(t, prints, k, func(a, b uint64) int { return bits.OnesCount64(a ^ b) }, func(f uint64) uint64 { return f })
	wide := make([]hamming.Uint128, n)
	for i, f := range prints {
		wide[i] = hamming.Uint128{Lo: f, Hi: f * 0x9e3779b97f4a7c15 >> 60}
	}
	outside(t, wide, k, func(a, b hamming.Uint128) int { return bits.OnesCount64(a.Lo^b.Lo) + bits.OnesCount64(a.Hi^b.Hi) }, func(f hamming.Uint128) uint64 { return f.Lo })
}

func outside[F hamming.Fingerprint](t *testing.T, prints []F, k int, distance func(a, b F) int, low func(F) uint64) {
	t.Helper()
	// The obvious join: by each of four segments.
	type pair struct{ a, b int }
	want := map[pair]int{}
	for s := range 4 {
		groups := map[uint16][]int{}
		for i, f := range prints {
			key := uint16(low(f) >> (16 * s))
			for _, j := range groups[key] {
				if d := distance(f, prints[j]); d <= k {
					want[pair{j, i}] = d
				}
			}
			groups[key] = append(groups[key], i)
		}
	}
	for _, workers := range []int{1, 2, 3} {
		o := hamming.Options{Workers: workers}
		set, err := hamming.Collapse(prints, o)
		if err != nil {
			t.Fatal(err)
		}
		found := map[pair]bool{}
		add := func(a, b uint32, d int) {
			p := pair{int(min(a, b)), int(max(a, b))}
			if w, ok := want[p]; !ok || w != d || found[p] {
				t.Errorf("%d workers: pair %v at %d, seen before %v", workers, p, d, found[p])
			}
			found[p] = true
		}
		for i := range set.Len() {
			members := set.Members(i)
			for n, a := range members {
				for _, b := range members[:n] {
					add(a, b, 0)
				}
			}
		}
		var mu sync.Mutex
		near := 0
		err = set.Pairs(context.Background(), k, o, func(_ int, i, j uint32, d int) {
			mu.Lock()
			defer mu.Unlock()
			near++
			for _, a := range set.Members(int(i)) {
				for _, b := range set.Members(int(j)) {
					add(a, b, d)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != len(want) {
			t.Errorf("%d workers: %d pairs, want %d", workers, len(found), len(want))
		}
		if got := joined(t, set, k); got != near {
			t.Errorf("%d pairs by buckets, want %d", got, near)
		}
		index, err := hamming.NewIndex(prints, k, o)
		if err != nil {
			t.Fatal(err)
		}
		probed := 0
		index.NewProber().Probe(prints, func(i int, doc uint32, _ int) {
			if int(doc) > i {
				probed++
			}
		})
		if probed != len(want) {
			t.Errorf("%d workers: %d pairs by the index, want %d", workers, probed, len(want))
		}
	}
}

// joined is how many pairs a Joiner finds of all values as one bucket of each
// table.
func joined[F hamming.Fingerprint](t *testing.T, set *hamming.Set[F], k int) (pairs int) {
	t.Helper()
	plan, err := hamming.ChoosePlan(64, k, set.Len())
	if err != nil {
		t.Fatal(err)
	}
	values := make([]F, set.Len())
	for i := range values {
		values[i] = set.Value(i)
	}
	joiner := hamming.NewJoiner[F]()
	for table := range plan.Tables() {
		if err := joiner.Bucket(plan, table, values, func(_, _ F, _ int) { pairs++ }); err != nil {
			t.Fatal(err)
		}
	}
	return pairs
}
