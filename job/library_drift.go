package job

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/simhash"
)

// drift counts documents of one kind by what the library knew of them.
type drift struct {
	Name      string `json:"name"` // the language or the site; "" is not known
	Documents int64  `json:"documents"`
	New       int64  `json:"new"`      // neither the id nor the content was there
	Repeated  int64  `json:"repeated"` // another id, but the content was there
	Returned  int64  `json:"returned"` // the id was there
}

// growth is a fingerprint that more documents have than the night before.
type growth struct {
	Fingerprint string `json:"fingerprint"` // hexadecimal
	Documents   int64  `json:"documents"`   // of the night
	Before      int64  `json:"before"`      // of the night before
	Earlier     int64  `json:"earlier"`     // of all earlier nights
	Example     string `json:"example"`     // the first id of the night that has it
}

// summarySites is how many sites and growing fingerprints a summary names, and
// printed how many of each kind a person is shown.
const (
	summarySites = 10
	printed      = 5
)

// readDrift fills l from the drift and growth tables.
func (r *run) readDrift(ctx context.Context, l *LibraryCounts) error {
	languages, sites := map[string]*drift{}, map[string]*drift{}
	part := rundir.PartName(0, ".parquet") // the only one
	err := parquet.ReadTable(ctx, r.dir.Path(rundir.Drift, part), &data.Drift, func(row *data.DriftRow) error {
		count(languages, row.Language, row)
		count(sites, string(row.Site), row)
		return nil
	})
	if err != nil {
		return err
	}
	l.Languages, l.Sites = mostDocuments(languages), mostDocuments(sites)
	l.Sites = l.Sites[:min(len(l.Sites), summarySites)]
	return parquet.ReadTable(ctx, r.dir.Path(rundir.Growth, part), &data.Growth, func(row *data.GrowthRow) error {
		if len(l.Growing) < summarySites {
			print := simhash.Fingerprint{Hi: row.Hi, Lo: row.Lo}.Hex(r.config.Features.Bits)
			l.Growing = append(l.Growing, growth{print, row.Documents, row.Before, row.Earlier, string(row.Example)})
		}
		return nil
	})
}

func count(kinds map[string]*drift, name string, row *data.DriftRow) {
	d := kinds[name]
	if d == nil {
		d = &drift{Name: name}
		kinds[name] = d
	}
	d.Documents += row.Documents
	d.New += row.New
	d.Repeated += row.Repeated
	d.Returned += row.Returned
}

func mostDocuments(kinds map[string]*drift) []drift {
	var all []drift
	for d := range maps.Values(kinds) {
		all = append(all, *d)
	}
	slices.SortFunc(all, func(a, b drift) int {
		return cmp.Or(cmp.Compare(b.Documents, a.Documents), strings.Compare(a.Name, b.Name))
	})
	return all
}

// print writes what the library knew of the documents, and what it learned.
func (l *LibraryCounts) print(row func(name, format string, args ...any)) {
	row("library", "night %s against %s of %s", l.Night, show.Count(l.Documents, "document"), show.Count(l.Nights, "earlier night"))
	all := l.New + l.Repeated + l.Returned
	row("", "%s new%s, %s repeated%s, %s returned%s", show.Number(l.New), percent(l.New, all), show.Number(l.Repeated), percent(l.Repeated, all), show.Number(l.Returned), percent(l.Returned, all))
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
func (l *LibraryCounts) printDrift(row func(name, format string, args ...any)) {
	for _, kind := range []struct {
		name, empty string
		drift       []drift
	}{{"of language", "unknown", l.Languages}, {"of site", "no address", l.Sites}} {
		for i, d := range kind.drift[:min(len(kind.drift), printed)] {
			row(headed(i, kind.name), "%8s  %s: %s new, %s repeated, %s returned", show.Number(d.Documents), cmp.Or(d.Name, kind.empty),
				share(d.New, d.Documents), share(d.Repeated, d.Documents), share(d.Returned, d.Documents))
		}
	}
	for i, g := range l.Growing[:min(len(l.Growing), printed)] {
		row(headed(i, "growing"), "%8s  %s (%s the night before, %s in all nights before)", show.Number(g.Documents), g.Example, show.Number(g.Before), show.Number(g.Earlier))
	}
}
