package simhash

import (
	"testing"
	"time"

	"github.com/yanyiwu/gojieba"

	"github.com/zeebo/xxh3"
)

// pieces cuts texts into documents of about size bytes.
func pieces(texts [][]byte, size, total int) (docs [][]byte, sum int) {
	for _, text := range texts {
		for len(text) > 0 && sum < total {
			n := min(size, len(text))
			for n < len(text) && text[n]&0xc0 == 0x80 {
				n++
			}
			docs, text = append(docs, text[:n]), text[n:]
			sum += n
		}
	}
	return docs, sum
}

func newAnalyzer(t testing.TB, change func(*Options), more ...Extra) *Analyzer {
	t.Helper()
	o := DefaultOptions()
	if change != nil {
		change(&o)
	}
	a, err := New(o, more...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func BenchmarkFingerprint(b *testing.B) {
	docs, size := pieces(sharedTexts(b, "zh/blogs.jsonl.gz", "text", 800), 2048, 2<<20)
	for _, c := range []struct {
		name   string
		change func(*Options)
	}{
		{"default", nil},
		{"tfidf", func(o *Options) { o.Weight = WeightTFIDF }},
		{"levels", func(o *Options) { o.Weight = WeightLevels }},
		{"tfidf-top20", func(o *Options) { o.Weight, o.Top = WeightTFIDF, 20 }},
		{"128", func(o *Options) { o.Bits = 128 }},
		{"nohmm", func(o *Options) { o.HMM = false }},
		{"ngrams2", func(o *Options) { o.Kind = KindNGrams }},
		{"ngrams5-unit-128", func(o *Options) { o.Kind, o.N, o.Bits, o.Weight = KindNGrams, 5, 128, WeightUnit }},
	} {
		b.Run(c.name, func(b *testing.B) {
			w := newAnalyzer(b, c.change).NewWorkspace()
			b.SetBytes(int64(size))
			for b.Loop() {
				for _, d := range docs {
					w.Fingerprint(nil, d)
				}
			}
		})
	}
}

func BenchmarkParts(b *testing.B) {
	docs, size := pieces(sharedTexts(b, "zh/blogs.jsonl.gz", "text", 800), 2048, 2<<20)
	a := newAnalyzer(b, nil)
	w := a.NewWorkspace()
	b.Run("normalize", func(b *testing.B) {
		b.SetBytes(int64(size))
		for b.Loop() {
			for _, d := range docs {
				w.read(nil, d)
			}
		}
	})
	var normal [][]byte
	for _, d := range docs {
		normal = append(normal, w.Normalize(nil, d))
	}
	b.Run("split", func(b *testing.B) {
		b.SetBytes(int64(size))
		for b.Loop() {
			for _, d := range normal {
				for s := (span{}); s.end < len(d); {
					s = nextSpan(a.classes, d, s.end)
				}
			}
		}
	})
	b.Run("split-cut", func(b *testing.B) {
		b.SetBytes(int64(size))
		for b.Loop() {
			for _, d := range normal {
				for s := (span{}); s.end < len(d); {
					if s = nextSpan(a.classes, d, s.end); s.class == classHan {
						w.words = w.cutter.Cut(w.words[:0], d[s.start:s.end])
					}
				}
			}
		}
	})
	b.Run("cut-whole", func(b *testing.B) {
		b.SetBytes(int64(size))
		for b.Loop() {
			for _, d := range normal {
				w.words = w.cutter.Cut(w.words[:0], d)
			}
		}
	})
	b.Run("count", func(b *testing.B) {
		b.SetBytes(int64(size))
		for b.Loop() {
			for _, d := range normal {
				w.text = append(w.text[:0], d...)
				w.countWords(0)
			}
		}
	})
	b.Run("weigh-sum", func(b *testing.B) {
		b.SetBytes(int64(len(normal[0])))
		w.text = append(w.text[:0], normal[0]...)
		w.countWords(0)
		for b.Loop() {
			w.weigh()
			w.sum()
		}
	})
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
	x := gojieba.NewJieba()
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

func obviousPipeline(x *gojieba.Jieba, text string) uint64 {
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

func BenchmarkSum(b *testing.B) {
	const n = 256
	hashes, weights := make([]uint64, n), make([]uint32, n)
	for i := range hashes {
		hashes[i], weights[i] = mix(uint64(i)), uint32(i%7+1)
	}
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			var sums [64]int64
			for i, h := range hashes {
				for bit := range sums {
					if h>>bit&1 == 1 {
						sums[bit] += int64(weights[i])
					} else {
						sums[bit] -= int64(weights[i])
					}
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/feature")
	})
	b.Run("packed", func(b *testing.B) {
		for b.Loop() {
			var sums [64]uint32
			addPacked(&sums, hashes, weights)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/feature")
	})
	b.Run("best", func(b *testing.B) {
		for b.Loop() {
			var sums bitSums
			sums.add(hashes, weights)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/feature")
	})
	b.Run("slices", func(b *testing.B) {
		for b.Loop() {
			var s slices64
			var sums bitSums
			s.add(hashes)
			s.addTo(&sums)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/feature")
	})
}
