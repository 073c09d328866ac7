package data

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// FS is what an atomic file asks of the file system. OS is the real one;
// tests put one in its place whose i-th operation fails.
type FS interface {
	CreateTemp(dir, pattern string) (File, error)
	Rename(from, to string) error
	Remove(path string) error
	SyncDir(dir string) error // makes the directory's entries durable
}

// File is an open temporary file.
type File interface {
	io.Writer
	Name() string
	Sync() error
	Close() error
}

// OS is the operating system's file system.
var OS FS = osFS{}

type osFS struct{}

func (osFS) CreateTemp(dir, pattern string) (File, error) {
	for { // os.CreateTemp leaves the umask out
		name := strings.Replace(pattern, "*", strconv.FormatUint(rand.Uint64(), 36), 1) //nolint:gosec // it need not be secret
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, fs.ErrExist):
			return nil, err
		}
	}
}

func (osFS) Rename(from, to string) error { return os.Rename(from, to) }
func (osFS) Remove(path string) error     { return os.Remove(path) }

func (osFS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// AtomicFile is a file that appears under its final name complete, or not at
// all. Writes are buffered. The first failed write is kept: every later call
// returns it, and Commit then removes what there is.
type AtomicFile struct {
	fs   FS
	path string
	file File // nil once committed or aborted
	sum  Summer
	buf  *bufio.Writer
}

// errDone is returned for a file that was committed or aborted before.
var errDone = errors.New("file is already committed or aborted")

// CreateAtomic starts a file that will appear at path. Its temporary file
// stands in the same folder, under a name that starts with a dot and ends in
// ".tmp".
func CreateAtomic(path string) (*AtomicFile, error) { return CreateAtomicIn(OS, path) }

// IsTemporary reports whether path is named like the temporary file of an
// AtomicFile: one that a killed process left may be removed.
func IsTemporary(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp")
}

// CreateAtomicIn is CreateAtomic on another file system.
func CreateAtomicIn(fsys FS, path string) (*AtomicFile, error) {
	f, err := fsys.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	buf := buffers.Get().(*bufio.Writer) //nolint:forcetypeassert // nothing else is put there
	a := &AtomicFile{fs: fsys, path: path, file: f, buf: buf}
	buf.Reset(summed{a})
	return a, nil
}

// summed is what an AtomicFile's buffer is written to.
type summed struct{ *AtomicFile }

func (a summed) Write(p []byte) (int, error) {
	n, err := a.file.Write(p)
	_, _ = a.sum.Write(p[:n]) // it cannot fail
	return n, err
}

// buffers are those of committed files: a run writes many small files, and a new
// buffer is cleared first.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 256<<10) }}

// window is how much of a file that is kept out of the cache is written out at a time.
// While one window goes to the disk the next is filled, so at most three are in memory.
const window = 8 << 20

// KeepOutOfCache says, before the first Write, that nobody will read the file soon. A
// large one is then written to the disk as it grows and, on Linux, leaves the page
// cache: what is read again stays there, such as the input, and the system need not
// find new pages for all that is written. Files of a few megabytes stay in the cache.
func (a *AtomicFile) KeepOutOfCache() {
	if f, ok := a.file.(*os.File); ok {
		a.file = keepOutOfCache(f)
	}
}

// Sum returns the sum of a committed file, of the bytes as they were written.
func (a *AtomicFile) Sum() Sum { return a.sum.Sum() }

// Path returns the final path.
func (a *AtomicFile) Path() string { return a.path }

// Write appends p.
func (a *AtomicFile) Write(p []byte) (int, error) {
	if a.file == nil {
		return 0, fmt.Errorf("%s: %w", a.path, errDone)
	}
	n, err := a.buf.Write(p)
	if err != nil {
		err = fmt.Errorf("%s: %w", a.path, err)
	}
	return n, err
}

// Commit flushes, syncs and closes the file, gives it its final name, over a
// file that is there, and syncs the folder. After an error the final name is
// untouched, or, when only the folder's sync failed, holds the complete file.
func (a *AtomicFile) Commit() error {
	if a.file == nil {
		return fmt.Errorf("%s: %w", a.path, errDone)
	}
	f := a.file
	rename := func() error { return a.fs.Rename(f.Name(), a.path) }
	for _, step := range []func() error{a.buf.Flush, f.Sync, f.Close, rename} {
		if err := step(); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", a.path, err), a.Abort())
		}
	}
	a.file = nil
	a.buf.Reset(nil)
	buffers.Put(a.buf)
	a.buf = nil
	if err := a.fs.SyncDir(filepath.Dir(a.path)); err != nil {
		return fmt.Errorf("%s: %w", a.path, err)
	}
	return nil
}

// Abort removes the temporary file. After Commit or Abort it does nothing, so
// it may be deferred.
func (a *AtomicFile) Abort() error {
	if a.file == nil {
		return nil
	}
	f := a.file
	a.file = nil
	err := f.Close()
	if errors.Is(err, os.ErrClosed) { // by Commit
		err = nil
	}
	if removed := a.fs.Remove(f.Name()); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.path, err)
	}
	return nil
}

// WriteFileAtomic puts content at path at once.
func WriteFileAtomic(path string, content []byte) error {
	return WriteFileAtomicIn(OS, path, content)
}

// WriteFileAtomicIn is WriteFileAtomic on another file system.
func WriteFileAtomicIn(fsys FS, path string, content []byte) error {
	f, err := CreateAtomicIn(fsys, path)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return errors.Join(err, f.Abort())
	}
	return f.Commit()
}
