package sketch

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// han returns n characters, the number of different ones being that of a
// usual text.
func han(r *rand.Rand, n int) []rune {
	text := make([]rune, n)
	for i := range text {
		text[i] = 0x4e00 + rune(r.IntN(3000))
	}
	return text
}

// edited returns text with the characters of a share of its places replaced.
func edited(r *rand.Rand, text []rune, share float64) []rune {
	text = slices.Clone(text)
	for i := range text {
		if r.Float64() < share {
			text[i] = 0x4e00 + rune(r.IntN(3000))
		}
	}
	return text
}

// shingleSet is the oracle of Shingles: the shingles as strings.
func shingleSet(text string) map[string]bool {
	var letters []rune
	for _, c := range text {
		if c < 0x40000 && unicode.In(c, unicode.L, unicode.N, unicode.M) { // beyond are variation selectors
			letters = append(letters, c)
		}
	}
	set := map[string]bool{}
	for i := 0; i+shingleSize <= len(letters); i++ {
		set[string(letters[i:i+shingleSize])] = true
	}
	if len(set) == 0 && len(letters) > 0 {
		set[string(letters)] = true
	}
	return set
}

var genText = rapid.StringOf(rapid.OneOf(
	rapid.SampledFrom([]rune("ab1 ,，。的是")),
	rapid.RuneFrom(nil, unicode.Han, unicode.Latin, unicode.Hangul, unicode.M, unicode.P),
))

func TestShinglesAndJaccardAgainstSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genText.Draw(t, "a"), genText.Draw(t, "b")
		if rapid.Bool().Draw(t, "overlap") {
			b = a[:len(a)/2] + b
			b = strings.ToValidUTF8(b, "")
		}
		sa, sb := shingleSet(a), shingleSet(b)
		ha, hb := Shingles(nil, []byte(a)), Shingles(nil, []byte(b))
		if len(ha) != len(sa) || len(hb) != len(sb) {
			t.Fatalf("%d and %d shingles, want %d and %d", len(ha), len(hb), len(sa), len(sb))
		}
		both := 0
		for s := range sa {
			if sb[s] {
				both++
			}
		}
		if got := Shared(ha, hb); got != both {
			t.Fatalf("shared %d, want %d", got, both)
		}
		jaccard, containment := 0.0, 0.0
		if both > 0 {
			jaccard = float64(both) / float64(len(sa)+len(sb)-both)
			containment = float64(both) / float64(min(len(sa), len(sb)))
		}
		if j, c := Overlap(ha, hb); j != jaccard || c != containment {
			t.Fatalf("%v and %v, want %v and %v", j, c, jaccard, containment)
		}
		var m Maker
		var s Sketch
		if n := m.Sketch(&s, []byte(a)); (n == 0) != (s == Sketch{}) || n < len(sa) || (n == 0) != (len(sa) == 0) {
			t.Fatalf("Sketch counted %d of %d shingles, of %x", n, len(sa), s)
		}
	})
}

// The estimate's mean error and its scatter, and how often bands agree, over
// pairs of texts of several lengths and similarities.
func TestEstimateIsUnbiasedWithItsStandardError(t *testing.T) {
	const pairs = 150
	r := rand.New(rand.NewPCG(1, 2))
	var m Maker
	for _, c := range []struct {
		characters int
		share      float64
		scatter    float64 // of the standard error, at most
	}{
		{2000, 0.01, 1.15}, {2000, 0.04, 1.15}, {2000, 0.12, 1.15}, {2000, 1, 1.2},
		{800, 0.04, 1.2}, {800, 0.12, 1.2}, {150, 0.04, 1.6}, {150, 0.12, 1.6},
	} {
		var sum, squares, expected, bands, cubes float64
		for range pairs {
			x := han(r, c.characters)
			y := edited(r, x, c.share)
			a, b := []byte(string(x)), []byte(string(y))
			j, _ := Overlap(Shingles(nil, a), Shingles(nil, b))
			var sa, sb Sketch
			m.Sketch(&sa, a)
			m.Sketch(&sb, b)
			e := Estimate(Differ(&sa, &sb)) - j
			if c.share == 1 { // the bound at 0 makes it positive: look at the bits
				e = estimateUnbounded(&sa, &sb) - j
			}
			sum, squares = sum+e, squares+e*e
			expected += StandardError(j) * StandardError(j)
			for i := range Bands {
				if sa.Band(i) == sb.Band(i) {
					bands++
				}
			}
			cubes += j * j * j * Bands
		}
		scatter := math.Sqrt(squares / expected)
		if mean, limit := sum/pairs, 4.5*math.Sqrt(squares)/pairs; math.Abs(mean) > limit {
			t.Errorf("%d characters, %v replaced: mean error %+.5f, want 0 ± %.5f", c.characters, c.share, mean, limit)
		}
		if scatter > c.scatter || c.characters >= 800 && scatter < 0.8 {
			t.Errorf("%d characters, %v replaced: errors scatter %.3f times the standard error", c.characters, c.share, scatter)
		}
		if got, want := bands/pairs/Bands, cubes/pairs/Bands; math.Abs(got-want) > 0.03 {
			t.Errorf("%d characters, %v replaced: bands agree in %.3f, J³ is %.3f", c.characters, c.share, got, want)
		}
	}
}

