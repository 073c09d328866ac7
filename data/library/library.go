package library

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/lock"
	"github.com/neardup/neardup/data/parquet"
)

// Library is a library as one manifest describes it. Several goroutines may read it
// at once. The files never change, but without a lock (see Open and Attach) another
// process can change the library and remove files.
type Library struct {
	dir      string
	manifest *Manifest
	hidden   *hiding
	lock     *lock.Lock // nil: attached, or a reader without the right to lock
	writable bool

	fs      data.FS
	version string

	extractor int

	now      func() time.Time
	partRows int64 // most rows of a file that is written
	reading  func(total int64, unit string) (advance func(int64))

	began       bool  // changes/.begun was written for the next change
	sampled     *File // samples of the night to be added next; nil: none
	sampleBytes int64 // most bytes of all nights' samples
}

// Options of Open and Lock.
type Options struct {
	Version string // of the program, noted in the files
	// Extractor is the version of the extractor that found the texts of the night
	// to add; 0 if texts are not extracted.
	Extractor int
	// Waiting, when not nil, is called while this process waits because others
	// hold the library: at once and then every minute, with a description of the
	// holders and the time waited so far.
	Waiting func(holders string, waited time.Duration)
	// Wait is how long to wait for other processes; 0: until the context ends.
	Wait time.Duration
	// Reading, when not nil, is called before a longer read, with its total in
	// units of "rows" or "bytes". The function that it returns is called with the
	// number of units each time that some have been read.
	Reading func(total int64, unit string) (advance func(int64))

	FS  data.FS          // nil: data.OS
	Now func() time.Time // nil: time.Now
	// PartRows bounds the rows of a file; 0: 8 Mi.
	PartRows int64
	// SampleBytes bounds the files of sampled pages, in all; 0: 256 MiB.
	SampleBytes int64
}

const (
	defaultPartRows    = 8 << 20
	defaultSampleBytes = 256 << 20
)

// Open opens the library at dir for reading, under a shared lock: until Close no
// process can change it. Open waits for a process that is changing it. ErrNone if
// dir holds no library.
//
// A user who can read the library but not write to it gets no lock. If a change
// then removes a file that is being read, the read fails with an error that says so.
func Open(ctx context.Context, dir string, o Options) (*Library, error) {
	if _, err := ReadManifest(dir); err != nil {
		return nil, err
	}
	return open(ctx, dir, o, false)
}

// Lock opens the library at dir for changing it, under an exclusive lock: until
// Close no other process can open it. Lock waits for processes that have it open.
// If dir is missing or empty, it makes an empty library without settings there. It
// removes what killed processes left behind.
func Lock(ctx context.Context, dir string, o Options) (*Library, error) {
	if err := refuse(dir); err != nil {
		return nil, err
	}
	for _, sub := range []string{documents, merges, deletions, samples, changes} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o777); err != nil {
			return nil, fmt.Errorf("library: %w", err)
		}
	}
	return open(ctx, dir, o, true)
}

// Check returns the error with which Lock would refuse the folder at dir, or Add a
// night of that name; nil if it finds none. It takes no lock and does not wait.
func Check(dir, night string) error {
	if _, err := checkNight(night); err != nil {
		return err
	}
	if err := refuse(dir); err != nil {
		return err
	}
	if err := checkChanges(dir); err != nil {
		return err
	}
	f, err := os.CreateTemp(existing(dir), ".*.tmp")
	if err != nil {
		return fmt.Errorf("library: %s cannot be written: %w", dir, err)
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return fmt.Errorf("library: %w", err)
	}
	return nil
}

// checkChanges is what Behind checks, as far as that is possible without the lock:
// it compares the manifest with its copies in changes/, but does not look for files.
func checkChanges(dir string) (err error) {
	for range 2 { // a change may come between the manifest and its copy
		m, none := ReadManifest(dir)
		if none != nil {
			return nil
		}
		if err = (&Library{dir: dir, manifest: m}).behindChanges(); err == nil {
			return nil
		}
	}
	return err
}

