package data

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// What a file system cannot do is no error; all else is one, for the system tells of a
// disk's error once.
func TestWriteOut(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	u := &uncached{File: w}
	if err := u.writeOut(0, unix.SYNC_FILE_RANGE_WRITE); err != nil {
		t.Errorf("a pipe, which has no disk behind it: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := u.writeOut(0, unix.SYNC_FILE_RANGE_WRITE); err == nil {
		t.Error("a file that is closed is written out")
	}
}
