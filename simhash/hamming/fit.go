package hamming

import (
	"math/bits"
	"slices"
)

// fitPlan chooses a plan that suits the values: by the cost model, on bits that
// tell them apart. If a segment or single bits are skewed, keys of them make
// large groups; then a plan that leaves them out may be cheaper. (Any bits will
// do: who is within k is so on any part of them.)
func fitPlan[F Fingerprint](values []F, width, k int, m *model) *Plan {
	n := len(values)
	s := newSample(values)
	all := span(0, width)
	plan := choosePlan(width, k, n, m)
	if s == nil || len(plan.regions) == 0 {
		return plan
	}
	need := bits.Len(uint(n)) + 8
	least := 0.0
	tried := all
	for _, share := range []float64{1. / 16, 1. / 4, 3. / 8} {
		mask := s.lively(width, share)
		if mask == tried || mask.ones() < max(need, k+1) {
			continue
		}
		if tried == all {
			least = s.cost(plan)
		}
		tried = mask
		p := choosePlan(mask.ones(), k, n, m).onto(mask, width)
		if c := s.cost(p); c < least {
			plan, least = p, c
		}
	}
	return plan
}

// A sample of values, of n.
type sample struct {
	n      int
	values []Uint128
	ones   [128]int // by bit
}

const sampleSize = 1 << 11

// newSample returns a sample, or nil if there are few values.
func newSample[F Fingerprint](values []F) *sample {
	if len(values) < sampleSize {
		return nil
	}
	s := &sample{n: len(values), values: make([]Uint128, sampleSize)}
	for i := range s.values {
		w := word(&values[len(values)/sampleSize*i])
		s.values[i] = w
		for b := range 64 {
			s.ones[b] += int(w.Lo >> b & 1)
			s.ones[64+b] += int(w.Hi >> b & 1)
		}
	}
	return s
}

// lively returns the bits whose rarer value at least that share has.
func (s *sample) lively(width int, share float64) Uint128 {
	var mask Uint128
	for b, n := range s.ones[:width] {
		if float64(min(n, sampleSize-n)) >= share*sampleSize {
			mask = mask.or(bit(b))
		}
	}
	return mask
}

// cost is Plan.Cost and what the large groups cost that the sample shows: each
// is joined by a plan of its own, which takes about as long again.
func (s *sample) cost(p *Plan) float64 {
	base := p.Cost(s.n)
	if len(p.keys) > 64 {
		return base // a key more or less makes no difference
	}
	large := max(2, largeGroup*sampleSize/s.n)
	parts := make([]uint64, len(s.values))
	inLarge := 0
	for _, key := range p.keys {
		by := spread{key, groupHash, 0}
		for i := range s.values {
			parts[i] = number(&s.values[i], &by)
		}
		slices.Sort(parts)
		for from, i := 0, 1; i <= len(parts); i++ {
			if i == len(parts) || parts[i] != parts[from] {
				if i-from > large {
					inLarge += i - from
				}
				from = i
			}
		}
	}
	return base * (1 + float64(inLarge)/sampleSize)
}
