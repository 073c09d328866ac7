package mapper

import "github.com/neardup/neardup/simhash/sketch"

// Sampled finds the candidate pairs of the table Samples in memory. It counts
// the keys that a unit shares with each of those behind it, before any of their
// samples is looked at: most share one. It never changes, and is safe for
// concurrent use.
type Sampled struct {
	units   *Units
	records []uint64 // value << 32 | unit, ascending
	starts  []int    // by unit: from where to where in behind its own are
	behind  []uint64 // places in records of the next with the same value
	hot     []uint8  // by unit: how many of its keys are of too many units to be compared
}

// NewSampled returns the candidates among units, whose records in the table are
// value << 32 | unit, ascending. It keeps records, and room, which is as long.
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

// groups calls yield with where each value's records are.
func (s *Sampled) groups(yield func(from, to int)) {
	for from, to := 0, 0; from < len(s.records); from = to {
		for to < len(s.records) && s.records[to]>>32 == s.records[from]>>32 {
			to++
		}
		yield(from, to)
	}
}

// sampledCounter counts keys, for one goroutine at a time.
type sampledCounter struct {
	shared []uint8 // by unit
	others []uint32
}

// Each calls visit with every unit behind this one whose sample is alike by the
// verifier's rule, once.
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

// sampledAlike reports whether the samples of two units are alike, which have at
// least and at most so many keys in common.
func (v *Verifier) sampledAlike(u *Units, a, b uint32, least, most int) bool {
	x, y := u.lengths[a], u.lengths[b]
	edited := v.rule.ordered(x, y, sketch.Differ((*sketch.Sketch)(&u.sketches[a]), (*sketch.Sketch)(&u.sketches[b])))
	return sketch.AlikeSamples(u.sampleOf(a), u.sampleOf(b), int(x), int(y), edited, least, most)
}
