package passage

import "slices"

// A stretch is likely to be a hit if it has enough of the short grams of the other text.
// Of g letters each of which stays with probability p, a gram stays with pᵍ: .77 of those
// of five letters if one in twenty is mistyped. Of words, one of three exchanged, about
// half stay. Two texts of one subject that share a phrase mostly have less than a third.
const (
	likelyShare = 0.35
	alphabet    = 5       // letters of a short gram,
	eastAsian   = 2       // and of one in which most letters are the heaviest
	mostRoom    = 1 << 14 // letters, of which a set of this size can tell something
)

// shortGrams is a set of the short grams of a text; now and then it has one more.
type shortGrams struct {
	of   []uint32 // the text
	n    int      // letters of a gram
	bits [1 << 16 / 64]uint64
}

// eachShort calls f with a hash of 16 bits of each short gram of n letters.
func eachShort(letters []uint32, n int, f func(hash uint64)) {
	hash := uint64(0)
	for i, c := range letters {
		hash = hash*base + uint64(c)
		if i >= n {
			hash -= uint64(letters[i-n]) * powers[n]
		}
		if i >= n-1 {
			f(hash * base >> 48)
		}
	}
}

// fill makes the set that of a text, unless it is.
func (g *shortGrams) fill(letters []uint32, n int) {
	if g.n == n && len(g.of) == len(letters) && &g.of[0] == &letters[0] {
		return // of the same document
	}
	g.of, g.n, g.bits = letters, n, [len(g.bits)]uint64{}
	eachShort(letters, n, func(hash uint64) { g.bits[hash/64] |= 1 << (hash % 64) })
}

// likely reports whether a window of a document may hold a hit. It costs a quarter of
// an alignment.
func (s *Searcher) likely(doc, item []uint32, weight int, window Span) bool {
	if slices.ContainsFunc(s.long, func(run Span) bool { return run.From < window.To && window.From < run.To }) {
		return true
	}
	text, room := doc, item
	if weight <= s.weight {
		reach := 2*len(item) + mostApart
		text, room = item, doc[max(0, window.From-reach):min(len(doc), window.To+reach)]
	} else {
		weight = s.weight
	}
	n := alphabet
	if 2*weight > (1+heaviest)*len(text) {
		n = eastAsian
	}
	if len(room) > mostRoom || len(text) < n {
		return true
	}
	s.short.fill(room, n)
	same := 0
	eachShort(text, n, func(hash uint64) { same += int(s.short.bits[hash/64] >> (hash % 64) & 1) })
	return float64(same) >= likelyShare*float64(len(text)-n+1)
}
