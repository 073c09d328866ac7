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

// parameter returns the charset parameter of a Content-Type header, or of a
// meta element's content; empty when there is none.
func parameter(s []byte) []byte {
	for {
		i := indexFold(s, "charset")
		if i < 0 {
			return nil
		}
		s = bytes.TrimLeft(s[i+len("charset"):], spaces)
		if len(s) == 0 || s[0] != '=' {
			continue
		}
		s = bytes.TrimLeft(s[1:], spaces)
		if len(s) > 0 && (s[0] == '"' || s[0] == '\'') {
			if end := bytes.IndexByte(s[1:], s[0]); end >= 0 {
				return bytes.TrimSpace(s[1 : 1+end])
			}
			s = s[1:]
		}
		if end := bytes.IndexAny(s, spaces+`;,"'`); end >= 0 {
			return s[:end]
		}
		return s
	}
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
			pragma = equalFold(value, "content-type")
		}
	}
	if len(label) == 0 && pragma {
		return parameter(content)
	}
	return label
}

const spaces = " \t\n\r\f"

// equalFold is strings.EqualFold for a word of ASCII.
func equalFold(s []byte, word string) bool {
	return len(s) == len(word) && strings.EqualFold(string(s), word)
}

// indexFold is the first place of a word in s, as of equalFold, or -1.
func indexFold(s []byte, word string) int {
	for i := 0; i+len(word) <= len(s); i++ {
		if equalFold(s[i:i+len(word)], word) {
			return i
		}
	}
	return -1
}
