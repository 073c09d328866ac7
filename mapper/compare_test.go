package mapper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/columns"
	"github.com/neardup/neardup/simhash/sketch"
)

// compareAll has compare visit the candidate pairs of all tables: postings, grouped
// by key in the obvious way, and the second map on each group.
func compareAll[F columns.Fingerprint](t *rapid.T, tiers Tiers, rule Rule, views []data.View, compare *Comparer) {
	m := NewKeyEmitter(tiers, rule)
	documents := make([]map[F][]uint64, len(tiers)) // of each fingerprint in each tier
	for i := range tiers {
		documents[i] = map[F][]uint64{}
	}
	tierOf := func(table int) (i int) {
		tier, _ := tiers.Table(table)
		return slices.IndexFunc(tiers, func(t Tier) bool { return t == *tier })
	}
	prints, docs := map[simhash.Key][]F{}, map[simhash.Key][]uint64{}
	for doc := range views {
		err := m.Postings(0, m.Tables(), &views[doc], uint64(doc), func(r data.Posting) error {
			key := simhash.Key(r.Key)
			if key.Table() >= tiers.Tables() {
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
			if of := documents[tierOf(key.Table())]; !slices.Contains(of[f], r.Doc) {
				of[f] = append(of[f], r.Doc)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, of := range documents[0] {
		if err := compare.Shared(SegmentTables, 0, of); err != nil {
			t.Fatal(err)
		}
	}
	for key, group := range prints {
		tier, table := tiers.Table(key.Table())
		segments, of := NewSegmentComparer[F](tier), documents[tierOf(key.Table())]
		for k := range tier.Layout.Keys(table) { // a group may hold what does not share the further key
			values := append(slices.Clone(group), make([]F, columns.Slack)...)[:len(group)]
			err := segments.Groups(t.Context(), table, k, values, []uint32{uint32(len(group))}, func(a, b *F, distance int) {
				if err := compare.Near(of[*a], of[*b], distance); err != nil {
					t.Fatal(err)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for key, of := range docs {
		if err := compare.Shared(key.Table()-tiers.Tables(), key.Value(), of); err != nil {
			t.Fatal(err)
		}
	}
}

// All groups together give each pair that the rule says once, with the verdict
// and the distance that comparing the two gives.
func TestGroupsEqualBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule, bits := drawRule(t), drawBits(t)
		tiers := drawTiers(t, &rule, bits)
		views := drawUnits(t, bits, rule.Verified)
		verify := NewVerifier(rule)
		got := map[data.Pair]int{}
		compare := NewComparer(rule, viewer(views), func(c Candidate) error {
			if c.A >= c.B {
				t.Fatalf("candidate %+v", c)
			}
			if p, ok := verify.Pair(&c, &views[c.A], &views[c.B]); ok {
				if got[p]++; c.Table == Samples {
					if p.Evidence.Reason != data.Undecided {
						t.Fatalf("%+v of the samples: the texts decide on all of them", p)
					}
					got[p] = 1 // from each key
				}
			}
			return nil
		})
		if bits > 64 {
			compareAll[columns.Uint128](t, tiers, rule, views, compare)
		} else {
			compareAll[uint64](t, tiers, rule, views, compare)
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

// crowdOf are documents of which pairs, 2i and 2i + 1, have sketches that differ in a
// bit and a band, and others only what the table says: band 6, or nothing.
func crowdOf(n int) []data.View {
	views := make([]data.View, n)
	for i := range views {
		for b := range views[i].Sketch {
			views[i].Sketch[b] = byte(mix(uint64(i/2*data.SketchSize + b)))
		}
		copy(views[i].Sketch[32+5*4:], "band")
		views[i].Sketch[7] ^= byte(i % 2)
		views[i].Sketch[32+i/2%8*4] ^= byte(i % 2)
		copy(views[i].Sketch[32+5*4:], "band")
	}
	return views
}

// Of a hot key as few documents are compared as the bound says; those that are alike
// still are, whatever their numbers, and each pair once.
func TestHotKeyIsBounded(t *testing.T) {
	rule := Rule{Bands: true, Verified: true, Rules: sketch.Balanced()}
	for _, n := range []int{maxPlain, maxPlain + 2, maxGroup, maxGroup + 2, 3 * maxGroup} {
		for _, verified := range []bool{true, false} {
			if rule.Verified = verified; !verified && n <= maxGroup {
				continue // all pairs, in millions
			}
			views, docs := crowdOf(n), make([]uint64, n)
			for i := range docs {
				docs[i] = uint64(i * 5 % n) // in another order than their sketches
			}
			slices.Sort(docs)
			pairs, like := map[Candidate]bool{}, 0
			compare := NewComparer(rule, viewer(views), func(c Candidate) error {
				if c.A >= c.B || c.Table != 5 || c.Key != 9 || pairs[c] {
					t.Fatalf("candidate %+v", c)
				}
				pairs[c] = true
				if c.A/2 == c.B/2 {
					like++
				}
				return nil
			})
			if err := compare.Shared(5, 9, docs); err != nil {
				t.Fatal(err)
			}
			want := n / 2 // no other two have a word in common, or a verdict of yes
			if n <= maxPlain {
				want = n * (n - 1) / 2
			}
			if len(pairs) != want || like != n/2 {
				t.Errorf("%d documents, verified: %t: %d candidates, want %d; %d of twins, want %d", n, verified, len(pairs), want, like, n/2)
			}
		}
	}
}

// Whatever the sketches of a hot key, a document costs maxPart a tree; those that no
// word tells apart are compared with the first, whose pairs lead to the others.
func TestForestIsBounded(t *testing.T) {
	const n = 3 * maxGroup
	for name, sketchOf := range map[string]func(i int) uint64{
		"one sketch":          func(int) uint64 { return 0 },
		"two":                 func(i int) uint64 { return uint64(i % 2) },
		"words of two values": func(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 >> 48 },
		"all different":       func(i int) uint64 { return mix(uint64(i)) },
	} {
		if testing.Short() && name != "one sketch" && name != "all different" {
			continue
		}
		views, docs := make([]data.View, n), make([]uint64, n)
		for i := range views {
			docs[i] = uint64(i)
			for word := range treeWords {
				views[i].Sketch[4*word] = byte(sketchOf(i)>>word) & 1
				if name == "all different" {
					views[i].Sketch[4*word+1] = byte(sketchOf(i) >> (4 * word))
				}
			}
		}
		pairs, compared := 0, make([]int, n)
		partners := make([][]uint64, n)
		compare := NewComparer(Rule{}, viewer(views), func(c Candidate) error {
			pairs++
			compared[c.A]++
			compared[c.B]++
			partners[c.A], partners[c.B] = append(partners[c.A], c.B), append(partners[c.B], c.A)
			return nil
		})
		if err := compare.Shared(SegmentTables, 0, docs); err != nil {
			t.Fatal(err)
		}
		if most := n * sketch.Bands * maxPart / 2; pairs > most {
			t.Errorf("%s: %d pairs, more than %d", name, pairs, most)
		}
		for i := range views {
			slices.Sort(partners[i])
			if len(slices.Compact(partners[i])) != compared[i] {
				t.Fatalf("%s: document %d is compared with one twice", name, i)
			}
		}
		if name == "one sketch" && pairs != n-1 {
			t.Errorf("%s: %d pairs of %d documents", name, pairs, n)
		}
	}
}

// Earlier documents of a hot key find in its forest what they would as documents of
// this run.
func TestForestOfHistory(t *testing.T) {
	const n = maxGroup + 2
	views, units := crowdOf(n), NewUnits(true)
	var members []uint32
	for i := 0; i < n; i += 2 {
		units.Append(&views[i])
		members = append(members, uint32(i/2))
	}
	f := newForest(units, members, 5)
	for i := 1; i < n; i += 2 {
		got := f.partners(nil, &views[i].Sketch)
		slices.Sort(got)
		if got = slices.Compact(got); len(got) != 1 || int(got[0]) != i/2 {
			t.Fatalf("an earlier document like unit %d is compared with %v", i/2, got)
		}
	}
}

// Of two fingerprints of many documents each the first of either are compared, and
// more than MostNear of one side change nothing.
func TestCrowdedFingerprintsAreBounded(t *testing.T) {
	near := func(a, b []uint64) (pairs []Candidate) {
		compare := NewComparer(Rule{}, viewer(make([]data.View, 3*MostNear)), func(c Candidate) error { pairs = append(pairs, c); return nil })
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
	for _, others := range [][]uint64{few[:1], few[:65], few} {
		got := near(many, others)
		if len(got) != MostNear*len(others) {
			t.Errorf("%d candidates with %d documents", len(got), len(others))
		}
		for _, c := range got {
			if c.A >= MostNear || c.B < 2*MostNear || c.Table != SegmentTables || c.Distance != 1 {
				t.Fatalf("candidate %+v: the first documents are compared", c)
			}
		}
		if !slices.Equal(near(many[:MostNear], others), got) {
			t.Errorf("with %d documents: more than MostNear make a difference", len(others))
		}
	}
}

// What is not crowded is compared in full.
func TestCrowded(t *testing.T) {
	for _, table := range []int{SegmentTables, 0, ShortTexts, Samples} {
		for _, n := range []int{maxSampled, maxSampled + 1, maxNear, maxNear + 1, maxShortGroup + 1, maxGroup, maxGroup + 1} {
			docs, views := make([]uint64, n), make([]data.View, n)
			for i := range docs {
				docs[i], views[i].Sketch = uint64(i), [data.SketchSize]byte{byte(i), byte(i >> 8)}
			}
			pairs := 0
			compare := NewComparer(Rule{}, viewer(views), func(Candidate) error { pairs++; return nil })
			if err := compare.Shared(table, 1, docs); err != nil {
				t.Fatal(err)
			}
			all := n * (n - 1) / 2
			if table == SegmentTables {
				all += n
				if err := compare.Near(docs, []uint64{uint64(n)}, 1); err != nil && n <= maxNear {
					t.Fatal(err)
				}
			}
			if Crowded(table, n) != (pairs < all) {
				t.Errorf("table %d: %d documents are crowded: %t, but %d of %d pairs were compared", table, n, Crowded(table, n), pairs, all)
			}
		}
	}
}

// The documents of a sampled shingle are all compared, or none of them.
func TestHotSampleIsLeftOut(t *testing.T) {
	docs := make([]uint64, maxSampled+1)
	for i := range docs {
		docs[i] = uint64(i)
	}
	pairs := 0
	compare := NewComparer(Rule{}, nil, func(Candidate) error { pairs++; return nil })
	for n, want := range map[int]int{2: 1, maxSampled: maxSampled * (maxSampled - 1) / 2, maxSampled + 1: 0} {
		pairs = 0
		if err := compare.Shared(Samples, 7, docs[:n]); err != nil || pairs != want {
			t.Errorf("%d pairs of %d documents, want %d (%v)", pairs, n, want, err)
		}
		if Crowded(Samples, n) != (want == 0) {
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
	visits := NewComparer(Rule{}, viewer(make([]data.View, len(docs))), func(Candidate) error { calls++; return stop })
	views := NewComparer(Rule{}, func(uint64, *data.View) error { return stop }, func(Candidate) error { return nil })
	for name, err := range map[string]error{
		"near":         visits.Near(docs[:1], docs[1:3], 1),
		"shared":       visits.Shared(0, 0, docs),
		"view":         views.Shared(0, 0, docs),
		"fingerprints": visits.Shared(SegmentTables, 0, docs[:3]),
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
	compare := NewSegmentComparer[uint64](&Tier{Layout: layout, K: 3})
	err = compare.Groups(context.Background(), 0, 0, group, []uint32{3}, func(a, b *uint64, h int) {
		fmt.Printf("%x and %x: similarity 1 − %d/64\n", *a, *b, h)
	})
	fmt.Println(err)
	// Output:
	// ff and fe: similarity 1 − 1/64
	// <nil>
}
