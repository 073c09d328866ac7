// Package large makes slices in large pages. A table of some megabytes that is
// read here and there takes more of a processor's address cache than there is of
// pages of 4 KiB; of large ones it takes a few entries. It never says whether the
// system gave them: a slice is as good without.
package large

import "unsafe"

// page is the size of a large page on the systems that are asked for one.
const page = 2 << 20

// Make returns n zeros of a type that has no pointers in it, which is the caller's
// to see to. What is smaller than half a large page is an ordinary slice.
func Make[T any](n int) []T {
	var zero T
	size := uintptr(n) * unsafe.Sizeof(zero)
	if !advises || size < page/2 {
		return make([]T, n)
	}
	whole := (size + page - 1) &^ (page - 1)
	b := make([]byte, whole+page)
	start := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (page - 1)
	b = b[start : start+whole : start+whole]
	advise(b)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}
