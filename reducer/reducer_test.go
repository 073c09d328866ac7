package reducer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

type posting struct{ value, doc uint64 }

func drawPostings(t *rapid.T) []posting {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) posting {
		return posting{rapid.Uint64Range(0, 20).Draw(t, "value"), rapid.Uint64Range(0, 30).Draw(t, "doc")}
	}), 0, 200).Draw(t, "postings")
}

// However the postings are spread over salts, even against the rule that equal
// suffixes share one, and in whatever pieces posting lists travel, those of the
// final reduce are those of grouping by value, their documents ascending and each
// once.
func TestReducesIgnoreSalts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawPostings(t)
		salts := make([]Postings[uint64], rapid.IntRange(1, 5).Draw(t, "salts"))
		want := map[uint64][]uint64{}
		for _, p := range drawn {
			salts[rapid.IntRange(0, len(salts)-1).Draw(t, "salt")].Add(p.value, p.doc)
			want[p.value] = append(want[p.value], p.doc)
		}
		var came Postings[uint64]
		for i := range salts {
			lists, err := Partial(&salts[i], 64, 1)
			if err != nil {
				t.Fatal(err)
			}
			for e, value := range lists.Values() {
				docs := lists.Documents(nil, e)
				cut := rapid.IntRange(1, len(docs)).Draw(t, "cut")
				came.Add(value, docs[:cut]...)
				if cut < len(docs) {
					came.Add(value, docs[cut:]...)
				}
			}
		}
		lists, err := Final(&came, 64, 2)
		if err != nil {
			t.Fatal(err)
		}
		if lists.Len() != len(want) {
			t.Fatalf("%d posting lists, want %d", lists.Len(), len(want))
		}
		for i, value := range lists.Values() {
			docs := want[value]
			slices.Sort(docs)
			if got := lists.Documents([]uint64{99}, i); !slices.Equal(got[1:], slices.Compact(docs)) || got[0] != 99 {
				t.Fatalf("value %d: documents %v, want %v", value, got, docs)
			}
		}
	})
}

// Each visits the lists in order with the documents of each, as Documents returns
// them, whether all came one by one or some as lists, and ends at an error.
func TestEachList(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for name, most := range map[string]int{"documents": 1, "lists": 4} {
		var p Postings[uint64]
		for range 2000 {
			docs := make([]uint64, 1+r.IntN(most))
			for i := range docs {
				docs[i] = r.Uint64N(500)
			}
			slices.Sort(docs)
			p.Add(r.Uint64N(1000), docs...)
		}
		lists, err := Partial(&p, 64, 1)
		if err != nil {
			t.Fatal(err)
		}
		next, end := 0, errors.New("end")
		err = lists.Each(func(i int, docs []uint64) error {
			if want := lists.Documents(nil, i); i != next || !slices.Equal(docs, want) {
				t.Fatalf("%s: list %d, want %d: documents %v, want %v", name, i, next, docs, want)
			}
			if next++; next == lists.Len() {
				return end
			}
			return nil
		})
		if next < 700 || !errors.Is(err, end) {
			t.Errorf("%s: %d lists, %v", name, next, err)
		}
	}
}

func TestPartialRefusesWideValues(t *testing.T) {
	var p Postings[uint64]
	p.Add(1<<40, 1)
	if _, err := Partial(&p, 32, 1); err == nil {
		t.Error("a value of 41 bits among those of 32")
	}
}

// A column is sorted by value, and what shares one keeps its order, evenly spread
// or not, on one core or several.
func TestByValue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 100, 200_000} {
		for name, value := range map[string]func() uint64{
			"even": func() uint64 { return uint64(r.Uint32()) },
			"few":  func() uint64 { return uint64(r.IntN(3)) << 20 },
			"hot":  func() uint64 { return uint64(r.Uint32()) * uint64(r.IntN(2)) },
			"one":  func() uint64 { return 7 },
		} {
			postings := make([]uint64, n)
			for i := range postings {
				postings[i] = value()<<32 | uint64(i)
			}
			want := slices.Clone(postings)
			slices.Sort(want)
			for _, workers := range []int{1, 3} {
				got, spare := ByValue(slices.Clone(postings), make([]uint64, n), workers)
				if !slices.Equal(got, want) || len(spare) != n {
					t.Errorf("%s, %d postings on %d: out of order", name, n, workers)
				}
			}
		}
	}
}

