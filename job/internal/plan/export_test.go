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

// Meetings are the pairs that the texts decide and the candidate pairs of short texts
// that a plan counts on among n documents.
func Meetings(ctx context.Context, cfg config.Config, inputs []string, o Options, n float64) (open, short float64, err error) {
	s, err := sample(ctx, cfg, inputs, o)
	if err == nil {
		err = s.look(o)
	}
	if err != nil {
		return 0, 0, err
	}
	m, err := s.meet(ctx, cfg, n)
	return m.open, m.short, err
}

// Near is how many pairs of near fingerprints a plan counts on among n documents, if it
// compares at most so many of its sample.
func Near(ctx context.Context, cfg config.Config, inputs []string, o Options, most int, n float64) (float64, error) {
	s, err := sample(ctx, cfg, inputs, o)
	if err == nil {
		err = s.look(o)
	}
	if err != nil {
		return 0, err
	}
	return s.near(cfg.Match.Distance, most, n), nil
}

// Grown is how many pairs there are among n documents, if the sample of so many has
// these.
func Grown(documents int, pairs [][2]int, n float64) float64 {
	p := pairsOf(documents)
	for _, ab := range pairs {
		p.add(ab[0], ab[1], 1)
	}
	return p.grown(float64(documents), n)
}

// AtMost is the probability that a key has at most that many documents in a run.
var AtMost = atMost

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

// Peak is the peak memory in bytes that a plan counts on with a preset and n documents
// like those of the inputs.
func Peak(ctx context.Context, name string, inputs []string, o Options, n int64) (int64, error) {
	s, err := sample(ctx, config.Default(), inputs, o)
	if err == nil {
		err = s.look(o)
	}
	if err != nil {
		return 0, err
	}
	s.plan.Documents = n
	p, err := s.preset(ctx, name, o.Workers)
	return p.Memory, err
}
