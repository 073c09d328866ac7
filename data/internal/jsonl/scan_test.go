package jsonl

import (
	"bytes"
	"testing"
)

// TestSpecial puts each byte at each place of strings of each length, behind bytes that
// are not special, and those next to what is.
func TestSpecial(t *testing.T) {
	is := func(c byte) bool { return c == '"' || c == '\\' || c < 0x20 }
	const most = 100 // three groups of 32 and some
	for _, around := range []byte{' ', '!', '#', '[', ']', 0x7f, 0x80, 0xa2, 0xdc, 0xff} {
		text := bytes.Repeat([]byte{around}, most)
		for length := range most + 1 {
			if got := special(text[:length], 0); got != length {
				t.Fatalf("%d times %#x: special at %d", length, around, got)
			}
		}
		for at := range most {
			for c := range 256 {
				text[at] = byte(c)
				want := most
				if is(byte(c)) {
					want = at
				}
				for from := 0; from <= at; from += 7 {
					if got := special(text, from); got != want {
						t.Fatalf("%#x at %d of %d times %#x, from %d on: special at %d", c, at, most, around, from, got)
					}
				}
			}
			text[at] = '"'
			if at > 0 {
				text[at-1] = '\n'
				if got := special(text, 0); got != at-1 {
					t.Fatalf("two at %d: special at %d", at-1, got)
				}
				text[at-1] = around
			}
			text[at] = around
		}
	}
}
