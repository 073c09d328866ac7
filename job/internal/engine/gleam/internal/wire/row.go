//go:build linux

package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// A row has gleam's format: a length of 4 bytes, little-endian, then a msgpack map
// with two arrays, the keys K__slc and the values V__slc. (gleam omits the time
// T__i64 when it is 0.) Our rows have one key, the destination's number as an int64,
// by which gleam partitions them, and one value, the bytes of one frame. gleam
// re-encodes rows on the way, with numbers and lengths in their shortest form, so a
// reader has to accept all of these forms.
const (
	beforeKey   = "\x82\xa6K__slc\x91"
	longestKey  = 1 + 8
	longKey     = 0xd3 // int64 follows
	beforeFrame = "\xa6V__slc\x91"
	shortFrame  = 0xc4 // length of 1 byte follows; of 2 bytes one higher, of 4 two
)

// maxRow bounds a row's length. In a damaged stream a length can be any number.
const maxRow = maxFrame + 256

// endOfRows, in the place of a row's length, ends a stream.
const endOfRows = -1 << 31

// ErrRow is returned for a stream that is not rows of one frame each.
var ErrRow = errors.New("damaged row")

// Reader reads frames from a stream of rows. It is not safe for concurrent use.
type Reader struct {
	in  *bufio.Reader
	row []byte
}

// NewReader returns a reader of rows.
func NewReader(r io.Reader) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 256<<10)}
}

// next returns the next row's frame, or io.EOF. The bytes are good until the next call.
func (r *Reader) next() (frame []byte, err error) {
	var head [4]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		if err == io.EOF {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("%w: %w", ErrRow, err)
	}
	n := int32(binary.LittleEndian.Uint32(head[:]))
	if n == endOfRows {
		return nil, io.EOF
	}
	if n <= 0 || n > maxRow {
		return nil, fmt.Errorf("%w: a length of %d", ErrRow, n)
	}
	r.row = slices.Grow(r.row[:0], int(n))[:n]
	if _, err := io.ReadFull(r.in, r.row); err != nil {
		return nil, fmt.Errorf("%w: it ends within a row: %w", ErrRow, err)
	}
	return decodeRow(r.row)
}

// Each calls take with each frame and its checksum until the stream ends. take must
// not keep a frame's payload. Each returns the first error: take's, ErrRow, or ErrFrame, also for
// a frame of another attempt.
func (r *Reader) Each(attempt uint64, take func(f Frame, sum uint64) error) error {
	for {
		b, err := r.next()
		if errors.Is(err, io.EOF) && !errors.Is(err, ErrRow) {
			return nil
		}
		if err != nil {
			return err
		}
		f, sum, err := Decode(b, attempt)
		if err != nil {
			return err
		}
		if err := take(f, sum); err != nil {
			return err
		}
	}
}

// decodeRow returns the frame of one row.
func decodeRow(row []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(row, []byte(beforeKey))
	key := bytes.Index(rest[:min(len(rest), longestKey+len(beforeFrame))], []byte(beforeFrame))
	if ok && key > 0 {
		if rest = rest[key+len(beforeFrame):]; len(rest) > 0 && rest[0] >= shortFrame && rest[0] <= shortFrame+2 {
			var length [4]byte
			size := 1 << (rest[0] - shortFrame)
			copy(length[4-size:], rest[1:])
			if frame := rest[min(1+size, len(rest)):]; int(binary.BigEndian.Uint32(length[:])) == len(frame) {
				return frame, nil
			}
		}
	}
	return nil, fmt.Errorf("%w: not one key and one frame in %d bytes", ErrRow, len(row))
}

// Writer writes frames as rows. It is not safe for concurrent use.
type Writer struct {
	out *bufio.Writer
}

// NewWriter returns a writer of rows.
func NewWriter(w io.Writer) *Writer {
	return &Writer{out: bufio.NewWriterSize(w, 256<<10)}
}

// write writes a row with a frame's bytes for a destination.
func (w *Writer) write(to uint32, frame []byte) error {
	head := append(make([]byte, 4, 64), beforeKey...)
	head = binary.BigEndian.AppendUint64(append(head, longKey), uint64(to))
	head = append(append(head, beforeFrame...), shortFrame+2)
	head = binary.BigEndian.AppendUint32(head, uint32(len(frame)))
	binary.LittleEndian.PutUint32(head, uint32(len(head)-4+len(frame)))
	for _, b := range [][]byte{head, frame} {
		if _, err := w.out.Write(b); err != nil {
			return fmt.Errorf("row: %w", err)
		}
	}
	return nil
}

// Write writes a row with the frame, for the task f.To.
func (w *Writer) Write(f Frame) error {
	b, _ := f.Encode()
	return w.write(f.To, b)
}

// Flush writes out what is buffered.
func (w *Writer) Flush() error {
	if err := w.out.Flush(); err != nil {
		return fmt.Errorf("row: %w", err)
	}
	return nil
}
