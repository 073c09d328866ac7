package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/field"
)

// readRows is how many rows a column decodes at once.
const readRows = 1024

// column is a leaf column that is decoded, some rows at a time.
type column interface {
	// open starts the column's chunk in a row group.
	open(chunk file.ColumnChunkReader) error
	// fill decodes the next n rows of the row group, which are there.
	fill(n int) error
	// load makes decoded row i the current one; null tells that it has no
	// value. The value is then the zero one.
	load(i int) (null bool)
	// current is the value of the current row.
	current() any
	// firstNull is the first decoded row without a value; -1: all have one.
	firstNull() int
	// copy copies those rows of a chunk of such a column, which may have lists.
	copy(to file.ColumnChunkWriter, from file.ColumnChunkReader, rows []bool) error
}

// chunkReader is one of arrow's typed column readers.
type chunkReader[T any] interface {
	file.ColumnChunkReader
	ReadBatch(batchSize int64, values []T, defs, reps []int16) (total int64, valuesRead int, err error)
}

// values is a column of physical type T without repetition.
type values[T any, R chunkReader[T]] struct {
	maxDef int16
	chunk  R
	buf    []T     // value of each decoded row; of a null the zero one
	defs   []int16 // definition level of each decoded row, if there can be nulls
	nulls  int     // among the decoded rows
	value  T       // of the current row
}

func (c *values[T, R]) open(chunk file.ColumnChunkReader) error {
	typed, ok := chunk.(R)
	if !ok {
		return fmt.Errorf("column %s is a %s in this row group", chunk.Descriptor().Path(), chunk.Type())
	}
	c.chunk = typed
	return nil
}

func (c *values[T, R]) fill(n int) error {
	c.buf = slices.Grow(c.buf[:0], n)[:n]
	if c.maxDef > 0 {
		c.defs = slices.Grow(c.defs[:0], n)[:n]
	}
	total, read, err := c.chunk.ReadBatch(int64(n), c.buf, c.defs, nil)
	if err == nil {
		err = c.chunk.Err()
	}
	if err == nil && (int(total) != n || read < 0 || read > n) {
		err = errors.New("fewer values than rows")
	}
	if err != nil {
		return err
	}
	if c.nulls = n - read; c.nulls == 0 {
		return nil
	}
	if c.maxDef == 0 {
		return errors.New("fewer values than rows")
	}
	var zero T
	for i := n - 1; i >= 0; i-- { // arrow has left the nulls out
		if c.defs[i] < c.maxDef {
			c.buf[i] = zero // what is still to be moved stands before it
			continue
		}
		if read--; read < 0 {
			break
		}
		c.buf[i] = c.buf[read]
	}
	if read != 0 {
		return errors.New("the levels do not say which rows have a value")
	}
	return nil
}

func (c *values[T, R]) load(i int) (null bool) {
	c.value = c.buf[i]
	return c.nulls > 0 && c.defs[i] < c.maxDef
}

func (c *values[T, R]) current() any { return c.value }

func (c *values[T, R]) firstNull() int {
	if c.nulls == 0 {
		return -1
	}
	return slices.IndexFunc(c.defs, func(def int16) bool { return def < c.maxDef })
}

type (
	byteArrays  = values[parquet.ByteArray, *file.ByteArrayColumnChunkReader]
	fixedArrays = values[parquet.FixedLenByteArray, *file.FixedLenByteArrayColumnChunkReader]
	int32Values = values[int32, *file.Int32ColumnChunkReader]
	int64Values = values[int64, *file.Int64ColumnChunkReader]
	int96Values = values[parquet.Int96, *file.Int96ColumnChunkReader]
	floatValues = values[float32, *file.Float32ColumnChunkReader]
	doubleVals  = values[float64, *file.Float64ColumnChunkReader]
	boolValues  = values[bool, *file.BooleanColumnChunkReader]
)