// pair is two documents at a distance.
type pair struct {
	A, B     uint32
	Distance uint8
	Same     bool
}

func drawPairs(t *rapid.T, n int) []pair {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) pair {
		a := rapid.Uint32Range(0, uint32(n)-2).Draw(t, "a")
		b := rapid.Uint32Range(a+1, uint32(n)-1).Draw(t, "b")
		return pair{A: a, B: b, Distance: uint8(rapid.IntRange(0, 3).Draw(t, "distance")), Same: rapid.Bool().Draw(t, "same")}
	}), 0, 80).Draw(t, "pairs")
}

func TestBestIsTheSmallest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 20
		pairs := drawPairs(t, n)
		best := NewBest(n)
		addConcurrently(pairs, func(p pair) { best.Add(p.A, p.B, p.Distance, p.Same) })
		for doc := range uint32(n) {
			var all []Match
			for _, p := range pairs {
				if p.A == doc {
					all = append(all, Match{p.B, p.Distance, p.Same})
				}
				if p.B == doc {
					all = append(all, Match{p.A, p.Distance, p.Same})
				}
			}
			got, ok := best.Match(doc)
			if ok != (len(all) > 0) {
				t.Fatalf("document %d: matched %t with %d candidates", doc, ok, len(all))
			}
			if !ok {
				continue
			}
			want := slices.MinFunc(all, func(a, b Match) int {
				if a.Same != b.Same {
					return map[bool]int{true: -1, false: 1}[a.Same]
				}
				return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.Doc, b.Doc))
			})
			if got != want {
				t.Fatalf("document %d: got %+v, want %+v", doc, got, want)
			}
			for _, m := range all {
				if m.Before(want) {
					t.Fatalf("%+v before %+v", m, want)
				}
			}
		}
	})
}

// addConcurrently feeds pairs from three goroutines.
func addConcurrently(pairs []pair, add func(pair)) {
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := w; i < len(pairs); i += 3 {
				add(pairs[i])
			}
		})
	}
	wg.Wait()
}

func TestComponentsEqualFlood(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 20
		pairs := drawPairs(t, n)
		c := NewComponents(n)
		addConcurrently(pairs, func(p pair) { c.Add(p.A, p.B) })
		label := make([]uint32, n)
		for i := range label {
			label[i] = uint32(i)
		}
		for changed := true; changed; {
			changed = false
			for _, p := range pairs {
				low := min(label[p.A], label[p.B])
				changed = changed || label[p.A] != low || label[p.B] != low
				label[p.A], label[p.B] = low, low
			}
		}
		for doc := range uint32(n) {
			if got := c.Root(doc); got != label[doc] {
				t.Fatalf("document %d: root %d, want %d", doc, got, label[doc])
			}
		}
	})
}

// Containment joins what contains each other and nothing else, and is no chain.
func TestComponentsAddContained(t *testing.T) {
	for name, c := range map[string]struct {
		same, contained [][2]uint32
		want            []uint32 // root by document
	}{
		"a page with and without its menus": {[][2]uint32{{0, 1}, {2, 3}}, [][2]uint32{{1, 2}, {0, 3}}, []uint32{0, 0, 0, 0}},
		"a digest of two stories":           {[][2]uint32{{1, 2}}, [][2]uint32{{0, 1}, {0, 2}, {0, 3}}, []uint32{0, 1, 1, 3}},
		"a chain":                           {nil, [][2]uint32{{0, 1}, {1, 2}}, []uint32{0, 1, 2}},
		"each contains the next ones":       {nil, [][2]uint32{{0, 1}, {1, 2}, {2, 0}}, []uint32{0, 0, 0}},
		"within one component":              {[][2]uint32{{0, 1}}, [][2]uint32{{0, 1}}, []uint32{0, 0}},
	} {
		got := NewComponents(len(c.want))
		for _, p := range c.same {
			got.Add(p[0], p[1])
		}
		got.AddContained(c.contained)
		for doc, root := range c.want {
			if got.Root(uint32(doc)) != root {
				t.Errorf("%s: document %d is of %d, want %d", name, doc, got.Root(uint32(doc)), root)
			}
		}
	}
}

