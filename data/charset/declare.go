package charset

import (
	"bytes"
	"regexp"
	"strings"

	"golang.org/x/net/html"
)

// prescanSize is how far into a page its declaration is looked for. The HTML
// standard looks at 1,024 bytes; many pages declare it further down.
const prescanSize = 16 << 10

// charsetParameter finds the charset parameter of a Content-Type header, or of a
// meta element's content. A quote that nothing closes is none.
var charsetParameter = regexp.MustCompile(`(?i)charset[ \t\n\r\f]*=[ \t\n\r\f]*(?:"([^"]*)"|'([^']*)'|["']?([^ \t\n\r\f;,"']*))`)

// parameter returns the charset parameter; empty when there is none.
func parameter(s string) string {
	m := charsetParameter.FindStringSubmatch(s)
	if m == nil {
		return ""
	}
	return strings.TrimSpace(m[1] + m[2] + m[3])
}

// xmlEncoding finds the encoding of an XML declaration at the start of a page.
var xmlEncoding = regexp.MustCompile(`^\s*<\?xml[^>]*["'\s]encoding\s*=\s*["']?([^"'>?\s]+)`)

// prescan returns the label that a page declares in its XML declaration or a
// meta element; empty when it declares none. As the HTML standard has it, what
// looks like a tag within a script or a title is one.
func prescan(page []byte) []byte {
	page = page[:min(len(page), prescanSize)]
	if m := xmlEncoding.FindSubmatch(page); m != nil {
		return m[1]
	}
	z := html.NewTokenizer(bytes.NewReader(page))
	for {
		kind := z.Next()
		switch kind {
		case html.ErrorToken:
			return nil
		case html.StartTagToken, html.SelfClosingTagToken:
			if name, more := z.TagName(); more && string(name) == "meta" {
				if label := meta(z); len(label) > 0 {
					return label
				}
			}
			z.NextIsNotRawText()
		}
	}
}

// meta returns what the attributes of a meta element declare.
func meta(z *html.Tokenizer) []byte {
	var label, content []byte
	pragma := false
	for more := true; more; {
		var name, value []byte
		switch name, value, more = z.TagAttr(); string(name) {
		case "charset":
			if label == nil {
				label = bytes.TrimSpace(value)
			}
		case "content":
			if content == nil {
				content = value
			}
		case "http-equiv":
			pragma = bytes.EqualFold(value, []byte("content-type"))
		}
	}
	if len(label) == 0 && pragma {
		return []byte(parameter(string(content)))
	}
	return label
}
