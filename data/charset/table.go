package charset

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/transform"
)

// table decodes an encoding whose characters are ASCII, one byte or two. The
// decoders of x/text, which it is made of, take four times as long, and still
// decode what the table has not: the four bytes of GB18030, the three of
// EUC-JP, two characters for one of Big5, and invalid bytes.
type table struct {
	single [256]rune             // 0: the byte starts a pair, or nothing
	pairs  *[128][256]uint16     // by first byte less 0x80, and second; 0: not in the table
	slow   transform.Transformer // has no state
}

// tableOf returns the encoding's table, which is made at first use.
func (e *Encoding) tableOf() *table {
	e.build.Do(func() {
		t := &table{slow: e.enc.NewDecoder()}
		for c := range 256 {
			t.single[c] = t.decodeOne([]byte{byte(c)})
		}
		if e.kind == doubleByte {
			t.pairs = new([128][256]uint16)
			for first := 0x80; first <= 0xff; first++ {
				if t.single[first] != 0 {
					continue
				}
				for second := 0x21; second <= 0xff; second++ {
					if r := t.decodeOne([]byte{byte(first), byte(second)}); r <= 0xffff {
						t.pairs[first-0x80][second] = uint16(r)
					}
				}
			}
		} else {
			for c, r := range t.single {
				if c >= 0x80 && r == 0 {
					t.single[c] = utf8.RuneError
				}
			}
		}
		e.table = t
	})
	return e.table
}

// decodeOne returns the one character that src is, or 0.
func (t *table) decodeOne(src []byte) rune {
	var dst [16]byte
	n, read, err := t.slow.Transform(dst[:], src, false)
	r, size := utf8.DecodeRune(dst[:n])
	if err != nil || read != len(src) || size != n || r == utf8.RuneError {
		return 0
	}
	return r
}

// notASCII are the bits of eight bytes that those of ASCII have not.
const notASCII = 0x8080808080808080

// pieceSize is how many bytes are decoded at a time. No byte becomes more
// than three: a pair at most four, and four bytes at most four.
const pieceSize = 16 << 10

// appendUTF8 appends src, decoded, to dst. What the end of src cuts is U+FFFD.
func (e *Encoding) appendUTF8(dst, src []byte) []byte {
	switch e.kind {
	case utf8Kind:
		return appendValid(dst, src)
	case utf16Little:
		return appendUTF16(dst, src, binary.LittleEndian)
	case utf16Big:
		return appendUTF16(dst, src, binary.BigEndian)
	case stateful:
		out, _, err := transform.Append(e.enc.NewDecoder(), dst, src)
		if err != nil { // it replaces what it cannot decode, and is not known to fail
			return appendValid(dst, src)
		}
		return out
	}
	t := e.tableOf()
	for len(src) > 0 {
		dst = slices.Grow(dst, 3*min(len(src), pieceSize)+16)
		n, read := t.decode(dst[len(dst):cap(dst)], src, min(len(src), pieceSize))
		dst, src = dst[:len(dst)+n], src[read:]
	}
	return dst
}

// decode decodes the characters that start in the first size bytes of src to
// dst, which has room for three times as many and 16; and returns how many
// bytes it wrote and read.
func (t *table) decode(dst, src []byte, size int) (n, i int) {
	for i < size {
		for i+8 <= size {
			v := binary.LittleEndian.Uint64(src[i:])
			if v&notASCII != 0 {
				break
			}
			binary.LittleEndian.PutUint64(dst[n:], v)
			n, i = n+8, i+8
		}
		if i == size {
			break
		}
		c := src[i]
		if c < utf8.RuneSelf {
			dst[n] = c
			n, i = n+1, i+1
			continue
		}
		r := t.single[c]
		if r != 0 {
			i++
		} else if t.pairs != nil && i+1 < len(src) {
			if r = rune(t.pairs[c-0x80][src[i+1]]); r != 0 {
				i += 2
			}
		}
		switch {
		case r >= 0x800:
			_ = dst[n+2]
			dst[n], dst[n+1], dst[n+2] = 0xe0|byte(r>>12), 0x80|byte(r>>6)&0xbf, 0x80|byte(r)&0xbf
			n += 3
		case r != 0:
			dst[n], dst[n+1] = 0xc0|byte(r>>6), 0x80|byte(r)&0xbf
			n += 2
		default:
			m, read := t.other(dst[n:n+12], src[i:])
			n, i = n+m, i+read
		}
	}
	return n, i
}

// other decodes the first character of src, which the table has not.
func (t *table) other(dst, src []byte) (n, read int) {
	for size := 2; ; size++ {
		end := size >= len(src)
		var err error
		n, read, err = t.slow.Transform(dst, src[:min(size, len(src))], end)
		if read > 0 || err == nil && end {
			break
		}
		if size >= 4 {
			return copy(dst, "\uFFFD"), 1
		}
	}
	return n, max(read, 1)
}

// appendValid appends src, with U+FFFD for every run of bytes that are not
// UTF-8.
func appendValid(dst, src []byte) []byte {
	if !utf8.Valid(src) {
		src = bytes.ToValidUTF8(src, []byte("\uFFFD"))
	}
	return append(dst, src...)
}

// appendUTF16 appends UTF-16. A surrogate without its other half, and a last
// byte alone, are U+FFFD.
func appendUTF16(dst, src []byte, order binary.ByteOrder) []byte {
	for ; len(src) >= 2; src = src[2:] {
		r := rune(order.Uint16(src))
		if utf16.IsSurrogate(r) {
			second := rune(0)
			if len(src) >= 4 {
				second = rune(order.Uint16(src[2:]))
			}
			if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
				src = src[2:]
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	if len(src) > 0 {
		dst = append(dst, "\uFFFD"...)
	}
	return dst
}
