package parquet

import (
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/panics"
)

// CopyRows writes to path the rows of a split for which keep says true, with
// the file's own schema, metadata and compression: column by column with the
// definition and repetition levels, so that nested and null values stay what
// they are. Row groups stay row groups; one without a kept row disappears.
// keep is asked once for each row, in order, by its number within the file.
// The file appears at path complete, or not at all; the number of rows kept is
// returned. The file has more columns, behind its own, if they are given.
func CopyRows(path string, split data.Split, o Options, more []NewColumn, keep func(row int64) bool) (kept int64, err error) {
	o = o.filled()
	in, err := openInput(split.Path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := data.CreateAtomicIn(o.FS, path)
	if err != nil {
		return 0, fmt.Errorf("parquet: %w", err)
	}
	err = panics.AsError(func() error {
		if err := in.limit(split.Start, split.End); err != nil {
			return err
		}
		root, err := withColumns(in.schema().Root(), more)
		if err != nil {
			return err
		}
		foot := &footerWriter{to: out}
		w := file.NewParquetWriter(foot, root, file.WithWriterProps(parquet.NewWriterProperties(in.likeness(o)...)),
			file.WithWriteMetadata(in.metadata(len(more) > 0)))
		for g := in.group; g < in.end; g++ {
			n, err := copyGroup(w, in.file.RowGroup(g), in.schema(), in.row, more, kept, keep)
			if err != nil {
				return fmt.Errorf("row group %d: %w", g, err)
			}
			kept += n
			in.row += in.file.RowGroup(g).NumRows()
		}
		foot.begin()
		if err := w.Close(); err != nil {
			return err
		}
		return foot.end(func([]byte) error { return nil })
	})
	if err != nil {
		return 0, errors.Join(fmt.Errorf("parquet: %s: %w", split.Path, err), out.Abort())
	}
	if err := out.Commit(); err != nil {
		return 0, fmt.Errorf("parquet: %w", err)
	}
	return kept, nil
}

// NewColumn is a column of a copy that the file has not: a number a kept row, or a
// word, which is null where it is empty.
type NewColumn struct {
	Name    string
	Numbers []int32
	Words   []string // if Numbers is nil
}

// withColumns is a schema with more columns behind its own.
func withColumns(root *schema.GroupNode, more []NewColumn) (*schema.GroupNode, error) {
	if len(more) == 0 {
		return root, nil
	}
	var fields schema.FieldList
	for i := range root.NumFields() {
		fields = append(fields, root.Field(i))
	}
	for _, c := range more {
		if root.FieldIndexByName(c.Name) >= 0 {
			return nil, fmt.Errorf("it has a column %s already, which a run that annotates adds: leave that column out, or take the table alone (output.annotate: table)", c.Name)
		}
		node, err := schema.Node(schema.NewInt32Node(c.Name, parquet.Repetitions.Required, -1)), error(nil)
		if c.Numbers == nil {
			node, err = schema.NewPrimitiveNodeLogical(c.Name, parquet.Repetitions.Optional, schema.StringLogicalType{}, parquet.Types.ByteArray, 0, -1)
		}
		if err != nil {
			return nil, err
		}
		fields = append(fields, node)
	}
	return schema.NewGroupNode(root.Name(), root.RepetitionType(), fields, root.FieldID())
}

// write writes the values of the kept rows from first on.
func (c *NewColumn) write(to file.ColumnChunkWriter, first, rows int64) error {
	switch to := to.(type) {
	case *file.Int32ColumnChunkWriter:
		_, err := to.WriteBatch(c.Numbers[first:first+rows], nil, nil)
		return err
	case *file.ByteArrayColumnChunkWriter:
		values, levels := make([]parquet.ByteArray, 0, rows), make([]int16, rows)
		for i, word := range c.Words[first : first+rows] {
			if word != "" {
				values, levels[i] = append(values, parquet.ByteArray(word)), 1
			}
		}
		_, err := to.WriteBatch(values, levels, nil)
		return err
	}
	return fmt.Errorf("column %s: a writer of %T", c.Name, to)
}

// Names of metadata that lists the columns, for readers that refuse a file which has
// others.
var listsColumns = []string{"ARROW:schema", "huggingface"}

// metadata is the file's own, but for what tells of its bytes, or of its columns if
// there are others.
func (in *input) metadata(others bool) (own metadata.KeyValueMetadata) {
	for _, kv := range in.file.MetaData().KeyValueMetadata() {
		if kv.Key != metaChecksums && (!others || !slices.Contains(listsColumns, kv.Key)) {
			own = append(own, kv)
		}
	}
	return own
}

// likeness is how the file was written, by its first row group.
func (in *input) likeness(o Options) []parquet.WriterProperty {
	props := []parquet.WriterProperty{
		parquet.WithAllocator(o.Allocator),
		parquet.WithCreatedBy(createdBy + o.Version),
		parquet.WithDataPageSize(pageSize / 4),
		parquet.WithDictionaryDefault(false),
		parquet.WithCompression(compress.Codecs.Zstd),
	}
	if in.file.NumRowGroups() == 0 {
		return props
	}
	g := in.file.MetaData().RowGroup(0)
	for i := range g.NumColumns() {
		chunk, err := g.ColumnChunk(i)
		if err != nil {
			continue // copying the column will fail by name
		}
		path := in.schema().Column(i).Path()
		codec := chunk.Compression()
		if codec == compress.Codecs.Lz4 {
			codec = codecLZ4Raw // which took its place
		}
		if _, err := compress.GetCodec(codec); err == nil {
			props = append(props, parquet.WithCompressionFor(path, codec))
			if codec == compress.Codecs.Zstd {
				props = append(props, parquet.WithCompressionLevelFor(path, zstdLevel))
			}
		}
		props = append(props, parquet.WithDictionaryFor(path, chunk.HasDictionaryPage()))
	}
	return props
}

// copyGroup copies the kept rows of a row group whose first row is the given
// one, and adds the values of further columns, of which those before were kept.
func copyGroup(w *file.Writer, g *file.RowGroupReader, s *schema.Schema, first int64, more []NewColumn, before int64, keep func(row int64) bool) (int64, error) {
	// Decided once, so that all columns agree.
	kept, rows := int64(0), make([]bool, g.NumRows())
	for i := range rows {
		if rows[i] = keep(first + int64(i)); rows[i] {
			kept++
		}
	}
	if kept == 0 {
		return 0, nil
	}
	out := w.AppendRowGroup()
	for i := range s.NumColumns() {
		from, err := g.Column(i)
		if err != nil {
			return 0, err
		}
		to, err := out.NextColumn()
		if err != nil {
			return 0, err
		}
		c, err := columnOf(s.Column(i))
		if err == nil {
			err = c.copy(to, from, rows)
		}
		if err != nil {
			return 0, fmt.Errorf("column %s: %w", s.Column(i).Path(), err)
		}
	}
	for i := range more {
		to, err := out.NextColumn()
		if err == nil {
			err = more[i].write(to, before, kept)
		}
		if err != nil {
			return 0, err
		}
	}
	return kept, out.Close()
}

func (c *values[T, R]) copy(to file.ColumnChunkWriter, from file.ColumnChunkReader, rows []bool) error {
	return copyValues(to.(scalarWriter[T]), from.(R), rows)
}

func copyValues[T any](to scalarWriter[T], from chunkReader[T], rows []bool) error {
	maxDef, maxRep := from.Descriptor().MaxDefinitionLevel(), from.Descriptor().MaxRepetitionLevel()
	values, defs, reps := make([]T, readRows), make([]int16, readRows), make([]int16, readRows)
	row, last := -1, len(rows)-1
	for last >= 0 && !rows[last] { // what is behind the last row may be damaged
		last--
	}
	whole := last == len(rows)-1
	for whole || row < last || maxRep > 0 && row == last {
		batch := int64(readRows)
		if maxRep == 0 && !whole {
			batch = min(batch, int64(last-row))
		}
		n, read, err := from.ReadBatch(batch, values, defs, reps)
		if err == nil {
			err = from.Err()
		}
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		var outValues []T
		var outDefs, outReps []int16
		at := 0
		for i := range int(n) {
			if maxRep == 0 || reps[i] == 0 {
				row++
			}
			if row < 0 || row >= len(rows) {
				return errors.New("more values than rows")
			}
			there := maxDef == 0 || defs[i] == maxDef
			if rows[row] {
				if there {
					outValues = append(outValues, values[at])
				}
				if maxDef > 0 {
					outDefs = append(outDefs, defs[i])
				}
				if maxRep > 0 {
					outReps = append(outReps, reps[i])
				}
			}
			if there {
				at++
			}
		}
		if at != read {
			return errors.New("values and levels do not match")
		}
		if len(outValues)+len(outDefs) == 0 {
			continue
		}
		if _, err := to.WriteBatch(outValues, outDefs, outReps); err != nil {
			return err
		}
	}
	if whole && row+1 != len(rows) || row < last {
		return fmt.Errorf("%d rows, the row group has %d", row+1, len(rows))
	}
	return nil
}
