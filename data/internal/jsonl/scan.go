package jsonl

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// A strict scanner of one JSON value (RFC 8259) that copies nothing: strings
// stay as spans, and are decoded only where a field is wanted. Invalid UTF-8
// inside a string is let through as it is, since a Document's text may have
// it.

// maxDepth is how deep values may be nested, as in encoding/json.
const maxDepth = 10000

// kind is the type of a JSON value by its first byte: '"', '0', '{', '[',
// 't', 'f', 'n'.
type kind byte

const (
	kindNone   kind = 0 // no such key
	kindString kind = '"'
	kindNumber kind = '0'
	kindNull   kind = 'n'
	kindTrue   kind = 't'
	kindFalse  kind = 'f'
)

// span is a scanned value: of a string, what is between the quotes.
type span struct {
	start, end int
	kind       kind
	escaped    bool // the string has escapes
}

// syntaxError says what is wrong, and at which byte of the line.
func syntaxError(at int, what string) error { return fmt.Errorf("%s at byte %d", what, at) }

var (
	errEnd     = errors.New("unexpected end of line")
	errTooDeep = fmt.Errorf("nested deeper than %d", maxDepth)
)

// space returns the index of the first byte from i on that is no white space.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// special returns the index of the first quote, backslash or control
// character from i on, or len(b). Where it cannot look at 32 bytes at a time it
// looks at eight: a byte is zero in v, or less than n, exactly as in "Bit Twiddling
// Hacks", haszero and hasless; the lowest byte found is right, those above it may
// not be.
func special(b []byte, i int) int {
	if hasWide && i < len(b) {
		i += specialWide(&b[i], len(b)-i)
	}
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	for ; i+8 <= len(b); i += 8 {
		v := binary.LittleEndian.Uint64(b[i:])
		quote := v ^ ones*'"'
		slash := v ^ ones*'\\'
		found := ((quote-ones)&^quote | (slash-ones)&^slash | (v-ones*0x20)&^v) & highs
		if found != 0 {
			return i + bits.TrailingZeros64(found)>>3
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == '"' || c == '\\' || c < 0x20 {
			return i
		}
	}
	return i
}

// str scans a string whose opening quote is at i-1.
func str(b []byte, i int) (s span, next int, err error) {
	s = span{start: i, kind: kindString}
	for {
		i = special(b, i)
		if i == len(b) {
			return s, i, errEnd
		}
		switch b[i] {
		case '"':
			s.end = i
			return s, i + 1, nil
		case '\\':
			s.escaped = true
			if i+1 == len(b) {
				return s, i, errEnd
			}
			switch b[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				if i+6 > len(b) {
					return s, i, errEnd
				}
				if hex4(b[i+2:]) < 0 {
					return s, i, syntaxError(i, "bad \\u escape")
				}
				i += 6
			default:
				return s, i, syntaxError(i, "bad escape")
			}
		default:
			return s, i, syntaxError(i, "control character in a string")
		}
	}
}

// hex4 is the value of four hexadecimal digits, or -1.
func hex4(b []byte) rune {
	var v rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			v = v<<4 | rune(c-'A'+10)
		default:
			return -1
		}
	}
	return v
}

// unescape appends the decoded string to dst. A surrogate without its other
// half becomes U+FFFD.
func unescape(dst, b []byte) []byte {
	dst = slices.Grow(dst, len(b))
	for i := 0; i < len(b); {
		n := bytes.IndexByte(b[i:], '\\')
		if n < 0 {
			return append(dst, b[i:]...)
		}
		j := i + n
		dst = append(dst, b[i:j]...)
		i = j + 2
		switch c := b[j+1]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(b[i:])
			i += 4
			if utf16.IsSurrogate(r) {
				second := rune(-1)
				if i+6 <= len(b) && b[i] == '\\' && b[i+1] == 'u' {
					second = hex4(b[i+2:])
				}
				if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r)
		default: // a quote, a backslash, a slash
			dst = append(dst, c)
		}
	}
	return dst
}

// value scans any value that starts at i.
func value(b []byte, i, depth int) (s span, next int, err error) {
	if i >= len(b) {
		return s, i, errEnd
	}
	switch c := b[i]; {
	case c == '"':
		return str(b, i+1)
	case c == '{' || c == '[':
		next, err = skip(b, i, depth, nil)
		return span{start: i, end: next, kind: kind(c)}, next, err
	case c == '-' || c >= '0' && c <= '9':
		next, err = number(b, i)
		return span{start: i, end: next, kind: kindNumber}, next, err
	case c == 't':
		next, err = literal(b, i, "true")
	case c == 'f':
		next, err = literal(b, i, "false")
	case c == 'n':
		next, err = literal(b, i, "null")
	default:
		return s, i, syntaxError(i, "unexpected character")
	}
	return span{start: i, end: next, kind: kind(b[i])}, next, err
}

