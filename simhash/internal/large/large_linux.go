package large

import "golang.org/x/sys/unix"

const advises = true

// advise asks for large pages in place of those of b, before they are touched. A
// system that has none says so, and nothing is lost.
func advise(b []byte) {
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
}
