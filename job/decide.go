package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/earlier"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/decision"
	"github.com/neardup/neardup/job/internal/state/identical"
	"github.com/neardup/neardup/job/internal/state/pairs"
	"github.com/neardup/neardup/job/internal/state/spill"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/reducer"
)

// matchCounts is what the run found.
type matchCounts struct {
	Checked   int64            `json:"checked"`
	Consulted int64            `json:"consulted"`
	Matched   int64            `json:"matched"`
	Pairs     int64            `json:"pairs"`
	Clusters  int64            `json:"clusters"`
	Joined    int64            `json:"joined"` // clusters of documents that contain each other, and their copies
	Clustered int64            `json:"clustered"`
	Cut       int64            `json:"cut"`
	CutSize   int64            `json:"cut_size"`
	Contained int64            `json:"contained"` // pairs of which one document contains the other
	Largest   []largestCluster `json:"largest"`

	Earlier   int64           `json:"earlier,omitempty"`   // documents whose best match is in an earlier night
	Continued int64           `json:"continued,omitempty"` // clusters that continue an earlier one
	Merges    []earlier.Merge `json:"merges,omitempty"`    // of earlier clusters
}

const countsFile = "counts.json"

// decide reduces the pairs to best matches, copies and clusters, chooses which of
// the copies represents them, and writes what was decided for each split.
func (r *run) decide(ctx context.Context, rec *rundir.TaskRecord) (err error) {
	documents, err := r.documents()
	if err != nil {
		return err
	}
	rec.RowsIn, rec.RowsOut = int64(documents.Len()), int64(documents.Len())
	d := &decider{run: r, documents: documents, rec: rec}
	if r.library != nil {
		if d.earlier, err = r.readEarlier(documents.Parts()); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{d.readResolved, d.gather, d.reduce, d.check, d.cluster, d.represent, d.measure, d.write} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if r.config.Match.AllPairs {
		if err := d.allPairs(ctx); err != nil {
			return err
		}
	}
	if err := rundir.WriteJSON(r.dir.Path(rundir.State, countsFile), d.counts); err != nil {
		return err
	}
	rec.Outputs = append(rec.Outputs, filepath.Join(rundir.State, countsFile))
	return nil
}

// decider is the stage under way. It counts the documents that have a match or
// an equal anew, from 0 in order of their numbers: an index is a document's
// place among them.
type decider struct {
	run       *run
	rec       *rundir.TaskRecord
	documents *engine.Documents
	earlier   earlierDocuments // nil without a library
	counts    matchCounts
	resolved  []pairs.Pair // in order

	matched  *engine.Subset
	numbers  []uint64      // document by index
	units    []uint32      // by index: the first of the documents that nothing tells apart
	short    []bool        // by index: it is a short text that equals another
	second   []uint32      // by first of a unit: its second; 0 without one
	best     *reducer.Best // of the firsts of units
	evidence []evidence    // of best; nil where the distance alone decides

	components *reducer.Components
	contained  [][2]uint32 // indices of which one contains the other, if these join clusters

	copies   []uint32           // by index: the first of its copies, itself included
	multiple []uint32           // by first of copies: how many they are
	lineage  map[uint32]lineage // by first of copies; of a run with a library
	keepers  []uint32           // by first of copies: their representative; noDocument: it is in an earlier night

	clusters []uint32          // by index: the first of its cluster, which is copies, or several that contain each other
	sizes    []uint32          // by first of a cluster
	ids      map[uint32]string // by first of a cluster; of a run with a library

	kept []decision.Kept // by first of a unit: its pair with the unit of what stays; nil without a clean dump
}

// evidence is what a match rests on.
type evidence struct {
	data.Evidence
	overlap data.Overlap
}

// reverse is the evidence with the two documents exchanged.
func (e evidence) reverse() evidence {
	e.Reason = e.Reason.Reverse()
	return e
}

func comparePairs(p, q pairs.Pair) int {
	return cmp.Or(cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B))
}

