// Package stream reads input files for the readers of line formats and archives. It
// decompresses, counts and digests the bytes. It knows plain files, gzip and zstandard,
// and tells them by content, or by name if the first bytes are damaged. It gives out
// the text of a compressed member only after all of the member was verified (see
// Members). It does not interpret the text.
package stream

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/object"
)

// Compression is how a file is compressed.
type Compression string

// The compressions that are read and written.
const (
	Plain Compression = ""
	Gzip  Compression = "gz"
	Zstd  Compression = "zst"
)

// Magic numbers: RFC 1952, RFC 8878 (a frame, and a skippable frame's last
// three bytes).
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	skippable = []byte{0x2a, 0x4d, 0x18}
)

// Sniff tells the compression of the file of a split from its first bytes.
func Sniff(split data.Split, src io.ReaderAt) (Compression, error) {
	head := make([]byte, sniffed)
	n, err := src.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Plain, err
	}
	return Named(split, head[:n]), nil
}

// Detect tells the compression from a file's first bytes (4 suffice).
func Detect(head []byte) Compression {
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		return Gzip
	case bytes.HasPrefix(head, zstdMagic):
		return Zstd
	case len(head) >= 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], skippable):
		return Zstd
	}
	return Plain
}

// Raw is the bytes of a split as they stand in the file, counted and
// digested. Read and Digest are used by one goroutine, Consumed by any.
type Raw struct {
	src      io.Reader
	close    func() error
	consumed atomic.Int64
	stopped  atomic.Bool // reading fails
	sum      Sum
}

// Sum is the digest of what is written to it, XXH3 of 128 bits. It finds accidents, not
// forgers.
type Sum struct{ h xxh3.Hasher }

// Write adds bytes; it never fails.
func (s *Sum) Write(p []byte) (int, error) { return s.h.Write(p) }

// String is the digest in hexadecimal, as xxhsum -H128 prints it.
func (s *Sum) String() string {
	sum := s.h.Sum128().Bytes()
	return hex.EncodeToString(sum[:])
}

