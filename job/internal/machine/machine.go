// Package machine tells what the machine has and what this process has used of
// it. It never waits, and never changes anything.
package machine

import (
	"os"
	"strconv"
	"strings"
)

// Memory is the machine's memory in bytes as Linux tells it, 8 GiB elsewhere.
func Memory() int64 {
	if n := kibibytes("/proc/meminfo", "MemTotal:"); n > 0 {
		return n
	}
	return 8 << 30
}

// PeakMemory is the high-water mark of this process's resident memory in bytes
// as Linux tells it; 0 elsewhere.
func PeakMemory() int64 { return kibibytes("/proc/self/status", "VmHWM:") }

// kibibytes reads the value of a line "name: 123 kB" of one of Linux's files,
// in bytes; 0 if there is none.
func kibibytes(path, name string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64); err == nil {
				return n << 10
			}
		}
	}
	return 0
}