// existing is dir, or the nearest folder above it that is there.
func existing(dir string) string {
	for {
		up := filepath.Dir(dir)
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || up == dir {
			return dir
		}
		dir = up
	}
}

// refuse returns an error for a folder that holds neither a library nor what
// the first process of one leaves behind when it is killed.
func refuse(dir string) error {
	if _, err := ReadManifest(dir); !errors.Is(err, ErrNone) {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("library: %w", err)
	}
	for _, e := range entries {
		switch name := e.Name(); name {
		case lockFile, documents, merges, deletions, samples, changes, Index, Added:
		default:
			if !data.IsTemporary(name) {
				return fmt.Errorf("%w: %s holds files but no library: name a new folder", ErrFolder, dir)
			}
		}
	}
	return nil
}

// hold takes the lock and returns the library without its manifest.
func hold(ctx context.Context, dir string, o Options, writable bool) (*Library, error) {
	l := &Library{dir: dir, fs: o.FS, version: o.Version, extractor: o.Extractor, now: o.Now, partRows: o.PartRows, sampleBytes: o.SampleBytes, writable: writable, reading: o.Reading}
	if l.fs == nil {
		l.fs = data.OS
	}
	if l.now == nil {
		l.now = time.Now
	}
	if l.partRows <= 0 {
		l.partRows = defaultPartRows
	}
	if l.sampleBytes <= 0 {
		l.sampleBytes = defaultSampleBytes
	}
	var err error
	l.lock, err = lock.Take(ctx, filepath.Join(dir, lockFile), lock.Options{Shared: !writable, Waiting: o.Waiting, Limit: o.Wait})
	switch {
	case !writable && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)):
		l.lock = nil // read without a lock; damaged reports a change in between
	case errors.Is(err, lock.ErrHeld):
		return nil, fmt.Errorf("library: waited %v for %s: %w: wait for its end, or end it", o.Wait, dir, err)
	case err != nil:
		return nil, fmt.Errorf("library: lock of %s: %w", dir, err)
	}
	return l, nil
}

func open(ctx context.Context, dir string, o Options, writable bool) (_ *Library, err error) {
	l, err := hold(ctx, dir, o, writable)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	l.manifest, err = ReadManifest(dir)
	if writable && errors.Is(err, ErrNone) {
		// Written before any other file: files without a manifest have lost it.
		l.manifest = &Manifest{Version: FormatVersion, Bits: 64}
		err = l.manifest.write(l.fs, dir)
	}
	if err != nil {
		return nil, err
	}
	if writable {
		if err := l.Behind(); err != nil {
			return nil, err
		}
	}
	if l.hidden, err = readHidden(dir, l.manifest); err != nil {
		return nil, err
	}
	if writable {
		if err := l.record(); err != nil { // also of an earlier program's
			return nil, err
		}
		l.sweep()
	}
	return l, nil
}

// Attach opens the library at dir for reading without a lock. It is for workers of
// a run whose own process holds the lock: sequence is the change that the run
// reads, and errChanged is returned if the manifest has another. With a sequence
// less than 0 it takes the manifest as it is; the library may then change at any
// time, and reading a file that was removed is an error.
func Attach(dir string, sequence int64) (*Library, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	if sequence >= 0 && m.Sequence != sequence {
		return nil, fmt.Errorf("%w: %s has change %d, the run reads change %d: run the same command again", errChanged, dir, m.Sequence, sequence)
	}
	l := &Library{dir: dir, manifest: m}
	l.hidden, err = readHidden(dir, m)
	return l, err
}

func (l *Library) reads(total int64, unit string) (advance func(int64)) {
	if l.reading == nil {
		return func(int64) {}
	}
	return l.reading(total, unit)
}

// Close releases the lock, if there is one.
func (l *Library) Close() error {
	if l.lock == nil {
		return nil
	}
	if err := l.lock.Unlock(); err != nil {
		return fmt.Errorf("library: %w", err)
	}
	return nil
}

// Manifest returns the manifest, which the caller must not change.
func (l *Library) Manifest() *Manifest { return l.manifest }

