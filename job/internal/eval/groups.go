package eval

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// group is how a method does on some of the pairs.
type group struct {
	By        string `json:"by"`        // length, language, category or edit
	Name      string `json:"name"`      // the group's
	Precision Share  `json:"precision"` // of those reported; of nothing where a false pair belongs to no group
	Recall    Share  `json:"recall"`    // of the labelled pairs; without labels, of all true ones
}

// What pairs are grouped by.
const (
	byLength   = "length"   // characters of the shorter document, in normal form
	byLanguage = "language" // of both
	byCategory = "category" // of both
	byEdit     = "edit"     // that made the labelled pair
)

// groupings lists them in the order of a report.
var groupings = []string{byLength, byLanguage, byCategory, byEdit}

// lengthBounds are where groups by length start.
var lengthBounds = []int32{0, 40, 200, 800, 2000, 8000}

// groupKey names a group so that groups sort.
type groupKey struct {
	by    string
	order int32
	name  string
}

// groupsOf calls f with each group that a pair is in.
func (l *Lab) groupsOf(p Pair, f func(groupKey)) {
	n := min(l.lengths[p.A], l.lengths[p.B])
	i := len(lengthBounds) - 1
	for n < lengthBounds[i] {
		i--
	}
	name := fmt.Sprintf("from %d on", lengthBounds[i])
	if i+1 < len(lengthBounds) {
		name = fmt.Sprintf("%d–%d", lengthBounds[i], lengthBounds[i+1]-1)
	}
	f(groupKey{byLength, lengthBounds[i], name})

	same := func(a, b string) string {
		if a != b {
			return "different"
		}
		return a
	}
	f(groupKey{byLanguage, 0, cmp.Or(same(l.languages[p.A], l.languages[p.B]), "unknown")})
	if category := same(l.corpus.Documents[p.A].Category, l.corpus.Documents[p.B].Category); category != "" {
		f(groupKey{byCategory, 0, category})
	}
	if kind, ok := l.corpus.Kinds[p]; ok {
		f(groupKey{byEdit, 0, kind})
	}
}

// groups fills in what a method does by group. An edit's recall is of all that
// is reported, as the same or as contained.
func (r *Result) groups(l *Lab, main criterion, found []Found) {
	tallies := map[groupKey]*tally{}
	of := func(k groupKey) *tally {
		if tallies[k] == nil {
			tallies[k] = &tally{criterion: main}
		}
		return tallies[k]
	}
	for _, f := range found {
		l.groupsOf(f.Pair, func(k groupKey) {
			if k.by == byEdit || l.judges(main, f) {
				of(k).report(l, f.Pair)
			}
		})
	}
	for p, truth := range l.truth {
		if l.counts(p) && main.wants(truth) {
			l.groupsOf(p, func(k groupKey) { of(k).of++ })
		}
	}
	keys := slices.SortedFunc(maps.Keys(tallies), func(a, b groupKey) int {
		return cmp.Or(cmp.Compare(slices.Index(groupings, a.by), slices.Index(groupings, b.by)), cmp.Compare(a.order, b.order), cmp.Compare(a.name, b.name))
	})
	for _, k := range keys {
		g := group{By: k.by, Name: k.name, Precision: tallies[k].precision(), Recall: tallies[k].recall()}
		if k.by == byEdit {
			g.Precision = NewShare(0, 0) // a false pair was made by no edit
		}
		r.Groups = append(r.Groups, g)
	}
}