func literal(b []byte, i int, word string) (int, error) {
	if len(b)-i < len(word) {
		return i, errEnd
	}
	if string(b[i:i+len(word)]) != word {
		return i, syntaxError(i, "unexpected character")
	}
	return i + len(word), nil
}

// number scans a number: -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func number(b []byte, i int) (int, error) {
	if b[i] == '-' {
		i++
	}
	var err error
	if i < len(b) && b[i] == '0' {
		i++
	} else if i, err = digits(b, i); err != nil {
		return i, err
	}
	if i < len(b) && b[i] == '.' {
		if i, err = digits(b, i+1); err != nil {
			return i, err
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return digits(b, i)
	}
	return i, nil
}

func digits(b []byte, i int) (int, error) {
	if i >= len(b) {
		return i, errEnd
	}
	if b[i] < '0' || b[i] > '9' {
		return i, syntaxError(i, "bad number")
	}
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i, nil
}

// skip scans the object or array that starts at i, and calls field, if it is
// not nil, for every key of the object and its value, in their order.
func skip(b []byte, i, depth int, field func(key, value span)) (int, error) {
	if depth >= maxDepth {
		return i, errTooDeep
	}
	object := b[i] == '{'
	closing := byte(']')
	if object {
		closing = '}'
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == closing {
		return i + 1, nil
	}
	for {
		var k, v span
		var err error
		if object {
			if k, i, err = key(b, i); err != nil {
				return i, err
			}
		}
		if v, i, err = value(b, i, depth+1); err != nil {
			return i, err
		}
		if field != nil {
			field(k, v)
		}
		i = space(b, i)
		if i >= len(b) {
			return i, errEnd
		}
		switch b[i] {
		case closing:
			return i + 1, nil
		case ',':
			i = space(b, i+1)
		default:
			return i, syntaxError(i, "unexpected character")
		}
	}
}

// key scans a key at i and its colon; next is where the value starts.
func key(b []byte, i int) (s span, next int, err error) {
	if i >= len(b) {
		return s, i, errEnd
	}
	if b[i] != '"' {
		return s, i, syntaxError(i, "unexpected character, a key should stand here")
	}
	if s, i, err = str(b, i+1); err != nil {
		return s, i, err
	}
	i = space(b, i)
	if i >= len(b) {
		return s, i, errEnd
	}
	if b[i] != ':' {
		return s, i, syntaxError(i, "unexpected character, a colon should stand here")
	}
	return s, space(b, i+1), nil
}

// object scans a line that holds one object; field is as of skip.
func object(b []byte, field func(key, value span)) error {
	i := space(b, 0)
	if i >= len(b) {
		return errEnd
	}
	if b[i] != '{' {
		return syntaxError(i, "not an object")
	}
	i, err := skip(b, i, 0, field)
	if err != nil {
		return err
	}
	if i = space(b, i); i != len(b) {
		return syntaxError(i, "more behind the object")
	}
	return nil
}

// Without appends line, a line that holds one object, to dst, without the keys of
// that object that drop is true of, and their values. A line that has none of them
// stays as it is.
func Without(dst, line []byte, drop func(key []byte) bool) ([]byte, error) {
	type pair struct{ start, end int }
	var kept []pair
	dropped, last := false, 0
	var name []byte
	err := object(line, func(k, v span) {
		if v.kind == kindString {
			v.end++ // the quote
		}
		last = v.end
		if name = unescape(name[:0], line[k.start:k.end]); drop(name) {
			dropped = true
			return
		}
		kept = append(kept, pair{k.start - 1, v.end})
	})
	if err != nil {
		return dst, err
	}
	if !dropped {
		return append(dst, line...), nil
	}
	dst = append(dst, '{')
	for i, p := range kept {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, line[p.start:p.end]...)
	}
	return append(dst, line[last:]...), nil // from the last value on
}

// appendString appends text to dst as a JSON string. Bytes that are no UTF-8 stay as
// they are, as they do where a line is read.
func appendString(dst, text []byte) []byte {
	const hexadecimal = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(text); i++ {
		end := special(text, i)
		dst = append(dst, text[i:end]...)
		if i = end; i == len(text) {
			break
		}
		switch c := text[i]; c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexadecimal[c>>4], hexadecimal[c&15])
		}
	}
	return append(dst, '"')
}