// readResolved reads what the texts decided.
func (d *decider) readResolved(ctx context.Context) error {
	if !engine.ConsultsTexts(d.run.config.Match) {
		return nil
	}
	err := pairs.Each(ctx, d.run.dir.Path(rundir.State, resolvedFile), func(p pairs.Pair) error {
		d.resolved = append(d.resolved, p)
		return nil
	})
	d.counts.Consulted = int64(len(d.resolved))
	return err
}

// text returns what the texts of a pair of firsts of units decided, if they
// were consulted.
func (d *decider) text(a, b uint64) (p pairs.Pair, ok bool) {
	p.A, p.B = min(a, b), max(a, b)
	at, ok := slices.BinarySearchFunc(d.resolved, p, comparePairs)
	if !ok {
		return p, false
	}
	return d.resolved[at], true
}

// eachPair calls yield with the pairs of the firsts of units, each once: those
// that are the same, and those of which one document contains the other.
func (d *decider) eachPair(ctx context.Context, yield func(pairs.Pair) error) error {
	path := d.run.dir.Path(rundir.State, matchedFile)
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	advance, read, told := d.run.job.Begin(info.Size(), "bytes"), int64(0), int64(0)
	err = pairs.Each(ctx, path, func(p pairs.Pair) error {
		if read += pairs.RecordBytes; read-told >= 1<<20 {
			advance(read - told)
			told = read
		}
		if p.Evidence.Reason == data.Open {
			return nil // it is among the resolved
		}
		return yield(p)
	})
	for i := 0; err == nil && i < len(d.resolved); i++ {
		if d.resolved[i].Evidence.Reason != data.NotTheSame {
			err = yield(d.resolved[i])
		}
	}
	if err == nil {
		advance(info.Size() - told)
	}
	return err
}

