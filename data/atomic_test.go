package data_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
)

var errInjected = errors.New("injected")

// faultyFS is the real file system, but its at-th operation fails.
type faultyFS struct {
	at, n int
	hit   string // the operation that failed
}

func (f *faultyFS) op(name string) error {
	f.n++
	if f.n-1 == f.at {
		f.hit = name
		return fmt.Errorf("%s: %w", name, errInjected)
	}
	return nil
}

func (f *faultyFS) CreateTemp(dir, pattern string) (data.File, error) {
	if err := f.op("create"); err != nil {
		return nil, err
	}
	file, err := data.OS.CreateTemp(dir, pattern)
	return &faultyFile{file, f}, err
}

func (f *faultyFS) Rename(from, to string) error {
	if err := f.op("rename"); err != nil {
		return err
	}
	return data.OS.Rename(from, to)
}

func (f *faultyFS) Remove(path string) error { return data.OS.Remove(path) }

func (f *faultyFS) SyncDir(dir string) error {
	if err := f.op("sync folder"); err != nil {
		return err
	}
	return data.OS.SyncDir(dir)
}

type faultyFile struct {
	data.File
	fs *faultyFS
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if err := f.fs.op("write"); err != nil {
		n, _ := f.File.Write(p[:len(p)/2]) // a disk that fills up
		return n, err
	}
	return f.File.Write(p)
}

func (f *faultyFile) Sync() error {
	if err := f.fs.op("sync"); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultyFile) Close() error {
	err := f.File.Close()
	if injected := f.fs.op("close"); injected != nil {
		return injected
	}
	return err
}

// TestAtomicFaults fails every operation in turn: the file is then the old
// one or the new one, whole, and no other file is left.
func TestAtomicFaults(t *testing.T) {
	content := bytes.Repeat([]byte("neardup "), 200_000) // several writes
	for at := 0; ; at++ {
		dir := t.TempDir()
		path := filepath.Join(dir, "file")
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		fsys := &faultyFS{at: at}
		err := data.WriteFileAtomicIn(fsys, path, content)
		got, readErr := os.ReadFile(path)
		if readErr != nil {
			t.Fatal(readErr)
		}
		entries, readErr := os.ReadDir(dir)
		if readErr != nil {
			t.Fatal(readErr)
		}
		if len(entries) != 1 {
			t.Errorf("%s fails: left behind %v", fsys.hit, entries)
		}
		if err == nil {
			if fsys.hit != "" {
				t.Errorf("%s failed, and no error", fsys.hit)
			}
			if !bytes.Equal(got, content) {
				t.Error("the file is not what was written")
			}
			if at < 6 {
				t.Errorf("only %d operations could fail", at)
			}
			break
		}
		if !errors.Is(err, errInjected) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s fails: %v: want the cause and the path", fsys.hit, err)
		}
		if fsys.hit == "sync folder" {
			if !bytes.Equal(got, content) {
				t.Error("the folder's sync fails: the file is neither old nor complete")
			}
		} else if string(got) != "old" {
			t.Errorf("%s fails: the file has changed", fsys.hit)
		}
	}
}

func TestAtomicAbort(t *testing.T) {
	dir := t.TempDir()
	f, err := data.CreateAtomic(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.Abort(); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Commit(); !errors.Is(err, data.ErrDone) {
		t.Errorf("Commit after Abort: %v", err)
	}
	if _, err := f.Write(nil); !errors.Is(err, data.ErrDone) {
		t.Errorf("Write after Abort: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// A file that is kept out of the page cache has the bytes and the sum that it has
// otherwise, and, where the system can tell, hardly a page in memory.
func TestKeepOutOfCache(t *testing.T) {
	content := make([]byte, 3*data.Window+5)
	r := rand.New(rand.NewPCG(3, 3))
	for i := range content {
		content[i] = byte(r.Uint32())
	}
	for _, size := range []int{0, 5, data.Window - 1, data.Window, len(content)} {
		path := filepath.Join(t.TempDir(), "file")
		f, err := data.CreateAtomic(path)
		if err != nil {
			t.Fatal(err)
		}
		f.KeepOutOfCache()
		for part := range slices.Chunk(content[:size], 700_001) {
			if _, err := f.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		if bytes, known := cached(t, path); known && size >= data.Window && bytes > size/4 {
			t.Errorf("%d of %d bytes are in the page cache", bytes, size)
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, content[:size]) {
			t.Errorf("%d bytes are %d others: %v", size, len(got), err)
		}
		var sum data.Summer
		if _, _ = sum.Write(got); f.Sum() != sum.Sum() || f.Sum().Bytes != int64(size) {
			t.Errorf("%d bytes: sum %v, of the file %v", size, f.Sum(), sum.Sum())
		}
	}
}

func TestAtomicFileMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := data.WriteFileAtomic(path, []byte("x")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v: analysts could not read it", info.Mode())
	}
}

func ExampleWriteFileAtomic() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "_SUCCESS")
	if err := data.WriteFileAtomic(path, []byte("done\n")); err != nil {
		panic(err)
	}
	text, err := os.ReadFile(path)
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// done
	// <nil>
}
