package eval

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/agnivade/levenshtein"

	"github.com/neardup/neardup/simhash"
)

// SmallSet is the most documents that the methods compare that look at every
// pair of texts: their time grows with the square of it.
const SmallSet = 5000

// ErrTooMany says that a method for small sets was given a large one.
var ErrTooMany = errors.New("too many documents")

// small is normalized, but refuses a large set.
func (l *Lab) small(ctx context.Context, f func(i int, text []byte)) error {
	if err := l.checkSmall(); err != nil {
		return err
	}
	return l.normalized(ctx, f)
}

func (l *Lab) checkSmall() error {
	if n := len(l.corpus.Documents); n > SmallSet {
		return fmt.Errorf("%w: %d, for a method that compares all pairs of texts: give it %d at most", ErrTooMany, n, SmallSet)
	}
	return nil
}

// everyPair returns the pairs whose score reaches t. worker makes the function
// that scores, one for each goroutine; it may return anything below t for a
// pair that cannot reach it.
func (l *Lab) everyPair(ctx context.Context, t float64, worker func() func(a, b int) float64) ([]Found, error) {
	n := len(l.corpus.Documents)
	rows := make(chan int)
	parts := make([][]Found, n)
	var wait sync.WaitGroup
	for range l.options.Workers {
		wait.Go(func() {
			score := worker()
			for a := range rows {
				for b := a + 1; b < n && ctx.Err() == nil; b++ {
					if s := score(a, b); s >= t {
						parts[a] = append(parts[a], Found{Pair{int32(a), int32(b)}, s})
					}
				}
			}
		})
	}
	for a := 0; a < n && ctx.Err() == nil; a++ {
		rows <- a
	}
	close(rows)
	wait.Wait()
	return slices.Concat(parts...), ctx.Err()
}

// editDistance compares texts in normal form by their edit distance
// (Levenshtein's): the score is 1 − distance / the longer one's characters. For
// small sets.
func editDistance(least float64) Method {
	return baseline{"levenshtein", func(ctx context.Context, l *Lab) ([]Found, error) {
		texts := make([]string, len(l.corpus.Documents))
		bags := make([][]rune, len(texts)) // characters, in order of their code
		err := l.small(ctx, func(i int, text []byte) {
			texts[i] = string(text)
			bags[i] = []rune(texts[i])
			slices.Sort(bags[i])
		})
		if err != nil {
			return nil, err
		}
		return l.everyPair(ctx, least, func() func(a, b int) float64 {
			return func(a, b int) float64 {
				longer := max(len(bags[a]), len(bags[b]))
				if min(len(bags[a]), len(bags[b])) == 0 {
					return math.Inf(-1)
				}
				similarity := func(distance int) float64 { return 1 - float64(distance)/float64(longer) }
				// An edit brings in and takes out one character at most.
				if similarity(bagDistance(bags[a], bags[b])) < least {
					return math.Inf(-1)
				}
				return similarity(levenshtein.ComputeDistance(texts[a], texts[b]))
			}
		})
	}}
}

// bagDistance is the least number of edits between two texts with these
// characters, each sorted.
func bagDistance(a, b []rune) int {
	onlyA, onlyB := 0, 0
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] == b[0]:
			a, b = a[1:], b[1:]
		case a[0] < b[0]:
			a, onlyA = a[1:], onlyA+1
		default:
			b, onlyB = b[1:], onlyB+1
		}
	}
	return max(onlyA+len(a), onlyB+len(b))
}

// cosine compares the words of two documents, by tf and without the builtin
// stop list, as vectors. For small sets.
func cosine(least float64) Method {
	return baseline{"cosine", func(ctx context.Context, l *Lab) ([]Found, error) {
		if err := l.checkSmall(); err != nil {
			return nil, err
		}
		vectors, err := l.words(ctx)
		if err != nil {
			return nil, err
		}
		norms := make([]float64, len(vectors))
		for i, v := range vectors {
			norms[i] = math.Sqrt(product(v, v))
		}
		return l.everyPair(ctx, least, func() func(a, b int) float64 {
			return func(a, b int) float64 {
				if norms[a] == 0 || norms[b] == 0 {
					return math.Inf(-1)
				}
				return min(1, product(vectors[a], vectors[b])/(norms[a]*norms[b]))
			}
		})
	}}
}

