package mapper

import "github.com/neardup/neardup/simhash/sketch"

// Sampled finds the candidate pairs of the table Samples in memory. A candidate
// needs at least two shared keys, and most units that meet share only one. So
// Sampled counts the shared keys from the postings first, and reads samples only
// where the count leaves the answer open. It is immutable and safe for concurrent
// use.
type Sampled struct {
	units   *Units
	records []uint64 // value << 32 | unit, ascending
	starts  []int    // unit u has behind[starts[u]:starts[u+1]]
	behind  []uint64 // for each key of the unit, the place in records of the next unit with that key
	hot     []uint8  // by unit: how many of its keys are hot, and so not compared
}

// NewSampled returns the candidates among units. Records are their postings in the
// table, value << 32 | unit, ascending; room is a buffer of the same length. The
// result keeps both.
func NewSampled(units *Units, records, room []uint64) *Sampled {
	s := &Sampled{units, records, make([]int, units.Len()+2), room, make([]uint8, units.Len())}
	starts := s.starts[2:] // of the unit before, until they are filled in
	s.groups(func(from, to int) {
		if to-from > maxSampled {
			for _, r := range records[from:to] {
				s.hot[uint32(r)]++
			}
			return
		}
		for _, r := range records[from : to-1] {
			starts[uint32(r)]++
		}
	})
	for i := range s.starts[1:] {
		s.starts[i+1] += s.starts[i]
	}
	next := s.starts[1:]
	s.groups(func(from, to int) {
		for i := from; i < to-1 && to-from <= maxSampled; i++ {
			at := &next[uint32(records[i])]
			s.behind[*at] = uint64(i + 1)
			*at++
		}
	})
	return s
}

// groups calls yield for each value, whose records are records[from:to].
func (s *Sampled) groups(yield func(from, to int)) {
	for from, to := 0, 0; from < len(s.records); from = to {
		for to < len(s.records) && s.records[to]>>32 == s.records[from]>>32 {
			to++
		}
		yield(from, to)
	}
}

// sampledCounter counts the keys that one unit shares with others.
type sampledCounter struct {
	shared []uint8  // by other unit; all 0 between calls
	others []uint32 // the units whose count is not 0
}

// Each calls visit once with every unit of a higher number that is a candidate
// with this one by the verifier's rule. Goroutines may call it concurrently, each
// with a Verifier of its own.
func (s *Sampled) Each(v *Verifier, unit uint32, visit func(other uint32)) {
	c := &v.sampled
	if len(c.shared) < s.units.Len() {
		c.shared = make([]uint8, s.units.Len())
	}
	c.others = c.others[:0]
	for _, at := range s.behind[s.starts[unit]:s.starts[unit+1]] {
		value := s.records[at-1] >> 32
		for _, r := range s.records[at:] {
			if r>>32 != value {
				break
			}
			other := uint32(r)
			if c.shared[other] == 0 {
				c.others = append(c.others, other)
			}
			c.shared[other]++
		}
	}
	for _, other := range c.others {
		least := int(c.shared[other])
		c.shared[other] = 0
		most := least + int(min(s.hot[unit], s.hot[other]))
		if most >= 2 && v.sampledAlike(s.units, unit, other, least, most) {
			visit(other)
		}
	}
}

// sampledAlike reports whether the samples of two units are alike. They are known
// to share at least and at most so many keys: hot keys were not counted.
func (v *Verifier) sampledAlike(u *Units, a, b uint32, least, most int) bool {
	x, y := u.lengths[a], u.lengths[b]
	edited := v.rule.ordered(x, y, sketch.Differ((*sketch.Sketch)(&u.sketches[a]), (*sketch.Sketch)(&u.sketches[b])))
	return sketch.AlikeSamples(u.sampleOf(a), u.sampleOf(b), int(x), int(y), edited, least, most)
}
