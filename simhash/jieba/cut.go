package jieba

import (
	"math"
	"slices"
	"unicode/utf8"

	"github.com/neardup/neardup/simhash/jieba/internal/model"
)

// Word is one word of a text.
type Word struct {
	Start, End int32 // byte offsets in the text
	ID         int32 // its number in the dictionary, -1 if it has none
}

// Cutter cuts texts into words. It reuses its buffers, so only one goroutine may use it
// at a time.
type Cutter struct {
	d   *Dictionary
	hmm bool

	// Of Cut: the text by character.
	codes []uint16 // character code
	at    []int32  // byte offset

	// What is worked out for a chunk.
	pairs []model.Node // node of the character and the next one, 0 if no word starts so; its check says nothing
	best  []float64    // cost of the best way to cut from here on
	words []word       // the best word that starts here

	// Of solveFast.
	inner  []int32 // pairs that longer words start with
	slots  []int32 // of each, with the character after it
	longer []longer

	path []uint8 // see viterbi
}

// chunk is the number of characters that are cut together. A chunk ends after a
// separator; it is longer only if the text has none within reach.
const chunk = 256

// NewCutter returns a Cutter. With hmm, runs of characters that no listed word
// covers are joined to words by the hidden Markov model.
func (d *Dictionary) NewCutter(hmm bool) *Cutter {
	c := &Cutter{d: d, hmm: hmm}
	c.room(chunk + 2)
	return c
}

// room makes room for what is worked out for a chunk of n-2 characters.
func (c *Cutter) room(n int) {
	if n > len(c.words) {
		c.pairs, c.best = make([]model.Node, n), make([]float64, n)
		c.words = make([]word, n)
		c.inner, c.slots, c.longer = make([]int32, n), make([]int32, n), make([]longer, n)
	}
}

// Cut appends the words of text to dst and returns it. The words cover the
// text without gap or overlap; white space and punctuation are words too.
//
// The result for valid UTF-8 without NUL is that of gojieba v1.4.7. Each NUL
// and each byte that is not part of valid UTF-8 is a word of its own, and
// separates: the text on either side is cut as if it stood alone. Text beyond
// 2 GiB is not cut.
func (c *Cutter) Cut(dst []Word, text []byte) []Word {
	text = text[:min(len(text), math.MaxInt32)]
	c.codes, c.at = c.codes[:0], c.at[:0]
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		code := c.d.code(r)
		if r == utf8.RuneError && size == 1 {
			code = model.CodeBreak
		}
		c.codes, c.at = append(c.codes, code), append(c.at, int32(i))
		i += size
	}
	c.at = append(c.at, int32(len(text)))
	return c.CutCodes(dst, c.codes, c.at)
}

// CutCodes is Cut for a text that was decoded before: it is given the codes of
// its characters, as Dictionary.Code returns them, and the offset of each and
// of the end of the last, from which the Words' Start and End are taken.
func (c *Cutter) CutCodes(dst []Word, codes []uint16, at []int32) []Word {
	for len(codes) > 0 {
		n := min(len(codes), chunk)
		if n < len(codes) {
			for n > 0 && codes[n-1]-1 >= model.LastSeparator {
				n--
			}
			if n == 0 {
				for n = chunk; n < len(codes) && codes[n-1]-1 >= model.LastSeparator; {
					n++
				}
				c.room(n + 2)
			}
		}
		dst = c.cut(dst, codes[:n], at)
		codes, at = codes[n:], at[n:]
	}
	return dst
}

func (c *Cutter) cut(dst []Word, codes []uint16, at []int32) []Word {
	if c.d.compact != nil {
		c.fast(codes)
	} else {
		c.look(codes)
		c.solve(codes)
	}
	dst = slices.Grow(dst, len(codes))
	if c.hmm {
		return c.joined(dst, codes, at)
	}
	return c.listed(dst, codes, at)
}

// look finds the nodes of all pairs of characters: accesses to the trie that
// need not wait for each other.
func (c *Cutter) look(codes []uint16) {
	nodes := c.d.nodes
	pairs := c.pairs[:len(codes)]
	base := nodes[codes[0]].Base()
	for i, code := range codes[1:] {
		pair := nodes[base+uint32(code)]
		if pair.Check() != code {
			pair = 0
		}
		pairs[i] = pair
		base = nodes[code].Base()
	}
	pairs[len(codes)-1] = 0
}

// word is a word of a chunk: 1 + its ID, and its length in characters. The
// highest bit is set in that of a character that separates.
type word uint64

