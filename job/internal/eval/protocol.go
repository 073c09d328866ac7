package eval

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// protocol is a test set of several categories, each of as many documents, of
// which some are near-duplicates of others.
type protocol struct {
	Categories int
	Documents  int // of a category
	Duplicates int // of these, planted
	Edits      []Planned
	Seed       uint64
}

// PaperProtocol is the one of the sources of this method: five categories of
// 2,000 documents each, 500 of them near-duplicates. Each of its edits makes as
// many of these, at a strength that leaves a near-duplicate.
func PaperProtocol(seed uint64) protocol {
	p := protocol{Categories: 5, Documents: 2000, Duplicates: 500, Seed: seed}
	for _, e := range Edits() {
		if e.paper > 0 {
			p.Edits = append(p.Edits, Planned{e.Name, e.paper})
		}
	}
	return p
}

// Apply draws the test set from the documents of a corpus by their Category:
// of the categories that have enough of them the largest, equal ones by name.
func (p protocol) Apply(c *Corpus) (*Corpus, error) {
	if p.Categories < 1 || p.Duplicates < 0 || p.Documents < 2*p.Duplicates {
		return nil, fmt.Errorf("%w: %d categories of %d documents, %d of them near-duplicates: write at most half of the documents", errPlanting, p.Categories, p.Documents, p.Duplicates)
	}
	originals, members := p.Documents-p.Duplicates, map[string][]int{}
	for i, d := range c.Documents {
		members[d.Category] = append(members[d.Category], i)
	}
	names := slices.SortedFunc(maps.Keys(members), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(members[b]), len(members[a])), cmp.Compare(a, b))
	})
	if len(names) < p.Categories || len(members[names[p.Categories-1]]) < originals {
		return nil, fmt.Errorf("%w: there are %d categories: %d of %d documents or more are wanted", errPlanting, len(names), p.Categories, originals)
	}
	r := rand.New(rand.NewPCG(p.Seed, 0x70726f746f636f6c))
	out := &Corpus{Kinds: map[Pair]string{}, Skipped: c.Skipped}
	for i, name := range names[:p.Categories] {
		part := &Corpus{}
		for _, at := range r.Perm(len(members[name]))[:originals] {
			part.Documents = append(part.Documents, c.Documents[members[name][at]])
		}
		part, err := Plant(part, Planting{Edits: p.Edits, Count: p.Duplicates, Seed: p.Seed + uint64(i)})
		if err != nil {
			return nil, err
		}
		from := int32(len(out.Documents))
		out.Documents = append(out.Documents, part.Documents...)
		for _, pair := range part.Labelled {
			moved := Pair{pair.A + from, pair.B + from}
			out.Labelled = append(out.Labelled, moved)
			out.Kinds[moved] = part.Kinds[pair]
		}
	}
	return out, nil
}
