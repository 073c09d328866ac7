package cluster

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/state/decision"
	"github.com/neardup/neardup/job/internal/state/pairs"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/reducer"
)

// noDocument, in place of an index, stands for a document in an earlier night, or
// for none.
const noDocument = ^uint32(0)

// choose sets d.representatives: which documents stay and, for each other
// document, which one stays for it. The two are a pair that proves enough.
//
//  1. If the settings say so, documents that an earlier night keeps are removed.
//  2. In each unit the keep rule chooses the one document that would stay.
//  3. reducer.Representatives chooses among units, by proving pairs.
//  4. assign gives each other unit the nearest unit that stays; ties go to the
//     smaller document.
//  5. If the settings say so, assign also removes units that one which stays
//     contains.
func (d *decider) choose(ctx context.Context) error {
	values, err := d.values(ctx)
	if err != nil {
		return err
	}
	candidate := func(i uint32) reducer.Candidate {
		c := reducer.Candidate{Doc: i, Pairs: d.degrees[d.units[i]].Load()}
		if values != nil {
			c.Value = values[i]
		}
		return c
	}
	n := len(d.units)
	stand := slices.Repeat([]uint32{noDocument}, n) // by first of a unit: its document that would stay
	for i, first := range d.units {
		if i := uint32(i); d.inherited(i) != nil {
			continue
		} else if have := stand[first]; have == noDocument || candidate(i).Compare(candidate(have)) < 0 {
			stand[first] = i
		}
	}
	k := reducer.NewRepresentatives(n, func(a, b uint32) bool { return candidate(stand[a]).Before(candidate(stand[b])) })
	degrees := uint64(0)
	for i := range d.units {
		if stand[i] == noDocument { // i is not the first of a unit, or an earlier night keeps all of its unit
			k.Exclude(uint32(i))
		} else {
			degrees += uint64(d.degrees[i].Load())
		}
	}
	const pairBytes = 32 // of a pair in memory, at most
	most := min(degrees/2, uint64(d.run.Config.Execution.MemoryLimit()/4/pairBytes))
	err = k.Choose(int(most), func(yield func(a, b uint32)) error {
		return d.eachPair(ctx, func(p pairs.Pair) error {
			if d.proves(&p) {
				yield(d.index(p.A), d.index(p.B))
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	d.degrees = nil
	if err := d.assign(ctx, k); err != nil {
		return err
	}
	d.representatives = make([]uint32, n)
	for i, first := range d.units {
		if d.representatives[i] = noDocument; d.inherited(uint32(i)) != nil {
			continue
		}
		if s := d.standing[first].first; s != noDocument {
			first = s
		}
		d.representatives[i] = stand[first]
	}
	return nil
}

// proves reports whether a pair is reason enough to remove one of its documents;
// see method.Proves.
func (d *decider) proves(p *pairs.Pair) bool {
	return method.Proves(&d.run.Config.Match, p.Evidence)
}

// values returns, by index, what the keep rule compares; the larger value is
// preferred. It returns nil if the rule compares document numbers alone.
func (d *decider) values(ctx context.Context) ([]float64, error) {
	rule := d.run.Config.Clusters.Keep
	if rule == config.KeepFirst {
		return nil, nil
	}
	values := make([]float64, d.matched.Len())
	err := d.run.EachSplit(ctx, func(task int) error {
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
	return values, err
}

// known reports whether a document has the value that the rule compares.
func known(value float64) bool { return !math.IsNaN(value) }

// inherited returns the document of an earlier night that stays for index i, or nil
// if there is none or the settings do not remove documents for earlier nights.
func (d *decider) inherited(i uint32) *history.Match {
	if c := d.run.Config; d.history == nil || c.Output.History != config.HistoryDrop && c.Clusters.Keep != config.KeepEarliest {
		return nil
	}
	if e := d.history[d.number(i)]; e != nil {
		return e.Kept
	}
	return nil
}

// assign sets d.standing: for each unit that does not stay, the nearest that does.
func (d *decider) assign(ctx context.Context, k *reducer.Representatives) error {
	d.standing = slices.Repeat([]standing{{first: noDocument}}, len(d.units))
	var locks [1 << 10]sync.Mutex
	offer := func(i uint32, s standing) {
		lock := &locks[i%uint32(len(locks))]
		lock.Lock()
		defer lock.Unlock()
		if have := &d.standing[i]; have.first == noDocument || s.match().Before(have.match()) {
			*have = s
		}
	}
	err := d.eachPair(ctx, func(p pairs.Pair) error {
		if !d.proves(&p) {
			return nil
		}
		a, b, e := d.index(p.A), d.index(p.B), evidence{p.Evidence, p.Overlap}
		if k.Stays(a) {
			offer(b, standing{a, p.Distance, e})
		}
		if k.Stays(b) {
			offer(a, standing{b, p.Distance, e})
		}
		return nil
	})
	if err != nil || d.run.Config.Output.Contained != config.ContainedDrop || len(d.contained) == 0 {
		return err
	}
	return d.assignContained(ctx, k)
}

// assignContained removes units that a unit which stays contains; if several do,
// the one that is first in the input stays for it. A unit that stays for others is
// removed only if units that stay contain each of these, too.
func (d *decider) assignContained(ctx context.Context, k *reducer.Representatives) error {
	slices.SortFunc(d.contained, func(p, q containment) int {
		return cmp.Or(cmp.Compare(p.part, q.part), cmp.Compare(p.whole, q.whole))
	})
	wholes := func(part uint32) []containment {
		byPart := func(c containment, part uint32) int { return cmp.Compare(c.part, part) }
		first, _ := slices.BinarySearchFunc(d.contained, part, byPart)
		after, _ := slices.BinarySearchFunc(d.contained, part+1, byPart)
		return d.contained[first:after]
	}
	units := map[uint32][]uint32{} // by unit that stays so far and that another such unit contains: the units it stays for, and itself
	for _, c := range d.contained {
		if k.Stays(c.part) && k.Stays(c.whole) {
			units[c.part] = []uint32{c.part}
		}
	}
	for i := range d.standing {
		if s := d.standing[i].first; s != noDocument && units[s] != nil {
			units[s] = append(units[s], uint32(i))
		}
	}
	const open, stays, goes = 0, 1, 2
	decided := map[uint32]int{}
	// Containment has no cycles, so decide can first decide on the units that
	// contain i.
	var decide func(i uint32)
	decide = func(i uint32) {
		for _, c := range wholes(i) {
			if units[c.whole] != nil && decided[c.whole] == open {
				decide(c.whole)
			}
		}
		decided[i] = goes
		in := make([]uint32, len(units[i]))
		for n, unit := range units[i] {
			of := wholes(unit)
			at := slices.IndexFunc(of, func(c containment) bool {
				return k.Stays(c.whole) && (units[c.whole] == nil || decided[c.whole] == stays)
			})
			if at < 0 {
				decided[i] = stays
				return
			}
			in[n] = of[at].whole
		}
		for n, unit := range units[i] {
			d.standing[unit] = standing{first: in[n], evidence: evidence{Evidence: data.Evidence{Reason: data.Contained}}}
		}
	}
	for _, i := range slices.Sorted(maps.Keys(units)) {
		if decided[i] == open {
			decide(i)
		}
	}
	note := func(part, whole uint32, distance uint8, e evidence) {
		if s := &d.standing[part]; s.first == whole && s.Reason == data.Contained && e.Reason == data.Contained {
			s.distance, s.evidence = distance, e
		}
	}
	return d.eachPair(ctx, func(p pairs.Pair) error {
		a, b, e := d.index(p.A), d.index(p.B), evidence{p.Evidence, p.Overlap}
		note(a, b, p.Distance, e)
		note(b, a, p.Distance, e.reverse())
		return nil
	})
}

// remove sets the removal in out if the clean dump leaves out the document of index
// i, with the evidence of its pair.
func (d *decider) remove(i uint32, out *decision.Decision) {
	k := d.representatives[i]
	if k == i || !d.run.Job.Cleans() {
		return
	}
	if k == noDocument {
		out.Removal = decision.InHistory
		return
	}
	out.Removal, out.Kept.Doc = decision.Copy, d.number(k)
	if d.units[i] == d.units[k] {
		e := d.equality(i)
		out.Kept.Evidence, out.Kept.Overlap = e.Evidence, e.overlap
		return
	}
	s := &d.standing[d.units[i]]
	if s.Reason == data.Contained {
		out.Removal = decision.Contained
	}
	out.Kept.Distance, out.Kept.Evidence, out.Kept.Overlap = s.distance, s.Evidence, s.overlap
}
