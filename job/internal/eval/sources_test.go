package eval

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/agnivade/levenshtein"
)

// matrix is the edit distance as textbooks have it, a row of the matrix at a
// time.
func matrix(a, b []rune, row []int) int {
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		corner := row[0]
		row[0] = i + 1
		for j, y := range b {
			replaced := corner
			if x != y {
				replaced++
			}
			corner = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// BenchmarkSources does what the sources of the method give figures for: a
// million comparisons of two texts of 17 characters and of two fingerprints, and
// how many of n fingerprints stand in the lists that a look-up within 3 of 64
// bits reads: of four tables, and of ten, two segments out of five.
func BenchmarkSources(b *testing.B) {
	const (
		million = 1_000_000
		one     = "你妈妈喊你回家吃饭哦，回家罗回家罗"
		other   = "你妈妈叫你回家吃饭啦，回家罗回家罗"
	)
	x, y := []rune(one), []rune(other)
	if len(x) != 17 || len(y) != 17 || levenshtein.ComputeDistance(one, other) != 2 {
		b.Fatal("the sentences have other characters")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	b.Run("levenshtein/textbook", func(b *testing.B) {
		row := make([]int, len(y)+1)
		for b.Loop() {
			for range million {
				found += matrix(x, y, row)
			}
		}
	})
	b.Run("levenshtein/library", func(b *testing.B) {
		for b.Loop() {
			for range million {
				found += levenshtein.ComputeDistance(one, other)
			}
		}
	})
	b.Run("hamming", func(b *testing.B) {
		prints := make([]uint64, million)
		for i := range prints {
			prints[i] = rng.Uint64()
		}
		asked := rng.Uint64()
		for b.Loop() {
			for _, p := range prints {
				if bits.OnesCount64(p^asked) <= 3 {
					found++
				}
			}
		}
	})
	segment := func(below, width int) uint64 { return (1<<width - 1) << below }
	var four, five, ten []uint64
	for i := range 4 {
		four = append(four, segment(16*i, 16))
	}
	for i := range 5 {
		five = append(five, segment(13*i, min(13, 64-13*i)))
	}
	for i, s := range five {
		for _, other := range five[:i] {
			ten = append(ten, s|other)
		}
	}
	for _, n := range []int{1 << 20, 1 << 24} {
		for _, tables := range [][]uint64{four, ten} {
			b.Run(fmt.Sprintf("candidates/n=%d/tables=%d", n, len(tables)), func(b *testing.B) {
				asked := make([]uint64, 16)
				for i := range asked {
					asked[i] = rng.Uint64()
				}
				seen := 0
				for b.Loop() {
					seen = 0
					for range n {
						p := rng.Uint64()
						for _, q := range asked {
							for _, mask := range tables {
								if (p^q)&mask == 0 {
									seen++
								}
							}
						}
					}
				}
				b.ReportMetric(float64(seen)/float64(len(asked)), "candidates/lookup")
			})
		}
	}
	b.Log(found)
}
