package sketch_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/simhash/sketch"
)

// letters returns a text of n letters, no passage of which is likely in another.
func letters(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteRune(rune('一' + r.IntN(3000)))
	}
	return b.String()
}

func sampleOf(t testing.TB, m *sketch.Maker, text string) []byte {
	t.Helper()
	var s, plain sketch.Sketch
	n, sample := m.SketchAndSample(&s, []byte("x"), []byte(text), len([]rune(text)))
	if m.Sketch(&plain, []byte(text)) != n || s != plain {
		t.Fatal("the sketch beside a sample is another one")
	}
	if sample[0] != 'x' {
		t.Fatal("the sample is not appended")
	}
	return sample[1:]
}

// Of texts of any lengths, the share of the keys in common estimates the share
// of the shorter one's passages that the other has; a sample has about as many
// keys as it should.
func TestSampleEstimatesContainment(t *testing.T) {
	var m sketch.Maker
	r := rand.New(rand.NewPCG(6, 6))
	for _, length := range []int{60, 200, 900, 2000, 5000, 12_000, 100_000} {
		text := letters(r, length)
		sample := sampleOf(t, &m, text)
		keys := len(sample) / sketch.SampleKeyBytes
		if want := min(length*3/4, 16); keys < want || keys > 255 {
			t.Errorf("%d keys of a text of %d characters", keys, length)
		}
		for i := 1; i < keys; i++ {
			if sketch.SampleKey(sample, i-1) >= sketch.SampleKey(sample, i) {
				t.Fatal("keys do not ascend")
			}
		}
		for _, share := range []float64{0, 0.5, 0.8, 1} {
			part := []rune(text)[:int(share*float64(length))]
			other := string(part) + letters(r, length+length/2-len(part))
			shared, fewer := sketch.SharedSample(sample, sampleOf(t, &m, other), length, length+length/2)
			if back, n := sketch.SharedSample(sampleOf(t, &m, other), sample, length+length/2, length); back != shared || n != fewer {
				t.Errorf("%d of %d, and the other way round %d of %d", shared, fewer, back, n)
			}
			off := 4*math.Sqrt(share*(1-share)*float64(fewer)) + 0.08*float64(fewer) + 1
			if math.Abs(float64(shared)-share*float64(fewer)) > off {
				t.Errorf("%d of %d keys in common of texts of %d, of which one has %g of the other", shared, fewer, length, share)
			}
		}
	}
}

// SharedSample counts what a look at every key counts, and AlikeSamples judges
// by that.
func TestSharedSampleIsTheIntersection(t *testing.T) {
	var m sketch.Maker
	r := rand.New(rand.NewPCG(7, 7))
	parts := make([]string, 12)
	for i := range parts {
		parts[i] = letters(r, 20+r.IntN(900))
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (string, []byte) {
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 30).Draw(t, name), "")
			n, sample := m.SketchAndSample(new(sketch.Sketch), nil, []byte(text), len([]rune(text)))
			if n == 0 && len(sample) > 0 {
				t.Fatal("keys of nothing")
			}
			return text, sample
		}
		x, a := draw("a")
		y, b := draw("b")
		keys := func(s []byte) (keys []uint32) {
			for i := range len(s) / sketch.SampleKeyBytes {
				keys = append(keys, sketch.SampleKey(s, i))
			}
			return keys
		}
		shared, fewer := sketch.SharedSample(a, b, len([]rune(x)), len([]rune(y)))
		both := 0
		for _, k := range keys(a) {
			if slices.Contains(keys(b), k) {
				both++
			}
		}
		if shared != both || fewer > min(len(keys(a)), len(keys(b))) || fewer < shared {
			t.Fatalf("%d in common of %d, want %d", shared, fewer, both)
		}
		edited := rapid.Bool().Draw(t, "edited")
		parts := map[bool]int{false: 8, true: 2}[edited]
		if alike := sketch.AlikeSamples(a, b, len([]rune(x)), len([]rune(y)), edited, 0, len(a)); alike != (both >= 2 && 20*both >= parts*fewer) {
			t.Fatalf("%d in common of %d: alike is %t", both, fewer, alike)
		}
	})
}

func TestSampleOfLittle(t *testing.T) {
	var m sketch.Maker
	for _, text := range []string{"", "…", "好", "十四个字的文本没有一个样本"} {
		if s := sampleOf(t, &m, text); len(s) > 0 {
			t.Errorf("%q has a sample of %d bytes", text, len(s))
		}
	}
}
