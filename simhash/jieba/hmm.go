package jieba

import "github.com/neardup/neardup/simhash/jieba/internal/model"

// run appends the words of the characters i to j, none of which is in a listed
// word: Latin words, numbers, and what the hidden Markov model joins.
func (c *Cutter) run(dst []Word, i, j int) []Word {
	codes, kinds := c.codes, &c.d.kinds
	for i < j {
		k := i + 1
		switch kinds.of(codes[i]) {
		case wide:
			for k < j && kinds.of(codes[k]) == wide {
				k++
			}
			dst = c.viterbi(dst, i, k)
			i = k
			continue
		case letter:
			for k < j && kinds.of(codes[k])&(letter|digit) != 0 {
				k++
			}
		case digit:
			for k < j && kinds.of(codes[k])&(digit|point) != 0 {
				k++
			}
		}
		dst = c.unlisted(dst, i, k)
		i = k
	}
	return dst
}

// kind says how characters join outside of listed words.
type kind uint8

const (
	other  kind = 0 // ASCII of no other kind
	letter kind = 1 << iota
	digit
	point
	wide // not ASCII: the hidden Markov model decides
)

// kinds is the kind of every ASCII code.
type kinds [model.FirstCode]kind

func (k *kinds) of(code uint16) kind {
	if int(code) < len(k) {
		return k[code]
	}
	return wide
}

func newKinds() (k kinds) {
	for code, r := range model.FixedRunes() {
		switch {
		case r < 0 || r >= 0x80:
			k[code] = wide
		case r|0x20 >= 'a' && r|0x20 <= 'z':
			k[code] = letter
		case r >= '0' && r <= '9':
			k[code] = digit
		case r == '.':
			k[code] = point
		}
	}
	return k
}

// unlisted appends the characters i to j as one word.
func (c *Cutter) unlisted(dst []Word, i, j int) []Word {
	return append(dst, Word{c.at[i], c.at[j], c.find(i, j)})
}

// find returns the ID of the word of the characters i to j, -1 for none.
func (c *Cutter) find(i, j int) int32 {
	slot := uint32(c.codes[i])
	for _, code := range c.codes[i+1 : j] {
		slot = c.d.nodes[slot].Base() + uint32(code)
		if c.d.nodes[slot].Check() != code {
			return -1
		}
	}
	return int32(c.d.nodes[slot].Value()) - 1
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
