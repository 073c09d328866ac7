// Package huge makes tables that stand in large memory pages where the system
// has them: tables of megabytes that are read all over cost fewer misses of
// the address cache so. It never fails; without large pages it only makes
// slices.
package huge

import "unsafe"

// page is the size of a large page of x86-64 and arm64.
const page = 2 << 20

// Slice returns a zeroed slice of n elements, whose size divides page. Of a
// table larger than a page the address is a multiple of page.
func Slice[T any](n int) []T {
	var element T
	size := int(unsafe.Sizeof(element))
	if n < page/size {
		return make([]T, n)
	}
	s := make([]T, n+page/size)
	skip := int(-uintptr(unsafe.Pointer(&s[0]))&(page-1)) / size
	s = s[skip:]
	whole := len(s) * size &^ (page - 1)
	advise(unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), whole))
	return s[:n:n]
}
