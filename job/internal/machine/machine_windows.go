package machine

import (
	"time"

	"golang.org/x/sys/windows"
)

// ProcessorTime is the time that this process has used of all processors: what
// else the machine does is no part of it.
func ProcessorTime() time.Duration {
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user) != nil {
		return 0
	}
	// A Filetime of a length of time counts units of 100 ns.
	units := func(t windows.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }
	return time.Duration(100 * (units(kernel) + units(user)))
}
