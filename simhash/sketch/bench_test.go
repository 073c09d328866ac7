package sketch_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/sketch"
)

// BenchmarkBeside measures what a sketch costs beside the fingerprint of the
// same text: x is the time of both over that of the fingerprint alone, the
// quickest turn of every block of documents taken for each.
func BenchmarkBeside(b *testing.B) {
	analyzer, err := simhash.New(simhash.DefaultOptions())
	if err != nil {
		b.Fatal(err)
	}
	w := analyzer.NewWorkspace()
	var m sketch.Maker
	var s sketch.Sketch
	for _, file := range []string{"blogs", "laws"} {
		for _, size := range []int{100, 300, 1000, 2048, 20000} {
			b.Run(fmt.Sprintf("%s/%d", file, size), func(b *testing.B) {
				docs := pieces(b, file, size, 1<<20)
				per := max(1, 32<<10/size)
				blocks := slices.Collect(slices.Chunk(docs, per))
				sides := []func(d []byte){
					func(d []byte) { w.Fingerprint(nil, d) },
					func(d []byte) { w.Fingerprint(nil, d); m.Sketch(&s, w.Normal()) },
				}
				best := [2][]time.Duration{}
				for i := range best {
					best[i] = slices.Repeat([]time.Duration{math.MaxInt64}, len(blocks))
				}
				for b.Loop() {
					for i, do := range sides {
						for k, block := range blocks {
							start := time.Now()
							for _, d := range block {
								do(d)
							}
							best[i][k] = min(best[i][k], time.Since(start))
						}
					}
				}
				var sum [2]float64
				for i := range best {
					for _, t := range best[i] {
						sum[i] += t.Seconds()
					}
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(sum[1]/sum[0], "x")
				b.ReportMetric(sum[0]*1e6/float64(len(docs)), "fingerprint-µs")
				b.ReportMetric((sum[1]-sum[0])*1e6/float64(len(docs)), "sketch-µs")
			})
		}
	}
}

// pieces cuts the texts of one of the shared files into documents of about
// size bytes, total bytes in all.
func pieces(b *testing.B, file string, size, total int) (docs [][]byte) {
	b.Helper()
	dir := os.Getenv("NEARDUP_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	f, err := os.Open(filepath.Join(dir, "data", "zh", file+".jsonl.gz"))
	if err != nil {
		b.Skip(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() && total > 0 {
		var record struct{ Text string }
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			b.Fatal(err)
		}
		for text := []byte(record.Text); len(text) > 0 && total > 0; {
			n := min(size, len(text))
			for n < len(text) && text[n]&0xc0 == 0x80 {
				n++
			}
			docs, text, total = append(docs, text[:n]), text[n:], total-n
		}
	}
	return docs
}
