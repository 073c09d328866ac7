package summary

import (
	"cmp"

	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/simhash/template"
)

// Boilerplate says what a run left out of its texts because the pages of a site
// share it.
type Boilerplate struct {
	Sampled int64 `json:"sampled"`         // documents that it was learned from
	Earlier int64 `json:"earlier"`         // others, of sites of few pages, that earlier nights of the library sampled
	Sites   int64 `json:"sites"`           // that they are of
	Largest int64 `json:"largest"`         // of them of the site that has most
	Learned int64 `json:"learned"`         // sites with a template
	Known   int64 `json:"known,omitempty"` // others of which the library has one
	rundir.SiteText
	Most []SiteTemplate `json:"most"` // at most five sites of which most was left out
}

// SiteTemplate is a site of which text was left out.
type SiteTemplate struct {
	Site   string `json:"site"`   // empty: documents whose ids are no URLs
	Pages  int    `json:"pages"`  // that its template was learned from
	Blocks int    `json:"blocks"` // of its template
	rundir.SiteText
}

// print tells what was left out, or why nothing was learned.
func (o *Boilerplate) print(row func(name, format string, args ...any)) {
	switch {
	case o.Documents > 0:
		row("boilerplate", "of %s %s was left out, which pages of their sites share", show.Count(o.Documents, "document"), show.Share(o.Left, o.Left+o.Own))
	case o.Learned+o.Known > 0:
		row("boilerplate", "nothing was left out: no document has what the pages of %s share", show.Count(o.Learned+o.Known, "site"))
	case o.Largest < template.MinPages:
		row("boilerplate", "nothing is learned: the largest of %s has %s of %s, and it takes %d", show.Count(o.Sites, "site"), show.Number(o.Largest), show.Count(o.Sampled+o.Earlier, "sampled page"), template.MinPages)
	default:
		row("boilerplate", "none found: %s, %s", show.Count(o.Sites, "site"), show.Count(o.Sampled, "sampled page"))
	}
	for _, s := range o.Most {
		row("", "%8s  %s (%s, %s of %s)", show.Share(s.Left, s.Left+s.Own), cmp.Or(s.Site, "ids that are no URLs"), show.Count(s.Documents, "document"), show.Count(s.Blocks, "block"), show.Count(s.Pages, "sampled page"))
	}
}
