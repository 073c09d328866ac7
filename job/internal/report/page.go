package report

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/job/internal/state/decision"
)

//go:embed report.html
var pageFiles embed.FS

var pages = show.Pages(pageFiles, template.FuncMap{
	"bytes": show.Bytes,
	"share": share,
	"named": func(name, empty string) string { return show.Excerpt([]byte(cmp.Or(name, empty)), mostTitle) },
	"below": func(n, i int) bool { return i < n },
	// Records of these reasons are documents all the same.
	"document": func(reason string) bool { return reason == data.ReasonDuplicateID || reason == data.ReasonDeleted },
	"plus":     func(a, b int64) int64 { return a + b },
	"because":  because,
	"table":    func(of, unnamed string, rows any, cleaned bool) table { return table{of, unnamed, rows, cleaned} },
})

// table is what became of documents, by what they are of.
type table struct {
	Of, Unnamed string // what its first column is, and what stands there without a name
	Rows        any
	Cleaned     bool // there is a clean dump
}

// because says why the clean dump leaves documents out.
func because(reason string) string {
	why, ok := map[string]string{
		decision.Copy.String():        " for the representative of their copies",
		decision.Contained.String():   " because another document contains them",
		decision.Earlier.String():     " because an earlier night has them",
		decision.DuplicateID.String(): " because their id stood earlier",
		decision.Deleted.String():     " because the library was told to forget their id",
	}[reason]
	if !ok {
		why = ": " + reason
	}
	return "left out" + why
}

// share writes a part of a whole.
func share(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f\u00a0%%", 100*float64(part)/float64(whole))
}

// histogram is a row of bars, in the page's own units: x grows to the right, y
// downwards.
type histogram struct {
	Name, Axis string
	Bars       []bar
}

type bar struct {
	X, Y, Width, Height float64
	Name                string // of the range that is counted
	Label               string // below the bar; not every one has one
	Count               int64
	Most                bool // no other has more: its count stands above it
	Right               bool // it stands in the right half
}

// Sides of a histogram, without its labels.
const (
	histogramWidth  = 360.0
	histogramHeight = 120.0
)

// bars makes a histogram of counts, of which each has a name. Ranges of
// nothing before the first and behind the last are left out.
func bars(name, axis string, values []int64, nameOf func(int) string) histogram {
	h := histogram{Name: name, Axis: axis}
	from, to, most := -1, 0, int64(0)
	for i, n := range values {
		if n > 0 {
			if from < 0 {
				from = i
			}
			to, most = i+1, max(most, n)
		}
	}
	if from < 0 {
		return h
	}
	const labels = 8
	every := (to-from+labels-1)/labels | 1
	if to-from <= labels {
		every = 1
	}
	width, marked := histogramWidth/float64(max(to-from, 4)), int64(0)
	for i, n := range values[from:to] {
		b := bar{X: float64(i)*width + 1, Width: width - 2, Name: nameOf(from + i), Count: n, Most: n == most && n > marked}
		b.Right, marked = b.X > histogramWidth/2, max(marked, n)
		if n > 0 {
			b.Height = max(1, histogramHeight*float64(n)/float64(most))
		}
		b.Y = histogramHeight - b.Height
		if i%every == 0 {
			b.Label = b.Name
		}
		h.Bars = append(h.Bars, b)
	}
	return h
}
