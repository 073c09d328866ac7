package mapper

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash/sketch"
)

// differing are two views whose sketches differ in so many bits.
func differing(n int, length uint32) (a, b data.View) {
	a, b = data.View{Length: length}, data.View{Length: length + 1}
	a.Sketch[50], b.Sketch[50] = 1, 2 // in the bands
	for i := range n {
		b.Sketch[i/8] |= 1 << (i % 8)
	}
	return a, b
}

func TestJudge(t *testing.T) {
	rules := sketch.Rules{LongFrom: 100, Short: 0.8, Long: 0.5, Border: 0.1}
	verify := NewVerifier(Rule{Verified: true, Rules: rules})
	for n := range sketch.Bits + 1 {
		for _, length := range []uint32{99, 100} {
			a, b := differing(n, length)
			limit, similarity := rules.Limit(int(length)), sketch.Estimate(n)
			want := data.NotTheSame
			switch {
			case similarity > limit-rules.Border && similarity < limit+rules.Border, similarity < limit && rules.Ordered(similarity, int(length), int(length+1)):
				want = data.Undecided
			case similarity > limit:
				want = data.BySketches
			}
			e := verify.Judge(&a, &b)
			if e.Reason != want || int(e.Figure) != n || EstimatedJaccard(e) != similarity {
				t.Fatalf("%d bits of a text of %d: %+v, similarity %g, want %v", n, length, e, EstimatedJaccard(e), want)
			}
			settled := verify.Estimated(&a, &b).Reason
			switch {
			case want != data.Undecided && settled != want:
				t.Fatalf("%v becomes %v without its texts", want, settled)
			case want == data.Undecided && settled != data.ByEstimate && settled != data.NotTheSame:
				t.Fatalf("open becomes %v without its texts", settled)
			case want == data.Undecided && (settled == data.ByEstimate) != (similarity >= rules.EstimateLimit(int(length))):
				t.Fatalf("%g with the limit %g: %v without its texts", similarity, limit, settled)
			}
		}
	}
	a, b := differing(0, 99)
	if e := NewVerifier(Rule{}).Judge(&a, &b); e != (data.Evidence{Reason: data.ByDistance}) {
		t.Errorf("without verification: %+v", e)
	}
	var nothing data.View
	if e := verify.Judge(&a, &nothing); e.Reason != data.NotTheSame {
		t.Errorf("of a document without a sketch: %+v", e)
	}
}

// The texts say whether two documents are the same, and else which one contains
// the other.
func TestSettle(t *testing.T) {
	set := func(from, to uint64) *Text {
		x := Text{Length: 99, Letters: slices.Repeat([]rune{rune(from), rune(to)}, ownLetters)}
		for h := from; h < to; h++ {
			x.Shingles = append(x.Shingles, h)
		}
		return &x
	}
	for _, limit := range []float64{0, 0.9} {
		verify := NewVerifier(Rule{Verified: true, Rules: sketch.Rules{LongFrom: 100, Short: 0.8, Long: 0.5, Containment: limit}})
		for _, c := range []struct {
			from, to             uint64 // of the second set; the first is 0 to 99
			jaccard, containment float32
			want                 data.Reason
		}{
			{0, 100, 1, 1, data.ByTexts}, {0, 80, .8, 1, data.ByTexts}, {0, 79, .79, 1, data.Contains}, {0, 10, .1, 1, data.Contains},
			{0, 1000, .1, 1, data.Contained}, {91, 101, 9. / 101, .9, data.Contains}, {92, 102, 8. / 102, .8, data.NotTheSame},
			{10, 1000, .09, .9, data.Contained}, {11, 1000, .089, .89, data.NotTheSame}, {100, 200, 0, 0, data.NotTheSame}, {0, 0, 0, 0, data.NotTheSame},
		} {
			want := c.want
			if limit == 0 && !want.Same() {
				want = data.NotTheSame
			}
			got, overlap, _ := verify.Settle(set(0, 100), set(c.from, c.to))
			if got != want || overlap != (data.Overlap{Jaccard: c.jaccard, Containment: c.containment}) {
				t.Errorf("0 to 99 and %d to %d with the limit %g: %v, %+v, want %v of %+v", c.from, c.to-1, limit, got, overlap, want, c)
			}
			if back, _, _ := verify.Settle(set(c.from, c.to), set(0, 100)); back != want.Reverse() {
				t.Errorf("%d to %d and 0 to 99 with the limit %g: %v, want %v", c.from, c.to-1, limit, back, want.Reverse())
			}
		}
	}
}

