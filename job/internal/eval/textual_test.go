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
	for _, m := range []Method{editDistance(0.7), cosine(0.9)} {
		if _, err := m.Find(t.Context(), l); !errors.Is(err, errTooMany) {
			t.Errorf("%s: %v", m.Name(), err)
		}
	}
}
