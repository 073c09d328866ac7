// Package stream gives the bytes of an input file to the readers of line
// formats and archives: decompressed, read ahead, counted and digested. It
// knows plain, gzip and zstandard, by content and not by name. It never looks
// at what the bytes mean.
package stream

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"

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

// Sniff tells the compression of what src starts with, and returns it as it
// was.
func Sniff(src io.Reader) (Compression, io.Reader, error) {
	head := make([]byte, 4)
	n, err := io.ReadFull(src, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Plain, nil, err
	}
	return Detect(head[:n]), io.MultiReader(bytes.NewReader(head[:n]), src), nil
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

// blockSize is how much is decompressed ahead.
const blockSize = 256 << 10

// Raw is the bytes of a split as they stand in the file, counted and
// digested. Read and Digest are used by one goroutine, Consumed by any.
type Raw struct {
	src      io.Reader
	close    func() error
	consumed atomic.Int64
	sum      hash.Hash
}

// OpenRaw opens the bytes of a split. stdin is what the path "-" reads; nil
// means os.Stdin.
func OpenRaw(split data.Split, stdin io.Reader) (*Raw, error) {
	r := &Raw{sum: sha256.New(), close: func() error { return nil }}
	if split.Path == "-" {
		if stdin == nil {
			stdin = os.Stdin
		}
		r.src = stdin
		return r, nil
	}
	f, err := object.Open(split.Path)
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
	n, err := r.src.Read(p)
	if n > 0 {
		r.sum.Write(p[:n])
		r.consumed.Add(int64(n))
	}
	return n, err
}

// Consumed is the number of bytes read.
func (r *Raw) Consumed() int64 { return r.consumed.Load() }

// Digest is the SHA-256 of the bytes read, in hexadecimal.
func (r *Raw) Digest() string { return hex.EncodeToString(r.sum.Sum(nil)) }

// Digest is the SHA-256, in hexadecimal, of sections of a file one after the
// other, each of which is an offset and a length; nil means all of it.
func Digest(path string, sections [][2]int64) (string, error) {
	f, err := object.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // opened for reading
	if sections == nil {
		sections = [][2]int64{{0, math.MaxInt64}}
	}
	sum := sha256.New()
	for _, s := range sections {
		if _, err := f.Seek(s[0], io.SeekStart); err != nil {
			return "", err
		}
		if _, err := io.Copy(sum, io.LimitReader(f, s[1])); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Close closes the file; standard input stays open.
func (r *Raw) Close() error { return r.close() }

// Damage ends the decompressed bytes of a file that is cut off or broken: what
// came before it is right, and of what follows nothing can be read.
type Damage struct {
	Cut bool // the file ends too early
	Err error
}

func (d *Damage) Error() string {
	if d.Cut {
		return fmt.Sprintf("the compressed file is cut off: %v", d.Err)
	}
	return fmt.Sprintf("the compressed file is damaged: %v", d.Err)
}

func (d *Damage) Unwrap() error { return d.Err }

func damage(err error) *Damage {
	return &Damage{Cut: errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF), Err: err}
}

// Watched is a reader that remembers that it failed, so that a file that
// cannot be read is told from one that is damaged.
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

// Reader is the decompressed bytes of a split. Compressed input is
// decompressed ahead, in a goroutine that Close ends.
type Reader struct {
	*Raw
	src  *Watched  // of Raw
	text io.Reader // src, or what it is decompressed to
	stop func()    // returns once nothing reads src; may be called again

	err    error // ended the reading
	digest string
}

// Open opens a split's bytes, of whatever compression they are.
func Open(split data.Split, stdin io.Reader) (*Reader, error) {
	raw, err := OpenRaw(split, stdin)
	if err != nil {
		return nil, err
	}
	compression, whole, err := Sniff(raw)
	if err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	r := &Reader{Raw: raw, src: &Watched{Reader: whole}, stop: func() {}}
	r.text = r.src
	if compression == Plain || split.Start > 0 { // a later piece of a file is plain text
		return r, nil
	}
	dec, end, err := Decompress(r.src, compression)
	if r.src.Failed != nil {
		return nil, errors.Join(err, raw.Close())
	}
	text, ahead := io.Pipe()
	var done sync.WaitGroup
	done.Go(func() {
		if err == nil { // else of the header: the damage is at the start
			defer end()
			out := bufio.NewWriterSize(ahead, blockSize)
			_, err = out.ReadFrom(dec)
			err = errors.Join(out.Flush(), err)
		}
		ahead.CloseWithError(err) // it returns nil
	})
	r.text, r.stop = text, func() {
		_ = text.Close() // it returns nil
		done.Wait()
	}
	return r, nil
}

// Decompress returns the decompressed bytes of src, and what to call in the
// end. All members of a gzip file and all frames of a zstandard file are one
// stream.
func Decompress(src io.Reader, c Compression) (io.Reader, func(), error) {
	switch c {
	case Gzip:
		z, err := gzip.NewReader(src)
		if err != nil {
			return nil, nil, fmt.Errorf("gzip: %w", err)
		}
		return z, func() {}, nil
	case Zstd:
		in := bufio.NewReader(src)
		dictionary, err := ReadDictionary(in)
		if err != nil {
			return nil, nil, err
		}
		z, err := NewZstd(in, dictionary, 0)
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return src, func() {}, nil
}

// Read reads on, and returns io.EOF at the end of the split, or a *Damage
// where what is compressed cannot be read to its end.
func (r *Reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.text.Read(p)
	if err != nil {
		r.end(err)
	}
	return n, r.err
}

// end keeps the error that ended the reading. Of a file that cannot be
// decompressed it reads the rest, for the digest; one that cannot be read
// stays the error that it is.
func (r *Reader) end(err error) {
	r.stop()
	if !errors.Is(err, io.EOF) && r.src.Failed == nil {
		if _, r.err = io.Copy(io.Discard, r.src); r.err == nil {
			r.err, r.digest = damage(err), r.Raw.Digest()
		}
		return
	}
	if r.err = err; r.src.Failed == nil {
		r.digest = r.Raw.Digest()
	}
}

// Digest is the SHA-256 of the split's bytes in the file, to its end also if
// they are damaged; empty before the end was read.
func (r *Reader) Digest() string { return r.digest }

// Close ends the reading; it may be called at any time, and again.
func (r *Reader) Close() error {
	if errors.Is(r.err, os.ErrClosed) {
		return nil
	}
	r.stop()
	r.err = os.ErrClosed
	return r.Raw.Close()
}
