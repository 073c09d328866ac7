package gleam

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/chrislusf/gleam/util"

	"github.com/neardup/neardup/job/engine"
)

// A row is gleam's: a length and a msgpack map of keys, values and a time.
// Its key is the int64 number of the destination, which gleam's partitioning
// takes as it is, its value one frame.

// maxRow bounds a row: a stream that lost its place has lengths at random.
const maxRow = maxFrame + 256

// endOfRows is the length that ends a stream.
const endOfRows = -1 << 31

// errRow is returned for a stream that holds something else than rows.
var errRow = errors.New("damaged row")

// rowReader reads frames from a stream of rows.
type rowReader struct {
	in  *bufio.Reader
	buf []byte
}

func newRowReader(r io.Reader) *rowReader {
	return &rowReader{in: bufio.NewReaderSize(r, 256<<10)}
}

// next returns the next row's frame, valid for good, or io.EOF.
func (r *rowReader) next() (frame []byte, err error) {
	var head [4]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		if err == io.EOF {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("%w: %w", errRow, err)
	}
	n := int32(binary.LittleEndian.Uint32(head[:]))
	if n == endOfRows {
		return nil, io.EOF
	}
	if n <= 0 || n > maxRow {
		return nil, fmt.Errorf("%w: a length of %d", errRow, n)
	}
	if cap(r.buf) < int(n) {
		r.buf = make([]byte, n, max(int(n), frameBytes+frameBytes/8))
	}
	r.buf = r.buf[:n]
	if _, err := io.ReadFull(r.in, r.buf); err != nil {
		return nil, fmt.Errorf("%w: it ends within a row: %w", errRow, err)
	}
	return decodeRow(r.buf)
}

// decodeRow returns the frame of one row.
func decodeRow(b []byte) (frame []byte, err error) {
	var row util.Row
	err = engine.Guard(func() error { // the decoder is not ours
		rest, err := row.UnmarshalMsg(b)
		if err == nil && len(rest) > 0 {
			return fmt.Errorf("%d bytes after it", len(rest))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRow, err)
	}
	if len(row.K) != 1 || len(row.V) != 1 {
		return nil, fmt.Errorf("%w: %d keys and %d values", errRow, len(row.K), len(row.V))
	}
	frame, ok := row.V[0].([]byte)
	if !ok {
		return nil, fmt.Errorf("%w: its value is a %T", errRow, row.V[0])
	}
	return frame, nil
}

// rowWriter writes frames as rows.
type rowWriter struct {
	out *bufio.Writer
	buf []byte
}

func newRowWriter(w io.Writer) *rowWriter {
	return &rowWriter{out: bufio.NewWriterSize(w, 256<<10)}
}

// write sends a frame to a destination.
func (w *rowWriter) write(to uint32, frame []byte) error {
	row := util.Row{K: []any{int64(to)}, V: []any{frame}}
	b, err := row.MarshalMsg(append(w.buf[:0], 0, 0, 0, 0))
	if err != nil {
		return fmt.Errorf("row: %w", err)
	}
	w.buf = b
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	if _, err := w.out.Write(b); err != nil {
		return fmt.Errorf("row: %w", err)
	}
	return nil
}

func (w *rowWriter) flush() error {
	if err := w.out.Flush(); err != nil {
		return fmt.Errorf("row: %w", err)
	}
	return nil
}
