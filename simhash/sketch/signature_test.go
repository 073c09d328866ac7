package sketch

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// signatureOf is the signature of a text, by its sketch's minima.
func signatureOf(text string) (s Signature) {
	var m Maker
	var sketch Sketch
	m.Sketch(&sketch, []byte(text))
	m.Signature(&s)
	return s
}

// Signatures estimate the Jaccard similarity with the error that their documentation
// states, whatever the length of the texts, and without bias.
func TestSignatureEstimates(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, length := range []int{60, 300, 800, 3000, 12000} {
		if length > 1000 && testing.Short() {
			continue
		}
		for _, share := range []float64{0.01, 0.06, 0.12} {
			const pairs = 200
			bias, square, expected := 0.0, 0.0, 0.0
			for range pairs {
				text := han(r, length)
				a, b := string(text), string(edited(r, text, share))
				j, _ := Overlap(Shingles(nil, []byte(a)), Shingles(nil, []byte(b)))
				x, y := signatureOf(a), signatureOf(b)
				off := x.Jaccard(&y) - j
				bias, square, expected = bias+off/pairs, square+off*off/pairs, expected+j*(1-j)/bins/pairs
			}
			if limit := 4 * math.Sqrt(expected/pairs); math.Abs(bias) > max(limit, 0.004) {
				t.Errorf("%d letters, %v edited: bias %.4f, want less than %.4f", length, share, bias, limit)
			}
			if got, most := math.Sqrt(square), 1.2*math.Sqrt(expected); got > most {
				t.Errorf("%d letters, %v edited: error %.4f, want at most %.4f", length, share, got, most)
			}
		}
	}
}

// Equal sets have a similarity of 1, sets without a shingle in common one near 0, and
// a text without shingles 0 with every other.
func TestSignatureEnds(t *testing.T) {
	var none Signature
	rapid.Check(t, func(t *rapid.T) {
		text := genText.Draw(t, "text")
		s := signatureOf(text)
		want := 1.0
		if len(Shingles(nil, []byte(text))) == 0 {
			want = 0
		}
		if got := s.Jaccard(&s); math.Abs(got-want) > 1e-9 {
			t.Fatalf("a text and itself: %v, want %v", got, want)
		}
		if got := s.Jaccard(&none); got != 0 {
			t.Fatalf("a text and none: %v", got)
		}
		other := signatureOf(genText.Draw(t, "other"))
		if got := s.Jaccard(&other); got != other.Jaccard(&s) || got < 0 || got > 1+1e-9 {
			t.Fatalf("%v and back %v", got, other.Jaccard(&s))
		}
	})
	r := rand.New(rand.NewPCG(1, 2))
	a, b := signatureOf(string(han(r, 5000))), signatureOf(string(han(r, 5000)))
	if got := a.Jaccard(&b); got > 0.05 {
		t.Errorf("two texts of nothing in common: %v", got)
	}
}

func BenchmarkSignature(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var m Maker
	var sketch Sketch
	var s Signature
	m.Sketch(&sketch, []byte(string(han(r, 2000))))
	for b.Loop() {
		m.Signature(&s)
	}
}

func BenchmarkSignatureJaccard(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	x, y := signatureOf(string(han(r, 2000))), signatureOf(string(han(r, 2000)))
	for b.Loop() {
		x.Jaccard(&y)
	}
}
