// Package parquet writes and reads the tables of a run, reads documents from
// Parquet files of any origin, and copies chosen rows of such a file. It
// stands on the low-level column writers and readers of arrow/go; it never
// uses the pqarrow package, which would link gRPC, and never sorts: rows are
// written in the order they come.
package parquet

import (
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/neardup/neardup/data"
)

const (
	batchRows  = 8192      // rows that are handed to the column writers at once …
	batchBytes = 1 << 20   // … or fewer of this size
	pageSize   = 4 << 20   // arrow makes a zstd encoder for every page: large pages save CPU
	groupRows  = 1 << 20   // rows of a row group …
	groupBytes = 128 << 20 // … or fewer of this size: a row group is held in memory
	zstdLevel  = 1
)

// Keys of a table's file metadata.
const (
	MetaVersion = "neardup.version" // version of the program that wrote the file
	MetaTable   = "neardup.table"   // name of the table
	MetaConfig  = "neardup.config"  // hash of the run's configuration
	MetaBits    = "neardup.bits"    // bits of a fingerprint: 32, 64 or 128
)

// Options describe a table to write. The same options and rows give the same
// bytes.
type Options struct {
	Version    string // of the program
	ConfigHash string // of the run's configuration
	Bits       int    // of a fingerprint: 32, 64 or 128; 0 means 64

	// FS is where the file is written; nil means data.OS.
	FS data.FS
	// Allocator is what the column writers take memory from; nil means Go's.
	Allocator memory.Allocator
}

// bits returns Bits with its default, or an error.
func (o Options) bits() (int, error) {
	switch o.Bits {
	case 0:
		return 64, nil
	case 32, 64, 128:
		return o.Bits, nil
	}
	return 0, fmt.Errorf("parquet: fingerprints of %d bits: write 32, 64 or 128", o.Bits)
}

// table writes rows, buffered column by column, to an atomic file.
type table struct {
	path  string
	file  *data.AtomicFile
	out   *file.Writer
	group file.BufferedRowGroupWriter
	cols  []batch

	batchRows, batchBytes int
	groupRows, groupBytes int
	maxGroupBytes         int // values that fill a row group
	rows                  int64
	err                   error // the first; every later call returns it
}

// batch is the rows of one column that wait to be written.
type batch interface {
	// flush hands the rows to the column's writer and empties the batch.
	flush(w file.ColumnChunkWriter) error
}

// createTable starts the table's file. Columns are the schema's, each with
// its batch.
func createTable(path, name string, bits int, o Options, fields schema.FieldList, cols []batch, props ...parquet.WriterProperty) (*table, error) {
	if o.FS == nil {
		o.FS = data.OS
	}
	if o.Allocator == nil {
		o.Allocator = memory.NewGoAllocator()
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
	if err != nil {
		return nil, fmt.Errorf("parquet: %s: %w", path, err)
	}
	meta := metadata.NewKeyValueMetadata()
	for _, kv := range [][2]string{{MetaVersion, o.Version}, {MetaTable, name}, {MetaConfig, o.ConfigHash}, {MetaBits, fmt.Sprint(bits)}} {
		if err := meta.Append(kv[0], kv[1]); err != nil {
			return nil, fmt.Errorf("parquet: %s: %w", path, err)
		}
	}
	props = append([]parquet.WriterProperty{
		parquet.WithAllocator(o.Allocator),
		parquet.WithCreatedBy("neardup " + o.Version),
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithCompressionLevel(zstdLevel),
		parquet.WithDictionaryDefault(false),
		parquet.WithDataPageSize(pageSize),
		parquet.WithBatchSize(batchRows),
	}, props...)

	f, err := data.CreateAtomicIn(o.FS, path)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	t := &table{path: path, file: f, cols: cols, maxGroupBytes: groupBytes}
	err = t.guard(func() error {
		t.out = file.NewParquetWriter(f, root, file.WithWriterProps(parquet.NewWriterProperties(props...)), file.WithWriteMetadata(meta))
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, f.Abort())
	}
	return t, nil
}

// guard runs f, turns a panic of the arrow library into an error, and keeps
// the first error.
func (t *table) guard(f func() error) error {
	if t.err != nil {
		return t.err
	}
	if err := recovering(f); err != nil {
		t.err = fmt.Errorf("parquet: %s: %w", t.path, err)
	}
	return t.err
}

// recovering runs f and returns a panic out of it, which arrow uses for
// damaged input and failed writes, as an error.
func recovering(f func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case error:
			err = fmt.Errorf("arrow: %w", p)
		default:
			err = fmt.Errorf("arrow: %v", p)
		}
	}()
	return f()
}

// added counts a row of so many bytes that the caller put into the batches,
// and writes them when there are enough.
func (t *table) added(size int) error {
	if t.err != nil {
		return t.err
	}
	t.rows++
	t.batchRows++
	t.batchBytes += size
	if t.batchRows < batchRows && t.batchBytes < batchBytes {
		return nil
	}
	return t.flush()
}

