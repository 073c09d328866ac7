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
	Title     string             `json:"title"`
	Documents int                `json:"documents"`
	Skipped   int                `json:"skipped"`  // records that are no documents, or of an id that is there already
	Labelled  int                `json:"labelled"` // pairs that count
	True      int                `json:"true"`     // pairs that count and are right
	Truth     []Definition       `json:"truth"`    // what makes a pair right, any of these
	Wanted    map[Definition]int `json:"wanted"`   // right pairs by each definition that results state figures by
	Alike     float64            `json:"alike"`    // Jaccard similarity from which on texts are alike
	Results   []*Result          `json:"results"`  // in the order of measuring
	Sweeps    []*sweep           `json:"sweeps"`   // may be empty
}

// Report starts a report of the laboratory's measurements.
func (l *Lab) Report(title string) *Report {
	main := l.criterion(l.options.Truth...)
	r := &Report{
		Title: title, Documents: len(l.corpus.Documents), Skipped: l.corpus.Skipped, Truth: l.options.Truth, Alike: l.options.Alike,
		Labelled: l.tally(l.criterion(TruthLabel)).of, True: l.tally(criterion{wanted: main.right}).of, Wanted: map[Definition]int{},
	}
	for _, d := range l.defined() {
		r.Wanted[d] = l.tally(l.criterion(d)).of
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

// Summary says what was measured, and what is right.
func (r *Report) Summary() string {
	skipped, truth := "", []string{}
	if r.Skipped > 0 {
		skipped = fmt.Sprintf(" (%d records passed over)", r.Skipped)
	}
	for _, d := range r.Truth {
		truth = append(truth, d.name(r.Alike))
	}
	return fmt.Sprintf("%s: %d documents%s, %d true pairs (%s), %d of them labelled", r.Title, r.Documents, skipped, r.True, strings.Join(truth, " or "), r.Labelled)
}

// WriteText writes the report as tables of text.
func (r *Report) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, r.Summary())
	for _, table := range r.Tables() {
		_, _ = fmt.Fprintf(t, "\n%s\n", strings.Join(table.Head, "\t"))
		for _, row := range table.Rows {
			_, _ = fmt.Fprintln(t, strings.Join(row, "\t"))
		}
	}
	return t.Flush()
}

// table is a table of a report, as the page and the text have it.
type table struct {
	Title, Note string // of the page
	Head        []string
	Rows        [][]string
}

// Tables are the tables of the report.
func (r *Report) Tables() []table {
	all := []table{r.methods()}
	if len(r.Results) > 0 {
		all = append(all, r.definitions(), r.clusters())
		if r.Results[0].Contained != nil {
			all = append(all, r.containment())
		}
		all = append(all, r.similarity())
	}
	all = append(all, r.grouped()...)
	sweeps := table{Title: "By distance", Head: []string{"by distance", "pairs", "precision", "recall", "F1", "right at this distance", "wrong"}}
	for _, s := range r.Sweeps {
		var last Share
		for k, p := range s.Points {
			right := p.Precision.Have - last.Have
			sweeps.Rows = append(sweeps.Rows, []string{fmt.Sprintf("%s, k = %d", s.Method, k), fmt.Sprint(p.Pairs), p.Precision.String(), p.Recall.String(), decimal(p.F1),
				fmt.Sprint(right), fmt.Sprint(p.Precision.Of - last.Of - right)})
			last = p.Precision
		}
	}
	if len(sweeps.Rows) > 0 {
		all = append(all, sweeps)
	}
	return all
}

func decimal(x float64) string { return fmt.Sprintf("%.4f", x) }

// interval writes the 95 % interval of a share.
func (s Share) interval() string { return fmt.Sprintf("%.4f–%.4f", s.Low, s.High) }

func (r *Report) methods() table {
	t := table{Title: "Methods", Note: "Recall is of the labelled pairs where there are any. Ranges are 95 % intervals.",
		Head: []string{"method", "pairs", "precision", "95 %", "recall", "95 %", "F1", "best F1", "from score", "J below 0.3", "seconds"}}
	for _, m := range r.Results {
		t.Rows = append(t.Rows, []string{m.Method, fmt.Sprint(m.Pairs), m.Precision.String(), m.Precision.interval(), m.Recall.String(), m.Recall.interval(),
			decimal(m.F1), decimal(m.Best.F1), fmt.Sprintf("%.3f", m.Best.Score), fmt.Sprint(m.Dissimilar), fmt.Sprintf("%.1f", m.Seconds)})
	}
	return t
}

// name writes the definition as a condition.
func (d Definition) name(alike float64) string {
	switch d {
	case TruthLabel:
		return "labelled"
	case TruthJaccard:
		return fmt.Sprintf("J ≥ %.2f", alike)
	case TruthOwn:
		return fmt.Sprintf("own text J ≥ %.2f or C ≥ %.1f", alike, contained)
	}
	return fmt.Sprintf("C ≥ %.1f", contained)
}

