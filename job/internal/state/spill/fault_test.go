package spill

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// faulty fails the left-th operation on files and those after it, as a disk
// does that is full or gone.
type faulty struct{ left int }

func (f *faulty) fails() error {
	f.left--
	if f.left < 0 {
		return syscall.ENOSPC
	}
	return nil
}

type faultyFile struct {
	file
	on *faulty
}

func (f faultyFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.on.fails(); err != nil {
		n, _ := f.file.WriteAt(p[:len(p)/2], at)
		return n, err
	}
	return f.file.WriteAt(p, at)
}

func (f faultyFile) ReadAt(p []byte, at int64) (int, error) {
	if err := f.on.fails(); err != nil {
		return 0, err
	}
	return f.file.ReadAt(p, at)
}

func (f faultyFile) Truncate(size int64) error {
	if err := f.on.fails(); err != nil {
		return err
	}
	return f.file.Truncate(size)
}

// Each file operation in turn fails: the error comes out, no record is missing
// without one, and nothing stays behind.
func TestEveryOperationFails(t *testing.T) {
	for i := 0; ; i++ {
		dir := t.TempDir()
		on := &faulty{left: i}
		b := New(faultBuckets, Options{Dir: dir, Head: 8, Tail: true})
		b.create = func(dir string) (file, error) {
			if err := on.fails(); err != nil {
				return nil, err
			}
			f, err := create(dir)
			return faultyFile{f, on}, err
		}
		n, err := dealAndRead(b)
		if err == nil && n != 2*3000 {
			t.Fatalf("operation %d failed, %d records and no error", i, n)
		}
		if err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("operation %d: got %v, want the disk's error", i, err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		checkEmpty(t, dir)
		if err == nil && on.left >= 0 {
			if i < 10 {
				t.Fatalf("only %d operations", i)
			}
			break
		}
	}
}

const faultBuckets = 5

// dealAndRead deals 3000 records twice and reads them, sorted.
func dealAndRead(b *Buckets) (n int, err error) {
	d := b.Dealer()
	for range 2 {
		for k := range 3000 {
			if err := d.Put(k%faultBuckets, fmt.Appendf(nil, "%08d", k), []byte("a tail")); err != nil {
				return 0, err
			}
		}
		if err := d.Flush(); err != nil {
			return 0, err
		}
	}
	for i := range faultBuckets {
		if err := b.Sorted(i, func(_, _ []byte) error { n++; return nil }); err != nil {
			return 0, err
		}
		if err := b.Drop(i); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// After a failed write nothing can be read as if it were whole, and every
// dealer hears of it.
func TestFailedWriteStays(t *testing.T) {
	on := &faulty{left: 1}
	b := New(2, Options{Dir: t.TempDir(), Head: 1})
	defer b.Close()
	b.create = func(dir string) (file, error) {
		f, err := create(dir)
		return faultyFile{f, on}, err
	}
	d, other := b.Dealer(), b.Dealer()
	if err := errors.Join(d.Put(0, []byte("a"), nil), other.Put(1, []byte("b"), nil), d.Flush(), d.Put(0, []byte("c"), nil)); err != nil {
		t.Fatal(err)
	}
	first := d.Flush()
	if !errors.Is(first, syscall.ENOSPC) || !strings.Contains(first.Error(), "--tmp") {
		t.Errorf("got %v, want a full disk and what to do", first)
	}
	_, err := eachOf(b, 0)
	_, loadErr := b.Load(0)
	for i, err := range []error{err, loadErr, d.Flush(), other.Flush(), b.Drop(0), b.Dealer().Put(0, []byte("d"), nil)} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%d: got %v, want the first error", i, err)
		}
	}
}

// A folder that cannot be made is an error of the first write, with the
// folder's name.
func TestFolderCannotBeMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	b := New(1, Options{Dir: filepath.Join(path, "x"), Head: 1})
	defer b.Close()
	d := b.Dealer()
	if err := d.Put(0, []byte("a"), nil); err != nil {
		t.Fatal(err)
	}
	if err := d.Flush(); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "--tmp") {
		t.Errorf("got %v", err)
	}
}

