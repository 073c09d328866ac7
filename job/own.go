package job

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/simhash/template"
)

// keepSamples keeps the records of what was sampled for the next stage.
func (r *run) keepSamples(_ context.Context, records []rundir.TaskRecord) error {
	r.samples = records
	return nil
}

// buildTemplates makes the run's templates of what its splits were sampled for and of
// what its library knows: of a site of few pages, those that earlier nights
// sampled, too. Sampled documents go in and out.
func (r *run) buildTemplates(ctx context.Context, rec *rundir.TaskRecord) (err error) {
	for _, sample := range r.samples {
		rec.RowsIn += sample.RowsOut
	}
	sample, err := engine.Sampled(r.job, r.samples)
	if err != nil {
		return fmt.Errorf("%s: %w", stageTemplates, err)
	}
	known, err := r.known()
	if err != nil {
		return err
	}
	if rec.Counts["earlier"], err = r.addEarlier(ctx, sample, known); err != nil {
		return fmt.Errorf("%s: %w", stageTemplates, err)
	}
	sites, most := sample.Sites()
	model := sample.Model()
	learned := model.Sites()
	model.Merge(known)
	blob, err := model.MarshalBinary()
	if err != nil {
		return err
	}
	name, err := engine.WriteTemplates(r.dir, blob)
	if err != nil {
		return err
	}
	digest := xxh3.Hash128(blob).Bytes()
	rec.Digest = hex.EncodeToString(digest[:])
	rec.Counts["sites"], rec.Counts["largest"], rec.Counts["learned"], rec.Counts["known"] = int64(sites), int64(most), int64(learned), int64(model.Sites()-learned)
	rec.RowsOut, rec.Outputs = rec.RowsIn, []string{name}
	return nil
}

// known is what the run's library knows: what was left out of the texts of
// earlier nights is left out of this run's. It is nil without one.
func (r *run) known() (*template.Model, error) {
	if r.library == nil {
		return nil, nil
	}
	return engine.LibraryTemplates(r.library)
}

// addEarlier adds to the sample the pages that earlier nights sampled of sites
// whose templates are not known.
func (r *run) addEarlier(ctx context.Context, sample *template.Learner, known *template.Model) (pages int64, err error) {
	if r.library == nil {
		return 0, nil
	}
	err = r.library.Samples(ctx, r.config.Library.Night, func(row *data.SampleRow) error {
		if blocks, _ := known.Site(template.Site(row.DocID)); blocks > 0 {
			return nil
		}
		added, err := sample.AddEarlier(row.DocID, row.Page)
		if added {
			pages++
		}
		return err
	})
	return pages, err
}

// keepTemplates makes the run's templates, and what another run taught the
// library meanwhile, the library's, and keeps for later nights what was sampled
// of sites that have none yet.
func (r *run) keepTemplates() error {
	if !engine.LearnsTemplates(r.Command, &r.config) {
		return nil
	}
	known, err := r.known()
	if err != nil {
		return err
	}
	model := new(template.Model)
	model.Merge(r.job.Templates)
	model.Merge(known)
	blob, err := model.MarshalBinary()
	if err != nil {
		return err
	}
	if err := r.library.KeepTemplates(blob); err != nil {
		return err
	}
	sample, err := engine.Sampled(r.job, r.samples)
	if err != nil {
		return err
	}
	return r.library.KeepSamples(r.config.Library.Night, func(yield func(*data.SampleRow) error) error {
		return sample.Few(model, func(id, page []byte) error { return yield(&data.SampleRow{DocID: id, Page: page}) })
	})
}

// learned takes the templates in, and what is to be told of them.
func (r *run) learned(_ context.Context, records []rundir.TaskRecord) (err error) {
	rec := records[0]
	r.sum.Boilerplate = &boilerplate{Sampled: rec.RowsOut, Earlier: rec.Counts["earlier"], Sites: rec.Counts["sites"], Largest: rec.Counts["largest"], Learned: rec.Counts["learned"], Known: rec.Counts["known"]}
	r.job.Templates, err = engine.TemplatesOf(r.Out, r.config.Features)
	return err
}

// boilerplate says what a run left out of its texts because the pages of a site
// share it.
type boilerplate struct {
	Sampled int64 `json:"sampled"`         // documents that it was learned from
	Earlier int64 `json:"earlier"`         // others, of sites of few pages, that earlier nights of the library sampled
	Sites   int64 `json:"sites"`           // that they are of
	Largest int64 `json:"largest"`         // of them of the site that has most
	Learned int64 `json:"learned"`         // sites with a template
	Known   int64 `json:"known,omitempty"` // others of which the library has one
	rundir.SiteText
	Most []siteOf `json:"most"` // at most five sites of which most was left out
}

// siteOf is a site of which text was left out.
type siteOf struct {
	Site   string `json:"site"`   // empty: documents whose ids are no URLs
	Pages  int    `json:"pages"`  // that its template was learned from
	Blocks int    `json:"blocks"` // of its template
	rundir.SiteText
}

// shownSites is how many sites the summary names.
const shownSites = 5

// TemplatesOf names the file of the templates that the texts of the run in
// directory path are judged without; empty if it takes texts whole.
func TemplatesOf(path string, c config.Config) string {
	if engine.LearnsTemplates(CommandRun, &c) {
		return engine.TemplatesPath(path)
	}
	return c.Features.Templates
}

// leftOut sums up what was left out of the fingerprinted texts.
func (r *run) leftOut(records []rundir.TaskRecord) {
	if r.job.Templates == nil {
		return
	}
	if r.sum.Boilerplate == nil { // the templates are of a file
		r.sum.Boilerplate = &boilerplate{Learned: int64(r.job.Templates.Sites())}
	}
	o, sites := r.sum.Boilerplate, rundir.SiteTexts{}
	for _, rec := range records {
		for site, t := range rec.Sites {
			sites.Add(site, t)
			o.SiteText = o.Plus(t)
		}
	}
	delete(sites, rundir.OtherSites)
	for _, site := range sites.Largest(shownSites) {
		blocks, pages := r.job.Templates.Site([]byte(site))
		o.Most = append(o.Most, siteOf{site, pages, blocks, sites[site]})
	}
}

// print tells what was left out, or why nothing was learned.
func (o *boilerplate) print(row func(name, format string, args ...any)) {
	switch {
	case o.Documents > 0:
		row("boilerplate", "of %s %s was left out, which pages of their sites share", show.Count(o.Documents, "document"), share(o.Left, o.Left+o.Own))
	case o.Learned+o.Known > 0:
		row("boilerplate", "nothing was left out: no document has what the pages of %s share", show.Count(o.Learned+o.Known, "site"))
	case o.Largest < template.MinPages:
		row("boilerplate", "nothing is learned: the largest of %s has %s of %s, and it takes %d", show.Count(o.Sites, "site"), show.Number(o.Largest), show.Count(o.Sampled+o.Earlier, "sampled page"), template.MinPages)
	default:
		row("boilerplate", "none found: %s, %s", show.Count(o.Sites, "site"), show.Count(o.Sampled, "sampled page"))
	}
	for _, s := range o.Most {
		row("", "%8s  %s (%s, %s of %s)", share(s.Left, s.Left+s.Own), cmp.Or(s.Site, "ids that are no URLs"), show.Count(s.Documents, "document"), show.Count(s.Blocks, "block"), show.Count(s.Pages, "sampled page"))
	}
}
