// Package model holds the segmentation model: the dictionary as a double-array
// trie and the hidden Markov model, with the file format they are embedded in.
// It never reads the source dictionaries; package source does.
package model

import (
	"math"
	"slices"
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

// UserWord is a word of a user dictionary.
type UserWord struct {
	Text string
	Freq uint32 // 0: the median weight
	Tag  string
	Base uint32 // weight index without the user dictionary; WeightNone: a new word
}

// Model is everything the segmenter knows. Words are numbered by IDs, see
// Slots.
type Model struct {
	Runes []rune // by code
	Nodes []Node

	Weights []float64 // log weights by index, ascending from WeightFirst on
	FreqSum float64   // sum of all frequencies: a word's weight is ln(freq/FreqSum)
	Median  uint32    // index of the median weight: user words without a frequency

	Tags     []string // distinct part-of-speech tags
	Tag      []uint8  // by ID
	IDFs     []float64
	IDF      []uint16 // by ID: index into IDFs plus 1, 0 for none
	MeanIDF  float64
	Stop     []uint32 // IDs of the stop words, ascending
	UserDict []UserWord

	Start [States]float64
	Trans [States][States]float64
	Emit  [][States]float64 // by code
}

// Slots returns the slot of every word by ID. IDs are dense; the words with
// the greatest log weight come first and equal weights in order of their slot.
// User words are ranked by their Base; those that are new come last, in their
// own order.
func (m *Model) Slots() []uint32 {
	codes := make(map[rune]uint16, len(m.Runes))
	for c, r := range m.Runes {
		codes[r] = uint16(c)
	}
	base := make(map[uint32]uint32, len(m.UserDict))
	var added []uint32
	for _, u := range m.UserDict {
		slot, ok := m.find(u.Text, codes)
		if _, twice := base[slot]; !ok || twice {
			continue
		}
		base[slot] = u.Base
		if u.Base == WeightNone {
			added = append(added, slot)
		}
	}
	// A counting sort by descending weight.
	weight := func(slot int) uint32 {
		w := m.Nodes[slot].Weight()
		if len(base) > 0 && w != WeightNone {
			if b, ok := base[uint32(slot)]; ok {
				w = b
			}
		}
		return w
	}
	starts := make([]uint32, len(m.Weights)+1)
	for s := range m.Nodes {
		starts[weight(s)]++
	}
	starts[WeightNone] = 0
	next := uint32(0)
	for w := len(starts) - 1; w > WeightNone; w-- {
		starts[w], next = next, next+starts[w]
	}
	slots := make([]uint32, next, int(next)+len(added))
	for s := range m.Nodes {
		if w := weight(s); w != WeightNone {
			slots[starts[w]] = uint32(s)
			starts[w]++
		}
	}
	return append(slots, added...)
}

// find returns the slot of a word.
func (m *Model) find(text string, codes map[rune]uint16) (uint32, bool) {
	slot, base := uint32(0), uint32(0)
	for i, r := range text {
		c, ok := codes[r]
		if !ok {
			return 0, false
		}
		slot = base + uint32(c)
		if i > 0 && m.Nodes[slot].Check() != c {
			return 0, false
		}
		base = m.Nodes[slot].Base()
		if base == 0 && i+len(string(r)) < len(text) {
			return 0, false
		}
	}
	return slot, text != "" && m.Nodes[slot].Weight() != WeightNone
}

// Parents returns for every base the slot that owns it, so that a word can be
// read from its last slot back to its first.
func Parents(nodes []Node) []uint32 {
	parents := make([]uint32, len(nodes))
	for s, n := range nodes {
		if b := n.Base(); b != 0 {
			parents[b] = uint32(s)
		}
	}
	return parents
}

// AppendCodes appends the character codes of the word that ends in slot.
func AppendCodes(dst []uint16, nodes []Node, parents []uint32, slot uint32) []uint16 {
	start := len(dst)
	for {
		c := nodes[slot].Check()
		if c == noCheck {
			dst = append(dst, uint16(slot))
			slices.Reverse(dst[start:])
			return dst
		}
		dst = append(dst, c)
		slot = parents[slot-uint32(c)]
	}
}

// WeightTable returns the table of the distinct log weights and a function
// from a log weight to its index. -Inf is the weight of WeightKnown.
func WeightTable(logs []float64) ([]float64, func(float64) uint32) {
	table := slices.Clone(logs)
	slices.Sort(table)
	table = slices.Compact(table)
	if len(table) == 0 || !math.IsInf(table[0], -1) {
		table = slices.Insert(table, 0, math.Inf(-1))
	}
	table = slices.Insert(table, WeightNone, math.Inf(-1))
	return table, func(log float64) uint32 {
		i, _ := slices.BinarySearch(table[WeightKnown:], log)
		return uint32(i) + WeightKnown
	}
}
