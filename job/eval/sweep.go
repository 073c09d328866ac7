package eval

import (
	"context"
	"reflect"
	"slices"
)

// Sweep is what a method of ours does at every distance from 0 on, all else
// being equal.
type Sweep struct {
	Method string   `json:"method"`
	Points []KPoint `json:"points"`
}

// KPoint is a method at distance K.
type KPoint struct {
	K         int     `json:"k"`
	Pairs     int     `json:"pairs"`
	Precision Share   `json:"precision"`
	Recall    Share   `json:"recall"` // as that of a Result
	F1        float64 `json:"f1"`
}

// Sweeps measures those of the methods that are ours at distances 0 to k. Of
// several that differ in nothing but the distance it measures the first.
func (l *Lab) Sweeps(ctx context.Context, methods []Method, k int) ([]*Sweep, error) {
	var sweeps []*Sweep
	var swept []Neardup
	for _, m := range methods {
		ours, ok := m.(*Neardup)
		if !ok {
			continue
		}
		settings := *ours
		settings.Label, settings.Distance = "", 0
		if slices.ContainsFunc(swept, func(other Neardup) bool { return reflect.DeepEqual(other, settings) }) {
			continue
		}
		swept = append(swept, settings)
		s, err := l.Sweep(ctx, ours, k)
		if err != nil {
			return nil, err
		}
		sweeps = append(sweeps, s)
	}
	return sweeps, nil
}

// Sweep measures the method at distances 0 to k, by one run at k.
func (l *Lab) Sweep(ctx context.Context, m *Neardup, k int) (*Sweep, error) {
	wide := *m
	wide.Distance = k
	found, err := wide.find(ctx, l)
	if err != nil {
		return nil, err
	}
	labelled := len(l.corpus.Labelled) > 0
	wanted := 0
	for p, t := range l.truth {
		if l.counts(p) && (t.Labelled || !labelled) {
			wanted++
		}
	}
	pairs, right, have := make([]int, k+1), make([]int, k+1), make([]int, k+1)
	for _, f := range found {
		if !l.counts(f.Pair) {
			continue
		}
		t, is := l.truth[f.Pair]
		from := f.distance
		if f.anyway {
			from = 0
		}
		for at := from; at <= k; at++ {
			pairs[at]++
			if is {
				right[at]++
				if t.Labelled || !labelled {
					have[at]++
				}
			}
		}
	}
	s := &Sweep{Method: m.Name()}
	for at := range k + 1 {
		p := KPoint{K: at, Pairs: pairs[at], Precision: NewShare(right[at], pairs[at]), Recall: NewShare(have[at], wanted)}
		p.F1 = F1(p.Precision.Value, p.Recall.Value)
		s.Points = append(s.Points, p)
	}
	return s, nil
}
