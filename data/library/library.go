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
	"time"

	"github.com/gofrs/flock"

	"github.com/neardup/neardup/data"
)

// Library is a library as one manifest describes it. Its files never change,
// so several goroutines may read it; they are removed when another process
// changes the library, unless it is locked.
type Library struct {
	dir      string
	manifest *Manifest
	hidden   *hiding
	lock     *flock.Flock
	writable bool

	fs      data.FS
	version string

	extractor int

	now      func() time.Time
	partRows int64 // of a file that is written, at most
	reading  func(total int64, unit string) (advance func(int64))

	sampled     *File // of the night that is added next; nil: none
	sampleBytes int64 // of all nights' samples, at most
}

// Options of Open and Lock.
type Options struct {
	Version string // of the program, noted in the files
	// Extractor is the version of what finds the texts of the night to add; 0
	// where texts are not extracted.
	Extractor int
	// Waiting, when not nil, is called once when another process holds the
	// library and this one has to wait for it.
	Waiting func()
	// Reading, when not nil, is told when so many units are going to be read,
	// rows or bytes, and returns what is told as they are.
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

// Open opens the library at dir for reading. Until Close no process can change
// it; one that changes it now is waited for until ctx ends.
func Open(ctx context.Context, dir string, o Options) (*Library, error) {
	if _, err := ReadManifest(dir); err != nil {
		return nil, err
	}
	return open(ctx, dir, o, false)
}

// Lock opens the library at dir for changing it, and makes an empty one,
// without settings, of a folder that is empty or not there. Until Close no
// other process can open it; who has it now is waited for until ctx ends. What
// a killed process left is removed.
func Lock(ctx context.Context, dir string, o Options) (*Library, error) {
	if err := refuse(dir); err != nil {
		return nil, err
	}
	for _, sub := range []string{documents, merges, deletions, samples} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o777); err != nil {
			return nil, fmt.Errorf("library: %w", err)
		}
	}
	return open(ctx, dir, o, true)
}

// Check returns, without waiting for anybody, why Lock would refuse the folder
// at dir, or why no night of that name could be written there; nil if it seems
// fine.
func Check(dir, night string) error {
	if _, err := checkNight(night); err != nil {
		return err
	}
	if err := refuse(dir); err != nil {
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
		case lockFile, documents, merges, deletions, samples, Index:
		default:
			if !data.IsTemporary(name) {
				return fmt.Errorf("library: %s holds files but no library: name a new folder", dir)
			}
		}
	}
	return nil
}

// retry is how often a lock that another process holds is tried again.
const retry = 100 * time.Millisecond

func open(ctx context.Context, dir string, o Options, writable bool) (_ *Library, err error) {
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
	l.lock = flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o644)) // who may read the library may lock it for that
	try, wait := l.lock.TryRLock, l.lock.TryRLockContext
	if writable {
		try, wait = l.lock.TryLock, l.lock.TryLockContext
	}
	got, err := try()
	if err == nil && !got {
		if o.Waiting != nil {
			o.Waiting()
		}
		_, err = wait(ctx, retry)
	}
	if err != nil {
		return nil, fmt.Errorf("library: lock of %s: %w", dir, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.lock.Unlock())
		}
	}()
	l.manifest, err = ReadManifest(dir)
	if writable && errors.Is(err, ErrNone) {
		// Written before any other file: files without a manifest have lost it.
		l.manifest = &Manifest{Version: formatVersion, Bits: 64}
		err = l.manifest.write(l.fs, dir)
	}
	if err != nil {
		return nil, err
	}
	if l.hidden, err = readHidden(dir, l.manifest); err != nil {
		return nil, err
	}
	if writable {
		l.sweep()
	}
	return l, nil
}

// Attach opens the library at dir for reading without a lock, as its manifest
// of that sequence describes it, whose process holds it: errChanged when it is
// another one; less than 0: as it is, whoever may change it. Should the library change all the same, a
// file that is not there any more is an error.
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

func (l *Library) begin(total int64, unit string) (advance func(int64)) {
	if l.reading == nil {
		return func(int64) {}
	}
	return l.reading(total, unit)
}

// Close lets other processes have the library.
func (l *Library) Close() error {
	if l.lock == nil {
		return nil
	}
	if err := l.lock.Unlock(); err != nil {
		return fmt.Errorf("library: %w", err)
	}
	return nil
}

// Manifest is what the library holds; it is not to be changed.
func (l *Library) Manifest() *Manifest { return l.manifest }

// Path is where a file of the manifest stands.
func (l *Library) Path(name string) string { return filepath.Join(l.dir, filepath.FromSlash(name)) }

// Settle makes settings those of an empty library, with config, which it keeps
// as it is, or compares them with the library's: ErrSettings when they differ.
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

// commit puts the next manifest in the place of the library's, and removes the
// files that only the old one names.
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
	l.manifest, l.hidden = next, hidden
	l.sweep()
	return nil
}

// sweep removes the files that the manifest does not name, and the folders of
// nights that have none. What cannot be removed now is tried again by the next
// process that changes the library.
func (l *Library) sweep() {
	named := map[string]bool{}
	for _, f := range l.manifest.Files {
		named[f.Name], named[path.Dir(f.Name)] = true, true
	}
	for _, d := range l.manifest.Deletions {
		named[d.File] = true
	}
	if t := l.manifest.Templates; t != nil {
		named[t.Name] = true
	}
	for _, sub := range []string{".", documents, merges, deletions, templates, samples} {
		l.sweepFolder(sub, named)
	}
}

func (l *Library) sweepFolder(folder string, named map[string]bool) {
	entries, err := os.ReadDir(l.Path(folder))
	if err != nil {
		return
	}
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		switch {
		case !e.IsDir():
			if !data.IsTemporary(name) && (folder == "." || named[name]) {
				continue
			}
		case folder != "." && strings.HasPrefix(e.Name(), partition):
			if l.sweepFolder(name, named); named[name] {
				continue
			}
		default:
			continue
		}
		_ = l.fs.Remove(l.Path(name)) // a folder only if nothing is left in it
	}
}

// hashing is a file system that notes size and SHA-256 of the file that is
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

func (h *hashing) file(name string, rows int64) File {
	return File{Name: name, Rows: rows, Bytes: h.bytes, SHA256: hex.EncodeToString(h.sum.Sum(nil))}
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
