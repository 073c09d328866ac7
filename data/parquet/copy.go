package parquet

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/apache/arrow/go/v15/parquet/schema"
	"github.com/apache/thrift/lib/go/thrift"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/panics"
)

// CopyRows writes to out the rows of a split, read with options in, for which keep says
// true, with the file's own schema, metadata and compression: column by column with the
// definition and repetition levels, so that nested and null values stay what they are. Row groups stay row groups; one without a kept row disappears.
// keep is asked once for each row, in order, by the number of its file within the split
// and its own within the file. The number of rows kept is returned; after an error, out
// has a part of a file. What the rows have that those of the file have not, changes say.
//
// The rows of a split of several files, which have one schema ([SchemaOf]), become one
// row group. A file of it that cannot be read has no row that is kept.
func CopyRows(out io.Writer, split data.Split, in data.ReaderOptions, o Options, changes Changes, keep func(file int, row int64) bool) (kept int64, err error) {
	c := copier{read: in, to: &footerWriter{to: out}, options: o.filled(), changes: changes, several: len(split.Files) > 0}
	number := 0
	for one := range split.OfFiles() {
		err := c.file(one, func(row int64) bool { return keep(number, row) })
		if unread := c.several && errors.As(err, new(*data.Unreadable)); err != nil && !unread {
			return 0, err
		}
		number++
	}
	if err := panics.AsError(c.end); err != nil {
		return 0, fmt.Errorf("parquet: %s: %w", split.Path, err)
	}
	return c.kept, nil
}

// copier copies the kept rows of files to one.
type copier struct {
	read    data.ReaderOptions
	to      *footerWriter
	options Options
	changes Changes
	text    int                         // the column whose values are edited, of the file that is copied; -1: none is
	several bool                        // files: their rows become one row group
	writer  *file.Writer                // nil before the first file
	all     file.BufferedRowGroupWriter // of several files; nil before the first kept row
	columns int                         // of the files
	kept    int64
}

