package job

import (
	"context"
	"slices"

	"github.com/neardup/neardup/job/internal/earlier"
	"github.com/neardup/neardup/job/internal/engine"
)

// earlierDocuments are this run's documents that are the same as one of an
// earlier night, by number.
type earlierDocuments map[uint64]*engine.EarlierDocument

// readEarlier reads them.
func (r *run) readEarlier(splits int) (earlierDocuments, error) {
	all := earlierDocuments{}
	for task := range splits {
		docs, err := engine.ReadEarlier(r.dir, task)
		if err != nil {
			return nil, err
		}
		for doc, e := range docs {
			if e.Same() != nil {
				all[doc] = e
			}
		}
	}
	return all, nil
}

// match is the document's best match in an earlier night, nil without one.
func (e earlierDocuments) match(doc uint64) *earlier.Match {
	if d := e[doc]; d != nil {
		return d.Match
	}
	return nil
}

// noDocument stands for a representative that is in an earlier night.
const noDocument = ^uint32(0)

// descend gives this run's clusters the ids that they have through all nights.
// Clusters that continue the same earlier one become one: the labels returned
// say so.
func (d *decider) descend(ctx context.Context, labels []uint32) ([]uint32, error) {
	if d.earlier == nil {
		return labels, nil
	}
	sizes := make(map[uint32]int)
	continued := make(map[uint32][]string)
	for i, l := range labels {
		sizes[l]++
		if e := d.earlier[d.numbers[i]]; e != nil {
			continued[l] = append(continued[l], e.Clusters...)
		}
	}
	wide := map[uint32]bool{} // components that were cut
	for i, l := range labels {
		if root := d.components.Root(uint32(i)); root != l {
			wide[root] = true
		}
	}
	var of []uint32 // labels of clusters
	founders := map[uint64]string{}
	for l := range uint32(len(labels)) {
		if sizes[l] >= 2 || len(continued[l]) > 0 {
			of = append(of, l)
			founders[d.numbers[l]] = ""
		}
	}
	if err := d.run.idsOf(ctx, d.documents, founders); err != nil {
		return nil, err
	}
	clusters := make([]earlier.Descent, len(of))
	for i, l := range of {
		slices.Sort(continued[l])
		clusters[i] = earlier.Descent{
			Founded: earlier.FoundedCluster(d.run.config.Library.Night, []byte(founders[d.numbers[l]])),
			Earlier: slices.Compact(continued[l]), Alone: wide[d.components.Root(l)],
		}
	}
	ids, merges := earlier.Descend(clusters)
	d.counts.Merges = merges
	d.lineage = make(map[uint32]lineage, len(ids))
	first := map[string]uint32{} // label by id
	joined := map[uint32]uint32{}
	for i, id := range ids {
		l, ok := first[id]
		if !ok || clusters[i].Alone {
			l = of[i]
			first[id] = l
		}
		joined[of[i]] = l
		d.lineage[l] = lineage{id: id, continues: id != clusters[i].Founded}
	}
	for _, l := range d.lineage {
		if l.continues {
			d.counts.Continued++
		}
	}
	out := slices.Clone(labels)
	for i, l := range labels {
		if to, ok := joined[l]; ok {
			out[i] = to
		}
	}
	return out, nil
}

// lineage is what a cluster is through all nights.
type lineage struct {
	id        string
	continues bool           // it began in an earlier night
	kept      *earlier.Match // the earlier document that represents it; nil if the run has the representative
}