// What says little of its own, in letters or beside what its site's pages share,
// is contained in no other text; what contains it may say as little.
func TestSettleAsksForOwnText(t *testing.T) {
	text := func(shingles uint64, letters int, left float64) *Text {
		x := Text{Length: letters, Letters: slices.Repeat([]rune("天地"), letters)[:letters], Left: left}
		for h := range shingles {
			x.Shingles = append(x.Shingles, h)
		}
		return &x
	}
	verify := NewVerifier(Rule{Verified: true, Rules: sketch.Rules{LongFrom: 800, Short: 0.8, Long: 0.5, Containment: 0.8}})
	for _, c := range []struct {
		letters int
		left    float64
		want    data.Reason
	}{
		{ownLetters, 0, data.Contains}, {ownLetters - 1, 0, data.NotTheSame}, {500, .8, data.Contains}, {500, .81, data.NotTheSame},
	} {
		whole := text(400, 5000, .9)
		if got, _, _ := verify.Settle(whole, text(90, c.letters, c.left)); got != c.want {
			t.Errorf("%d letters, %g left out: %v, want %v", c.letters, c.left, got, c.want)
		}
		if got, _, _ := verify.Settle(text(90, c.letters, c.left), whole); got != c.want.Reverse() {
			t.Errorf("%d letters, %g left out, the other way round: %v, want %v", c.letters, c.left, got, c.want.Reverse())
		}
	}
}

// Texts below the limit are the same if their letters say so.
func TestSettleByLetters(t *testing.T) {
	letters := func(seed int) string {
		r := rand.New(rand.NewPCG(uint64(seed), 0))
		text := make([]rune, 1000)
		for i := range text {
			text[i] = rune('a' + r.IntN(26))
		}
		return string(text)
	}
	every := func(text string, n int, with string) string { // puts with in the place of every n-th letter and those behind it
		b := []byte(text)
		for i := 0; i+len(with) <= len(b); i += n {
			copy(b[i:], with)
		}
		return string(b)
	}
	text := letters(1)
	verify := NewVerifier(Rule{Verified: true, Rules: sketch.Thorough()})
	for _, c := range []struct {
		name, other string
		shared      uint64 // of 100 shingles
		want        data.Reason
		edits       bool
	}{
		{"the same", text, 70, data.ByTexts, false},
		{"noise", every(text, 10, "#"), 58, data.BySlips, true},
		{"noise, a footer", every(text, 10, "#") + letters(2)[:200], 50, data.BySlips, true},
		{"noise, a header", letters(2)[:200] + every(text, 10, "#"), 50, data.BySlips, true},
		{"too little in common", every(text, 10, "#"), 30, data.NotTheSame, false},
		{"numbers", every(text, 10, "7"), 58, data.NotTheSame, false},
		{"a passage in five is new", every(text, 200, letters(3)[:40]), 60, data.ByOrder, true},
		{"half is new", every(text, 200, letters(3)[:100]), 60, data.NotTheSame, false},
		{"all is new", letters(3), 60, data.NotTheSame, false},
	} {
		x, y := &Text{Length: 1000, Letters: []rune(text)}, &Text{Length: 1000, Letters: []rune(c.other)}
		for h := range uint64(100) {
			x.Shingles, y.Shingles = append(x.Shingles, h), append(y.Shingles, h+100-c.shared)
		}
		got, overlap, edited := verify.Settle(x, y)
		if got != c.want || (edited.Edits > 0) != c.edits || got == data.ByTexts != (overlap.Jaccard >= .5) {
			t.Errorf("%s: %v, J %.2f, %+v; want %v", c.name, got, overlap.Jaccard, edited, c.want)
		}
		if back, _, _ := verify.Settle(y, x); back != c.want {
			t.Errorf("%s, the other way round: %v", c.name, back)
		}
	}
	// A limit that is higher asks for more.
	strict := sketch.Thorough()
	strict.Long = .8
	x, y := &Text{Length: 1000, Letters: []rune(text)}, &Text{Length: 1000, Letters: []rune(every(text, 10, "#"))}
	for h := range uint64(100) {
		x.Shingles, y.Shingles = append(x.Shingles, h), append(y.Shingles, h+40)
	}
	if got, _, _ := NewVerifier(Rule{Verified: true, Rules: strict}).Settle(x, y); got != data.NotTheSame {
		t.Errorf("with a limit of %v: %v", strict.Long, got)
	}
}

