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
	"github.com/neardup/neardup/data/internal/panics"
)

// ValueReader reads the rows of any table as values that can be printed. Close
// may be called at any time, and again.
type ValueReader struct {
	*input
	Names []string // of the columns, in their order
}

// OpenValues opens a file of any table without lists.
func OpenValues(path string) (*ValueReader, error) {
	in, err := openFile(path)
	if err != nil {
		return nil, err
	}
	r := &ValueReader{input: in, Names: leaves(in.schema())}
	err = panics.AsError(func() error {
		for leaf := range r.Names {
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

// Read returns the next row, a value a column, and io.EOF after the last one:
// a string, a number or a bool; a date as a string in RFC 3339, and the
// fingerprint and other bytes in hexadecimal. A null is nil.
func (r *ValueReader) Read() ([]any, error) {
	_, at, err := r.nextRow()
	if err != nil {
		return nil, err
	}
	row := make([]any, len(r.columns))
	for i, c := range r.columns {
		if !c.load(at) {
			row[i] = r.value(c)
		}
	}
	return row, nil
}

func (r *ValueReader) value(o opened) any {
	leaf := r.schema().Column(o.leaf)
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
				return fmt.Sprintf("%0*x", cmp.Or(r.Info.Bits, 64)/4, uint64(v))
			}
		}
		return v
	default:
		return v
	}
}
