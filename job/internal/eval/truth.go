package eval

import (
	"context"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/simhash/sketch"
)

// Definition is one of what may make a pair of documents right.
type Definition string

// The definitions of truth.
const (
	TruthLabel       Definition = "label"       // labelled, or planted
	TruthJaccard     Definition = "jaccard"     // J of the texts of Options.Alike or more
	TruthOwn         Definition = "own"         // J or containment of the own texts
	TruthContainment Definition = "containment" // one text has most of the other
)

// Definitions lists all of them.
func Definitions() []Definition {
	return []Definition{TruthLabel, TruthJaccard, TruthOwn, TruthContainment}
}

// What counts as own text and as contained, as both were measured first
// (job/docs/accuracy.md, Definitions of truth).
const (
	sharedPages = 60  // a line that so many documents have is of none of them
	contained   = 0.8 // least share of the shingles of the text that has fewer
)

// definitions is a set of them, a bit each.
type definitions uint8

// setOf returns the set of some definitions.
func setOf(list ...Definition) (set definitions, err error) {
	for _, d := range list {
		i := slices.Index(Definitions(), d)
		if i < 0 {
			return 0, fmt.Errorf("eval: truth %q: write some of %v", d, Definitions())
		}
		set |= 1 << i
	}
	return set, nil
}

// has reports whether one of others is in the set.
func (s definitions) has(others ...Definition) bool {
	set, _ := setOf(others...)
	return s&set != 0
}

// truePair is what makes a pair a true one.
type truePair struct {
	by      definitions
	jaccard float64 // of the shingles
}

// findTruth finds every pair that is right by one of the definitions wanted,
// exactly. sets are the shingles of the documents.
func (l *Lab) findTruth(ctx context.Context, wanted definitions, sets [][]uint64) error {
	limit := limits{jaccard: l.options.Alike}
	if wanted.has(TruthOwn, TruthContainment) {
		limit.containment = contained
	}
	whole, err := alike(ctx, sets, limit, l.options.Workers)
	own := whole
	if err == nil && wanted.has(TruthOwn) {
		own, err = l.ownPairs(ctx, limit, sets, whole)
	}
	is := func(d Definition, p Pair) {
		if wanted.has(d) {
			t, known := l.truth[p]
			if !known {
				t.jaccard = sketch.Jaccard(sets[p.A], sets[p.B])
			}
			set, _ := setOf(d)
			l.truth[p] = truePair{t.by | set, t.jaccard}
		}
	}
	for _, p := range l.corpus.Labelled {
		is(TruthLabel, p)
	}
	for _, p := range whole {
		if p.jaccard >= limit.jaccard {
			is(TruthJaccard, p.Pair)
		}
		if p.containment >= contained {
			is(TruthContainment, p.Pair)
		}
	}
	for _, p := range own {
		is(TruthOwn, p.Pair)
	}
	return err
}

// ownPairs returns the pairs whose own texts are alike: those of whole, if
// every text is its own.
func (l *Lab) ownPairs(ctx context.Context, limit limits, sets [][]uint64, whole []alikePair) ([]alikePair, error) {
	lines, err := l.sets(ctx, func(text []byte) []uint64 { return hashes(linesOf(text)) })
	if err != nil {
		return nil, err
	}
	pages := map[uint64]int{}
	for _, line := range slices.Concat(lines...) {
		pages[line]++
	}
	shared := func(line uint64) bool { return pages[line] >= sharedPages }
	own := slices.Clone(sets)
	err = l.normalized(ctx, func(i int, text []byte) {
		if !slices.ContainsFunc(lines[i], shared) {
			return
		}
		var kept []byte
		for line := range linesOf(text) {
			if !shared(xxh3.Hash(line)) {
				kept = append(append(kept, line...), '\n')
			}
		}
		if set := shingles(kept); len(set) > 0 { // a page of shared lines alone stays whole
			own[i] = set
		}
	})
	if err != nil || !slices.ContainsFunc(lines, func(of []uint64) bool { return slices.ContainsFunc(of, shared) }) {
		return whole, err
	}
	return alike(ctx, own, limit, l.options.Workers)
}

// linesOf yields the lines of a text that have letters.
func linesOf(text []byte) func(yield func([]byte) bool) {
	return parts(text, func(r rune) bool { return r == '\n' || r == '\r' })
}
