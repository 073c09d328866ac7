package report

import (
	"cmp"
	"maps"
	"slices"

	"github.com/neardup/neardup/job/internal/message"
)

// ranked keeps the items of the least keys; of equal keys those that came
// first. With random keys it is a sample.
type ranked[T any] struct {
	most int
	keys []float64 // ascending
	have []T       // the items of the keys
}

// add takes an item if its key is among the least, and returns the one that
// has no room any more.
func (r *ranked[T]) add(key float64, item func() T) (gone T, added bool) {
	at, found := slices.BinarySearch(r.keys, key)
	for found && at < len(r.keys) && r.keys[at] == key {
		at++
	}
	if at == r.most {
		return gone, false
	}
	if len(r.keys) == r.most {
		gone = r.have[r.most-1]
		r.keys, r.have = r.keys[:r.most-1], r.have[:r.most-1]
	}
	r.keys, r.have = slices.Insert(r.keys, at, key), slices.Insert(r.have, at, item())
	return gone, true
}

// tally counts by name the heaviest names. Of a name that was once not among
// them it has counted too few.
type tally struct {
	most  int
	names map[string]*counts
	total counts
	cut   bool // some were left out
}

func newTally(most int) *tally { return &tally{most: most, names: map[string]*counts{}} }

func (t *tally) add(name []byte, n counts) {
	t.total.add(n)
	have := t.names[string(name)]
	if have == nil {
		if len(t.names) >= 2*t.most {
			t.cut = true
			for _, g := range t.largest(len(t.names))[t.most:] {
				delete(t.names, g.Name)
			}
		}
		have = &counts{}
		t.names[string(name)] = have
	}
	have.add(n)
}

// largest lists at most n names, the heaviest first.
func (t *tally) largest(n int) []group {
	weight := func(c *counts) int64 { return c.Documents + c.Matched }
	names := slices.SortedFunc(maps.Keys(t.names), func(a, b string) int {
		return cmp.Or(cmp.Compare(weight(t.names[b]), weight(t.names[a])), cmp.Compare(a, b))
	})
	var list []group
	for _, name := range names[:min(n, len(names))] {
		list = append(list, group{name, *t.names[name]})
	}
	return list
}

// shown lists at most n names, those of most documents first, and the others
// together.
func (t *tally) shown(n int) []group {
	list := t.largest(n)
	slices.SortStableFunc(list, func(a, b group) int { return cmp.Compare(b.Documents, a.Documents) })
	rest := t.total
	for _, g := range list {
		rest.add(counts{-g.Documents, -g.Matched, -g.Left})
	}
	if rest != (counts{}) {
		list = append(list, group{others, rest})
	}
	return list
}

// others stands for names that are not shown.
var others = message.Key("all others")
