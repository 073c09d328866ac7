package job

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/simhash"
)

// StopWords trains a stop list from a dump: the words that occur in more than
// maxShare of its documents, and in at least minDocuments, the most frequent
// first. The configuration's own stop list is not applied.
func StopWords(ctx context.Context, cfg config.Config, inputs []string, workers int, maxShare float64, minDocuments int) (_ []string, err error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if maxShare <= 0 || maxShare >= 1 || minDocuments < 1 {
		return nil, fmt.Errorf("share %v, documents %d: write a share between 0 and 1, like 0.3, and a number of documents from 1", maxShare, minDocuments)
	}
	cfg.Features.Stop, cfg.Features.StopList = simhash.StopNone, ""
	splits, err := source.Expand(inputs, source.ExpandOptions{Format: cfg.Input.Format, Encoding: cfg.Input.Encoding, SplitBytes: cfg.Input.SplitBytes})
	if err != nil {
		return nil, err
	}
	analyzer, release, err := engine.NewAnalyzer(cfg.Features)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()

	var all simhash.StopTrainer
	err = eachSplit(ctx, splits, workers, func(ctx context.Context, split data.Split) (merge func() error, err error) {
		one, err := trainSplit(ctx, cfg, analyzer, split)
		return func() error { all.Merge(one); return nil }, err
	})
	if err != nil {
		return nil, err
	}
	return all.List(maxShare, minDocuments), nil
}

// eachSplit calls read for the splits on so many goroutines, and what it
// returns, one call at a time.
func eachSplit(ctx context.Context, splits []data.Split, workers int, read func(context.Context, data.Split) (merge func() error, err error)) error {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(workers, 1))
	for _, split := range splits {
		group.Go(func() error {
			return engine.Guard(func() error {
				merge, err := read(ctx, split)
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				return merge()
			})
		})
	}
	return group.Wait()
}

func trainSplit(ctx context.Context, cfg config.Config, analyzer *simhash.Analyzer, split data.Split) (*simhash.StopTrainer, error) {
	var trainer simhash.StopTrainer
	var features []simhash.Feature
	w := analyzer.NewWorkspace()
	err := engine.EachDocument(ctx, split, cfg.Input, func(doc *data.Document) error {
		features = w.Features(features[:0], doc.Title, doc.Text)
		trainer.Add(features)
		return nil
	})
	return &trainer, err
}