// Path returns the path of a file that the manifest names.
func (l *Library) Path(name string) string { return filepath.Join(l.dir, filepath.FromSlash(name)) }

// Settle sets the settings of a library that has no nights yet, together with
// config, which is kept unread; both are written with the first night. In a library
// with nights it compares instead, and returns ErrSettings if the settings differ.
func (l *Library) Settle(bits int, settings map[string]string, config json.RawMessage) error {
	if l.manifest.Settings == nil || l.writable && len(l.manifest.Nights) == 0 {
		if !l.writable {
			return fmt.Errorf("%w in %s: it has no night yet", ErrNone, l.dir)
		}
		next := l.manifest.copy()
		next.Bits, next.Settings, next.Config, next.Templates = bits, settings, config, nil
		if err := next.check(); err != nil {
			return fmt.Errorf("library: %w", err)
		}
		l.manifest = next // written with the first night
		return nil
	}
	return CompareSettings(l.manifest.Settings, settings)
}

// commit makes a change: it replaces the manifest by next, atomically, and then
// removes the files that next does not name.
func (l *Library) commit(next *Manifest) error {
	if !l.writable {
		return fmt.Errorf("library: %s was opened for reading", l.dir)
	}
	next.prune()
	if err := next.check(); err != nil {
		return fmt.Errorf("library: a manifest that contradicts itself was not written: %w", err)
	}
	hidden, err := readHidden(l.dir, next)
	if err != nil {
		return err
	}
	if err := next.write(l.fs, l.dir); err != nil {
		return err
	}
	l.manifest, l.hidden, l.began = next, hidden, false
	if l.record() == nil { // else the next process does it: the change itself is made
		l.sweep()
	}
	return nil
}

// sweep removes what changes of this library have left: files of a killed process,
// files that only an earlier manifest names, and empty folders of nights. It leaves
// all other files alone. What it cannot remove, the next process that changes the
// library tries again.
func (l *Library) sweep() {
	removable := l.removable()
	named := l.manifest.named()
	done := true
	for _, sub := range []string{".", changes, documents, merges, deletions, templates, samples} {
		done = l.sweepFolder(sub, named, removable) && done
	}
	if done {
		_ = l.fs.Remove(l.Path(begunFile))
	}
}

// sweepFolder sweeps one folder and reports whether it removed all that it had to.
func (l *Library) sweepFolder(folder string, named map[string]bool, removable func(string) bool) (done bool) {
	entries, err := os.ReadDir(l.Path(folder))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	done = true
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		switch {
		case e.IsDir():
			if folder == "." || !strings.HasPrefix(e.Name(), partition) {
				continue
			}
			done = l.sweepFolder(name, named, removable) && done
			_ = l.fs.Remove(l.Path(name)) // only if nothing is left in it
		case data.IsTemporary(name), folder != "." && folder != changes && !named[name] && removable(name):
			err := l.fs.Remove(l.Path(name))
			done = done && (err == nil || errors.Is(err, fs.ErrNotExist))
		}
	}
	return done
}

// hashing is a file system that computes size and SHA-256 of the one file that is
// written through it.
type hashing struct {
	data.FS
	sum   hash.Hash
	bytes int64
}

func newHashing(fsys data.FS) *hashing { return &hashing{FS: fsys, sum: sha256.New()} }

func (h *hashing) CreateTemp(dir, pattern string) (data.File, error) {
	f, err := h.FS.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	return hashed{f, h}, nil
}

// file returns the manifest's entry for the file at path, written through h.
func (h *hashing) file(path, name string, rows int64) (File, error) {
	info, err := parquet.ReadInfo(path)
	return File{Name: name, Rows: rows, Bytes: h.bytes, SHA256: hex.EncodeToString(h.sum.Sum(nil)), Sum: info.Checksum}, err
}

type hashed struct {
	data.File
	h *hashing
}

func (f hashed) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.h.sum.Write(p[:n])
	f.h.bytes += int64(n)
	return n, err
}
