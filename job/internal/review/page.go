package review

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/show"
)

//go:embed review.html
var pageFiles embed.FS

//go:embed review.js
var script string

// say is a message in both languages, of which the page shows one.
func say(key string, args ...any) template.HTML {
	return both(func(l message.Language) string { return l.Text(key, args...) })
}

func both(text func(message.Language) string) template.HTML {
	var b strings.Builder
	for _, l := range []message.Language{message.English, message.Chinese} {
		fmt.Fprintf(&b, `<span class="%s" lang="%s">%s</span>`, l, l, template.HTMLEscapeString(text(l)))
	}
	return template.HTML(b.String()) //nolint:gosec // it is escaped
}

// scripted are the messages that the script has.
var scripted = []string{
	message.Key("%s of %s judged: %s yes, %s no, %s unsure"),
	message.Key(". This browser keeps nothing: save before you leave"),
}

// forScript are these in each language.
func forScript() map[message.Language]map[string]string {
	all := map[message.Language]map[string]string{}
	for _, l := range []message.Language{message.English, message.Chinese} {
		all[l] = map[string]string{}
		for _, key := range scripted {
			all[l][key] = l.Text(key, slices.Repeat([]any{"%s"}, strings.Count(key, "%s"))...)
		}
	}
	return all
}

// rows are an item's texts side by side.
type rows struct {
	Rows []show.Row
	Same bool
}

var pages = show.Pages(pageFiles, template.FuncMap{
	"say": say, "plus": func(a, b int) int { return a + b },
	"short": func(id string) string { return show.Excerpt([]byte(id), mostID) },
	"stratum": func(name string) template.HTML {
		return both(func(l message.Language) string { return stratum(l, name) })
	},
	"messages": forScript,
	"evidence": func(p *Pair) template.HTML {
		return both(func(l message.Language) string { return evidence(l, p) })
	},
	"failed": func(err error) template.HTML {
		return both(func(l message.Language) string { return show.Visible(l.Error(err)) })
	},
	"shown": func(i Item) rows {
		r, same := i.Rows()
		return rows{r, same}
	},
})

// evidence is what the run knows of a pair, in figures.
func evidence(l message.Language, p *Pair) string {
	var list []string
	if p.Distance >= 0 {
		list = append(list, l.Text("distance %d", p.Distance))
	}
	for _, v := range []struct {
		form  string
		value *float64
	}{{message.Key("estimate %.3f"), p.Estimate}, {message.Key("J %.3f"), p.Jaccard}, {message.Key("containment %.3f"), p.Containment}} {
		if v.value != nil {
			list = append(list, l.Text(v.form, *v.value))
		}
	}
	return strings.Join(list, l.Text(", "))
}

// WriteHTML writes the pairs as one page that needs nothing else, to be read
// from a file: for a reader, in a language that the page can change.
func (d *Draw) WriteHTML(w io.Writer, items []Item, who string, l message.Language) error {
	body, err := json.Marshal(d.Pairs)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	return pages.ExecuteTemplate(w, "review.html", struct {
		Run, Who, Key, Digest string
		Language              message.Language
		Items                 []Item
		Script                template.JS
	}{d.Run, who, hex.EncodeToString(sum[:8]), show.ScriptDigest(script), l, items, template.JS(script)}) //nolint:gosec // it is ours
}
