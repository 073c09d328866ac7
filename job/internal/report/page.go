package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/job/internal/state/decision"
)

//go:embed report.html against.html index.html
var pageFiles embed.FS

//go:embed report.js
var script string

// pages are the pages in each language.
var pages = map[message.Language]*template.Template{message.English: pagesIn(message.English), message.Chinese: pagesIn(message.Chinese)}

func pagesIn(l message.Language) *template.Template {
	return show.Pages(pageFiles, template.FuncMap{
		"say":      func(key string, args ...any) string { return l.Text(key, args...) },
		"some":     func(n any, thing string) string { return l.Count(show.Integer(n), thing) },
		"word":     l.Name,
		"bytes":    show.Bytes,
		"share":    share,
		"percent":  percent,
		"named":    func(name, empty string) string { return named(l, name, empty) },
		"below":    func(n, i int) bool { return i < n },
		"document": func(reason string) bool { return reason == data.ReasonDuplicateID || reason == data.ReasonDeleted }, // records that are documents all the same
		"because":  func(reason string) string { return because(l, reason) },
		"evidence": func(p shownPair) string { return p.text(l) },
		"failed":   l.Error,
		"space":    l.Space,
		"moved":    moved,
		"whole":    func(v float64) int64 { return int64(math.Round(v)) },
		"int64":    func(n int) int64 { return int64(n) },
		"signed":   signed,
		"plus":     func(a, b int64) int64 { return a + b },
		"table":    func(of, unnamed string, rows any, cleaned bool) table { return table{of, unnamed, rows, cleaned} },
		"chart":    func(name, axis string, h histogram) chart { return chart{name, axis, h} },
		"titled":   func(id, title string) section { return section{id, title} },
		"query": func(run, sql string) string {
			return strings.ReplaceAll(sql, "RUN", strings.ReplaceAll(run, "'", "''"))
		},
		"pair":   func(kind string, p pair, open bool) shownPair { return shownPair{p, kind, open, false} },
		"opened": func(h hit, open bool) shownHit { return shownHit{h, open} },
		"member": func(p pair, open bool) shownPair { return shownPair{p, "", open, true} },
		"script": func() template.JS { return template.JS(script) }, //nolint:gosec // it is ours
		"digest": func() string { return show.ScriptDigest(script) },
	})
}

// write writes a page in a language.
func write(w io.Writer, name string, l message.Language, shown any) error {
	if pages[l] == nil {
		l = message.English
	}
	return pages[l].ExecuteTemplate(w, name, struct {
		Language message.Language
		R        any
	}{l, shown})
}

// table is what became of documents, by what they are of.
type table struct {
	Of, Unnamed string // messages: what its first column is, and what stands there without a name
	Rows        any
	Cleaned     bool // there is a clean dump
}

// chart is a histogram with its name and what its axis is, both messages.
type chart struct {
	Name, Axis string
	histogram
}

// section is a heading and its anchor.
type section struct{ ID, Title string }

// shownPair is a pair of a list of a kind.
type shownPair struct {
	pair
	Kind   string
	Open   bool
	Member bool // of a cluster, whose other document stands above
}

// shownHit is a hit of a list.
type shownHit struct {
	hit

	Open bool
}

// named is a name, or what stands for none, as a message.
func named(l message.Language, name, empty string) string {
	switch {
	case name == others:
		return l.Text(others)
	case name == "" && empty != "":
		return l.Text(empty)
	}
	return show.Excerpt([]byte(name), mostTitle)
}

// because says why the clean dump leaves documents out.
func because(l message.Language, reason string) string {
	switch reason {
	case decision.Copy.String():
		return l.Text("left out: a copy of the page that its cluster keeps")
	case decision.Contained.String():
		return l.Text("left out: contained in another document")
	case decision.InHistory.String():
		return l.Text("left out: already in an earlier night")
	case decision.DuplicateID.String():
		return l.Text("left out: duplicate id")
	case decision.Deleted.String():
		return l.Text("left out: id deleted from the library")
	}
	return l.Text("left out: %s", reason)
}

// text says what is known of a pair.
func (e evidence) text(l message.Language) string {
	var list []string
	for _, name := range []string{e.Reason, e.Verdict} {
		if name != "" {
			list = append(list, l.Name(name))
		}
	}
	if e.Distance >= 0 {
		list = append(list, l.Text("distance %d", e.Distance))
	}
	for _, f := range []struct {
		form  string
		value float64
	}{{message.Key("estimate %.2f"), e.Estimate}, {message.Key("J %.3f"), e.Jaccard}, {message.Key("containment %.3f"), e.Containment}} {
		if !math.IsNaN(f.value) {
			list = append(list, l.Text(f.form, f.value))
		}
	}
	return strings.Join(list, l.Text(", "))
}

// share writes a part of a whole.
func share(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return percent(float64(part) / float64(whole))
}

func percent(share float64) string { return fmt.Sprintf("%.1f\u00a0%%", 100*share) }

// moved is how far a share has moved, in points, or a count, in percent.
func moved(c change) string {
	if c.IsShare() {
		return fmt.Sprintf("%+.1f", 100*(c.Share-c.Before))
	}
	if c.Before == 0 {
		return "–"
	}
	return fmt.Sprintf("%+.1f\u00a0%%", 100*(float64(c.Count)/c.Before-1))
}

// signed writes a difference.
func signed(n int64) string {
	switch {
	case n > 0:
		return "+" + show.Number(n)
	case n < 0:
		return "−" + show.Number(-n)
	}
	return "0"
}

// histogram is a row of bars, in the page's own units: x grows to the right, y
// downwards.
type histogram struct {
	Bars []bar
	Log  bool // heights are logarithms: one bar has nearly all
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

// logShare is the share of all that one bar has where heights are logarithms.
const logShare = 0.7

// bars makes a histogram of counts, of which each has a name. Ranges of
// nothing before the first and behind the last are left out.
func bars(values []int64, nameOf func(int) string) (h histogram) {
	from, to, sum := -1, 0, int64(0)
	for i, n := range values {
		sum += n
		if n > 0 {
			if from < 0 {
				from = i
			}
			to = i + 1
		}
	}
	if from < 0 {
		return h
	}
	most := slices.Max(values)
	h.Log = most < sum && float64(most) > logShare*float64(sum)
	height := func(n int64) float64 {
		if h.Log {
			return math.Log1p(float64(n)) / math.Log1p(float64(most))
		}
		return float64(n) / float64(most)
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
			b.Height = max(1, histogramHeight*height(n))
		}
		b.Y = histogramHeight - b.Height
		if i%every == 0 {
			b.Label = b.Name
		}
		h.Bars = append(h.Bars, b)
	}
	return h
}
