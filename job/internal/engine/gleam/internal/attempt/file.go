//go:build linux

package attempt

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/zeebo/xxh3"
)

// Executable is the running program, which stays the same when another takes
// its place on the disk.
const Executable = "/proc/self/exe"

// ProgramSum is the checksum of the running program.
var ProgramSum = sync.OnceValues(func() (uint64, error) {
	sum, err := FileSum(Executable)
	if err != nil {
		return 0, fmt.Errorf("program: %w", err)
	}
	return sum, nil
})

// FileSum is the XXH3-64 of a file.
func FileSum(path string) (uint64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	h := xxh3.New()
	_, err = io.Copy(h, f)
	return h.Sum64(), errors.Join(err, f.Close())
}

// FreeDisk is how many bytes the user may still write at path.
func FreeDisk(path string) (int64, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err != nil {
		return 0, fmt.Errorf("disk of %s: %w", path, err)
	}
	return int64(fs.Bavail) * fs.Bsize, nil
}

// Gone reports whether a file is not there; a file system that does not answer
// says nothing.
func Gone(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, os.ErrNotExist)
}
