package eval

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/agnivade/levenshtein"

	"github.com/neardup/neardup/job/internal/parallel"
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
		err = parallel.Each(ctx, n, l.options.Workers, func(ctx context.Context, a int) error {
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

// euclid compares the same vectors by their Euclidean distance d: the score is
// 1 − d / (|a| + |b|), which is 1 for equal vectors and 0 for those that point
// away from each other, as d is |a| + |b| at most.
func euclid(least float64) Method {
	return everyPair("euclid", least, func(ctx context.Context, l *Lab) (func(a int) func(b int) float64, error) {
		vectors, err := l.words(ctx)
		squares := make([]float64, len(vectors))
		for i, v := range vectors {
			squares[i] = product(v, v)
		}
		return func(a int) func(b int) float64 {
			return func(b int) float64 {
				if squares[a] == 0 || squares[b] == 0 {
					return math.Inf(-1)
				}
				lengths := math.Sqrt(squares[a]) + math.Sqrt(squares[b])
				// The vectors differ by as much as their lengths do.
				if far := math.Abs(math.Sqrt(squares[a]) - math.Sqrt(squares[b])); 1-far/lengths < least {
					return math.Inf(-1)
				}
				return 1 - math.Sqrt(max(0, squares[a]+squares[b]-2*product(vectors[a], vectors[b])))/lengths
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

// commonSubstring compares texts in normal form, without space, by the longest
// stretch that they share: the score is its share of the shorter one.
func commonSubstring(least float64) Method {
	return everyPair("common-substring", least, func(ctx context.Context, l *Lab) (func(a int) func(b int) float64, error) {
		texts := make([][]rune, len(l.corpus.Documents))
		err := l.normalized(ctx, func(i int, text []byte) { texts[i] = []rune(string(bytes.Join(bytes.Fields(text), nil))) })
		return func(a int) func(b int) float64 {
			longest := longestWith(texts[a])
			return func(b int) float64 {
				shorter := min(len(texts[a]), len(texts[b]))
				if shorter == 0 {
					return math.Inf(-1)
				}
				return float64(longest(texts[b])) / float64(shorter)
			}
		}, err
	})
}

// longestWith returns what says how many characters the longest stretch has
// that another text shares with this one. It visits the places where pairs of
// characters of the other text stand in this one, and no other cell of the
// table of all places.
func longestWith(text []rune) func(other []rune) int {
	pairs := make(map[[2]rune][]int32, len(text)) // where two characters stand
	for i := range len(text) - 1 {
		pair := [2]rune{text[i], text[i+1]}
		pairs[pair] = append(pairs[pair], int32(i))
	}
	// Pairs of a common stretch that ends at a place of the text: with the pair
	// of the other text at hand, and with the one before.
	run, was := make([]int32, len(text)+1), make([]int32, len(text)+1)
	return func(other []rune) int {
		best := int32(0)
		var last []int32 // the pair before
		for j := range len(other) - 1 {
			here := pairs[[2]rune{other[j], other[j+1]}]
			for _, i := range here {
				run[i+1] = was[i] + 1
				best = max(best, run[i+1])
			}
			for _, i := range last {
				was[i+1] = 0
			}
			run, was, last = was, run, here
		}
		for _, i := range last {
			was[i+1] = 0
		}
		switch {
		case best > 0:
			return int(best) + 1
		case slices.ContainsFunc(other, func(c rune) bool { return slices.Contains(text, c) }):
			return 1
		}
		return 0
	}
}
