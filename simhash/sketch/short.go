package sketch

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/simhash"
)

// ShortMax is the most letters and digits of a short text: a shingle says too
// little of it, and its edits can be counted.
const ShortMax = 40

// Short texts are compared by their letters, digits and marks, in normal form
// and in order. They are the same when at most a fifth of the longer one's
// characters, rounded down, have to be inserted, deleted or replaced, when they
// have the same digits, when no Chinese number stands in the place of another,
// and when it is not one word in the place of another: of short texts, a number
// or a name that differs makes another text. Those of up to four characters
// have to be equal.
//
// A Short holds a buffer; one goroutine uses it at a time.
type Short struct {
	segment []byte
}

// ShortText returns the letters, digits and marks of text, which is in normal
// form, appended to dst. ok is false for a text of none or of more than
// ShortMax of them: it is not short.
func ShortText(dst []rune, text []byte) (_ []rune, ok bool) {
	var letters [ShortMax + 1 + simhash.LetterRoom]uint32
	n, _ := simhash.ReadLetters(letters[:], text)
	if n == 0 || n > ShortMax {
		return dst, false
	}
	for _, c := range letters[:n] {
		dst = append(dst, rune(c-1))
	}
	return dst, true
}

// ShortEdits is the most edits between short texts of which the longer one has
// that many characters.
func ShortEdits(length int) int { return length / 5 }

// Keys appends the keys of a short text, as ShortText gives it, to dst,
// distinct and ascending. Two short texts within ShortEdits of each other have
// a key in common: of a text cut into e + 1 segments, e edits leave one
// unchanged and near its place (Li, Deng, Wang, Feng: Pass-Join, VLDB 2011).
// A text of 11 characters has about 20 keys.
func (s *Short) Keys(dst []uint64, text []rune) []uint64 {
	from, n := len(dst), len(text)
	for longer := n; longer <= ShortMax && longer-n <= ShortEdits(longer); longer++ {
		edits := ShortEdits(longer)
		if longer > n && edits == ShortEdits(longer-1) && longer-1-n <= edits {
			continue // the same keys
		}
		for i := range edits + 1 {
			dst = append(dst, s.key(text, edits, n, i, n*i/(edits+1), n*(i+1)/(edits+1)))
		}
	}
	edits := ShortEdits(n)
	for shorter := max(1, n-edits); shorter <= n; shorter++ {
		excess := n - shorter
		for i := range edits + 1 {
			at, end := shorter*i/(edits+1), shorter*(i+1)/(edits+1)
			for p := max(0, at-i, at+excess-(edits-i)); p <= min(at+i, at+excess+(edits-i)) && p+end-at <= n; p++ {
				dst = append(dst, s.key(text, edits, shorter, i, p, p+end-at))
			}
		}
	}
	slices.Sort(dst[from:])
	return dst[:from+len(slices.Compact(dst[from:]))]
}

// key is that of segment i, text[from:to], of a text of length characters cut
// for that many edits.
func (s *Short) key(text []rune, edits, length, i, from, to int) uint64 {
	s.segment = append(s.segment[:0], byte(edits), byte(length), byte(i))
	for _, c := range text[from:to] {
		s.segment = binary.LittleEndian.AppendUint32(s.segment, uint32(c))
	}
	return xxh3.Hash(s.segment)
}

// An Outline tells of most short texts that they are not the same, without a
// look at their order.
type Outline struct {
	characters uint64 // a bit for each, by its hash
	length     int
}

// OutlineOf returns the outline of a short text in UTF-8.
func OutlineOf(text []byte) (o Outline) {
	for len(text) > 0 {
		c, size := utf8.DecodeRune(text)
		text = text[size:]
		o.characters |= 1 << (uint32(c) * 0x9e3779b1 >> 26)
		o.length++
	}
	return o
}

// OutlineSize is the size of what Append appends and ReadOutline reads.
const OutlineSize = 9

// Append appends the outline of a text of at most 255 characters to dst.
func (o Outline) Append(dst []byte) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, byte(o.length)), o.characters)
}

