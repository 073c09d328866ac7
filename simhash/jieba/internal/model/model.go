// Package model holds the segmentation model: the dictionary as a double-array
// trie and the hidden Markov model. Build makes it of a lexicon, jieba's five
// files; Decode reads the embedded one, which its tests build from the files that
// gojieba ships. The package opens no file.
package model

import (
	"math"
	"slices"

	"github.com/neardup/neardup/simhash/internal/large"
)

// Codes below FirstCode are fixed; the others belong to the characters of the
// model, the most frequent first.
const (
	CodeUnknown   = 0 // a character that is in no word and has no emission
	CodeBreak     = 1 // NUL, or a byte that is not part of valid UTF-8
	CodeSpace     = 2
	CodeTab       = 3
	CodeLine      = 4
	CodeComma     = 5 // ，
	CodeStop      = 6 // 。
	LastSeparator = CodeStop
	FirstASCII    = 7 // 0x01–0x7F without the separators, in order
	FirstCode     = FirstASCII + 127 - 3
)

// FixedRunes returns the characters of the codes below FirstCode. The first
// two stand for no character of their own and are -1.
func FixedRunes() []rune {
	runes := []rune{-1, -1, ' ', '\t', '\n', '，', '。'}
	for r := rune(1); r < 0x80; r++ {
		if !slices.Contains(runes, r) {
			runes = append(runes, r)
		}
	}
	return runes
}

// The states of the hidden Markov model: a character begins a word, ends it,
// is in its middle or is a word by itself.
const (
	B = iota
	E
	M
	S
	States
)

// Unseen is the log probability of what the model does not know: cppjieba's
// MIN_DOUBLE. It is so large that adding an ordinary logarithm leaves it as
// it is, which the Viterbi path depends on.
const Unseen = -3.14e+100

// NoEmission is the emission of a character the hidden Markov model lacks.
var NoEmission = [States]float64{Unseen, Unseen, Unseen, Unseen}

// Model is everything the segmenter knows, the weights and tags as they are
// without the user dictionary.
//
// Words are numbered by IDs: those with the greatest log weight come first,
// equal weights in order of their slots. So the frequent words are neighbours
// in every table that goes by ID.
type Model struct {
	Runes []rune // by code
	Nodes []Node

	Weight []float64 // log weight by ID
	New    int       // the last New words, of weight NewWord, are in the user dictionary only

	FreqSum float64 // sum of all frequencies: a word's weight is ln(freq/FreqSum)
	Median  float64 // log weight of user words without a frequency
	Min     float64 // log weight of characters that are no word

	Tags    []string // distinct part-of-speech tags
	Tag     []uint16 // by ID: index into Tags
	IDFs    []float64
	IDF     []uint32 // by ID: index into IDFs plus 1, 0 for none
	MeanIDF float64
	Stop    []uint32 // IDs of the stop words, ascending
	User    []UserWord

	Start [States]float64
	Trans [States][States]float64
	Emit  [][States]float64 // by code
}

// Listed is the log weight of a word that only the idf or stop word list has:
// it is never the better choice. NewWord is that of a word of the user
// dictionary alone.
var (
	Listed  = math.Inf(-1)
	NewWord = math.NaN()
)

// Speller reads words back from a trie, from their last slot to their first.
type Speller struct {
	slots   []uint32 // by ID: where the word ends
	parents []uint32 // by base: the slot that owns it
}

// NewSpeller returns the speller of a trie's words, whose IDs are below words.
func NewSpeller(nodes []Node, words int) Speller {
	s := Speller{make([]uint32, words), large.Make[uint32](len(nodes))}
	for slot, n := range nodes {
		if v := n.Value(); v != 0 {
			s.slots[v-1] = uint32(slot)
		}
		if b := n.Base(); b != 0 {
			s.parents[b] = uint32(slot)
		}
	}
	return s
}

// Len returns the number of words.
func (s *Speller) Len() int { return len(s.slots) }

// AppendCodes appends the character codes of a word to dst. check returns the check of
// the node in a slot of the trie.
func (s *Speller) AppendCodes(dst []uint16, id int32, check func(slot uint32) uint16) []uint16 {
	start, slot := len(dst), s.slots[id]
	for c := check(slot); c != noCheck; c = check(slot) {
		dst = append(dst, c)
		slot = s.parents[slot-uint32(c)]
	}
	dst = append(dst, uint16(slot))
	slices.Reverse(dst[start:])
	return dst
}
