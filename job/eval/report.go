package eval

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
	"text/tabwriter"
)

// Report is several methods' measurements on the same documents.
type Report struct {
	Title      string       `json:"title"`
	Documents  int          `json:"documents"`
	Labelled   int          `json:"labelled"`   // pairs that count
	True       int          `json:"true"`       // pairs that count, labelled or alike
	Alike      float64      `json:"alike"`      // similarity from which on a pair is a true one
	Results    []*Result    `json:"results"`    // in the order of measuring
	Histograms []*Histogram `json:"histograms"` // may be empty
}

// Report starts a report of the laboratory's measurements.
func (l *Lab) Report(title string) *Report {
	r := &Report{Title: title, Documents: len(l.corpus.Documents), Alike: l.options.Alike}
	for p, t := range l.truth {
		if l.counts(p) {
			r.True++
			if t.Labelled {
				r.Labelled++
			}
		}
	}
	return r
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// WriteText writes the report as tables of text.
func (r *Report) WriteText(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%s: %d documents, %d true pairs (J ≥ %.2f, or labelled), %d of them labelled\n\n",
		r.Title, r.Documents, r.True, r.Alike, r.Labelled); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { _, _ = fmt.Fprintln(t, strings.Join(cells, "\t")) }
	row("method", "pairs", "precision", "95 %", "recall", "95 %", "F1", "best F1", "from score", "seconds")
	for _, m := range r.Results {
		row(m.Method, fmt.Sprint(m.Pairs),
			fmt.Sprintf("%.4f", m.Precision.Value), fmt.Sprintf("%.4f–%.4f", m.Precision.Low, m.Precision.High),
			fmt.Sprintf("%.4f", m.Recall.Value), fmt.Sprintf("%.4f–%.4f", m.Recall.Low, m.Recall.High),
			fmt.Sprintf("%.4f", m.F1), fmt.Sprintf("%.4f", m.Best.F1), fmt.Sprintf("%.3f", m.Best.Score), fmt.Sprintf("%.1f", m.Seconds))
	}
	row()
	head := []string{"recall by similarity"}
	if len(r.Results) > 0 {
		bands := r.Results[0].Bands
		for i := len(bands) - 1; i >= 0; i-- {
			head = append(head, bands[i].Name())
		}
		row(head...)
		count := []string{"(true pairs)"}
		for i := len(bands) - 1; i >= 0; i-- {
			count = append(count, fmt.Sprint(bands[i].All.Of))
		}
		row(count...)
	}
	for _, m := range r.Results {
		cells := []string{m.Method}
		for i := len(m.Bands) - 1; i >= 0; i-- {
			cells = append(cells, m.Bands[i].All.String())
		}
		row(cells...)
	}
	for _, h := range r.Histograms {
		row()
		row("pairs by distance", "true", "false", h.Features)
		for d := range h.True {
			row(fmt.Sprint(d), fmt.Sprint(h.True[d]), fmt.Sprint(h.False[d]))
		}
	}
	return t.Flush()
}

// Name writes the band as a range.
func (b Band) Name() string {
	switch {
	case b.Low == 0:
		return fmt.Sprintf("J < %.1f", b.High)
	case b.High == 1:
		return fmt.Sprintf("J ≥ %.1f", b.Low)
	}
	return fmt.Sprintf("%.1f–%.1f", b.Low, b.High)
}

// String writes the share, or a dash when it is of nothing.
func (s Share) String() string {
	if s.Of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.4f", s.Value)
}

//go:embed report.html
var pageFiles embed.FS

var page = template.Must(template.New("report.html").Funcs(template.FuncMap{
	"curve": curvePoly,
	"hue":   func(i int) int { return i * 137 % 360 },
	"line":  func(i int) int { return 20 + 16*i },
	"down":  downwards,
	"bars":  bars,
}).ParseFS(pageFiles, "report.html"))

// WriteHTML writes the report as one page that needs nothing else.
func (r *Report) WriteHTML(w io.Writer) error { return page.Execute(w, r) }

// Sides of a plot in the page, in its own units.
const (
	plotSide   = 360.0
	plotHeight = 160.0
)

// curvePoly is a precision-recall curve as an SVG point list: recall to the
// right, precision upwards.
func curvePoly(points []Point) string {
	var b strings.Builder
	for _, p := range points {
		fmt.Fprintf(&b, "%.1f,%.1f ", p.Recall*plotSide, (1-p.Precision)*plotSide)
	}
	return b.String()
}

// downwards lists bands from the most alike on.
func downwards(bands []Band) []Band {
	out := make([]Band, 0, len(bands))
	for i := len(bands) - 1; i >= 0; i-- {
		out = append(out, bands[i])
	}
	return out
}

// bar is a column of a histogram in the page's units.
type bar struct {
	Distance, True, False   int
	X, Width                float64
	TrueHeight, FalseHeight float64
}

// bars scales a histogram: the height is the share of true and false pairs at
// each distance.
func bars(h *Histogram) []bar {
	var out []bar
	width := 2 * plotSide / float64(len(h.True))
	for d := range h.True {
		b := bar{Distance: d, True: h.True[d], False: h.False[d], X: float64(d) * width, Width: width - 2}
		if n := float64(b.True + b.False); n > 0 {
			b.TrueHeight = plotHeight * float64(b.True) / n
			b.FalseHeight = plotHeight - b.TrueHeight
		}
		out = append(out, b)
	}
	return out
}

// Shade is the lightness of the band's cell in the page, in percent: the
// higher the recall, the darker.
func (b Band) Shade() float64 { return 97 - 25*b.All.Value }
