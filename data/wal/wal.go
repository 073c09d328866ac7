// Package wal keeps records in an append-only file, a group of them at a time:
// a group is durable when Append returns, whatever kills the process behind it,
// and after an error none of it is there. It never looks into a record.
//
// A file begins with a header that never changes,
//
//	magic 16 bytes | length of meta, 4 | meta | checksum, 8
//
// and goes on with groups:
//
//	mark 4 bytes | checksum, 8 | length of the body, 4 | records, 4 | body
//
// The body has each record behind its length, a varint. The checksum is the
// XXH3 of all that follows it, seeded with the header's checksum and the group's
// offset, so that bytes of another file, or of another place, are no group.
// Numbers are little-endian.
//
// A group is written when the one before it is durable. So a group that is not
// whole is what a killed process left of its last write if no whole one stands
// behind it, and damage if one does.
package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
)

const (
	magic      = "neardup wal 1\r\n\x00"
	groupHead  = 20
	maxMeta    = 1 << 20
	maxGroup   = 1 << 30 // bytes of a body
	searchStep = 1 << 20
)

var mark = []byte{0xd7, 'g', 'r', 'p'}

// ErrDamaged is returned for a file whose bytes are not those that were written.
var ErrDamaged = errors.New("its bytes are not those that were written")

// File is what a Log writes to. It is an *os.File, or a test's that fails.
type File interface {
	io.ReaderAt
	io.WriterAt
	Stat() (os.FileInfo, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// fileSystem is what logs stand in: disk, but in tests that have its i-th operation
// fail.
type fileSystem interface {
	data.FS
	Open(path string, flag int) (File, error)
}

type osDisk struct{ data.FS }

func (osDisk) Open(path string, flag int) (File, error) { return os.OpenFile(path, flag, 0) }

var disk fileSystem = osDisk{data.OS}

// Log is a file to append to, for one goroutine at a time.
type Log struct {
	path string
	file File
	seed uint64
	size int64 // of what is durable
	torn bool  // bytes behind size may be there
	buf  []byte
}

// Create makes a new file at path, with meta, which is for who opens it: when
// Create returns it is there for good. After an error an empty one may be there.
func Create(path string, meta []byte) (*Log, error) {
	if len(meta) > maxMeta {
		return nil, fmt.Errorf("wal: %s: a header of %d bytes, at most %d", path, len(meta), maxMeta)
	}
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("wal: %s: %w", path, os.ErrExist)
	}
	if err := data.WriteFileAtomicIn(disk, path, header(meta)); err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	l, _, err := Open(path, func([]byte) error { return errors.New("a new file has records") })
	return l, err
}

func header(meta []byte) []byte {
	h := append([]byte(magic), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(h[len(magic):], uint32(len(meta))) //nolint:gosec // at most maxMeta
	h = append(h, meta...)
	return binary.LittleEndian.AppendUint64(h, xxh3.Hash(h))
}

// Open opens the file at path for appending and calls yield with its records,
// in their order; a record is valid during the call. What a killed process left
// of a last write is cut off, and cut says how many bytes.
func Open(path string, yield func(record []byte) error) (l *Log, cut int64, err error) {
	f, err := disk.Open(path, os.O_RDWR)
	if err != nil {
		return nil, 0, fmt.Errorf("wal: %w", err)
	}
	defer func() {
		if err != nil {
			l, err = nil, errors.Join(err, f.Close())
		}
	}()
	r, err := newReader(f, path)
	if err != nil {
		return nil, 0, err
	}
	for r.next() {
		if err := r.each(yield); err != nil {
			return nil, 0, err
		}
	}
	if r.err != nil {
		return nil, 0, r.err
	}
	l = &Log{path: path, file: f, seed: r.seed, size: r.at, torn: true}
	if r.at == r.size { // also what was written is made durable: its writer may have been killed before
		l.torn = false
		if err := f.Sync(); err != nil {
			return nil, 0, fmt.Errorf("wal: %s: %w", path, err)
		}
		return l, 0, nil
	}
	return l, r.size - r.at, l.heal()
}

// Read calls yield with the records of the file at path, in their order; a
// record is valid during the call. Damage is an error, and so is a group that is
// not whole at the end, unless damaged is not nil: then it is told of each such
// stretch, and reading goes on behind it.
func Read(path string, damaged func(error), yield func(record []byte) error) (err error) {
	f, err := disk.Open(path, os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, err := newReader(f, path)
	if err != nil {
		return err
	}
	r.sealed, r.damaged = true, damaged
	for r.next() {
		if err := r.each(yield); err != nil {
			return err
		}
	}
	return r.err
}

// Meta returns what Create was given.
func Meta(path string) (meta []byte, err error) {
	f, err := disk.Open(path, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, err := newReader(f, path)
	if err != nil {
		return nil, err
	}
	return r.meta, nil
}

// reader goes through a file's groups.
type reader struct {
	file    io.ReaderAt
	path    string
	meta    []byte
	seed    uint64
	at      int64       // behind the last group that was read
	size    int64       // of the file
	sealed  bool        // there is no last write that may not be whole
	damaged func(error) // told of what is passed over; nil: nothing is

	records uint32
	head    [groupHead]byte
	body    []byte
	err     error
}

func newReader(f File, path string) (*reader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	return readHeader(f, path, info.Size())
}

func readHeader(f io.ReaderAt, path string, size int64) (*reader, error) {
	r := &reader{file: f, path: path, size: size}
	fixed := make([]byte, len(magic)+4)
	if size < int64(len(fixed)) {
		return nil, fmt.Errorf("wal: %s: %w: it has %d bytes and no header", path, ErrDamaged, size)
	}
	if err := r.read(fixed, 0); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(fixed, []byte(magic)) {
		return nil, fmt.Errorf("wal: %s: %w: it does not begin as a log does", path, ErrDamaged)
	}
	n := binary.LittleEndian.Uint32(fixed[len(magic):])
	r.at = int64(len(fixed)) + int64(n) + 8
	if n > maxMeta || r.at > size {
		return nil, fmt.Errorf("wal: %s: %w: its header does not end", path, ErrDamaged)
	}
	all := make([]byte, r.at)
	if err := r.read(all, 0); err != nil {
		return nil, err
	}
	end := len(all) - 8
	if r.seed = binary.LittleEndian.Uint64(all[end:]); r.seed != xxh3.Hash(all[:end]) {
		return nil, fmt.Errorf("wal: %s: %w: the header's checksum is another", path, ErrDamaged)
	}
	r.meta = all[len(fixed):end]
	return r, nil
}

func (r *reader) read(p []byte, at int64) error {
	if n, err := r.file.ReadAt(p, at); n < len(p) {
		return fmt.Errorf("wal: %s at offset %d: %w", r.path, at, err)
	}
	return nil
}

// next reads the next group. It returns false at the end, or with an error: at
// is then behind the last whole group.
func (r *reader) next() bool {
	if r.err != nil || r.at == r.size {
		return false
	}
	at := r.at
	whole, err := r.group(at)
	if err != nil {
		r.err = err
		return false
	}
	if whole {
		r.at = at + groupHead + int64(len(r.body))
		return true
	}
	found, err := r.search(at + 1)
	if err != nil {
		r.err = err
		return false
	}
	if found < 0 && !r.sealed {
		return false // what a killed process left
	}
	end := r.size
	if found >= 0 {
		end = found
	}
	damage := fmt.Errorf("wal: %s: %w: %d bytes from offset %d on", r.path, ErrDamaged, end-at, at)
	if r.damaged == nil {
		r.err = damage
		return false
	}
	r.damaged(damage)
	r.at = end
	return r.next()
}

// group reads the group at an offset, and reports whether one is there.
func (r *reader) group(at int64) (whole bool, err error) {
	if r.size-at < groupHead {
		return false, nil
	}
	if err := r.read(r.head[:], at); err != nil {
		return false, err
	}
	n := int64(binary.LittleEndian.Uint32(r.head[12:]))
	if !bytes.HasPrefix(r.head[:], mark) || n > maxGroup || n > r.size-at-groupHead {
		return false, nil
	}
	if int64(cap(r.body)) < n {
		r.body = make([]byte, n)
	}
	r.body = r.body[:n]
	if err := r.read(r.body, at+groupHead); err != nil {
		return false, err
	}
	r.records = binary.LittleEndian.Uint32(r.head[16:])
	return binary.LittleEndian.Uint64(r.head[4:]) == checksum(r.seed, at, r.head[12:], r.body), nil
}

// search returns where the first whole group from an offset on begins; -1: there
// is none.
func (r *reader) search(from int64) (int64, error) {
	buf := make([]byte, searchStep+len(mark)-1)
	for ; from < r.size; from += searchStep {
		b := buf[:min(int64(len(buf)), r.size-from)]
		if err := r.read(b, from); err != nil {
			return -1, err
		}
		for i := 0; ; i++ {
			n := bytes.Index(b[i:], mark)
			if n < 0 {
				break
			}
			i += n
			if whole, err := r.group(from + int64(i)); whole || err != nil {
				return from + int64(i), err
			}
		}
	}
	return -1, nil
}

// each calls yield with the records of the group that was read.
func (r *reader) each(yield func(record []byte) error) error {
	b := r.body
	for range r.records {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return fmt.Errorf("wal: %s: %w: a group that ends at offset %d has other records than it says", r.path, ErrDamaged, r.at)
		}
		b = b[size:]
		if err := yield(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	if len(b) > 0 {
		return fmt.Errorf("wal: %s: %w: a group that ends at offset %d has more than its records", r.path, ErrDamaged, r.at)
	}
	return nil
}

func checksum(seed uint64, at int64, lengths, body []byte) uint64 {
	h := xxh3.NewSeed(seed + uint64(at)) //nolint:gosec // an offset
	_, _ = h.Write(lengths)              // a hash has no error
	_, _ = h.Write(body)
	return h.Sum64()
}

// Append makes the records, which AppendRecord put together, a group, and
// returns when it is durable. After an error none of them is there; the next
// Append tries to go on.
func (l *Log) Append(records int, body []byte) error {
	if len(body) > maxGroup {
		return fmt.Errorf("wal: %s: a group of %d bytes, at most %d", l.path, len(body), maxGroup)
	}
	if l.torn {
		if err := l.heal(); err != nil {
			return err
		}
	}
	b := append(append(l.buf[:0], mark...), make([]byte, groupHead-len(mark))...)
	binary.LittleEndian.PutUint32(b[12:], uint32(len(body))) //nolint:gosec // at most maxGroup
	binary.LittleEndian.PutUint32(b[16:], uint32(records))   //nolint:gosec // each takes a byte
	binary.LittleEndian.PutUint64(b[4:], checksum(l.seed, l.size, b[12:groupHead], body))
	b = append(b, body...)
	if cap(b) <= searchStep {
		l.buf = b
	}
	_, err := l.file.WriteAt(b, l.size)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		l.torn = true
		err = fmt.Errorf("wal: %s: %w", l.path, err)
		if healed := l.heal(); healed != nil {
			err = fmt.Errorf("%w (and what was written of it is still there: %w)", err, healed)
		}
		return err
	}
	l.size += int64(len(b))
	return nil
}

// AppendRecord appends a record to the body of a group.
func AppendRecord(body, record []byte) []byte {
	return append(binary.AppendUvarint(body, uint64(len(record))), record...)
}

// heal removes what stands behind the durable groups.
func (l *Log) heal() error {
	if err := errors.Join(l.file.Truncate(l.size), l.file.Sync()); err != nil {
		return fmt.Errorf("wal: %s: %w", l.path, err)
	}
	l.torn = false
	return nil
}

// Through has the log write through what of makes of its file, as a test does that
// has writes fail.
func (l *Log) Through(of func(File) File) { l.file = of(l.file) }

// Size is how many bytes are durable.
func (l *Log) Size() int64 { return l.size }

// Path is the file's.
func (l *Log) Path() string { return l.path }

// Close closes the file.
func (l *Log) Close() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	return nil
}

// Remove removes the file at path for good.
func Remove(path string) error {
	if err := disk.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("wal: %w", err)
	}
	if err := disk.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	return nil
}
