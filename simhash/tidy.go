package simhash

import (
	"bytes"
	"html"
)

// What is left over from how a text was carried is taken out of its normal
// form: HTML entities and line numbers. Neither is looked for before the form
// is made, so that full-width letters and invisible characters hide none, and
// most texts only pay for the search of an ampersand and of a few lines.

// NormalFormVersion is the version of the normal form: texts that were brought
// into another one are not to be compared.
const NormalFormVersion = 3

// normal appends the normal form of text.
func (t *formTable) normal(dst, text []byte, s *scratch) []byte {
	from := len(dst)
	dst = t.append(dst, text, s)
	if at := bytes.IndexByte(dst[from:], '&'); at >= 0 && bytes.IndexByte(dst[from+at:], ';') > 0 {
		var found bool
		if s.decoded, found = t.unescape(s.decoded[:0], dst[from:], s); found {
			dst = t.append(dst[:from], s.decoded, s)
		}
	}
	return dst[:from+len(s.cutLineNumbers(dst[from:]))]
}

// maxEntity is the most bytes of an entity that is looked for: the longest name
// in package html has as many.
const maxEntity = 33

// unescape appends text, which has forms alone, with the forms of what its
// entities stand for in their places, and reports whether there were any. Of
// what it appends nothing is an entity: what &amp; leaves is looked at again
// with what follows it.
func (t *formTable) unescape(dst, text []byte, s *scratch) (_ []byte, found bool) {
	from := len(dst)
	for {
		end := bytes.IndexByte(text, ';') + 1
		if end == 0 {
			return append(dst, text...), found
		}
		dst, text = append(dst, text[:end]...), text[end:]
		for dst[len(dst)-1] == ';' {
			start := max(from, len(dst)-maxEntity)
			at := bytes.LastIndexByte(dst[start:], '&')
			if at < 0 {
				break
			}
			decoded, ok := decodeEntity(dst[start+at:])
			if !ok {
				break
			}
			found = true
			if dst = t.append(dst[:start+at], []byte(decoded), s); len(dst) == from {
				break
			}
		}
	}
}

// decodeEntity returns what an entity with its ampersand and semicolon stands
// for; ok is false for what is none.
func decodeEntity(entity []byte) (decoded string, ok bool) {
	for i, c := range entity[1 : len(entity)-1] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (i > 0 || c != '#') {
			return "", false
		}
	}
	if string(entity) == "&#x;" {
		return "", false // for which package html has U+FFFD
	}
	decoded = html.UnescapeString(string(entity))
	// What keeps its semicolon is no entity, or one of the old names, which
	// need none, and more behind it: &notit;.
	return decoded, decoded == ";" || decoded[len(decoded)-1] != ';'
}

// A text has line numbers when at least minNumbered of its lines begin with the
// number that follows the one before, and at no line more than one in
// unnumberedShare of the lines so far, and unnumberedMost more, do not. Lines
// without any text do not count.
const (
	minNumbered     = 10
	unnumberedMost  = 4
	unnumberedShare = 10
)

// cutLineNumbers removes the line numbers of text in place. A text that would
// have some still is left as it is: two numbers a line are a table.
func (s *scratch) cutLineNumbers(text []byte) []byte {
	cut, ok := appendUnnumbered(s.decoded[:0], text)
	s.decoded = cut
	if !ok {
		return text
	}
	if s.decoded, ok = appendUnnumbered(cut, cut); ok {
		return text
	}
	return append(text[:0], cut...)
}

// appendUnnumbered appends the lines of a text without their numbers; what it
// appends is of no use when ok is false, for a text that has no line numbers.
func appendUnnumbered(dst, text []byte) (_ []byte, ok bool) {
	lines, numbered, last := 0, 0, -1
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n') + 1
		if end == 0 {
			end = len(text)
		}
		line := text[:end]
		text = text[end:]
		if n, rest := cutLineNumber(line); n < 0 {
			lines += min(1, len(bytes.TrimSpace(line)))
		} else {
			if lines++; last < 0 || n == last+1 {
				numbered++
				line = rest
			}
			last = n
		}
		if lines-numbered > unnumberedMost+lines/unnumberedShare {
			return dst, false
		}
		dst = append(dst, line...)
	}
	return dst, numbered >= minNumbered
}

// cutLineNumber returns the number that a line begins with, and the line behind
// it, its mark and the spaces around them: 12, 12. and 12: but not 1.2 nor 2nd.
// A line without has −1.
func cutLineNumber(line []byte) (n int, rest []byte) {
	rest = bytes.TrimLeft(line, " \t")
	digits := 0
	for digits < min(len(rest), 7) && rest[digits]-'0' < 10 {
		n = 10*n + int(rest[digits]-'0')
		digits++
	}
	if digits == 0 {
		return -1, line
	}
	if rest = rest[digits:]; len(rest) > 0 && bytes.IndexByte([]byte(".:|)"), rest[0]) >= 0 {
		rest = rest[1:]
	}
	if len(rest) > 0 && bytes.IndexByte([]byte(" \t\r\n"), rest[0]) < 0 {
		return -1, line
	}
	return n, bytes.TrimLeft(rest, " \t")
}
