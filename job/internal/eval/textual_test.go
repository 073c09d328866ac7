package eval

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/agnivade/levenshtein"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/simhash"
)

// The methods that look at pairs of texts, against each pair by itself.
func TestTextualAgainstAllPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	c := &Corpus{Documents: []Document{{ID: "none"}, {ID: "marks", Text: []byte("……")}, {ID: "one", Text: []byte("水")}}}
	for i := range 14 {
		c.Documents = append(c.Documents, Document{ID: strings.Repeat("d", i+1), Text: []byte(prose(r, 1+r.IntN(4)))})
	}
	c, err := Plant(c, Planting{Edits: atStrength(0.3, "typos", "advert", "truncate", "move"), Count: 12, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, c, Options{Half: AllPairs})
	w := mustNormalizer(t).NewWorkspace()
	a, err := simhash.New(features(simhash.WeightTF, simhash.StopNone, 0))
	if err != nil {
		t.Fatal(err)
	}
	counts := a.NewWorkspace()
	text := func(i int32) string { return string(w.Normalize(nil, c.Documents[i].Text)) }
	words := func(i int32) map[string]float64 {
		m := map[string]float64{}
		for _, f := range counts.Features(nil, nil, c.Documents[i].Text) {
			m[f.Text] = float64(f.Count)
		}
		return m
	}
	best, err := simhash.New(features(simhash.WeightTFIDF, simhash.StopBuiltin, 10))
	if err != nil {
		t.Fatal(err)
	}
	heaviest := best.NewWorkspace()
	top := func(i int32) (texts []string) {
		for _, f := range heaviest.Features(nil, nil, c.Documents[i].Text) {
			texts = append(texts, f.Text)
		}
		return texts
	}
	for _, m := range []struct {
		Method
		score func(a, b int32) float64
		least float64
	}{
		{editDistance(0.3), func(a, b int32) float64 {
			x, y := text(a), text(b)
			return 1 - float64(levenshtein.ComputeDistance(x, y))/float64(max(len([]rune(x)), len([]rune(y))))
		}, 0.3},
		{cosine(0.3), func(a, b int32) float64 {
			x, y := words(a), words(b)
			dot, xx, yy := 0.0, 0.0, 0.0
			for k, v := range x {
				dot, xx = dot+v*y[k], xx+v*v
			}
			for _, v := range y {
				yy += v * v
			}
			return dot / math.Sqrt(xx*yy)
		}, 0.3},
		{wordJaccard(0.2), func(a, b int32) float64 {
			x, y := words(a), words(b)
			both := 0
			for k := range x {
				if y[k] > 0 {
					both++
				}
			}
			return float64(both) / float64(len(x)+len(y)-both)
		}, 0.2},
		{euclid(0.4), func(a, b int32) float64 {
			x, y := words(a), words(b)
			apart, xx, yy := 0.0, 0.0, 0.0
			for k, v := range x {
				apart, xx = apart+(v-y[k])*(v-y[k]), xx+v*v
			}
			for k, v := range y {
				if yy += v * v; x[k] == 0 {
					apart += v * v
				}
			}
			if xx == 0 || yy == 0 {
				return math.Inf(-1)
			}
			return 1 - math.Sqrt(apart)/(math.Sqrt(xx)+math.Sqrt(yy))
		}, 0.4},
		{commonSubstring(0.2), func(a, b int32) float64 {
			x, y := []rune(strings.Join(strings.Fields(text(a)), "")), []rune(strings.Join(strings.Fields(text(b)), ""))
			return float64(longestCommon(x, y)) / float64(min(len(x), len(y)))
		}, 0.2},
		{informationFingerprints(10, 0.3), func(a, b int32) float64 {
			x, y := top(a), top(b)
			both := 0
			for _, f := range x {
				if slices.Contains(y, f) {
					both++
				}
			}
			if both == 0 {
				return math.Inf(-1)
			}
			return float64(both) / float64(max(len(x), len(y)))
		}, 0.3},
	} {
		got, err := m.Find(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(got, func(a, b Found) int { return a.compare(b.Pair) })
		var want []Found
		for i := range int32(len(c.Documents)) {
			for j := i + 1; j < int32(len(c.Documents)); j++ {
				if s := m.score(i, j); s >= m.least-1e-12 {
					want = append(want, Found{Pair: Pair{i, j}, Score: s})
				}
			}
		}
		if len(want) < 8 || len(want) == len(c.Documents)*(len(c.Documents)-1)/2 {
			t.Errorf("%s: %d pairs show nothing", m.Name(), len(want))
		}
		if !slices.EqualFunc(got, want, func(a, b Found) bool { return a.Pair == b.Pair && math.Abs(a.Score-b.Score) < 1e-9 }) {
			t.Errorf("%s: %v, want %v", m.Name(), got, want)
		}
	}
}

// longestCommon is the oracle: the textbook's table.
func longestCommon(a, b []rune) int {
	best := 0
	row := make([]int, len(b)+1)
	for i := range a {
		for j := len(b); j > 0; j-- {
			if a[i] != b[j-1] {
				row[j] = 0
				continue
			}
			row[j] = row[j-1] + 1
			best = max(best, row[j])
		}
	}
	return best
}

func TestLongestAgainstTable(t *testing.T) {
	letters := rapid.SliceOfN(rapid.SampledFrom([]rune("abc大")), 0, 40)
	rapid.Check(t, func(t *rapid.T) {
		a := letters.Draw(t, "a")
		longest := longestWith(a)
		for range 3 { // the buffers are used again
			b := letters.Draw(t, "b")
			if got, want := longest(b), longestCommon(a, b); got != want {
				t.Fatalf("%q and %q: %d, want %d", string(a), string(b), got, want)
			}
		}
	})
}

// Every method that has a name is stated once, with its source.
func TestMethodsAreStated(t *testing.T) {
	var stated []string
	for _, s := range Methods() {
		stated = append(stated, s.Name)
		if s.Doc == "" || s.Source == "" {
			t.Errorf("%+v", s)
		}
		m, err := Parse(s.Name)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		if s.Small {
			l := &Lab{corpus: &Corpus{Documents: make([]Document, smallSet+1)}, options: Options{Workers: 1}}
			if _, err := m.Find(t.Context(), l); !errors.Is(err, errTooMany) {
				t.Errorf("%s is said to be for few documents: %v", s.Name, err)
			}
		}
	}
	names := Names()
	slices.Sort(stated)
	slices.Sort(names)
	if !slices.Equal(stated, names) {
		t.Errorf("stated are %q, there are %q", stated, names)
	}
}

func TestBagDistanceIsABound(t *testing.T) {
	letters := rapid.SliceOfN(rapid.SampledFrom([]rune("abcd")), 0, 30)
	rapid.Check(t, func(t *rapid.T) {
		a, b := letters.Draw(t, "a"), letters.Draw(t, "b")
		distance := levenshtein.ComputeDistance(string(a), string(b))
		slices.Sort(a)
		slices.Sort(b)
		if bound := bagDistance(a, b); bound > distance {
			t.Fatalf("bound %d, distance %d", bound, distance)
		}
	})
}

func TestSmallSetsOnly(t *testing.T) {
	c := &Corpus{Documents: make([]Document, smallSet+1)}
	l := &Lab{corpus: c, options: Options{Workers: 1}}
	for _, m := range []Method{editDistance(0.7), cosine(0.9), euclid(0.75), commonSubstring(0.3)} {
		if _, err := m.Find(t.Context(), l); !errors.Is(err, errTooMany) {
			t.Errorf("%s: %v", m.Name(), err)
		}
	}
}
