package lookup_test

import (
	"slices"
	"testing"

	"github.com/neardup/neardup/data/lookup"
)

// TestReaches tries every way in which so many bits can fall into the tables:
// one table at least must reach them, and one bit less in any table would not
// do.
func TestReaches(t *testing.T) {
	for tables := 1; tables <= 5; tables++ {
		for distance := range 13 {
			reach := lookup.Reaches(tables, distance)
			if !everyWay(reach, make([]int, 0, tables), distance) {
				t.Errorf("%d tables, distance %d: %v misses some", tables, distance, reach)
			}
			for i := range reach {
				less := slices.Clone(reach)
				if less[i]--; reach[i] >= 0 && everyWay(less, make([]int, 0, tables), distance) {
					t.Errorf("%d tables, distance %d: %v is more than needed in table %d", tables, distance, reach, i)
				}
			}
		}
	}
}

// everyWay puts at most left bits into the tables that are left, and reports
// whether one reaches them each time.
func everyWay(reach, bits []int, left int) bool {
	if len(bits) == len(reach) {
		for i, n := range bits {
			if n <= reach[i] {
				return true
			}
		}
		return false
	}
	for n := range left + 1 {
		if !everyWay(reach, append(bits, n), left-n) {
			return false
		}
	}
	return true
}