// file copies the rows of a split of one file. Its errors name the file.
func (c *copier) file(split data.Split, keep func(row int64) bool) error {
	in, err := openInput(split, c.read)
	if err != nil {
		return err
	}
	err = panics.AsError(func() error {
		if err := in.limit(split.Start, split.End); err != nil {
			return err
		}
		if err := c.begin(in); err != nil {
			return err
		}
		if c.text = -1; c.changes.Text != nil {
			if leaf, err := in.textLeaf(leaves(in.schema()), c.changes.TextColumn); err == nil { // else no row of it has a text
				c.text = leaf
			}
		}
		for g := in.group; g < in.end; g++ {
			if err := in.hold(g); err != nil {
				return err
			}
			group := in.file.RowGroup(g)
			if err := c.group(group, in.schema(), in.row, keep); err != nil {
				return fmt.Errorf("row group %d: %w", g, err)
			}
			in.row += group.NumRows()
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("parquet: %s: %w", split.Path, err)
	}
	return errors.Join(err, in.Close())
}

// begin makes the writer, like the first file.
func (c *copier) begin(in *input) error {
	if c.writer != nil {
		return nil
	}
	root, err := withColumns(in.schema().Root(), c.changes.More)
	if err != nil {
		return err
	}
	c.columns = in.schema().NumColumns()
	c.writer = file.NewParquetWriter(c.to, root, file.WithWriterProps(parquet.NewWriterProperties(in.likeness(c.options)...)),
		file.WithWriteMetadata(in.metadata(len(c.changes.More) > 0)))
	return nil
}

// end writes what stands behind the rows.
func (c *copier) end() error {
	if c.writer == nil {
		return errors.New("none of the files can be read: fetch or write them again, or leave them out")
	}
	if c.all != nil {
		if err := c.extend(c.all.Column, 0); err != nil {
			return err
		}
		if err := c.all.Close(); err != nil {
			return err
		}
	}
	c.to.begin()
	if err := c.writer.Close(); err != nil {
		return err
	}
	return c.to.end(func([]byte) error { return nil })
}

// SchemaOf is what files must share for CopyRows to make one of them: the schema and the
// metadata as they stand in the footer, but for what pandas notes of its rows, and how
// each column is compressed. It is empty of a file without rows, which does not tell.
func SchemaOf(split data.Split, o data.ReaderOptions) (text string, err error) {
	in, err := openInput(split, o)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	footer, _, err := readFooter(in.bytes, in.size)
	if err != nil || footer == nil || in.file.NumRowGroups() == 0 {
		return "", err
	}
	c := newCompact(footer[:len(footer)-footerEnd])
	err = c.fields(func(id int16, kind thrift.TType, _ int) error {
		start := c.at()
		err := c.Skip(c.ctx, kind)
		if id == metaSchema && err == nil {
			text = string(footer[start:c.at()])
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("parquet: %s: %w", split.Path, err)
	}
	for _, kv := range in.metadata(false) {
		if kv.Key != "pandas" {
			text += fmt.Sprintf("\x00%s\x00%s", kv.Key, kv.GetValue())
		}
	}
	for i := range in.schema().NumColumns() {
		chunk, err := in.file.MetaData().RowGroup(0).ColumnChunk(i)
		if err != nil {
			return "", fmt.Errorf("parquet: %s: %w", split.Path, err)
		}
		text += "\x00" + chunk.Compression().String()
	}
	return text, nil
}

// Changes are what the kept rows of a copy have that those of the file have not.
type Changes struct {
	More []NewColumn // columns behind the file's own

	// Text returns what a kept row has in place of its text, given its number among
	// those, counted from 0. It is asked once for each row that has a text, in order.
	// nil: all texts stay.
	Text       func(kept int64, text []byte) []byte
	TextColumn string // the column's name; "": a usual one
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

// group copies the kept rows of a row group whose first row is the given one.
func (c *copier) group(g *file.RowGroupReader, s *schema.Schema, first int64, keep func(row int64) bool) error {
	// Decided once, so that all columns agree.
	kept, rows := int64(0), make([]bool, g.NumRows())
	for i := range rows {
		if rows[i] = keep(first + int64(i)); rows[i] {
			kept++
		}
	}
	if kept == 0 {
		return nil
	}
	column, end := c.rowGroup()
	for i := range s.NumColumns() {
		from, err := g.Column(i)
		if err != nil {
			return err
		}
		to, err := column(i)
		if err != nil {
			return err
		}
		if i == c.text {
			to, err = c.editor(to, s.Column(i))
			if err != nil {
				return err
			}
		}
		values, err := columnOf(s.Column(i))
		if err == nil {
			err = values.copy(to, from, rows)
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", s.Column(i).Path(), err)
		}
	}
	c.kept += kept
	return end(c.kept - kept)
}

// editor is a writer of the texts of kept rows that edits them. A group has the rows
// from c.kept on.
func (c *copier) editor(to file.ColumnChunkWriter, of *schema.Column) (file.ColumnChunkWriter, error) {
	texts, ok := to.(*file.ByteArrayColumnChunkWriter)
	if !ok {
		return nil, fmt.Errorf("column %s: a writer of %T", of.Path(), to)
	}
	return &editor{texts, c.changes.Text, c.kept, of.MaxDefinitionLevel()}, nil
}

type editor struct {
	*file.ByteArrayColumnChunkWriter

	edit  func(kept int64, text []byte) []byte
	next  int64 // kept row
	there int16 // definition level of a row that has a text
}

// WriteBatch writes the texts of the next rows, of which each has a level if there can be nulls.
func (e *editor) WriteBatch(texts []parquet.ByteArray, defs, reps []int16) (int64, error) {
	at := 0
	for i := range max(len(texts), len(defs)) {
		if len(defs) == 0 || defs[i] == e.there {
			texts[at] = e.edit(e.next, texts[at])
			at++
		}
		e.next++
	}
	return e.ByteArrayColumnChunkWriter.WriteBatch(texts, defs, reps)
}

// rowGroup returns the columns, to be asked for in order, of the row group that is
// written, and what ends it: behind the rows of several files that is for the caller to
// do, in the end.
func (c *copier) rowGroup() (column func(i int) (file.ColumnChunkWriter, error), end func(first int64) error) {
	if c.several {
		if c.all == nil {
			c.all = c.writer.AppendBufferedRowGroup()
		}
		return c.all.Column, func(int64) error { return nil }
	}
	out := c.writer.AppendRowGroup()
	column = func(int) (file.ColumnChunkWriter, error) { return out.NextColumn() }
	return column, func(first int64) error {
		if err := c.extend(column, first); err != nil {
			return err
		}
		return out.Close()
	}
}

// extend writes the further columns of the kept rows from first on.
func (c *copier) extend(column func(i int) (file.ColumnChunkWriter, error), first int64) error {
	for i := range c.changes.More {
		to, err := column(c.columns + i)
		if err == nil {
			err = c.changes.More[i].write(to, first, c.kept-first)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
