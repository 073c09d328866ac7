package cluster

import (
	"cmp"
	"context"
	"slices"

	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/reducer"
)

// cluster finds the sizes of clusters, and the component of each index. A cluster
// is a document that stays and the documents that are removed for it. A component
// is what pairs that are the same connect, together with the components of earlier
// nights that it continues.
//
// Containment joins components of this run to versions, but later nights continue
// components only. So a digest page, which contains many stories, does not tie
// the stories of one night to those of the next.
func (d *decider) cluster(ctx context.Context) error {
	d.sizes, d.abroad = make([]uint32, len(d.units)), map[string]*abroad{}
	for i, k := range d.representatives {
		if k != noDocument {
			d.sizes[k]++
			continue
		}
		of := d.inherited(uint32(i))
		id := of.Cluster()
		if d.abroad[id] == nil {
			d.abroad[id] = &abroad{kept: of, first: uint32(i)}
		}
		d.abroad[id].size++
	}
	labels := make([]uint32, len(d.units))
	for i := range uint32(len(labels)) {
		labels[i] = d.components.Root(i)
	}
	d.components = nil
	var err error
	if d.component, err = d.descend(ctx, labels); err != nil {
		return err
	}
	d.join()
	d.count()
	return nil
}

// abroad is a cluster whose representative is in an earlier night.
type abroad struct {
	kept  *history.Match
	size  uint32
	first uint32 // index of the first of them
}

// join joins components that contain each other and no third.
func (d *decider) join() {
	d.connected = sizesOf(d.component)
	d.versions, d.joined = d.component, d.connected
	if d.run.Config.Clusters.Contained && len(d.contained) > 0 {
		versions := reducer.NewComponents(len(d.component))
		for i, first := range d.component {
			versions.Add(uint32(i), first)
		}
		pairs := make([][2]uint32, len(d.contained))
		for i, c := range d.contained {
			pairs[i] = [2]uint32{c.whole, c.part}
		}
		versions.AddContained(pairs)
		d.versions = make([]uint32, len(d.component))
		for i := range d.versions {
			d.versions[i] = versions.Root(uint32(i))
		}
		d.joined = sizesOf(d.versions)
	}
	d.nameVersions()
}

// sizesOf counts the indices of each label.
func sizesOf(labels []uint32) []uint32 {
	sizes := make([]uint32, len(labels))
	for _, l := range labels {
		sizes[l]++
	}
	return sizes
}

// isComponent reports whether label is that of a component of two documents or
// more, or of one that continues a component of an earlier night.
func (d *decider) isComponent(label uint32) bool {
	return d.connected[label] > 1 || d.connected[label] > 0 && d.lineage[label].continues
}

// isVersions reports whether containment joins the component with that label, or
// the single document, to others.
func (d *decider) isVersions(label uint32) bool { return d.joined[label] > d.connected[label] }

// size returns the number of documents of this run in the cluster of index i.
func (d *decider) size(i uint32) uint32 {
	if k := d.representatives[i]; k != noDocument {
		return d.sizes[k]
	}
	return d.abroad[d.inherited(i).Cluster()].size
}

// isListed reports whether the table of clusters has index i: whether its cluster,
// its component or its versions have another document.
func (d *decider) isListed(i uint32) bool {
	k := d.representatives[i]
	return k == noDocument || d.sizes[k] > 1 || d.isComponent(d.component[i]) || d.isVersions(d.versions[i])
}

// count counts clusters of at least two documents, one of which may be in an
// earlier night.
func (d *decider) count() {
	for _, of := range d.abroad {
		d.counts.Clusters++
		d.counts.Clustered += int64(of.size)
	}
	for i, size := range d.sizes {
		i := uint32(i)
		if size > 1 {
			d.counts.Clusters++
			d.counts.Clustered += int64(size)
		} else if size == 1 && d.isListed(i) {
			d.counts.Alone++
		}
		if d.isVersions(i) {
			d.counts.Joined++
		}
	}
	d.largest()
}

// largest notes the ten largest clusters that have at least two documents of this
// run. Of equally large ones, those with a representative in this run come first,
// by its number.
func (d *decider) largest() {
	const n = 10
	var top []stage.LargestCluster
	offer := func(c stage.LargestCluster) {
		if c.Size < 2 || len(top) == n && c.Size < top[n-1].Size {
			return
		}
		at, _ := slices.BinarySearchFunc(top, c, func(a, b stage.LargestCluster) int {
			return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Representative, b.Representative))
		})
		top = slices.Insert(top, at, c)
		top = top[:min(len(top), n)]
	}
	for i, size := range d.sizes {
		if size > 1 {
			offer(stage.LargestCluster{Representative: d.number(uint32(i)), Size: int64(size)})
		}
	}
	for id, of := range d.abroad {
		offer(stage.LargestCluster{ID: id, Example: of.kept.ID, Size: int64(of.size)})
	}
	d.counts.Largest = top
}
