package eval

import (
	"context"

	"github.com/neardup/neardup/job/internal/config"
)

// Histogram counts pairs of the normal lane by the distance of their
// fingerprints, 0 to the largest that was asked for.
type Histogram struct {
	Features string `json:"features"` // how the fingerprints were made
	True     []int  `json:"true"`
	False    []int  `json:"false"`
}

// Histogram counts all pairs within distance k.
func (l *Lab) Histogram(ctx context.Context, f config.Features, k int) (*Histogram, error) {
	m := Preset(config.PresetClassic)
	m.Features, m.Match.Distance = f, k
	h := &Histogram{Features: f.String(), True: make([]int, k+1), False: make([]int, k+1)}
	err := m.run(ctx, l, func(dir string) error {
		return eachPair(ctx, dir, func(p matched) {
			if !l.counts(p.Pair) {
				return
			}
			if _, ok := l.truth[p.Pair]; ok {
				h.True[p.distance]++
			} else {
				h.False[p.distance]++
			}
		})
	})
	return h, err
}
