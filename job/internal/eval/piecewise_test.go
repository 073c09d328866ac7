package eval

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/simhash"
)

func TestPieceLimit(t *testing.T) {
	for characters, want := range map[int]int{0: 10, 71: 10, 72: 9, 249: 7, 250: 7, 428: 5, 429: 4, 499: 4, 500: 3, 501: 3, 1 << 40: 3} {
		if got := pieceLimit(characters); got != want {
			t.Errorf("%d characters: %d, want %d", characters, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1000).Draw(t, "n")
		if a, b := pieceLimit(n), pieceLimit(n+1); a < b || a > pieceShort || b < pieceLong {
			t.Fatalf("%d at %d characters, %d at one more", a, n, b)
		}
	})
}

// What piecewise finds is what comparing every two documents finds.
func TestPiecewiseFindsAll(t *testing.T) {
	words := []string{"天气", "北京", "上海", "经济", "发展", "问题", "研究", "alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf"}
	rapid.Check(t, func(t *rapid.T) {
		c := &Corpus{}
		seed := rapid.SliceOfN(rapid.SampledFrom(words), 1, 40).Draw(t, "words")
		for i := range rapid.IntRange(2, 30).Draw(t, "documents") {
			text := slices.Clone(seed)
			for range rapid.IntRange(0, 4).Draw(t, "edits") {
				text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] = rapid.SampledFrom(words).Draw(t, "word")
			}
			var page []byte
			for range rapid.SampledFrom([]int{1, 3, 20}).Draw(t, "times") {
				for _, word := range text {
					page = append(append(page, word...), ' ')
				}
			}
			c.Documents = append(c.Documents, Document{ID: fmt.Sprint(i), Text: page})
		}
		lab, err := New(t.Context(), c, Options{Workers: 1, Half: AllPairs})
		if err != nil {
			t.Fatal(err)
		}
		found, err := piecewise().Find(t.Context(), lab)
		if err != nil {
			t.Fatal(err)
		}
		got := map[Pair]bool{}
		for _, f := range found {
			if got[f.Pair] {
				t.Fatalf("%v comes twice", f.Pair)
			}
			got[f.Pair] = true
		}
		a, err := simhash.New(simhash.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		w := a.NewWorkspace()
		var results []simhash.Result
		for _, d := range c.Documents {
			results = append(results, w.Fingerprint(nil, d.Text))
		}
		for i, x := range results {
			for j, y := range results[:i] {
				h := bits.OnesCount64(x.Fingerprint.Lo ^ y.Fingerprint.Lo)
				want := x.Features >= 3 && y.Features >= 3 && h <= pieceLimit(max(x.Length, y.Length))
				if p := pairOf(int32(i), int32(j)); got[p] != want {
					t.Fatalf("documents %d and %d, %d and %d characters, distance %d: found %t, want %t", i, j, x.Length, y.Length, h, got[p], want)
				}
			}
		}
	})
}
