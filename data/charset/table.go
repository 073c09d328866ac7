package charset

import (
	"unicode/utf8"

	"golang.org/x/text/transform"
)

// table has the characters of an encoding that are ASCII, one byte or two.
type table struct {
	single [256]rune         // 0: the byte starts a pair, or nothing
	pairs  *[128][256]uint16 // by first byte less 0x80, and second; 0: none
}

// tableOf returns the encoding's table, which is made at first use.
func (e *Encoding) tableOf() *table {
	e.build.Do(func() {
		t, from := &table{}, e.enc.NewDecoder()
		for c := range 256 {
			t.single[c] = decodeOne(from, byte(c))
		}
		if e.kind == doubleByte {
			t.pairs = new([128][256]uint16)
			for first := 0x80; first <= 0xff; first++ {
				if t.single[first] != 0 {
					continue
				}
				for second := 0x21; second <= 0xff; second++ {
					if r := decodeOne(from, byte(first), byte(second)); r <= 0xffff {
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
func decodeOne(from transform.Transformer, src ...byte) rune {
	var dst [16]byte
	n, read, err := from.Transform(dst[:], src, false)
	r, size := utf8.DecodeRune(dst[:n])
	if err != nil || read != len(src) || size != n || r == utf8.RuneError {
		return 0
	}
	return r
}
