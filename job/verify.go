package job

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/numbered"
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/sketch"
)

// verification confirms the pairs that the engine found. The engine pairs the
// representatives of fingerprints; two documents of one fingerprint can have
// different texts, so what is confirmed are pairs of units (mapper.Confirmer).
type verification struct {
	run       *run
	documents *numbered.Folder
	first     []int64 // row at which each split starts
	twins     twins
	confirmer *mapper.Confirmer // of the goroutine that runs the stage
	pool      sync.Pool         // of *mapper.Confirmer
	open      bool              // a verdict may be left to the texts
	settled   []settledPair     // in order

	// unit returns the smallest document of doc's unit, once the confirmed
	// pairs are reduced.
	unit func(doc uint32) uint32
}

func newVerification(r *run, documents *numbered.Folder, first []int64) (*verification, error) {
	v := &verification{run: r, documents: documents, first: first, open: r.config.Match.Rules().Border > 0}
	var err error
	if v.confirmer, err = engine.NewConfirmer(r.config, documents); err != nil {
		return nil, err
	}
	v.twins, err = newTwins(documents)
	return v, err
}

// near reports whether the pair was found by its fingerprints, and so stands
// for all documents that share them.
func (v *verification) near(p data.Pair) bool {
	return int(p.Distance) <= v.run.config.Match.Distance && v.documents.Normal(p.A) && v.documents.Normal(p.B)
}

// filter passes on what the engine found, but for what can be told at once not
// to be the same: at a larger distance most pairs are not, and need no room. A
// nil verification passes all on.
func (v *verification) filter(add func([]data.Pair) error) func([]data.Pair) error {
	if v == nil {
		return add
	}
	return func(pairs []data.Pair) error {
		confirmer, ok := v.pool.Get().(*mapper.Confirmer)
		if !ok {
			var err error
			if confirmer, err = engine.NewConfirmer(v.run.config, v.documents); err != nil {
				return err
			}
		}
		defer v.pool.Put(confirmer)
		kept := make([]data.Pair, 0, len(pairs))
		for _, p := range pairs {
			if p.Distance > 0 && v.near(p) {
				alone, err := v.twins.none(v.documents, p.A, p.B)
				if err != nil {
					return err
				}
				if alone {
					verdict, _, err := confirmer.Verdict(p.A, p.B)
					if err != nil {
						return err
					}
					if !verdict.Same && !verdict.Open {
						continue
					}
				}
			}
			kept = append(kept, p)
		}
		return add(kept)
	}
}

// confirm reads the pairs that met and writes those that are the same.
func (v *verification) confirm(ctx context.Context, found, confirmed *pairFile) error {
	out := &pairBatch{add: confirmed.add}
	var open []data.Pair
	put := func(p data.Pair) {
		if v.open {
			if verdict, _, err := v.confirmer.Verdict(p.A, p.B); err != nil {
				out.err = errors.Join(out.err, err)
			} else if verdict.Open {
				open = append(open, p)
				return
			}
		}
		out.put(p)
	}

	sharing := map[uint32][]uint32{} // documents by the representative of their fingerprint
	err := found.each(ctx, func(p data.Pair) error {
		if p.Distance == 0 && v.near(p) {
			if sharing[p.A] == nil {
				sharing[p.A] = []uint32{p.A}
			}
			sharing[p.A] = append(sharing[p.A], p.B)
		}
		return nil
	})
	if err != nil {
		return err
	}
	representatives := make([]uint32, 0, len(sharing))
	for rep, docs := range sharing {
		slices.Sort(docs)
		representatives = append(representatives, rep)
	}
	slices.Sort(representatives)

	// What the Confirmer emits is judged with its own buffers: collect first.
	var emitted []data.Pair
	collect := func(p data.Pair) { emitted = append(emitted, p) }
	flush := func() error {
		for _, p := range emitted {
			put(p)
		}
		emitted = emitted[:0]
		return out.err
	}
	for _, rep := range representatives {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := errors.Join(v.confirmer.Identical(sharing[rep], collect), flush()); err != nil {
			return err
		}
	}
	documents := func(rep uint32) []uint32 {
		if docs, ok := sharing[rep]; ok {
			return docs
		}
		return []uint32{rep}
	}
	err = found.each(ctx, func(p data.Pair) error {
		if !v.near(p) {
			put(p)
			return out.err
		}
		if p.Distance == 0 {
			return nil
		}
		err := v.confirmer.Near(documents(p.A), documents(p.B), collect)
		return errors.Join(err, flush())
	})
	if err != nil {
		return err
	}
	if err := v.settle(ctx, open, out.put); err != nil {
		return err
	}
	return out.flush()
}