// eachEqual calls yield with the documents that equal an earlier one, in order.
func (d *decider) eachEqual(ctx context.Context, yield func(identical.Document) error) error {
	for task := range d.documents.Parts() {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := d.documents.Identical(d.run.dir, task, func(e identical.Document) error {
			if !e.IsEqual() {
				return nil
			}
			return yield(e)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// gather gives the documents that have a match or an equal their indices.
func (d *decider) gather(ctx context.Context) error {
	d.matched = engine.NewSubset(d.documents.Len())
	err := d.eachPair(ctx, func(p pairs.Pair) error {
		d.matched.Add(p.A)
		d.matched.Add(p.B)
		return nil
	})
	if err != nil {
		return err
	}
	err = d.eachEqual(ctx, func(e identical.Document) error {
		d.matched.Add(e.Doc)
		d.matched.Add(e.Of)
		return nil
	})
	if err != nil {
		return err
	}
	for doc := range d.earlier {
		d.matched.Add(doc)
	}
	d.matched.Seal()
	d.numbers = d.matched.Members()
	return nil
}

// index is the index of a document that has one.
func (d *decider) index(doc uint64) uint32 {
	i, _ := d.matched.Index(doc)
	return i
}

// reduce finds units, best matches with their evidence, and connected
// components.
func (d *decider) reduce(ctx context.Context) error {
	n := len(d.numbers)
	d.units, d.short, d.second = make([]uint32, n), make([]bool, n), make([]uint32, n)
	for i := range d.units {
		d.units[i] = uint32(i)
	}
	d.best, d.components = reducer.NewBest(n), reducer.NewComponents(n)
	err := d.eachEqual(ctx, func(e identical.Document) error {
		i, first := d.index(e.Doc), d.index(e.Of)
		d.units[i] = first
		if d.second[first] == 0 {
			d.second[first] = i
		}
		short := e.Kind == identical.EqualShort
		d.short[i], d.short[first] = short, short
		d.components.Add(i, first)
		return nil
	})
	if err != nil {
		return err
	}
	err = d.eachPair(ctx, func(p pairs.Pair) error {
		a, b, same := d.index(p.A), d.index(p.B), p.Evidence.Reason.Same()
		d.best.Add(a, b, p.Distance, same)
		if same {
			d.components.Add(a, b)
			return nil
		}
		d.counts.Contained++
		if d.run.config.Clusters.Contained {
			d.contained = append(d.contained, [2]uint32{a, b})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !d.run.config.Match.Verified() {
		return nil
	}
	d.evidence = make([]evidence, n)
	return d.eachPair(ctx, func(p pairs.Pair) error {
		a, b := d.index(p.A), d.index(p.B)
		e := evidence{p.Evidence, p.Overlap}
		if m, ok := d.best.Match(a); ok && m.Doc == b {
			d.evidence[a] = e
		}
		if m, ok := d.best.Match(b); ok && m.Doc == a {
			d.evidence[b] = e.reverse()
		}
		return nil
	})
}

// match is the best match of index i in the run: of its unit the first other,
// if there is one and no earlier document of another unit is as near.
func (d *decider) match(i uint32) (m reducer.Match, e evidence, ok bool) {
	first := d.units[i]
	m, ok = d.best.Match(first)
	if e.overlap = data.UnknownOverlap(); d.evidence != nil {
		e = d.evidence[first]
	}
	twin, has := first, first != i
	if !has {
		twin, has = d.second[i], d.second[i] != 0
	}
	if equal := (reducer.Match{Doc: twin, Same: true}); has && (!ok || equal.Before(m)) {
		return equal, d.equality(i), true
	}
	return m, e, ok
}

// equality is what the match of equal documents rests on.
func (d *decider) equality(i uint32) evidence {
	e := evidence{overlap: data.UnknownOverlap()}
	switch {
	case !d.run.config.Match.Verified():
	case d.short[i]:
		e.Evidence = data.Evidence{Reason: data.ByEquality, Figure: 1} // no edit of one letter
	default:
		e.Evidence = data.Evidence{Reason: data.BySketches}
	}
	return e
}

// cluster gives every index the first of its copies and the first of its
// cluster. Copies are what the pairs that are the same connect, and the clusters
// of earlier nights; a component with more distinct views than the spread bound
// is cut around centres. Containment joins copies to clusters of this run alone:
// the clean dump and later nights go by copies, so a document stays beside what
// contains it, and no digest ties the stories of one night to those of the next.
func (d *decider) cluster(ctx context.Context) error {
	labels := make([]uint32, len(d.numbers))
	spread := make([]uint32, len(d.numbers)) // by root: units
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
	err := d.eachPair(ctx, func(p pairs.Pair) error {
		a, b := d.index(p.A), d.index(p.B)
		if c, ok := wide[labels[a]]; ok && p.Evidence.Reason.Same() {
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
	if err := d.choose(ctx, keepRule(d.run.config.Clusters.Keep)); err != nil {
		return err
	}
	d.inherit()
	return nil
}

// choose chooses which of the copies represents them.
func (d *decider) choose(ctx context.Context, rule reducer.Keep) error {
	d.keepers = slices.Repeat([]uint32{noDocument}, len(d.copies))
	if rule == reducer.KeepFirst {
		for i, l := range slices.Backward(d.copies) {
			d.keepers[l] = uint32(i)
		}
		return nil
	}
	values := make([]float64, len(d.numbers)) // by index
	err := d.run.eachSplit(ctx, func(task int) error {
		i, end := d.indices(task)
		return d.documents.Scan(d.documents.First(task), d.documents.First(task+1), views.Keep, func(doc uint64, r *views.Row) error {
			if i < end && d.numbers[i] == doc {
				values[i] = r.Keep
				i++
			}
			return nil
		})
	})
	for i, l := range d.copies {
		c := reducer.Candidate{Doc: uint32(i), Value: values[i]}
		if have := d.keepers[l]; have != noDocument {
			c = reducer.Keeper(rule, []reducer.Candidate{{Doc: have, Value: values[have]}, c})
		}
		d.keepers[l] = c.Doc
	}
	return err
}

// inherit gives the copies of which an earlier night has a document their
// representative there, if the clean dump leaves those out: what the first of
// these documents in the run is the same as.
func (d *decider) inherit() {
	if c := d.run.config; c.Output.Earlier != config.EarlierDrop && c.Clusters.Keep != config.KeepEarliest {
		return
	}
	for i, l := range d.copies {
		if same := d.earlier[d.numbers[i]].Same(); same != nil && d.keepers[l] != noDocument {
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
	d.kept = slices.Repeat([]decision.Kept{decision.NoneKept()}, len(d.numbers))
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
		out.Kept.Doc = d.numbers[k]
	}
}

// indices are those of the documents of a split: from first to last − 1.
func (d *decider) indices(task int) (first, last int) {
	first, _ = slices.BinarySearch(d.numbers, d.documents.First(task))
	last, _ = slices.BinarySearch(d.numbers, d.documents.First(task+1))
	return first, last
}

// write writes the decisions of each split.
func (d *decider) write(ctx context.Context) error {
	if err := os.MkdirAll(d.run.dir.Path(rundir.State, engine.DecisionFolder), 0o755); err != nil {
		return err
	}
	var mu sync.Mutex // of the counts
	err := d.run.eachSplit(ctx, func(task int) error {
		out := decision.Create(d.run.dir.Path(decisionFile(task)), d.documents.First(task))
		i, end := d.indices(task)
		earlier, matched := int64(0), int64(0)
		others, err := d.others(task)
		if err != nil {
			return err
		}
		var decided decision.Decision
		for ; i < end || len(others) > 0; i++ {
			for len(others) > 0 && (i == end || others[0].Doc < d.numbers[i]) {
				out.Add(&others[0])
				others = others[1:]
			}
			if i == end {
				break
			}
			decided = d.decision(uint32(i))
			if decided.Earlier {
				earlier++
			}
			if decided.Earlier || decided.Match != decision.None {
				matched++
			}
			out.Add(&decided)
		}
		mu.Lock()
		defer mu.Unlock()
		d.counts.Earlier += earlier
		d.counts.Matched += matched
		return out.Commit()
	})
	if err != nil {
		return err
	}
	for task := range d.documents.Parts() {
		d.rec.Outputs = append(d.rec.Outputs, decisionFile(task))
	}
	if d.run.library != nil {
		if err := engine.WriteLineage(d.run.dir, d.lineages()); err != nil {
			return err
		}
		d.rec.Outputs = append(d.rec.Outputs, filepath.Join(rundir.State, engine.LineageFile))
	}
	places, err := engine.WritePlaces(d.run.job, d.documents)
	if err != nil {
		return err
	}
	d.rec.Outputs = append(d.rec.Outputs, places)
	d.largest()
	return nil
}

// others are the documents of a split that are removed unseen: by their ids.
func (d *decider) others(task int) (all []decision.Decision, err error) {
	if d.kept == nil {
		return nil, nil
	}
	err = d.documents.Identical(d.run.dir, task, func(e identical.Document) error {
		if e.IsEqual() {
			return nil
		}
		o := undecided(e.Doc)
		if o.Removal = decision.Deleted; e.Kind == identical.DuplicateID {
			o.Removal = decision.DuplicateID
		}
		all = append(all, o)
		return nil
	})
	return all, err
}

// decisionFile is the file of a split's decisions, within the run directory.
func decisionFile(task int) string {
	return filepath.Join(rundir.State, engine.DecisionFolder, rundir.PartName(task, ""))
}

// undecided is a document without match and cluster, which stays.
func undecided(doc uint64) decision.Decision {
	return decision.Decision{Doc: doc, Match: decision.None, Overlap: data.UnknownOverlap(), Cluster: decision.None, Copies: decision.None, Kept: decision.NoneKept()}
}

// decision is what was decided of index i: of the equally near matches an
// earlier night's comes first, and before one that is not the same.
func (d *decider) decision(i uint32) decision.Decision {
	out := undecided(d.numbers[i])
	m, e, ok := d.match(i)
	if previous := d.earlier.match(d.numbers[i]); previous != nil && (!ok || !m.Same || previous.Distance <= int(m.Distance)) {
		out.Earlier = true
	} else if ok {
		out.Match, out.Distance, out.Evidence, out.Overlap = d.numbers[m.Doc], m.Distance, e.Evidence, e.overlap
	}
	if l := d.clusters[i]; d.isCluster(l) {
		out.Cluster, out.Size, out.Keeper = d.numbers[l], d.sizes[l], d.keepers[d.copies[i]] == i
	}
	if l := d.copies[i]; d.hasCopies(l) {
		out.Copies = d.numbers[l]
	}
	d.remove(i, &out)
	return out
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
		c := largestCluster{Cluster: d.numbers[l], ID: d.ids[l], Example: d.numbers[l], Size: int64(d.sizes[l])}
		if keeper := d.keepers[l]; keeper != noDocument {
			c.Example = d.numbers[keeper]
		}
		d.counts.Largest = append(d.counts.Largest, c)
	}
}

// allPairs writes, for each split, the pairs of its documents with later ones,
// each once: the pairs of firsts of units, each for all documents of both, and
// those inside the units.
func (d *decider) allPairs(ctx context.Context) (err error) {
	members := map[uint32][]uint32{} // of units of two or more
	for i, first := range d.units {
		if i := uint32(i); first != i {
			if members[first] == nil {
				members[first] = []uint32{first}
			}
			members[first] = append(members[first], i)
		}
	}
	of := func(first uint32) []uint32 {
		if m, ok := members[first]; ok {
			return m
		}
		return []uint32{first}
	}
	for _, m := range members {
		d.counts.Pairs += int64(len(m)) * int64(len(m)-1) / 2
	}
	err = d.eachPair(ctx, func(p pairs.Pair) error {
		d.counts.Pairs += int64(len(of(d.index(p.A)))) * int64(len(of(d.index(p.B))))
		return nil
	})
	if err != nil {
		return err
	}
	if limit := d.run.config.Match.MaxPairs; d.counts.Pairs > limit {
		return fmt.Errorf("%d pairs are more than %d: identical pages make the square of their number; raise match.max_pairs, or leave --pairs out and use the clusters", d.counts.Pairs, limit)
	}
	limit, err := d.run.config.Execution.MemoryLimit()
	if err != nil {
		return err
	}
	all := spill.New(d.documents.Parts(), spill.Options{Dir: d.run.dir.Path(rundir.Scratch, "all-pairs"), Memory: limit / 4, Head: pairs.RecordBytes})
	defer func() { err = errors.Join(err, all.Close()) }()
	deal := all.Dealer()
	var record []byte
	put := func(i, j uint32, distance uint8, e evidence) error {
		if i > j {
			i, j, e = j, i, e.reverse()
		}
		p := pairs.Pair{Pair: data.Pair{A: d.numbers[i], B: d.numbers[j], Distance: distance, Evidence: e.Evidence}, Overlap: e.overlap}
		record = pairs.Append(record[:0], &p)
		return deal.Put(d.documents.Part(p.A), record, nil)
	}
	for _, m := range members {
		for i, a := range m {
			for _, b := range m[i+1:] {
				if err := put(a, b, 0, d.equality(a)); err != nil {
					return err
				}
			}
		}
	}
	err = d.eachPair(ctx, func(p pairs.Pair) error {
		for _, a := range of(d.index(p.A)) {
			for _, b := range of(d.index(p.B)) {
				if err := put(a, b, p.Distance, evidence{p.Evidence, p.Overlap}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err := errors.Join(err, deal.Flush()); err != nil {
		return err
	}
	return d.writePairs(all)
}

// writePairs writes the pairs of each split, in order.
func (d *decider) writePairs(all *spill.Buckets) error {
	if err := os.MkdirAll(d.run.dir.Path(rundir.State, engine.PairsFolder), 0o755); err != nil {
		return err
	}
	for task := range d.documents.Parts() {
		name := filepath.Join(rundir.State, engine.PairsFolder, rundir.PartName(task, ""))
		var body []byte
		err := all.Sorted(task, func(b, _ []byte) error { body = append(body, b...); return nil })
		if err := errors.Join(err, state.Write(d.run.dir.Path(name), engine.KindPairs, body)); err != nil {
			return err
		}
		d.rec.Outputs = append(d.rec.Outputs, name)
	}
	return nil
}

func keepRule(name string) reducer.Keep {
	switch name {
	case config.KeepLongest, config.KeepRank:
		return reducer.KeepLargest
	case config.KeepEarliest:
		return reducer.KeepLeast
	}
	return reducer.KeepFirst
}
