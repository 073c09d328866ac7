package history

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/summary"
	"github.com/neardup/neardup/simhash"
)

// summarySites is how many sites and growing fingerprints a summary names.
const summarySites = 10

// readDrift fills l from the drift and growth tables.
func readDrift(ctx context.Context, r *stage.Run, l *summary.Library) error {
	languages, sites := map[string]*summary.Drift{}, map[string]*summary.Drift{}
	part := rundir.PartName(0, ".parquet") // the only one
	err := parquet.ReadTable(ctx, r.Dir.Path(rundir.Drift, part), &data.Drift, func(row *data.DriftRow) error {
		count(languages, row.Language, row)
		count(sites, string(row.Site), row)
		return nil
	})
	if err != nil {
		return err
	}
	l.Languages, l.Sites = mostDocuments(languages), mostDocuments(sites)
	l.Sites = l.Sites[:min(len(l.Sites), summarySites)]
	return parquet.ReadTable(ctx, r.Dir.Path(rundir.Growth, part), &data.Growth, func(row *data.GrowthRow) error {
		if len(l.Growing) < summarySites {
			print := simhash.Fingerprint{Hi: row.Hi, Lo: row.Lo}.Hex(r.Config.Features.Bits)
			l.Growing = append(l.Growing, summary.Growth{Fingerprint: print, Documents: row.Documents, Before: row.Before, History: row.History, Example: string(row.Example)})
		}
		return nil
	})
}

func count(kinds map[string]*summary.Drift, name string, row *data.DriftRow) {
	d := kinds[name]
	if d == nil {
		d = &summary.Drift{Name: name}
		kinds[name] = d
	}
	d.Documents += row.Documents
	d.New += row.New
	d.Repeated += row.Repeated
	d.Returned += row.Returned
}

func mostDocuments(kinds map[string]*summary.Drift) []summary.Drift {
	var all []summary.Drift
	for d := range maps.Values(kinds) {
		all = append(all, *d)
	}
	slices.SortFunc(all, func(a, b summary.Drift) int {
		return cmp.Or(cmp.Compare(b.Documents, a.Documents), strings.Compare(a.Name, b.Name))
	})
	return all
}
