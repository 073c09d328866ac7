//go:build unix

package machine

import (
	"syscall"
	"time"
)

// ProcessorTime is the time that this process has used of all processors: what
// else the machine does is no part of it.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
