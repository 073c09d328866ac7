package lookup_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/lookup"
)

// BenchmarkAdd adds batches of 100 pages of some 2 KB, by one client.
func BenchmarkAdd(b *testing.B) {
	dir := b.TempDir()
	addNight(b, dir, "2026-11-01", config.PresetBalanced, map[string][]string{"k": words(1, 300)})
	s, _ := startAdding(b, dir, lookup.AddedOptions{Pages: 1 << 30}, lookup.ServerOptions{})
	var texts []string
	for i := range 500 {
		texts = append(texts, strings.Join(words(uint64(i), 400), " "))
	}
	n := 0
	for b.Loop() {
		var body strings.Builder
		for range 100 {
			n++
			x, y := texts[n%500], texts[(n/500*7+n)%499]
			body.WriteString(fmt.Sprintf(`{"id":"http://a.example/%d","text":"%s %s"}`, n, x[:len(x)/2], y[len(y)/2:]) + "\n")
		}
		if code, all := addTo(b, s.URL, body.String()); code != http.StatusOK || len(all) != 100 {
			b.Fatal(code)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "pages/s")
}
