package hamming

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// adviseHuge asks for huge pages under the whole ones of b. It is advice: a
// refusal changes nothing but the speed.
func adviseHuge(b []byte) {
	const huge = 2 << 20
	skip := -uintptr(unsafe.Pointer(&b[0])) & (huge - 1)
	if uintptr(len(b)) < skip+huge {
		return
	}
	b = b[skip:]
	_ = unix.Madvise(b[:len(b)&^(huge-1)], unix.MADV_HUGEPAGE)
}