// What Unlike says of a table's candidates is no pair of that table.
func TestUnlikeIsNoPair(t *testing.T) {
	seen := [2]int{}
	rapid.Check(t, func(t *rapid.T) {
		rule := drawRule(t)
		rule.Verified, rule.ShortTexts, rule.Bands = true, true, true
		verify := NewVerifier(rule)
		a, b := drawDocument(t, 64), drawDocument(t, 64)
		units := NewUnits(true)
		units.Append(&a)
		units.Append(&b)
		keys := NewKeyEmitter(nil, rule)
		for table := range len(Tables) {
			if table == Samples {
				continue
			}
			have := slices.Clone(keys.Values(table, &a))
			for _, key := range keys.Values(table, &b) {
				if !slices.Contains(have, key) {
					continue
				}
				unlike := verify.Unlike(units, table, 0, 1)
				if p, ok := verify.Pair(&Candidate{A: 0, B: 1, Table: table, Key: key}, &a, &b); ok && unlike {
					t.Fatalf("table %d: %+v", table, p)
				}
				if unlike {
					seen[0]++
				} else {
					seen[1]++
				}
			}
		}
	})
	if !testing.Short() && (seen[0] == 0 || seen[1] == 0) { // which draws a fifth, too few for both
		t.Fatalf("%v were unlike and not", seen)
	}
}

// Short texts are judged as sketch.Short does, and their evidence says how many
// of their characters stay.
func TestJudgeShort(t *testing.T) {
	verify := NewVerifier(Rule{Verified: true, ShortTexts: true, Rules: sketch.Balanced()})
	var short sketch.Short
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SliceOfN(rapid.SampledFrom([]rune("abc新闻头条一二12")), 1, rapid.SampledFrom([]int{40, sketch.ShortMax}).Draw(t, "most"))
		x := letters.Draw(t, "x")
		y := append([]rune{}, x...)
		for range rapid.IntRange(0, 3).Draw(t, "edits") {
			y[rapid.IntRange(0, len(y)-1).Draw(t, "at")] = rapid.SampledFrom([]rune("xyz字3")).Draw(t, "to")
		}
		if rapid.Bool().Draw(t, "other") {
			y = letters.Draw(t, "y")
		}
		a, b := data.View{Letters: []byte(string(x))}, data.View{Letters: []byte(string(y))}
		a.Sketch[0], b.Sketch[0] = 1, 1 // alike in nothing: an estimate of 1 would decide
		for i := range 12 {
			b.Sketch[i+1] = 0x7f
		}
		e := verify.Judge(&a, &b)
		verdict, edits := short.Judge(x, y)
		if verdict.Same != (e.Reason != data.NotTheSame) || verdict.Same && e.Reason.String() != verdict.Reason {
			t.Fatalf("%+v of %+v", e, verdict)
		}
		if verdict.Same {
			if want := 1 - float64(edits)/float64(max(len(x), len(y))); EstimatedJaccard(e) != want {
				t.Fatalf("similarity %g, want %g", EstimatedJaccard(e), want)
			}
		}
	})
}

// Equal documents are candidates of a rule that verifies, of whichever lane.
func TestEqualDocumentsAreCandidates(t *testing.T) {
	v := data.View{Lo: 7, Sketch: [data.SketchSize]byte{1}}
	w := v
	w.Length++
	rule := Rule{Verified: true}
	if !rule.Candidate(&v, &v) || rule.Candidate(&v, &w) || (&Rule{}).Candidate(&v, &v) {
		t.Error("documents of a lane other than the normal one are candidates if they are equal")
	}
}

func ExampleVerifier() {
	views := []data.View{
		{Lo: 0b0000, Length: 30, Normal: true, Letters: []byte("陈乔恩手机号码遭泄露")},
		{Lo: 0b1111, Length: 30, Normal: true, Letters: []byte("陈乔恩手机号码被泄露")},
		{Lo: 0b0001, Length: 30, Normal: true, Letters: []byte("明天会下雨")},
	}
	rule := Rule{K: 3, Bands: true, ShortTexts: true, Verified: true, Rules: sketch.Balanced()}
	verify := NewVerifier(rule)
	for _, other := range []int{1, 2} {
		e := verify.Judge(&views[0], &views[other])
		fmt.Println(rule.Candidate(&views[0], &views[other]), e.Reason)
		if e.Reason != data.NotTheSame {
			fmt.Printf("%.1f of the characters stay\n", EstimatedJaccard(e))
		}
	}
	// Output:
	// true short, few edits
	// 0.9 of the characters stay
	// true not the same
}

