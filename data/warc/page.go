package warc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/markusmobius/go-htmldate"
	"github.com/markusmobius/go-trafilatura"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// DefaultMaxPage is ReaderOptions.MaxPage when it is 0: how many bytes of
	// an HTML page are parsed.
	DefaultMaxPage = 4 << 20
	// maxNodes is how large a page's tree may be for its main text to be
	// looked for, which takes more than linear time in bad cases. Of a larger
	// page all visible text is taken.
	maxNodes = 40_000
	// minShare is the least share, in percent, that the main text must have
	// of all visible text. Below it the extraction took a menu that all pages
	// of a site have in common, which would make duplicates of them: on the
	// 242 pages that this was measured with, 116 had a main text of their own
	// without the rule and 217 with it, of 229 whose visible text differs.
	minShare = 25
)

// page takes the title and the main text of an HTML page, which is UTF-8. A
// page without a main text that can be trusted gives all its visible text, and
// without main every page does. What the parser or the
// extraction cannot take is an error, never a panic.
func page(title, text, body []byte, main bool) (_, _ []byte, err error) {
	defer func() { // the libraries are others' code, and pages are anything
		if p := recover(); p != nil {
			err = fmt.Errorf("the extraction failed: %v", p)
		}
	}()
	root, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return title, text, err
	}
	title = clean(title, titleOf(root))
	from := len(text)
	text = visible(text, root)
	if all := len(text) - from; main && all > 0 && measure(root) <= maxNodes {
		text = mainText(text, root)
		if own := len(text) - from - all; own*100 >= all*minShare {
			copy(text[from:], text[from+all:])
			text = text[:from+own]
		} else {
			text = text[:from+all]
		}
	}
	if len(text) == from {
		return title, text, errors.New("the page has no text")
	}
	return title, text, nil
}

// measure counts the nodes of a tree.
func measure(root *html.Node) int {
	n := 0
	for range root.Descendants() {
		n++
	}
	return n
}

// mainText appends what the extraction takes for the page's own text; nothing
// when it finds none.
func mainText(dst []byte, root *html.Node) []byte {
	result, err := trafilatura.ExtractDocument(root, trafilatura.Options{
		ExcludeComments:  true,
		Focus:            trafilatura.FavorRecall,
		HtmlDateOverride: &htmldate.Result{}, // the date is the record's
	})
	if err != nil || result == nil {
		return dst
	}
	return clean(dst, result.ContentText)
}

// titleOf is the text of the first title element.
func titleOf(root *html.Node) string {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.DataAtom == atom.Title && n.Namespace == "" {
			var b strings.Builder
			for c := n.FirstChild; c != nil; c = c.NextSibling {
				if c.Type == html.TextNode {
					b.WriteString(c.Data)
				}
			}
			return b.String()
		}
	}
	return ""
}

// unseen are the elements whose text nobody sees.
var unseen = map[atom.Atom]bool{
	atom.Head: true, atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true,
	atom.Iframe: true, atom.Object: true, atom.Svg: true, atom.Math: true, atom.Select: true, atom.Textarea: true,
}

// inline are the elements that do not break a line.
var inline = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Bdo: true, atom.Big: true, atom.Cite: true, atom.Code: true,
	atom.Data: true, atom.Del: true, atom.Dfn: true, atom.Em: true, atom.Font: true, atom.I: true, atom.Ins: true, atom.Kbd: true,
	atom.Label: true, atom.Mark: true, atom.Q: true, atom.Ruby: true, atom.S: true, atom.Samp: true, atom.Small: true, atom.Span: true,
	atom.Strike: true, atom.Strong: true, atom.Sub: true, atom.Sup: true, atom.Time: true, atom.Tt: true, atom.U: true, atom.Var: true,
	atom.Wbr: true,
}

// visible appends all text of the tree that a reader would see, a line for
// each block.
func visible(dst []byte, root *html.Node) []byte {
	var b strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) { // as deep as the parser allows, 512 elements
		switch {
		case n.Type == html.TextNode:
			b.WriteString(strings.ReplaceAll(n.Data, "\n", " "))
			return
		case n.Type == html.ElementNode && unseen[n.DataAtom]:
			return
		}
		block := n.Type == html.ElementNode && !inline[n.DataAtom]
		if block {
			b.WriteByte('\n')
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
		if block {
			b.WriteByte('\n')
		}
	}
	walk(root)
	return clean(dst, b.String())
}

// clean appends s with every run of white space as one space, or one line
// feed where there was one, and none at either end.
func clean(dst []byte, s string) []byte {
	from := len(dst)
	gap := byte(0)
	for _, r := range s {
		if unicode.IsSpace(r) {
			if r == '\n' {
				gap = '\n'
			} else if gap == 0 {
				gap = ' '
			}
			continue
		}
		if gap != 0 && len(dst) > from {
			dst = append(dst, gap)
		}
		gap = 0
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}
