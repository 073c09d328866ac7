//go:build unix

package sorted

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps the file at path for reading.
func mapFile(path string) (_ []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return nil, err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, &os.PathError{Op: "mmap", Path: path, Err: err}
	}
	_ = unix.Madvise(b, unix.MADV_RANDOM) // a look-up wants single pages
	return b, nil
}

func unmap(b []byte) error {
	if b == nil {
		return nil
	}
	return unix.Munmap(b)
}
