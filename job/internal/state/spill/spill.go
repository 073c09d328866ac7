// Package spill deals records into buckets on disk, for stages that group more
// records than fit into memory.
//
//	goroutines ─ Put ─► Dealer: a block in memory for each bucket
//	                      │ full blocks, sealed with a checksum
//	                      ▼
//	                    files: each holds the blocks of neighbouring buckets
//	                      │ Each, Load, Sorted: one bucket
//	                      ▼
//	                    records
//
// A record is a head of fixed size and, optionally, a tail of any size. The package
// never interprets records. Its files are scratch: they are not synced, and only
// the Buckets that wrote them can read them.
package spill

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// Options of a set of buckets.
type Options struct {
	Dir  string // folder for the files; made when the first byte is written
	Head int    // bytes of a record's head, 1 to 256
	Tail bool   // records have a tail of 0 to 1 GiB-1 bytes
}

const (
	maxHead  = 256
	maxTail  = 1<<30 - 1
	maxFiles = 64
)

// Buckets is a set of buckets. Its methods are safe for concurrent use. Flush all
// dealers before you read; reading returns an error otherwise.
//
// Neighbouring buckets share a file, so that thousands of buckets need few open
// files. A file is truncated when all its buckets are dropped. So process and drop
// buckets in order, to free disk space as you go.
type Buckets struct {
	options Options
	create  func(dir string) (file, error)
	perFile int // buckets

	mu       sync.Mutex
	contents []content    // by bucket
	files    []*spillFile // nil until written to
	dealers  int64        // number of dealers that hold records
	err      error        // first error of writing; records are missing since then
}

// content is the content of a bucket.
type content struct {
	records int64
	runs    []run
}

// run is the place of a block in its bucket's file.
type run struct{ at, size int64 }

type spillFile struct {
	file
	end  int64
	live int64 // bytes of buckets that are not dropped
}

// file is what this package uses of an os.File.
type file interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Close() error
	Name() string
}

func create(dir string) (file, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	return os.CreateTemp(dir, "neardup-spill-*")
}

// New returns n empty buckets. Where n or the options are out of range, every
// Put and every read returns an error.
func New(n int, o Options) *Buckets {
	b := &Buckets{options: o, create: create}
	if n < 1 || o.Head < 1 || o.Head > maxHead {
		b.err = fmt.Errorf("spill: %d buckets, heads of %d bytes: out of range", n, o.Head)
	}
	n = max(n, 1)
	b.perFile = (n + maxFiles - 1) / maxFiles
	b.contents = make([]content, n)
	b.files = make([]*spillFile, (n+b.perFile-1)/b.perFile)
	return b
}

// Len returns the number of records in a bucket.
func (b *Buckets) Len(bucket int) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bucket < 0 || bucket >= len(b.contents) {
		return 0
	}
	return b.contents[bucket].records
}

// Drop empties a bucket. Its disk space is freed when all buckets of its file are
// dropped.
func (b *Buckets) Drop(bucket int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.check(bucket); err != nil {
		return err
	}
	c := b.contents[bucket]
	b.contents[bucket] = content{}
	if len(c.runs) == 0 {
		return nil
	}
	f := b.files[bucket/b.perFile]
	for _, r := range c.runs {
		f.live -= r.size
	}
	if f.live > 0 {
		return nil
	}
	f.end = 0
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	return nil
}

// check returns the error, if any, of reading or dropping a bucket. b.mu must be
// held.
func (b *Buckets) check(bucket int) error {
	if b.err == nil && (bucket < 0 || bucket >= len(b.contents)) {
		return fmt.Errorf("spill: bucket %d of %d", bucket, len(b.contents))
	}
	return b.err
}

var errClosed = errors.New("spill: the buckets are closed")

// Close removes the files. Closing again does nothing.
func (b *Buckets) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for i, f := range b.files {
		if f != nil {
			errs = append(errs, f.Close(), os.Remove(f.Name()))
			b.files[i] = nil
		}
	}
	clear(b.contents)
	b.err = errClosed
	return errors.Join(errs...)
}
