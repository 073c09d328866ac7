package mapper

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/sketch"
)

// drawViews draws documents of few fingerprints, sketches and short texts, so
// that they meet, alike and unlike, in every way.
func drawViews(t *rapid.T) []data.View {
	views := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) data.View {
		v := data.View{
			Lo:     rapid.SampledFrom([]uint64{0, 1, 0xff, 0xff00000000000000}).Draw(t, "print"),
			Length: rapid.SampledFrom([]uint32{50, 1000}).Draw(t, "length"),
			Normal: rapid.IntRange(0, 3).Draw(t, "lane") > 0,
		}
		if rapid.IntRange(0, 9).Draw(t, "empty") > 0 {
			v.Sketch[39] = 1
			for i := range rapid.IntRange(0, 20).Draw(t, "unlike") { // 8 bits of the 320 each
				v.Sketch[i] = 0xff
			}
			for b := range sketch.Bands {
				v.Sketch[40+3*b] = byte(rapid.IntRange(0, 3).Draw(t, "band"))
			}
		}
		if rapid.Bool().Draw(t, "short") {
			v.Letters = []byte(rapid.SampledFrom([]string{"新闻头条今天", "新闻头条明天", "新闻头条今天早上好", "第1页第2页第3页", "第1页第2页第4页", "ab"}).Draw(t, "letters"))
		}
		return v
	}), 0, 20).Draw(t, "views")
	for n := len(views); n > 0 && len(views) < 30; {
		views = append(views, views[rapid.IntRange(0, n-1).Draw(t, "copied")])
	}
	return rapid.Permutation(views).Draw(t, "order")
}

func viewer(views []data.View) func(uint32, *data.View) error {
	return func(doc uint32, v *data.View) error {
		letters := append(v.Letters[:0], views[doc].Letters...)
		*v = views[doc]
		v.Letters = letters
		return nil
	}
}

