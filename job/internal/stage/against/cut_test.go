package against

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/neardup/neardup/data/clean"
)

// A cut takes the rest of words, marks behind it and the quotes that it opens with, and
// nothing else. Stretches that touch are one.
func TestCuts(t *testing.T) {
	for _, c := range []struct{ text, want string }{ // hits stand between « and », cuts between [ and ]
		{"Ours. «Theirs is this»? Ours.", "Ours. [Theirs is this?] Ours."},
		{"Never«theless it is» (said he).", "[Nevertheless it is] (said he)."},
		{"they «think that never»theless, ours", "they [think that nevertheless,] ours"},
		{`He said: "«to be or not to be»." Then`, `He said: ["to be or not to be."] Then`},
		{"他說：“«漏電隨溫度升高，芯片越熱越費電»。”我們的文字", "他說：[“漏電隨溫度升高，芯片越熱越費電。”]我們的文字"},
		{"甲«乙丙»丁", "甲[乙丙]丁"},
		{"第3«章 abc»def章", "第3[章 abcdef]章"},
		{"«one two» «three»", "[one two] [three]"},
		{"a «one «two» three» b", "a [one two three] b"},
		{"a «one, t»«wo», b", "a [one, two,] b"},
		{"«all»", "[all]"},
		{"\xff\xff «bad \xff bytes» x", "\xff\xff [bad \xff bytes] x"},
	} {
		var text strings.Builder
		var cuts []clean.Stretch
		var open []int
		for rest := c.text; len(rest) > 0; {
			r, size := utf8.DecodeRuneInString(rest)
			switch r {
			case '«':
				open = append(open, len(cuts))
				cuts = append(cuts, clean.Stretch{From: text.Len()})
			case '»':
				cuts[open[len(open)-1]].To = text.Len()
				open = open[:len(open)-1]
			default:
				text.WriteString(rest[:size])
			}
			rest = rest[size:]
		}
		marked, from := "", 0
		for _, cut := range widen(cuts, []byte(text.String())) {
			marked += text.String()[from:cut.From] + "[" + text.String()[cut.From:cut.To] + "]"
			from = cut.To
		}
		if marked += text.String()[from:]; marked != c.want {
			t.Errorf("%s: got %q, want %q", c.text, marked, c.want)
		}
	}
}

// FuzzCuts has cuts in order, apart from each other, and around what was hit.
func FuzzCuts(f *testing.F) {
	f.Add([]byte("He said: \"to be\". 他說：“漏電”。"), uint8(3), uint8(9), uint8(5), uint8(2))
	f.Add([]byte("\xff\xfe abc"), uint8(0), uint8(1), uint8(1), uint8(200))
	f.Fuzz(func(t *testing.T, text []byte, from, n, from2, n2 uint8) {
		var hits []clean.Stretch
		for _, h := range [][2]uint8{{from, n}, {from2, n2}} {
			c := clean.Stretch{From: int(h[0]), To: min(int(h[0])+int(h[1]), len(text))}
			if c.From < c.To {
				hits = append(hits, c)
			}
		}
		covered, last := make([]bool, len(text)), -1
		for _, c := range widen(slices.Clone(hits), text) {
			if c.From <= last || c.To <= c.From || c.To > len(text) {
				t.Fatalf("%v of %d bytes", c, len(text))
			}
			last = c.To
			for i := c.From; i < c.To; i++ {
				covered[i] = true
			}
		}
		for _, h := range hits {
			for i := h.From; i < h.To; i++ {
				if !covered[i] {
					t.Fatalf("byte %d of %q is not cut", i, text)
				}
			}
		}
		clean.AppendWithout(nil, text, widen(hits, text))
	})
}
