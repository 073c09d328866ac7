package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state/decision"
	"github.com/neardup/neardup/job/internal/state/exactdup"
	"github.com/neardup/neardup/job/internal/state/lineage"
	"github.com/neardup/neardup/job/internal/state/pairs"
	"github.com/neardup/neardup/job/internal/state/places"
	"github.com/neardup/neardup/job/internal/state/spill"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/sketch"
)

// indices returns the range of indices, first to last − 1, of the documents of a
// split.
func (d *decider) indices(task int) (first, last uint32) {
	return d.matched.Rank(d.documents.First(task)), d.matched.Rank(d.documents.First(task + 1))
}

// write writes the decisions of each split.
func (d *decider) write(ctx context.Context) error {
	var inHistory, inAll atomic.Int64 // documents with a match
	err := d.run.EachSplit(ctx, func(task int) error {
		out := decision.Create(d.run.Dir.Path(rundir.StatePart(decision.Folder, task)), d.documents.First(task))
		others, err := d.others(task)
		if err != nil {
			return err
		}
		part, matched := 0, 0
		for i, end := d.indices(task); i < end; i++ {
			for ; len(others) > 0 && others[0].Doc < d.number(i); others = others[1:] {
				out.Add(&others[0])
			}
			decided := d.decision(i)
			if decided.InHistory {
				part++
			}
			if decided.InHistory || decided.Match != decision.None {
				matched++
			}
			out.Add(&decided)
		}
		for i := range others {
			out.Add(&others[i])
		}
		inHistory.Add(int64(part))
		inAll.Add(int64(matched))
		return out.Commit()
	})
	if err != nil {
		return err
	}
	d.counts.InHistory, d.counts.Matched = inHistory.Load(), inAll.Load()
	d.rec.Outputs = d.run.StateParts(decision.Folder)
	if d.run.Library != nil {
		if err := lineage.Write(d.run.Dir.Path(rundir.State, lineage.File), d.lineages()); err != nil {
			return err
		}
		d.rec.Outputs = append(d.rec.Outputs, filepath.Join(rundir.State, lineage.File))
	}
	d.rec.Outputs = append(d.rec.Outputs, filepath.Join(rundir.State, places.File))
	return places.Write(d.run.Dir.Path(rundir.State, places.File), d.firsts())
}

// firsts returns the number of the first document of each part of the fingerprints
// table. In a run each split has one part; in a match several splits may read one part.
func (d *decider) firsts() (firsts []uint64) {
	job := d.run.Job
	for task, s := range job.Splits {
		if task == 0 || job.Manifest.Command != rundir.CommandMatch || s.Path != job.Splits[task-1].Path {
			firsts = append(firsts, d.documents.First(task))
		}
	}
	return firsts
}

// others returns the decisions on documents of a split that are removed by id alone:
// duplicate ids and deleted ones. There are none without a clean dump.
func (d *decider) others(task int) (all []decision.Decision, err error) {
	if !d.run.Job.Cleans() {
		return nil, nil
	}
	rows := duplicates{documents: d.documents}
	defer rows.close()
	err = d.documents.Duplicates(d.run.Dir, task, func(e exactdup.Document) (err error) {
		if e.IsEqual() {
			return nil
		}
		o := undecided(e.Doc)
		if o.Removal = decision.Deleted; e.Kind == exactdup.DuplicateID {
			o.Removal = decision.DuplicateID
			o.Kept, err = rows.kept(e)
		}
		all = append(all, o)
		return err
	})
	return all, err
}

// duplicates compares documents with the same id.
type duplicates struct {
	documents *corpus.Documents
	readers   [2]*views.Reader // of the later row and the first; nil before they are needed
	rows      [2]data.View
}

