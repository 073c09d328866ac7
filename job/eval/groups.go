package eval

import (
	"cmp"
	"fmt"
	"slices"
	"unicode"
)

// Group is how a method does on some of the pairs.
type Group struct {
	By        string `json:"by"`        // length, script, category or edit
	Name      string `json:"name"`      // the group's
	Precision Share  `json:"precision"` // of those reported; of nothing where a false pair belongs to no group
	Recall    Share  `json:"recall"`    // of the labelled pairs; without labels, of all true ones
}

// What pairs are grouped by.
const (
	ByLength   = "length"   // characters of the shorter document, in normal form
	ByScript   = "script"   // that most letters of both are of
	ByCategory = "category" // of both
	ByEdit     = "edit"     // that made the labelled pair
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
	f(groupKey{ByLength, lengthBounds[i], name})

	same := func(a, b string) string {
		if a != b {
			return several
		}
		return a
	}
	f(groupKey{ByScript, 0, same(l.scripts[p.A], l.scripts[p.B])})
	if category := same(l.corpus.Documents[p.A].Category, l.corpus.Documents[p.B].Category); category != "" {
		f(groupKey{ByCategory, 0, category})
	}
	if kind, ok := l.corpus.Kinds[p]; ok {
		f(groupKey{ByEdit, 0, kind})
	}
}

// groups fills in what a method does by group.
func (r *Result) groups(l *Lab, found []Found, reported map[Pair]bool, labelled bool) {
	type tally struct{ pairs, right, wanted, have int }
	tallies := map[groupKey]*tally{}
	of := func(k groupKey) *tally {
		t := tallies[k]
		if t == nil {
			t = &tally{}
			tallies[k] = t
		}
		return t
	}
	for _, f := range found {
		_, right := l.truth[f.Pair]
		l.groupsOf(f.Pair, func(k groupKey) {
			if k.by == ByEdit {
				return // a false pair was made by no edit
			}
			t := of(k)
			if t.pairs++; right {
				t.right++
			}
		})
	}
	for p, truth := range l.truth {
		if !l.counts(p) || labelled && !truth.Labelled {
			continue
		}
		l.groupsOf(p, func(k groupKey) {
			t := of(k)
			if t.wanted++; reported[p] {
				t.have++
			}
		})
	}
	keys := make([]groupKey, 0, len(tallies))
	for k := range tallies {
		keys = append(keys, k)
	}
	rank := []string{ByLength, ByScript, ByCategory, ByEdit}
	slices.SortFunc(keys, func(a, b groupKey) int {
		return cmp.Or(cmp.Compare(slices.Index(rank, a.by), slices.Index(rank, b.by)), cmp.Compare(a.order, b.order), cmp.Compare(a.name, b.name))
	})
	for _, k := range keys {
		t := tallies[k]
		r.Groups = append(r.Groups, Group{By: k.by, Name: k.name, Precision: NewShare(t.right, t.pairs), Recall: NewShare(t.have, t.wanted)})
	}
}