// evidence fills in what the row's match rests on.
func (v *verification) evidence(row *data.MatchRow, a, b uint32) error {
	verdict, estimate, err := v.confirmer.Verdict(a, b)
	if err != nil {
		return err
	}
	row.Estimate, row.Jaccard, row.Verdict = estimate, math.NaN(), verdict.Reason
	if verdict.Open {
		s, ok := v.find(a, b)
		if !ok {
			return fmt.Errorf("documents %d and %d: no texts were consulted: this is a defect of neardup", a, b)
		}
		row.Jaccard, row.Verdict = float64(s.jaccard), sketch.ReasonTextsAlike
	}
	return nil
}

// same is the obvious form of what the tables and the texts find: whether two
// documents meet and are the same.
func (v *verification) same(a, b uint32, x, y *data.View) bool {
	met, verdict := v.confirmer.Judge(x, y)
	if met && verdict.Open {
		s, ok := v.find(a, b)
		return !ok || s.same // if the texts were not consulted, the join missed it
	}
	return met && verdict.Same
}

// crowded reports whether so many documents share what two documents meet by
// that not all of them are compared with each other.
func (v *verification) crowded(a, b uint32) (bool, error) {
	var of [2]data.View
	if err := errors.Join(v.documents.View(a, &of[0]), v.documents.View(b, &of[1])); err != nil {
		return false, err
	}
	var prints [2]int
	var bands [sketch.Bands]int // of those that they share
	short := 0
	err := v.documents.Views(0, v.documents.Len(), func(_ uint32, o *data.View) {
		for i := range of {
			if o.Normal && o.Hi == of[i].Hi && o.Lo == of[i].Lo {
				prints[i]++
			}
		}
		if len(o.Letters) > 0 {
			short++
		}
		for i := range bands {
			if band := (*sketch.Sketch)(&o.Sketch).Band(i); band == (*sketch.Sketch)(&of[0].Sketch).Band(i) && band == (*sketch.Sketch)(&of[1].Sketch).Band(i) {
				bands[i]++
			}
		}
	})
	bothShort := len(of[0].Letters) > 0 && len(of[1].Letters) > 0
	return prints[0]*prints[1] > mapper.MaxNear || slices.Max(bands[:]) > mapper.MaxGroup || bothShort && short > mapper.MaxGroup, err
}

// pairBatch hands pairs on in batches.
type pairBatch struct {
	add   func([]data.Pair) error
	pairs []data.Pair
	err   error // the first
}

func (b *pairBatch) put(p data.Pair) {
	if b.pairs = append(b.pairs, p); len(b.pairs) >= 4096 && b.err == nil {
		b.err = b.add(b.pairs)
		b.pairs = b.pairs[:0]
	}
}

func (b *pairBatch) flush() error {
	if b.err != nil {
		return b.err
	}
	return b.add(b.pairs)
}

// twins tells documents whose fingerprint no other has: by a hash of the
// fingerprint it counts none, one or more in two bits. It may take a document
// for one of several, never the other way round.
type twins struct {
	counts []uint64
	mask   uint64
}

// Slots of twins for each document, a power of two, and at most.
const (
	twinSlots    = 8
	maxTwinSlots = 1 << 30
)

func newTwins(documents *numbered.Folder) (twins, error) {
	slots := uint64(1) << bits.Len(uint(min(twinSlots*documents.Len(), maxTwinSlots)|31))
	t := twins{counts: make([]uint64, slots/32), mask: slots - 1}
	err := documents.Fingerprints(func(_ uint32, hi, lo uint64) {
		word, shift := t.slot(hi, lo)
		if t.counts[word]>>shift&2 == 0 {
			t.counts[word] += 1 << shift
		}
	})
	return t, err
}

func (t twins) slot(hi, lo uint64) (word, shift uint64) {
	h, l := bits.Mul64(lo^hi*0x9e3779b97f4a7c15, 0xd1b54a32d192ed03)
	s := (h ^ l) & t.mask
	return s / 32, s % 32 * 2
}

// none reports whether certainly no other document has the fingerprint of one
// of docs.
func (t twins) none(documents *numbered.Folder, docs ...uint32) (bool, error) {
	for _, doc := range docs {
		hi, lo, err := documents.Fingerprint(doc)
		if err != nil {
			return false, err
		}
		if word, shift := t.slot(hi, lo); t.counts[word]>>shift&2 != 0 {
			return false, nil
		}
	}
	return true, nil
}
