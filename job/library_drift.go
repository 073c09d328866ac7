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
