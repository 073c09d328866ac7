package warc

import (
	"errors"
	"fmt"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/charset"
	"github.com/neardup/neardup/data/internal/page"
)

// Extractor is the version of what finds the text of pages: texts of another
// version differ from those of this one.
const Extractor = page.Version

// pages finds the text of pages. It owns what is used again from one to the
// next, and belongs to one goroutine.
type pages struct {
	charset   charset.Decoder
	extractor page.Extractor
	visible   bool // all visible text is wanted, not the main text
}

// newPages returns what reads pages by the options, of which the encoding was
// looked up.
func newPages(o data.ReaderOptions, decoder charset.Decoder) *pages {
	return &pages{charset: decoder, visible: o.HTML == data.HTMLVisible}
}

// text appends the title, the language and the text of a page to those of doc.
// It is an error if a page of HTML has no text. One that has no main text gets
// neither title nor text, and doc.None says why.
func (p *pages) text(doc *data.Document, body []byte, contentType string, html bool) error {
	if html {
		body = withoutTail(body)
	}
	if data.MemoryOf(len(body)) > 0 {
		defer func() { p.extractor = page.Extractor{} }() // it has grown with the page
	}
	text, _ := p.charset.Decode(body, charset.Hint{ContentType: contentType, HTML: html})
	if !html {
		doc.Text = append(doc.Text, text...)
		return nil
	}
	p.extractor.Parse(text)
	doc.Title = append(doc.Title, p.extractor.Title()...)
	doc.Language = append(doc.Language, p.extractor.Language()...)
	if p.visible {
		doc.Text = p.extractor.AppendVisible(doc.Text)
	} else {
		from := len(doc.Text)
		doc.Text = p.extractor.AppendMain(doc.Text)
		if body := p.extractor.Body(); body > 0 {
			doc.Body = from + body
		}
		if doc.None = string(p.extractor.None()); doc.None != "" {
			doc.Title = doc.Title[:0] // a title alone would be compared
			return nil
		}
	}
	if len(doc.Text) == 0 {
		return errors.New("the page has no text")
	}
	return nil
}

// Page sets the title, the language and the text of doc to those of a page, of
// HTML or of plain text, that did not come in an archive, as the reader of
// archives would: contentType may name the page's character set. It is an error
// if a page of HTML has no text, or no main text where that is wanted.
func Page(doc *data.Document, body []byte, contentType string, html bool, o data.ReaderOptions) error {
	decoder, err := charset.NewDecoder(o.Encoding)
	if err != nil {
		return err
	}
	doc.Title, doc.Text, doc.Language, doc.Body, doc.None = doc.Title[:0], doc.Text[:0], doc.Language[:0], 0, ""
	if err := newPages(o, decoder).text(doc, body, contentType, html); err != nil {
		return err
	}
	if doc.None != "" {
		return fmt.Errorf("the page has no main text, it is what sites give for any page (%s): take all text that it shows with input.html=visible", doc.None)
	}
	return nil
}
