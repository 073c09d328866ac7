package arrow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/neardup/neardup/data/internal/panics"
)

// Polars writes files whose first message is no message: the length before the schema
// is missing. Such a file is read as others read it, by its footer, which holds the
// schema and where the first batches and dictionaries stand; there the messages begin.

// Fields of the format's Footer, as in message.go. A block says where a message begins.
const (
	footerSchema, footerDictionaries, footerBatches = 6, 8, 10
	blockBytes                                      = 24
)

// footer is what the end of a file says.
type footer struct {
	schema       message
	begin        int64   // of the first other message
	dictionaries []int64 // where each begins
}

// readFooter reads the footer of a file. The error wraps errDamaged if the bytes are wrong.
func readFooter(f io.ReaderAt, size int64) (at footer, err error) {
	end := make([]byte, footerEnd)
	if _, err := f.ReadAt(end, max(size-footerEnd, 0)); err != nil {
		return at, cut(size, err)
	}
	n := int64(binary.LittleEndian.Uint32(end))
	if string(end[4:]) != magic || n > min(size-footerEnd, largestFooter) {
		return at, fmt.Errorf("%w: no footer at its end", errDamaged)
	}
	bytes := make([]byte, n)
	if _, err := f.ReadAt(bytes, size-footerEnd-n); err != nil {
		return at, cut(size, err)
	}
	const endMark = 8
	at.begin = size - footerEnd - n - endMark
	if err := panics.AsError(func() error { return at.parse(bytes) }); err != nil {
		return at, fmt.Errorf("%w: the footer: %w", errDamaged, err)
	}
	return at, nil
}

func (f *footer) parse(bytes []byte) error {
	table := flatbuffers.Table{Bytes: bytes, Pos: flatbuffers.GetUOffsetT(bytes)}
	v := verifier{left: 2 * len(bytes)}
	for _, blocks := range []flatbuffers.VOffsetT{footerDictionaries, footerBatches} {
		at, n, err := v.vector(table, blocks, blockBytes)
		if err != nil {
			return err
		}
		for i := range n {
			block := table.GetInt64(at + flatbuffers.UOffsetT(i*blockBytes))
			if block < int64(len(fileMagic)) {
				return fmt.Errorf("a message at offset %d", block)
			}
			f.begin = min(f.begin, block)
			if blocks == footerDictionaries {
				f.dictionaries = append(f.dictionaries, block)
			}
		}
	}
	schema := child(table, footerSchema)
	if schema == nil {
		return errors.New("it has no schema")
	}
	f.schema.meta = messageBefore(bytes, schema.Pos)
	return f.schema.parse()
}

// messageBefore is a flatbuffer that holds a schema's message before another one: its
// header is the schema at that place of the other. Places in flatbuffers are counted
// from where they are named, so that nothing within the other changes.
func messageBefore(other []byte, schema flatbuffers.UOffsetT) []byte {
	const (
		vtable, table, header, size = 4, 16, 20, 32
		version5                    = 4
	)
	b := make([]byte, size, size+len(other))
	le := binary.LittleEndian
	le.PutUint32(b, table)
	for i, v := range [...]uint16{10, 12, 8, 10, header - table} { // of the vtable, of the table; version, type and header within it
		le.PutUint16(b[vtable+2*i:], v)
	}
	le.PutUint32(b[table:], table-vtable)
	le.PutUint32(b[header:], uint32(size-header)+uint32(schema))
	le.PutUint16(b[table+8:], version5)
	b[table+10] = schemaMessage
	return append(b, other...)
}
