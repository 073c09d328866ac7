package data

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// uncached is a file whose bytes leave the system's page cache once they are on the
// disk. See [AtomicFile.KeepOutOfCache].
type uncached struct {
	*os.File
	written, begun, dropped int64 // bytes: by Write; of which the disk was told; that left the cache
}

func keepOutOfCache(f *os.File) File { return &uncached{File: f} }

func (u *uncached) Write(p []byte) (int, error) {
	n, err := u.File.Write(p)
	for u.written += int64(n); err == nil && u.written-u.begun >= window; {
		err = u.next()
	}
	return n, err
}

// next begins to write out a window, and drops the one before, which is waited for.
func (u *uncached) next() error {
	if err := u.writeOut(u.begun, unix.SYNC_FILE_RANGE_WRITE); err != nil {
		return err
	}
	if u.begun > u.dropped {
		const done = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
		if err := u.writeOut(u.dropped, done); err != nil {
			return err
		}
		u.drop(u.dropped, window)
		u.dropped += window
	}
	u.begun += window
	return nil
}

// writeOut returns the error of a disk, which the system reports once: to it, or to
// Sync. A file system that cannot write out a part writes all at Sync.
func (u *uncached) writeOut(from int64, flags int) error {
	err := unix.SyncFileRange(int(u.Fd()), from, window, flags)
	for _, cannot := range []error{unix.EINVAL, unix.ENOSYS, unix.EOPNOTSUPP, unix.ESPIPE, unix.EINTR} {
		if errors.Is(err, cannot) {
			return nil
		}
	}
	return os.NewSyscallError("sync_file_range", err)
}

// drop takes bytes out of the cache; size 0 is all to the end. Where the system will
// not, nothing is lost.
func (u *uncached) drop(from, size int64) {
	_ = unix.Fadvise(int(u.Fd()), from, size, unix.FADV_DONTNEED)
}

func (u *uncached) Sync() error {
	err := u.File.Sync()
	if err == nil && u.begun > 0 {
		u.drop(0, 0)
	}
	return err
}
