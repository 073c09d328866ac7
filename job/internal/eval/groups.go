package eval

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"unicode"
)

// group is how a method does on some of the pairs.
type group struct {
	By        string `json:"by"`        // length, script, category or edit
	Name      string `json:"name"`      // the group's
	Precision Share  `json:"precision"` // of those reported; of nothing where a false pair belongs to no group
	Recall    Share  `json:"recall"`    // of the labelled pairs; without labels, of all true ones
}

// What pairs are grouped by.
const (
	byLength   = "length"   // characters of the shorter document, in normal form
	byScript   = "script"   // that most letters of both are of
	byCategory = "category" // of both
	byEdit     = "edit"     // that made the labelled pair
)

// lengthBounds are where groups by length start.
var lengthBounds = []int32{0, 40, 200, 800, 2000, 8000}

// several is the group of pairs whose documents are of different ones.
const several = "different"

// script says what most letters of a text are.
func script(text []byte) string {
	names := []string{"Han", "Latin", "kana and hangul", "other scripts"}
	var count [4]int
	for _, c := range string(text) {
		switch {
		case c < 'a':
		case c <= 'z':
			count[1]++
		case c < 0x80 || !unicode.IsLetter(c):
		case unicode.Is(unicode.Han, c):
			count[0]++
		case unicode.Is(unicode.Latin, c):
			count[1]++
		case unicode.In(c, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			count[2]++
		default:
			count[3]++
		}
	}
	most := 0
	for i, n := range count {
		if n > count[most] {
			most = i
		}
	}
	if count[most] == 0 {
		return "no letters"
	}
	return names[most]
}

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
			return several
		}
		return a
	}
	f(groupKey{byScript, 0, same(l.scripts[p.A], l.scripts[p.B])})
	if category := same(l.corpus.Documents[p.A].Category, l.corpus.Documents[p.B].Category); category != "" {
		f(groupKey{byCategory, 0, category})
	}
	if kind, ok := l.corpus.Kinds[p]; ok {
		f(groupKey{byEdit, 0, kind})
	}
}

// groups fills in what a method does by group.
func (r *Result) groups(l *Lab, found []Found) {
	tallies := map[groupKey]*tally{}
	of := func(k groupKey) *tally {
		if tallies[k] == nil {
			tallies[k] = &tally{}
		}
		return tallies[k]
	}
	for _, f := range found {
		l.groupsOf(f.Pair, func(k groupKey) { of(k).report(l, f.Pair) })
	}
	for p, truth := range l.truth {
		if l.counts(p) && l.wants(truth) {
			l.groupsOf(p, func(k groupKey) { of(k).wanted++ })
		}
	}
	rank := []string{byLength, byScript, byCategory, byEdit}
	keys := slices.SortedFunc(maps.Keys(tallies), func(a, b groupKey) int {
		return cmp.Or(cmp.Compare(slices.Index(rank, a.by), slices.Index(rank, b.by)), cmp.Compare(a.order, b.order), cmp.Compare(a.name, b.name))
	})
	for _, k := range keys {
		g := group{By: k.by, Name: k.name, Precision: tallies[k].precision(), Recall: tallies[k].recall()}
		if k.by == byEdit {
			g.Precision = NewShare(0, 0) // a false pair was made by no edit
		}
		r.Groups = append(r.Groups, g)
	}
}
