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

// Cutter cuts texts into words. It keeps its working memory from one text to
// the next and serves one goroutine at a time.
type Cutter struct {
	d     *Dictionary
	hmm   bool
	cells []cell  // a chunk of text by character: 1, 2, … n; 0 and n+1, n+2 are margins
	path  []uint8 // see viterbi
}

// cell is what there is to know of one character of the chunk.
type cell struct {
	at   int32      // its byte offset
	code uint16     // its character code
	size uint16     // characters of the best word that starts here
	slot uint32     // the slot of that word; before solve that of the pair
	one  float64    // log weight of the character as a word
	two  float64    // log weight of it and the next one as a word, -Inf if they are none
	pair model.Node // node of it and the next one, 0 if no word starts with them
	best float64    // log weight of the best way to cut from here on
}

// chunk is the number of characters worked on together, unless the text has
// no separator there.
const chunk = 256

// NewCutter returns a Cutter. With hmm, runs of characters that no listed word
// covers are joined to words by the hidden Markov model.
func (d *Dictionary) NewCutter(hmm bool) *Cutter {
	return &Cutter{d: d, hmm: hmm, cells: make([]cell, 2*chunk)}
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
	for pos := 0; pos < len(text); {
		var n int
		n, pos = c.decode(text, pos)
		c.solve(n)
		dst = slices.Grow(dst, n)
		if c.hmm {
			dst = c.joined(dst, n)
		} else {
			dst = c.words(dst, n)
		}
	}
	return dst
}

// decode reads characters from text[pos:] up to a separator after at least
// chunk of them, and looks each up with the one before it: these accesses to
// the trie do not wait for each other. It returns the number of characters and
// the position after them.
func (c *Cutter) decode(text []byte, pos int) (int, int) {
	nodes, weights, bmp := c.d.nodes, c.d.weights, c.d.bmp
	cells := c.cells
	n := 0
	base := uint32(0) // of the previous character
	for pos < len(text) {
		if n+3 >= len(cells) {
			cells = append(cells, make([]cell, len(cells))...)
			c.cells = cells
		}
		code, size := uint16(model.CodeBreak), 1
		if b := text[pos]; b < utf8.RuneSelf {
			code = bmp[b]
		} else if r, ok := three(text, pos); ok {
			code, size = bmp[r], 3
		} else if r, n := utf8.DecodeRune(text[pos:]); n > 1 {
			code, size = c.d.code(r), n
		}
		slot := base + uint32(code)
		pair := nodes[slot]
		if pair.Check() != code {
			pair = 0
		}
		prev := &cells[n]
		prev.slot, prev.pair, prev.two = slot, pair, weights[pair.Weight()]
		n++
		node := nodes[code]
		base = node.Base()
		cur := &cells[n]
		cur.at, cur.code, cur.one = int32(pos), code, weights[node.Weight()]
		pos += size
		if n >= chunk && code-1 < model.LastSeparator {
			break
		}
	}
	last := &cells[n]
	last.pair, last.two = 0, weights[model.WeightNone]
	cells[n+1].at = int32(pos)
	return n, pos
}

// three decodes a character of three bytes, as nearly all Chinese ones are.
func three(text []byte, pos int) (uint16, bool) {
	if len(text)-pos < 3 {
		return 0, false
	}
	a, b, c := text[pos], text[pos+1], text[pos+2]
	r := uint32(a&0x0f)<<12 | uint32(b&0x3f)<<6 | uint32(c&0x3f)
	return uint16(r), a&0xf0 == 0xe0 && b&0xc0 == 0x80 && c&0xc0 == 0x80 && r >= 0x800 && r-0xd800 >= 0x800
}

// solve finds for each of n characters the best word that starts there.
func (c *Cutter) solve(n int) {
	nodes, weights := c.d.nodes, c.d.weights
	cells := c.cells[:n+3]
	best1, best2 := 0.0, 0.0 // from the next character on, and from the one after that
	cells[n+1].best = 0
	for i := n; i > 0; i-- {
		p := &cells[i]
		best, size, slot := best1+p.one, 1, uint32(p.code)
		if v := best2 + p.two; v > best {
			best, size, slot = v, 2, p.slot
		}
		base := p.pair.Base()
		for j := i + 2; base != 0 && j <= n; j++ {
			q := &cells[j]
			s := base + uint32(q.code)
			node := nodes[s]
			if node.Check() != q.code {
				break
			}
			if v := cells[j+1].best + weights[node.Weight()]; v > best {
				best, size, slot = v, j+1-i, s
			}
			base = node.Base()
		}
		if p.code-1 < model.LastSeparator {
			best = 0
		}
		p.best, p.size, p.slot = best, uint16(size), slot
		best1, best2 = best, best1
	}
}

// words appends the best words.
func (c *Cutter) words(dst []Word, n int) []Word {
	for i := 1; i <= n; {
		p := &c.cells[i]
		i += int(p.size)
		dst = append(dst, Word{p.at, c.cells[i].at, c.d.ids[p.slot]})
	}
	return dst
}

// joined appends the best words, runs of single characters joined by the
// hidden Markov model.
func (c *Cutter) joined(dst []Word, n int) []Word {
	cells, alone, ids := c.cells, c.d.alone, c.d.ids
	for i := 1; i <= n; {
		p := &cells[i]
		j := i + int(p.size)
		if p.size == 1 && !alone[p.code] {
			for j <= n && cells[j].size == 1 && !alone[cells[j].code] {
				j++
			}
			if j > i+1 {
				dst = c.run(dst, i, j)
				i = j
				continue
			}
		}
		dst = append(dst, Word{p.at, cells[j].at, ids[p.slot]})
		i = j
	}
	return dst
}