func (r *Report) definitions() table {
	t := table{Title: "By definition of truth", Note: "Precision / recall / F1 by each definition alone; a method without a limit of its own is at the best one for each.",
		Head: []string{"precision / recall / F1 by truth"}}
	counts := []string{"(true pairs)"}
	for _, d := range r.Results[0].Definitions {
		t.Head = append(t.Head, d.Truth.name(r.Alike))
		counts = append(counts, fmt.Sprint(r.Wanted[d.Truth]))
	}
	t.Rows = append(t.Rows, counts)
	for _, m := range r.Results {
		cells := []string{m.Method}
		for _, d := range m.Definitions {
			cells = append(cells, fmt.Sprintf("%s / %s / %s", d.Precision, d.Recall, decimal(d.F1)))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func (r *Report) clusters() table {
	t := table{Title: "Clusters", Note: "Documents that pairs connect, against those that true pairs connect. Precision and recall are of pairs, purity of documents in clusters of two or more.",
		Head: []string{"clusters", "clusters", "largest", "precision", "recall", "F1", "purity", "inverse purity"}}
	for _, m := range r.Results {
		c := m.Clusters
		t.Rows = append(t.Rows, []string{m.Method, fmt.Sprint(c.Clusters), fmt.Sprint(c.Largest), c.Precision.String(), c.Recall.String(), decimal(c.F1), c.Purity.String(), c.InversePurity.String()})
	}
	return t
}

func (r *Report) containment() table {
	t := table{Title: "Containment", Note: "Of the pairs of which one text has most of the other.",
		Head: []string{"contained pairs", "reported as same", "as contained", "as either, J < " + fmt.Sprintf("%.2f", r.Alike), "precision of contained"}}
	for _, m := range r.Results {
		c := m.Contained
		t.Rows = append(t.Rows, []string{m.Method, c.Same.counts(), c.Contained.counts(), c.Unlike.counts(), c.Right.counts()})
	}
	return t
}

// counts writes the share with what it is made of.
func (s Share) counts() string { return fmt.Sprintf("%s (%d of %d)", s, s.Have, s.Of) }

func (r *Report) similarity() table {
	t := table{Title: "Recall by similarity", Head: []string{"recall by similarity"}}
	counts := []string{"(true pairs)"}
	for _, b := range slices.Backward(r.Results[0].Bands) {
		t.Head = append(t.Head, b.Name())
		counts = append(counts, fmt.Sprint(b.All.Of))
	}
	t.Rows = append(t.Rows, counts)
	for _, m := range r.Results {
		cells := []string{m.Method}
		for _, b := range slices.Backward(m.Bands) {
			cells = append(cells, b.All.String())
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// grouped brings the groups of all methods together: a table for each way of
// grouping, a row a group, a column a method. A grouping into one group says
// nothing, and is left out, but for one edit.
func (r *Report) grouped() (all []table) {
	for _, by := range groupings {
		t := table{Title: "Precision / recall by " + by}
		if by == byEdit {
			t.Title = "Recall by edit"
		}
		t.Head = []string{strings.ToLower(t.Title), "pairs"}
		for at, m := range r.Results {
			t.Head = append(t.Head, m.Method)
			i := 0 // rows are in the order of every method's groups
			for _, g := range m.Groups {
				if g.By != by {
					continue
				}
				if k := slices.IndexFunc(t.Rows, func(row []string) bool { return row[0] == g.Name }); k >= 0 {
					i = k
				} else {
					i = min(i, len(t.Rows))
					t.Rows = slices.Insert(t.Rows, i, slices.Repeat([]string{"–"}, len(r.Results)+2))
					t.Rows[i][0], t.Rows[i][1] = g.Name, fmt.Sprint(g.Recall.Of)
				}
				t.Rows[i][at+2] = g.Recall.String()
				if by != byEdit {
					t.Rows[i][at+2] = g.Precision.String() + " / " + g.Recall.String()
				}
				i++
			}
		}
		if len(t.Rows) > 1 || by == byEdit && len(t.Rows) > 0 {
			all = append(all, t)
		}
	}
	return all
}

// WriteExamples writes the worst n false pairs and the worst n misses of every
// method, side by side, for a terminal that many cells wide.
func (r *Report) WriteExamples(w io.Writer, n, cells int, colour bool) error {
	for _, m := range r.Results {
		written := map[string]int{}
		for _, e := range m.Examples {
			what := "reports wrongly"
			if e.Missed {
				what = "misses"
			}
			if written[what]++; written[what] > n {
				continue
			}
			if _, err := fmt.Fprintf(w, "\n%s %s: %s · %s (J %.3f, score %.3f)\n", m.Method, what, e.A, e.B, e.Jaccard, e.Score); err != nil {
				return err
			}
			if err := WriteSideBySide(w, e.Rows, cells, colour); err != nil {
				return err
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
	"curves": curves,
	"features": func(name string, list []featurePair) any {
		return struct {
			Name string
			List []featurePair
		}{name, list}
	},
	"first": func(n int, list []featurePair) []featurePair { return list[:min(n, len(list))] },
}).ParseFS(pageFiles, "*.html"))

// WriteHTML writes the report as one page that needs nothing else.
func (r *Report) WriteHTML(w io.Writer) error { return pages.ExecuteTemplate(w, "report.html", r) }
