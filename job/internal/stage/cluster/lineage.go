package cluster

import (
	"context"
	"slices"

	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/state/lineage"
)

// historyDocuments maps numbers of this run's documents to what the library knows of
// them, for those that match an earlier night.
type historyDocuments map[uint64]*history.Document

// readHistory reads what the stage history wrote for all splits.
func readHistory(r *stage.Run, splits int) (historyDocuments, error) {
	all := historyDocuments{}
	for task := range splits {
		docs, err := history.ReadDocuments(r.Dir.Path(rundir.StatePart(history.Folder, task)))
		if err != nil {
			return nil, err
		}
		for doc, e := range docs {
			if e.Match != nil || e.Kept != nil || len(e.Clusters) > 0 {
				all[doc] = e
			}
		}
	}
	return all, nil
}

// match returns the document's best match in an earlier night, nil without one.
func (e historyDocuments) match(doc uint64) *history.Match {
	if d := e[doc]; d != nil {
		return d.Match
	}
	return nil
}

// descend gives this run's components their ids, which last through all nights; see
// history.Descend. labels are components by index. Components that continue the same
// earlier one become one: descend returns the new labels.
func (d *decider) descend(ctx context.Context, labels []uint32) ([]uint32, error) {
	if d.history == nil {
		return labels, nil
	}
	sizes := make(map[uint32]int)
	continued := make(map[uint32][]string)
	for i, l := range labels {
		sizes[l]++
		if e := d.history[d.number(uint32(i))]; e != nil {
			continued[l] = append(continued[l], e.Clusters...)
		}
	}
	joins := map[uint32]bool{} // labels that versions may be called after
	for _, p := range d.contained {
		joins[labels[p.whole]], joins[labels[p.part]] = true, true
	}
	var of []uint32 // labels that need an id
	founders := map[uint64]string{}
	for l := range uint32(len(labels)) {
		if sizes[l] >= 2 || len(continued[l]) > 0 || joins[l] {
			of = append(of, l)
			founders[d.number(l)] = ""
		}
	}
	if err := d.run.FillIDs(ctx, founders); err != nil {
		return nil, err
	}
	clusters := make([]history.Descent, len(of))
	for i, l := range of {
		slices.Sort(continued[l])
		clusters[i] = history.Descent{
			Founded:   history.FoundedCluster(d.run.Config.Library.Night, []byte(founders[d.number(l)])),
			Continues: slices.Compact(continued[l]),
		}
	}
	ids, merges := history.Descend(clusters)
	d.counts.Merges = merges
	d.lineage = make(map[uint32]through, len(ids))
	first := map[string]uint32{} // label by id
	joined := map[uint32]uint32{}
	for i, id := range ids {
		l, ok := first[id]
		if !ok {
			l = of[i]
			first[id] = l
		}
		joined[of[i]] = l
		d.lineage[l] = through{id: id, continues: id != clusters[i].Founded}
	}
	out := slices.Clone(labels)
	for i, l := range labels {
		if to, ok := joined[l]; ok {
			out[i] = to
		}
	}
	return out, nil
}

// through is a component's identity through all nights.
type through struct {
	id        string
	continues bool // it began in an earlier night
}

// nameVersions gives ids to the versions of a run with a library. Versions take the
// id of the eldest component among them; if all began in this run, of the first.
func (d *decider) nameVersions() {
	d.ids = make(map[uint32]string, len(d.lineage))
	for l, of := range d.lineage {
		v := d.versions[l]
		if id := d.ids[v]; of.continues && (id == "" || of.id < id) {
			d.ids[v] = of.id
		}
		if of.continues {
			d.counts.Continued++
		}
	}
	for l, of := range d.lineage {
		if d.versions[l] == l && d.ids[l] == "" {
			d.ids[l] = of.id
		}
	}
}

// lineages returns the ids of components and versions for the tables, by the number
// of their first document.
func (d *decider) lineages() map[uint64]lineage.Lineage {
	all := map[uint64]lineage.Lineage{}
	for l, of := range d.lineage {
		var out lineage.Lineage
		if d.isComponent(l) {
			out.Component = of.id
		}
		if d.isVersions(l) {
			out.Versions = d.ids[l]
		}
		if out != (lineage.Lineage{}) {
			all[d.number(l)] = out
		}
	}
	return all
}
