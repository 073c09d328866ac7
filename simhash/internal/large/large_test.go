package large_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/neardup/neardup/simhash/internal/large"
)

func ExampleMake() {
	table := large.Make[uint64](1 << 20)
	table[1<<20-1] = 7
	fmt.Println(len(table), table[0], table[1<<20-1])
	// Output: 1048576 0 7
}

// A slice keeps what is written to it, whatever its length, through collections.
func TestMake(t *testing.T) {
	var tables [][]uint32
	for _, n := range []int{0, 1, 1 << 17, 1<<18 - 1, 1 << 18, 1<<19 - 1, 1 << 19, 1<<19 + 1, 3_000_001} {
		table := large.Make[uint32](n)
		if len(table) != n {
			t.Fatalf("%d numbers, want %d", len(table), n)
		}
		for i := range table {
			if table[i] != 0 {
				t.Fatalf("of %d numbers the one at %d is %d, want 0", n, i, table[i])
			}
			table[i] = uint32(n + i)
		}
		tables = append(tables, table)
		runtime.GC()
	}
	for _, table := range tables {
		for i, v := range table {
			if v != uint32(len(table)+i) {
				t.Fatalf("of %d numbers the one at %d is %d, want %d", len(table), i, v, len(table)+i)
			}
		}
	}
}
