package eval

import (
	"context"

	"github.com/neardup/neardup/simhash"
)

// Histogram counts pairs of the normal lane by the distance of their
// fingerprints, 0 to the largest that was asked for.
type Histogram struct {
	Features string `json:"features"` // how the fingerprints were made
	True     []int  `json:"true"`
	False    []int  `json:"false"`
}

// Histogram counts all pairs within distance k.
func (l *Lab) Histogram(ctx context.Context, o simhash.Options, k int) (*Histogram, error) {
	m := &Neardup{Features: o, Distance: k}
	analyzer, err := simhash.New(o)
	if err != nil {
		return nil, err
	}
	views := make([]view, len(l.corpus.Documents))
	err = l.each(ctx, analyzer, func(w *simhash.Workspace) func(int) {
		return func(i int) { views[i].result = w.Fingerprint(l.corpus.Documents[i].Title, l.corpus.Documents[i].Text) }
	})
	if err != nil {
		return nil, err
	}
	h := &Histogram{Features: o.String(), True: make([]int, k+1), False: make([]int, k+1)}
	err = m.near(ctx, l, views, func(a, b int32) {
		p := pairOf(a, b)
		if !l.counts(p) {
			return
		}
		d := simhash.Distance(views[a].result.Fingerprint, views[b].result.Fingerprint)
		if _, ok := l.truth[p]; ok {
			h.True[d]++
		} else {
			h.False[d]++
		}
	})
	return h, err
}
