package job

import (
	"context"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/simhash/template"
)

// Templates learns from a dump what the pages of each site share. Sites are
// the hosts of ids that are URLs.
func Templates(ctx context.Context, cfg config.Config, inputs []string, workers int, o template.Options) (*template.Model, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	all, err := template.NewLearner(o)
	if err != nil {
		return nil, err
	}
	splits, err := source.Expand(inputs, source.ExpandOptions{Format: cfg.Input.Format, Encoding: cfg.Input.Encoding, SplitBytes: cfg.Input.SplitBytes})
	if err != nil {
		return nil, err
	}
	err = eachSplit(ctx, splits, workers, func(ctx context.Context, split data.Split) (merge func() error, err error) {
		one, err := template.NewLearner(o)
		if err != nil {
			return nil, err
		}
		err = engine.EachDocument(ctx, split, cfg.Input, func(doc *data.Document) error {
			one.Add(template.Site(doc.ID), doc.ID, doc.Text)
			return nil
		})
		return func() error { return all.Merge(one) }, err
	})
	if err != nil {
		return nil, err
	}
	return all.Model(), nil
}
