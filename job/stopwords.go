package job

import (
	"context"
	"errors"

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
	d.Config.Features.Stop, d.Config.Features.StopList = simhash.StopNone, ""
	analyzer, release, err := engine.NewAnalyzer(d.Config.Features)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()

	var all simhash.StopTrainer
	err = d.each(ctx, func(each documents) (merge func(), err error) {
		var one simhash.StopTrainer
		var features []simhash.Feature
		w := analyzer.NewWorkspace()
		err = each(func(doc *data.Document) error {
			features = w.Features(features[:0], doc.Title, doc.Text)
			one.Add(features)
			return nil
		})
		return func() { all.Merge(&one) }, err
	})
	if err != nil {
		return nil, err
	}
	return all.List(maxShare, minDocuments), nil
}
