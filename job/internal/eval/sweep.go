package eval

import (
	"context"
	"reflect"
	"slices"
)

// sweep is what a method that looks at the distance alone does at every
// distance from 0 on, all else being equal.
type sweep struct {
	Method string       `json:"method"`
	Points []curvePoint `json:"points"` // by distance
}

// Sweeps measures those of the methods that look at the distance alone at
// distances 0 to k, each by one run at k. Of several that differ in nothing but
// the distance it measures the first.
func (l *Lab) Sweeps(ctx context.Context, methods []Method, k int) (sweeps []*sweep, err error) {
	var swept []Neardup
	for _, m := range methods {
		ours, ok := m.(*Neardup)
		if !ok || ours.Match.Verified() || ours.Match.Bands {
			continue
		}
		wide := *ours
		wide.Label, wide.Match.Distance = "", k
		if slices.ContainsFunc(swept, func(other Neardup) bool { return reflect.DeepEqual(other, wide) }) {
			continue
		}
		swept = append(swept, wide)
		main := l.criterion(l.options.Truth)
		tallies := slices.Repeat([]tally{l.tally(main)}, k+1)
		err := wide.run(ctx, l, func(dir string) error {
			return eachPair(ctx, dir, func(p matched) {
				for at := p.distance; at <= k && l.counts(p.Pair) && l.judges(main, p.Found); at++ {
					tallies[at].report(l, p.Pair)
				}
			})
		})
		if err != nil {
			return nil, err
		}
		s := &sweep{Method: m.Name()}
		for _, t := range tallies {
			s.Points = append(s.Points, t.at(0))
		}
		sweeps = append(sweeps, s)
	}
	return sweeps, nil
}
