//go:build cgo

package jieba_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	upstream "github.com/yanyiwu/gojieba"

	"github.com/neardup/neardup/simhash/jieba"
)

// pieces returns about n documents of 2 KB from one of the shared files.
func pieces(tb testing.TB, n int, files ...int) [][]byte {
	tb.Helper()
	dir := shared(tb)
	const size = 2 << 10
	var docs [][]byte
	for _, i := range files {
		k := 0
		for text := range texts(tb, dir, sharedFiles[i].name, sharedFiles[i].fields) {
			if len(text) >= size {
				docs = append(docs, bytes.ToValidUTF8(text[:size], nil))
				k++
			}
			if k == n/len(files) {
				break
			}
		}
	}
	return docs
}

func BenchmarkCut(b *testing.B) {
	for _, set := range []struct {
		name  string
		files []int
	}{
		{"laws", []int{0}},
		{"blogs", []int{1}},
		{"laws+blogs", []int{0, 1}},
		{"reuters", []int{4}},
	} {
		docs := pieces(b, 1000, set.files...)
		size := 0
		for _, doc := range docs {
			size += len(doc)
		}
		for _, p := range pairs(b) {
			name := set.name + "/hmm"
			if !p.hmm {
				name = set.name + "/plain"
			}
			b.Run(name, func(b *testing.B) {
				var words []jieba.Word
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					for _, doc := range docs {
						words = p.ours.Cut(words[:0], doc)
					}
				}
			})
		}
	}
}

// BenchmarkRatio measures the throughput of Cut against gojieba's bare Cut,
// turn by turn in one run, on documents of 2 KB. It reports the best turn of
// each: what a busy machine takes away is taken from both.
func BenchmarkRatio(b *testing.B) {
	docs := pieces(b, 1000, 0, 1)
	size := 0
	for _, doc := range docs {
		size += len(doc)
	}
	x := upstream.NewJieba()
	defer x.Free()
	d := dictionary(b)
	for _, hmm := range []bool{true, false} {
		b.Run(map[bool]string{true: "hmm", false: "plain"}[hmm], func(b *testing.B) {
			c := d.NewCutter(hmm)
			var words []jieba.Word
			ours, theirs := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
			for b.Loop() {
				start := time.Now()
				for _, doc := range docs {
					x.Cut(string(doc), hmm)
				}
				theirs = min(theirs, time.Since(start))
				start = time.Now()
				for _, doc := range docs {
					words = c.Cut(words[:0], doc)
				}
				ours = min(ours, time.Since(start))
			}
			b.ReportMetric(theirs.Seconds()/ours.Seconds(), "x-gojieba")
			b.ReportMetric(float64(size)/1e6/ours.Seconds(), "MB/s")
			b.ReportMetric(float64(size)/1e6/theirs.Seconds(), "gojieba-MB/s")
		})
	}
}

func BenchmarkWithUserWords(b *testing.B) {
	d := dictionary(b)
	words := []jieba.UserWord{{Text: "比特币"}, {Text: "深度求索", Weight: 10, Tag: "nz"}}
	for b.Loop() {
		if _, err := d.WithUserWords(words); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLexicon(b *testing.B) {
	own := ownLexicon(b)
	for _, files := range [][]string{{"stop_words.utf8"}, {"idf.utf8", "stop_words.utf8"}, jieba.LexiconFiles()} {
		some := fstest.MapFS{}
		for _, name := range files {
			some[name] = own[name]
		}
		b.Run(strings.Join(files, "+"), func(b *testing.B) {
			for b.Loop() {
				lexiconOf(b, some)
			}
		})
	}
}
