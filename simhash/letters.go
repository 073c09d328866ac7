package simhash

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// A letter of a text in normal form is a character that n-grams and shingles
// are made of: a letter, digit or mark. All others (spaces, punctuation,
// symbols) only stand between letters.

// LetterRoom is the room that ReadLetters needs.
const LetterRoom = 64

// ReadLetters writes the letters of text, which must be in normal form, to dst, each
// as its code point plus 1. It stops when the text ends or dst has room for fewer
// than LetterRoom more. It returns how many letters it wrote and how many bytes of
// text it read. Invalid UTF-8 gives the same result on every machine.
func ReadLetters(dst []uint32, text []byte) (n, read int) {
	known, limit := letters(), len(dst)-LetterRoom
	for read < len(text) && n <= limit {
		stop := len(text)
		if hasWide {
			more, size := lettersWide(&dst[n], limit-n, &text[read], len(text)-read, known)
			n += more
			read += size
			stop = read + 1 // what it does not read
		}
		// Which characters are letters is not to be foreseen, so no branch asks:
		// each is written, and some are overwritten.
		for read < len(text) && read < stop && n <= limit {
			c, size := rune(text[read]), 1
			if c >= utf8.RuneSelf {
				if c, size = decodeLetter(text[read:]); c >= endOfLetters {
					c = 0 // which is none either
				}
			}
			dst[n] = uint32(c) + 1
			n += int(known[c>>5&(endOfLetters/32-1)] >> (c & 31) & 1)
			read += size
		}
	}
	return n, read
}

// decodeLetter returns the first character of text, which must not be empty, and its
// length in bytes. For invalid UTF-8 it returns something that depends on the bytes
// alone.
func decodeLetter(text []byte) (rune, int) {
	if len(text) >= 3 && text[0]&0xf0 == 0xe0 {
		return rune(text[0]&0x0f)<<12 | rune(text[1]&0x3f)<<6 | rune(text[2]&0x3f), 3
	}
	return utf8.DecodeRune(text)
}

// endOfLetters: beyond are variation selectors, which no normal form has.
const endOfLetters = 0x40000

// letterBits has a bit for every character that is a letter.
type letterBits [endOfLetters / 32]uint32

var letters = sync.OnceValue(func() *letterBits {
	t := new(letterBits)
	set := func(lo, hi, stride rune) {
		for c := lo; c <= hi && c < endOfLetters; c += stride {
			t[c>>5] |= 1 << (c & 31)
		}
	}
	for _, table := range []*unicode.RangeTable{unicode.L, unicode.N, unicode.M} {
		for _, r := range table.R16 {
			set(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range table.R32 {
			set(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return t
})

// Grams reads the hashes of a text's n-grams: an n-gram is so many successive
// letters, or all letters of a text of fewer. It allocates nothing.
type Grams struct {
	text    []byte
	size    int
	letters int  // how many are in buffer
	last    int  // n-grams read last, one from each of the first so many letters
	started bool // some were read

	buffer [maxGram + gramBlock + LetterRoom]uint32
	hashes [maxGram + gramBlock + LetterRoom]uint64
}

const (
	maxGram   = 16  // letters of the largest n-gram
	gramBlock = 512 // letters that are read at a time, and some
)

// Start begins with text, which is in normal form, and n-grams of size letters,
// 1 to 16.
func (g *Grams) Start(text []byte, size int) {
	g.text, g.size, g.letters, g.last, g.started = text, min(max(size, 1), maxGram), 0, 0, false
}

// Next returns the hashes of the next n-grams, in order, and none at the end. The
// caller may change them until it calls Next or Start again.
//
// With the letters a…z as ReadLetters writes them, the hash is the polynomial
//
//	z + y·b + … + a·b^(size−1)   modulo 2⁶⁴
//
// It rolls: the next one is hash·b + (the letter that comes) − (the letter that
// leaves)·b^size. It is the same on every machine. Its low bits depend on the
// letters' low bits alone, so the caller has to mix it.
func (g *Grams) Next() []uint64 {
	g.letters = copy(g.buffer[:], g.buffer[g.last:g.letters])
	for g.letters < g.size && len(g.text) > 0 {
		n, read := ReadLetters(g.buffer[g.letters:], g.text)
		g.letters, g.text = g.letters+n, g.text[read:]
	}
	size := g.size
	if !g.started {
		size = min(size, g.letters)
	}
	g.last, g.started = hashLetters(g.hashes[:], g.buffer[:g.letters], size), true
	return g.hashes[:g.last]
}

// letterBase is b of the polynomial: 2⁶⁴ over the golden ratio, made odd.
const letterBase = 0x9e3779b97f4a7c15

// hashLetters hashes every size successive letters, and returns how many hashes
// it put into dst: len(letters) − size + 1, or none.
func hashLetters(dst []uint64, letters []uint32, size int) int {
	n := len(letters) - size + 1
	if n <= 0 || size <= 0 {
		return 0
	}
	dst = dst[:n]
	if hasWide {
		hashWide(&dst[0], &letters[0], n, size)
		return n
	}
	h, leave := uint64(0), uint64(1)
	for _, c := range letters[:size] {
		h = h*letterBase + uint64(c)
		leave *= letterBase
	}
	dst[0] = h
	came := letters[size:]
	left := letters[:len(came)]
	dst = dst[1:][:len(came)]
	for i, c := range came {
		h = h*letterBase + (uint64(c) - uint64(left[i])*leave)
		dst[i] = h
	}
	return n
}
