package passage

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// words are as many of a language that has a few thousand of them, so that texts of it
// have short grams in common.
func words(rng *rand.Rand, n int, han bool) (drawn [][]uint32) {
	for range n {
		of := rand.New(rand.NewPCG(uint64(rng.IntN(3000)), 5))
		if han {
			drawn = append(drawn, random(of, 1+of.IntN(3), '一', 2000))
		} else {
			drawn = append(drawn, random(of, 2+of.IntN(8), 'a', 26))
		}
	}
	return drawn
}

// TestLikely: what is left of an item of which one word in four was exchanged, or which a
// quarter shorter, is likely to be a hit, and an item of which a document has a phrase is
// not; whichever of the two is the longer.
func TestLikely(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for _, han := range []bool{false, true} {
		kept, refused, of := 0, 0, 300
		for i := range of {
			item := words(rng, 40+rng.IntN(120), han)
			around := words(rng, 10+rng.IntN(600), han)
			at := rng.IntN(len(around))
			edited := slices.Clone(item)
			if i%2 == 0 {
				for k := rng.IntN(4); k < len(edited); k += 4 {
					edited[k] = words(rng, 1, han)[0]
				}
			} else {
				edited = edited[len(edited)/4:]
			}
			phrase := slices.Concat(item[10:15]...)
			whole := slices.Concat(item...)
			begin, end := slices.Concat(around[:at]...), slices.Concat(around[at:]...)
			likely := func(middle []uint32) bool {
				doc := slices.Concat(begin, middle, end)
				s := NewSearcher(index(t, whole), Rules{Share: 0.7, Run: 300, Least: 48})
				s.weight = WeightOf(doc)
				return s.likely(doc, whole, WeightOf(whole), Span{len(begin), len(begin) + len(middle)})
			}
			if likely(slices.Concat(edited...)) {
				kept++
			}
			if !likely(phrase) {
				refused++
			}
		}
		if kept < of || refused < of*9/10 {
			t.Errorf("han %t: of %d likely windows %d are kept, of %d others %d refused", han, of, kept, of, refused)
		}
	}
}

// TestSearcherForgets: a set of the letters of one document is not taken for that of the
// next, which stands in the same buffer.
func TestSearcherForgets(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 9))
	of := words(rng, 100, false)
	item, other := slices.Concat(of...), slices.Concat(words(rng, 200, false)...)
	for k := 0; k < len(of); k += 8 { // so that no run is a hit by itself
		of[k] = words(rng, 1, false)[0]
	}
	edited := slices.Concat(slices.Concat(of...), other)
	phrase := slices.Concat(other[:300], item[200:240], other[300:])
	n := min(len(edited), len(phrase))
	s := NewSearcher(index(t, item), Rules{Share: 0.7, Run: 300, Least: 48})
	buffer := make([]uint32, n)
	for range 2 {
		copy(buffer, phrase)
		if hits := s.Search(buffer); len(hits) > 0 {
			t.Errorf("a phrase: %+v", hits)
		}
		copy(buffer, edited)
		if hits := s.Search(buffer); len(hits) != 1 {
			t.Errorf("the item: %+v", hits)
		}
	}
}
