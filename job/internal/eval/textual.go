package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/agnivade/levenshtein"

	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/simhash"
)

// smallSet is the most documents that the methods compare that look at every
// pair of texts: their time grows with the square of it.
const smallSet = 5000

// errTooMany says that a method for small sets was given a large one.
var errTooMany = errors.New("too many documents")

// everyPair is a method for small sets, which looks at every pair. prepare
// returns a function that for a document returns one that compares others with
// it; it may return anything below least for a pair that cannot reach it.
func everyPair(name string, least float64, prepare func(ctx context.Context, l *Lab) (func(a int) func(b int) float64, error)) Method {
	return baseline{name, false, func(ctx context.Context, l *Lab) ([]Found, error) {
		n := len(l.corpus.Documents)
		if n > smallSet {
			return nil, fmt.Errorf("%w: %d, for a method that compares all pairs of texts: give it %d at most", errTooMany, n, smallSet)
		}
		with, err := prepare(ctx, l)
		if err != nil {
			return nil, err
		}
		advance := l.options.Pass.Begin(int64(n)*int64(n-1)/2, "pairs")
		parts := make([][]Found, n)
		err = engine.Parallel(ctx, n, l.options.Workers, func(ctx context.Context, a int) error {
			score := with(a)
			for b := a + 1; b < n && ctx.Err() == nil; b++ {
				if s := score(b); s >= least {
					parts[a] = append(parts[a], Found{Pair: Pair{int32(a), int32(b)}, Score: s})
				}
				advance(1)
			}
			return ctx.Err()
		})
		return slices.Concat(parts...), err
	}}
}

// editDistance compares texts in normal form by their edit distance
// (Levenshtein's): the score is 1 − distance / the longer one's characters.
func editDistance(least float64) Method {
	return everyPair("levenshtein", least, func(ctx context.Context, l *Lab) (func(a int) func(b int) float64, error) {
		texts := make([]string, len(l.corpus.Documents))
		bags := make([][]rune, len(texts)) // characters, in order of their code
		err := l.normalized(ctx, func(i int, text []byte) {
			texts[i] = string(text)
			bags[i] = []rune(texts[i])
			slices.Sort(bags[i])
		})
		return func(a int) func(b int) float64 {
			return func(b int) float64 {
				longer := max(len(bags[a]), len(bags[b]))
				if min(len(bags[a]), len(bags[b])) == 0 {
					return math.Inf(-1)
				}
				similarity := func(distance int) float64 { return 1 - float64(distance)/float64(longer) }
				// An edit adds and removes one character at most.
				if similarity(bagDistance(bags[a], bags[b])) < least {
					return math.Inf(-1)
				}
				return similarity(levenshtein.ComputeDistance(texts[a], texts[b]))
			}
		}, err
	})
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
// stop list, as vectors.
func cosine(least float64) Method {
	return everyPair("cosine", least, func(ctx context.Context, l *Lab) (func(a int) func(b int) float64, error) {
		vectors, err := l.words(ctx)
		norms := make([]float64, len(vectors))
		for i, v := range vectors {
			norms[i] = math.Sqrt(product(v, v))
		}
		return func(a int) func(b int) float64 {
			return func(b int) float64 {
				if norms[a] == 0 || norms[b] == 0 {
					return math.Inf(-1)
				}
				return min(1, product(vectors[a], vectors[b])/(norms[a]*norms[b]))
			}
		}, err
	})
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
	return baseline{"jaccard", false, func(ctx context.Context, l *Lab) ([]Found, error) {
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
		return l.alike(ctx, sets, limits{jaccard: least})
	}}
}