// ReadOutline is the outline that b starts with.
func ReadOutline(b []byte) Outline {
	return Outline{length: int(b[0]), characters: binary.LittleEndian.Uint64(b[1:])}
}

// Unlike reports whether two short texts are certainly more edits apart than
// ShortEdits: an edit takes one character away, and brings one.
func (o Outline) Unlike(p Outline) bool {
	most := ShortEdits(max(o.length, p.length))
	return o.length-p.length > most || p.length-o.length > most ||
		bits.OnesCount64(o.characters&^p.characters) > most || bits.OnesCount64(p.characters&^o.characters) > most
}

// Judge gives the verdict on two short texts as ShortText gives them.
func (s *Short) Judge(a, b []rune) Verdict {
	switch {
	case len(a) == 0 || len(b) == 0:
		return Verdict{Reason: ReasonNothing}
	case slices.Equal(a, b):
		return Verdict{Same: true, Reason: ReasonShortEqual}
	}
	if Edits(a, b) > ShortEdits(max(len(a), len(b))) {
		return Verdict{Reason: ReasonShortUnlike}
	}
	if !sameDigits(a, b) || numberExchanged(a, b) {
		return Verdict{Reason: ReasonShortNumber}
	}
	if wordExchanged(a, b) {
		return Verdict{Reason: ReasonShortWord}
	}
	return Verdict{Same: true, Reason: ReasonShortAlike}
}

// sameDigits reports whether two texts have the same digits in the same order.
func sameDigits(a, b []rune) bool {
	for {
		for len(a) > 0 && !unicode.IsDigit(a[0]) {
			a = a[1:]
		}
		for len(b) > 0 && !unicode.IsDigit(b[0]) {
			b = b[1:]
		}
		switch {
		case len(a) == 0 || len(b) == 0:
			return len(a) == len(b)
		case a[0] != b[0]:
			return false
		}
		a, b = a[1:], b[1:]
	}
}

// numberExchanged reports whether two texts have as many Chinese numbers, and
// not the same. A text that has one more is not told from a slip of the pen:
// most such characters stand in words that are no numbers.
func numberExchanged(a, b []rune) bool {
	exchanged := false
	for {
		var x, y []rune
		x, a = cutNumber(a)
		y, b = cutNumber(b)
		if len(x) == 0 || len(y) == 0 {
			return exchanged && len(x) == len(y)
		}
		exchanged = exchanged || !slices.Equal(x, y)
	}
}

// cutNumber returns the first run of Chinese numerals of a text, and what is
// behind it.
func cutNumber(text []rune) (number, rest []rune) {
	isNumeral := func(c rune) bool { return strings.ContainsRune("〇一二三四五六七八九十百", c) }
	from := slices.IndexFunc(text, isNumeral)
	if from < 0 {
		return nil, nil
	}
	to := from
	for to < len(text) && isNumeral(text[to]) {
		to++
	}
	return text[from:to], text[to:]
}

// wordExchanged reports whether two texts differ in one place alone, where each
// has two characters or more, and none that the other has there.
func wordExchanged(a, b []rune) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) > 1 && len(b) > 1 && !slices.ContainsFunc(a, func(c rune) bool { return slices.Contains(b, c) })
}

// Edits returns the Levenshtein distance of two texts of at most 64 characters
// each: how many characters have to be inserted, deleted or replaced to make b
// of a (Hyyrö's form of Myers: A Fast Bit-Vector Algorithm for Approximate
// String Matching, JACM 1999). A longer text's remainder is not looked at.
func Edits(a, b []rune) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	plus, minus := ^uint64(0), uint64(0)
	last, distance := uint64(1)<<(len(a)-1), len(a)
	for _, c := range b {
		equal := uint64(0)
		for i, d := range a {
			if c == d {
				equal |= 1 << i
			}
		}
		zero := (equal&plus + plus) ^ plus | equal | minus
		up := minus | ^(zero | plus)
		down := plus & zero
		if up&last != 0 {
			distance++
		}
		if down&last != 0 {
			distance--
		}
		up = up<<1 | 1
		plus = down<<1 | ^(zero | up)
		minus = up & zero
	}
	return distance
}
