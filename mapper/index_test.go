package mapper

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash/hamming"
	"github.com/neardup/neardup/simhash/sketch"
)

// drawView draws a document of few kinds, so that many meet.
func drawView(t *rapid.T, bits int) data.View {
	f := drawFingerprint(t, bits)
	v := data.View{Hi: f.Hi, Lo: f.Lo, Length: uint32(rapid.IntRange(0, 2).Draw(t, "length")), Normal: rapid.Bool().Draw(t, "normal")}
	if rapid.IntRange(0, 4).Draw(t, "sketched") > 0 {
		for i := range v.Sketch {
			v.Sketch[i] = byte(i)
		}
		for i := range rapid.IntRange(0, 2).Draw(t, "unlike") * 10 {
			v.Sketch[i] = ^v.Sketch[i]
		}
		for range rapid.IntRange(0, 8).Draw(t, "changes") {
			v.Sketch[rapid.IntRange(40, 63).Draw(t, "at")] = rapid.Byte().Draw(t, "to")
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "short") == 0 {
		v.Letters = []byte(rapid.SampledFrom([]string{"", "机器学习", "深度学习的方法", "深度学习与方法", "the quick brown fox", "the quick brawn fox 2", "the quick brown fix", "a", longText, longText[:90] + "x" + longText[91:], longText[5:], "x" + longText[1:10] + longText[11:], longText[100:]}).Draw(t, "letters"))
	}
	return v
}

// longText is a short text that is not of few letters; it has no digit.
var longText = strings.Repeat("of texts that few edits part some are longer than others", 3)[:140]

// testJudge is a verdict that depends on all of two views and not on their
// order.
func testJudge(a, b *data.View) data.Evidence {
	e := data.Evidence{Reason: data.NotTheSame, Figure: uint16(differ(a, b))}
	if len(a.Letters) > 0 && len(b.Letters) > 0 {
		var short sketch.Short
		v, _ := short.Judge([]rune(string(a.Letters)), []rune(string(b.Letters)))
		if v.Same && (few(a, b) || differ(a, b) <= slipsDiffer) {
			e.Reason = data.ByEdits
		}
		return e
	}
	if (a.Length+b.Length)%3 != 1 {
		e.Reason = data.BySketches
	}
	return e
}

func rowsOf(views []data.View, wide bool) *HistoryRows {
	r := &HistoryRows{N: len(views), View: func(i int, v *data.View) { *v = views[i] }, Sketch: func(i int) []byte {
		if views[i].Sketch == (sketch.Sketch{}) {
			return nil
		}
		return views[i].Sketch[:]
	}, Letters: func(i int) []byte { return views[i].Letters }}
	for _, v := range views {
		if wide {
			r.Hi = append(r.Hi, v.Hi)
		}
		r.Lo, r.Normal = append(r.Lo, v.Lo), append(r.Normal, v.Normal)
	}
	return r
}

// Every pair of an earlier document and a unit that meets, by any of the ways
// asked for, and is judged the same is visited once, and no other.
func TestProbeEqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := Rule{K: rapid.IntRange(0, 8).Draw(t, "k"), Bands: rapid.Bool().Draw(t, "bands"), ShortTexts: rapid.Bool().Draw(t, "shortTexts")}
		options := hamming.Options{Bits: rapid.SampledFrom([]int{32, 64, 128}).Draw(t, "bits"), Workers: 2}
		judge := testJudge
		if rapid.Bool().Draw(t, "bounded") {
			rule.Short, rule.Long = 0.7, 0.7
			judge = func(a, b *data.View) data.Evidence {
				e := testJudge(a, b)
				if e.Reason == data.BySketches && EstimatedJaccard(e) < rule.Long {
					e.Reason = data.NotTheSame
				}
				return e
			}
		}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			judge, rule.Bands, rule.ShortTexts = nil, false, false
		case 1:
			rule = Rule{K: rule.K + 4, Verified: true, ByLength: true}
			judge = NewVerifier(rule).Judge
		}
		view := rapid.Custom(func(t *rapid.T) data.View { return drawView(t, options.Bits) })
		var units []data.View
		distinct := NewUnits(judge != nil)
		for _, v := range rapid.SliceOfN(view, 0, 25).Draw(t, "units") {
			if judge == nil {
				v = data.View{Hi: v.Hi, Lo: v.Lo, Normal: true}
			}
			want := slices.IndexFunc(units, func(u data.View) bool { return u.Equal(&v) })
			if want < 0 {
				want = len(units)
				units = append(units, v)
			}
			if got := distinct.Add(&v); int(got) != want {
				t.Fatalf("%+v is unit %d, want %d", v, got, want)
			}
		}
		rows := rapid.SliceOfN(view, 0, 25).Draw(t, "rows")
		current, err := newIndex(distinct, rule, options, rapid.IntRange(1, 3).Draw(t, "crowd"))
		if err != nil {
			t.Fatal(err)
		}
		var got, want []HistoryMatch
		meeter := current.NewProber(judge)
		// Crowded rows are compared as one with those that look alike.
		var later func(int)
		put := map[int][]int{} // rows by the first of equal views
		if rapid.Bool().Draw(t, "crowds") {
			later = func(row int) {
				for first := range put {
					if rows[first].Equal(&rows[row]) {
						put[first] = append(put[first], row)
						return
					}
				}
				put[row] = []int{row}
			}
		}
		meeter.Probe(rowsOf(rows, options.Bits == 128), func(m HistoryMatch) { got = append(got, m) }, later)
		for first, same := range put {
			meeter.Probe(rowsOf(rows[first:first+1], options.Bits == 128), func(m HistoryMatch) {
				for _, m.Row = range same {
					got = append(got, m)
				}
			}, nil)
		}
		for u := range units {
			for r := range rows {
				a, b := &units[u], &rows[r]
				h := Distance(a, b)
				met := a.Normal && b.Normal && h <= rule.Farthest(max(a.Length, b.Length))
				if judge != nil {
					met = met || rule.ShortTexts && len(a.Letters) > 0 && len(b.Letters) > 0
					met = met || rule.Bands && firstBand(a, b) >= 0
				}
				m := HistoryMatch{Unit: uint32(u), Row: r, Distance: h}
				if met && judge != nil {
					m.Evidence = judge(a, b)
					met = m.Evidence.Reason != data.NotTheSame
				}
				if met {
					want = append(want, m)
				}
			}
		}
		order := func(a, b HistoryMatch) int { return cmp.Or(cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Row, b.Row)) }
		slices.SortFunc(got, order)
		slices.SortFunc(want, order)
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func ExampleProber_Probe() {
	units := NewUnits(false)
	units.Add(&data.View{Lo: 0b1111, Normal: true})
	units.Add(&data.View{Lo: 0xff00, Normal: true})
	current, err := NewIndex(units, Rule{K: 3}, 64, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	earlier := &HistoryRows{N: 1, Lo: []uint64{0b1101}, Normal: []bool{true}}
	current.NewProber(nil).Probe(earlier, func(m HistoryMatch) {
		fmt.Printf("unit %d meets row %d at distance %d\n", m.Unit, m.Row, m.Distance)
	}, nil)
	// Output: unit 0 meets row 0 at distance 1
}
