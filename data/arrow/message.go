package arrow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow/go/v15/arrow/memory"
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/neardup/neardup/data/internal/panics"
)

// An Arrow IPC stream is a row of messages, each
//
//	0xFFFFFFFF | int32 length of the metadata | metadata, a flatbuffer | body
//
// without the first four bytes before format version 0.15. It begins with the schema,
// goes on with dictionaries and record batches, and ends with a length of 0, or with
// the stream itself. A file is the same stream between fileMagic, padded to eight bytes,
// and a footer that says where the batches stand: footer, its length, "ARROW1". What
// the messages say of themselves is checked here, before arrow's own decoder makes
// anything of it: that takes memory for whatever length it is told.

const (
	magic         = "ARROW1"
	fileMagic     = magic + "\x00\x00"
	continuation  = math.MaxUint32
	largestHead   = 64 << 20 // of the metadata of a message; a schema of a million columns has less
	footerEnd     = 10       // its length, and the mark
	largestFooter = 1 << 30
)

// Types of messages, as the format numbers them.
const (
	schemaMessage     = 1
	dictionaryMessage = 2
	batchMessage      = 3
)

var (
	errDamaged    = errors.New("damaged")
	errLargeBatch = errors.New("a record batch takes more memory than there is")
)

// message is the head of a message: its metadata, and what that says.
type message struct {
	at   int64  // where it begins
	head []byte // of one that cannot be read: its bytes so far
	meta []byte
	body int64 // bytes
	kind byte
	rows int64 // of a batch
	load load
}

// load is what the data of a batch or a dictionary take once they are decoded.
type load struct {
	buffers    [][2]int64 // offset and length of each, in the body
	compressed bool
}

// messages reads the heads of messages; who calls next reads or skips the body before
// the next call.
type messages struct {
	in io.Reader
	at int64 // bytes of the stream, or the file, before what is read next
}

// next reads the head of the next message. io.EOF where the stream ends between two
// messages, errEnd behind the mark of its end. Any other error says that nothing that
// follows can be read; it wraps errDamaged if the bytes are wrong, not the reading.
func (m *messages) next() (msg message, err error) {
	msg.at = m.at
	var prefix [4]byte
	if err := m.fill(prefix[:]); err != nil {
		return msg, err // io.EOF as it is
	}
	n := binary.LittleEndian.Uint32(prefix[:])
	if n == continuation {
		if err := m.fill(prefix[:]); err != nil {
			return msg, cut(m.at, err)
		}
		n = binary.LittleEndian.Uint32(prefix[:])
	}
	switch {
	case n == 0:
		return msg, errEnd
	case n > largestHead:
		return msg, fmt.Errorf("%w: no message begins at offset %d", errDamaged, msg.at)
	}
	if msg.meta, err = m.take(int64(n)); err != nil {
		return msg, cut(m.at, err)
	}
	if err := panics.AsError(func() error { return msg.parse() }); err != nil {
		msg.head = append(prefix[:], msg.meta...)
		return msg, fmt.Errorf("%w: the message at offset %d: %w", errDamaged, msg.at, err)
	}
	return msg, nil
}

// errEnd is returned behind the mark of a stream's end.
var errEnd = errors.New("the end of the stream")

// cut makes the end of the file, at an offset within a message, a damage.
func cut(at int64, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: the file is cut off at offset %d, within a message", errDamaged, at)
	}
	return err
}

func (m *messages) fill(p []byte) error {
	n, err := io.ReadFull(m.in, p)
	m.at += int64(n)
	if n > 0 && err != nil {
		return cut(m.at, err)
	}
	return err
}

// take reads n bytes. It takes no more memory than twice what there is to read.
func (m *messages) take(n int64) ([]byte, error) {
	const step = 1 << 20
	b := make([]byte, min(n, step))
	for done := int64(0); ; {
		if err := m.fill(b[done:]); err != nil {
			return nil, err
		}
		if done = int64(len(b)); done == n {
			return b, nil
		}
		more := make([]byte, min(n, 2*done))
		copy(more, b)
		b = more
	}
}

