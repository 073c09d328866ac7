package page

import (
	"html"
	"strconv"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// Classes of bytes in text.
const (
	charText = iota
	charSpace
	charAmp
	charWide // may start a space of more than one byte
)

var chars = func() (t [256]uint8) {
	for _, c := range " \t\n\v\f\r\x00\x1c\x1d\x1e\x1f" {
		t[c] = charSpace
	}
	t['&'] = charAmp
	t[0xc2], t[0xe1], t[0xe2], t[0xe3], t[0xef] = charWide, charWide, charWide, charWide, charWide
	return t
}()

func (s *scanner) chars(b []byte) {
	for i := 0; i < len(b); {
		switch chars[b[i]] {
		case charSpace:
			if s.pre > 0 && b[i] == '\n' {
				s.newline = true
			}
			s.space = true
			i++
		case charAmp:
			decoded, n := s.reference(b[i:])
			s.decoded(decoded)
			i += n
		case charWide:
			if n := wideSpace(b[i:]); n > 0 {
				s.space = s.space || n < 1<<8 // not for those without width
				i += n & 0xff
				continue
			}
			fallthrough
		default:
			from := i
			i++
			for i < len(b) && chars[b[i]] == charText {
				i++
			}
			s.emit(b[from:i])
		}
	}
}

// decoded takes the text of a character reference, which may be a space.
func (s *scanner) decoded(b []byte) {
	if len(b) == 0 {
		return
	}
	if chars[b[0]] == charSpace {
		s.space = true
		return
	}
	if n := wideSpace(b); n > 0 {
		s.space = s.space || n < 1<<8
		return
	}
	s.emit(b)
}

// wideSpace returns the length of the space of several bytes that b starts
// with, 0 when it starts with none, and 256 more when it has no width.
func wideSpace(b []byte) int {
	switch {
	case len(b) >= 2 && b[0] == 0xc2:
		switch b[1] {
		case 0xa0, 0x85:
			return 2
		case 0xad: // soft hyphen
			return 2 | 1<<8
		}
	case len(b) >= 3:
		switch r, _ := utf8.DecodeRune(b[:3]); {
		case r >= 0x2000 && r <= 0x200a, r == 0x2028, r == 0x2029, r == 0x202f, r == 0x205f, r == 0x3000, r == 0x1680:
			return 3
		case r >= 0x200b && r <= 0x200f, r == 0x2060, r == 0xfeff:
			return 3 | 1<<8
		}
	}
	return 0
}

// emit appends characters that are no white space to the open block.
func (s *scanner) emit(b []byte) {
	if s.block < 0 {
		up := s.stack[len(s.stack)-1]
		s.block = len(s.blocks)
		s.blocks = append(s.blocks, block{start: int32(len(s.text)), node: up})
		s.space, s.newline = false, false
	} else if s.space || s.newline {
		if s.newline {
			s.text = append(s.text, '\n')
		} else {
			s.text = append(s.text, ' ')
		}
		s.blocks[s.block].spaces++
		s.space, s.newline = false, false
	}
	s.text = append(s.text, b...)
	k := &s.blocks[s.block]
	k.mass += int32(len(b))
	if s.linked {
		k.linked += int32(len(b))
	}
	k.inline |= s.inline
}

// breakText ends the open block, but not the line: what follows is of another
// node.
func (s *scanner) breakText() {
	space := s.space
	s.endBlock()
	s.space = space
}

// endBlock ends the open block, unless there are too many.
func (s *scanner) endBlock() {
	if len(s.blocks) >= s.limit {
		if s.full {
			s.newline = true
			return
		}
		s.closeBlock()
		s.compact()
		return
	}
	s.closeBlock()
}

func (s *scanner) closeBlock() {
	if s.block >= 0 {
		k := &s.blocks[s.block]
		k.end = int32(len(s.text))
		n := &s.nodes[k.node]
		n.mass += k.mass
		n.linked += k.linked
		s.block = -1
		s.text = append(s.text, '\n') // blocks that become one are lines of it
	}
	s.space, s.newline = false, false
}

// reference decodes the character reference at the start of b, and returns how
// long it is there.
func (s *scanner) reference(b []byte) ([]byte, int) {
	if len(b) > 2 && b[1] == '#' {
		return s.numeric(b)
	}
	n := 1
	for n < len(b) && n < 33 && (b[n]|0x20 >= 'a' && b[n]|0x20 <= 'z' || b[n] >= '0' && b[n] <= '9') {
		n++
	}
	if n == 1 {
		return b[:1], 1
	}
	if n < len(b) && b[n] == ';' {
		n++
	}
	name := b[:n]
	text, ok := s.entities[string(name)]
	if !ok {
		text = html.UnescapeString(string(name))
		if text == string(name) {
			return b[:1], 1 // no reference: the rest is text
		}
		if s.entities == nil {
			s.entities = make(map[string]string)
		}
		if len(s.entities) < 4096 {
			s.entities[string(name)] = text
		}
	}
	s.scratch = append(s.scratch[:0], text...)
	return s.scratch, n
}

// numeric decodes &#65; and &#x41;.
func (s *scanner) numeric(b []byte) ([]byte, int) {
	n, base := 2, 10
	if b[2]|0x20 == 'x' {
		n, base = 3, 16
	}
	from := n
	for n < len(b) && (b[n] >= '0' && b[n] <= '9' || base == 16 && b[n]|0x20 >= 'a' && b[n]|0x20 <= 'f') {
		n++
	}
	if n == from {
		return b[:1], 1
	}
	v, err := strconv.ParseUint(string(b[from:n]), base, 31)
	r := rune(v)
	switch {
	case r >= 0x80 && r <= 0x9f:
		if c := charmap.Windows1252.DecodeByte(byte(r)); c != utf8.RuneError { // five bytes are no character
			r = c
		}
	case r == 0 || err != nil || !utf8.ValidRune(r):
		r = utf8.RuneError
	}
	if n < len(b) && b[n] == ';' {
		n++
	}
	s.scratch = utf8.AppendRune(s.scratch[:0], r)
	return s.scratch, n
}

// line appends text with its references decoded and its white space folded.
func (s *scanner) line(dst, b []byte) []byte {
	if len(b) > maxLine {
		for b = b[:maxLine+1]; !utf8.RuneStart(b[len(b)-1]); {
			b = b[:len(b)-1]
		}
		b = b[:len(b)-1]
	}
	// It is made where a block's text is, and taken away again.
	s.closeBlock()
	from, blocks := len(s.text), len(s.blocks)
	s.chars(b)
	dst = append(dst, s.text[from:]...)
	s.text, s.blocks, s.block, s.space, s.newline = s.text[:from], s.blocks[:blocks], -1, false, false
	return dst
}