// Any two documents that containment alone has joined are a pair of it, or of
// components that one leads from to the other.
func TestComponentsAddContainedIsDirect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 12
		draw := rapid.Custom(func(t *rapid.T) [2]uint32 {
			return [2]uint32{rapid.Uint32Range(0, n-1).Draw(t, "a"), rapid.Uint32Range(0, n-1).Draw(t, "b")}
		})
		before, after := NewComponents(n), NewComponents(n)
		for _, p := range rapid.SliceOfN(draw, 0, 6).Draw(t, "same") {
			before.Add(p[0], p[1])
			after.Add(p[0], p[1])
		}
		contained := rapid.SliceOfN(draw, 0, 12).Draw(t, "contained")
		after.AddContained(contained)
		var leads [n][n]bool
		for _, p := range contained {
			a, b := before.Root(p[0]), before.Root(p[1])
			leads[a][b], leads[b][a] = true, true
		}
		for i := range uint32(n) {
			for j := range uint32(n) {
				a, b := before.Root(i), before.Root(j)
				together := a == b || leads[a][b] && !slices.ContainsFunc(before.roots(), func(c uint32) bool {
					return c != a && c != b && leads[a][c] != leads[b][c]
				})
				if got := after.Root(i) == after.Root(j); got != together {
					t.Fatalf("documents %d and %d are together: %v, want %v", i, j, got, together)
				}
			}
		}
	})
}

// roots are the components.
func (c *Components) roots() (all []uint32) {
	for i := range uint32(len(c.parent)) {
		if c.Root(i) == i {
			all = append(all, i)
		}
	}
	return all
}

func TestComponentsLongChain(t *testing.T) {
	const n = 100_000
	c := NewComponents(n)
	order := rand.New(rand.NewPCG(1, 2)).Perm(n - 1)
	for _, i := range order {
		c.Add(uint32(i), uint32(i)+1)
	}
	for _, doc := range []uint32{0, 1, n / 2, n - 1} {
		if got := c.Root(doc); got != 0 {
			t.Fatalf("document %d: root %d, want 0", doc, got)
		}
	}
}

// choose chooses among n candidates, with so many pairs in memory.
func choose(n, most int, candidates []Candidate, pairs []pair, excluded ...uint32) *Representatives {
	k := NewRepresentatives(n, func(a, b uint32) bool { return candidates[a].Before(candidates[b]) })
	for _, doc := range excluded {
		k.Exclude(doc)
	}
	_ = k.Choose(most, func(yield func(a, b uint32)) error {
		for _, p := range pairs {
			yield(p.A, p.B)
		}
		return nil
	})
	return k
}

