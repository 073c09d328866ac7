package parquet

import (
	"encoding/binary"
	"errors"
	"io"
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

func knownType(member int) bool { return member >= 1 && member <= 8 || member >= 10 && member <= 15 }

// dropUnknownTypes returns a footer without the logical types that are not
// known; nil when it has none, or is none.
func dropUnknownTypes(footer []byte) []byte {
	var out []byte
	copied := 0
	c := &compact{b: footer}
	c.fields(func(id int, kind byte, _ int) {
		if id != metaSchema || kind != compactList {
			c.skip(kind, 0)
			return
		}
		n, element := c.list()
		if element != compactStruct {
			c.bad = true
		}
		for ; n > 0 && !c.bad; n-- {
			cut := -1
			c.fields(func(id int, kind byte, header int) {
				if id != elementLogicalType || kind != compactStruct {
					c.skip(kind, 0)
					return
				}
				known := false
				c.fields(func(member int, kind byte, _ int) {
					known = knownType(member)
					c.skip(kind, 0)
				})
				if !known && cut < 0 {
					cut = header
				}
			})
			if cut >= 0 { // up to the element's stop byte
				out = append(out, footer[copied:cut]...)
				copied = c.i - 1
			}
		}
	})
	if c.bad || copied == 0 {
		return nil
	}
	return append(out, footer[copied:]...)
}

// compact reads Thrift's compact protocol as far as is needed to find fields.
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
type compact struct {
	b   []byte
	i   int
	bad bool // the bytes are no such struct
}

// Types of the compact protocol.
const (
	compactTrue   = 1
	compactFalse  = 2
	compactByte   = 3
	compactDouble = 7
	compactBinary = 8
	compactList   = 9
	compactSet    = 10
	compactMap    = 11
	compactStruct = 12

	compactDepth = 64 // of what is skipped
)

func (c *compact) byte() byte {
	if c.i >= len(c.b) {
		c.bad = true
		return 0
	}
	c.i++
	return c.b[c.i-1]
}

func (c *compact) varint() uint64 {
	v, n := binary.Uvarint(c.b[min(c.i, len(c.b)):])
	if n <= 0 {
		c.bad = true
		return 0
	}
	c.i += n
	return v
}

// fields calls f, which reads the value, for each field of the struct that
// starts here, with the place of its header.
func (c *compact) fields(f func(id int, kind byte, header int)) {
	for id := 0; !c.bad; {
		at := c.i
		header := c.byte()
		kind := header & 0xf
		if kind == 0 {
			return
		}
		if delta := int(header >> 4); delta > 0 {
			id += delta
		} else {
			v := c.varint()
			id = int(int16(v>>1) ^ -int16(v&1))
		}
		f(id, kind, at)
	}
}

// list reads the header of a list or set.
func (c *compact) list() (n uint64, element byte) {
	header := c.byte()
	if n = uint64(header >> 4); n == 15 {
		n = c.varint()
	}
	return n, header & 0xf
}

// skip goes over a value of a field.
func (c *compact) skip(kind byte, depth int) {
	if depth > compactDepth {
		c.bad = true
	}
	switch {
	case c.bad:
	case kind == compactTrue || kind == compactFalse: // in the field's header
	case kind == compactByte:
		c.byte()
	case kind > compactByte && kind < compactDouble:
		c.varint()
	case kind == compactDouble:
		c.advance(8)
	case kind == compactBinary:
		c.advance(c.varint())
	case kind == compactList || kind == compactSet:
		n, element := c.list()
		for ; n > 0 && !c.bad; n-- {
			c.element(element, depth)
		}
	case kind == compactMap:
		if n := c.varint(); n > 0 {
			types := c.byte()
			for ; n > 0 && !c.bad; n-- {
				c.element(types>>4, depth)
				c.element(types&0xf, depth)
			}
		}
	case kind == compactStruct:
		c.fields(func(_ int, kind byte, _ int) { c.skip(kind, depth+1) })
	default:
		c.bad = true
	}
}

// element goes over an element of a list, whose booleans are bytes.
func (c *compact) element(kind byte, depth int) {
	if kind == compactTrue || kind == compactFalse {
		kind = compactByte
	}
	c.skip(kind, depth+1)
}

func (c *compact) advance(n uint64) {
	if n > uint64(len(c.b)-min(c.i, len(c.b))) {
		c.bad = true
		return
	}
	c.i += int(n)
}