func estimateUnbounded(a, b *Sketch) float64 {
	agree := 0
	for i := range Bits {
		if (a[i/8]^b[i/8])>>(i%8)&1 == 0 {
			agree++
		}
	}
	return 2*float64(agree)/Bits - 1
}

func TestSketchIsTheSameOnAnyMachine(t *testing.T) {
	var m Maker
	var s Sketch
	m.Sketch(&s, []byte(golden))
	if got := hex.EncodeToString(s[:]); got != goldenSketch {
		t.Errorf("sketch is %s, want %s", got, goldenSketch)
	}
}

// plainSketch is the sketch from the definitions.
func plainSketch(text []byte) (s Sketch) {
	shingles := Shingles(nil, text)
	if len(shingles) == 0 {
		return s
	}
	var minima [bins]uint32
	var rows [Bands * bandRows]uint32
	for i := range minima {
		minima[i] = empty
	}
	for _, x := range shingles {
		bin := x >> 32 * bins >> 32
		minima[bin] = min(minima[bin], uint32(x))
	}
	for i := range rows {
		from, to := i/3*40+i%3*40/3, i/3*40+(i%3+1)*40/3
		rows[i] = slices.Min(minima[from:to])
	}
	for b := range Bands {
		key := uint64(0)
		for i := 3 * b; i < 3*b+3; i++ {
			from := uint64(i)
			for try := uint64(0); rows[from] == empty; try++ {
				from = pick(uint64(i)|1<<32, try, len(rows))
			}
			key = fold(key + uint64(rows[from]) + 1)
		}
		binary.BigEndian.PutUint32(s[32+4*b:], uint32(key>>32))
	}
	for i, v := range minima[:256] {
		if v == empty {
			from := uint64(i)
			for try := uint64(0); minima[from] == empty; try++ {
				from = pick(uint64(i), try, bins)
			}
			v = uint32(fold(uint64(minima[from])+1+uint64(i)<<32) >> 32)
		}
		s[i/8] |= byte(v&1) << (i % 8)
	}
	return s
}

// checkPlain compares the sketch with plainSketch, with and without assembly.
func checkPlain(t interface {
	Helper()
	Fatalf(string, ...any)
}, m *Maker, text []byte) {
	t.Helper()
	want := plainSketch(text)
	before := hasWide
	defer func() { hasWide = before }()
	for _, wide := range []bool{before, false} {
		hasWide = wide
		var s Sketch
		if m.Sketch(&s, text); s != want {
			t.Fatalf("assembly %t: sketch of %q is\n%x, want\n%x", wide, text, s, want)
		}
	}
}

func TestSketchIsThePlainOne(t *testing.T) {
	var m Maker
	r := rand.New(rand.NewPCG(3, 4))
	for n := 1; n < 3000; n += 1 + n/8 {
		checkPlain(t, &m, []byte(string(han(r, n))))
	}
	rapid.Check(t, func(t *rapid.T) {
		checkPlain(t, &m, []byte(strings.Repeat(genText.Draw(t, "text"), rapid.IntRange(1, 40).Draw(t, "times"))))
	})
}

const golden = "近似重复的文档在网络上很常见：转载、镜像、改版，以及 the same page under another url。"

const goldenSketch = "76279c89c7590910184e80eb566592ac8be00e7bb7114329bd7f9091a3055c079987b004ee858de6884a27270e93c54250adc365945365dcd4328f5fff9d9ce5"

