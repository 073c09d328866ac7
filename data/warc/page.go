package warc

import (
	"bytes"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/markusmobius/go-htmldate"
	"github.com/markusmobius/go-trafilatura"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/charset"
)

const (
	// maxNodes is how large a page's tree may be for its main text to be
	// looked for, which takes more than linear time in bad cases. Of a larger
	// page all visible text is taken.
	maxNodes = 40_000
	// minShare is the least share, in percent, that the main text must have
	// of all visible text. Below it the extraction took a menu that all pages
	// of a site have in common, which would make duplicates of them: of 241
	// real pages with 225 different visible texts, 170 kept a main text of
	// their own without the rule, and 209 with it.
	minShare = 25
)

// page sets the title, the language and the text of an HTML page, which is
// UTF-8: its main text, when it is asked for and has one that can be trusted,
// else all visible text. What the extraction cannot take gives the visible text, never a panic.
func page(doc *data.Document, body []byte, main bool) error {
	visible(doc, body)
	all := len(doc.Text)
	if all == 0 {
		return errors.New("the page has no text")
	}
	if !main {
		return nil
	}
	text := mainText(doc.Text, body)
	if own := len(text) - all; own*100 >= all*minShare {
		copy(text, text[all:])
		all = own
	}
	doc.Text = text[:all]
	return nil
}

// HTML sets the title, the language and the text of doc to those of an HTML
// page that did not come in an archive, as the reader of archives would:
// contentType may name the page's character set. It is an error if the page has no text.
func HTML(doc *data.Document, body []byte, contentType string, o data.ReaderOptions) error {
	decoder, err := charset.NewDecoder(o.Encoding)
	if err != nil {
		return err
	}
	text, _ := decoder.Decode(body, charset.Hint{ContentType: contentType, HTML: true})
	doc.Title, doc.Text, doc.Language = doc.Title[:0], doc.Text[:0], doc.Language[:0]
	return page(doc, text, o.HTML != data.HTMLVisible)
}

// Plain sets the text of doc to that of a page of plain text, as HTML does,
// and its title and language to none.
func Plain(doc *data.Document, body []byte, contentType string, o data.ReaderOptions) error {
	decoder, err := charset.NewDecoder(o.Encoding)
	if err != nil {
		return err
	}
	text, _ := decoder.Decode(body, charset.Hint{ContentType: contentType})
	doc.Title, doc.Language, doc.Text = doc.Title[:0], doc.Language[:0], append(doc.Text[:0], text...)
	return nil
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
// when it finds none, or fails.
func mainText(dst, body []byte) (text []byte) {
	defer func() { // the libraries are others' code, and pages are anything
		if recover() != nil {
			text = dst
		}
	}()
	root, err := html.Parse(bytes.NewReader(body))
	if err != nil || measure(root) > maxNodes {
		return dst
	}
	// Where the extraction takes all text, it takes the title for a part.
	var titles []*html.Node
	for n := range root.Descendants() {
		if n.DataAtom == atom.Title {
			titles = append(titles, n)
		}
	}
	for _, n := range titles {
		n.Parent.RemoveChild(n)
	}
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

// unseen are the elements whose text nobody sees.
var unseen = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true,
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

// visible appends to doc the text of the first title element as title, and all
// text that a reader would see as text, a line for each block; and sets its
// language to that of the root element. It needs no tree, so
// that no page is too deep or too large for it.
func visible(doc *data.Document, body []byte) {
	z := html.NewTokenizer(bytes.NewReader(body))
	var b, t strings.Builder
	hidden, depth := atom.Atom(0), 0 // the unseen element around, and how often it stands in itself
	inTitle, titled := false, false
	for {
		kind := z.Next()
		switch kind {
		case html.ErrorToken:
			doc.Title, doc.Text = clean(doc.Title, t.String()), clean(doc.Text, b.String())
			return
		case html.TextToken:
			switch {
			case inTitle:
				t.Write(z.Text())
			case depth == 0:
				b.Write(bytes.ReplaceAll(z.Text(), []byte{'\n'}, []byte{' '}))
			}
			continue
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
		default:
			continue
		}
		name, attributes := z.TagName()
		tag := atom.Lookup(name)
		if tag == atom.Html && attributes && len(doc.Language) == 0 {
			doc.Language = lang(doc.Language, z)
		}
		switch {
		case depth > 0:
			if tag == hidden && kind == html.StartTagToken {
				depth++
			} else if tag == hidden && kind == html.EndTagToken {
				depth--
			}
		case tag == atom.Title:
			inTitle = kind == html.StartTagToken && !titled
			titled = true
			if kind == html.StartTagToken && !inTitle { // a second one
				hidden, depth = tag, 1
			}
		case unseen[tag] && kind == html.StartTagToken:
			hidden, depth = tag, 1
		}
		if !inline[tag] {
			b.WriteByte('\n')
		}
	}
}

// lang appends the language that the attributes of a tag say.
func lang(dst []byte, z *html.Tokenizer) []byte {
	for {
		key, value, more := z.TagAttr()
		if k := string(key); k == "lang" || k == "xml:lang" && len(dst) == 0 {
			dst = append(dst[:0], value...)
		}
		if !more {
			return dst
		}
	}
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
