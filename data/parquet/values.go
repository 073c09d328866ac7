package parquet

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/neardup/neardup/data"
)

// ValueReader reads the rows of any table as values that can be printed.
type ValueReader struct {
	in    *input
	info  Info
	names []string
}

// OpenValues opens a file of any table without lists.
func OpenValues(path string) (*ValueReader, error) {
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	r := &ValueReader{in: in}
	err = recovering(func() error {
		r.info, r.names = in.info(), leaves(in.schema())
		for leaf := range r.names {
			if _, err := in.add(leaf, false); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("parquet: %s: %w", path, err), in.Close())
	}
	return r, nil
}

// Names are those of the columns, in their order.
func (r *ValueReader) Names() []string { return r.names }

// Read returns the next row, a value a column, and io.EOF after the last one:
// a string, a number or a bool; a date as a string in RFC 3339, and the
// fingerprint and other bytes in hexadecimal. A null is nil.
func (r *ValueReader) Read() ([]any, error) {
	_, at, err := r.in.nextRow()
	if err != nil {
		return nil, err
	}
	row := make([]any, len(r.in.columns))
	for i, c := range r.in.columns {
		if !c.load(at) {
			row[i] = r.value(c)
		}
	}
	return row, nil
}

// Close closes the file; it may be called at any time, and again.
func (r *ValueReader) Close() error { return r.in.Close() }

func (r *ValueReader) value(o opened) any {
	leaf := r.in.schema().Column(o.leaf)
	switch v := o.current().(type) {
	case parquet.ByteArray:
		switch leaf.LogicalType().(type) {
		case schema.StringLogicalType, *schema.StringLogicalType:
			return string(v)
		}
		return hex.EncodeToString(v)
	case parquet.FixedLenByteArray:
		return hex.EncodeToString(v)
	case parquet.Int96:
		return string(appendText(nil, o))
	case int64:
		switch t := leaf.LogicalType().(type) {
		case *schema.TimestampLogicalType:
			if ms := dateOf(leaf, o.column); ms != data.NoDate {
				return time.UnixMilli(ms).UTC().Format(time.RFC3339)
			}
		case *schema.IntLogicalType:
			if !t.IsSigned() && leaf.Name() == "fingerprint" {
				return fmt.Sprintf("%0*x", cmp.Or(r.info.Bits, 64)/4, uint64(v))
			}
		}
		return v
	default:
		return v
	}
}
