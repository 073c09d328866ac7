package simhash

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/neardup/neardup/simhash/jieba"
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
	a, err := NewWith(o, append(more, Extra{})[0])
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

// BenchmarkSteps says where the time of a document of 2 KB goes: the
// microseconds of each step, the quickest turn of every document taken, so
// that other work on the machine counts little.
func BenchmarkSteps(b *testing.B) {
	for _, name := range []string{"blogs", "laws"} {
		docs, _ := pieces(sharedTexts(b, "zh/"+name+".jsonl.gz", "text", 400), 2048, 1<<20)
		b.Run(name, func(b *testing.B) { benchmarkSteps(b, docs) })
	}
}

func benchmarkSteps(b *testing.B, docs [][]byte) {
	w := newAnalyzer(b, nil).NewWorkspace()
	type state struct {
		normal []byte
		codes  []uint16
		at     []int32
		words  []jieba.Word
	}
	var states []state
	for _, d := range docs {
		w.read(nil, d)
		w.startCodes(len(w.text))
		w.readCodes(w.text, 0, 1)
		w.at[w.coded] = int32(len(w.text))
		s := state{bytes.Clone(w.text), slices.Clone(w.codes[1:w.coded]), slices.Clone(w.at[1 : w.coded+1]), nil}
		s.words = w.coder.CutCodes(nil, s.codes, s.at)
		states = append(states, s)
	}
	steps := []struct {
		name string
		do   func(i int)
	}{
		{"normal", func(i int) { w.read(nil, docs[i]) }},
		{"codes", func(i int) { w.startCodes(len(states[i].normal)); w.readCodes(states[i].normal, 0, 1) }},
		{"cut", func(i int) { w.words = w.coder.CutCodes(w.words[:0], states[i].codes, states[i].at) }},
		{"count-and-sum", func(i int) {
			w.nextEpoch()
			w.words = append(w.words[:0], states[i].words...)
			w.countCut(states[i].normal, 1)
			w.sum(w.weigh())
		}},
		{"all", func(i int) { w.Fingerprint(nil, docs[i]) }},
	}
	best := slices.Repeat([]time.Duration{math.MaxInt64}, len(steps)*len(docs))
	for b.Loop() {
		for s := range steps {
			for i := range docs {
				start := time.Now()
				steps[s].do(i)
				at := s*len(docs) + i
				best[at] = min(best[at], time.Since(start))
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	for s := range steps {
		sum := time.Duration(0)
		for _, t := range best[s*len(docs):][:len(docs)] {
			sum += t
		}
		b.ReportMetric(sum.Seconds()*1e6/float64(len(docs)), steps[s].name+"-µs")
	}
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
			s.add(hashes)
			s.above(n / 2)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/feature")
	})
}
