//go:build cgo

package simhash

import (
	"testing"
	"time"

	reference "github.com/yanyiwu/gojieba"
	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/simhash/gojieba"
)

func TestGojiebaAgrees(t *testing.T) {
	d := defaultDictionary(t)
	s, err := gojieba.New(d)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	checkSegmenter(t, Segmenter{Lexicon: d, NewCutter: func() Cutter { return s.NewCutter(true) }})
}

// BenchmarkAgainstGojieba times, in turn and in one process, this package, the
// bare Cut of gojieba, and the pipeline usually built on it. The metrics are
// how many times as fast this package is.
func BenchmarkAgainstGojieba(b *testing.B) {
	for _, input := range []struct{ name, file, field string }{
		{"blogs", "zh/blogs.jsonl.gz", "text"},
		{"laws", "zh/laws.jsonl.gz", "text"},
		{"published", "zh/lctt_pairs.jsonl.gz", "published"},
	} {
		b.Run(input.name, func(b *testing.B) { againstGojieba(b, sharedTexts(b, input.file, input.field, 400)) })
	}
}

func againstGojieba(b *testing.B, texts [][]byte) {
	docs, size := pieces(texts, 2048, 2<<20)
	w := newAnalyzer(b, nil).NewWorkspace()
	grams := newAnalyzer(b, func(o *Options) { o.Kind = KindNGrams }).NewWorkspace()
	x := reference.NewJieba()
	defer x.Free()
	var ours, ngrams, cut, pipeline time.Duration
	timed := func(total *time.Duration, f func(d []byte)) {
		start := time.Now()
		for _, d := range docs {
			f(d)
		}
		*total += time.Since(start)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		timed(&ours, func(d []byte) { w.Fingerprint(nil, d) })
		timed(&ngrams, func(d []byte) { grams.Fingerprint(nil, d) })
		timed(&cut, func(d []byte) { x.Cut(string(d), true) })
		timed(&pipeline, func(d []byte) { obviousPipeline(x, string(d)) })
	}
	mbs := func(d time.Duration) float64 { return float64(size) * float64(b.N) / 1e6 / d.Seconds() }
	b.ReportMetric(mbs(ours), "words-MB/s")
	b.ReportMetric(mbs(ngrams), "ngrams-MB/s")
	b.ReportMetric(mbs(cut), "gojieba-Cut-MB/s")
	b.ReportMetric(mbs(pipeline), "pipeline-MB/s")
	b.ReportMetric(float64(cut)/float64(ours), "x-Cut")
	b.ReportMetric(float64(pipeline)/float64(ours), "x-pipeline")
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
