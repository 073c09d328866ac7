package mapper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/columns"
)

// compareAll has compare visit the candidate pairs of all tables: postings, grouped
// by key in the obvious way, and the second map on each group.
func compareAll[F columns.Fingerprint](t *rapid.T, layout *simhash.Layout, rule Rule, views []data.View, compare *Comparer) {
	m := NewMap(layout, rule)
	documents := map[F][]uint64{} // of each fingerprint
	prints, docs := map[simhash.Key][]F{}, map[simhash.Key][]uint64{}
	for doc := range views {
		err := m.Postings(0, m.Tables(), &views[doc], uint64(doc), func(r data.Posting) error {
			key := simhash.Key(r.Key)
			if key.Table() >= layout.Tables() {
				docs[key] = append(docs[key], r.Doc)
				return nil
			}
			f := Segments[F](&views[doc])
			if packed := m.Pack(key, simhash.Fingerprint{Hi: r.Hi, Lo: r.Lo}); columns.Of[F](packed.Hi, packed.Lo) != f {
				t.Fatalf("%+v is packed as %v", r, packed)
			}
			if !slices.Contains(prints[key], f) {
				prints[key] = append(prints[key], f)
			}
			if key.Table() == 0 {
				documents[f] = append(documents[f], r.Doc)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, of := range documents {
		if err := compare.Shared(Fingerprints, 0, of); err != nil {
			t.Fatal(err)
		}
	}
	segments := NewSegmentComparer[F](layout, rule.K)
	for key, group := range prints {
		for k := range layout.Keys(key.Table()) { // a group may hold what does not share the further key
			values := append(slices.Clone(group), make([]F, columns.Slack)...)[:len(group)]
			err := segments.Groups(t.Context(), key.Table(), k, values, []uint32{uint32(len(group))}, func(a, b *F, distance int) {
				if err := compare.Near(documents[*a], documents[*b], distance); err != nil {
					t.Fatal(err)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for key, of := range docs {
		if err := compare.Shared(key.Table()-layout.Tables(), key.Value(), of); err != nil {
			t.Fatal(err)
		}
	}
}

// All groups together give each pair that the rule says once, with the verdict
// and the distance that comparing the two gives.
func TestGroupsEqualBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layout := drawLayout(t)
		rule := drawRule(t, layout)
		views := drawUnits(t, layout.Bits(), rule.Verified)
		verify := NewVerifier(rule)
		got := map[data.Pair]int{}
		compare := NewComparer(viewer(views), func(c Candidate) error {
			if c.A >= c.B {
				t.Fatalf("candidate %+v", c)
			}
			if p, ok := verify.Pair(&c, &views[c.A], &views[c.B]); ok {
				if got[p]++; c.Table == Samples {
					if p.Evidence.Reason != data.Open {
						t.Fatalf("%+v of the samples: the texts decide on all of them", p)
					}
					got[p] = 1 // from each key
				}
			}
			return nil
		})
		if layout.Bits() > 64 {
			compareAll[columns.Uint128](t, layout, rule, views, compare)
		} else {
			compareAll[uint64](t, layout, rule, views, compare)
		}
		want := map[data.Pair]int{}
		for a := range views {
			for b := a + 1; b < len(views); b++ {
				e := verify.Judge(&views[a], &views[b])
				if rule.Candidate(&views[a], &views[b]) && e.Reason != data.NotTheSame {
					want[data.Pair{A: uint64(a), B: uint64(b), Distance: uint8(Distance(&views[a], &views[b])), Evidence: e}] = 1
				}
			}
		}
		for p, n := range got {
			if want[p] != n {
				t.Errorf("%+v came %d times, want %d: %+v and %+v", p, n, want[p], views[p.A], views[p.B])
			}
		}
		for p := range want {
			if got[p] == 0 {
				t.Errorf("%+v is missing: %+v and %+v by %+v", p, views[p.A], views[p.B], rule)
			}
		}
	})
}

// A hot key's documents cost a window each, and those of sketches next to each
// other are still compared, whatever their numbers.
func TestHotKeyIsBounded(t *testing.T) {
	const n = 1512
	views, docs := make([]data.View, n), make([]uint64, n)
	for i := range views {
		at := i * 5 % n // sketches in another order than numbers
		docs[i] = uint64(i)
		for b := range 40 {
			views[at].Sketch[b] = byte(mix(uint64(i/2*40 + b)))
		}
		views[at].Sketch[39] = byte(i)
	}
	for _, size := range []int{maxGroup, maxGroup + 1, n} {
		pairs, like := map[Candidate]bool{}, 0
		compare := NewComparer(viewer(views), func(c Candidate) error {
			if c.A >= c.B || c.Table != 5 || c.Key != 9 || pairs[c] {
				t.Fatalf("candidate %+v", c)
			}
			pairs[c] = true
			if bytes.Equal(views[c.A].Sketch[:39], views[c.B].Sketch[:39]) {
				like++
			}
			return nil
		})
		if err := compare.Shared(5, 9, docs[:size]); err != nil {
			t.Fatal(err)
		}
		want := size * (size - 1) / 2
		if size > maxGroup {
			want = size*groupWindow - groupWindow*(groupWindow+1)/2
		}
		if len(pairs) != want || size == n && like != n/2 {
			t.Errorf("%d documents: %d candidates, want %d; %d of twins", size, len(pairs), want, like)
		}
	}
}

// Two fingerprints of many documents each cost no more than the bound: the
// smallest are compared, and more than MostNear of one side change nothing.
func TestCrowdedFingerprintsAreBounded(t *testing.T) {
	near := func(a, b []uint64) (pairs []Candidate) {
		compare := NewComparer(nil, func(c Candidate) error { pairs = append(pairs, c); return nil })
		if err := compare.Near(a, b, 1); err != nil {
			t.Fatal(err)
		}
		return pairs
	}
	docs := make([]uint64, 3*MostNear)
	for i := range docs {
		docs[i] = uint64(i)
	}
	many, few := docs[:2*MostNear], docs[2*MostNear:]
	if got := near(few[:64], many[:64]); len(got) != 64*64 {
		t.Errorf("%d candidates of 64 with 64", len(got))
	}
	for _, others := range [][]uint64{few[:1], few[:65], few} {
		got := near(many, others)
		if len(got) != nearDocuments*min(len(others), nearDocuments) {
			t.Errorf("%d candidates with %d documents", len(got), len(others))
		}
		for _, c := range got {
			if c.A >= nearDocuments || c.B < 2*MostNear || c.B >= 2*MostNear+nearDocuments || c.Table != Fingerprints {
				t.Fatalf("candidate %+v: the smallest documents are compared", c)
			}
		}
		if !slices.Equal(near(many[:MostNear], others), got) {
			t.Errorf("with %d documents: more than MostNear make a difference", len(others))
		}
	}
}

// What is not crowded is compared in full.
func TestCrowded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(1, 80), rapid.IntRange(maxGroup-2, maxGroup+2), rapid.IntRange(1, 2*maxGroup))
		x, y, shared := size.Draw(t, "x"), size.Draw(t, "y"), size.Draw(t, "shared")
		docs := make([]uint64, x+y+shared)
		for i := range docs {
			docs[i] = uint64(i)
		}
		pairs := 0
		compare := NewComparer(viewer(make([]data.View, len(docs))), func(Candidate) error { pairs++; return nil })
		err := errors.Join(compare.Near(docs[:x], docs[x:x+y], 1), compare.Shared(Fingerprints, 0, docs[:x]), compare.Shared(Fingerprints, 0, docs[x:x+y]),
			compare.Shared(0, 1, docs[x+y:]))
		if err != nil {
			t.Fatal(err)
		}
		all := x*y + x*(x-1)/2 + y*(y-1)/2 + shared*(shared-1)/2
		if crowded := Bounded([2]int{x, y}, shared, 0); crowded != (pairs < all) {
			t.Fatalf("%d, %d and %d documents are crowded: %t, but %d of %d pairs were compared", x, y, shared, crowded, pairs, all)
		}
	})
}

// The documents of a sampled shingle are all compared, or none of them.
func TestHotSampleIsLeftOut(t *testing.T) {
	docs := make([]uint64, maxSampled+1)
	for i := range docs {
		docs[i] = uint64(i)
	}
	pairs := 0
	compare := NewComparer(nil, func(Candidate) error { pairs++; return nil })
	for n, want := range map[int]int{2: 1, maxSampled: maxSampled * (maxSampled - 1) / 2, maxSampled + 1: 0} {
		pairs = 0
		if err := compare.Shared(Samples, 7, docs[:n]); err != nil || pairs != want {
			t.Errorf("%d pairs of %d documents, want %d (%v)", pairs, n, want, err)
		}
		if Bounded([2]int{1, 1}, 0, n) != (want == 0) {
			t.Errorf("%d documents are crowded", n)
		}
	}
}

func TestComparerReturnsErrors(t *testing.T) {
	stop := errors.New("stop")
	docs := make([]uint64, maxGroup+1)
	for i := range docs {
		docs[i] = uint64(i)
	}
	calls := 0
	visits := NewComparer(viewer(make([]data.View, len(docs))), func(Candidate) error { calls++; return stop })
	views := NewComparer(func(uint64, *data.View) error { return stop }, func(Candidate) error { return nil })
	for name, err := range map[string]error{
		"near":         visits.Near(docs[:1], docs[1:3], 1),
		"shared":       visits.Shared(0, 0, docs),
		"view":         views.Shared(0, 0, docs),
		"fingerprints": visits.Shared(Fingerprints, 0, docs[:3]),
		"candidate":    visits.Candidate(Candidate{}),
	} {
		if !errors.Is(err, stop) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if calls != 4 {
		t.Errorf("%d calls of visit after its error, want one of each", calls)
	}
}

func ExampleSegmentComparer() {
	layout, err := simhash.NewLayout(64, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	group := append([]uint64{0x00ff, 0x00fe, 0xff00}, make([]uint64, columns.Slack)...)[:3] // of 00A:0000, which all three share
	compare := NewSegmentComparer[uint64](layout, 3)
	err = compare.Groups(context.Background(), 0, 0, group, []uint32{3}, func(a, b *uint64, h int) {
		fmt.Printf("%x and %x: similarity 1 − %d/64\n", *a, *b, h)
	})
	fmt.Println(err)
	// Output:
	// ff and fe: similarity 1 − 1/64
	// <nil>
}
