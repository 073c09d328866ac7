package job

import (
	"context"
	"errors"
	"fmt"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/simhash"
)

// StopWords trains a stop list from a dump: the words that occur in more than
// maxShare of its documents, and in at least minDocuments, the most frequent
// first. The configuration's own stop list is not applied.
func (d Dump) StopWords(ctx context.Context, maxShare float64, minDocuments int) (_ []string, err error) {
	if err := d.Config.Check(); err != nil {
		return nil, err
	}
	if maxShare <= 0 || maxShare >= 1 || minDocuments < 1 {
		return nil, fmt.Errorf("share %v, documents %d: write a share between 0 and 1, like 0.3, and a number of documents from 1", maxShare, minDocuments)
	}
	d.Config.Features.Stop, d.Config.Features.StopList = simhash.StopNone, ""
	analyzer, release, err := engine.NewAnalyzer(d.Config.Features)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()

	var all simhash.StopTrainer
	err = d.each(ctx, func(each documents) (merge func() error, err error) {
		var one simhash.StopTrainer
		var features []simhash.Feature
		w := analyzer.NewWorkspace()
		err = each(func(doc *data.Document) error {
			features = w.Features(features[:0], doc.Title, doc.Text)
			one.Add(features)
			return nil
		})
		return func() error { all.Merge(&one); return nil }, err
	})
	if err != nil {
		return nil, err
	}
	return all.List(maxShare, minDocuments), nil
}
