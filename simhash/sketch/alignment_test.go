package sketch

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// slipped returns the text with so many letters replaced, inserted and deleted.
func slipped(text []rune, edits int, r *rand.Rand, letters []rune) []rune {
	text = slices.Clone(text)
	for range edits {
		at, c := r.IntN(len(text)), letters[r.IntN(len(letters))]
		switch r.IntN(3) {
		case 0:
			text[at] = c
		case 1:
			text = slices.Delete(text, at, at+1)
		default:
			text = slices.Insert(text, at, c)
		}
	}
	return text
}

func random(r *rand.Rand, n int, letters []rune) []rune {
	text := make([]rune, n)
	for i := range text {
		text[i] = letters[r.IntN(len(letters))]
	}
	return text
}

// The edits of texts that fit in a stretch are the fewest.
func TestAlignAgainstTable(t *testing.T) {
	letters := rapid.SliceOfN(rapid.SampledFrom([]rune("ab1大")), 0, 60)
	rapid.Check(t, func(t *rapid.T) {
		a, b, most := letters.Draw(t, "a"), letters.Draw(t, "b"), rapid.IntRange(0, 30).Draw(t, "most")
		if rapid.Bool().Draw(t, "near") && len(a) > 0 {
			b = slices.Clone(a)
			for range rapid.IntRange(0, 12).Draw(t, "edits") {
				b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.SampledFrom([]rune("b2小")).Draw(t, "letter")
			}
		}
		want := levenshtein(a, b)
		var s alignment
		e, _ := s.align(a, b, bounds{most, 60, 1, stretchMin}, false)
		if want > most {
			if e.Edits <= most {
				t.Fatalf("%d edits of at most %d, want %d", e.Edits, most, want)
			}
			return
		}
		if e.Edits != want || e.Pieces > e.Edits || (e.Pieces == 0) != (e.Edits == 0) || e.Digits > 2*e.Edits {
			t.Fatalf("%+v; want %d edits", e, want)
		}
		v, e := s.slips(a, b)
		if back, eBack := s.slips(b, a); back != v || eBack != e {
			t.Fatalf("%+v of %+v, and %+v of %+v the other way round", v, e, back, eBack)
		}
	})
}

// Long texts are aligned piece by piece, by few edits more than the fewest, and
// the same the other way round.
func TestAlignLongAgainstTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s alignment
	for _, letters := range []string{"abcdefghijklmnopqrstuvwxyz", "etaoinsr", "ab"} {
		for _, share := range []float64{0, .01, .05, .1, .13} {
			text := random(r, 300+r.IntN(2000), []rune(letters))
			other := slipped(text, int(share*float64(len(text))), r, []rune(letters))
			want := levenshtein(text, other)
			e, _ := s.align(text, other, bounds{mostEdits(max(len(text), len(other))), 12, 4, stretchMin}, false)
			if e.Edits < want || float64(e.Edits) > 1.02*float64(want)+1 {
				t.Errorf("%q, %g edited: %+v, the fewest are %d", letters, share, e, want)
			}
		}
	}
}

// Whatever the texts and bounds are, an alignment comes to its end, is the same as often
// as it is made, and has no fewer edits than the lengths differ by.
func TestAlignAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SampledFrom([]string{"a", "ab1", "abcdefghij大二"}).Draw(t, "letters")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		a := random(r, rapid.IntRange(0, 900).Draw(t, "a"), []rune(letters))
		b := random(r, rapid.IntRange(0, 900).Draw(t, "b"), []rune(letters))
		limit := bounds{rapid.IntRange(0, 1000).Draw(t, "most"), rapid.IntRange(0, 300).Draw(t, "lead"), rapid.IntRange(1, 8).Draw(t, "letters of a lead"), rapid.SampledFrom([]int{stretchMin, stretchMax}).Draw(t, "first")}
		either := rapid.Bool().Draw(t, "either")
		var s alignment
		e, end := s.align(a, b, limit, either)
		if again, same := s.align(a, b, limit, either); again != e || same != end {
			t.Fatalf("%+v up to %v, then %+v up to %v", e, end, again, same)
		}
		if e.Edits > limit.most {
			return
		}
		if least := len(b) - len(a); e.Edits < -least || !either && e.Edits < least || e.Pieces > e.Edits || e.Digits > 2*e.Edits {
			t.Fatalf("%+v of %d and %d letters", e, len(a), len(b))
		}
	})
}

