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
		settings.Label, settings.Match.Preset, settings.Match.Distance = "", "", 0
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

// Sweep measures the method at distances 0 to k, by one run at k: of the pairs
// that it finds, those that are candidates at distance 0 too are found at every
// distance, the others from their own on.
func (l *Lab) Sweep(ctx context.Context, m *Neardup, k int) (*Sweep, error) {
	wide, none := *m, *m
	wide.Match.Distance, none.Match.Distance = k, 0
	rule, err := none.rule()
	if err != nil {
		return nil, err
	}
	tallies := make([]tally, k+1)
	err = wide.run(ctx, l, func(dir string) error {
		views, err := l.views(ctx, dir)
		if err != nil {
			return err
		}
		return eachPair(ctx, dir, func(p matched) {
			if !l.counts(p.Pair) {
				return
			}
			from := p.distance
			if always, _ := rule.Judge(&views[p.A], &views[p.B]); always {
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
	s := &Sweep{Method: m.Name()}
	for at, t := range tallies {
		t.wanted = l.wanted()
		s.Points = append(s.Points, KPoint{K: at, Pairs: t.pairs, Precision: t.precision(), Recall: t.recall(), F1: t.f1()})
	}
	return s, nil
}