func TestSketchIgnoresWhatStandsBetweenLetters(t *testing.T) {
	var m Maker
	var a, b Sketch
	m.Sketch(&a, []byte("转载请注明出处谢谢合作"))
	m.Sketch(&b, []byte("转载，请 注明出处！\n谢谢--合作"))
	if a != b {
		t.Error("punctuation and spaces change the sketch")
	}
}

func TestZeroSketchResemblesNothing(t *testing.T) {
	var m Maker
	var a, b Sketch
	if n := m.Sketch(&a, []byte(" …— \n")); n != 0 || a != (Sketch{}) {
		t.Fatalf("a text without letters has %d shingles", n)
	}
	if got := Estimate(Differ(&a, &b)); got != 0 {
		t.Errorf("Estimate of two zero sketches is %v", got)
	}
	if n := m.Sketch(&b, []byte("好")); n != 1 || b == (Sketch{}) {
		t.Errorf("one letter makes %d shingles", n)
	}
	if got := Estimate(Differ(&b, &b)); got != 1 {
		t.Errorf("Estimate with itself is %v", got)
	}
}

func TestSketchDoesNotAllocate(t *testing.T) {
	text := []byte(strings.Repeat(golden, 10))
	m := new(Maker)
	s := new(Sketch)
	m.Sketch(s, text)
	if n := testing.AllocsPerRun(100, func() { m.Sketch(s, text) }); n != 0 {
		t.Errorf("%v allocations a document", n)
	}
}

func FuzzSketch(f *testing.F) {
	f.Add([]byte(golden))
	f.Add([]byte("\xe4\xb8"))
	f.Add([]byte("\xf0\x9f\x98\x80\xff\xed\xa0\x80"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var m, again Maker
		var a, b Sketch
		n := m.Sketch(&a, text)
		m.Sketch(&b, []byte("别的文字 in between"))
		if again.Sketch(&b, text) != n || a != b {
			t.Fatal("a second sketch differs")
		}
		checkPlain(t, &m, text)
		set := Shingles(nil, text)
		if len(set) > n || (n == 0) != (len(set) == 0) || !slices.IsSorted(set) {
			t.Fatalf("%d distinct of %d shingles", len(set), n)
		}
		if jaccard, _ := Overlap(set, set); n > 0 && (Estimate(Differ(&a, &b)) != 1 || jaccard != 1) {
			t.Fatal("does not resemble itself")
		}
		if letters, ok := ShortText(nil, text); ok && (len(letters) == 0 || len(letters) > ShortMax) {
			t.Fatalf("a short text of %d letters", len(letters))
		}
	})
}

func BenchmarkSketch(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	long := []byte(string(han(r, 20_000)))
	for _, c := range []struct {
		name string
		text []byte
	}{
		{"han-60KB", long},
		{"han-2KB", long[:2040]},
		{"han-300B", long[:300]},
		{"ascii-4KB", bytes.Repeat([]byte("the quick brown fox jumps over 13 lazy dogs, and then "), 80)},
	} {
		b.Run(c.name, func(b *testing.B) {
			var m Maker
			var s Sketch
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				m.Sketch(&s, c.text)
			}
		})
	}
}

func BenchmarkEstimate(b *testing.B) {
	var m Maker
	var x, y Sketch
	m.Sketch(&x, []byte(golden))
	m.Sketch(&y, []byte(golden[3:]))
	for b.Loop() {
		Estimate(Differ(&x, &y))
	}
}

// The bound on differing bits says of every pair what the estimate says.
func TestMostDifferEqualsEstimate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Sketch{0: 1}
		b := a
		for range rapid.IntRange(0, 330).Draw(t, "changes") {
			bit := rapid.IntRange(8, Bits-1).Draw(t, "bit")
			b[bit/8] ^= 1 << (bit % 8)
		}
		alike := rapid.SampledFrom([]float64{0, 0.46, 0.6, 1, 1.5, rapid.Float64Range(0, 1).Draw(t, "alike")}).Draw(t, "limit")
		if got, want := Differ(&a, &b) <= MostDiffer(alike), Estimate(Differ(&a, &b)) >= alike; got != want {
			t.Fatalf("%d bits differ, %d may for %v: estimate %v", Differ(&a, &b), MostDiffer(alike), alike, Estimate(Differ(&a, &b)))
		}
	})
}