// A long text with slips is the same; one in which numbers, words or a passage
// differ is not.
func TestSlipsOfLongTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	letters := ideographs()
	text := random(r, 1500, letters)
	var s alignment
	judge := func(other []rune) string {
		v, _ := s.slips(text, other)
		if back, _ := s.slips(other, text); back != v {
			t.Errorf("%+v, and %+v the other way round", v, back)
		}
		return v.Reason
	}
	for _, c := range []struct {
		name string
		of   []rune
		want string
	}{
		{"slips", slipped(text, 150, r, letters), ReasonShortAlike},
		{"noise", slipped(text, 300, r, letters), ReasonShortUnlike},
		{"a passage", slices.Concat(text[:700], random(r, 150, letters), text[850:]), ReasonShortUnlike},
		{"another end", slices.Concat(text[:1000], random(r, 500, letters)), ReasonShortUnlike},
		{"words", every(text, 30, random(r, 4, letters)), reasonShortWord},
		{"numbers", every(text, 12, []rune("7")), reasonShortNumber},
		{"nothing", nil, ReasonShortUnlike},
	} {
		if got := judge(c.of); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// One of two long texts with slips may have a piece beyond the other, wherever
// it stands, of half of the other's length at most; not two.
func TestSlipsAroundAPiece(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	letters := ideographs()
	var s alignment
	judge := func(a, b []rune) (Verdict, Edited) {
		v, e := s.slips(a, b)
		if back, eBack := s.slips(b, a); back != v || eBack != e {
			t.Errorf("%+v of %+v, and %+v of %+v the other way round", v, e, back, eBack)
		}
		return v, e
	}
	for range 400 {
		text := random(r, ShortMax+1+r.IntN(1200), letters)
		at, n := r.IntN(len(text)+1), 40+r.IntN(len(text)*2/5-40)
		whole := slices.Insert(slices.Clone(text), at, random(r, n, letters)...)
		other := slipped(whole, len(whole)/10, r, letters)
		if v, e := judge(text, other); !v.Same || e.Edits > len(whole)/10+n {
			t.Errorf("%d letters behind %d of %d: %+v of %+v", n, at, len(text), v, e)
		}
	}
	text := random(r, 900, letters)
	twice := slices.Insert(slices.Clone(text), 300, random(r, 150, letters)...)
	twice = slices.Insert(twice, 700, random(r, 150, letters)...)
	if v, _ := judge(text, slipped(twice, 90, r, letters)); v.Same {
		t.Errorf("two pieces: %+v", v)
	}
	long := slices.Insert(slices.Clone(text), 450, random(r, 500, letters)...)
	if v, _ := judge(text, long); v.Same {
		t.Errorf("a piece of more than half: %+v", v)
	}
}

// every puts the piece in place of what stands after every n characters.
func every(text []rune, n int, piece []rune) []rune {
	text = slices.Clone(text)
	for at := n; at+len(piece) <= len(text); at += n {
		copy(text[at:], piece)
	}
	return text
}

// ideographs returns some that are no numerals.
func ideographs() (letters []rune) {
	for c := '丁'; c < '丁'+3000; c++ {
		if !isNumeral(c) {
			letters = append(letters, c)
		}
	}
	return letters
}

// Texts of a million characters take time for their length.
func BenchmarkSlips(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, bench := range []struct {
		name  string
		n     int
		share float64
	}{{"3000", 3000, .1}, {"3000, another", 3000, 1}, {"1000000", 1000000, .1}} {
		letters := ideographs()
		text := random(r, bench.n, letters)
		other := slices.Clone(text)
		for i := range other {
			if r.Float64() < bench.share {
				other[i] = letters[r.IntN(len(letters))]
			}
		}
		b.Run(bench.name, func(b *testing.B) {
			var s alignment
			for b.Loop() {
				s.slips(text, other)
			}
		})
	}
}
