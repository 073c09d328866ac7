package learn

import (
	"context"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash/template"
)

// Templates learns from a dump what the pages of each site share. Sites are
// the hosts of ids that are URLs.
func (d Dump) Templates(ctx context.Context) (*template.Model, error) {
	if err := d.Config.Check(); err != nil {
		return nil, err
	}
	all := template.NewLearner()
	err := d.each(ctx, func(each documents) (merge func(), err error) {
		one := template.NewLearner()
		err = each(func(doc *data.Document) error {
			one.Add(template.Site(doc.ID), doc.ID, doc.Text)
			return nil
		})
		return func() { all.Merge(one) }, err
	})
	if err != nil {
		return nil, err
	}
	return all.Model(), nil
}