const (
	lengthBits = 16
	separates  = word(1) << 63
)

func newWord(value uint32, length int) word { return word(value)<<lengthBits | word(length) }
func (w word) id() int32                    { return int32(w>>lengthBits) - 1 }
func (w word) length() int                  { return int(w & (1<<lengthBits - 1)) }

// single is 1 for a word of one character, else 0.
func (w word) single() uint8 { return uint8((w&(1<<lengthBits-1) - 2) >> 63) }

// character is a character as a word.
type character struct {
	cost float64
	word word
}

// solve finds for each character the best word that starts there: the one that
// the way of least cost from here on begins with, and of equal ones the
// shortest. A cost is a log weight with its sign turned.
func (c *Cutter) solve(codes []uint16) {
	n := len(codes)
	nodes, costs, characters := c.d.nodes, c.d.costs, c.d.characters
	pairs, words := c.pairs[:n], c.words[:n]
	best := c.best[:n+1]
	best[n] = 0
	best1, best2 := 0.0, 0.0 // from the next character on, and from the one after that
	for i := n - 1; i >= 0; i-- {
		one, pair := &characters[codes[i]], pairs[i]
		v, choice := best1+one.cost, one.word
		if pair != 0 {
			if w := best2 + costs[pair.Value()]; w < v {
				v, choice = w, newWord(pair.Value(), 2)
			}
			for base, j := pair.Base(), i+2; base != 0 && j < len(codes); j++ {
				node := nodes[base+uint32(codes[j])]
				if node.Check() != codes[j] {
					break
				}
				if w := best[j+1] + costs[node.Value()]; w < v {
					v, choice = w, newWord(node.Value(), j+1-i)
				}
				base = node.Base()
			}
		}
		if one.word&separates != 0 {
			v = 0
		}
		best[i], words[i] = v, choice
		best1, best2 = v, best1
	}
}

// fast is look and solve in assembly. Which pair is a word, which word is the
// better one and which character separates is not to be foreseen, and there no
// branch asks; only longer words, which are rare, are branches. It reads the
// compact trie, and asks for all of a step's memory before it needs any.
func (c *Cutter) fast(codes []uint16) {
	d := c.d.compact
	solveFast(&solver{
		codes: &codes[0], n: len(codes),
		checks: &d.checks[0], nodes: &d.nodes[0], roots: &d.roots[0], costs: &d.costs[0], characters: &c.d.characters[0],
		pairs: &c.pairs[0], best: &c.best[0], words: &c.words[0],
		inner: &c.inner[0], slots: &c.slots[0], longer: &c.longer[0],
	})
}

// A solver is what solveFast works on: the fields of Cutter and Dictionary.
type solver struct {
	codes      *uint16
	n          int
	checks     *uint16
	nodes      *model.Node
	roots      *uint32
	costs      *float64
	characters *character
	pairs      *model.Node
	best       *float64
	words      *word
	inner      *int32
	slots      *int32
	longer     *longer
}

// longer is a character that a word of three characters or more may start at.
type longer struct {
	at   int64 //nolint:unused // of solveFast; -1 after the last
	slot int64 //nolint:unused // of it and the next two
}

func (c *Cutter) listed(dst []Word, codes []uint16, at []int32) []Word {
	words, at := c.words[:len(codes)], at[:len(codes)+1]
	for i := 0; i < len(words); {
		w := words[i]
		j := i + w.length()
		dst = append(dst, Word{at[i], at[j], w.id()})
		i = j
	}
	return dst
}

// joined appends the best words, runs of single characters joined by the
// hidden Markov model.
//
// Which words are of one character is not to be foreseen: a branch is only
// taken where two such follow each other, and takes the first one back.
func (c *Cutter) joined(dst []Word, codes []uint16, at []int32) []Word {
	words, at, joins := c.words[:len(codes)], at[:len(codes)+1], c.d.joins
	before := uint8(0)
	for i := 0; i < len(words); {
		w := words[i]
		j := i + w.length()
		lone := joins[codes[i]] & w.single()
		if lone&before == 0 {
			dst = append(dst, Word{at[i], at[j], w.id()})
			i, before = j, lone
			continue
		}
		for j < len(words) && joins[codes[j]]&words[j].single() != 0 {
			j++
		}
		dst = c.run(dst[:len(dst)-1], codes[i-1:j], at[i-1:j+1], c.pairs[i-1:j])
		i, before = j, 0
	}
	return dst
}
