package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/apache/thrift/lib/go/thrift"
)

// The end of a Parquet file: the footer, its size in four bytes, the magic.
const footerEnd = 8

// footerWriter writes to a file, but keeps the footer until its bytes are what they
// should be.
type footerWriter struct {
	to     io.Writer
	footer *bytes.Buffer // nil before begin
}

func (f *footerWriter) Write(p []byte) (int, error) {
	if f.footer != nil {
		return f.footer.Write(p)
	}
	return f.to.Write(p)
}

// begin ends the row groups: what is written from now on is the footer.
func (f *footerWriter) begin() { f.footer = new(bytes.Buffer) }

// end writes the footer, which last changes in place, after all else is as it should be.
func (f *footerWriter) end(last func(footer []byte) error) error {
	footer := f.footer.Bytes()
	if err := sortEncodings(footer); err != nil {
		return err
	}
	if err := last(footer); err != nil {
		return err
	}
	_, err := f.to.Write(footer)
	return err
}

// readFooter returns the footer of a file of that size, with its end, and where
// it starts; nil if the file's end tells of none.
func readFooter(f io.ReaderAt, size int64) (footer []byte, start int64, err error) {
	if size < footerEnd {
		return nil, 0, nil
	}
	end := make([]byte, footerEnd)
	if _, err := f.ReadAt(end, size-footerEnd); err != nil {
		return nil, 0, err
	}
	start = size - footerEnd - int64(binary.LittleEndian.Uint32(end))
	if string(end[4:]) != "PAR1" || start < 0 {
		return nil, 0, nil
	}
	footer = make([]byte, size-start)
	_, err = f.ReadAt(footer, start)
	return footer, start, err
}

// withoutUnknownTypes returns a view of a file in which columns of logical types that
// Arrow does not know have no logical type; nil if there is no such column. Arrow
// panics if a schema has one, whichever columns are to be read. It reads only the
// footer, and does not change the file.
func withoutUnknownTypes(f io.ReaderAt, size int64) (*io.SectionReader, error) {
	footer, start, err := readFooter(f, size)
	if err != nil || footer == nil || !dropUnknownTypes(footer[:len(footer)-footerEnd]) {
		return nil, err
	}
	return io.NewSectionReader(&patched{f, start, footer}, 0, size), nil
}

// patched is a file whose footer is replaced by another of the same size.
type patched struct {
	io.ReaderAt
	start  int64 // of the footer
	footer []byte
}

func (p *patched) ReadAt(b []byte, off int64) (n int, err error) {
	n, err = p.ReaderAt.ReadAt(b, off)
	if from := max(p.start-off, 0); from < int64(n) {
		copy(b[from:n], p.footer[min(off+from-p.start, int64(len(p.footer))):])
	}
	return n, err
}

// Fields of the footer, in Parquet's parquet.thrift, and the members of the
// union LogicalType that Arrow knows.
const (
	metaSchema         = 2  // FileMetaData.schema, a list of SchemaElement
	elementLogicalType = 10 // SchemaElement.logicalType, its last field that Arrow knows
)

// The way from the footer to the numbers of pages by their encoding: row_groups, columns,
// meta_data, encoding_stats.
var encodingStats = []int16{4, 1, 3, 13}

// sortEncodings puts what a footer says of each column's pages in order, in place. Arrow
// counts pages by their encoding in a map, so that a column of which some pages have a
// dictionary and some have none has them in either order: the same rows were other bytes.
func sortEncodings(footer []byte) error {
	c := newCompact(footer)
	return c.walk(encodingStats, func() error {
		_, n, err := c.ReadListBegin(c.ctx)
		first := c.at()
		var stats [][]byte
		for ; n > 0 && err == nil; n-- {
			start := c.at()
			err = c.Skip(c.ctx, thrift.STRUCT)
			stats = append(stats, bytes.Clone(footer[start:c.at()]))
		}
		slices.SortFunc(stats, func(a, b []byte) int { return bytes.Compare(b, a) }) // dictionaries first, as Arrow has them
		copy(footer[first:], bytes.Join(stats, nil))
		return err
	})
}

func knownType(member int16) bool { return member >= 1 && member <= 8 || member >= 10 && member <= 15 }

// dropUnknownTypes changes a footer in place so that readers skip logical types which
// Arrow does not know. It gives such a field a number that no reader knows: a field's
// header has, in its upper four bits, the difference from the number of the field
// before. It reports whether it found one; in bytes that are no footer it finds none.
func dropUnknownTypes(footer []byte) (found bool) {
	const most = 0xf0
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
			var at int
			if at, err = c.unknownType(); err == nil && at >= 0 && footer[at]&most != 0 { // else its number stands behind it
				footer[at] |= most
				found = true
			}
		}
		return err
	})
	return found && err == nil
}

// compact reads Thrift's compact protocol and keeps its offset.
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

// walk calls f, which reads the value, for each value that the way leads to from the
// struct that starts here: by numbers of fields that are structs or lists of them.
func (c *compact) walk(way []int16, f func() error) error {
	return c.fields(func(id int16, kind thrift.TType, _ int) error {
		switch {
		case id != way[0]:
			return c.Skip(c.ctx, kind)
		case len(way) == 1:
			return f()
		case kind == thrift.STRUCT:
			return c.walk(way[1:], f)
		}
		_, n, err := c.ReadListBegin(c.ctx)
		for ; n > 0 && err == nil; n-- {
			err = c.walk(way[1:], f)
		}
		return err
	})
}

// unknownType reads an element of the schema. It returns the offset of the header of
// its logical type if Arrow does not know the type, else -1.
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
