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
// probability never falls below Unseen, and a state that no way leads to with
// a better one counts as reached from E. The model allows a word only to be S
// or to go from B over any number of M to E; Unseen, the probability of every
// other transition, is never the better one, so these need no sum.
func (c *Cutter) viterbi(dst []Word, i, j int) []Word {
	if j == i+1 {
		return c.unlisted(dst, i, j)
	}
	const (
		b = model.B
		e = model.E
		m = model.M
		s = model.S
	)
	d := c.d
	t, emit := &d.trans, &d.emit[c.codes[i]]
	pb, pe, pm, ps := d.start[b]+emit[b], d.start[e]+emit[e], d.start[m]+emit[m], d.start[s]+emit[s]
	c.path = c.path[:0]
	for _, code := range c.codes[i+1 : j] {
		emit = &d.emit[code]
		qb, fb := better(pe+t[e][b]+emit[b], e, ps+t[s][b]+emit[b], s)
		qe, fe := better(pb+t[b][e]+emit[e], b, pm+t[m][e]+emit[e], m)
		qm, fm := better(pb+t[b][m]+emit[m], b, pm+t[m][m]+emit[m], m)
		qs, fs := better(pe+t[e][s]+emit[s], e, ps+t[s][s]+emit[s], s)
		pb, pe, pm, ps = qb, qe, qm, qs
		c.path = append(c.path, fb<<(2*b)|fe<<(2*e)|fm<<(2*m)|fs<<(2*s))
	}
	state := uint8(s)
	if pe >= ps {
		state = e
	}
	// From here on path holds the state of each character but the last.
	for x := len(c.path) - 1; x >= 0; x-- {
		state = c.path[x] >> (2 * state) & 3
		c.path[x] = state
	}
	left := i
	for x, state := range c.path {
		if state == e || state == s {
			dst = c.unlisted(dst, left, i+x+1)
			left = i + x + 1
		}
	}
	return c.unlisted(dst, left, j)
}

// better returns the greater of two probabilities and the state it comes from,
// the first if they are equal.
func better(p float64, from uint8, q float64, other uint8) (float64, uint8) {
	if q > p {
		p, from = q, other
	}
	if p > model.Unseen {
		return p, from
	}
	return model.Unseen, model.E
}
