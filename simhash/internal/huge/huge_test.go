package huge

import (
	"fmt"
	"testing"
	"unsafe"
)

func TestSlice(t *testing.T) {
	for _, n := range []int{0, 1, 1000, page/8 - 1, page / 8, page/8 + 1, 3 * page / 8, 790_001} {
		s := Slice[uint64](n)
		if len(s) != n || cap(s) != n {
			t.Fatalf("length %d and capacity %d, want %d", len(s), cap(s), n)
		}
		for i, v := range s {
			if v != 0 {
				t.Fatalf("element %d of %d is %d", i, n, v)
			}
			s[i] = uint64(i)
		}
		if n >= page/8 && uintptr(unsafe.Pointer(&s[0]))%page != 0 {
			t.Errorf("%d elements start at %p", n, &s[0])
		}
	}
}

func ExampleSlice() {
	table := Slice[uint32](1 << 20)
	table[5] = 7
	fmt.Println(len(table), table[5], table[6])
	// Output: 1048576 7 0
}
