package mapper

import (
	"math/bits"
	"unicode/utf8"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash/sketch"
)

// Verifier gives the verdict on two documents that met. It holds buffers that
// are used again, so one goroutine uses it at a time.
type Verifier struct {
	rules sketch.Rules
	short sketch.Short
	a, b  []rune
}

// NewVerifier returns a Verifier by the rules.
func NewVerifier(rules sketch.Rules) *Verifier { return &Verifier{rules: rules} }

// Judge gives the verdict on the pair and the similarity, 0 to 1, that it
// rests on: two short texts by their edits, all others by their sketches. An
// open verdict is for the texts to settle, see Settle.
func (v *Verifier) Judge(a, b *data.View) (sketch.Verdict, float64) {
	if len(a.Letters) > 0 && len(b.Letters) > 0 {
		return v.judgeShort(a.Letters, b.Letters)
	}
	x, y := (*sketch.Sketch)(&a.Sketch), (*sketch.Sketch)(&b.Sketch)
	estimate := sketch.Estimate(x, y)
	return v.rules.Judge(estimate, shorter(a, b)), estimate
}

func (v *Verifier) judgeShort(a, b []byte) (sketch.Verdict, float64) {
	v.a, v.b = runes(v.a[:0], a), runes(v.b[:0], b)
	verdict := v.short.Judge(v.a, v.b)
	if verdict.Reason == sketch.ReasonShortEqual {
		return verdict, 1
	}
	longer := max(len(v.a), len(v.b))
	return verdict, 1 - float64(sketch.Edits(v.a, v.b))/float64(longer)
}

// Settle gives the verdict on an open pair by the Jaccard similarity of its
// texts' shingles.
func (v *Verifier) Settle(jaccard float64, a, b *data.View) sketch.Verdict {
	return v.rules.Settle(jaccard, shorter(a, b))
}

func shorter(a, b *data.View) int { return int(min(a.Length, b.Length)) }

func runes(dst []rune, text []byte) []rune {
	for len(text) > 0 {
		c, size := utf8.DecodeRune(text)
		dst, text = append(dst, c), text[size:]
	}
	return dst
}

// distance is the Hamming distance of two documents' fingerprints.
func distance(a, b *data.View) int {
	return bits.OnesCount64(a.Hi^b.Hi) + bits.OnesCount64(a.Lo^b.Lo)
}
