package lookup_test

import (
	"math/bits"
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

func TestAround(t *testing.T) {
	for _, width := range []int{1, 4, 10, 32} {
		for reach := range 4 {
			value := uint32(0x9e3779b9) & (1<<width - 1)
			seen := map[uint32]bool{}
			for v := range lookup.Around(value, width, reach) {
				if len(seen) == 0 && v != value {
					t.Error("the value itself does not come first")
				}
				if seen[v] || uint64(v)>>width != 0 || bits.OnesCount32(v^value) > reach {
					t.Fatalf("width %d, reach %d: %x", width, reach, v)
				}
				seen[v] = true
			}
			if len(seen) != lookup.Values(width, reach) {
				t.Errorf("width %d, reach %d: %d values, want %d", width, reach, len(seen), lookup.Values(width, reach))
			}
			want := 0
			if width <= 10 {
				for v := range uint32(1) << width {
					if bits.OnesCount32(v^value) <= reach {
						want++
					}
				}
				if want != len(seen) {
					t.Errorf("width %d, reach %d: %d values, counted %d", width, reach, len(seen), want)
				}
			}
		}
	}
	for range lookup.Around(5, 16, 3) {
		break
	}
}
