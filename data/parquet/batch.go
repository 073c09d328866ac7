package parquet

import (
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
)

// batch is the rows of one column that wait to be written.
type batch interface {
	// flush hands the rows to the column's writer and empties the batch.
	flush(w file.ColumnChunkWriter) error
}

// byteValues is a batch of byte slices, copied; an empty one is null if the
// column is nullable. With statistics on, the column writer keeps references to
// its smallest and largest value, so that memory is not used again.
type byteValues[T ~[]byte, W scalarWriter[T]] struct {
	values   []T
	defs     []int16
	arena    []byte
	nullable bool
}

type (
	byteBatch  = byteValues[parquet.ByteArray, *file.ByteArrayColumnChunkWriter]
	fixedBatch = byteValues[parquet.FixedLenByteArray, *file.FixedLenByteArrayColumnChunkWriter]
)

func (c *byteValues[T, W]) add(v []byte) {
	if c.nullable {
		if len(v) == 0 {
			c.defs = append(c.defs, 0)
			return
		}
		c.defs = append(c.defs, 1)
	}
	if cap(c.arena)-len(c.arena) < len(v) {
		c.arena = make([]byte, 0, max(len(v), 256<<10, min(2*cap(c.arena), batchBytes)))
	}
	n := len(c.arena)
	c.arena = append(c.arena, v...)
	c.values = append(c.values, c.arena[n:len(c.arena):len(c.arena)])
}

func (c *byteValues[T, W]) flush(w file.ColumnChunkWriter) error {
	_, err := w.(W).WriteBatch(c.values, c.defs, nil)
	clear(c.values)
	c.values, c.defs, c.arena = c.values[:0], c.defs[:0], nil
	return err
}

// scalars is a batch of values of a fixed size.
type scalars[T any, W scalarWriter[T]] struct {
	values []T
	defs   []int16 // empty when the column is not nullable
}

// scalarWriter is one of arrow's typed column writers.
type scalarWriter[T any] interface {
	file.ColumnChunkWriter
	WriteBatch(values []T, defs, reps []int16) (int64, error)
}

type (
	int32s  = scalars[int32, *file.Int32ColumnChunkWriter]
	int64s  = scalars[int64, *file.Int64ColumnChunkWriter]
	doubles = scalars[float64, *file.Float64ColumnChunkWriter]
	bools   = scalars[bool, *file.BooleanColumnChunkWriter]
)

func (c *scalars[T, W]) add(v T) { c.values = append(c.values, v) }

func (c *scalars[T, W]) addNullable(v T, null bool) {
	if null {
		c.defs = append(c.defs, 0)
		return
	}
	c.defs = append(c.defs, 1)
	c.values = append(c.values, v)
}

func (c *scalars[T, W]) flush(w file.ColumnChunkWriter) error {
	_, err := w.(W).WriteBatch(c.values, c.defs, nil)
	c.values, c.defs = c.values[:0], c.defs[:0]
	return err
}
