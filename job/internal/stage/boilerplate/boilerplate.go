// Package boilerplate is the stages learn and templates. They find the blocks of text
// that the pages of each site share, from a sample of this run's documents, the
// templates that the library knows, and the samples of earlier nights. These blocks
// are left out of what is compared.
package boilerplate

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/summary"
	"github.com/neardup/neardup/simhash/template"
)

// KeepSamples keeps the records of learn for the stage templates.
func KeepSamples(_ context.Context, r *stage.Run, records []rundir.TaskRecord) error {
	r.Samples = records
	return nil
}

// Build is the task of templates. It makes the run's templates from the samples of its
// splits and from the library's templates. For sites with few pages it adds the
// samples of earlier nights. The record counts sampled documents, in and out.
func Build(ctx context.Context, r *stage.Run, rec *rundir.TaskRecord) (err error) {
	for _, sample := range r.Samples {
		rec.RowsIn += sample.RowsOut
	}
	sample, err := sampled(r.Job, r.Samples)
	if err != nil {
		return fmt.Errorf("%s: %w", stage.Templates, err)
	}
	known, err := known(r)
	if err != nil {
		return err
	}
	if rec.Counts["from_history"], err = addHistory(ctx, r, sample, known); err != nil {
		return fmt.Errorf("%s: %w", stage.Templates, err)
	}
	sites, most := sample.Sites()
	model := sample.Model()
	learned := model.Sites()
	model.Merge(known)
	blob, err := model.MarshalBinary()
	if err != nil {
		return err
	}
	name, err := method.WriteTemplates(r.Dir, blob)
	if err != nil {
		return err
	}
	digest := xxh3.Hash128(blob).Bytes()
	rec.Digest = hex.EncodeToString(digest[:])
	rec.Counts["sites"], rec.Counts["largest"], rec.Counts["learned"], rec.Counts["known"] = int64(sites), int64(most), int64(learned), int64(model.Sites()-learned)
	rec.RowsOut, rec.Outputs = rec.RowsIn, []string{name}
	return nil
}

// known returns the templates of the run's library, so that this run leaves out what
// earlier nights left out. It is nil without a library.
func known(r *stage.Run) (*template.Model, error) {
	if r.Library == nil {
		return nil, nil
	}
	return method.LibraryTemplates(r.Library)
}

// addHistory adds to the sample the pages that earlier nights sampled of sites
// whose templates are not known.
func addHistory(ctx context.Context, r *stage.Run, sample *template.Learner, library *template.Model) (pages int64, err error) {
	if r.Library == nil {
		return 0, nil
	}
	err = r.Library.Samples(ctx, r.Config.Library.Night, func(row *data.SampleRow) error {
		if blocks, _ := library.Site(template.Site(row.DocID)); blocks > 0 {
			return nil
		}
		added, err := sample.AddHistory(row.DocID, row.Page)
		if added {
			pages++
		}
		return err
	})
	return pages, err
}

// Publish makes the run's templates, and what another run taught the
// library meanwhile, the library's, and keeps for later nights what was sampled
// of sites that have none yet.
func Publish(r *stage.Run) error {
	if !method.LearnsTemplates(r.Command, &r.Config) {
		return nil
	}
	known, err := known(r)
	if err != nil {
		return err
	}
	model := new(template.Model)
	model.Merge(r.Job.Templates)
	model.Merge(known)
	blob, err := model.MarshalBinary()
	if err != nil {
		return err
	}
	if err := r.Library.KeepTemplates(blob); err != nil {
		return err
	}
	sample, err := sampled(r.Job, r.Samples)
	if err != nil {
		return err
	}
	return r.Library.KeepSamples(r.Config.Library.Night, func(yield func(*data.SampleRow) error) error {
		return sample.Few(model, func(id, page []byte) error { return yield(&data.SampleRow{DocID: id, Page: page}) })
	})
}

// Learned takes the templates in, and what is to be told of them.
func Learned(_ context.Context, r *stage.Run, records []rundir.TaskRecord) (err error) {
	rec := records[0]
	r.Sum.Boilerplate = &summary.Boilerplate{Sampled: rec.RowsOut, FromHistory: rec.Counts["from_history"], Sites: rec.Counts["sites"], Largest: rec.Counts["largest"], Learned: rec.Counts["learned"], Known: rec.Counts["known"]}
	r.Job.Templates, err = method.TemplatesOf(r.Dir.Path(), r.Config.Features)
	return err
}

// shownSites is how many sites the summary names.
const shownSites = 5

// LeftOut adds to the summary what was left out of the fingerprinted texts.
func LeftOut(r *stage.Run, records []rundir.TaskRecord) {
	if r.Job.Templates == nil {
		return
	}
	if r.Sum.Boilerplate == nil { // the templates are of a file
		r.Sum.Boilerplate = &summary.Boilerplate{Learned: int64(r.Job.Templates.Sites())}
	}
	o, sites := r.Sum.Boilerplate, rundir.SiteTexts{}
	for _, rec := range records {
		for site, t := range rec.Sites {
			sites.Add(site, t)
			o.SiteText = o.Plus(t)
		}
	}
	delete(sites, rundir.OtherSites)
	for _, site := range sites.Largest(shownSites) {
		blocks, pages := r.Job.Templates.Site([]byte(site))
		o.Most = append(o.Most, summary.SiteTemplate{Site: site, Pages: pages, Blocks: blocks, SiteText: sites[site]})
	}
}
