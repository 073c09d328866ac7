package report

import (
	"cmp"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// What is kept is the beginning of all items in the order of their keys.
func TestRanked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOf(rapid.IntRange(0, 9)).Draw(t, "keys")
		r := ranked[int]{most: rapid.IntRange(1, 8).Draw(t, "most")}
		var all []int
		for i, k := range keys {
			all = append(all, i)
			r.add(float64(k), func() int { return i })
		}
		slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
		if want := all[:min(len(all), r.most)]; !slices.Equal(r.have, want) {
			t.Fatalf("%v, want %v", r.have, want)
		}
	})
}

// A heavy name is counted in full among many light ones, in memory that does
// not grow.
func TestTally(t *testing.T) {
	tally := newTally(10)
	for i := range 1000 {
		tally.add([]byte("heavy"), counts{Documents: 2, Left: 1})
		tally.add([]byte(strconv.Itoa(i)), counts{Documents: 1})
	}
	if got := tally.largest(1)[0]; got != (group{"heavy", counts{Documents: 2000, Left: 1000}}) || !tally.cut || len(tally.names) > 20 {
		t.Errorf("%+v of %d, cut %t", got, len(tally.names), tally.cut)
	}
}

// The heaviest are shown, in order of their documents.
func TestShown(t *testing.T) {
	tally := newTally(10)
	tally.add([]byte("matched"), counts{Documents: 5, Matched: 5})
	tally.add([]byte("large"), counts{Documents: 7})
	tally.add([]byte("small"), counts{Documents: 1})
	want := []group{{"large", counts{Documents: 7}}, {"matched", counts{Documents: 5, Matched: 5}}, {others, counts{Documents: 1}}}
	if got := tally.shown(2); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