// kept returns the first document of an id, as the one that stays for the later
// document e, with the distance of the two.
func (d *duplicates) kept(e exactdup.Document) (decision.Kept, error) {
	for i, doc := range [...]uint64{e.Doc, e.Of} {
		if d.readers[i] == nil {
			d.readers[i] = d.documents.Reader()
		}
		if err := d.readers[i].View(doc, &d.rows[i]); err != nil {
			return decision.Kept{}, err
		}
	}
	k := decision.NoneKept()
	k.Doc, k.Distance = e.Of, uint8(mapper.Distance(&d.rows[0], &d.rows[1]))
	differ := sketch.Differ((*sketch.Sketch)(&d.rows[0].Sketch), (*sketch.Sketch)(&d.rows[1].Sketch))
	k.Evidence = data.Evidence{Reason: data.NotTheSame, Figure: uint16(differ)} // no verdict is asked for
	return k, nil
}

func (d *duplicates) close() {
	for _, r := range d.readers {
		if r != nil {
			r.Close()
		}
	}
}

// undecided returns the decision on a document without match or cluster that stays.
func undecided(doc uint64) decision.Decision {
	return decision.Decision{Doc: doc, Match: decision.None, Overlap: data.UnknownOverlap(), Cluster: decision.None, Component: decision.None, Versions: decision.None, Group: decision.None, Kept: decision.NoneKept()}
}

// decision returns the decision on index i. Its best match is the one in an earlier
// night if that is as near as the one in this run, or if the latter is not the same
// but only contains the document or is contained.
func (d *decider) decision(i uint32) decision.Decision {
	out := undecided(d.number(i))
	m, e, ok := d.match(i)
	if inHistory := d.history.match(d.number(i)); inHistory != nil && (!ok || !m.Same || inHistory.Distance <= int(m.Distance)) {
		out.InHistory = true
	} else if ok {
		out.Match, out.Distance, out.Evidence, out.Overlap = d.number(m.Doc), m.Distance, e.Evidence, e.overlap
	}
	if out.Listed = d.isListed(i); out.Listed {
		out.Size, out.Representative = d.size(i), d.representatives[i] == i
		if k := d.representatives[i]; k != noDocument {
			out.Cluster = d.number(k)
			out.Group = out.Cluster
		} else {
			out.Group = d.number(d.abroad[d.inherited(i).Cluster()].first)
		}
		if l := d.component[i]; d.isComponent(l) {
			out.Component = d.number(l)
		}
		if l := d.versions[i]; d.isVersions(l) {
			out.Versions = d.number(l)
		}
	}
	d.remove(i, &out)
	return out
}

// allPairs writes, for each split, the pairs of its documents with later ones, each
// once. A pair of units stands for all pairs of their documents; the documents of a
// unit are pairs too. It returns an error if there are more than match.max_pairs.
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
	var between atomic.Int64
	err = d.eachPair(ctx, func(p pairs.Pair) error {
		between.Add(int64(len(of(d.index(p.A)))) * int64(len(of(d.index(p.B)))))
		return nil
	})
	if err != nil {
		return err
	}
	d.counts.Pairs += between.Load()
	if limit := d.run.Config.Match.MaxPairs; d.counts.Pairs > limit {
		return fmt.Errorf("%d pairs are more than %d: identical pages make the square of their number; raise match.max_pairs, or leave --pairs out and use the clusters", d.counts.Pairs, limit)
	}
	all := spill.New(d.documents.Parts(), spill.Options{Dir: d.run.Dir.Path(rundir.Scratch, "all-pairs"), Head: pairs.RecordBytes})
	defer func() { err = errors.Join(err, all.Close()) }()
	deal := all.Dealer()
	var record []byte
	put := func(i, j uint32, distance uint8, e evidence) error {
		if i > j {
			i, j, e = j, i, e.reverse()
		}
		p := pairs.Pair{Pair: data.Pair{A: d.number(i), B: d.number(j), Distance: distance, Evidence: e.Evidence}, Overlap: e.overlap}
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
	var mu sync.Mutex // of the dealer
	err = d.eachPair(ctx, func(p pairs.Pair) error {
		mu.Lock()
		defer mu.Unlock()
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
	names, err := d.run.WriteSorted(ctx, all, pairs.Folder, pairs.FileKind)
	d.rec.Outputs = append(d.rec.Outputs, names...)
	return err
}
