package wal_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/wal"
)

// group is a group's records, by its number.
func group(n int) (records []string, body []byte) {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	for i := range rng.IntN(5) {
		r := fmt.Sprintf("record %d of group %d %s", i, n, strings.Repeat("x", rng.IntN(300)))
		if i == 3 {
			r = ""
		}
		records, body = append(records, r), wal.AppendRecord(body, []byte(r))
	}
	return records, body
}

// write makes a file of so many groups, and returns the records and where each
// group ends.
func write(t testing.TB, path string, groups int) (records []string, ends []int64) {
	t.Helper()
	l, err := wal.Create(path, []byte("meta"))
	if err != nil {
		t.Fatal(err)
	}
	ends = []int64{l.Size()}
	for n := range groups {
		more, body := group(n)
		if err := l.Append(len(more), body); err != nil {
			t.Fatal(err)
		}
		records, ends = append(records, more...), append(ends, l.Size())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return records, ends
}

// opened are the records that Open yields, and what it cut off.
func opened(t testing.TB, path string) (records []string, cut int64, err error) {
	t.Helper()
	l, cut, err := wal.Open(path, func(r []byte) error {
		records = append(records, string(r))
		return nil
	})
	if err == nil {
		err = l.Close()
	}
	return records, cut, err
}

// A file that ends anywhere within its last group has all groups before, is cut,
// and is appended to.
func TestTornTail(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.log")
	all, ends := write(t, path, 6)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last, _ := group(5)
	before := all[:len(all)-len(last)]
	from := ends[len(ends)-2]
	step := int64(1)
	if testing.Short() {
		step = 13
	}
	for size := from; size < int64(len(whole)); size += step {
		for _, tail := range []string{"", "\x00\x00\x00\x00\x00\x00\x00\x00"} { // as a power cut may leave it
			torn := filepath.Join(dir, "torn.log")
			if err := os.WriteFile(torn, append(slices.Clone(whole[:size]), tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			got, cut, err := opened(t, torn)
			if err != nil || !slices.Equal(got, before) || cut != size-from+int64(len(tail)) {
				t.Fatalf("%d bytes: %d records, want %d; %d bytes cut, %v", size, len(got), len(before), cut, err)
			}
			l, cut, err := wal.Open(torn, func([]byte) error { return nil })
			if err != nil || cut != 0 {
				t.Fatal(cut, err)
			}
			if err := errors.Join(l.Append(1, wal.AppendRecord(nil, []byte("next"))), l.Close()); err != nil {
				t.Fatal(err)
			}
			if got, cut, err := opened(t, torn); err != nil || cut != 0 || !slices.Equal(got, append(slices.Clone(before), "next")) {
				t.Fatalf("%d records, %d, %v", len(got), cut, err)
			}
		}
	}
}

// A bit that is another anywhere before the last group is an error that names
// the place; who asks for what can be read gets all but that group.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.log")
	all, ends := write(t, path, 5)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range int(ends[4]) {
		b := slices.Clone(whole)
		b[at] ^= 1 << (at % 8)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := opened(t, path)
		if !errors.Is(err, wal.ErrDamaged) || !strings.Contains(err.Error(), path) {
			t.Fatalf("byte %d: %v", at, err)
		}
		if at < int(ends[0]) {
			continue
		}
		hit := slices.IndexFunc(ends, func(e int64) bool { return int64(at) < e }) - 1
		if !strings.Contains(err.Error(), fmt.Sprintf("from offset %d on", ends[hit])) {
			t.Fatalf("byte %d, of the group at %d: %v", at, ends[hit], err)
		}
		var told []error
		var got []string
		err = wal.Read(path, func(err error) { told = append(told, err) }, func(r []byte) error {
			got = append(got, string(r))
			return nil
		})
		lost, _ := group(hit)
		if err != nil || len(told) != 1 || len(got) != len(all)-len(lost) {
			t.Fatalf("byte %d: %d records of %d, %d are lost; told %v, %v", at, len(got), len(all), len(lost), told, err)
		}
	}
	// Of a file that nobody writes to any more the end is damage too.
	if err := os.WriteFile(path, whole[:len(whole)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := wal.Read(path, nil, func([]byte) error { return nil }); !errors.Is(err, wal.ErrDamaged) {
		t.Fatal(err)
	}
}

// A group of another file, or of another place in this one, is none.
func TestForeignGroup(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	_, ends := write(t, a, 3)
	l, err := wal.Create(b, []byte("atem"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	head, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"of another file":  append(slices.Clone(head), whole[ends[0]:]...),
		"of another place": append(slices.Clone(whole[:ends[0]]), whole[ends[1]:]...),
	} {
		if err := os.WriteFile(b, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, cut, err := opened(t, b); err != nil || len(got) > 0 || cut == 0 {
			t.Errorf("%s: %d records, %d bytes cut, %v", name, len(got), cut, err)
		}
	}
}

var errFault = &os.PathError{Op: "write", Path: "log", Err: syscall.ENOSPC}

// faulty is a file of which operations fail, after writing half.
type faulty struct {
	wal.File
	fail map[string]bool
}

func (f *faulty) WriteAt(p []byte, at int64) (int, error) {
	if f.fail["write"] {
		n, _ := f.File.WriteAt(p[:len(p)/2], at)
		return n, errFault
	}
	return f.File.WriteAt(p, at)
}

func (f *faulty) Sync() error {
	if f.fail["sync"] {
		return errFault
	}
	return f.File.Sync()
}

func (f *faulty) Truncate(size int64) error {
	if f.fail["truncate"] {
		return errFault
	}
	return f.File.Truncate(size)
}

// Whatever fails, the records of that group are not there, those before and
// those behind are, and appending goes on when there is room again.
func TestFullDisk(t *testing.T) {
	for _, fails := range [][]string{{"write"}, {"sync"}, {"write", "truncate"}, {"write", "truncate", "sync"}, {"sync", "truncate"}} {
		t.Run(strings.Join(fails, " "), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.log")
			l, err := wal.Create(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			f := &faulty{fail: map[string]bool{}}
			l.Through(func(file wal.File) wal.File { f.File = file; return f })
			one := func(s string) error { return l.Append(1, wal.AppendRecord(nil, []byte(s))) }
			if err := one("before"); err != nil {
				t.Fatal(err)
			}
			for _, what := range fails {
				f.fail[what] = true
			}
			for range 3 {
				if err := one(strings.Repeat("lost", 1000)); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) {
					t.Fatal(err)
				}
			}
			clear(f.fail)
			if err := errors.Join(one("behind"), l.Close()); err != nil {
				t.Fatal(err)
			}
			got, cut, err := opened(t, path)
			if err != nil || cut != 0 || !slices.Equal(got, []string{"before", "behind"}) {
				t.Fatal(got, cut, err)
			}
		})
	}
}

func TestCreateTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	all, _ := write(t, path, 3)
	if _, err := wal.Create(path, nil); !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	if meta, err := wal.Meta(path); err != nil || string(meta) != "meta" {
		t.Fatalf("%q, %v", meta, err)
	}
	if got, _, err := opened(t, path); err != nil || !slices.Equal(got, all) {
		t.Fatal(len(got), err)
	}
}

// Whatever bytes stand there, the reader ends, what Open keeps is a beginning of
// the file that is read again as it was, and who passes over damage finds no less.
func FuzzOpen(f *testing.F) {
	path := filepath.Join(f.TempDir(), "a.log")
	_, ends := write(f, path, 4)
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, 0, byte(0))
	f.Add(whole, int(ends[1]), byte(1))
	f.Add(whole[:ends[2]+7], 0, byte(0))
	f.Add(whole[:10], 3, byte(255))
	f.Add([]byte{}, 0, byte(0))
	f.Fuzz(func(t *testing.T, b []byte, at int, flip byte) {
		b = slices.Clone(b)
		if len(b) > 0 && at >= 0 {
			b[at%len(b)] ^= flip
		}
		collect := func(b []byte, sealed bool) (records []string, end int64, err error) {
			end, err = wal.ReadBytes(b, sealed, func(r []byte) error {
				records = append(records, string(r))
				return nil
			})
			return records, end, err
		}
		first, end, err := collect(b, false)
		if err != nil {
			if !errors.Is(err, wal.ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		if again, same, err := collect(b[:end], false); err != nil || same != end || !slices.Equal(first, again) {
			t.Fatalf("%d records, then %d, %v", len(first), len(again), err)
		}
		if all, _, err := collect(b, true); err != nil || !slices.Equal(first, all) {
			t.Fatalf("%d records, passing over damage %d, %v", len(first), len(all), err)
		}
	})
}

// failing is a file system whose operation number `at` fails, and with dead all
// behind it. A write that fails has written half.
type failing struct {
	wal.FileSystem
	at, done int
	dead     bool
	open     int // files that are
}

var errInjected = errors.New("injected")

func (f *failing) fails() bool {
	f.done++
	return f.done-1 == f.at || f.dead && f.done > f.at
}

func (f *failing) do(op func() error) error {
	if f.fails() {
		return errInjected
	}
	return op()
}

func (f *failing) Open(path string, flag int) (file wal.File, err error) {
	err = f.do(func() error {
		if file, err = f.FileSystem.Open(path, flag); err == nil {
			f.open++
			file = &failingFile{file, f}
		}
		return err
	})
	return file, err
}

func (f *failing) CreateTemp(dir, pattern string) (file data.File, err error) {
	err = f.do(func() error {
		if file, err = f.FileSystem.CreateTemp(dir, pattern); err == nil {
			f.open++
			file = &failingTemp{file, f}
		}
		return err
	})
	return file, err
}

func (f *failing) Rename(from, to string) error {
	return f.do(func() error { return f.FileSystem.Rename(from, to) })
}
func (f *failing) Remove(path string) error {
	return f.do(func() error { return f.FileSystem.Remove(path) })
}
func (f *failing) SyncDir(dir string) error {
	return f.do(func() error { return f.FileSystem.SyncDir(dir) })
}

// closed closes a file, also when it then says that this failed.
func (f *failing) closed(file io.Closer) error {
	err := file.Close()
	if err == nil { // else it was before
		f.open--
	}
	return f.do(func() error { return err })
}

type failingFile struct {
	wal.File
	of *failing
}

func (f *failingFile) WriteAt(p []byte, at int64) (n int, err error) {
	if f.of.fails() {
		n, _ = f.File.WriteAt(p[:len(p)/2], at)
		return n, errInjected
	}
	return f.File.WriteAt(p, at)
}

func (f *failingFile) ReadAt(p []byte, at int64) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	err = f.of.do(func() error { n, err = f.File.ReadAt(p, at); return err })
	return n, err
}

func (f *failingFile) Stat() (info os.FileInfo, err error) {
	err = f.of.do(func() error { info, err = f.File.Stat(); return err })
	return info, err
}

func (f *failingFile) Truncate(size int64) error {
	return f.of.do(func() error { return f.File.Truncate(size) })
}
func (f *failingFile) Sync() error  { return f.of.do(f.File.Sync) }
func (f *failingFile) Close() error { return f.of.closed(f.File) }

type failingTemp struct {
	data.File
	of *failing
}

func (f *failingTemp) Write(p []byte) (n int, err error) {
	err = f.of.do(func() error { n, err = f.File.Write(p); return err })
	return n, err
}
func (f *failingTemp) Sync() error  { return f.of.do(f.File.Sync) }
func (f *failingTemp) Close() error { return f.of.closed(f.File) }

// Whichever operation fails, alone or with all behind it, each group that Append
// said is durable is there, in order, and of the others none is half there; where
// the disk works again, none at all. Files are closed.
func TestEachOperationFails(t *testing.T) {
	for _, dead := range []bool{false, true} {
		for i := 0; ; i++ {
			path := filepath.Join(t.TempDir(), "a.log")
			f := &failing{at: i, dead: dead}
			f.FileSystem = wal.OnDisk(f)
			var durable []string
			var errs []error
			tried := func(err error) bool {
				if err != nil {
					errs = append(errs, err)
					if !errors.Is(err, errInjected) {
						t.Errorf("operation %d: %v", i, err)
					}
				}
				return err == nil
			}
			use := func(l *wal.Log, from int) {
				for n := from; n < from+3; n++ {
					records, body := group(n)
					if tried(l.Append(len(records), body)) {
						durable = append(durable, records...)
					}
				}
				tried(l.Close())
			}
			if l, err := wal.Create(path, []byte("meta")); tried(err) {
				use(l, 0)
			}
			_, missing := os.Lstat(path)
			if missing == nil {
				var seen []string
				if l, _, err := wal.Open(path, func(r []byte) error { seen = append(seen, string(r)); return nil }); tried(err) {
					if !slices.Equal(seen, durable) {
						t.Errorf("operation %d: %d records, want %d", i, len(seen), len(durable))
					}
					use(l, 3)
				}
			}
			last := f.done
			wal.OnDisk(f.FileSystem)
			if f.open != 0 {
				t.Errorf("operation %d: %d files stay open", i, f.open)
			}
			if missing == nil {
				got, _, err := opened(t, path)
				if err != nil || len(got) < len(durable) || !slices.Equal(got[:len(durable)], durable) || !dead && len(got) > len(durable) {
					t.Errorf("operation %d: %d records, want %d: %v", i, len(got), len(durable), err)
				}
			} else if len(durable) > 0 {
				t.Errorf("operation %d: %d records are lost: %v", i, len(durable), missing)
			}
			if i >= last {
				if len(errs) > 0 || i < 20 {
					t.Fatalf("%d operations: %v", i, errs)
				}
				break
			}
			if len(errs) == 0 {
				t.Errorf("nobody was told that operation %d failed", i)
			}
		}
	}
}

// Remove is told of what fails, and may be tried again.
func TestRemoveFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	write(t, path, 1)
	for i := range 3 {
		f := &failing{at: i}
		f.FileSystem = wal.OnDisk(f)
		err := wal.Remove(path)
		wal.OnDisk(f.FileSystem)
		if (err != nil) != (i < 2) {
			t.Errorf("operation %d: %v", i, err)
		}
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
