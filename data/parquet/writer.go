// Package parquet writes and reads the tables of a run, reads documents from
// Parquet files of any origin, and copies chosen rows of such a file. It
// stands on the low-level column writers and readers of arrow/go; it never
// uses the pqarrow package, which would link gRPC, and never sorts: rows are
// written in the order they come.
package parquet

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/panics"
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
	metaVersion  = "neardup.version"  // version of the program that wrote the file
	metaTable    = "neardup.table"    // name of the table
	metaConfig   = "neardup.config"   // hash of the run's configuration
	metaSettings = "neardup.settings" // of the fingerprints table: Options.Settings
	metaBits     = "neardup.bits"     // bits of a fingerprint: 32, 64 or 128
	metaArrow    = "ARROW:schema"     // the schema as Arrow has it, with the descriptions of the columns
)

// Options describe a table to write. The same options and rows give the same
// bytes.
type Options struct {
	Version    string // of the program
	ConfigHash string // of the run's configuration
	Bits       int    // of a fingerprint: 32, 64 or 128; 0 means 64
	Settings   string // what a reader has to know of the run's settings, as JSON; may be empty

	// FS is where the file is written; nil means data.OS.
	FS data.FS
	// Allocator is what the column writers take memory from; nil means Go's.
	Allocator memory.Allocator
}

