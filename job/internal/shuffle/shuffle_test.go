package shuffle_test

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/job/internal/shuffle"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/columns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type pair struct {
	a, b uint32
	h    int
}

// near returns n fingerprints, of which a part are near others, a part share a
// hot segment, and a part are a ball around one.
func near(r *rand.Rand, n, flips int) []uint64 {
	prints := make([]uint64, n)
	for i := range prints {
		switch prints[i] = r.Uint64(); {
		case i > 0 && i%5 == 0:
			prints[i] = prints[r.IntN(i)]
			for range r.IntN(flips + 1) {
				prints[i] ^= 1 << r.IntN(64)
			}
		case i%7 == 0:
			prints[i] |= 0xffff << 48
		case i%11 == 0:
			prints[i] = 0x123456789abcdef ^ 1<<r.IntN(64) ^ 1<<r.IntN(64)
		}
	}
	return prints
}

// segments are the pairs that Segments visits, in order, and a failure for each
// that it visits twice.
func segments[F columns.Fingerprint](t rapid.TB, l *columns.Lists[F], layout *simhash.Layout, k, workers int, counts []*shuffle.Count) (got []pair) {
	t.Helper()
	var mu sync.Mutex
	busy := make([]atomic.Bool, workers)
	err := shuffle.Segments(context.Background(), l, &mapper.Tier{Layout: layout, K: k}, shuffle.Options{Workers: workers, Counts: counts}, func(w int, i, j uint32, h int) {
		if !busy[w].CompareAndSwap(false, true) {
			t.Error("a worker's number is in use twice at once")
		}
		mu.Lock()
		got = append(got, pair{i, j, h})
		mu.Unlock()
		busy[w].Store(false)
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got, func(p, q pair) int { return slices.Compare([]uint32{p.a, p.b}, []uint32{q.a, q.b}) })
	return got
}

// Every layout finds what comparing all with all finds, on any number of workers.
func TestSegmentsEqualBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(0, 12).Draw(t, "k")
		prints := near(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)), rapid.IntRange(0, 400).Draw(t, "n"), k+1)
		layouts := map[string]func() (*simhash.Layout, error){
			"segments":       func() (*simhash.Layout, error) { return simhash.NewLayout(64, k) },
			"combinations":   func() (*simhash.Layout, error) { return simhash.NewCombinations(64, k, 2) },
			"of a few":       func() (*simhash.Layout, error) { return simhash.ChooseLayout(64, k, 100) },
			"of 10 million":  func() (*simhash.Layout, error) { return simhash.ChooseLayout(64, k, 10_000_000) },
			"of two billion": func() (*simhash.Layout, error) { return simhash.ChooseLayout(64, min(k, 6), 2_000_000_000) },
		}
		name := rapid.SampledFrom([]string{"segments", "combinations", "of a few", "of 10 million", "of two billion"}).Draw(t, "layout")
		if name == "of two billion" {
			k = min(k, 6)
		}
		layout, err := layouts[name]()
		if err != nil {
			t.Fatal(err)
		}
		l, err := columns.Collapse(prints, 64, 1)
		if err != nil {
			t.Fatal(err)
		}
		var want []pair
		for i, a := range l.Values() {
			for j, b := range l.Values()[i+1:] {
				if h := bits.OnesCount64(a ^ b); h <= k {
					want = append(want, pair{uint32(i), uint32(i + 1 + j), h})
				}
			}
		}
		if got := segments(t, l, layout, k, rapid.IntRange(1, 4).Draw(t, "workers"), nil); !slices.Equal(got, want) {
			t.Fatalf("%v: %d pairs, want %d", layout, len(got), len(want))
		}
	})
}

// So many that they are dealt to partitions: layouts agree, wide fingerprints too,
// and the counts say what was mapped and where it is skewed.
func TestLayoutsAgree(t *testing.T) {
	n, k := 600_000, 3
	if testing.Short() {
		n = 150_000
	}
	prints := near(rand.New(rand.NewPCG(5, 5)), n, k+1)
	wide := make([]columns.Uint128, n)
	for i, f := range prints {
		wide[i] = columns.Uint128{Hi: f, Lo: f * 0x9e3779b97f4a7c15 >> 62}
	}
	l, err := columns.Collapse(prints, 64, 2)
	if err != nil {
		t.Fatal(err)
	}
	var want []pair
	for _, m := range []int{1, 2} {
		layout, err := simhash.NewCombinations(64, k, m)
		if err != nil {
			t.Fatal(err)
		}
		var counts []*shuffle.Count
		for range layout.Tables() {
			counts = append(counts, new(shuffle.Count))
		}
		got := segments(t, l, layout, k, 3, counts)
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) || len(want) < n/20 {
			t.Errorf("%v: %d pairs, want %d", layout, len(got), len(want))
		}
		var found int64
		for table, c := range counts {
			found += c.Candidates
			if c.Postings != int64(n) || c.PostingLists != int64(l.Len()) || c.LargestMapped < c.Largest || c.Compared == 0 || c.Largest < 2 {
				t.Errorf("%v, table %d: %+v", layout, table, c.TableCount)
			}
		}
		if hot := counts[0]; hot.Largest < int64(n/8) && m == 1 {
			t.Errorf("the largest group of %d has %d: a seventh share a segment", n, hot.Largest)
		}
		if found != int64(len(got)) {
			t.Errorf("%d candidates are counted, %d came", found, len(got))
		}
	}
	lw, err := columns.Collapse(wide, 128, 2)
	if err != nil {
		t.Fatal(err)
	}
	layout, err := simhash.NewLayout(128, k)
	if err != nil {
		t.Fatal(err)
	}
	got := segments(t, lw, layout, k, 2, nil)
	for i := range got {
		a, b := lw.Values()[got[i].a], lw.Values()[got[i].b]
		if h := columns.Distance(&a, &b); h != got[i].h || h > k {
			t.Fatalf("pair %+v at %d", got[i], h)
		}
	}
	if len(got) == 0 {
		t.Error("no wide pair")
	}
}