// columnOf returns the column for a schema leaf.
func columnOf(leaf *schema.Column) (column, error) {
	def := leaf.MaxDefinitionLevel()
	switch leaf.PhysicalType() {
	case parquet.Types.ByteArray:
		return &byteArrays{maxDef: def}, nil
	case parquet.Types.FixedLenByteArray:
		return &fixedArrays{maxDef: def}, nil
	case parquet.Types.Int32:
		return &int32Values{maxDef: def}, nil
	case parquet.Types.Int64:
		return &int64Values{maxDef: def}, nil
	case parquet.Types.Int96:
		return &int96Values{maxDef: def}, nil
	case parquet.Types.Float:
		return &floatValues{maxDef: def}, nil
	case parquet.Types.Double:
		return &doubleVals{maxDef: def}, nil
	case parquet.Types.Boolean:
		return &boolValues{maxDef: def}, nil
	}
	return nil, fmt.Errorf("column %s has the type %s, which is not read", leaf.Path(), leaf.PhysicalType())
}

// appendText appends the current value as text; nothing where c is nil.
func appendText(dst []byte, c column) []byte {
	if c == nil {
		return dst
	}
	switch v := c.current().(type) {
	case parquet.ByteArray:
		return append(dst, v...)
	case parquet.FixedLenByteArray:
		return append(dst, v...)
	case parquet.Int96:
		return v.ToTime().UTC().AppendFormat(dst, time.RFC3339)
	default:
		return fmt.Append(dst, v)
	}
}

// dateOf is the current value as Unix milliseconds. An integer without a
// logical type is taken as field.UnixDate says.
func dateOf(leaf *schema.Column, c column) int64 {
	switch c := c.(type) {
	case *byteArrays:
		return field.ParseDate(c.value)
	case *int32Values:
		if _, ok := leaf.LogicalType().(schema.DateLogicalType); ok {
			return int64(c.value) * 24 * 60 * 60 * 1000
		}
		return field.UnixDate(float64(c.value))
	case *int64Values:
		if t, ok := leaf.LogicalType().(*schema.TimestampLogicalType); ok {
			switch t.TimeUnit() {
			case schema.TimeUnitMillis:
				return c.value
			case schema.TimeUnitMicros:
				return time.UnixMicro(c.value).UnixMilli()
			case schema.TimeUnitNanos:
				return time.Unix(0, c.value).UnixMilli()
			}
		}
		return field.UnixDate(float64(c.value))
	case *int96Values:
		return c.value.ToTime().UnixMilli()
	case *floatValues:
		return field.UnixDate(float64(c.value))
	case *doubleVals:
		return field.UnixDate(c.value)
	}
	return data.NoDate
}

// numberOf is the current value as a number; NaN when it is none.
func numberOf(leaf *schema.Column, c column) float64 {
	scale := 1.0
	if d, ok := leaf.LogicalType().(*schema.DecimalLogicalType); ok {
		scale = math.Pow10(int(d.Scale()))
	}
	switch c := c.(type) {
	case *byteArrays:
		return field.ParseNumber(c.value)
	case *int32Values:
		return float64(c.value) / scale
	case *int64Values:
		if i, ok := leaf.LogicalType().(*schema.IntLogicalType); ok && !i.IsSigned() {
			return float64(uint64(c.value))
		}
		return float64(c.value) / scale
	case *floatValues:
		return float64(c.value)
	case *doubleVals:
		return c.value
	case *boolValues:
		if c.value {
			return 1
		}
		return 0
	}
	return math.NaN()
}

// leaves lists the leaf columns of a schema by their dotted path.
func leaves(s *schema.Schema) []string {
	paths := make([]string, s.NumColumns())
	for i := range paths {
		paths[i] = s.Column(i).Path()
	}
	return paths
}

// fingerprintOf is the current value as a fingerprint.
func fingerprintOf(c column, hexadecimal bool) (hi, lo uint64, err error) {
	var b []byte
	switch c := c.(type) {
	case *int64Values:
		return 0, uint64(c.value), nil
	case *int32Values:
		return 0, uint64(uint32(c.value)), nil
	case *fixedArrays:
		b = c.value
	case *byteArrays:
		return field.ParseFingerprint(c.value, hexadecimal)
	default:
		return 0, 0, fmt.Errorf("%w: a fingerprint must be an integer, bytes or a string", errNotTable)
	}
	switch len(b) {
	case 4:
		return 0, uint64(binary.BigEndian.Uint32(b)), nil
	case 8:
		return 0, binary.BigEndian.Uint64(b), nil
	case 16:
		return binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), nil
	}
	return 0, 0, fmt.Errorf("a fingerprint of %d bytes: there must be 4, 8 or 16", len(b))
}
