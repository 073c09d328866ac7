package eval

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/show"
)

// Report is several methods' measurements on the same documents.
type Report struct {
	Title     string    `json:"title"`
	Documents int       `json:"documents"`
	Skipped   int       `json:"skipped"`             // records that are no documents, or of an id that is there already
	Labelled  int       `json:"labelled"`            // pairs that count and are labelled as near-duplicates
	Elsewhere int       `json:"elsewhere,omitempty"` // labelled pairs with a document of an earlier night, which are left out
	Denied    int       `json:"denied"`              // labelled as none
	Unsure    int       `json:"unsure"`              // labelled as neither: they count for nothing
	True      int       `json:"true"`                // pairs that count and are right
	Truth     string    `json:"truth"`               // what makes a pair right
	Alike     float64   `json:"alike"`               // Jaccard similarity from which on texts are alike
	Results   []*Result `json:"results"`             // in the order of measuring
	Sweeps    []*sweep  `json:"sweeps"`              // may be empty
}

// Report starts a report of the laboratory's measurements.
func (l *Lab) Report(title string) *Report {
	r := &Report{
		Title: title, Documents: len(l.corpus.Documents), Skipped: l.corpus.Skipped, Alike: l.options.Alike,
		Labelled: l.tally(criterion{wanted: TruthLabel}).of, True: l.tally(criterion{wanted: l.options.Truth}).of,
		Denied: l.counted(l.corpus.Denied), Unsure: l.counted(l.corpus.Unsure), Elsewhere: l.corpus.Elsewhere,
	}
	for _, d := range Definitions() {
		if l.options.Truth&d.Truth != 0 {
			r.Truth = strings.TrimPrefix(r.Truth+anyOf+d.condition(r.Alike), anyOf)
		}
	}
	return r
}

