package eval

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/sketch"
)

// What piecewise finds is what comparing every two documents finds.
func TestPiecewiseFindsAll(t *testing.T) {
	words := []string{"天气", "北京", "上海", "经济", "发展", "问题", "研究", "alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf"}
	rng := rand.New(rand.NewPCG(26, 9))
	c := &Corpus{}
	for len(c.Documents) < 400 {
		seed := make([]string, 1+rng.IntN(40))
		for i := range seed {
			seed[i] = words[rng.IntN(len(words))]
		}
		for range 4 {
			text := slices.Clone(seed)
			for range rng.IntN(5) {
				text[rng.IntN(len(text))] = words[rng.IntN(len(words))]
			}
			page := strings.Repeat(strings.Join(text, " ")+" ", []int{1, 3, 20}[rng.IntN(3)])
			c.Documents = append(c.Documents, Document{ID: fmt.Sprint(len(c.Documents)), Text: []byte(page)})
		}
	}
	lab, err := New(t.Context(), c, Options{Workers: 1, Half: AllPairs})
	if err != nil {
		t.Fatal(err)
	}
	method := piecewise()
	found, err := method.Find(t.Context(), lab)
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
	a, err := simhash.New(method.Features.Options)
	if err != nil {
		t.Fatal(err)
	}
	w := a.NewWorkspace()
	var results []simhash.Result
	for _, d := range c.Documents {
		results = append(results, w.Fingerprint(nil, d.Text))
	}
	near, far := 0, 0 // pairs beyond what classic finds, and those that only short texts may have
	for i, x := range results {
		for j, y := range results[:i] {
			if x.Features < pieceWords || y.Features < pieceWords {
				continue
			}
			h, longer := bits.OnesCount64(x.Fingerprint.Lo^y.Fingerprint.Lo), max(x.Length, y.Length)
			want := h <= sketch.Piecewise(sketch.PieceShort, longer)
			if p := pairOf(int32(i), int32(j)); got[p] != want {
				t.Fatalf("documents %d and %d, %d and %d characters, distance %d: found %t, want %t", i, j, x.Length, y.Length, h, got[p], want)
			}
			if h > sketch.PieceLong && want {
				near++
			}
			if h <= sketch.PieceShort && !want {
				far++
			}
		}
	}
	if near < 20 || far < 20 {
		t.Errorf("%d pairs beyond classic's, %d of texts too long: the test shows nothing", near, far)
	}
}
