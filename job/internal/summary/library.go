package summary

import (
	"cmp"

	"github.com/neardup/neardup/job/internal/show"
)

// Library is what a run learned from its library and did to it.
type Library struct {
	Path      string `json:"path"`
	Night     string `json:"night"`
	Nights    int    `json:"nights"`    // that this one was compared with
	Documents int64  `json:"documents"` // of those nights
	Matched   int64  `json:"matched"`   // of this run's documents have their best match in an earlier night
	New       int64  `json:"new"`       // neither the id nor the content was there
	Repeated  int64  `json:"repeated"`  // another id, but the content was there
	Returned  int64  `json:"returned"`  // the id was there
	Continued int64  `json:"continued"` // components of this run that continue an earlier one
	Merges    int64  `json:"merges"`    // earlier components that this run joined with another
	Added     int64  `json:"added"`     // documents added
	Left      int64  `json:"left"`      // not added: they were deleted for good
	Replaced  bool   `json:"replaced"`  // the library had the night
	Dropped   int64  `json:"dropped"`   // documents that the clean dump leaves out since an earlier night has them

	// The shares by language and by site, most documents first; of the sites at
	// most ten, drift/ has them all.
	Languages []Drift `json:"languages,omitempty"`
	Sites     []Drift `json:"sites,omitempty"`
	// Growing are the fingerprints that grew most since the night before, at
	// most ten; growth/ has more.
	Growing []Growth `json:"growing,omitempty"`
}

// Drift counts documents of one kind by what the library knew of them.
type Drift struct {
	Name      string `json:"name"` // the language or the site; "" is not known
	Documents int64  `json:"documents"`
	New       int64  `json:"new"`      // neither the id nor the content was there
	Repeated  int64  `json:"repeated"` // another id, but the content was there
	Returned  int64  `json:"returned"` // the id was there
}

// Growth is a fingerprint that more documents have than the night before.
type Growth struct {
	Fingerprint string `json:"fingerprint"` // hexadecimal
	Documents   int64  `json:"documents"`   // of the night
	Before      int64  `json:"before"`      // of the night before
	Earlier     int64  `json:"earlier"`     // of all earlier nights
	Example     string `json:"example"`     // the first id of the night that has it
}

// printed is how many of each kind a person is shown.
const printed = 5

// print writes what the library knew of the documents, and what it learned.
func (l *Library) print(row func(name, format string, args ...any)) {
	row("library", "night %s against %s of %s", l.Night, show.Count(l.Documents, "document"), show.Count(l.Nights, "earlier night"))
	all := l.New + l.Repeated + l.Returned
	row("", "%s new%s, %s repeated%s, %s returned%s", show.Number(l.New), show.Percent(l.New, all), show.Number(l.Repeated), show.Percent(l.Repeated, all), show.Number(l.Returned), show.Percent(l.Returned, all))
	if l.Nights > 0 {
		l.printDrift(row)
	}
	row("", "%s %s best match in an earlier night", show.Number(l.Matched), show.Agree(l.Matched, "has its", "have their"))
	row("", "%s %s, %s %s merged", show.Count(l.Continued, "cluster"), show.Agree(l.Continued, "continues an earlier one", "continue earlier ones"), show.Count(l.Merges, "earlier cluster"), show.Agree(l.Merges, "was", "were"))
	replaced := ""
	if l.Replaced {
		replaced = ", in the place of what it had of this night"
	}
	row("", "%s %s added to %s%s", show.Count(l.Added, "document"), show.Agree(l.Added, "was", "were"), l.Path, replaced)
}

// printDrift writes the shares by language and site, and what grew.
func (l *Library) printDrift(row func(name, format string, args ...any)) {
	for _, kind := range []struct {
		name, empty string
		drift       []Drift
	}{{"of language", "unknown", l.Languages}, {"of site", "no address", l.Sites}} {
		for i, d := range kind.drift[:min(len(kind.drift), printed)] {
			row(show.Headed(i, kind.name), "%8s  %s: %s new, %s repeated, %s returned", show.Number(d.Documents), cmp.Or(d.Name, kind.empty),
				show.Share(d.New, d.Documents), show.Share(d.Repeated, d.Documents), show.Share(d.Returned, d.Documents))
		}
	}
	for i, g := range l.Growing[:min(len(l.Growing), printed)] {
		row(show.Headed(i, "growing"), "%8s  %s (%s the night before, %s in all nights before)", show.Number(g.Documents), g.Example, show.Number(g.Before), show.Number(g.Earlier))
	}
}
