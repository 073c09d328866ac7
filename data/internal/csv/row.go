package csv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
)

// cell is where a field of a row stands, without its quotes.
type cell struct {
	from, to int
	quoted   bool // its quotes are doubled, its line ends may be CR LF
}

// state is where within a row the scanner is.
type state int

const (
	fieldStart state = iota
	plainField
	quotedField
	quoteInField // behind a quote that ends the field or is doubled
	badLine      // the row ends with the line
)

// found is what a scan came to.
type found int

const (
	more      found = iota // the end of the window, within a row
	wholeRow               // the end of a row
	brokenRow              // the end of the line that breaks the quoting
)

var (
	errBare = errors.New("a quote in a field that is not quoted")
	errText = errors.New("text behind a quoted field")
	errOpen = errors.New("a quote that nothing closes")
)

// scanner finds where a row and its fields end, by the rules of encoding/csv:
// RFC 4180, a quote in the midst of a field breaks the row, and the row ends
// with the line where it does. It goes on where it stopped, so that a row may
// arrive in pieces. The zero value, with a comma, stands at the start of a
// row.
type scanner struct {
	comma  byte
	state  state
	at     int // bytes of the window that are scanned
	from   int // where the field starts
	opened int // where the quoted field starts that the scanner is in, or was when the row broke; -1: in none
	fields []cell
	err    error // why the row is broken
}

// reset goes to the start of the next row.
func (s *scanner) reset() {
	s.state, s.at, s.from, s.opened, s.fields, s.err = fieldStart, 0, 0, -1, s.fields[:0], nil
}

// scan goes on in the window, which starts with the row. final tells that the
// input ends with the window.
func (s *scanner) scan(w []byte, final bool) found {
	for s.at < len(w) || s.state == quoteInField {
		switch s.state {
		case fieldStart:
			if s.from = s.at; w[s.at] == '"' {
				s.from++
				s.at++
				s.state, s.opened = quotedField, s.from
			} else {
				s.state = plainField
			}
		case plainField:
			if s.at = delimiter(w, s.at, s.comma); s.at == len(w) {
				continue
			}
			switch w[s.at] {
			case '"':
				s.breaks(errBare)
			case '\n':
				s.add(trimReturn(w, s.from, s.at), false)
				s.at++
				return wholeRow
			default:
				s.add(s.at, false)
				s.at++
				s.state = fieldStart
			}
		case quotedField:
			i := bytes.IndexByte(w[s.at:], '"')
			if i < 0 {
				s.at = len(w)
				continue
			}
			s.at += i + 1
			s.state = quoteInField
		case quoteInField:
			rest := w[s.at:]
			switch {
			case len(rest) == 0 && !final, len(rest) == 1 && rest[0] == '\r' && !final:
				return more
			case len(rest) > 0 && rest[0] == '"':
				s.at++
				s.state = quotedField
			case len(rest) > 0 && rest[0] == s.comma:
				s.add(s.at-1, true)
				s.at++
				s.state, s.opened = fieldStart, -1
			case len(rest) == 0, rest[0] == '\n', rest[0] == '\r' && (len(rest) == 1 || rest[1] == '\n'):
				s.add(s.at-1, true)
				s.at += min(len(rest), 1)
				if len(rest) > 1 && rest[0] == '\r' {
					s.at++
				}
				return wholeRow
			default:
				s.breaks(errText)
			}
		case badLine:
			i := bytes.IndexByte(w[s.at:], '\n')
			if i < 0 {
				s.at = len(w)
				continue
			}
			s.at += i + 1
			return brokenRow
		}
	}
	if !final {
		return more
	}
	return s.end(w)
}

// end is what the last row proves to be at the end of the input.
func (s *scanner) end(w []byte) found {
	switch s.state {
	case quotedField:
		s.err = errOpen
		return brokenRow
	case badLine:
		return brokenRow
	case fieldStart:
		s.from = len(w)
	}
	s.add(trimReturn(w, s.from, len(w)), false)
	return wholeRow
}

func (s *scanner) breaks(err error) { s.state, s.err = badLine, err }

func (s *scanner) add(to int, quoted bool) {
	s.fields = append(s.fields, cell{s.from, to, quoted})
}

// trimReturn is the end of a line's last field, without a carriage return.
func trimReturn(w []byte, from, to int) int {
	if to > from && w[to-1] == '\r' {
		return to - 1
	}
	return to
}

// delimiter returns the place of the first comma, quote or line feed from i
// on, or len(b). It looks at eight bytes at a time: a byte is zero in v
// exactly as in "Bit Twiddling Hacks", haszero; the lowest byte found is
// right, those above it may not be.
func delimiter(b []byte, i int, comma byte) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	commas := ones * uint64(comma)
	for ; i+8 <= len(b); i += 8 {
		v := binary.LittleEndian.Uint64(b[i:])
		c, q, n := v^commas, v^ones*'"', v^ones*'\n'
		if found := ((c-ones)&^c | (q-ones)&^q | (n-ones)&^n) & highs; found != 0 {
			return i + bits.TrailingZeros64(found)>>3
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == comma || c == '"' || c == '\n' {
			return i
		}
	}
	return i
}

// appendField appends a field of a row to dst.
func appendField(dst, row []byte, f cell) []byte {
	b := row[f.from:f.to]
	if !f.quoted {
		return append(dst, b...)
	}
	for {
		i := bytes.IndexByte(b, '"')
		piece := b
		if i >= 0 {
			piece = b[:i+1]
		}
		for {
			r := bytes.Index(piece, []byte("\r\n"))
			if r < 0 {
				break
			}
			dst = append(append(dst, piece[:r]...), '\n')
			piece = piece[r+2:]
		}
		dst = append(dst, piece...)
		if i < 0 {
			return dst
		}
		b = b[i+2:]
	}
}

// Evidence whether lines are rows: so many of them, of so many bytes, and more
// than half.
const (
	evidenceRows  = 1000
	evidenceBytes = 64 << 10
)

// areRows tells that lines, which stand behind a quote that is open, are rows
// of their own: most of them have the number of columns, and are not equal to
// one before, as lines of a text may be.
func areRows(lines []byte, comma byte, columns int) bool {
	lines = lines[:min(len(lines), evidenceBytes)]
	s := scanner{comma: comma}
	fit, rows := 0, 0
	seen := make(map[string]bool)
	for rows < evidenceRows && len(lines) > 0 {
		s.reset()
		switch s.scan(lines, false) {
		case more: // the last line is cut, or a quote is open
			return 2*fit > rows
		case wholeRow:
			if blank := len(bytes.TrimRight(lines[:s.at], "\r\n")) == 0; !blank {
				rows++
				if row := string(lines[:s.at]); len(s.fields) == columns && !seen[row] {
					fit++
					seen[row] = true
				}
			}
			lines = lines[s.at:]
		case brokenRow:
			rows++
			lines = lines[s.at:]
		}
	}
	return 2*fit > rows
}
