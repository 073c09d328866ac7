package simhash

import "testing"

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
			w.sum(w.weigh())
		}
	})
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