// word is a word of a document.
type word struct {
	hash  uint64
	count float64
}

// words returns every document's distinct words, ascending by hash.
func (l *Lab) words(ctx context.Context) ([][]word, error) {
	vectors := make([][]word, len(l.corpus.Documents))
	err := l.featured(ctx, features(simhash.WeightTF, simhash.StopNone, 0), func(i int, all []simhash.Feature) {
		for _, f := range all {
			vectors[i] = append(vectors[i], word{f.Hash.Lo, float64(f.Count)})
		}
		slices.SortFunc(vectors[i], func(a, b word) int { return cmp.Compare(a.hash, b.hash) })
	})
	return vectors, err
}

func product(a, b []word) (sum float64) {
	for len(a) > 0 && len(b) > 0 {
		x, y := a[0], b[0]
		if x.hash == y.hash {
			sum += x.count * y.count
		}
		if x.hash <= y.hash {
			a = a[1:]
		}
		if y.hash <= x.hash {
			b = b[1:]
		}
	}
	return sum
}

// wordJaccard compares the sets of words of two documents.
func wordJaccard(least float64) Method {
	return baseline{"jaccard", func(ctx context.Context, l *Lab) ([]Found, error) {
		vectors, err := l.words(ctx)
		if err != nil {
			return nil, err
		}
		sets := make([][]uint64, len(vectors))
		for i, v := range vectors {
			for _, w := range v {
				sets[i] = append(sets[i], w.hash)
			}
		}
		return alike(ctx, sets, least, l.options.Workers)
	}}
}

// commonSubstring compares texts in normal form, without space, by the longest
// stretch that they share: the score is its share of the shorter one. For
// small sets.
func commonSubstring(least float64) Method {
	return baseline{"common-substring", func(ctx context.Context, l *Lab) ([]Found, error) {
		texts := make([][]rune, len(l.corpus.Documents))
		err := l.small(ctx, func(i int, text []byte) { texts[i] = []rune(string(bytes.Join(bytes.Fields(text), nil))) })
		if err != nil {
			return nil, err
		}
		return l.everyPair(ctx, least, func() func(a, b int) float64 {
			var s substring
			return func(a, b int) float64 {
				shorter := min(len(texts[a]), len(texts[b]))
				if shorter == 0 {
					return math.Inf(-1)
				}
				if s.of != a || s.starts == nil {
					s.index(a, texts[a])
				}
				return float64(s.longest(texts[b])) / float64(shorter)
			}
		})
	}}
}

// substring finds the longest stretch that texts have in common with one.
type substring struct {
	of       int
	text     []rune
	starts   map[[2]rune][]int32 // of every pair of characters of the text
	run, was []int32             // of a common stretch that ends at a place of the text
}

func (s *substring) index(of int, text []rune) {
	s.of, s.text = of, text
	s.starts = make(map[[2]rune][]int32, len(text))
	for i := range len(text) - 1 {
		pair := [2]rune{text[i], text[i+1]}
		s.starts[pair] = append(s.starts[pair], int32(i))
	}
	s.run, s.was = make([]int32, len(text)+1), make([]int32, len(text)+1)
}

// longest returns the characters of the longest common stretch: 2 or more, or
// 0 or 1.
func (s *substring) longest(b []rune) int {
	best := int32(0)
	var last []int32 // places of was that are not 0
	for j := range len(b) - 1 {
		here := s.starts[[2]rune{b[j], b[j+1]}]
		for _, i := range here {
			s.run[i+1] = s.was[i] + 1
			best = max(best, s.run[i+1])
		}
		for _, i := range last {
			s.was[i] = 0
		}
		s.run, s.was = s.was, s.run
		last = last[:0]
		for _, i := range here {
			last = append(last, i+1)
		}
	}
	for _, i := range last {
		s.was[i] = 0
	}
	if best > 0 {
		return int(best) + 1
	}
	if slices.ContainsFunc(b, func(c rune) bool { return slices.Contains(s.text, c) }) {
		return 1
	}
	return 0
}
