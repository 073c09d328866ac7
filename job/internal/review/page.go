package review

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/neardup/neardup/job/internal/show"
)

//go:embed review.html
var pageFiles embed.FS

//go:embed review.js
var script string

// say is a text in both languages, of which the page shows one.
func say(english, chinese string) template.HTML {
	return template.HTML(fmt.Sprintf(`<span class="en" lang="en">%s</span><span class="zh" lang="zh">%s</span>`, template.HTMLEscapeString(english), template.HTMLEscapeString(chinese))) //nolint:gosec // they are escaped
}

// rows are an item's texts side by side.
type rows struct {
	Rows []show.Row
	Same bool
}

var pages = show.Pages(pageFiles, template.FuncMap{
	"say": say, "plus": func(a, b int) int { return a + b },
	"short":    func(id string) string { return show.Excerpt([]byte(id), mostID) },
	"stratum":  func(name string) template.HTML { return say(English.stratum(name), Chinese.stratum(name)) },
	"evidence": evidence,
	"shown": func(i Item) rows {
		r, same := i.Rows()
		return rows{r, same}
	},
})

// evidence is what the run knows of a pair, in figures.
func evidence(p *Pair) string {
	var list []string
	if p.Distance >= 0 {
		list = append(list, fmt.Sprintf("distance %d", p.Distance))
	}
	for _, v := range []struct {
		name  string
		value *float64
	}{{"estimate", p.Estimate}, {"J", p.Jaccard}, {"containment", p.Containment}} {
		if v.value != nil {
			list = append(list, fmt.Sprintf("%s %.3f", v.name, *v.value))
		}
	}
	return strings.Join(list, ", ")
}

// WriteHTML writes the pairs as one page that needs nothing else, to be read
// from a file: for a reader, in a language that the page can change.
func (d *Draw) WriteHTML(w io.Writer, items []Item, who string, l Language) error {
	body, err := json.Marshal(d.Pairs)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	return pages.ExecuteTemplate(w, "review.html", struct {
		Run, Who, Key, Digest string
		Language              Language
		Items                 []Item
		Script                template.JS
	}{d.Run, who, hex.EncodeToString(sum[:8]), show.ScriptDigest(script), l, items, template.JS(script)}) //nolint:gosec // it is ours
}
