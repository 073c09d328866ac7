package eval

import (
	"context"
	"reflect"
	"slices"
)

// sweep is what a method of ours does at every distance from 0 on, all else
// being equal.
type sweep struct {
	Method string    `json:"method"`
	Points []Figures `json:"points"` // by distance; of pairs, precision, recall and F1
}

// Sweeps measures those of the methods that are ours at distances 0 to k. Of
// several that differ in nothing but the distance it measures the first.
func (l *Lab) Sweeps(ctx context.Context, methods []Method, k int) ([]*sweep, error) {
	var sweeps []*sweep
	var swept []Neardup
	for _, m := range methods {
		ours, ok := m.(*Neardup)
		if !ok {
			continue
		}
		settings := *ours
		settings.Label, settings.Match.Preset, settings.Match.Distance = "", "", 0
		if slices.ContainsFunc(swept, func(other Neardup) bool { return reflect.DeepEqual(other, settings) }) {
			continue
		}
		swept = append(swept, settings)
		s, err := l.sweepOf(ctx, ours, k)
		if err != nil {
			return nil, err
		}
		sweeps = append(sweeps, s)
	}
	return sweeps, nil
}

// sweep measures the method at distances 0 to k, by one run at k: of the pairs
// that it finds, those that are candidates at distance 0 too are found at every
// distance, the others from their own on.
func (l *Lab) sweepOf(ctx context.Context, m *Neardup, k int) (*sweep, error) {
	wide, none := *m, *m
	wide.Match.Distance, none.Match.Distance = k, 0
	rule := none.rule()
	tallies := slices.Repeat([]tally{l.tally(l.criterion(l.options.Truth...))}, k+1)
	err := wide.run(ctx, l, func(dir string) error {
		views, err := l.views(ctx, dir)
		if err != nil {
			return err
		}
		return eachPair(ctx, dir, func(p matched) {
			if !l.counts(p.Pair) || !tallies[0].takes(p.Found) {
				return
			}
			from := p.distance
			if rule.Candidate(&views[p.A], &views[p.B]) {
				from = 0
			}
			for at := from; at <= k; at++ {
				tallies[at].report(l, p.Pair)
			}
		})
	})
	if err != nil {
		return nil, err
	}
	s := &sweep{Method: m.Name()}
	for _, t := range tallies {
		s.Points = append(s.Points, t.figures())
	}
	return s, nil
}
