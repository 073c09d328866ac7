package lookup_test

import (
	"slices"
	"testing"

	"github.com/neardup/neardup/data/lookup"
)

// TestReaches tries every way in which so many bits can fall into the segments:
// one table at least must reach them, and one bit less in any table would not
// do.
func TestReaches(t *testing.T) {
	for _, c := range []struct{ segments, chosen, distances int }{
		{1, 1, 13}, {2, 1, 13}, {3, 1, 13}, {4, 1, 13}, {5, 1, 13}, {5, 2, 13}, {6, 3, 9},
	} {
		tables := tablesOf(c.segments, c.chosen)
		for distance := range c.distances {
			reach := lookup.Reaches(c.segments, c.chosen, distance)
			if len(reach) != len(tables) {
				t.Fatalf("%+v: %d tables, want %d", c, len(reach), len(tables))
			}
			if !everyWay(tables, reach, make([]int, 0, c.segments), distance) {
				t.Errorf("%+v, distance %d: %v misses some", c, distance, reach)
			}
			for i := range reach {
				less := slices.Clone(reach)
				if less[i]--; reach[i] >= 0 && everyWay(tables, less, make([]int, 0, c.segments), distance) {
					t.Errorf("%+v, distance %d: %v is more than needed in table %d", c, distance, reach, i)
				}
			}
		}
	}
	for want, got := range map[string][2][]int{
		"four tables within 3": {lookup.Reaches(4, 1, 3), {0, 0, 0, 0}},
		"four tables within 6": {lookup.Reaches(4, 1, 6), {1, 1, 1, 0}},
		"ten tables within 3":  {lookup.Reaches(5, 2, 3), make([]int, 10)},
	} {
		if !slices.Equal(got[0], got[1]) {
			t.Errorf("%s: %v, want %v", want, got[0], got[1])
		}
	}
}

// tablesOf are all sets of so many segments, a bit for each, in order.
func tablesOf(segments, chosen int) (tables [][]int) {
	for set := range 1 << segments {
		var table []int
		for s := range segments {
			if set>>s&1 == 1 {
				table = append(table, s)
			}
		}
		if len(table) == chosen {
			tables = append(tables, table)
		}
	}
	slices.SortFunc(tables, slices.Compare)
	return tables
}

// everyWay puts so many bits, or fewer, into the segments that are left, and
// reports whether a table reaches them each time.
func everyWay(tables [][]int, reach, bits []int, left int) bool {
	if len(bits) == cap(bits) {
		for i, table := range tables {
			sum := 0
			for _, s := range table {
				sum += bits[s]
			}
			if sum <= reach[i] {
				return true
			}
		}
		return false
	}
	for n := range left + 1 {
		if !everyWay(tables, reach, append(bits, n), left-n) {
			return false
		}
	}
	return true
}
