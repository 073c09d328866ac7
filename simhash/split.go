package simhash

import (
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"
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

// classTable says what the characters are: those of the basic multilingual plane
// by a table, the rest by their properties.
type classTable struct {
	low           [0x10000]class
	latin, digits bool // letters and digits that separate words, see Options.Exclude
}

var classes = sync.OnceValue(func() *classTable { return newClasses(nil) })

// classesWithout returns the table by which characters of the names, as
// Options.Exclude has them, separate words.
func classesWithout(names []string) *classTable {
	if len(names) == 0 {
		return classes()
	}
	return newClasses(names)
}

func newClasses(exclude []string) *classTable {
	t := &classTable{latin: slices.Contains(exclude, ExcludeLatin), digits: slices.Contains(exclude, ExcludeDigits)}
	for r := range rune(len(t.low)) {
		t.low[r] = t.find(r)
	}
	return t
}

// of returns the class of a character.
func (t *classTable) of(r rune) class {
	if int(r) < len(t.low) {
		return t.low[r]
	}
	return t.find(r)
}

func (t *classTable) find(r rune) class {
	c := classOf(r)
	if c == classWord && (t.latin && unicode.Is(unicode.Latin, r) || t.digits && unicode.IsNumber(r)) {
		return classNone
	}
	return c
}

// pause returns where, from i on, the first character of text stands that
// separates words, so that no word is cut there.
func pause(t *classTable, text []byte, i int) int {
	for i < len(text) && !utf8.RuneStart(text[i]) {
		i++
	}
	for i < len(text) {
		r, size := decode(text[i:])
		if t.of(r) == classNone && r != '\'' {
			return i
		}
		i += size
	}
	return i
}

// span is a run of one class in the normal form: text[start:end].
type span struct {
	start, end int
	class      class
}

// nextSpan returns the first run of words, ideographs or dense characters at
// or after i; its class is classNone at the end of the text. A word goes on
// over an apostrophe between two of its characters.
func nextSpan(t *classTable, text []byte, i int) span {
	at := func(i int) (class, int) {
		if c := text[i]; c < 0x80 {
			return t.low[c], 1
		}
		r, size := decode(text[i:])
		return t.of(r), size
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
			for s.end < len(text) && text[s.end] < 0x80 && t.low[text[s.end]] == classWord {
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