// flush writes the batches, and closes the row group when it is full.
func (t *table) flush() error {
	if t.batchRows == 0 {
		return t.err
	}
	return t.guard(func() error {
		if t.group == nil {
			t.group = t.out.AppendBufferedRowGroup()
		}
		for i, c := range t.cols {
			w, err := t.group.Column(i)
			if err != nil {
				return err
			}
			if err := c.flush(w); err != nil {
				return err
			}
		}
		t.groupRows += t.batchRows
		t.groupBytes += t.batchBytes
		t.batchRows, t.batchBytes = 0, 0
		if t.groupRows < groupRows && t.groupBytes < t.maxGroupBytes {
			return nil
		}
		return t.closeGroup()
	})
}

func (t *table) closeGroup() error {
	if t.group == nil {
		return nil
	}
	g := t.group
	t.group, t.groupRows, t.groupBytes = nil, 0, 0
	return g.Close()
}

// Rows is the number of rows written.
func (t *table) Rows() int64 { return t.rows }

// Commit completes the file and makes it appear at its path.
func (t *table) Commit() error {
	err := t.flush()
	if err == nil {
		err = t.guard(func() error {
			if err := t.closeGroup(); err != nil {
				return err
			}
			return t.out.Close()
		})
	}
	if err != nil {
		return errors.Join(err, t.Abort())
	}
	if err := t.file.Commit(); err != nil {
		return fmt.Errorf("parquet: %w", err)
	}
	return nil
}

// Abort drops the file. After Commit it does nothing, so it may be deferred.
func (t *table) Abort() error {
	if t.group != nil { // gives the buffers back
		g := t.group
		t.group = nil
		_ = recovering(g.Close)
	}
	if err := t.file.Abort(); err != nil {
		return fmt.Errorf("parquet: %w", err)
	}
	return nil
}

// byteValues is a batch of strings, copied; without a value an empty one is
// null if the column is nullable. With statistics on, the column writer keeps
// references to its smallest and largest value, so that memory is then not
// used again.
type byteValues struct {
	values   []parquet.ByteArray
	defs     []int16
	arena    []byte
	stats    bool
	nullable bool
}

func (c *byteValues) add(v []byte) {
	if c.nullable {
		if len(v) == 0 {
			c.defs = append(c.defs, 0)
			return
		}
		c.defs = append(c.defs, 1)
	}
	if cap(c.arena)-len(c.arena) < len(v) {
		c.arena = make([]byte, 0, max(len(v), 256<<10))
	}
	n := len(c.arena)
	c.arena = append(c.arena, v...)
	c.values = append(c.values, c.arena[n:len(c.arena):len(c.arena)])
}

func (c *byteValues) flush(w file.ColumnChunkWriter) error {
	_, err := w.(*file.ByteArrayColumnChunkWriter).WriteBatch(c.values, c.defs, nil)
	clear(c.values)
	c.values, c.defs = c.values[:0], c.defs[:0]
	if c.stats {
		c.arena = nil
	} else {
		c.arena = c.arena[:0]
	}
	return err
}

// names is a batch of strings of which there are few different ones.
type names struct {
	values []parquet.ByteArray
	last   string
	seen   map[string]parquet.ByteArray
}

func (c *names) add(v string) {
	if n := len(c.values); n > 0 && v == c.last {
		c.values = append(c.values, c.values[n-1])
		return
	}
	b, ok := c.seen[v]
	if !ok {
		if c.seen == nil || len(c.seen) > 1<<16 {
			c.seen = make(map[string]parquet.ByteArray)
		}
		b = parquet.ByteArray(v)
		c.seen[v] = b
	}
	c.last = v
	c.values = append(c.values, b)
}

func (c *names) flush(w file.ColumnChunkWriter) error {
	_, err := w.(*file.ByteArrayColumnChunkWriter).WriteBatch(c.values, nil, nil)
	c.values = c.values[:0]
	return err
}

// scalars is a batch of fixed-size values; defs tells which are there when
// the column is nullable.
type scalars[T any, W scalarWriter[T]] struct {
	values   []T
	defs     []int16
	nullable bool
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

// addNullable appends v, or a null.
func (c *scalars[T, W]) addNullable(v T, null bool) {
	if null {
		c.defs = append(c.defs, 0)
		return
	}
	c.defs = append(c.defs, 1)
	c.values = append(c.values, v)
}

func (c *scalars[T, W]) flush(w file.ColumnChunkWriter) error {
	var defs []int16
	if c.nullable {
		defs = c.defs
	}
	_, err := w.(W).WriteBatch(c.values, defs, nil)
	c.values, c.defs = c.values[:0], c.defs[:0]
	return err
}

// fixed is a batch of values of a fixed number of bytes, copied; an empty one
// is null if the column is nullable.
type fixed struct {
	values   []parquet.FixedLenByteArray
	defs     []int16
	arena    []byte
	nullable bool
}

func (c *fixed) add(v []byte) {
	if c.nullable {
		if len(v) == 0 {
			c.defs = append(c.defs, 0)
			return
		}
		c.defs = append(c.defs, 1)
	}
	if cap(c.arena)-len(c.arena) < len(v) {
		c.arena = make([]byte, 0, batchRows*len(v))
	}
	n := len(c.arena)
	c.arena = append(c.arena, v...)
	c.values = append(c.values, c.arena[n:len(c.arena):len(c.arena)])
}

func (c *fixed) flush(w file.ColumnChunkWriter) error {
	_, err := w.(*file.FixedLenByteArrayColumnChunkWriter).WriteBatch(c.values, c.defs, nil)
	c.values, c.defs, c.arena = c.values[:0], c.defs[:0], c.arena[:0]
	return err
}