// skip passes over n bytes.
func (m *messages) skip(n int64) error {
	if s, ok := m.in.(io.Seeker); ok {
		m.at += n
		_, err := s.Seek(n, io.SeekCurrent)
		return err
	}
	read, err := io.CopyN(io.Discard, m.in, n)
	m.at += read
	return err
}

// allocator is arrow's, up to a size: offsets that are damaged can tell it any.
type allocator struct{ memory.Allocator }

var mem = allocator{memory.NewGoAllocator()}

// largestBuffer is far above what batches have, in bytes.
const largestBuffer = 4 << 30

func (a allocator) Allocate(size int) []byte {
	if size > largestBuffer {
		panic(errLargeBatch) // an error of who asked, by panics.AsError
	}
	return a.Allocator.Allocate(size)
}

func (a allocator) Reallocate(size int, b []byte) []byte {
	if size > largestBuffer {
		panic(errLargeBatch)
	}
	return a.Allocator.Reallocate(size, b)
}

// Fields of the format's tables, as places in their vtables: 4 + 2 × their number in
// Message.fbs and Schema.fbs.
const (
	messageHeaderType, messageHeader, messageBody   = 6, 8, 10
	batchLength, batchNodes, batchBuffers           = 4, 6, 8
	batchCompression, batchVariadic                 = 10, 12
	dictionaryData                                  = 6
	schemaFields, schemaMetadata, schemaFeatures    = 6, 8, 10
	fieldName, fieldTypeIs, fieldType               = 4, 8, 10
	fieldDictionary, fieldChildren, fieldMetadata   = 12, 14, 16
	keyValueKey, keyValueValue                      = 4, 6
	unionTypeIDs, timestampZone                     = 6, 6
	typeTimestamp, typeUnion                        = 10, 14
	nodeBytes, bufferBytes, variadicBytes, idsBytes = 16, 16, 8, 4
)

// parse reads what a head says of its message. Panics come of offsets that are wrong.
func (m *message) parse() error {
	table := flatbuffers.Table{Bytes: m.meta, Pos: flatbuffers.GetUOffsetT(m.meta)}
	m.kind = table.GetByteSlot(messageHeaderType, 0)
	if m.body = table.GetInt64Slot(messageBody, 0); m.body < 0 {
		return fmt.Errorf("a body of %d bytes", m.body)
	}
	header := child(table, messageHeader)
	if header == nil {
		return errors.New("it has no header")
	}
	// Offsets may lead to one place many times, so that a head says more than it
	// has room for: what is read of it is bounded.
	v := verifier{left: 64*len(m.meta) + 1<<16}
	switch m.kind {
	case schemaMessage:
		return v.schema(*header)
	case dictionaryMessage:
		batch := child(*header, dictionaryData)
		if batch == nil {
			return errors.New("a dictionary without values")
		}
		return m.parseBatch(v, *batch)
	case batchMessage:
		return m.parseBatch(v, *header)
	}
	return fmt.Errorf("a message of type %d, which is no schema, dictionary or record batch", m.kind)
}

// child is the table that a field of another refers to; nil if there is none.
func child(t flatbuffers.Table, slot flatbuffers.VOffsetT) *flatbuffers.Table {
	o := flatbuffers.UOffsetT(t.Offset(slot))
	if o == 0 {
		return nil
	}
	return &flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(o + t.Pos)}
}

func (m *message) parseBatch(v verifier, t flatbuffers.Table) error {
	if m.rows = t.GetInt64Slot(batchLength, 0); m.rows < 0 {
		return fmt.Errorf("%d rows", m.rows)
	}
	m.load.compressed = child(t, batchCompression) != nil
	if _, _, err := v.vector(t, batchNodes, nodeBytes); err != nil {
		return err
	}
	at, n, err := v.vector(t, batchBuffers, bufferBytes)
	if err != nil {
		return err
	}
	for i := range n {
		p := at + flatbuffers.UOffsetT(i*bufferBytes)
		offset, length := t.GetInt64(p), t.GetInt64(p+8)
		if offset < 0 || length < 0 || offset > m.body || length > m.body-offset {
			return fmt.Errorf("buffer %d of it, %d bytes at %d, is not within its body of %d", i, length, offset, m.body)
		}
		m.load.buffers = append(m.load.buffers, [2]int64{offset, length})
	}
	at, views, err := v.vector(t, batchVariadic, variadicBytes)
	if err != nil {
		return err
	}
	for i := range views {
		if c := t.GetInt64(at + flatbuffers.UOffsetT(i*variadicBytes)); c < 0 || c > int64(n) {
			return fmt.Errorf("a column of %d buffers, of %d in all", c, n)
		}
	}
	const valueless = 1 << 20 // rows of columns that have no values at all
	if m.rows > valueless && m.rows/8 > m.body && !m.load.compressed {
		return fmt.Errorf("%d rows in %d bytes", m.rows, m.body)
	}
	return nil
}

