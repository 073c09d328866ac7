package jieba

import (
	"math"
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
	d   *Dictionary
	hmm bool

	// One chunk of the text, by character.
	codes []uint16
	at    []int32   // byte offset; one more than there are characters
	score []float64 // log weight of the best way to cut from here on
	next  []int32   // the character after the best word that starts here
	slot  []uint32  // where that word ends in the trie

	path []uint8 // see viterbi
}

// chunk is the number of characters worked on together, unless the text has
// no separator there.
const chunk = 512

// NewCutter returns a Cutter. With hmm, runs of characters that no listed word
// covers are joined to words by the hidden Markov model.
func (d *Dictionary) NewCutter(hmm bool) *Cutter {
	c := &Cutter{d: d, hmm: hmm}
	c.grow(2 * chunk)
	return c
}

func (c *Cutter) grow(n int) {
	codes, at := c.codes, c.at
	c.codes, c.at = make([]uint16, n), make([]int32, n+1)
	copy(c.codes, codes)
	copy(c.at, at)
	c.score, c.next, c.slot = make([]float64, n+1), make([]int32, n), make([]uint32, n)
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
		if c.hmm {
			dst = c.joined(dst, text, n)
		} else {
			dst = c.words(dst, n)
		}
	}
	return dst
}

// decode reads characters from text[pos:] up to a separator after at least
// chunk of them. It returns their number and the position after them.
func (c *Cutter) decode(text []byte, pos int) (int, int) {
	n := 0
	for pos < len(text) {
		if n == len(c.codes) {
			c.grow(2 * n)
		}
		c.at[n] = int32(pos)
		code, size := uint16(model.CodeBreak), 1
		if b := text[pos]; b < utf8.RuneSelf {
			code = c.d.bmp[b]
		} else {
			var r rune
			r, size = utf8.DecodeRune(text[pos:])
			if r != utf8.RuneError || size > 1 {
				code = c.d.code(r)
			}
		}
		c.codes[n] = code
		n++
		pos += size
		if n >= chunk && code-1 < model.LastSeparator {
			break
		}
	}
	c.at[n] = int32(pos)
	return n, pos
}

// solve finds for each of n characters the best word that starts there.
func (c *Cutter) solve(n int) {
	nodes, weights := c.d.nodes, c.d.weights
	c.score[n] = 0
	for i := n - 1; i >= 0; i-- {
		code := c.codes[i]
		node := nodes[code]
		best, next, slot := c.score[i+1]+weights[node.Weight()], i+1, uint32(code)
		base := node.Base()
		for j := i + 1; base != 0 && j < n; j++ {
			s := base + uint32(c.codes[j])
			node = nodes[s]
			if node.Check() != c.codes[j] {
				break
			}
			if v := c.score[j+1] + weights[node.Weight()]; v > best {
				best, next, slot = v, j+1, s
			}
			base = node.Base()
		}
		if code-1 < model.LastSeparator {
			best = 0
		}
		c.score[i], c.next[i], c.slot[i] = best, int32(next), slot
	}
}

// words appends the best words.
func (c *Cutter) words(dst []Word, n int) []Word {
	for i := 0; i < n; {
		j := int(c.next[i])
		dst = append(dst, Word{c.at[i], c.at[j], c.d.ids[c.slot[i]]})
		i = j
	}
	return dst
}

// joined appends the best words, runs of single characters joined by the
// hidden Markov model.
func (c *Cutter) joined(dst []Word, text []byte, n int) []Word {
	for i := 0; i < n; {
		j := int(c.next[i])
		if j > i+1 || c.d.alone[c.codes[i]] {
			dst = append(dst, Word{c.at[i], c.at[j], c.d.ids[c.slot[i]]})
			i = j
			continue
		}
		for j < n && int(c.next[j]) == j+1 && !c.d.alone[c.codes[j]] {
			j++
		}
		dst = c.run(dst, text, i, j)
		i = j
	}
	return dst
}