// What balanced takes and has J of a half or more, thorough takes, too.
func TestThoroughTakesWhatBalancedTakes(t *testing.T) {
	balanced := NewVerifier(Rule{K: 3, Bands: true, ShortTexts: true, Verified: true, Rules: sketch.Balanced()})
	thorough := NewVerifier(Rule{K: 12, Bands: true, ShortTexts: true, Verified: true, Rules: sketch.Thorough()})
	var maker sketch.Maker
	view := func(text []byte) (v data.View) {
		v.Normal, v.Length = true, uint32(len(text))
		n, sample := maker.SketchAndSample((*sketch.Sketch)(&v.Sketch), nil, text, len(text))
		if n > 0 {
			v.Sample = sample
		}
		return v
	}
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		x := make([]byte, rapid.IntRange(300, 3000).Draw(t, "length"))
		for i := range x {
			x[i] = byte('a' + r.IntN(26))
		}
		y, share := append([]byte(nil), x...), rapid.Float64Range(0, .12).Draw(t, "edited")
		for i := range y {
			if r.Float64() < share {
				y[i] = byte('0' + r.IntN(10))
			}
		}
		y = y[:len(y)-rapid.IntRange(0, len(y)/3).Draw(t, "cut")]
		a, b := view(x), view(y)
		var p, q Text
		p.Set(x)
		q.Set(y)
		jaccard, _ := sketch.Overlap(p.Shingles, q.Shingles)
		if !balanced.Judge(&a, &b).Reason.Same() || jaccard < .5 {
			return
		}
		taken++
		reason := thorough.Judge(&a, &b).Reason
		if reason == data.Undecided {
			reason, _, _ = thorough.Settle(&p, &q)
		}
		if !reason.Same() {
			t.Fatalf("%v", reason)
		}
	})
	if taken == 0 {
		t.Fatal("balanced takes none")
	}
}

// Signatures decide on what sketches leave undecided, and the sketches' estimate where
// a document has none.
func TestSettleSigned(t *testing.T) {
	rules := sketch.Balanced()
	verify := NewVerifier(Rule{Verified: true, Rules: rules})
	open := data.Evidence{Reason: data.Undecided, Figure: 60} // an estimate of .53
	r := rand.New(rand.NewPCG(3, 4))
	for _, length := range []int{400, 4000} {
		limit := rules.Limit(length)
		reasons := map[data.Reason]int{}
		for range 300 {
			text := make([]rune, length)
			for i := range text {
				text[i] = 0x4e00 + rune(r.IntN(3000))
			}
			other := slices.Clone(text)
			for i := range int(float64(length) * (0.2 + 0.3*r.Float64())) {
				other[i] = 0x4e00 + rune(r.IntN(3000))
			}
			x, y := signed(string(text)), signed(string(other))
			j := x.Signature.Jaccard(y.Signature)
			e := verify.SettleSigned(open, x, y)
			reasons[e.Reason]++
			if want := j >= limit; e.Reason.Same() != want || want && (e.Reason != data.BySignatures || math.Abs(EstimatedJaccard(e)-j) > 0.001 || EstimatedJaccard(e) < limit-1e-9) {
				t.Fatalf("signatures of %v with the limit %v: %+v", j, limit, e)
			}
			if back := verify.SettleSigned(open, y, x); back != e {
				t.Fatalf("%+v, and back %+v", e, back)
			}
			x.Signature = nil
			want := data.Evidence{Reason: data.NotTheSame, Figure: 60}
			if EstimatedJaccard(open) >= rules.EstimateLimit(length) {
				want.Reason = data.ByEstimate
			}
			if got := verify.SettleSigned(open, x, y); got != want {
				t.Fatalf("without a signature %+v, want %+v", got, want)
			}
		}
		if len(reasons) < 2 {
			t.Errorf("all pairs of %d letters are %v", length, reasons)
		}
	}
}

func signed(text string) Signed {
	var m sketch.Maker
	var s sketch.Sketch
	m.Sketch(&s, []byte(text))
	signature := new(sketch.Signature)
	m.Signature(signature)
	return Signed{Length: utf8.RuneCountInString(text), Signature: signature}
}