// memory is how much the data take beside the body, once they are decoded, as the
// body says it: arrow copies a buffer, or decompresses it to the length before it.
func (l load) memory(body []byte) (all int64, err error) {
	for i, b := range l.buffers {
		n := b[1]
		if l.compressed && n > 0 {
			if n < 8 {
				return 0, fmt.Errorf("buffer %d has no length", i)
			}
			switch said := int64(binary.LittleEndian.Uint64(body[b[0]:])); {
			case said == -1: // not compressed
			case said < 0 || said > math.MaxInt32 || all+said > math.MaxInt32*4:
				return 0, fmt.Errorf("%w: %d bytes in buffer %d: write smaller batches", errLargeBatch, said, i)
			default:
				n = said
			}
		}
		all += n
	}
	return all, nil
}

// verifier bounds what is read of a head.
type verifier struct{ left int }

// vector is where a vector of a table begins, and how many elements of a size it has,
// all of which are there.
func (v *verifier) vector(t flatbuffers.Table, slot flatbuffers.VOffsetT, size int) (at flatbuffers.UOffsetT, n int, err error) {
	o := flatbuffers.UOffsetT(t.Offset(slot))
	if o == 0 {
		return 0, 0, nil
	}
	at, n = t.Vector(o), t.VectorLen(o)
	if n < 0 || int64(at)+int64(n)*int64(size) > int64(len(t.Bytes)) {
		return 0, 0, fmt.Errorf("a vector of %d elements, which are not there", n)
	}
	if v.left -= n*size + 8; v.left < 0 {
		return 0, 0, errors.New("a head that says more than it has room for")
	}
	return at, n, nil
}

// tables calls f for each table of a vector of them.
func (v *verifier) tables(t flatbuffers.Table, slot flatbuffers.VOffsetT, f func(flatbuffers.Table) error) error {
	at, n, err := v.vector(t, slot, flatbuffers.SizeUOffsetT)
	for i := 0; i < n && err == nil; i++ {
		err = f(flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(at + flatbuffers.UOffsetT(i*flatbuffers.SizeUOffsetT))})
	}
	return err
}

func (v *verifier) words(t flatbuffers.Table, slots ...flatbuffers.VOffsetT) error {
	for _, slot := range slots {
		if _, _, err := v.vector(t, slot, 1); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) metadata(t flatbuffers.Table) error { return v.words(t, keyValueKey, keyValueValue) }

func (v *verifier) schema(t flatbuffers.Table) error {
	if _, _, err := v.vector(t, schemaFeatures, 8); err != nil {
		return err
	}
	if err := v.tables(t, schemaMetadata, v.metadata); err != nil {
		return err
	}
	return v.tables(t, schemaFields, func(f flatbuffers.Table) error { return v.field(f, deepest) })
}

// deepest is how deep columns may be nested.
const deepest = 64

func (v *verifier) field(t flatbuffers.Table, deeper int) error {
	if deeper == 0 {
		return fmt.Errorf("columns nested deeper than %d", deepest)
	}
	if err := v.words(t, fieldName); err != nil {
		return err
	}
	if of := child(t, fieldType); of != nil {
		var err error
		switch t.GetByteSlot(fieldTypeIs, 0) {
		case typeUnion:
			_, _, err = v.vector(*of, unionTypeIDs, idsBytes)
		case typeTimestamp:
			err = v.words(*of, timestampZone)
		}
		if err != nil {
			return err
		}
	}
	if err := v.tables(t, fieldMetadata, v.metadata); err != nil {
		return err
	}
	return v.tables(t, fieldChildren, func(f flatbuffers.Table) error { return v.field(f, deeper-1) })
}
