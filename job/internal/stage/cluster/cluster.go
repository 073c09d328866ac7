// Package cluster is the stage of the same name: the pairs that were found become each
// document's best match, clusters, and what stays for each document that goes.
//
//	pairs, equal documents → gather: the documents that have any
//	                       → reduce: best matches, what is connected
//	                       → check: 400 documents against all others, by brute force
//	                       → choose: which documents stay; each that goes is a
//	                         verified pair with one of them
//	                       → cluster: sizes, components through all nights
//	                       → sample: pairs for the stage write to read again
//	                       → write: the decisions of each split
//
// It is the one stage that is not divided: its memory is a few words for each
// document that has a match.
package cluster

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/state/exactdup"
	"github.com/neardup/neardup/job/internal/state/pairs"
	"github.com/neardup/neardup/job/internal/state/subset"
	"github.com/neardup/neardup/reducer"
)

// Cluster reduces the pairs to best matches and components, chooses which documents
// stay and which go for them, and writes what was decided for each split. Its
// steps stand here up to the best matches, and in check.go, decide_keep.go,
// decide_clusters.go and decide_write.go.
func Cluster(ctx context.Context, r *stage.Run, rec *rundir.TaskRecord) (err error) {
	documents, err := r.Documents()
	if err != nil {
		return err
	}
	rec.RowsIn, rec.RowsOut = int64(documents.Len()), int64(documents.Len())
	d := &decider{run: r, documents: documents, rec: rec}
	if r.Library != nil {
		if d.history, err = readHistory(r, documents.Parts()); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{d.readResolved, d.gather, d.reduce, d.check, d.choose, d.cluster, d.sample, d.write} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if r.Config.Match.AllPairs {
		if err := d.allPairs(ctx); err != nil {
			return err
		}
	}
	if err := rundir.WriteJSON(r.Dir.Path(rundir.State, stage.CountsFile), d.counts); err != nil {
		return err
	}
	rec.Outputs = append(rec.Outputs, filepath.Join(rundir.State, stage.CountsFile))
	return nil
}

// decider is the stage under way. It counts the documents that have a match or
// an equal anew, from 0 in order of their numbers: an index is a document's
// place among them.
type decider struct {
	run       *stage.Run
	rec       *rundir.TaskRecord
	documents *engine.Documents
	history   historyDocuments // nil without a library
	counts    stage.Counts
	resolved  []pairs.Pair // in order

	matched  *subset.Set
	units    []uint32      // by index: the first of the documents that nothing tells apart
	short    []bool        // by index: it is a short text that equals another
	second   []uint32      // by first of a unit: its second; 0 without one
	best     *reducer.Best // of the firsts of units
	evidence []evidence    // of best; nil where the distance alone decides

	components *reducer.Components
	degrees    []atomic.Uint32 // by first of a unit: how many units it might stay for, or go for
	contained  []containment   // if that is asked for

	representatives []uint32   // by index: the document that stays for it, itself if it stays; noDocument: an earlier night has it
	standing        []standing // by first of a unit: its pair with the unit of what stays for it

	component []uint32           // by index: the first of its component
	connected []uint32           // by first of a component: how many documents it has
	lineage   map[uint32]through // by first of a component; of a run with a library
	versions  []uint32           // by index: the first of its component, or of several that contain each other
	joined    []uint32           // by first of versions: how many documents they have
	ids       map[uint32]string  // of versions, by their first; of a run with a library
	sizes     []uint32           // by representative: documents of its cluster
	abroad    map[string]*abroad // clusters of documents that stay in earlier nights
}

// containment is a pair of firsts of units.
type containment struct{ whole, part uint32 }

// standing is the pair of a unit and the one of what stays for it.
type standing struct {
	first    uint32 // of the unit of what stays; noDocument: none
	distance uint8
	evidence
}

// match is the pair as a match of the unit.
func (s *standing) match() reducer.Match {
	return reducer.Match{Doc: s.first, Distance: s.distance, Same: s.Reason.Same()}
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

// readResolved reads what the texts decided.
func (d *decider) readResolved(ctx context.Context) error {
	if !d.run.Config.Match.Consults() {
		return nil
	}
	err := pairs.Each(ctx, d.run.Dir.Path(rundir.State, stage.ResolvedFile), func(p pairs.Pair) error {
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
	at, ok := slices.BinarySearchFunc(d.resolved, p, pairs.Compare)
	if !ok {
		return p, false
	}
	return d.resolved[at], true
}

// eachPair calls yield with the pairs of the firsts of units, each once, in no
// order and concurrently: those that are the same, and those of which one
// document contains the other.
func (d *decider) eachPair(ctx context.Context, yield func(pairs.Pair) error) error {
	path := d.run.Dir.Path(rundir.State, stage.MatchedFile)
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	const step = 1 << 20 // bytes
	advance, read := d.run.Job.Pass.Begin(info.Size(), "bytes"), atomic.Int64{}
	err = pairs.Concurrently(ctx, path, d.run.Workers, func(p pairs.Pair) error {
		if n := read.Add(pairs.RecordBytes); n%step < pairs.RecordBytes {
			advance(step)
		}
		if p.Evidence.Reason == data.Undecided {
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
		advance(info.Size() - read.Load()/step*step)
	}
	return err
}

// eachEqual calls yield with the documents that equal an earlier one, in order.
func (d *decider) eachEqual(ctx context.Context, yield func(exactdup.Document) error) error {
	for task := range d.documents.Parts() {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := d.documents.Duplicates(d.run.Dir, task, func(e exactdup.Document) error {
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
	d.matched = subset.New(d.documents.Len())
	err := d.eachPair(ctx, func(p pairs.Pair) error {
		d.matched.Add(p.A)
		d.matched.Add(p.B)
		return nil
	})
	if err != nil {
		return err
	}
	err = d.eachEqual(ctx, func(e exactdup.Document) error {
		d.matched.Add(e.Doc)
		d.matched.Add(e.Of)
		return nil
	})
	if err != nil {
		return err
	}
	for doc := range d.history {
		d.matched.Add(doc)
	}
	d.matched.Seal()
	return nil
}

// number is the document of an index.
func (d *decider) number(i uint32) uint64 { return d.matched.Member(i) }

// index is the index of a document that has one.
func (d *decider) index(doc uint64) uint32 {
	i, _ := d.matched.Index(doc)
	return i
}

// reduce finds units, best matches with their evidence, and connected
// components.
func (d *decider) reduce(ctx context.Context) error {
	n := d.matched.Len()
	d.units, d.short, d.second = make([]uint32, n), make([]bool, n), make([]uint32, n)
	for i := range d.units {
		d.units[i] = uint32(i)
	}
	d.best, d.components, d.degrees = reducer.NewBest(n), reducer.NewComponents(n), make([]atomic.Uint32, n)
	contained := d.run.Config.Clusters.Contained || d.run.Config.Output.Contained == config.ContainedDrop
	err := d.eachEqual(ctx, func(e exactdup.Document) error {
		i, first := d.index(e.Doc), d.index(e.Of)
		d.units[i] = first
		if d.second[first] == 0 {
			d.second[first] = i
		}
		short := e.Kind == exactdup.EqualShort
		d.short[i], d.short[first] = short, short
		d.components.Add(i, first)
		return nil
	})
	if err != nil {
		return err
	}
	var mu sync.Mutex // of what is counted of contained documents
	err = d.eachPair(ctx, func(p pairs.Pair) error {
		a, b, same := d.index(p.A), d.index(p.B), p.Evidence.Reason.Same()
		d.best.Add(a, b, p.Distance, same)
		if same {
			d.components.Add(a, b)
			if d.proves(&p) {
				d.degrees[a].Add(1)
				d.degrees[b].Add(1)
			}
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		d.counts.Contained++
		if p.Evidence.Reason == data.Contained {
			a, b = b, a
		}
		if contained {
			d.contained = append(d.contained, containment{a, b})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !d.run.Config.Match.Verified() {
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
	case !d.run.Config.Match.Sketched():
	case d.short[i]:
		e.Evidence = data.Evidence{Reason: data.ByEquality, Figure: 1} // no edit of one letter
	default:
		e.Evidence = data.Evidence{Reason: data.BySketches}
	}
	return e
}

// Done reads what was found.
func Done(_ context.Context, r *stage.Run, _ []rundir.TaskRecord) error {
	counts, s := &r.Counts, r.Sum
	if err := rundir.ReadJSON(r.Dir.Path(rundir.State, stage.CountsFile), counts); err != nil {
		return err
	}
	s.Matched, s.Found = counts.Matched, counts.Found
	return nil
}