// Every byte of a file that is changed is an error that names the file and the
// offset of the block; a file that is cut is one too.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	b := New(1, Options{Dir: dir, Head: 4, Tail: true})
	defer b.Close()
	d := b.Dealer()
	for k := range 60 {
		if err := d.Put(0, binary.BigEndian.AppendUint32(nil, uint32(k)), bytes.Repeat([]byte("x"), k%5)); err != nil {
			t.Fatal(err)
		}
		if k == 29 || k == 59 { // two blocks
			if err := d.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 1 || len(b.contents[0].runs) != 2 {
		t.Fatal(names, b.contents[0].runs, err)
	}
	whole, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	second := b.contents[0].runs[1].at
	check := func(what string, at int64) {
		_, err := eachOf(b, 0)
		block := int64(0)
		if at >= second {
			block = second
		}
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%s at offset %d:", names[0], block)) {
			t.Errorf("%s %d: got %v", what, at, err)
		}
	}
	for at := range whole {
		for _, flip := range []byte{1, 0x80, 0xff, 0} { // the last repairs it
			if _, err := b.files[0].WriteAt([]byte{whole[at] ^ flip}, int64(at)); err != nil {
				t.Fatal(err)
			}
			if flip != 0 {
				check("changed byte", int64(at))
			}
		}
	}
	for at := len(whole) - 1; at >= 0; at-- {
		if err := b.files[0].Truncate(int64(at)); err != nil {
			t.Fatal(err)
		}
		check("cut at byte", int64(at))
	}
	if err := os.WriteFile(names[0], whole, 0o666); err != nil {
		t.Fatal(err)
	}
	if got, err := eachOf(b, 0); err != nil || len(got) != 60 {
		t.Errorf("whole again: %d records, %v", len(got), err)
	}
}

