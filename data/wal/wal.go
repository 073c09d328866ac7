// Package wal is a write-ahead log: an append-only file of records. Records are
// written in groups. When Append returns without an error, the whole group is on
// the disk and survives a crash; after an error none of the group is kept. The package
// does not interpret records.
//
// A file is a header, which never changes, and groups. Numbers are little-endian:
//
//	┌────────┬─────────┬─────────┬─────────┬─
//	│ header │ group 0 │ group 1 │ group 2 │ …
//	└────────┴─────────┴─────────┴─────────┴─
//	header:  magic 16 bytes | length of meta, 4 | meta | checksum, 8
//	group:   mark 4 bytes | checksum, 8 | length of the body, 4 | records, 4 | body
//	body:    length of a record, a varint | record | length | record …
//
// A group's checksum is the XXH3 of everything after it, seeded with the header's
// checksum plus the group's offset. So bytes copied from another file, or from
// another offset, are not taken for a group.
//
// A group is written only when the one before it is on the disk. Hence a reader can
// tell two kinds of broken bytes apart:
//
//   - Nothing valid follows them: a crash interrupted the last write. No caller
//     was told that it succeeded, so Open cuts it off.
//   - A valid group follows them: the file was damaged later. That is ErrDamaged.
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

// ErrDamaged is returned for a file that is not a log, or whose bytes have changed
// since they were written.
var ErrDamaged = errors.New("its bytes are not those that were written")

// File is what a Log writes to: an *os.File, or in tests one whose operations fail.
type File interface {
	io.ReaderAt
	io.WriterAt
	Stat() (os.FileInfo, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// fileSystem is where logs are kept. Tests replace disk by one whose i-th operation
// fails.
type fileSystem interface {
	data.FS
	Open(path string, flag int) (File, error)
}

type osDisk struct{ data.FS }

func (osDisk) Open(path string, flag int) (File, error) { return os.OpenFile(path, flag, 0) }

var disk fileSystem = osDisk{data.OS}

// Log is a log that is open for appending. It is not safe for concurrent use.
type Log struct {
	path string
	file File
	seed uint64
	size int64 // offset behind the last durable group
	torn bool  // the file may have bytes behind size
	buf  []byte
}

// Create makes a new log at path and opens it for appending. meta is the caller's:
// Meta returns it. When Create returns without an error, the file survives a crash;
// after an error a log without records may exist. A file that exists at path is an
// error that wraps os.ErrExist.
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

// Open opens the log at path for appending, and first calls yield with each of its
// records in order. The record is valid only during the call; an error of yield ends
// Open. If a crash interrupted the last write, Open removes its bytes and returns
// how many, in cut. Other damage is ErrDamaged.
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
	if r.at == r.size { // the last group's writer may have been killed before it synced
		l.torn = false
		if err := f.Sync(); err != nil {
			return nil, 0, fmt.Errorf("wal: %s: %w", path, err)
		}
		return l, 0, nil
	}
	return l, r.size - r.at, l.heal()
}

// Read calls yield with the records of the log at path, in order; the record is
// valid only during the call. Read does not change the file.
//
// Any bytes that are not a valid group are ErrDamaged, an incomplete group at the
// end too. If damaged is not nil, Read instead calls it with an error for each such
// stretch, skips the stretch, and goes on behind it.
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

// Meta returns the meta of the log at path, as it was passed to Create.
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

// reader iterates over a file's groups.
type reader struct {
	file    io.ReaderAt
	path    string
	meta    []byte
	seed    uint64
	at      int64       // behind the last group that was read
	size    int64       // of the file
	sealed  bool        // an incomplete group at the end is damage, too
	damaged func(error) // called for each stretch that is skipped; nil: damage is an error

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

// next reads the next group into r. It returns false at the end, and on an error,
// which is in r.err; r.at is then the offset behind the last valid group.
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
		return false // an interrupted last write
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

// group reads the group at an offset, and reports whether a valid one is there.
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

// search returns the offset of the first valid group at or behind from, -1 if there
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

// each calls yield with the records of the current group.
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

// Append writes a group: body holds so many records, put together by AppendRecord.
// When it returns nil, the group is on the disk. After an error none of the records
// counts, and the Log can still be used: the next Append first removes what was
// written of this one.
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

// AppendRecord appends a record to the body of a group, for Append.
func AppendRecord(body, record []byte) []byte {
	return append(binary.AppendUvarint(body, uint64(len(record))), record...)
}

// heal truncates the file behind the durable groups.
func (l *Log) heal() error {
	if err := errors.Join(l.file.Truncate(l.size), l.file.Sync()); err != nil {
		return fmt.Errorf("wal: %s: %w", l.path, err)
	}
	l.torn = false
	return nil
}

// Through replaces the log's file by of(file). Tests use it to make writes fail.
func (l *Log) Through(of func(File) File) { l.file = of(l.file) }

// Size is the size in bytes of the file as far as it is durable.
func (l *Log) Size() int64 { return l.size }

// Path is the path of the file.
func (l *Log) Path() string { return l.path }

// Close closes the file.
func (l *Log) Close() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	return nil
}

// Remove removes the log at path, so that it stays removed after a crash. It is no
// error if there is none.
func Remove(path string) error {
	if err := disk.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("wal: %w", err)
	}
	if err := disk.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	return nil
}
