package jieba

import "github.com/neardup/neardup/simhash/jieba/internal/model"

// run appends the words of the characters i to j, none of which is in a listed
// word: Latin words, numbers, and what the hidden Markov model joins.
func (c *Cutter) run(dst []Word, text []byte, i, j int) []Word {
	for i < j {
		k := i
		if text[c.at[i]] >= 0x80 {
			for k < j && text[c.at[k]] >= 0x80 {
				k++
			}
			dst = c.viterbi(dst, i, k)
			i = k
			continue
		}
		k++
		switch b := text[c.at[i]]; {
		case isLetter(b):
			for k < j && (isLetter(text[c.at[k]]) || isDigit(text[c.at[k]])) {
				k++
			}
		case isDigit(b):
			for k < j && (isDigit(text[c.at[k]]) || text[c.at[k]] == '.') {
				k++
			}
		}
		dst = c.unlisted(dst, i, k)
		i = k
	}
	return dst
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
func isDigit(b byte) bool  { return b >= '0' && b <= '9' }

// unlisted appends the characters i to j as one word.
func (c *Cutter) unlisted(dst []Word, i, j int) []Word {
	return append(dst, Word{c.at[i], c.at[j], c.d.find(c.codes[i:j])})
}

// find returns the ID of the word with these character codes, -1 for none.
func (d *Dictionary) find(codes []uint16) int32 {
	slot := uint32(codes[0])
	for _, code := range codes[1:] {
		slot = d.nodes[slot].Base() + uint32(code)
		if d.nodes[slot].Check() != code {
			return -1
		}
	}
	return d.ids[slot]
}

// viterbi appends the words the hidden Markov model finds in the characters i
// to j, none of them ASCII.
//
// The sums are those of cppjieba in the same order, and so are its quirks: a
// probability never falls below Unseen, and a state that has no way in better
// than that counts as reached from E.
func (c *Cutter) viterbi(dst []Word, i, j int) []Word {
	if j == i+1 {
		return c.unlisted(dst, i, j)
	}
	d := c.d
	c.path = c.path[:0]
	var p [model.States]float64
	for y, e := range d.emit[c.codes[i]] {
		p[y] = d.start[y] + e
	}
	for x := i + 1; x < j; x++ {
		var q [model.States]float64
		back := uint8(0)
		for y, e := range d.emit[c.codes[x]] {
			q[y] = model.Unseen
			from := model.E
			for z := range p {
				if v := p[z] + d.trans[z][y] + e; v > q[y] {
					q[y], from = v, z
				}
			}
			back |= uint8(from) << (2 * y)
		}
		p = q
		c.path = append(c.path, back)
	}
	state := uint8(model.S)
	if p[model.E] >= p[model.S] {
		state = model.E
	}
	// From here on path holds the state of each character but the last.
	for x := len(c.path) - 1; x >= 0; x-- {
		state = c.path[x] >> (2 * state) & 3
		c.path[x] = state
	}
	left := i
	for x, state := range c.path {
		if state == model.E || state == model.S {
			dst = c.unlisted(dst, left, i+x+1)
			left = i + x + 1
		}
	}
	return c.unlisted(dst, left, j)
}