// A whole block that stands in another's place is damage too.
func TestMisplacedBlock(t *testing.T) {
	dir := t.TempDir()
	b := New(65, Options{Dir: dir, Head: 1}) // buckets 0 and 1 share a file
	defer b.Close()
	d := b.Dealer()
	if err := errors.Join(d.Put(0, []byte("a"), nil), d.Put(1, []byte("b"), nil), d.Flush()); err != nil {
		t.Fatal(err)
	}
	f := b.files[0]
	block := make([]byte, headerBytes+1)
	if _, err := f.ReadAt(block, b.contents[1].runs[0].at); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(block, b.contents[0].runs[0].at); err != nil {
		t.Fatal(err)
	}
	if _, err := eachOf(b, 0); !errors.Is(err, errDamaged) {
		t.Errorf("got %v, want damage", err)
	}
	if got, err := eachOf(b, 1); err != nil || !slices.Equal(got, []record{{head: "b"}}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// An error of yield comes back as it is, and nothing is yielded after it.
func TestYieldStops(t *testing.T) {
	for _, tail := range []bool{false, true} {
		b := New(1, Options{Dir: t.TempDir(), Head: 1, Tail: tail})
		d := b.Dealer()
		if err := errors.Join(d.Put(0, []byte("b"), nil), d.Put(0, []byte("a"), nil), d.Flush()); err != nil {
			t.Fatal(err)
		}
		for _, read := range []func(int, func(_, _ []byte) error) error{b.Each, b.Sorted} {
			n, stop := 0, errors.New("stop")
			if err := read(0, func(_, _ []byte) error { n++; return stop }); !errors.Is(err, stop) || err.Error() != "stop" || n != 1 {
				t.Errorf("%d records, %v", n, err)
			}
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Records that a dealer still holds are not missed in silence.
func TestReadBeforeFlush(t *testing.T) {
	b := New(2, Options{Dir: t.TempDir(), Head: 1})
	defer b.Close()
	d := b.Dealer()
	if err := d.Put(0, []byte("a"), nil); err != nil {
		t.Fatal(err)
	}
	_, err := b.Load(0)
	for _, err := range []error{err, b.Each(1, nil), b.Sorted(0, nil)} {
		if err == nil || !strings.Contains(err.Error(), "not flushed") {
			t.Errorf("got %v", err)
		}
	}
	if err := errors.Join(d.Flush(), d.Flush()); err != nil {
		t.Fatal(err)
	}
	if got, err := eachOf(b, 0); err != nil || len(got) != 1 {
		t.Errorf("%d records, %v", len(got), err)
	}
}

func TestOutOfRange(t *testing.T) {
	head := make([]byte, 300)
	for _, b := range []*Buckets{New(0, Options{Head: 1}), New(-1, Options{Head: 1}), New(1, Options{}), New(1, Options{Head: 257})} {
		_, err := eachOf(b, 0)
		if err == nil || b.Dealer().Put(0, head[:b.options.Head], nil) == nil {
			t.Errorf("%+v: no error", b.options)
		}
	}
	b := New(3, Options{Head: 2, Tail: true, Dir: t.TempDir()})
	d := b.Dealer()
	for _, err := range []error{
		d.Put(-1, head[:2], nil), d.Put(3, head[:2], nil), d.Put(0, head[:1], nil), d.Put(0, head[:3], nil),
		d.Put(0, head[:2], make([]byte, maxTail+1)), b.Drop(3), b.Each(-1, nil), b.Sorted(3, nil),
		New(1, Options{Head: 2}).Dealer().Put(0, head[:2], head[:1]),
	} {
		if err == nil {
			t.Error("no error")
		}
	}
	if b.Len(-1) != 0 || b.Len(3) != 0 {
		t.Error("records in buckets that are not there")
	}
	if err := errors.Join(d.Put(0, head[:2], make([]byte, 5<<20)), d.Flush()); err != nil || b.Len(0) != 1 {
		t.Errorf("a tail of more than a block: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := d.Put(0, head[:2], nil); !errors.Is(err, errClosed) {
		t.Errorf("closed: got %v", err)
	}
	if _, err := eachOf(b, 0); !errors.Is(err, errClosed) {
		t.Errorf("closed: got %v", err)
	}
}

// spilled is how many bytes stand in files.
func spilled(b *Buckets) (size int64) {
	for _, f := range b.files {
		if f != nil {
			size += f.end
		}
	}
	return size
}

// inUse is what the buckets and dealers hold.
func inUse(b *Buckets, dealers ...*Dealer) (size int64) {
	for _, c := range b.contents {
		size += int64(cap(c.runs)) * 16
	}
	for _, d := range dealers {
		for _, c := range d.chunks {
			size += int64(cap(c.block))
		}
	}
	return size
}

// 50 MiB of records take no more memory than the budget of dealers: once for the
// first, half for the second.
func TestMemoryIsBounded(t *testing.T) {
	for _, test := range []struct {
		n     int
		bound int64
	}{
		{40, 2*40*blockBytes + 1<<20}, // and where the blocks stand
		{10_000, bufferBytes * 3 / 2},
	} {
		b := New(test.n, Options{Dir: t.TempDir(), Head: 10, Tail: true})
		dealers := []*Dealer{b.Dealer(), b.Dealer()}
		rnd := rand.New(rand.NewPCG(1, 2))
		var most, total int64
		head, tail := make([]byte, 10), make([]byte, 200)
		for k := 0; total < 50<<20; k++ {
			tail := tail[:rnd.IntN(len(tail))]
			total += int64(len(head) + len(tail))
			if err := dealers[k%2].Put(rnd.IntN(test.n), head, tail); err != nil {
				t.Fatal(err)
			}
			if k%5000 == 0 {
				most = max(most, inUse(b, dealers...))
			}
		}
		if most > test.bound || most < test.bound/8 {
			t.Errorf("%d buckets: %d bytes in use, bound %d", test.n, most, test.bound)
		}
		if err := errors.Join(dealers[0].Flush(), dealers[1].Flush()); err != nil {
			t.Fatal(err)
		}
		if got := inUse(b, dealers...); got > total/32 {
			t.Errorf("%d buckets: %d bytes in use after Flush", test.n, got)
		}
		if spilled(b) < total {
			t.Errorf("%d bytes spilled of %d", spilled(b), total)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A dropped bucket gives its disk space back as soon as those that share its
// file are dropped, and another bucket may use it.
func TestDropGivesDiskBack(t *testing.T) {
	dir := t.TempDir()
	b := New(128, Options{Dir: dir, Head: 100})
	d := b.Dealer()
	fill := func() {
		for i := range 128 * 1000 {
			if err := d.Put(i%128, make([]byte, 100), nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	fill()
	full := diskBytes(t, dir)
	for i := range 64 {
		if err := b.Drop(i); err != nil {
			t.Fatal(err)
		}
	}
	if got := diskBytes(t, dir); got != full/2 {
		t.Errorf("%d bytes of %d after half is dropped", got, full)
	}
	for i := range 128 {
		if err := errors.Join(b.Drop(i), b.Drop(i)); err != nil {
			t.Fatal(err)
		}
	}
	fill()
	if got := diskBytes(t, dir); got != full {
		t.Errorf("%d bytes after dealing again, want %d", got, full)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != maxFiles {
		t.Errorf("%d files, %v", len(entries), err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	checkEmpty(t, dir)
}