func TestSegmentsStops(t *testing.T) {
	prints := near(rand.New(rand.NewPCG(1, 2)), 50_000, 3)
	l, err := columns.Collapse(prints, 64, 1)
	if err != nil {
		t.Fatal(err)
	}
	layout, err := simhash.NewLayout(64, 3)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = shuffle.Segments(ctx, l, &mapper.Tier{Layout: layout, K: 3}, shuffle.Options{Workers: 3}, func(int, uint32, uint32, int) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	err = shuffle.Segments(context.Background(), l, &mapper.Tier{Layout: layout, K: 3}, shuffle.Options{Workers: 3}, func(int, uint32, uint32, int) { panic("of a verdict") })
	if err == nil {
		t.Error("a panic is no error")
	}
	if err := shuffle.Segments(context.Background(), l, &mapper.Tier{Layout: layout, K: 16}, shuffle.Options{}, nil); err == nil {
		t.Error("distance 16 of 64 bits")
	}
}

func TestValues(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	want := map[uint64][]uint64{}
	var postings []uint64
	for place := range uint64(30_000) {
		value := uint64(r.IntN(20_000)) << 12
		if place%9 == 0 {
			value = 5 << 12
		}
		want[value] = append(want[value], place)
		postings = append(postings, value<<32|place)
	}
	for _, workers := range []int{1, 4} {
		var mu sync.Mutex
		count := new(shuffle.Count)
		got := map[uint64][]uint64{}
		_, _, err := shuffle.Values(context.Background(), slices.Clone(postings), make([]uint64, len(postings)), workers, count, func(_ int, value uint64, places []uint64) error {
			mu.Lock()
			defer mu.Unlock()
			got[value] = slices.Clone(places)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for value, places := range want {
			if len(places) > 1 && !slices.Equal(got[value], places) {
				t.Fatalf("value %d: %v, want %v", value, got[value], places)
			}
		}
		if count.Postings != 30_000 || count.Keys != int64(len(want)) || count.Compared != int64(len(got)) || count.Largest != int64(len(want[5<<12])) || count.LargestMapped != count.Largest || count.PostingLists != count.Postings {
			t.Errorf("%+v", count.TableCount)
		}
	}
	stop := errors.New("stop")
	_, _, err := shuffle.Values(context.Background(), postings, make([]uint64, len(postings)), 3, nil, func(int, uint64, []uint64) error { return stop })
	if !errors.Is(err, stop) {
		t.Error(err)
	}
}

func ExampleSegments() {
	lists, err := columns.Collapse([]uint64{0xcafe, 0x1234_0000_0000_0000, 0xcaff, 0xcafe}, 64, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	layout, err := simhash.NewLayout(64, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = shuffle.Segments(context.Background(), lists, &mapper.Tier{Layout: layout, K: 3}, shuffle.Options{}, func(_ int, i, j uint32, h int) {
		fmt.Println("documents", lists.Members(int(i)), "and", lists.Members(int(j)), "at distance", h)
	})
	fmt.Println(err)
	// Output:
	// documents [0 3] and [2] at distance 1
	// <nil>
}

// Postings whose room RoomFor says are moved a few times, and in the end the room is
// little more than they need; whatever the first documents have, it is never much more.
func TestRoomFor(t *testing.T) {
	const documents = 100_000
	for name, c := range map[string]struct {
		of    func(doc int) int // postings of a document
		moves int
	}{
		"alike":    {func(doc int) int { return 20 + doc*7919%40 }, 2},
		"one":      {func(int) int { return 1 }, 0},
		"more":     {func(doc int) int { return doc * 60 / documents }, 30},
		"one long": {func(doc int) int { return 40 + doc/(documents-1)*5000 }, 3},
	} {
		have, room, moved := 0, documents+shuffle.DocumentPostings, 0
		for doc := range documents {
			if room-have < shuffle.DocumentPostings {
				room, moved = have+shuffle.RoomFor(have, doc, documents), moved+1
			}
			have += c.of(doc)
		}
		if moved > c.moves || room > have*9/8+2*shuffle.DocumentPostings {
			t.Errorf("%s: moved %d times, room for %d, needed for %d", name, moved, room, have)
		}
	}
}
