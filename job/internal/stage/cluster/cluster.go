// Package cluster is the stage cluster. From the verified pairs it finds each
// document's best match, chooses which documents stay and which one stays for
// each that is removed, and writes the decisions.
//
//	pairs, equal documents → gather: the documents that have any get an index
//	                       → reduce: best matches, what is connected
//	                       → check: 400 documents against all others, by brute force
//	                       → choose: which documents stay; each that goes is a
//	                         verified pair with one of them
//	                       → cluster: sizes, components through all nights
//	                       → sample: pairs for the stage write to read again
//	                       → write: the decisions of each split
//
// Every removal is a pair: a chain of pairs is no reason to remove a document. What
// a chain connects is a component, which is reported beside the cluster.
//
// Documents that exact dedup found equal are a unit. Pairs name the first document
// of a unit, and the steps up to choose work on firsts.
//
// The stage is one task, which holds all of this in memory: a few words for each
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
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/state/exactdup"
	"github.com/neardup/neardup/job/internal/state/pairs"
	"github.com/neardup/neardup/job/internal/state/subset"
	"github.com/neardup/neardup/reducer"
)

// Cluster is the task of the stage. It runs the steps that the package comment
// lists. gather and reduce are in this file; the others are in check.go, choose.go,
// components.go, sample.go and write.go.
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

// decider is the state of the stage. It numbers the documents that have a match or
// an equal document anew, from 0, in their order. An index is such a number.
type decider struct {
	run       *stage.Run
	rec       *rundir.TaskRecord
	documents *corpus.Documents
	history   historyDocuments // nil without a library
	counts    stage.Counts
	resolved  []pairs.Pair // pairs that the texts decided, sorted

	matched  *subset.Set   // the documents that have an index
	units    []uint32      // by index: the first document of its unit
	short    []bool        // by index: whether it is a short text that equals another
	second   []uint32      // by first of a unit: its second document; 0 without one
	best     *reducer.Best // best matches of the firsts of units
	evidence []evidence    // by first of a unit: evidence of its best match; nil if the distance alone decides

	components *reducer.Components
	degrees    []atomic.Uint32 // by first of a unit: number of pairs that prove enough to remove one of the two
	contained  []containment   // pairs one of which contains the other, if the settings ask for them

	representatives []uint32   // by index: the document that stays for it; itself if it stays; noDocument if that is in an earlier night
	standing        []standing // by first of a unit: its pair with the unit that stays for it

	component []uint32           // by index: the first document of its component
	connected []uint32           // by first of a component: number of documents
	lineage   map[uint32]through // by first of a component; only with a library
	versions  []uint32           // by index: the first document of its component, or of several that containment joins
	joined    []uint32           // by first of versions: number of documents
	ids       map[uint32]string  // by first of versions: their id; only with a library
	sizes     []uint32           // by representative: number of documents of its cluster
	abroad    map[string]*abroad // by id: clusters whose representative is in an earlier night
}

// containment is a pair of firsts of units: whole contains part.
type containment struct{ whole, part uint32 }

// standing is the pair of a unit and the unit that stays for it.
type standing struct {
	first    uint32 // first document of the unit that stays; noDocument if there is none
	distance uint8
	evidence
}

// match returns the pair as a match, to compare it with others.
func (s *standing) match() reducer.Match {
	return reducer.Match{Doc: s.first, Distance: s.distance, Same: s.Reason.Same()}
}

// evidence is the evidence of a pair, with what the texts say.
type evidence struct {
	data.Evidence
	overlap data.Overlap
}

// reverse returns the evidence with the two documents exchanged.
func (e evidence) reverse() evidence {
	e.Reason = e.Reason.Reverse()
	return e
}

// readResolved reads the pairs that the sketches left undecided, as the texts or
// signatures decided them.
func (d *decider) readResolved(ctx context.Context) error {
	if !d.run.Config.Match.Settles() {
		return nil
	}
	err := pairs.Each(ctx, d.run.Dir.Path(rundir.State, stage.ResolvedFile), func(p pairs.Pair) error {
		d.resolved = append(d.resolved, p)
		return nil
	})
	if d.run.Config.Match.Consults() {
		d.counts.Consulted = int64(len(d.resolved))
	}
	return err
}

// text returns what the texts or signatures decided of documents a and b, which are
// firsts of units; ok is false if nobody asked them.
func (d *decider) text(a, b uint64) (p pairs.Pair, ok bool) {
	p.A, p.B = min(a, b), max(a, b)
	at, ok := slices.BinarySearchFunc(d.resolved, p, pairs.Compare)
	if !ok {
		return p, false
	}
	return d.resolved[at], true
}

// eachPair calls yield with every verified pair once: pairs that are the same, and
// pairs one document of which contains the other. It calls yield concurrently and
// in no particular order. A and B are firsts of units.
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
			return nil // d.resolved has it
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

// eachEqual calls yield with the documents that exact dedup found equal to an
// earlier one, in order.
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

// gather sets d.matched: it gives an index to each document that has a match, in
// this run or an earlier night, or an equal document.
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

// number returns the document number of an index.
func (d *decider) number(i uint32) uint64 { return d.matched.Member(i) }

// index returns the index of a document, which must have one.
func (d *decider) index(doc uint64) uint32 {
	i, _ := d.matched.Index(doc)
	return i
}

// reduce finds units, components, and best matches. A second pass over the pairs
// collects the evidence of the best matches.
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

// match returns the best match of index i in this run, with its evidence. That is
// an equal document, the first of its unit or the unit's second, or the best match
// of its unit, whichever comes before the other as reducer.Match orders them.
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

// equality returns the evidence of a match of equal documents.
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

// Done adds the counts of the stage to the summary.
func Done(_ context.Context, r *stage.Run, _ []rundir.TaskRecord) error {
	counts, s := &r.Counts, r.Sum
	if err := rundir.ReadJSON(r.Dir.Path(rundir.State, stage.CountsFile), counts); err != nil {
		return err
	}
	s.Matched, s.Found = counts.Matched, counts.Found
	return nil
}
