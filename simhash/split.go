package simhash

import (
	"sync"
	"unicode"
)

// class is what a character of the normal form is to the splitter.
type class uint8

const (
	classNone  class = iota // separates: space, punctuation, symbols
	classWord               // letters and digits of scripts that put spaces between words
	classHan                // ideographs
	classDense              // kana, Thai, Lao, Khmer, Burmese, bopomofo: no spaces, no dictionary
	classMark               // combining marks: they go on with a word
)

// dense are the scripts that write words without spaces and that the
// segmenter does not know.
var dense = []*unicode.RangeTable{
	unicode.Hiragana, unicode.Katakana, unicode.Bopomofo,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

func classOf(r rune) class {
	switch {
	case r == '々' || r == '〇' || r == '〻':
		return classHan
	case r == 'ー':
		return classDense
	case unicode.Is(unicode.M, r) && !unicode.In(r, dense...):
		return classMark
	case !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.Is(unicode.M, r):
		return classNone
	case unicode.Is(unicode.Han, r):
		return classHan
	case unicode.In(r, dense...) && !unicode.IsNumber(r):
		return classDense
	}
	return classWord
}

var classes = sync.OnceValue(func() *[0x10000]class {
	t := new([0x10000]class)
	for r := range rune(len(t)) {
		t[r] = classOf(r)
	}
	return t
})

// span is a run of one class in the normal form: text[start:end].
type span struct {
	start, end int
	class      class
}

// nextSpan returns the first run of words, ideographs or dense characters at
// or after i; its class is classNone at the end of the text. A word goes on
// over an apostrophe between two of its characters.
func nextSpan(t *[0x10000]class, text []byte, i int) span {
	at := func(i int) (class, int) {
		if c := text[i]; c < 0x80 {
			return t[c], 1
		}
		r, size := decode(text[i:])
		if int(r) < len(t) {
			return t[r], size
		}
		return classOf(r), size
	}
	var s span
	for ; i < len(text); i = s.end {
		var size int
		s.class, size = at(i)
		s.start, s.end = i, i+size
		if s.class == classWord || s.class == classHan || s.class == classDense {
			break
		}
		s.class = classNone
	}
	if s.class == classNone {
		return span{start: len(text), end: len(text)}
	}
	for s.end < len(text) {
		switch s.class {
		case classHan: // the ideographs from U+5000 to U+9FFF, by their first byte
			for s.end+3 <= len(text) && text[s.end]-0xe5 <= 0xe9-0xe5 {
				s.end += 3
			}
		case classWord:
			for s.end < len(text) && text[s.end] < 0x80 && t[text[s.end]] == classWord {
				s.end++
			}
		}
		if s.end == len(text) {
			break
		}
		c, size := at(s.end)
		if c != s.class && (c != classMark || s.class == classHan) {
			if s.class != classWord || text[s.end] != '\'' || s.end+1 == len(text) {
				break
			}
			if c, size = at(s.end + 1); c != classWord {
				break
			}
			size++
		}
		s.end += size
	}
	return s
}
