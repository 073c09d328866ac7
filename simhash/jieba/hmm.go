package jieba

import "github.com/neardup/neardup/simhash/jieba/internal/model"

// run appends the words of a run of characters outside all listed words: Latin words,
// numbers, and words that the hidden Markov model joins.
func (c *Cutter) run(dst []Word, codes []uint16, at []int32, pairs []model.Node) []Word {
	kinds := &c.d.kinds
	for i, j := 0, 0; i < len(codes); i = j {
		j = i + 1
		switch kinds.of(codes[i]) {
		case wide:
			for j < len(codes) && kinds.of(codes[j]) == wide {
				j++
			}
			dst = c.viterbi(dst, codes[i:j], at[i:j+1], pairs[i:j])
			continue
		case letter:
			for j < len(codes) && kinds.of(codes[j])&(letter|digit) != 0 {
				j++
			}
		case digit:
			for j < len(codes) && kinds.of(codes[j])&(digit|point) != 0 {
				j++
			}
		}
		dst = c.unlisted(dst, codes[i:j], at[i:j+1], pairs[i:j])
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

// unlisted appends the characters as one word.
func (c *Cutter) unlisted(dst []Word, codes []uint16, at []int32, pairs []model.Node) []Word {
	return append(dst, Word{at[0], at[len(codes)], c.find(codes, pairs)})
}

// find returns the ID of the word of these characters, -1 for none. The nodes of
// their pairs are known.
func (c *Cutter) find(codes []uint16, pairs []model.Node) int32 {
	if len(codes) == 1 {
		return c.d.characters[codes[0]].word.id()
	}
	node := pairs[0]
	for _, code := range codes[2:] {
		var ok bool
		if node, ok = c.d.child(node, code); !ok {
			return -1
		}
	}
	return int32(node.Value()) - 1
}

// viterbi appends the words the hidden Markov model finds in characters none of
// which is ASCII.
//
// The sums are those of cppjieba in the same order, and so are its quirks: a
// probability never falls below Unseen, and a state that no way leads to with
// a better one counts as reached from E. The model allows a word only to be S
// or to go from B over any number of M to E; Unseen, the probability of every
// other transition, is never the better one, so these need no sum.
func (c *Cutter) viterbi(dst []Word, codes []uint16, at []int32, pairs []model.Node) []Word {
	if len(codes) == 1 {
		return c.unlisted(dst, codes, at, pairs)
	}
	const (
		b = model.B
		e = model.E
		m = model.M
		s = model.S
	)
	d := c.d
	t, emit := &d.base.Trans, &d.emit[codes[0]]
	start := &d.base.Start
	pb, pe, pm, ps := start[b]+emit[b], start[e]+emit[e], start[m]+emit[m], start[s]+emit[s]
	if len(codes) == 2 {
		// Most runs: the state of the last character says it all, and the way
		// to E is from B or M, to S from E or S.
		emit = &d.emit[codes[1]]
		qe := max(pb+t[b][e]+emit[e], pm+t[m][e]+emit[e])
		qs := max(pe+t[e][s]+emit[s], ps+t[s][s]+emit[s])
		if min(qe, qs) > model.Unseen {
			if qe >= qs {
				return c.unlisted(dst, codes, at, pairs)
			}
			return c.unlisted(c.unlisted(dst, codes[:1], at, pairs), codes[1:], at[1:], pairs[1:])
		}
	}
	c.path = c.path[:0]
	for _, code := range codes[1:] {
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
	left := 0
	for x, state := range c.path {
		if state == e || state == s {
			dst = c.unlisted(dst, codes[left:x+1], at[left:], pairs[left:])
			left = x + 1
		}
	}
	return c.unlisted(dst, codes[left:], at[left:], pairs[left:])
}

// better returns the greater of two probabilities and the state it comes from,
// the first if they are equal. Which is greater is not to be foreseen, so no
// branch asks.
func better(p float64, from uint8, q float64, other uint8) (float64, uint8) {
	second := uint8(0)
	if q > p {
		second = 1
	}
	p, from = max(p, q), from^(from^other)&-second
	if p > model.Unseen {
		return p, from
	}
	return model.Unseen, model.E
}
