// Package language tells the language of a text, cheaply enough to do it for every
// document of a dump. If only one language is written in the text's script, the script
// decides. Otherwise the commonest words of the languages that share the script do. The
// package does not tell dialects or Norwegian's two written forms apart, and does not
// guess at texts of a few words.
package language

import (
	"bytes"
	"math/bits"
	"unicode/utf8"

	"golang.org/x/text/language"
)

const (
	// enough is how many words are looked at, and window how many bytes at
	// most: more would tell no more.
	enough = 128
	window = 8 << 10
	// A language is told from at least minHits of its common words and letters,
	// which are minLead more than those of any other language, and at least one
	// in minShare of the words that were looked at.
	minHits  = 3
	minLead  = 2
	minShare = 12
)

// Of returns the language of a text in normal form (see simhash.Workspace.Normal), as a
// BCP 47 language subtag: zh, en, or three letters for a language that has no two. It
// returns "" if the language is unknown.
//
// Declared is what the input says of the language. It may be empty, a language tag in
// any usual form (zh_CN, zho, en-US), or a list of them, of which the first counts. Of
// believes it unless the text's script contradicts it, since what a page declares is
// often just what its template declares.
func Of(declared, normal []byte) string {
	said, writing := parse(declared)
	s := sight{clues: allClues()}
	s.look(normal, said != "")
	own := s.script()
	if said != "" && (own == none || own == writing || scripts[own].language == "" && scripts[writing].language == "") {
		return said
	}
	if said != "" {
		s.look(normal, false)
	}
	if found := s.language(own); found != "" {
		return found
	}
	return said
}

// sight is what was seen of a text.
type sight struct {
	clues   *clues
	letters [len(scripts)]int32   // by script, times its weight
	words   int32                 // of scripts that several languages share
	hits    [len(languages)]int32 // clues by language
}

// look reads the start of a text, if letters is set for its script alone.
func (s *sight) look(text []byte, letters bool) {
	text = text[:min(len(text), window)]
	s.letters, s.words = [len(scripts)]int32{}, 0
	word := uint64(0) // as far as it was read
	ideographs, n := int32(0), 0
	for i := 0; i < len(text) && s.words+ideographs/2 < enough; i += n {
		c := text[i]
		if n = 1; c < utf8.RuneSelf {
			if c-'a' < 26 {
				word = next(word, c)
				s.letters[latin]++
				continue
			}
			if word != 0 {
				s.word(word, letters)
				word = 0
			}
			if c == ':' && bytes.HasPrefix(text[i:], []byte("://")) { // an address says nothing
				if n = bytes.IndexAny(text[i:], " \n"); n < 0 {
					n = len(text) - i
				}
			}
			continue
		}
		r, script := rune(0), han
		if c >= 0xe4 && c <= 0xe9 { // U+4000 to U+9FFF, nearly all of them ideographs
			n = 3
		} else {
			r, n = utf8.DecodeRune(text[i:])
			script = scriptOf(r)
		}
		s.letters[script] += scripts[script].weight
		if script == none || script >= han {
			ideographs++
			if word != 0 {
				s.word(word, letters)
				word = 0
			}
			continue
		}
		for _, b := range text[i : i+n] {
			word = next(word, b)
		}
		if !letters {
			s.count(s.clues.find(mark(r)))
		}
	}
	if word != 0 {
		s.word(word, letters)
	}
}

func (s *sight) word(word uint64, letters bool) {
	s.words++
	if !letters {
		s.count(s.clues.find(word))
	}
}

func (s *sight) count(languages uint64) {
	for ; languages != 0; languages &= languages - 1 {
		s.hits[bits.TrailingZeros64(languages)]++
	}
}

// script returns the script of most of the text: Japanese and Korean use
// ideographs too.
func (s *sight) script() int {
	for _, own := range []int{kana, hangul} {
		if s.letters[own]*8 > s.letters[han] {
			s.letters[own] += s.letters[han]
			s.letters[han] = 0
			break
		}
	}
	best := none
	for i := other; i < len(scripts); i++ {
		if s.letters[i] > s.letters[best] || best == none && s.letters[i] > 0 {
			best = i
		}
	}
	return best
}

// language returns the language of a text that is written in that script.
func (s *sight) language(script int) string {
	if l := scripts[script].language; l != "" {
		return l
	}
	best, second := -1, int32(0)
	for i := range languages {
		if languages[i].script != script {
			continue
		}
		if best < 0 || s.hits[i] > s.hits[best] {
			if best >= 0 {
				second = s.hits[best]
			}
			best = i
		} else {
			second = max(second, s.hits[i])
		}
	}
	if best < 0 || s.hits[best] < max(minHits, second+minLead) || s.hits[best]*minShare < s.words {
		return ""
	}
	return languages[best].code
}

// parse returns the language of the first tag of a list and the script that it
// is written in; "" for what is none.
func parse(declared []byte) (base string, script int) {
	tag := first(declared)
	if len(tag) < 2 || len(tag) > 35 {
		return "", none
	}
	if b, s, ok := usual(tag); ok {
		return b, s
	}
	t, err := language.Parse(string(tag))
	if err != nil {
		return "", none
	}
	b, _ := t.Base()
	switch base = b.String(); base {
	case "und", "mul", "zxx", "mis":
		return "", none
	case "cmn", "yue", "wuu", "hak", "nan", "lzh":
		return "zh", han
	case "nb", "nn":
		base = "no"
	}
	sc, _ := t.Script()
	switch code := sc.String(); code {
	case "Hans", "Hant":
		return base, han
	case "Jpan":
		return base, kana
	case "Kore":
		return base, hangul
	default:
		for i := range scripts {
			if scripts[i].code == code {
				return base, i
			}
		}
	}
	return base, other
}

// usual is parse of the forms that nearly all pages have, which is quicker: two
// small letters, and perhaps two more for a region.
func usual(tag []byte) (base string, script int, ok bool) {
	if len(tag) != 2 && (len(tag) != 5 || tag[2] != '-' && tag[2] != '_') {
		return "", none, false
	}
	for i := range languages {
		if l := &languages[i]; l.code == string(tag[:2]) {
			return l.code, l.script, true
		}
	}
	for i := range scripts {
		if s := &scripts[i]; s.language == string(tag[:2]) {
			return s.language, i, true
		}
	}
	return "", none, false
}

// first returns the first tag of a list.
func first(list []byte) []byte {
	list = bytes.TrimLeft(list, " \t\r\n,;")
	if end := bytes.IndexAny(list, " \t\r\n,;"); end >= 0 {
		list = list[:end]
	}
	return list
}
