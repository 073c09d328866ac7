package machine

import (
	"math"
	"syscall"
)

// Addresses are how many bytes of addresses this process may take (ulimit -v);
// 0: as many as it likes.
func Addresses() int64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &limit) != nil || limit.Cur > math.MaxInt64 {
		return 0
	}
	return int64(limit.Cur)
}
