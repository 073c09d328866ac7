package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/neardup/neardup/data"
)

// readRows is how many rows a column decodes at once.
const readRows = 1024

// column is a leaf column that is read value by value, row group after row
// group.
type column interface {
	// open starts the column's chunk in a row group.
	open(chunk file.ColumnChunkReader) error
	// next moves to the next row; null tells that it has no value.
	next() (null bool, err error)
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
	buf    []T     // decoded values, without nulls
	defs   []int16 // definition levels of the decoded rows
	rows   int     // decoded rows
	row    int     // the next of them
	at     int     // its value in buf
	left   int     // values in buf
	value  T       // of the current row
}

func newValues[T any, R chunkReader[T]](maxDef int16) *values[T, R] {
	return &values[T, R]{maxDef: maxDef, buf: make([]T, readRows), defs: make([]int16, readRows)}
}

func (c *values[T, R]) open(chunk file.ColumnChunkReader) error {
	typed, ok := chunk.(R)
	if !ok {
		return fmt.Errorf("column %s is a %s in this row group", chunk.Descriptor().Path(), chunk.Type())
	}
	c.chunk = typed
	c.rows, c.row, c.at, c.left = 0, 0, 0, 0
	return nil
}

func (c *values[T, R]) next() (bool, error) {
	if c.row == c.rows {
		if err := recovering(c.fill); err != nil {
			return false, fmt.Errorf("column %s: %w", c.chunk.Descriptor().Path(), err)
		}
	}
	if c.maxDef > 0 && c.defs[c.row] < c.maxDef {
		c.row++
		return true, nil
	}
	if c.at == c.left {
		return false, fmt.Errorf("column %s has fewer values than its levels say", c.chunk.Descriptor().Path())
	}
	c.value = c.buf[c.at]
	c.row++
	c.at++
	return false, nil
}

// fill decodes the next rows.
func (c *values[T, R]) fill() error {
	n, read, err := c.chunk.ReadBatch(readRows, c.buf, c.defs, nil)
	if err == nil {
		err = c.chunk.Err()
	}
	if err != nil {
		return err
	}
	if n <= 0 || int(n) > readRows || read < 0 || read > int(n) {
		return errors.New("fewer values than rows")
	}
	c.rows, c.row, c.at, c.left = int(n), 0, 0, read
	return nil
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

// newColumn returns the column for a schema leaf.
func newColumn(leaf *schema.Column) (column, error) {
	if leaf.MaxRepetitionLevel() > 0 {
		return nil, fmt.Errorf("column %s is a list: name one that holds a single value a row", leaf.Path())
	}
	def := leaf.MaxDefinitionLevel()
	switch leaf.PhysicalType() {
	case parquet.Types.ByteArray:
		return newValues[parquet.ByteArray, *file.ByteArrayColumnChunkReader](def), nil
	case parquet.Types.FixedLenByteArray:
		return newValues[parquet.FixedLenByteArray, *file.FixedLenByteArrayColumnChunkReader](def), nil
	case parquet.Types.Int32:
		return newValues[int32, *file.Int32ColumnChunkReader](def), nil
	case parquet.Types.Int64:
		return newValues[int64, *file.Int64ColumnChunkReader](def), nil
	case parquet.Types.Int96:
		return newValues[parquet.Int96, *file.Int96ColumnChunkReader](def), nil
	case parquet.Types.Float:
		return newValues[float32, *file.Float32ColumnChunkReader](def), nil
	case parquet.Types.Double:
		return newValues[float64, *file.Float64ColumnChunkReader](def), nil
	case parquet.Types.Boolean:
		return newValues[bool, *file.BooleanColumnChunkReader](def), nil
	}
	return nil, fmt.Errorf("column %s has the type %s, which is not read", leaf.Path(), leaf.PhysicalType())
}

// appendText appends the current value as text.
func appendText(dst []byte, c column) []byte {
	switch c := c.(type) {
	case *byteArrays:
		return append(dst, c.value...)
	case *fixedArrays:
		return append(dst, c.value...)
	case *int32Values:
		return strconv.AppendInt(dst, int64(c.value), 10)
	case *int64Values:
		return strconv.AppendInt(dst, c.value, 10)
	case *int96Values:
		return c.value.ToTime().UTC().AppendFormat(dst, time.RFC3339)
	case *floatValues:
		return strconv.AppendFloat(dst, float64(c.value), 'g', -1, 32)
	case *doubleVals:
		return strconv.AppendFloat(dst, c.value, 'g', -1, 64)
	case *boolValues:
		return strconv.AppendBool(dst, c.value)
	}
	return dst
}

// dateOf is the current value as Unix milliseconds. An integer without a
// logical type is taken as data.UnixDate says.
func dateOf(leaf *schema.Column, c column) int64 {
	switch c := c.(type) {
	case *byteArrays:
		return data.ParseDate(c.value)
	case *int32Values:
		if _, ok := leaf.LogicalType().(schema.DateLogicalType); ok {
			return int64(c.value) * 24 * 60 * 60 * 1000
		}
		return data.UnixDate(float64(c.value))
	case *int64Values:
		if t, ok := leaf.LogicalType().(*schema.TimestampLogicalType); ok {
			switch t.TimeUnit() {
			case schema.TimeUnitMillis:
				return c.value
			case schema.TimeUnitMicros:
				return floorDiv(c.value, 1000)
			case schema.TimeUnitNanos:
				return floorDiv(c.value, 1_000_000)
			}
		}
		return data.UnixDate(float64(c.value))
	case *int96Values:
		return c.value.ToTime().UnixMilli()
	case *floatValues:
		return data.UnixDate(float64(c.value))
	case *doubleVals:
		return data.UnixDate(c.value)
	}
	return data.NoDate
}

// floorDiv is a / b rounded down, so that times before 1970 round like the
// others.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// numberOf is the current value as a number; NaN when it is none.
func numberOf(leaf *schema.Column, c column) float64 {
	scale := 1.0
	if d, ok := leaf.LogicalType().(*schema.DecimalLogicalType); ok {
		scale = math.Pow10(int(d.Scale()))
	}
	switch c := c.(type) {
	case *byteArrays:
		return data.ParseNumber(c.value)
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

// pick returns the leaf that name asks for: the named one, which must be
// there, or for "" the first of the candidates; -1 when there is none.
func pick(paths []string, name string, candidates []string) (int, error) {
	if name != "" {
		for i, p := range paths {
			if p == name {
				return i, nil
			}
		}
		return -1, fmt.Errorf("no column %q; there are: %s", name, strings.Join(paths, ", "))
	}
	for _, fold := range []bool{false, true} {
		for _, c := range candidates {
			for i, p := range paths {
				if p == c || fold && strings.EqualFold(p, c) {
					return i, nil
				}
			}
		}
	}
	return -1, nil
}

// sameBytes returns s when it equals b, else b as a new string: names repeat.
func sameBytes(s string, b []byte) string {
	if bytes.Equal([]byte(s), b) {
		return s
	}
	return string(b)
}
