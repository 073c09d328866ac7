package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A row is gleam's: a length of 4 bytes, little-endian, and a msgpack map of
// the arrays K__slc, its keys, and V__slc, its values, and a time T__i64. Our
// rows have one key, the int64 number of the destination, which gleam's
// partitioning takes as it is, and one value, the bytes of one frame. They
// leave out the time.
var (
	beforeKey   = []byte("\x82\xa6K__slc\x91\xd3")
	beforeFrame = []byte("\xa6V__slc\x91\xc6")
)

// maxRow bounds a row: a stream that lost its place has lengths at random.
const maxRow = maxFrame + 256

// endOfRows is the length that ends a stream.
const endOfRows = -1 << 31

// ErrRow is returned for a stream that holds something else than rows.
var ErrRow = errors.New("damaged row")

// Reader reads frames from a stream of rows.
type Reader struct {
	in *bufio.Reader
}

// NewReader returns a reader of rows.
func NewReader(r io.Reader) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 256<<10)}
}

// next returns the next row's frame, valid for good, or io.EOF.
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
	row := make([]byte, n)
	if _, err := io.ReadFull(r.in, row); err != nil {
		return nil, fmt.Errorf("%w: it ends within a row: %w", ErrRow, err)
	}
	return decodeRow(row)
}

// Each calls take with the frames of the attempt and their checksums until the
// stream ends. A frame is take's to keep. The first error ends it.
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

// decodeRow returns the frame of one row, in whatever form gleam wrote the row
// again.
func decodeRow(row []byte) ([]byte, error) {
	d := msgpack{row: row}
	var frame []byte
	keys, values := 0, 0
	for fields := d.length(0x80, 0xde); fields > 0 && !d.bad; fields-- {
		switch name := string(d.take(int(d.byte()) - 0xa0)); name {
		case "K__slc":
			if keys += d.length(0x90, 0xdc); keys == 1 {
				d.integer()
			}
		case "V__slc":
			if values += d.length(0x90, 0xdc); values == 1 {
				frame = d.bytes()
			}
		case "T__i64":
			d.integer()
		default:
			d.bad = true
		}
	}
	if d.bad || keys != 1 || values != 1 || len(d.row) > 0 {
		return nil, fmt.Errorf("%w: not one key and one frame in %d bytes", ErrRow, len(row))
	}
	return frame, nil
}

// msgpack reads the few forms of msgpack that rows have; after anything else
// it is bad and gives zeros.
type msgpack struct {
	row []byte // what is left of it
	bad bool
}

func (d *msgpack) take(n int) []byte {
	if n < 0 || n > len(d.row) {
		d.row, d.bad = nil, true
		return nil
	}
	b := d.row[:n:n]
	d.row = d.row[n:]
	return b
}

func (d *msgpack) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

// number is big-endian, of so many bytes.
func (d *msgpack) number(size int) (n int) {
	for _, b := range d.take(size) {
		n = n<<8 | int(b)
	}
	return n
}

// length is that of a map or an array: in the tag's low bits, or in the 2 or 4
// bytes that follow the tags long and long + 1.
func (d *msgpack) length(fixed, long byte) int {
	switch tag := d.byte(); {
	case tag&0xf0 == fixed:
		return int(tag & 0x0f)
	case tag == long || tag == long+1:
		return d.number(2 << (tag - long))
	}
	d.bad = true
	return 0
}

func (d *msgpack) integer() {
	switch tag := d.byte(); {
	case tag < 0x80 || tag >= 0xe0:
	case tag >= 0xcc && tag <= 0xd3:
		d.take(1 << (tag & 3))
	default:
		d.bad = true
	}
}

func (d *msgpack) bytes() []byte {
	tag := d.byte()
	if tag < 0xc4 || tag > 0xc6 {
		d.bad = true
		return nil
	}
	return d.take(d.number(1 << (tag - 0xc4)))
}

// Writer writes frames as rows. It is not safe for concurrent use.
type Writer struct {
	out *bufio.Writer
}

// NewWriter returns a writer of rows.
func NewWriter(w io.Writer) *Writer {
	return &Writer{out: bufio.NewWriterSize(w, 256<<10)}
}

// write sends a frame's bytes to a destination.
func (w *Writer) write(to uint32, frame []byte) error {
	head := make([]byte, 4, 64)
	head = binary.BigEndian.AppendUint64(append(head, beforeKey...), uint64(to))
	head = binary.BigEndian.AppendUint32(append(head, beforeFrame...), uint32(len(frame)))
	binary.LittleEndian.PutUint32(head, uint32(len(head)-4+len(frame)))
	for _, b := range [][]byte{head, frame} {
		if _, err := w.out.Write(b); err != nil {
			return fmt.Errorf("row: %w", err)
		}
	}
	return nil
}

// Write sends a frame to the task it is for.
func (w *Writer) Write(f Frame) error {
	b, _ := f.Encode()
	return w.write(f.To, b)
}

// Flush passes on what is buffered.
func (w *Writer) Flush() error {
	if err := w.out.Flush(); err != nil {
		return fmt.Errorf("row: %w", err)
	}
	return nil
}