// OpenRaw opens the bytes of a split, with the options Stdin and Open.
func OpenRaw(split data.Split, o data.ReaderOptions) (*Raw, error) {
	r := &Raw{close: func() error { return nil }}
	if split.Path == "-" {
		if r.src = o.Stdin; r.src == nil {
			r.src = os.Stdin
		}
		return r, nil
	}
	f, err := object.OpenInput(split, o)
	if err != nil {
		return nil, err
	}
	r.src, r.close = f, f.Close
	if split.Start > 0 {
		if _, err := f.Seek(split.Start, io.SeekStart); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	if split.End >= 0 {
		r.src = io.LimitReader(f, split.End-split.Start)
	}
	return r, nil
}

func (r *Raw) Read(p []byte) (int, error) {
	if r.stopped.Load() {
		return 0, os.ErrClosed
	}
	n, err := r.src.Read(p)
	if n > 0 {
		_, _ = r.sum.Write(p[:n]) // it never fails
		r.consumed.Add(int64(n))
	}
	return n, err
}

// Interrupt makes reading fail from now on. Any goroutine may call it.
func (r *Raw) Interrupt() { r.stopped.Store(true) }

// Consumed is the number of bytes read.
func (r *Raw) Consumed() int64 { return r.consumed.Load() }

// Digest is the Sum of the bytes read.
func (r *Raw) Digest() string { return r.sum.String() }

// Digest is the Sum of sections of a file one after the other, each of which is an
// offset and a length; nil means all of it.
func Digest(f io.ReadSeeker, sections [][2]int64) (string, error) {
	if sections == nil {
		sections = [][2]int64{{0, math.MaxInt64}}
	}
	var sum Sum
	for _, s := range sections {
		if _, err := f.Seek(s[0], io.SeekStart); err != nil {
			return "", err
		}
		if _, err := io.Copy(&sum, io.LimitReader(f, s[1])); err != nil {
			return "", err
		}
	}
	return sum.String(), nil
}

// Close closes the file; standard input stays open.
func (r *Raw) Close() error { return r.close() }

// Damage is a range of a compressed file that was skipped: it cannot be decompressed,
// or its text does not match its checksum.
type Damage struct {
	Offset   int64 // in the split, of the member at its beginning
	Bytes    int64 // its length in the file
	Cut      bool  // the file ends within it
	TooLarge bool  // decompressing it takes more memory than there is
	Err      error
}

func (d *Damage) Error() string {
	switch {
	case d.Cut:
		return fmt.Sprintf("the compressed file is cut off: its last %d bytes are lost: %v: fetch it again", d.Bytes, d.Err)
	case d.TooLarge:
		return fmt.Sprintf("%d bytes of the compressed file are left out: %v", d.Bytes, d.Err)
	}
	return fmt.Sprintf("the compressed file is damaged: %d bytes of it are lost: %v: fetch it again", d.Bytes, d.Err)
}

func (d *Damage) Unwrap() error { return d.Err }

// Record is the bad record that stands for the damage, of a split's path; raw
// is of what the damage cut in two.
func (d *Damage) Record(path string, raw []byte) *data.BadRecord {
	reason := data.ReasonDamaged
	if d.TooLarge {
		reason = data.ReasonTooLarge
	}
	return &data.BadRecord{Source: path, Offset: d.Offset, Reason: reason, Err: d, Raw: raw, Lost: max(d.Bytes, 1)}
}

// isCut reports whether data ends too early, rather than being wrong.
func isCut(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// Watched is a reader that remembers whether it failed. With it a decoder's error can
// be told apart: the file could not be read, or its bytes are damaged.
type Watched struct {
	io.Reader
	Failed error // not io.EOF
}

func (w *Watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.Failed = err
	}
	return n, err
}

// Reader reads the text of a split, whatever its compression: the texts of its
// members, one after the other.
type Reader struct {
	*Members
	inside bool // a member
	err    error
	digest string
}

// Open opens a split's bytes, with the options as of OpenMembers.
func Open(split data.Split, o data.ReaderOptions) (*Reader, error) {
	m, err := OpenMembers(split, o)
	if err != nil {
		return nil, err
	}
	return &Reader{Members: m}, nil
}

// Read reads the next bytes of text. At the end of the split it returns io.EOF. A
// *Damage as the error means that text is missing here; the next Read goes on behind
// it.
func (r *Reader) Read(p []byte) (int, error) {
	for r.err == nil {
		if !r.inside {
			if err := r.Next(); err != nil {
				return 0, r.end(err)
			}
			r.inside = true
		}
		n, err := r.Members.Read(p)
		if r.inside = err == nil; err != nil && !errors.Is(err, io.EOF) {
			return n, r.end(err)
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, r.err
}

// end keeps the error that ended the reading, unless it is a damage.
func (r *Reader) end(err error) error {
	if errors.As(err, new(*Damage)) {
		return err
	}
	if r.err = err; errors.Is(err, io.EOF) {
		r.digest = r.Raw.Digest()
	}
	return err
}

// Rest passes over what is left of the file, and returns how many bytes it has.
func (r *Reader) Rest() (int64, error) {
	n, err := r.Members.Rest()
	if err == nil {
		err = io.EOF
	}
	if err = r.end(err); errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// Digest is the Sum of the split's bytes in the file, to its end also if they are
// damaged; empty before the end was read.
func (r *Reader) Digest() string { return r.digest }

// Close ends the reading; it may be called at any time, and again.
func (r *Reader) Close() error {
	r.err = os.ErrClosed
	return r.Members.Close()
}

// headBuffer is small: a file may be, of which only the head is read.
const headBuffer = 8 << 10

// Head returns the first bytes of a file's text, at most n of them. They are not
// verified.
func Head(split data.Split, src io.Reader, n int) (head []byte, c Compression, err error) {
	watched := &Watched{Reader: src}
	in := bufio.NewReaderSize(watched, headBuffer)
	begin, err := in.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, Plain, err
	}
	head = make([]byte, n)
	if c = Named(split, begin); c == Plain {
		n, _ = io.ReadFull(in, head)
		return head[:n], c, watched.Failed
	}
	var dictionary []byte
	if c == Zstd {
		dictionary, err = ReadDictionary(in)
	}
	var z codec
	if err == nil || errors.Is(err, io.EOF) {
		z, err = newCodec(c, dictionary, heldWindow)
	}
	if err != nil {
		return nil, c, watched.Failed
	}
	defer z.close()
	at := 0
	for at < n && z.reset(in) == nil {
		var read int
		read, err = io.ReadFull(z, head[at:])
		if at += read; err == nil || !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
	}
	return head[:at], c, watched.Failed
}
