package eval

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Report is several methods' measurements on the same documents.
type Report struct {
	Title      string       `json:"title"`
	Documents  int          `json:"documents"`
	Skipped    int          `json:"skipped"`    // records that are no documents, or of an id that is there already
	Labelled   int          `json:"labelled"`   // pairs that count
	True       int          `json:"true"`       // pairs that count, labelled or alike
	Alike      float64      `json:"alike"`      // similarity from which on a pair is a true one
	Results    []*Result    `json:"results"`    // in the order of measuring
	Histograms []*Histogram `json:"histograms"` // may be empty
	Sweeps     []*sweep     `json:"sweeps"`     // may be empty
}

// Report starts a report of the laboratory's measurements.
func (l *Lab) Report(title string) *Report {
	r := &Report{Title: title, Documents: len(l.corpus.Documents), Skipped: l.corpus.Skipped, Alike: l.options.Alike}
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
	skipped := ""
	if r.Skipped > 0 {
		skipped = fmt.Sprintf(" (%d records passed over)", r.Skipped)
	}
	if _, err := fmt.Fprintf(w, "%s: %d documents%s, %d true pairs (J ≥ %.2f, or labelled), %d of them labelled\n\n",
		r.Title, r.Documents, skipped, r.True, r.Alike, r.Labelled); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { _, _ = fmt.Fprintln(t, strings.Join(cells, "\t")) }
	row("method", "pairs", "precision", "95 %", "recall", "95 %", "F1", "best F1", "from score", "seconds")
	for _, m := range r.Results {
		row(m.Method, fmt.Sprint(m.Pairs),
			m.Precision.String(), fmt.Sprintf("%.4f–%.4f", m.Precision.Low, m.Precision.High),
			m.Recall.String(), fmt.Sprintf("%.4f–%.4f", m.Recall.Low, m.Recall.High),
			fmt.Sprintf("%.4f", m.F1), fmt.Sprintf("%.4f", m.Best.F1), fmt.Sprintf("%.3f", m.Best.Score), fmt.Sprintf("%.1f", m.Seconds))
	}
	row()
	byBand := func(name string, bands []band, cell func(band) string) {
		cells := []string{name}
		for _, b := range downwards(bands) {
			cells = append(cells, cell(b))
		}
		row(cells...)
	}
	for i, m := range r.Results {
		if i == 0 {
			byBand("recall by similarity", m.Bands, band.Name)
			byBand("(true pairs)", m.Bands, func(b band) string { return fmt.Sprint(b.All.Of) })
		}
		byBand(m.Method, m.Bands, func(b band) string { return b.All.String() })
	}
	r.writeGroups(row)
	if len(r.Sweeps) > 0 {
		row()
		row("by distance", "pairs", "precision", "recall", "F1")
	}
	for _, s := range r.Sweeps {
		for _, p := range s.Points {
			row(fmt.Sprintf("%s, k = %d", s.Method, p.K), fmt.Sprint(p.Pairs), p.Precision.String(), p.Recall.String(), fmt.Sprintf("%.4f", p.F1))
		}
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

// writeGroups writes, for each way of grouping, precision and recall of every
// method: a row a group.
func (r *Report) writeGroups(row func(cells ...string)) {
	for _, by := range r.grouped() {
		row()
		head := []string{"precision / recall by " + by.By}
		if by.By == byEdit {
			head[0] = "recall by edit"
		}
		for _, m := range r.Results {
			head = append(head, m.Method)
		}
		row(head...)
		for _, g := range by.Rows {
			cells := []string{g.Name}
			for _, c := range g.Cells {
				if by.By == byEdit {
					cells = append(cells, c.Recall.String())
				} else {
					cells = append(cells, c.Precision.String()+" / "+c.Recall.String())
				}
			}
			row(cells...)
		}
	}
}

// grouping is one way of grouping as a table: a row a group, a column a
// method.
type grouping struct {
	By   string
	Rows []groupRow
}

type groupRow struct {
	Name  string
	Cells []group
}

// grouped brings the groups of all methods together. A grouping into one group
// says nothing, and is left out.
func (r *Report) grouped() []grouping {
	var all []grouping
	for _, by := range []string{byLength, byScript, byCategory, byEdit} {
		g := grouping{By: by}
		for at, m := range r.Results {
			i := 0 // rows are in the order of every method's groups
			for _, one := range m.Groups {
				if one.By != by {
					continue
				}
				if k := slices.IndexFunc(g.Rows, func(x groupRow) bool { return x.Name == one.Name }); k >= 0 {
					i = k
				} else {
					i = min(i, len(g.Rows))
					g.Rows = slices.Insert(g.Rows, i, groupRow{one.Name, make([]group, len(r.Results))})
				}
				g.Rows[i].Cells[at] = one
				i++
			}
		}
		if len(g.Rows) > 1 {
			all = append(all, g)
		}
	}
	return all
}

// WriteExamples writes the worst n false pairs and the worst n misses of every
// method, side by side, for a terminal that many cells wide.
func (r *Report) WriteExamples(w io.Writer, n, cells int, colour bool) error {
	for _, m := range r.Results {
		for _, list := range []struct {
			name     string
			examples []examplePair
		}{{"reports wrongly", m.False}, {"misses", m.Missed}} {
			for _, e := range list.examples[:min(n, len(list.examples))] {
				if _, err := fmt.Fprintf(w, "\n%s %s: %s · %s (J %.3f, score %.3f)\n", m.Method, list.name, e.A, e.B, e.Jaccard, e.Score); err != nil {
					return err
				}
				if err := WriteSideBySide(w, e.Rows, cells, colour); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Name writes the band as a range.
func (b band) Name() string {
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

//go:embed report.html explain.html plot.html style.html
var pageFiles embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"down":      downwards,
	"curves":    curves,
	"distances": distances,
	"bars":      bars,
	"wanted": func(cells []group) (n int) {
		for _, c := range cells {
			n = max(n, c.Recall.Of)
		}
		return n
	},
	"features": func(name string, list []featurePair) any {
		return struct {
			Name string
			List []featurePair
		}{name, list}
	},
	"first": func(n int, list []featurePair) []featurePair { return list[:min(n, len(list))] },
}).ParseFS(pageFiles, "*.html"))

// WriteHTML writes the report as one page that needs nothing else.
func (r *Report) WriteHTML(w io.Writer) error {
	return pages.ExecuteTemplate(w, "report.html", struct {
		*Report
		Grouped []grouping
	}{r, r.grouped()})
}

// downwards lists bands from the most alike on.
func downwards(bands []band) []band {
	out := slices.Clone(bands)
	slices.Reverse(out)
	return out
}

// Shade is the lightness of the band's cell in the page, in percent: the
// higher the recall, the darker.
func (b band) Shade() float64 { return 97 - 25*b.All.Value }