// filled is o with its defaults, but for Bits.
func (o Options) filled() Options {
	if o.FS == nil {
		o.FS = data.OS
	}
	if o.Allocator == nil {
		o.Allocator = memory.NewGoAllocator()
	}
	return o
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

// TableWriter writes a table to an atomic file, buffered column by column.
type TableWriter[R any] struct {
	path    string
	file    *data.AtomicFile
	sums    *summing
	out     *file.Writer
	group   file.BufferedRowGroupWriter
	columns []stored[R]

	rowBytes      int // of a row, besides its byte slices
	maxGroupBytes int // values that fill a row group

	batchRows, batchBytes int
	groupRows, groupBytes int
	rows                  int64
	err                   error // the first; every later call returns it
}

// Create starts a file of a table; it appears at path with Commit.
func Create[R any](path string, t *data.Table[R], o Options) (*TableWriter[R], error) {
	bits, err := o.bits()
	if err != nil {
		return nil, err
	}
	o = o.filled()
	w := &TableWriter[R]{path: path, rowBytes: t.RowBytes, maxGroupBytes: cmp.Or(t.GroupBytes, groupBytes)}
	props := []parquet.WriterProperty{
		parquet.WithAllocator(o.Allocator),
		parquet.WithCreatedBy(createdBy + o.Version),
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithCompressionLevel(zstdLevel),
		parquet.WithDictionaryDefault(false),
		parquet.WithDataPageSize(int64(cmp.Or(t.PageBytes, pageSize))),
		parquet.WithBatchSize(batchRows),
	}
	var fields schema.FieldList
	var described []arrow.Field
	for i := range t.Columns {
		c := &t.Columns[i]
		column, node, kind, err := storedAs(c, bits)
		if err != nil {
			return nil, fmt.Errorf("parquet: %s: %w", path, err)
		}
		w.columns, fields = append(w.columns, column), append(fields, node)
		about := arrow.NewMetadata([]string{"description"}, []string{c.Doc})
		if c.Unit != "" {
			about = arrow.NewMetadata([]string{"description", "unit"}, []string{c.Doc, c.Unit})
		}
		described = append(described, arrow.Field{Name: c.Name, Type: kind, Nullable: c.Null, Metadata: about})
		if c.Random || c.Row != nil {
			props = append(props, parquet.WithCompressionFor(c.Name, compress.Codecs.Uncompressed))
		}
		if c.Row != nil { // arrow cannot write nulls alone in this encoding
			props = append(props, parquet.WithEncodingFor(c.Name, parquet.Encodings.DeltaBinaryPacked))
		}
		props = append(props, parquet.WithStatsFor(c.Name, !c.NoStats), parquet.WithDictionaryFor(c.Name, c.Few || c.Word != nil))
	}
	keys := []string{metaVersion, metaTable, metaConfig, metaBits}
	values := []string{o.Version, t.Name, o.ConfigHash, fmt.Sprint(bits)}
	if o.Settings != "" {
		keys, values = append(keys, metaSettings), append(values, o.Settings)
	}
	about := arrow.NewMetadata(keys, values)
	encoded, err := encodeSchema(arrow.NewSchema(described, &about), o.Allocator)
	if err != nil {
		return nil, fmt.Errorf("parquet: %s: %w", path, err)
	}
	meta := metadata.NewKeyValueMetadata()
	for i, key := range append(keys, metaArrow) {
		if err := meta.Append(key, append(values, encoded)[i]); err != nil {
			return nil, fmt.Errorf("parquet: %s: %w", path, err)
		}
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
	if err != nil {
		return nil, fmt.Errorf("parquet: %s: %w", path, err)
	}
	if w.file, err = data.CreateAtomicIn(o.FS, path); err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	err = w.guard(func() error {
		w.sums = &summing{footerWriter: footerWriter{to: w.file}}
		w.out = file.NewParquetWriter(w.sums, root, file.WithWriterProps(parquet.NewWriterProperties(props...)), file.WithWriteMetadata(meta))
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, w.file.Abort())
	}
	return w, nil
}

// encodeSchema is a schema as the value of metaArrow, where pyarrow and others
// look for the metadata of columns, and then for that of the table too.
func encodeSchema(s *arrow.Schema, mem memory.Allocator) (string, error) {
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(s), ipc.WithAllocator(mem))
	if err := w.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

// guard runs f, turns a panic of the arrow library into an error, and keeps
// the first error.
func (w *TableWriter[R]) guard(f func() error) error {
	if w.err != nil {
		return w.err
	}
	if err := panics.AsError(f); err != nil {
		w.err = fmt.Errorf("parquet: %s: %w", w.path, err)
	}
	return w.err
}

// Write appends a row. It keeps nothing of it.
func (w *TableWriter[R]) Write(r *R) error {
	if w.err != nil {
		return w.err
	}
	size := w.rowBytes
	for i := range w.columns {
		size += w.columns[i].add(r)
	}
	w.rows++
	w.batchRows++
	w.batchBytes += size
	if w.batchRows < batchRows && w.batchBytes < batchBytes {
		return nil
	}
	return w.flush()
}

// flush writes the batches, and closes the row group when it is full.
func (w *TableWriter[R]) flush() error {
	if w.batchRows == 0 {
		return w.err
	}
	return w.guard(func() error {
		if w.group == nil {
			w.group = w.out.AppendBufferedRowGroup()
		}
		for i := range w.columns {
			chunk, err := w.group.Column(i)
			if err != nil {
				return err
			}
			if err := w.columns[i].flush(chunk); err != nil {
				return err
			}
		}
		w.groupRows += w.batchRows
		w.groupBytes += w.batchBytes
		w.batchRows, w.batchBytes = 0, 0
		if w.groupRows < groupRows && w.groupBytes < w.maxGroupBytes {
			return nil
		}
		return w.closeGroup()
	})
}

func (w *TableWriter[R]) closeGroup() error {
	if w.group == nil {
		return nil
	}
	g := w.group
	w.group, w.groupRows, w.groupBytes = nil, 0, 0
	return g.Close()
}

// Rows is the number of rows written.
func (w *TableWriter[R]) Rows() int64 { return w.rows }

// Commit completes the file and makes it appear at its path.
func (w *TableWriter[R]) Commit() error {
	err := w.flush()
	if err == nil {
		err = w.guard(func() error {
			if err := w.closeGroup(); err != nil {
				return err
			}
			if err := w.out.AppendKeyValueMetadata(metaChecksums, w.sums.endData()); err != nil {
				return err
			}
			return errors.Join(w.out.Close(), w.sums.end())
		})
	}
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	if err := w.file.Commit(); err != nil {
		return fmt.Errorf("parquet: %w", err)
	}
	return nil
}

// Abort drops the file. After Commit it does nothing, so it may be deferred.
func (w *TableWriter[R]) Abort() error {
	if w.group != nil { // gives the buffers back
		g := w.group
		w.group = nil
		_ = panics.AsError(g.Close)
	}
	if err := w.file.Abort(); err != nil {
		return fmt.Errorf("parquet: %w", err)
	}
	return nil
}
