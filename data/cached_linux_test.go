package data_test

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// cached returns how many bytes of a file are in the page cache. Known is false where
// the file system does not tell.
func cached(t *testing.T, path string) (bytes int, known bool) {
	var system unix.Statfs_t
	if err := unix.Statfs(path, &system); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 64<<10)
	for at := int64(0); at < info.Size(); at += int64(len(buf)) {
		n, err := unix.Preadv2(int(f.Fd()), [][]byte{buf}, at, unix.RWF_NOWAIT)
		switch {
		case errors.Is(err, unix.EAGAIN):
		case err != nil:
			return 0, false
		default:
			bytes += n
		}
	}
	return bytes, system.Type != unix.TMPFS_MAGIC
}
