package eval

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/job/internal/labels"
	"github.com/neardup/neardup/simhash/sketch"
)

// Definition is what makes a pair of documents right: any of its bits.
type Definition uint8

// The definitions of truth.
const (
	TruthLabel Definition = 1 << iota
	TruthJaccard
	TruthOwn
	TruthContainment
	TruthAll = 1<<iota - 1
)

// DefinitionStatement states a definition of truth.
type DefinitionStatement struct {
	Truth Definition
	Name  string
	Doc   string // when a pair is right
	short string // the same in a report; %.2f is Options.Alike
}

// Definitions states all definitions.
func Definitions() []DefinitionStatement {
	return []DefinitionStatement{
		{TruthLabel, "label", "labelled, or planted; a label of no outranks J, own text and C", "labelled"},
		{TruthJaccard, "jaccard", "Jaccard similarity J of the texts' 5-grams of --alike or more", "J ≥ %.2f"},
		{TruthOwn, "own", "J or containment of the texts without lines that 60 of them have", "own text"},
		{TruthContainment, "containment", "0.8 of the 5-grams of the text that has fewer are in the other", "C ≥ 0.8"},
	}
}

func (d DefinitionStatement) condition(alike float64) string {
	return strings.Replace(d.short, "%.2f", fmt.Sprintf("%.2f", alike), 1)
}

// ParseTruth returns the definition that any of the named ones make.
func ParseTruth(names []string) (d Definition, err error) {
	for _, name := range names {
		i := slices.IndexFunc(Definitions(), func(s DefinitionStatement) bool { return s.Name == name })
		if i < 0 {
			return 0, fmt.Errorf("truth %q: write some of label, jaccard, own, containment", name)
		}
		d |= Definitions()[i].Truth
	}
	return d, nil
}

// What counts as own text and as contained, as both were measured first
// (job/docs/evaluation.md, Definitions of truth).
const (
	sharedPages = 60  // a line that so many documents have is of none of them
	contained   = 0.8 // least share of the shingles of the text that has fewer
)

// truePair is what is known of a pair: what makes it a true one, and whether a
// label says otherwise.
type truePair struct {
	by      Definition
	jaccard float64       // of the shingles
	label   labels.Answer // None: it has none
}

// findTruth finds every pair that is right by one of the definitions wanted,
// exactly. sets are the shingles of the documents.
func (l *Lab) findTruth(ctx context.Context, wanted Definition, sets [][]uint64) error {
	limit := limits{jaccard: l.options.Alike}
	if wanted&(TruthOwn|TruthContainment) != 0 {
		limit.containment = contained
	}
	whole, err := l.alike(ctx, sets, limit)
	own := whole
	if err == nil && wanted&TruthOwn != 0 {
		own, err = l.ownPairs(ctx, limit, sets, whole)
	}
	is := func(d Definition, p Pair) {
		if wanted&d != 0 {
			t, known := l.truth[p]
			if !known {
				t.jaccard, _ = sketch.Overlap(sets[p.A], sets[p.B])
			}
			t.by |= d
			l.truth[p] = t
		}
	}
	for _, p := range l.corpus.Labelled {
		is(TruthLabel, p)
	}
	for _, p := range whole {
		if p.Score >= limit.jaccard {
			is(TruthJaccard, p.Pair)
		}
		if _, containment := sketch.Overlap(sets[p.A], sets[p.B]); containment >= contained {
			is(TruthContainment, p.Pair)
		}
	}
	for _, p := range own {
		is(TruthOwn, p.Pair)
	}
	for answer, pairs := range map[labels.Answer][]Pair{labels.Yes: l.corpus.Labelled, labels.No: l.corpus.Denied, labels.Unsure: l.corpus.Unsure} {
		for _, p := range pairs {
			t, known := l.truth[p]
			if !known {
				t.jaccard, _ = sketch.Overlap(sets[p.A], sets[p.B])
			}
			t.label = answer
			l.truth[p] = t
		}
	}
	return err
}

// ownPairs returns the pairs whose own texts are alike: those of whole, if
// every text is its own.
func (l *Lab) ownPairs(ctx context.Context, limit limits, sets [][]uint64, whole []Found) ([]Found, error) {
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
	return l.alike(ctx, own, limit)
}

// linesOf yields the lines of a text that have letters or digits.
func linesOf(text []byte) func(yield func([]byte) bool) {
	return parts(text, func(r rune) bool { return r == '\n' || r == '\r' })
}
