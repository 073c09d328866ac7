package summary

import (
	"github.com/neardup/neardup/job/internal/rundir"
)

// Boilerplate says what a run left out of its texts because the pages of a site
// share it.
type Boilerplate struct {
	Sampled     int64 `json:"sampled"`         // documents that it was learned from
	FromHistory int64 `json:"from_history"`    // others, of sites of few pages, that earlier nights of the library sampled
	Sites       int64 `json:"sites"`           // that they are of
	Largest     int64 `json:"largest"`         // of them of the site that has most
	Learned     int64 `json:"learned"`         // sites with a template
	Known       int64 `json:"known,omitempty"` // others of which the library has one
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
