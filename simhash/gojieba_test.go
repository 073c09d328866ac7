//go:build cgo

package simhash

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	reference "github.com/yanyiwu/gojieba"
	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/simhash/gojieba"
	"github.com/neardup/neardup/simhash/jieba"
)

func TestGojiebaAgrees(t *testing.T) {
	if testing.Short() {
		t.Skip("loads a second dictionary; package gojieba compares the words")
	}
	d := defaultDictionary(t)
	s, err := gojieba.New(d)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	checkSegmenter(t, Extra{Dictionary: d, Cut: func(dst []jieba.Word, text []byte) []jieba.Word { return s.Cut(dst, text, true) }})
}

// BenchmarkAgainst times, in turn and in one process, this package, the bare
// Cut of gojieba, and the pipeline usually built on it, on pieces of 2 KB and
// on whole documents, one core and all. The metrics are MB/s, and how many
// times as fast this package is as Cut (x-Cut) and as the pipeline
// (x-pipeline).
//
// The sides take turns at all documents. A busy machine takes time from all of
// them: a turn is timed in small blocks, and of every side and block the
// quickest turn counts. On all cores, where a goroutine has a share of the
// documents, it is the quickest whole turn.
func BenchmarkAgainst(b *testing.B) {
	x := reference.NewJieba()
	defer x.Free()
	for _, input := range []struct{ name, file, field string }{
		{"blogs", "zh/blogs.jsonl.gz", "text"},
		{"laws", "zh/laws.jsonl.gz", "text"},
		{"published", "zh/lctt_pairs.jsonl.gz", "published"},
	} {
		texts := sharedTexts(b, input.file, input.field, 400)
		for _, size := range []struct {
			name  string
			bytes int
		}{{"2KB", 2048}, {"whole", math.MaxInt}} {
			docs, _ := pieces(texts, size.bytes, 1<<20)
			b.Run(input.name+"/"+size.name+"/one-core", func(b *testing.B) { against(b, x, docs, 1) })
			b.Run(input.name+"/"+size.name+"/all-cores", func(b *testing.B) { against(b, x, docs, runtime.GOMAXPROCS(0)) })
		}
	}
}

// blockSize is the bytes of a block at least: few enough for a quiet turn.
const blockSize = 64 << 10

func against(b *testing.B, x *reference.Jieba, docs [][]byte, cores int) {
	words, grams := newAnalyzer(b, nil), newAnalyzer(b, func(o *Options) { o.Kind = KindNGrams })
	fingerprint := func(a *Analyzer) func() func([]byte) {
		return func() func([]byte) {
			w := a.NewWorkspace()
			return func(d []byte) { w.Fingerprint(nil, d) }
		}
	}
	cut := func(d []byte) { x.Cut(string(d), true) }
	pipeline := func(d []byte) { obviousPipeline(x, string(d)) }
	sides := []struct {
		name string
		each func() func([]byte) // what a goroutine does with a document
		best []time.Duration     // by block
	}{
		{"words", fingerprint(words), nil},
		{"ngrams", fingerprint(grams), nil},
		{"gojieba-Cut", func() func([]byte) { return cut }, nil},
		{"pipeline", func() func([]byte) { return pipeline }, nil},
	}
	blocks, size := [][][]byte{docs}, 0
	if cores == 1 {
		blocks = blocks[:0]
		for from, sum, i := 0, 0, 0; i < len(docs); i++ {
			if sum += len(docs[i]); sum >= blockSize || i+1 == len(docs) {
				blocks, from, sum = append(blocks, docs[from:i+1]), i+1, 0
			}
		}
	}
	for _, d := range docs {
		size += len(d)
	}
	steps := make([][]func([]byte), len(sides))
	for i := range sides {
		for range cores {
			steps[i] = append(steps[i], sides[i].each())
		}
		sides[i].best = slices.Repeat([]time.Duration{math.MaxInt64}, len(blocks))
	}
	for b.Loop() {
		for i := range sides {
			for n, block := range blocks {
				start := time.Now()
				if cores == 1 {
					for _, d := range block {
						steps[i][0](d)
					}
				} else {
					var wait sync.WaitGroup
					for core := range cores {
						wait.Go(func() {
							for k := core; k < len(block); k += cores {
								steps[i][core](block[k])
							}
						})
					}
					wait.Wait()
				}
				sides[i].best[n] = min(sides[i].best[n], time.Since(start))
			}
		}
	}
	seconds := map[string]float64{}
	for _, side := range sides {
		for _, t := range side.best {
			seconds[side.name] += t.Seconds()
		}
		b.ReportMetric(float64(size)/1e6/seconds[side.name], side.name+"-MB/s")
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(seconds["gojieba-Cut"]/seconds["words"], "x-Cut")
	b.ReportMetric(seconds["pipeline"]/seconds["words"], "x-pipeline")
}

func obviousPipeline(x *reference.Jieba, text string) uint64 {
	var sums [64]float64
	for _, word := range x.ExtractWithWeight(text, 200) {
		h := xxh3.HashString(word.Word)
		for i := range sums {
			if h>>i&1 == 1 {
				sums[i] += word.Weight
			} else {
				sums[i] -= word.Weight
			}
		}
	}
	f := uint64(0)
	for i, s := range sums {
		if s > 0 {
			f |= 1 << i
		}
	}
	return f
}