func TestRepresentativesUndoChains(t *testing.T) {
	// 0 – 1 – 2 – 3 – 4: the ends have one pair, and come last.
	pairs := []pair{{A: 0, B: 1}, {A: 1, B: 2}, {A: 2, B: 3}, {A: 3, B: 4}}
	for name, c := range map[string]struct {
		values [5]float64
		want   []uint32
	}{
		"the best has most pairs too":   {[5]float64{0, 0, 9, 0, 0}, []uint32{0, 2, 4}},
		"an end is the best":            {[5]float64{9, 0, 0, 0, 0}, []uint32{1, 3}},
		"one beside the middle is best": {[5]float64{0, 0, 0, 1, 0}, []uint32{1, 3}},
	} {
		candidates := make([]Candidate, 5)
		for i := range candidates {
			candidates[i] = Candidate{Doc: uint32(i), Value: c.values[i], Pairs: 2}
		}
		candidates[0].Pairs, candidates[4].Pairs = 1, 1
		for most := range 5 {
			var got []uint32
			k := choose(5, most, candidates, pairs)
			for i := range uint32(5) {
				if k.Stays(i) {
					got = append(got, i)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s, %d pairs in memory: %d stay, want %d", name, most, got, c.want)
			}
		}
	}
}

// Who stays is what going through all documents in order comes to, however many
// pairs are in memory and in whatever order they come.
func TestRepresentativesAreThoseOfTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 20
		pairs := drawPairs(t, n)
		candidates := make([]Candidate, n)
		for i := range candidates {
			candidates[i] = Candidate{Doc: uint32(i), Value: rapid.SampledFrom([]float64{math.NaN(), 1, 2, 3}).Draw(t, "value")}
		}
		for _, p := range pairs {
			candidates[p.A].Pairs++
			candidates[p.B].Pairs++
		}
		excluded := rapid.SliceOfN(rapid.Uint32Range(0, n-1), 0, 3).Draw(t, "excluded")
		touch := func(a, b uint32) bool {
			return slices.ContainsFunc(pairs, func(p pair) bool { return p.A == a && p.B == b || p.A == b && p.B == a })
		}
		order := slices.Clone(candidates)
		slices.SortFunc(order, func(a, b Candidate) int {
			if a.Before(b) {
				return -1
			}
			return 1
		})
		var want []uint32
		for _, c := range order {
			if !slices.Contains(excluded, c.Doc) && !slices.ContainsFunc(want, func(w uint32) bool { return touch(w, c.Doc) }) {
				want = append(want, c.Doc)
			}
		}
		pairs = rapid.Permutation(pairs).Draw(t, "order")
		k := choose(n, rapid.IntRange(0, len(pairs)).Draw(t, "most"), candidates, pairs, excluded...)
		for i := range uint32(n) {
			if k.Stays(i) != slices.Contains(want, i) {
				t.Fatalf("%d stays: %t, want %d", i, k.Stays(i), want)
			}
		}
	})
}

// A chain that the rounds take a document or two at a time from is decided in
// memory, and a group of all pairs in one round without.
func TestRepresentativesAtSize(t *testing.T) {
	const n = 1 << 17
	chained := make([]pair, n-1)
	candidates := make([]Candidate, n)
	for i := range candidates {
		candidates[i] = Candidate{Doc: uint32(i), Value: float64(i)}
	}
	for i := range chained {
		chained[i] = pair{A: uint32(i), B: uint32(i) + 1}
	}
	k := choose(n, n, candidates, chained)
	for i := range uint32(n) {
		if k.Stays(i) != (i%2 == 1) {
			t.Fatalf("%d stays: %t", i, k.Stays(i))
		}
	}
	const group = 1000
	var all []pair
	for i := range uint32(group) {
		for j := range i {
			all = append(all, pair{A: j, B: i})
		}
	}
	passes := 0
	k = NewRepresentatives(group, func(a, b uint32) bool { return candidates[a].Before(candidates[b]) })
	_ = k.Choose(0, func(yield func(a, b uint32)) error {
		passes++
		for _, p := range all {
			yield(p.A, p.B)
		}
		return nil
	})
	if !k.Stays(group-1) || k.Stays(0) || passes != 3 {
		t.Errorf("of a group the best stays: %t, after %d passes", k.Stays(group-1), passes)
	}
}

func TestRepresentative(t *testing.T) {
	none := math.NaN()
	all := []Candidate{{Doc: 4, Value: 7}, {Doc: 2, Value: none}, {Doc: 9, Value: 7}, {Doc: 5, Value: 3}, {Doc: 6, Value: 3}}
	for range 10 {
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if got := Representative(all).Doc; got != 4 {
			t.Errorf("kept %d of %v, want 4", got, all)
		}
	}
	if got := Representative([]Candidate{{Doc: 8, Value: none}, {Doc: 3, Value: none}}).Doc; got != 3 {
		t.Errorf("without values: kept %d, want the smaller document 3", got)
	}
}

func Example() {
	// One partition of one salt: the same fingerprint twice collapses.
	var came Postings[uint64]
	came.Add(0xab, 5)
	came.Add(0xab, 2)
	came.Add(0xaf, 3)
	lists, err := Partial(&came, 64, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, value := range lists.Values() {
		fmt.Printf("%x %v\n", value, lists.Documents(nil, i))
	}
	best := NewBest(6)
	best.Add(2, 5, 0, true)
	best.Add(2, 3, 1, true)
	fmt.Println(best.Match(3))
	// Output:
	// ab [2 5]
	// af [3]
	// {2 1 true} true
}
