package job

import (
	"context"
	"math"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/state/decision"
	"github.com/neardup/neardup/job/internal/state/pairs"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/reducer"
)

// represent counts the clusters and chooses the representatives of copies.
func (d *decider) represent(ctx context.Context) error {
	for l, size := range d.sizes {
		if d.isCluster(uint32(l)) {
			d.counts.Clusters++
			d.counts.Clustered += int64(size)
			if size > d.multiple[l] {
				d.counts.Joined++
			}
		}
	}
	if err := d.choose(ctx, d.run.config.Clusters.Keep); err != nil {
		return err
	}
	d.inherit()
	return nil
}

// choose chooses which of the copies represents them.
func (d *decider) choose(ctx context.Context, rule string) error {
	d.keepers = slices.Repeat([]uint32{noDocument}, len(d.copies))
	if rule == config.KeepFirst {
		for i, l := range slices.Backward(d.copies) {
			d.keepers[l] = uint32(i)
		}
		return nil
	}
	values := make([]float64, d.matched.Len()) // by index
	err := d.run.eachSplit(ctx, func(task int) error {
		i, _ := d.indices(task)
		return d.documents.Scan(d.documents.First(task), d.documents.First(task+1), views.Keep, func(doc uint64, r *views.Row) error {
			if d.matched.Has(doc) {
				if values[i] = r.Keep; rule == config.KeepEarliest {
					values[i] = -r.Keep
				}
				i++
			}
			return nil
		})
	})
	if without := map[string]string{config.KeepEarliest: "a date", config.KeepRank: "a rank"}[rule]; err == nil && without != "" && len(values) > 0 && !slices.ContainsFunc(values, known) {
		d.run.Log.Warn("clusters.keep has nothing to go by: no document with copies has "+without+", so the first of the input stays", "keep", rule)
	}
	for i, l := range d.copies {
		c := reducer.Candidate{Doc: uint32(i), Value: values[i]}
		if have := d.keepers[l]; have != noDocument {
			c = reducer.Keeper([]reducer.Candidate{{Doc: have, Value: values[have]}, c})
		}
		d.keepers[l] = c.Doc
	}
	return err
}

// known reports whether a document has what the rule compares.
func known(value float64) bool { return !math.IsNaN(value) }

// inherit gives the copies of which an earlier night has a document their
// representative there, if the clean dump leaves those out: what the first of
// these documents in the run is the same as.
func (d *decider) inherit() {
	if c := d.run.config; d.earlier == nil || c.Output.Earlier != config.EarlierDrop && c.Clusters.Keep != config.KeepEarliest {
		return
	}
	for i, l := range d.copies {
		if same := d.earlier[d.number(uint32(i))].Same(); same != nil && d.keepers[l] != noDocument {
			d.keepers[l] = noDocument
			of := d.lineage[l]
			of.kept = same
			d.lineage[l] = of
		}
	}
}

// measure notes how far documents are from those that stay in their place.
func (d *decider) measure(ctx context.Context) error {
	if !d.run.job.Cleans() {
		return nil
	}
	d.kept = slices.Repeat([]decision.Kept{decision.NoneKept()}, d.matched.Len())
	note := func(i, other uint32, p *pairs.Pair) {
		if k := d.stands(i); k != noDocument && d.units[k] == other {
			d.kept[i].Distance, d.kept[i].Containment = p.Distance, p.Containment
		}
	}
	return d.eachPair(ctx, func(p pairs.Pair) error {
		a, b := d.index(p.A), d.index(p.B)
		note(a, b, &p)
		note(b, a, &p)
		return nil
	})
}

// stands is the index of the document that stays in the place of that of index
// i: its copies' representative, or if a document contains it, that one's;
// noDocument if an earlier night has it.
func (d *decider) stands(i uint32) uint32 {
	k := d.keepers[d.copies[i]]
	if k == i && d.run.config.Output.Contained == config.ContainedDrop {
		if m, e, ok := d.match(i); ok && e.Reason == data.Contained {
			if k = d.keepers[d.copies[m.Doc]]; k == noDocument {
				k = m.Doc
			}
		}
	}
	return k
}

// remove decides whether the clean dump leaves out the document of index i.
func (d *decider) remove(i uint32, out *decision.Decision) {
	switch {
	case d.kept == nil:
		return
	case d.keepers[d.copies[i]] == noDocument:
		out.Removal = decision.Earlier
	case d.keepers[d.copies[i]] != i:
		out.Removal = decision.Copy
	case !out.Earlier && out.Evidence.Reason == data.Contained && d.run.config.Output.Contained == config.ContainedDrop:
		out.Removal = decision.Contained
	default:
		return
	}
	if k := d.stands(i); k != noDocument {
		if out.Kept = d.kept[d.units[i]]; d.units[k] == d.units[i] {
			out.Kept.Distance = 0
		}
		out.Kept.Doc = d.number(k)
	}
}
