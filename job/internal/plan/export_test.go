package plan

import (
	"context"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/eval"
)

// What the tests look at.
var ErrNothing = errNothing

// Sample is a plan as far as a sample is read.
func Sample(ctx context.Context, cfg config.Config, inputs []string, o Options) (*Plan, error) {
	s, err := sample(ctx, cfg, inputs, o)
	if err != nil {
		return nil, err
	}
	return s.plan, nil
}

// Recommended is the preset that a plan recommends that found so many of a number
// of planted duplicates with classic, balanced and thorough, reported nothing else,
// and takes 1, 2 and 3 seconds with them.
func Recommended(found [3]int, of int) string {
	var p Plan
	for i, name := range config.Presets() {
		p.Presets = append(p.Presets, preset{Name: name, CPU: float64(i + 1), Precision: eval.NewShare(found[i], found[i]), Recall: eval.NewShare(found[i], of)})
	}
	p.recommend()
	return p.Recommended
}
