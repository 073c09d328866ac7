package job

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/neardup/neardup/job/internal/state/pairs"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/reducer"
)

// cluster gives every index the first of its copies and the first of its
// cluster. Copies are what the pairs that are the same connect, and the clusters
// of earlier nights; a component with more distinct views than the spread bound
// is cut around centres. Containment joins copies to clusters of this run alone:
// the clean dump and later nights go by copies, so a document stays beside what
// contains it, and no digest ties the stories of one night to those of the next.
func (d *decider) cluster(ctx context.Context) error {
	labels := make([]uint32, d.matched.Len())
	spread := make([]uint32, d.matched.Len()) // by root: units
	for i := range uint32(len(labels)) {
		labels[i] = d.components.Root(i)
		if d.units[i] == i {
			spread[labels[i]]++
		}
	}
	bound := d.run.config.Clusters.MaxSpread
	wide := map[uint32]*component{} // by root
	for root, n := range spread {
		if bound > 0 && int(n) > bound {
			wide[uint32(root)] = &component{}
		}
	}
	if err := d.keepWide(ctx, wide, labels, bound); err != nil {
		return err
	}
	if len(wide) > 0 {
		if err := d.cut(ctx, wide, labels); err != nil {
			return err
		}
	}
	var err error
	if d.copies, err = d.descend(ctx, labels); err != nil {
		return err
	}
	d.components = nil
	d.join()
	return nil
}

// join joins copies that contain each other and no third to clusters.
func (d *decider) join() {
	d.multiple = sizesOf(d.copies)
	d.clusters, d.sizes = d.copies, d.multiple
	if len(d.contained) > 0 {
		joined := reducer.NewComponents(len(d.copies))
		for i, first := range d.copies {
			joined.Add(uint32(i), first)
		}
		joined.AddContained(d.contained)
		d.clusters = make([]uint32, len(d.copies))
		for i := range d.clusters {
			d.clusters[i] = joined.Root(uint32(i))
		}
		d.sizes = sizesOf(d.clusters)
	}
	d.nameClusters()
}

// sizesOf counts the indices of each label.
func sizesOf(labels []uint32) []uint32 {
	sizes := make([]uint32, len(labels))
	for _, l := range labels {
		sizes[l]++
	}
	return sizes
}

// cut gives the documents of wide components the labels of their parts.
func (d *decider) cut(ctx context.Context, wide map[uint32]*component, labels []uint32) error {
	for i, root := range labels {
		if c, ok := wide[root]; ok {
			c.add(uint32(i), d.units[i])
		}
	}
	var mu sync.Mutex // of their pairs
	err := d.eachPair(ctx, func(p pairs.Pair) error {
		a, b := d.index(p.A), d.index(p.B)
		if c, ok := wide[labels[a]]; ok && p.Evidence.Reason.Same() {
			mu.Lock()
			defer mu.Unlock()
			c.pairs = append(c.pairs, [2]uint32{a, b})
		}
		return nil
	})
	if err != nil {
		return err
	}
	centres := map[uint32]uint32{} // by first of a unit
	for _, c := range wide {
		d.counts.Cut++
		d.counts.CutSize = max(d.counts.CutSize, c.documents)
		for i, centre := range reducer.Centred(c.nodes, c.weights, c.pairs) {
			centres[c.nodes[i]] = centre
		}
	}
	smallest := map[uint32]uint32{} // index of a centre's cluster
	for i, root := range labels {
		if _, ok := wide[root]; ok {
			centre := centres[d.units[i]]
			if _, seen := smallest[centre]; !seen {
				smallest[centre] = uint32(i)
			}
			labels[i] = smallest[centre]
		}
	}
	return nil
}

// keepWide drops the components of no more distinct fingerprints than bound:
// pages of one template have many texts and few fingerprints, and are no
// chain.
func (d *decider) keepWide(ctx context.Context, wide map[uint32]*component, labels []uint32, bound int) error {
	if !d.run.config.Match.Verified() || len(wide) == 0 {
		return nil
	}
	prints := make(map[uint32]map[[2]uint64]bool, len(wide))
	for root := range wide {
		prints[root] = map[[2]uint64]bool{}
	}
	err := d.documents.Each(ctx, 0, d.documents.Len(), 0, func(doc uint64, r *views.Row) error {
		i, ok := d.matched.Index(doc)
		if !ok {
			return nil
		}
		if seen := prints[labels[i]]; seen != nil && len(seen) <= bound {
			seen[[2]uint64{r.View.Hi, r.View.Lo}] = true
		}
		return nil
	})
	for root, seen := range prints {
		if len(seen) <= bound {
			delete(wide, root)
		}
	}
	return err
}

// component is a connected component that is to be cut.
type component struct {
	documents int64
	nodes     []uint32 // firsts of units, ascending
	weights   []int    // documents that each stands for
	pairs     [][2]uint32
}

// add takes the next index, in ascending order, with the first of its unit.
func (c *component) add(i, first uint32) {
	c.documents++
	if first == i {
		c.nodes, c.weights = append(c.nodes, i), append(c.weights, 1)
		return
	}
	at, _ := slices.BinarySearch(c.nodes, first)
	c.weights[at]++
}

// hasCopies reports whether the label is that of two copies, or of a document
// that continues an earlier night's cluster.
func (d *decider) hasCopies(label uint32) bool {
	return d.multiple[label] > 1 || d.multiple[label] > 0 && d.lineage[label].continues
}

// isCluster reports whether the label is that of a cluster: of two documents, or
// of one that continues an earlier night's.
func (d *decider) isCluster(label uint32) bool {
	return d.sizes[label] > 1 || d.sizes[label] == 1 && d.hasCopies(label)
}

// largestCluster is a clusterSize whose ids are yet to be read.
type largestCluster struct {
	Cluster uint64 `json:"cluster"` // its first document
	ID      string `json:"id"`      // in a library; else that of its first document
	Example uint64 `json:"example"`
	Size    int64  `json:"size"`
}

// largest notes the ten largest clusters of two documents of the run or more,
// ties to the smaller number.
func (d *decider) largest() {
	const n = 10
	var top []uint32 // clusters
	bySize := func(a, b uint32) int { return cmp.Or(cmp.Compare(d.sizes[b], d.sizes[a]), cmp.Compare(a, b)) }
	for l, size := range d.sizes {
		if size < 2 || len(top) == n && size <= d.sizes[top[n-1]] {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, uint32(l), bySize)
		top = slices.Insert(top, at, uint32(l))
		top = top[:min(len(top), n)]
	}
	for _, l := range top {
		c := largestCluster{Cluster: d.number(l), ID: d.ids[l], Example: d.number(l), Size: int64(d.sizes[l])}
		if keeper := d.keepers[l]; keeper != noDocument {
			c.Example = d.number(keeper)
		}
		d.counts.Largest = append(d.counts.Largest, c)
	}
}