// counted is how many of the pairs are of the half that is measured.
func (l *Lab) counted(pairs []Pair) (n int) {
	for _, p := range pairs {
		if l.counts(p) {
			n++
		}
	}
	return n
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// Summary says what was measured, and what is right.
func (r *Report) Summary(l message.Language) string {
	documents := l.Count(int64(r.Documents), "document")
	if r.Skipped > 0 {
		documents += l.Text(" (%s skipped)", l.Count(int64(r.Skipped), "record"))
	}
	text := l.Text("%s: %s, %s (%s), %d of them labelled", r.Title, documents, l.Count(int64(r.True), "true pair"), r.right(l), r.Labelled)
	if r.Denied+r.Unsure > 0 {
		text += l.Text("; %d labelled as not the same, %d as unsure", r.Denied, r.Unsure)
	}
	if r.Elsewhere > 0 {
		text += l.Text("; %d with a document of an earlier night left out", r.Elsewhere)
	}
	return text
}

// right says what makes a pair right.
func (r *Report) right(l message.Language) string {
	all := strings.Split(r.Truth, anyOf)
	for i, condition := range all {
		all[i] = l.Name(condition)
	}
	return strings.Join(all, l.Text(" or "))
}

// anyOf stands between the conditions of Truth.
const anyOf = " or "

// Settings says by what was measured, for the foot of the page.
func (r *Report) Settings(l message.Language) string {
	methods := make([]string, len(r.Results))
	for i, m := range r.Results {
		methods[i] = m.Method
	}
	return l.Text("right is: %s; methods: %s", r.right(l), strings.Join(methods, ", "))
}

// WriteText writes the report as tables of text.
func (r *Report) WriteText(w io.Writer, l message.Language) error {
	_, err := fmt.Fprintln(w, show.Line(r.Summary(l)))
	for _, t := range r.Tables(l) {
		var c show.Columns
		c.Row("")
		c.Texts(t.Head)
		for _, row := range t.Rows {
			c.Texts(row)
		}
		err = errors.Join(err, c.Write(w))
	}
	return err
}

// table is a table of a report, as the page and the text have it.
type table struct {
	Title, Note string // of the page
	Head        []string
	Rows        [][]string
}

// Tables are the tables of the report.
func (r *Report) Tables(l message.Language) []table {
	all := []table{r.each(l.Text("Methods"), l.Text("Recall is of the labelled pairs where there are any. Ranges are 95 %% intervals."),
		l.Text("method/pairs/precision/95 %%/recall/95 %%/F1/best F1/from score/J below 0.3/seconds/source"), func(m *Result) []any {
			return []any{m.Pairs, m.Precision, m.Precision.interval(), m.Recall, m.Recall.interval(), m.F1, m.Best.F1,
				fmt.Sprintf("%.3f", m.Best.Score), m.Dissimilar, fmt.Sprintf("%.1f", m.Seconds), l.Help(m.Source)}
		})}
	if len(r.Results) > 0 {
		all = append(all, r.definitions(l), r.clusters(l))
		if r.Results[0].Contained != nil {
			all = append(all, r.each(l.Text("Containment"), l.Text("Of the pairs of which one text has most of the other."),
				l.Text("contained pairs/reported as same/as contained/as either, J < %.2f/precision of contained", r.Alike), func(m *Result) []any {
					c := m.Contained
					return []any{c.Same.counts(l), c.Contained.counts(l), c.Unlike.counts(l), c.Right.counts(l)}
				}))
		}
		all = append(all, r.similarity(l))
	}
	all = append(all, r.grouped(l)...)
	sweeps := table{Title: l.Text("By distance"), Head: strings.Split(l.Text("by distance/pairs/precision/recall/F1/right at this distance/wrong"), "/")}
	for _, s := range r.Sweeps {
		var last Share
		for k, p := range s.Points {
			right := p.Precision.Have - last.Have
			sweeps.add(fmt.Sprintf("%s, k = %d", s.Method, k), p.Pairs, p.Precision, p.Recall, p.F1, right, p.Precision.Of-last.Of-right)
			last = p.Precision
		}
	}
	if len(sweeps.Rows) > 0 {
		all = append(all, sweeps)
	}
	return all
}

// each returns a table of a row a method; slashes divide its head.
func (r *Report) each(title, note, head string, cells func(*Result) []any) table {
	t := table{Title: title, Note: note, Head: strings.Split(head, "/")}
	for _, m := range r.Results {
		t.add(m.Method, cells(m)...)
	}
	return t
}

// add adds a row.
func (t *table) add(name string, cells ...any) {
	row := []string{name}
	for _, c := range cells {
		if x, ok := c.(float64); ok {
			c = fmt.Sprintf("%.4f", x)
		}
		row = append(row, fmt.Sprint(c))
	}
	t.Rows = append(t.Rows, row)
}

// interval writes the 95 % interval of a share.
func (s Share) interval() string { return fmt.Sprintf("%.4f–%.4f", s.Low, s.High) }

// counts writes the share with what it is made of.
func (s Share) counts(l message.Language) string { return l.Text("%s (%d of %d)", s, s.Have, s.Of) }

// across returns a table of a row a method, whose columns name yields for the
// first of them, with how many true pairs each has.
func across(r *Report, l message.Language, title, note, head string, columns func(m *Result, yield func(name string, pairs int, cell any))) table {
	t := table{Title: title, Note: note, Head: []string{head}}
	for i, m := range r.Results {
		var counts, cells []any
		columns(m, func(name string, pairs int, cell any) {
			if counts, cells = append(counts, pairs), append(cells, cell); i == 0 {
				t.Head = append(t.Head, name)
			}
		})
		if i == 0 {
			t.add(l.Text("(true pairs)"), counts...)
		}
		t.add(m.Method, cells...)
	}
	return t
}

func (r *Report) definitions(l message.Language) table {
	return across(r, l, l.Text("By definition of truth"), l.Text("Precision, recall and F1 by each definition alone; a method without a limit of its own is at the best one for each."),
		l.Text("precision / recall / F1 by truth"), func(m *Result, yield func(string, int, any)) {
			for _, d := range m.Definitions {
				yield(l.Name(d.Condition), d.Recall.Of, fmt.Sprintf("%s / %s / %.4f", d.Precision, d.Recall, d.F1))
			}
		})
}

func (r *Report) clusters(l message.Language) table {
	return r.each(l.Text("Clusters"), l.Text("Documents that pairs connect, against those that true pairs connect; copies that contain each other and no third are one cluster. Precision and recall are of pairs, purity is of documents in clusters of two or more."),
		l.Text("clusters/clusters/largest/precision/recall/F1/purity/inverse purity"), func(m *Result) []any {
			c := &m.Clusters
			return []any{c.Clusters, c.Largest, c.Precision, c.Recall, c.F1, c.Purity, c.InversePurity}
		})
}

func (r *Report) similarity(l message.Language) table {
	return across(r, l, l.Text("Recall by similarity"), "", l.Text("recall by similarity"), func(m *Result, yield func(string, int, any)) {
		for _, b := range slices.Backward(m.Bands) {
			yield(b.Name(), b.All.Of, b.All)
		}
	})
}

// grouped brings the groups of all methods together: a table for each way of
// grouping, a row a group, a column a method. A grouping into one group says
// nothing, and is left out, but for one edit.
func (r *Report) grouped(l message.Language) (all []table) {
	for _, by := range groupings {
		t := table{Title: l.Text("Precision / recall by %s", l.Name(by))}
		if by == byEdit {
			t.Title = l.Text("Recall by edit")
		}
		t.Head = []string{strings.ToLower(t.Title), l.Text("pairs")}
		for at, m := range r.Results {
			t.Head = append(t.Head, m.Method)
			i := 0 // rows are in the order of every method's groups
			for _, g := range m.Groups {
				if g.By != by {
					continue
				}
				if k := slices.IndexFunc(t.Rows, func(row []string) bool { return row[0] == l.Name(g.Name) }); k >= 0 {
					i = k
				} else {
					i = min(i, len(t.Rows))
					t.Rows = slices.Insert(t.Rows, i, slices.Repeat([]string{"–"}, len(r.Results)+2))
					t.Rows[i][0], t.Rows[i][1] = l.Name(g.Name), fmt.Sprint(g.Recall.Of)
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
func (r *Report) WriteExamples(w io.Writer, l message.Language, n, cells int, colour bool) error {
	for _, m := range r.Results {
		written := map[string]int{}
		for _, e := range m.Examples {
			what := l.Text("reports wrongly")
			if e.Missed {
				what = l.Text("misses")
			}
			if written[what]++; written[what] > n {
				continue
			}
			if _, err := fmt.Fprintln(w, "\n"+l.Text("%s %s: %s · %s (J %.3f, score %.3f)", m.Method, what, show.Line(e.A), show.Line(e.B), e.Jaccard, e.Score)); err != nil {
				return err
			}
			if err := show.WriteSideBySide(w, e.Rows, cells, colour, func(n int) string { return l.Text("… %d the same …", n) }); err != nil {
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

//go:embed report.html explain.html plot.html
var pageFiles embed.FS

// write writes a page in a language.
func write(w io.Writer, name string, l message.Language, shown any) error {
	pages := show.Pages(pageFiles, template.FuncMap{
		"language": func() message.Language { return l },
		"say":      func(key string, args ...any) string { return l.Text(key, args...) },
		"word":     l.Name,
		"curves":   curves,
		"named":    func(name string, list []featurePair) namedFeatures { return namedFeatures{name, list} },
		"first":    func(n int, list []featurePair) []featurePair { return list[:min(n, len(list))] },
	})
	return pages.ExecuteTemplate(w, name, shown)
}

// namedFeatures are features under a heading, which is a message.
type namedFeatures struct {
	Name string
	List []featurePair
}

// WriteHTML writes the report as one page that needs nothing else.
func (r *Report) WriteHTML(w io.Writer, l message.Language) error {
	return write(w, "report.html", l, r)
}
