package reducer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
)

func drawRecords(t *rapid.T) []data.Keyed {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) data.Keyed {
		return data.Keyed{
			Key: rapid.Uint64Range(0, 4).Draw(t, "key"),
			Hi:  rapid.Uint64Range(0, 1).Draw(t, "hi"),
			Lo:  rapid.Uint64Range(0, 6).Draw(t, "lo"),
			Doc: rapid.Uint64Range(0, 30).Draw(t, "doc"),
		}
	}), 0, 200).Draw(t, "records")
}

// grouped is the obvious two-level grouping that both phases must come to.
func grouped(records []data.Keyed) []data.Entry {
	byBits := map[[3]uint64]map[uint64]bool{}
	for _, r := range records {
		id := [3]uint64{r.Key, r.Hi, r.Lo}
		if byBits[id] == nil {
			byBits[id] = map[uint64]bool{}
		}
		byBits[id][r.Doc] = true
	}
	var out []data.Entry
	for id, docs := range byBits {
		e := data.Entry{Key: id[0], Hi: id[1], Lo: id[2]}
		for d := range docs {
			e.Docs = append(e.Docs, d)
		}
		slices.Sort(e.Docs)
		out = append(out, e)
	}
	slices.SortFunc(out, compareEntries)
	return out
}

// partial keeps the entries of Partial.
func partial(records []data.Keyed) (entries []data.Entry) {
	next := Partial(records)
	var e data.Entry
	for more, _ := next(&e); more; more, _ = next(&e) {
		entries = append(entries, data.Entry{Key: e.Key, Hi: e.Hi, Lo: e.Lo, Docs: slices.Clone(e.Docs)})
	}
	return entries
}

// partOf returns the Part of those entries.
func partOf(entries []data.Entry) Part {
	return func(e *data.Entry) (bool, error) {
		if len(entries) == 0 {
			return false, nil
		}
		*e, entries = entries[0], entries[1:]
		return true, nil
	}
}

func TestPartialCollapses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := drawRecords(t)
		want := grouped(records)
		if got := partial(slices.Clone(records)); !equalEntries(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func compareEntries(a, b data.Entry) int {
	return compareBits(a.Key, a.Hi, a.Lo, b.Key, b.Hi, b.Lo)
}

// pieces cuts entries into several, as a cluster sends what is large.
func pieces(t *rapid.T, entries []data.Entry) (out []data.Entry) {
	for _, e := range entries {
		cut := rapid.IntRange(0, len(e.Docs)-1).Draw(t, "cut")
		if cut > 0 {
			out = append(out, data.Entry{Key: e.Key, Hi: e.Hi, Lo: e.Lo, Docs: e.Docs[:cut]})
		}
		out = append(out, data.Entry{Key: e.Key, Hi: e.Hi, Lo: e.Lo, Docs: e.Docs[cut:]})
	}
	return out
}

func TestFinalRefusesDisorder(t *testing.T) {
	first, second := data.Entry{Key: 1, Lo: 7, Docs: []uint64{0}}, data.Entry{Key: 1, Lo: 8, Docs: []uint64{1}}
	for _, parts := range [][]Part{
		{partOf([]data.Entry{second, first})},
		{partOf([]data.Entry{first}), partOf([]data.Entry{first, second, first})},
	} {
		if err := Final(parts, func([]data.Entry) error { return nil }); !errors.Is(err, errOrder) {
			t.Errorf("got %v, want %v", err, errOrder)
		}
	}
}

func TestFinalStopsAtDamage(t *testing.T) {
	damage := errors.New("damage")
	calls := 0
	broken := func(e *data.Entry) (bool, error) {
		calls++
		*e = data.Entry{Key: uint64(calls), Docs: []uint64{0}}
		if calls == 3 {
			return false, damage
		}
		return true, nil
	}
	if err := Final([]Part{broken}, func([]data.Entry) error { return nil }); !errors.Is(err, damage) || calls != 3 {
		t.Errorf("got %v after %d calls, want the part's error", err, calls)
	}
}

func equalEntries(a, b []data.Entry) bool {
	return slices.EqualFunc(a, b, func(a, b data.Entry) bool { return reflect.DeepEqual(a, b) })
}

// However the records are spread over salts, even against the rule that equal
// fingerprints share one, the final groups are the same.
func TestFinalIgnoresSalts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := drawRecords(t)
		salts := make([][]data.Keyed, rapid.IntRange(1, 5).Draw(t, "salts"))
		for _, r := range records {
			s := rapid.IntRange(0, len(salts)-1).Draw(t, "salt")
			salts[s] = append(salts[s], r)
		}
		parts := make([]Part, len(salts))
		for i := range salts {
			parts[i] = partOf(pieces(t, partial(salts[i])))
		}
		var got []data.Entry
		keys := map[uint64]bool{}
		err := Final(parts, func(group []data.Entry) error {
			for _, e := range group {
				if e.Key != group[0].Key {
					t.Fatalf("group of two keys: %v", group)
				}
				e.Docs = slices.Clone(e.Docs)
				got = append(got, e)
			}
			if keys[group[0].Key] {
				t.Fatalf("key %d came twice", group[0].Key)
			}
			keys[group[0].Key] = true
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := grouped(records); !equalEntries(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestFinalStopsAtError(t *testing.T) {
	stop := errors.New("stop")
	calls := 0
	err := Final([]Part{partOf([]data.Entry{{Key: 1, Docs: []uint64{0}}, {Key: 2, Docs: []uint64{1}}})}, func([]data.Entry) error {
		calls++
		return stop
	})
	if !errors.Is(err, stop) || calls != 1 {
		t.Fatalf("got %v after %d calls, want the group's error after 1", err, calls)
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
func choose(n, most int, candidates []Candidate, pairs []pair, excluded ...uint32) *Keepers {
	k := NewKeepers(n, func(a, b uint32) bool { return candidates[a].Before(candidates[b]) })
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

func TestKeepersUndoChains(t *testing.T) {
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
func TestKeepersAreThoseOfTheOrder(t *testing.T) {
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
func TestKeepersAtSize(t *testing.T) {
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
	k = NewKeepers(group, func(a, b uint32) bool { return candidates[a].Before(candidates[b]) })
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

func TestKeeper(t *testing.T) {
	none := math.NaN()
	all := []Candidate{{Doc: 4, Value: 7}, {Doc: 2, Value: none}, {Doc: 9, Value: 7}, {Doc: 5, Value: 3}, {Doc: 6, Value: 3}}
	for range 10 {
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if got := Keeper(all).Doc; got != 4 {
			t.Errorf("kept %d of %v, want 4", got, all)
		}
	}
	if got := Keeper([]Candidate{{Doc: 8, Value: none}, {Doc: 3, Value: none}}).Doc; got != 3 {
		t.Errorf("without values: kept %d, want the smaller document 3", got)
	}
}

func Example() {
	// One partition of one salt: the same fingerprint twice collapses.
	part := Partial([]data.Keyed{{Key: 1, Lo: 0xab, Doc: 5}, {Key: 1, Lo: 0xab, Doc: 2}, {Key: 1, Lo: 0xaf, Doc: 3}})
	_ = Final([]Part{part}, func(group []data.Entry) error {
		for _, e := range group {
			fmt.Printf("%x %v\n", e.Lo, e.Docs)
		}
		return nil
	})
	best := NewBest(6)
	best.Add(2, 5, 0, true)
	best.Add(2, 3, 1, true)
	fmt.Println(best.Match(3))
	// Output:
	// ab [2 5]
	// af [3]
	// {2 1 true} true
}
