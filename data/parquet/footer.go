package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/apache/thrift/lib/go/thrift"
)

// The end of a Parquet file: the footer, its size in four bytes, the magic.
const footerEnd = 8

// withoutUnknownTypes returns a file as it would be if its columns of logical
// types that Arrow does not know had none: Arrow panics over a schema with
// one, whichever columns are to be read. It looks at the footer alone, and
// returns nil when there is no such column.
func withoutUnknownTypes(f io.ReaderAt, size int64) (*io.SectionReader, error) {
	if size < footerEnd {
		return nil, nil
	}
	end := make([]byte, footerEnd)
	if _, err := f.ReadAt(end, size-footerEnd); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(end))
	start := size - footerEnd - n
	if string(end[4:]) != "PAR1" || start < 0 {
		return nil, nil
	}
	footer := make([]byte, n)
	if _, err := f.ReadAt(footer, start); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	changed := dropUnknownTypes(footer)
	if changed == nil {
		return nil, nil
	}
	tail := binary.LittleEndian.AppendUint32(changed, uint32(len(changed)))
	tail = append(tail, end[4:]...)
	return io.NewSectionReader(&retailed{f, start, tail}, 0, start+int64(len(tail))), nil
}

// retailed is a file with another end.
type retailed struct {
	f     io.ReaderAt
	start int64 // of the tail
	tail  []byte
}

func (r *retailed) ReadAt(p []byte, off int64) (n int, err error) {
	if off < r.start {
		n, err = r.f.ReadAt(p[:min(int64(len(p)), r.start-off)], off)
		if err != nil || n == len(p) {
			return n, err
		}
	}
	at := min(off+int64(n)-r.start, int64(len(r.tail)))
	m := copy(p[n:], r.tail[at:])
	if n += m; n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Fields of the footer, in Parquet's parquet.thrift, and the members of the
// union LogicalType that Arrow knows.
const (
	metaSchema         = 2  // FileMetaData.schema, a list of SchemaElement
	elementLogicalType = 10 // SchemaElement.logicalType, its last field that Arrow knows
)

func knownType(member int16) bool { return member >= 1 && member <= 8 || member >= 10 && member <= 15 }

// dropUnknownTypes returns a footer without the logical types that are not
// known; nil when it has none, or is none.
func dropUnknownTypes(footer []byte) []byte {
	var out []byte
	copied := 0
	c := newCompact(footer)
	err := c.fields(func(id int16, kind thrift.TType, _ int) error {
		if id != metaSchema || kind != thrift.LIST {
			return c.Skip(c.ctx, kind)
		}
		element, n, err := c.ReadListBegin(c.ctx)
		if err == nil && element != thrift.STRUCT {
			err = errors.New("the schema is no list of structs")
		}
		for ; n > 0 && err == nil; n-- {
			var cut int
			if cut, err = c.unknownType(); err == nil && cut >= 0 { // up to the element's stop byte
				out = append(out, footer[copied:cut]...)
				copied = c.at() - 1
			}
		}
		return err
	})
	if err != nil || copied == 0 {
		return nil
	}
	return append(out, footer[copied:]...)
}

// compact reads Thrift's compact protocol, and knows where it is.
type compact struct {
	*thrift.TCompactProtocol
	ctx  context.Context
	left *bytes.Buffer
	size int
}

func newCompact(b []byte) *compact {
	left := bytes.NewBuffer(b)
	return &compact{thrift.NewTCompactProtocolConf(&thrift.TMemoryBuffer{Buffer: left}, nil), context.Background(), left, len(b)}
}

func (c *compact) at() int { return c.size - c.left.Len() }

// fields calls f, which reads the value, for each field of the struct that
// starts here, with the place of its header.
func (c *compact) fields(f func(id int16, kind thrift.TType, header int) error) error {
	_, err := c.ReadStructBegin(c.ctx)
	for err == nil {
		header := c.at()
		_, kind, id, readErr := c.ReadFieldBegin(c.ctx)
		if readErr != nil {
			return readErr
		}
		if kind == thrift.STOP {
			return c.ReadStructEnd(c.ctx)
		}
		err = f(id, kind, header)
	}
	return err
}

// unknownType reads an element of the schema, and returns where the header of
// its logical type stands if Arrow does not know it, else -1.
func (c *compact) unknownType() (cut int, err error) {
	cut = -1
	err = c.fields(func(id int16, kind thrift.TType, header int) error {
		if id != elementLogicalType || kind != thrift.STRUCT {
			return c.Skip(c.ctx, kind)
		}
		known := false
		err := c.fields(func(member int16, kind thrift.TType, _ int) error {
			known = knownType(member)
			return c.Skip(c.ctx, kind)
		})
		if !known && cut < 0 {
			cut = header
		}
		return err
	})
	return cut, err
}
