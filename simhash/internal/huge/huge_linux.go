package huge

import "golang.org/x/sys/unix"

// advise asks for large pages under b, whole ones. It is advice: a refusal
// changes nothing but the speed.
func advise(b []byte) {
	if len(b) > 0 {
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	}
}