// allPairs is what all tables together confirm: pairs of representatives, as
// often as they came.
func allPairs(t fataler, c *Confirmer, further *Further, first int, views []data.View) map[[2]uint32]int {
	came := map[[2]uint32]int{}
	emit := func(p data.Pair) {
		if a, b := &views[p.A], &views[p.B]; p.A >= p.B || int(p.Distance) != distance(a, b) {
			t.Fatalf("pair %+v", p)
		}
		came[[2]uint32{p.A, p.B}]++
	}
	prints := map[uint64][]uint32{}
	for i, v := range views {
		if v.Normal {
			prints[v.Lo] = append(prints[v.Lo], uint32(i))
		}
	}
	for a, docs := range prints {
		if err := c.Identical(docs, emit); err != nil {
			t.Fatal(err)
		}
		for b, others := range prints {
			if a < b && distance(&data.View{Lo: a}, &data.View{Lo: b}) <= c.k {
				if err := c.Near(docs, others, emit); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for table := range FurtherTables {
		groups := map[uint64][]data.Entry{}
		for i := range views {
			err := further.Table(table, &views[i], uint32(i), func(r data.Keyed) error {
				if got := UnpackFurther(first, first+table, PackFurther(first, r)); got.Key != r.Key || got.Lo != r.Lo {
					t.Fatalf("packed %+v, unpacked %+v", r, got)
				}
				g := groups[r.Key]
				at := slices.IndexFunc(g, func(e data.Entry) bool { return e.Lo == r.Lo })
				if at < 0 {
					groups[r.Key] = append(g, data.Entry{Key: r.Key, Lo: r.Lo, Docs: []uint32{r.Doc}})
				} else if !slices.Contains(g[at].Docs, r.Doc) {
					g[at].Docs = append(g[at].Docs, r.Doc)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, g := range groups {
			if err := c.Group(g, emit); err != nil {
				t.Fatal(err)
			}
		}
	}
	return came
}

func TestTablesAreTheirValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const first = 4
		further := NewFurther(first, rapid.Bool().Draw(t, "bands"), rapid.Bool().Draw(t, "short texts"))
		for doc, v := range drawViews(t) {
			var want, got []data.Keyed
			for table := range FurtherTables {
				for _, value := range slices.Clone(further.Values(table, &v)) {
					want = append(want, data.Keyed{Key: uint64(FurtherKey(first, table, value)), Doc: uint32(doc)})
				}
			}
			err := further.Tables(0, FurtherTables, &v, uint32(doc), func(r data.Keyed) error {
				r.Lo = 0
				got = append(got, r)
				return nil
			})
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("got %+v, %v, want %+v", got, err, want)
			}
			if err := further.Tables(0, FurtherTables, &v, uint32(doc), func(data.Keyed) error { return errNoView }); (err != nil) != (len(want) > 0) {
				t.Fatalf("emit's error: %v", err)
			}
		}
	})
}

var errNoView = errors.New("no view")

type fataler interface {
	Fatal(...any)
	Fatalf(string, ...any)
}

// All tables together confirm what comparing all documents does, each pair of
// units once; and of documents at distance 0 each has its smallest match.
func TestTablesEqualAllPairs(t *testing.T) {
	const first = 4
	rapid.Check(t, func(t *rapid.T) {
		views := drawViews(t)
		further := NewFurther(first, rapid.IntRange(0, 3).Draw(t, "bands") > 0, rapid.IntRange(0, 3).Draw(t, "short texts") > 0)
		c := NewConfirmer(rapid.IntRange(0, 3).Draw(t, "k"), further, sketch.Thorough(), viewer(views))
		came := allPairs(t, c, further, first, views)
		unit := func(doc int) (smallest uint32) {
			for !views[smallest].Equal(&views[doc]) {
				smallest++
			}
			return smallest
		}
		for a := range views {
			for b := a + 1; b < len(views); b++ {
				met, verdict := c.Judge(&views[a], &views[b])
				same := met && (verdict.Same || verdict.Open)
				x, y := unit(a), unit(b)
				n := came[[2]uint32{min(x, y), max(x, y)}]
				if x == y { // then b was paired with the smallest
					if n = came[[2]uint32{x, uint32(b)}]; uint32(a) != x {
						continue
					}
				}
				if same != (n == 1) || n > 1 {
					t.Fatalf("%d and %d (of units %d and %d) came %d times, met %t, %+v", a, b, x, y, n, met, verdict)
				}
				if same && distance(&views[a], &views[b]) == 0 {
					least := uint32(a)
					for p := range came {
						if p[1] == uint32(b) && distance(&views[p[0]], &views[b]) == 0 {
							least = min(least, p[0])
						}
					}
					if least == uint32(a) && came[[2]uint32{uint32(a), uint32(b)}] == 0 {
						t.Fatalf("%d is the smallest match of %d at distance 0, and was not paired with it", a, b)
					}
				}
			}
		}
	})
}

// A group of more than MaxGroup distinct documents costs a window each, and
// still pairs those whose sketches are next to each other.
func TestHotGroupIsBounded(t *testing.T) {
	views := make([]data.View, MaxGroup+1000)
	for i := range views {
		v := &views[i]
		v.Lo, v.Length = uint64(i)*0x9e3779b97f4a7c15, 1000
		for b := range 40 {
			v.Sketch[b] = byte(mix(uint64(i/2*40 + b)))
		}
		v.Sketch[0], v.Sketch[39] = byte(i/2>>8), byte(i)
		copy(v.Sketch[40:], "hot")
	}
	further := NewFurther(4, true, true)
	c := NewConfirmer(3, further, sketch.Balanced(), viewer(views))
	docs := make([]uint32, len(views))
	for i := range docs {
		docs[i] = uint32(i)
	}
	pairs := 0
	key := FurtherKey(4, 0, uint64((*sketch.Sketch)(&views[0].Sketch).Band(0)))
	err := c.Further(key, docs, func(p data.Pair) {
		if p.A/2 == p.B/2 {
			pairs++
		}
	})
	if err != nil || pairs != len(views)/2 {
		t.Fatalf("%d pairs, want %d, %v", pairs, len(views)/2, err)
	}
}

func TestFingerprinterMakesViews(t *testing.T) {
	analyzer, err := simhash.New(simhash.Options{Bits: 64, Kind: simhash.KindNGrams, N: 2, Weight: simhash.WeightTF, Stop: simhash.StopNone, MinFeatures: 16})
	if err != nil {
		t.Fatal(err)
	}
	f := NewFingerprinter(analyzer.NewWorkspace(), true, nil)
	var row data.FingerprintRow
	var v data.View
	f.Fingerprint(&data.Document{ID: []byte("a"), Text: []byte("Ｎews，头条 2026!")}, "in", &row)
	View(&row, &v)
	if string(row.Letters) != "news头条2026" || len(row.Sketch) != data.SketchSize || v.Sketch == [data.SketchSize]byte{} || v.Normal {
		t.Fatalf("got %+v, view %+v", row, v)
	}
	var maker sketch.Maker
	var want sketch.Sketch
	long := "一个超过四十个字的文本不是短文本因此没有字母而只有草图这样的文本要靠指纹和草图的各个带来相遇再由草图来确认它们是否相同"
	maker.Sketch(&want, []byte(long))
	f.Fingerprint(&data.Document{ID: []byte("b"), Text: []byte(long)}, "in", &row)
	View(&row, &v)
	if len(row.Letters) > 0 || v.Sketch != [data.SketchSize]byte(want) || !v.Normal {
		t.Fatalf("got %+v, view %+v", row, v)
	}
	f.Fingerprint(&data.Document{ID: []byte("c"), Text: []byte("?!")}, "in", &row)
	if len(row.Letters) > 0 || len(row.Sketch) > 0 {
		t.Fatalf("got %+v", row)
	}
	NewFingerprinter(analyzer.NewWorkspace(), false, nil).Fingerprint(&data.Document{ID: []byte("a"), Text: []byte(long)}, "in", &row)
	if len(row.Sketch) > 0 {
		t.Fatalf("a sketch that nobody asked for: %+v", row)
	}
}

func ExampleConfirmer() {
	views := []data.View{
		{Lo: 0b0000, Length: 30, Normal: true, Letters: []byte("陈乔恩手机号码遭泄露")},
		{Lo: 0b1111, Length: 30, Normal: true, Letters: []byte("陈乔恩手机号码被泄露")},
		{Lo: 0b0001, Length: 30, Normal: true, Letters: []byte("明天会下雨")},
	}
	further := NewFurther(4, true, true)
	c := NewConfirmer(3, further, sketch.Balanced(), viewer(views))
	emit := func(p data.Pair) { fmt.Println(p.A, p.B, "distance", p.Distance) }

	fmt.Println("near:", c.Near([]uint32{0}, []uint32{2}, emit)) // of like fingerprints, but unlike
	fmt.Println("further:", c.Further(FurtherKey(4, TableShort, further.shortKeys(&views[0])[0]), []uint32{0, 1}, func(data.Pair) {}))
	verdict, similarity, err := c.Verdict(0, 1)
	fmt.Printf("%s, %.1f, %v\n", verdict.Reason, similarity, err)
	// Output:
	// near: <nil>
	// further: <nil>
	// short, few edits, 0.9, <nil>
}

// Two fingerprints of many different texts each cost no more than the bound.
func TestCrowdedFingerprintsAreBounded(t *testing.T) {
	const n = 3000
	views := make([]data.View, 2*n)
	docs := make([]uint32, 2*n)
	for i := range views {
		v := &views[i]
		v.Normal, v.Lo, v.Length = true, uint64(i/n), 1000
		v.Sketch[0], v.Sketch[1], v.Sketch[2], v.Sketch[63] = byte(i), byte(i>>8), byte(i/n), 1
		docs[i] = uint32(i)
	}
	c := NewConfirmer(3, NewFurther(4, true, true), sketch.Balanced(), viewer(views))
	pairs := 0
	if err := c.Near(docs[:n], docs[n:], func(p data.Pair) {
		pairs++
		if p.A > 15 || p.B > n+15 {
			t.Fatalf("pair %+v: the smallest documents are compared", p)
		}
	}); err != nil || pairs != 16*16 {
		t.Fatalf("%d pairs, %v", pairs, err)
	}
	pairs = 0
	if err := c.Identical(docs[:n], func(data.Pair) { pairs++ }); err != nil || pairs > n*groupWindow*3 {
		t.Fatalf("%d pairs, %v", pairs, err)
	}
}
