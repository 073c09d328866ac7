package sketch

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestRules(t *testing.T) {
	r := Rules{LongFrom: 100, Short: 0.6, Long: 0.4, Border: 0.1}
	for _, c := range []struct {
		estimate float64
		length   int
		want     Verdict
	}{
		{0.75, 99, Verdict{Same: true, Reason: reasonSketchAlike}},
		{0.65, 99, Verdict{Same: true, Open: true, Reason: ReasonOpen}},
		{0.55, 99, Verdict{Open: true, Reason: ReasonOpen}},
		{0.45, 99, Verdict{Reason: reasonSketchUnlike}},
		{0.55, 100, Verdict{Same: true, Reason: reasonSketchAlike}},
		{0.35, 100, Verdict{Open: true, Reason: ReasonOpen}},
	} {
		if got := r.Judge(c.estimate, c.length); got != c.want {
			t.Errorf("Judge(%v, %d) = %+v, want %+v", c.estimate, c.length, got, c.want)
		}
	}
	var short Short
	text := Letters(nil, []byte(golden))
	settle := func(jaccard float64, other []rune) Verdict {
		v, _ := r.Settle(&short, text, other, jaccard, 99)
		return v
	}
	if got := settle(0.6, nil); got != (Verdict{Same: true, Reason: ReasonTextsAlike}) {
		t.Errorf("at the limit: %+v", got)
	}
	if got := settle(0.59, text); got != (Verdict{Same: true, Reason: ReasonTextsSlips}) {
		t.Errorf("below the limit: %+v", got)
	}
	if got := settle(0.34, text); got != (Verdict{Reason: ReasonTextsUnlike}) {
		t.Errorf("far below the limit: %+v", got)
	}
	for _, c := range []struct {
		estimate        float64
		shorter, longer int
		want            bool
	}{{.36, 90, 135, true}, {.36, 90, 136, false}, {.34, 90, 90, false}, {.16, 100, 100, true}, {.14, 100, 100, false}} {
		if got := r.Ordered(c.estimate, c.shorter, c.longer); got != c.want {
			t.Errorf("Ordered(%v, %d, %d) = %t", c.estimate, c.shorter, c.longer, got)
		}
	}
	if r.EstimateLimit(99) != 0.6 || math.Abs(r.EstimateLimit(100)-0.36) > 1e-9 || math.Abs(r.Least()-0.15) > 1e-9 {
		t.Errorf("limits of texts that are gone %v and %v, the least %v", r.EstimateLimit(99), r.EstimateLimit(100), r.Least())
	}
	r.Border = 0
	if got := settle(0.59, text); got.Same || r.Ordered(0.59, 100, 100) || r.Least() != 0.4 || r.EstimateLimit(100) != 0.4 {
		t.Errorf("without a border: %+v, the least %v", got, r.Least())
	}
	if got := r.Judge(0.6, 0); got != (Verdict{Same: true, Reason: reasonSketchAlike}) {
		t.Errorf("without a border: %+v", got)
	}
}

func TestPiecewise(t *testing.T) {
	for characters, want := range map[int]int{0: 10, 71: 10, 72: 9, 249: 7, 250: 7, 428: 5, 429: 4, 499: 4, 500: 3, 501: 3, 1 << 40: 3} {
		if got := Piecewise(PieceShort, characters); got != want {
			t.Errorf("%d characters: %d, want %d", characters, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		most, n := rapid.IntRange(0, 15).Draw(t, "most"), rapid.IntRange(0, 1000).Draw(t, "characters")
		a, b := Piecewise(most, n), Piecewise(most, n+1)
		if a < b || a > most || b < min(most, PieceLong) || n >= PiecesFrom && a > PieceLong {
			t.Fatalf("%d at %d characters, %d at one more", a, n, b)
		}
	})
}
