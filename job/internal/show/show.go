// Package show shows documents to a person, on a page or a terminal: two texts
// side by side, lines and columns, and the look that all pages have in common. What it shows
// comes from a crawl and is hostile until it is escaped. It never reads a file
// of a run and decides nothing.
package show

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"
	"unicode"

	"github.com/neardup/neardup/job/internal/version"
)

//go:embed style.html
var style embed.FS

// Pages parses the pages in files, *.html, which need nothing but themselves:
// no network, and no script but the one whose digest the template "head" is
// given (ScriptDigest). Beside their own functions they have "visible",
// "address", "number", "noun" and the templates "head", "rows", "side" and
// "foot", which says what made the page, and by the settings that it is
// given.
func Pages(files embed.FS, functions template.FuncMap) *template.Template {
	t := template.New("").Funcs(template.FuncMap{"visible": Visible, "address": address, "made": made, "number": numberOf, "noun": nounOf}).Funcs(functions)
	return template.Must(template.Must(t.ParseFS(style, "*.html")).ParseFS(files, "*.html"))
}

// ScriptDigest is what a page's Content-Security-Policy allows its own script
// by: no other runs, whatever the documents on the page hold.
func ScriptDigest(script string) string {
	sum := sha256.Sum256([]byte(script))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// breaking puts a place to break behind what divides a URL, but for what escapes
// are made of.
var breaking = strings.NewReplacer(".", ".<wbr>", "/", "/<wbr>", "?", "?<wbr>", "=", "=<wbr>", "_", "_<wbr>")

// address is Visible of a host's name or a URL, which breaks between its parts
// before it does within one.
func address(text string) template.HTML {
	return template.HTML(breaking.Replace(template.HTMLEscapeString(Visible(text)))) //nolint:gosec // it is escaped
}

// made says what makes a page, and not when: the same run has the same page.
func made() string { return "neardup " + version.Version }

// Visible writes what a reader could not see, or what would make the text look
// like another one, as its code point: control characters, marks that change
// the direction of writing, spaces without width. Spaces, tabs and line breaks
// stay; bytes that are no UTF-8 become U+FFFD.
func Visible(text string) string { return visible(text, "\t\n\r") }

// visible is Visible, where but these control characters are hidden ones.
func visible(text, but string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	hides := func(c rune) bool { return hidden(c) && !strings.ContainsRune(but, c) }
	if strings.IndexFunc(text, hides) < 0 {
		return text
	}
	var b strings.Builder
	for _, c := range text {
		if hides(c) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// hidden reports whether c cannot be seen. The joiners are part of how some
// scripts and emoji are written.
func hidden(c rune) bool {
	const nonJoiner, joiner, softHyphen = '\u200c', '\u200d', '\u00ad'
	switch c {
	case nonJoiner, joiner, softHyphen:
		return false
	case '\u2028', '\u2029':
		return true
	}
	return unicode.In(c, unicode.Cc, unicode.Cf)
}

// Excerpt returns the first characters of a text, in valid UTF-8, with an
// ellipsis if there are more.
func Excerpt(text []byte, most int) string {
	valid := strings.ToValidUTF8(string(text[:min(len(text), 4*most+4)]), "\ufffd")
	n := 0
	for i := range valid {
		if n == most {
			return valid[:i] + "…"
		}
		n++
	}
	return valid
}
