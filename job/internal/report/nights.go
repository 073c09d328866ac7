package report

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/rundir"
)

// night is a night of a library by its run's summary.
type night struct {
	Name string
	*job.Summary
}

// All is how many documents of the night the library was asked for.
func (n *night) All() int64 { return n.Library.New + n.Library.Repeated + n.Library.Returned }

// nights lists the night of the run and those before it, the latest first, as far
// as the runs that brought them to the same library stand beside it.
func nights(s *job.Summary, runs map[string]string) (list []night) {
	list = append(list, night{s.Library.Night, s})
	names := slices.Sorted(maps.Keys(runs))
	slices.Reverse(names)
	for _, name := range names[:min(len(names), mostNights-1)] {
		other := new(job.Summary)
		if rundir.ReadJSON(filepath.Join(runs[name], rundir.SummaryFile), other) == nil && other.Library != nil {
			list = append(list, night{name, other})
		}
	}
	return list
}

// measure is a figure of a night: a count, or a part of a whole.
type measure struct {
	name string                           // a message
	of   func(*night) (part, whole int64) // whole -1: a count
}

// measures are what a night is compared with others by.
var measures = []measure{
	{message.Key("documents"), func(n *night) (int64, int64) { return n.Documents, -1 }},
	{message.Key("skipped of the records"), func(n *night) (int64, int64) { return n.Records - n.Documents, n.Records }},
	{message.Key("without a main text"), func(n *night) (sum, of int64) {
		for _, c := range n.None.Total() {
			sum += c
		}
		return sum, n.Documents
	}},
	{message.Key("new to the library"), func(n *night) (int64, int64) { return n.Library.New, n.All() }},
	{message.Key("repeated under another id"), func(n *night) (int64, int64) { return n.Library.Repeated, n.All() }},
	{message.Key("returning ids"), func(n *night) (int64, int64) { return n.Library.Returned, n.All() }},
	{message.Key("with a near-duplicate"), func(n *night) (int64, int64) { return n.Matched, n.Documents }},
	{message.Key("left out of the clean dump"), func(n *night) (int64, int64) { return n.Dropped, n.Documents }},
}

// figures of a night are compared with those of the nights before by their median
// m and the median d of their distances from it, both robust against single
// nights. Of a normal distribution 1.4826 d is the standard deviation; m ± 3 of
// these hold 99.7 % of the nights. Without leastNights there are no bounds, and a
// share may always move by leastShare, a count by leastCount of itself.
const (
	leastNights = 5
	deviations  = 3
	normal      = 1.4826
	leastShare  = 0.02
	leastCount  = 0.1
)

// change is a figure of the night, beside that of the night before and the
// bounds that those before set.
type change struct {
	Name         string
	Count        int64
	Share        float64 // NaN: it is a count
	Before       float64 // share or count; NaN: there is none
	Low, High    float64 // NaN: too few nights
	Below, Above bool    // it is below, above
}

// IsShare reports whether the figure is a part of a whole.
func (c change) IsShare() bool { return !math.IsNaN(c.Share) }

// Value is the figure itself.
func (c change) Value() float64 {
	if c.IsShare() {
		return c.Share
	}
	return float64(c.Count)
}

// Known reports whether there is a night before; Bounded, whether there are bounds.
func (c change) Known() bool   { return !math.IsNaN(c.Before) }
func (c change) Bounded() bool { return !math.IsNaN(c.Low) }

// Unusual reports whether the figure is beyond its bounds.
func (c change) Unusual() bool { return c.Below || c.Above }

// changes compares the first of the nights with the others.
func changes(list []night) (all []change) {
	value := func(m *measure, n *night) (float64, int64, bool) {
		part, whole := m.of(n)
		if whole < 0 {
			return float64(part), part, false
		}
		if whole == 0 {
			return math.NaN(), part, true
		}
		return float64(part) / float64(whole), part, true
	}
	for i := range measures {
		m := &measures[i]
		v, part, share := value(m, &list[0])
		c := change{Name: m.name, Count: part, Share: math.NaN(), Before: math.NaN(), Low: math.NaN(), High: math.NaN()}
		if share {
			if math.IsNaN(v) {
				continue
			}
			c.Share = v
		}
		var before []float64
		for j := range list[1:] {
			if b, _, _ := value(m, &list[1+j]); !math.IsNaN(b) {
				if before = append(before, b); j == 0 {
					c.Before = b
				}
			}
		}
		if len(before) >= leastNights {
			c.Low, c.High = bounds(before, share)
			c.Below, c.Above = v < c.Low, v > c.High
		}
		all = append(all, c)
	}
	return all
}

// bounds are those that the values of other nights set.
func bounds(values []float64, share bool) (low, high float64) {
	middle := median(values)
	far := make([]float64, len(values))
	for i, v := range values {
		far[i] = math.Abs(v - middle)
	}
	width := deviations * normal * median(far)
	if share {
		width = max(width, leastShare)
		return max(0, middle-width), min(1, middle+width)
	}
	width = max(width, leastCount*middle)
	return max(0, middle-width), middle + width
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// source is a site, by the documents of it in a night and the night before.
type source struct {
	Site      string
	Documents int64
	Before    int64
	New       int64
	Far       bool // it lost half, or has twice as many
}

// Change is how many documents more the night has.
func (s source) Change() int64 { return s.Documents - s.Before }

// sources compares the sites of two nights by their drift tables: those of the
// greatest changes, losses first. The night before may have none left.
func sources(ctx context.Context, now, before string) ([]source, error) {
	sites := map[string]*source{}
	read := func(run string, take func(*source, *data.DriftRow)) error {
		counted := newTally(heaviestSites)
		err := eachRow(ctx, run, rundir.Drift, &data.Drift, func(r *data.DriftRow) {
			counted.add(r.Site, counts{Documents: r.Documents, Left: r.New})
		})
		for _, g := range counted.largest(heaviestSites) {
			if sites[g.Name] == nil {
				sites[g.Name] = &source{Site: g.Name}
			}
			take(sites[g.Name], &data.DriftRow{Documents: g.Documents, New: g.Left})
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	err := errors.Join(
		read(now, func(s *source, r *data.DriftRow) { s.Documents, s.New = r.Documents, r.New }),
		read(before, func(s *source, r *data.DriftRow) { s.Before = r.Documents }))
	var list []source
	for _, s := range sites {
		few, many := min(s.Documents, s.Before), max(s.Documents, s.Before)
		s.Far = many >= leastSource && 2*few <= many
		if few != many {
			list = append(list, *s)
		}
	}
	slices.SortFunc(list, func(a, b source) int {
		size := func(s source) int64 { return max(s.Change(), -s.Change()) }
		return cmp.Or(cmp.Compare(size(b), size(a)), cmp.Compare(a.Site, b.Site))
	})
	list = list[:min(len(list), mostSources)]
	slices.SortStableFunc(list, func(a, b source) int { return cmp.Compare(a.Change(), b.Change()) })
	return list, err
}

// leastSource is the least number of documents of a site whose change is told.
const leastSource = 20

// eachRow calls yield with the rows of a table of a run.
func eachRow[R any](ctx context.Context, run, name string, table *data.Table[R], yield func(*R)) error {
	parts, err := rundir.Parts(run, name)
	for _, part := range parts {
		if err == nil {
			err = parquet.ReadTable(ctx, part, table, func(r *R) error { yield(r); return nil })
		}
	}
	return err
}
