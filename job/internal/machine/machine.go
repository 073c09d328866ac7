// Package machine tells what the machine has and what this process has used of
// it. It never waits, and never changes anything.
package machine

import (
	"os"
	"strconv"
	"strings"
)

// Memory is the machine's memory in bytes as Linux tells it, 8 GiB elsewhere; or
// what this process has addresses for, if that is less.
func Memory() int64 {
	n := kibibytes("/proc/meminfo", "MemTotal:")
	if n <= 0 {
		n = 8 << 30
	}
	if all := Addresses(); all > 0 {
		n = min(n, max(all-OwnAddresses, 0))
	}
	return n
}

// OwnAddresses are those in bytes that the program takes beside what it works on:
// Go's runtime reserves most of them. It has ended at its start with 1.7 GiB,
// and on its way with 1.8 GiB.
const OwnAddresses = 7 << 28

// OwnPages are the bytes of its file that the program has in memory when it has
// read all kinds of input: the kernel counts them as resident, Go does not.
const OwnPages = 52 << 20

// Ballast are the bytes that a run under a memory cap takes and never touches: a
// heap of a few megabytes would be collected many times a second. They take none
// of the machine's memory, and count as heap, so that as much more is let grow
// before it is collected: with 128 MiB small runs peak 80 MB higher, and take no
// less processor time.
func Ballast(limit int64) int64 { return min(limit/64, 32<<20) }

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
