package charset

import (
	"bytes"
	"strings"
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
		for i, c := range s {
			if isSpace(c) || c == ';' || c == ',' || c == '"' || c == '\'' {
				return s[:i]
			}
		}
		return s
	}
}

// prescan returns the label that a page declares, by the algorithm of the HTML
// standard, "prescan a byte stream to determine its encoding"; empty when it
// declares none.
func prescan(page []byte) []byte {
	s := scanner(page[:min(len(page), prescanSize)])
	if label := s.xml(); len(label) > 0 {
		return label
	}
	for {
		i := bytes.IndexByte(s, '<')
		if i < 0 || i+1 == len(s) {
			return nil
		}
		s = s[i:]
		switch c := s[1]; {
		case bytes.HasPrefix(s, []byte("<!--")):
			end := bytes.Index(s[2:], []byte("-->")) // of <!--> too
			if end < 0 {
				return nil
			}
			s = s[2+end+3:]
		case len(s) > 5 && indexFold(s[1:5], "meta") == 0 && (isSpace(s[5]) || s[5] == '/'):
			s = s[5:]
			if label := s.meta(); len(label) > 0 {
				return label
			}
		case isLetter(c) || c == '/' && len(s) > 2 && isLetter(s[2]):
			for len(s) > 0 && !isSpace(s[0]) && s[0] != '>' {
				s = s[1:]
			}
			for {
				if name, _ := s.attribute(); len(name) == 0 {
					break
				}
			}
		case c == '!' || c == '/' || c == '?':
			end := bytes.IndexByte(s, '>')
			if end < 0 {
				return nil
			}
			s = s[end:]
		default:
			s = s[1:]
		}
	}
}

// scanner is what of a page is not scanned yet.
type scanner []byte

// xml returns the encoding of an XML declaration, if the page starts with one.
func (s scanner) xml() []byte {
	s = bytes.TrimLeft(s, " \t\r\n")
	if !bytes.HasPrefix(s, []byte("<?xml")) {
		return nil
	}
	end := bytes.IndexByte(s, '>')
	if end < 0 {
		return nil
	}
	s = s[len("<?xml"):end]
	for {
		name, value := s.attribute()
		if len(name) == 0 {
			return nil
		}
		if string(name) == "encoding" {
			return value
		}
	}
}

// meta returns what the attributes of a meta element declare.
func (s *scanner) meta() []byte {
	var label, content []byte
	pragma := false
	for {
		name, value := s.attribute()
		switch {
		case len(name) == 0:
			if len(label) == 0 && pragma {
				return parameter(content)
			}
			return label
		case equalFold(name, "charset") && label == nil:
			label = bytes.TrimSpace(value)
		case equalFold(name, "content") && content == nil:
			content = value
		case equalFold(name, "http-equiv"):
			pragma = equalFold(value, "content-type")
		}
	}
}

// attribute returns the next attribute of a tag, an empty name at its end,
// which it goes to.
func (s *scanner) attribute() (name, value []byte) {
	b := []byte(*s)
	i := 0
	for i < len(b) && (isSpace(b[i]) || b[i] == '/') {
		i++
	}
	from := i
	for i < len(b) && !isSpace(b[i]) && b[i] != '/' && b[i] != '>' && (b[i] != '=' || i == from) {
		i++
	}
	name = b[from:i]
	for i < len(b) && isSpace(b[i]) && len(name) > 0 {
		i++
	}
	if i == len(b) || len(name) == 0 || b[i] != '=' {
		*s = b[i:]
		return name, nil
	}
	for i++; i < len(b) && isSpace(b[i]); i++ {
	}
	if i < len(b) && (b[i] == '"' || b[i] == '\'') {
		end := bytes.IndexByte(b[i+1:], b[i])
		if end < 0 {
			*s = nil
			return nil, nil
		}
		*s = b[i+1+end+1:]
		return name, b[i+1 : i+1+end]
	}
	from = i
	for i < len(b) && !isSpace(b[i]) && b[i] != '>' {
		i++
	}
	*s = b[i:]
	return name, b[from:i]
}

const spaces = " \t\n\r\f"

func isSpace(c byte) bool { return strings.IndexByte(spaces, c) >= 0 }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

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
