package arrow

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/panics"
	"github.com/neardup/neardup/data/parquet"
)

// CopyRows writes to out the rows of a split that are kept, with all columns and the
// schema's metadata: a file of a file, a stream of a stream, its buffers compressed with
// zstandard where any of the input's are compressed. Strings that are views become large
// strings. keep is asked once for each row, in order, by the number of its file within
// the split and its own within the file. The number of rows kept is returned; after an
// error, out has a part of a file. What the rows have that those of the input have not,
// changes say. Where they edit texts, the column of the text holds plain strings, or
// bytes, and is no dictionary.
//
// The files of a split of several have one schema ([SchemaOf]). One that cannot be read
// has no row that is kept.
func CopyRows(out io.Writer, split data.Split, o data.ReaderOptions, changes parquet.Changes, keep func(file int, row int64) bool) (kept int64, err error) {
	c := copier{out: out, changes: changes}
	file := 0
	for one := range split.OfFiles() {
		err := c.file(one, o, func(row int64) bool { return keep(file, row) })
		if unread := len(split.Files) > 0 && errors.As(err, new(*data.Unreadable)); err != nil && !unread {
			return 0, err
		}
		file++
	}
	if err := panics.AsError(c.end); err != nil {
		return 0, fmt.Errorf("arrow: %s: %w", split.Path, err)
	}
	return c.kept, nil
}

// SchemaOf is what files must share for CopyRows to make one of them: whether they are files
// or streams, their schema and its metadata. It is empty of a file that has dictionaries,
// which are its own.
func SchemaOf(split data.Split, o data.ReaderOptions) (text string, err error) {
	in, err := openBatches(split, o)
	if err != nil {
		return "", err
	}
	if schema := in.schema.String(); !strings.Contains(schema, "dictionary") {
		text = fmt.Sprintf("%t %s", in.file, schema)
	}
	return text, in.close()
}

// copier copies the kept rows of the batches of files to one.
type copier struct {
	in     *batches // of the file that is copied
	out    io.Writer
	schema *arrow.Schema // of what is written; nil before the first file

	changes parquet.Changes
	text    []int // the place of the column whose values are edited; nil: none is

	kept   int64
	writer interface {
		Write(rec arrow.Record) error
		Close() error
	}
}

// file copies the rows of a split of one file. Its errors name the file.
func (c *copier) file(split data.Split, o data.ReaderOptions, keep func(row int64) bool) (err error) {
	if c.in, err = openBatches(split, o); err != nil {
		return err
	}
	if err = panics.AsError(func() error { return c.copy(split.Row, keep) }); err != nil {
		err = fmt.Errorf("arrow: %s: %w", split.Path, err)
	}
	return errors.Join(err, c.in.close())
}

func (c *copier) copy(row int64, keep func(row int64) bool) error {
	if err := c.extend(); err != nil {
		return err
	}
	for {
		batch, err := c.in.next()
		if errors.Is(err, io.EOF) {
			return c.start() // there may be no batch
		}
		if err != nil && (c.in.broken == nil || damage(c.in.broken)) {
			// Its rows were lost when the split was read first, too.
			if c.in.broken != nil {
				return c.start()
			}
			row += c.in.message.rows
			continue
		}
		if err != nil {
			return err
		}
		if err := c.start(); err != nil {
			return err
		}
		if err := c.copyBatch(batch, row, keep); err != nil {
			return err
		}
		row += batch.NumRows()
	}
}

// end ends what is written.
func (c *copier) end() error {
	if c.writer == nil {
		return errors.New("none of the files can be read: fetch or write them again, or leave them out")
	}
	return c.writer.Close()
}

// extend adds the new columns to the schema, and writes views as what they show.
func (c *copier) extend() error {
	if c.schema != nil {
		return nil
	}
	own := c.in.schema
	fields := slices.Clone(own.Fields())
	for i := range fields {
		fields[i].Type = viewless(fields[i].Type)
	}
	if c.changes.Text != nil {
		if text, err := textLeaf(leaves(own), c.changes.TextColumn); err == nil { // else no row has a text
			c.text = text.place
			fields[c.text[0]].Type = withPlain(fields[c.text[0]].Type, c.text[1:], viewless(text.kind))
		}
	}
	for _, m := range c.changes.More {
		if own.HasField(m.Name) {
			return fmt.Errorf("it has a column %s already, which a run that annotates adds: leave that column out, or take the table alone (output.annotate: table)", m.Name)
		}
		f := arrow.Field{Name: m.Name, Type: arrow.PrimitiveTypes.Int32}
		if m.Numbers == nil {
			f = arrow.Field{Name: m.Name, Type: arrow.BinaryTypes.String, Nullable: true}
		}
		fields = append(fields, f)
	}
	meta := own.Metadata()
	c.schema = arrow.NewSchema(fields, &meta)
	return nil
}

// start makes the writer, at the first batch: that tells whether the input is compressed.
func (c *copier) start() (err error) {
	if c.writer != nil {
		return nil
	}
	options := []ipc.Option{ipc.WithSchema(c.schema)}
	if c.in.message.load.compressed {
		options = append(options, ipc.WithZstd())
	}
	if c.in.file {
		c.writer, err = ipc.NewFileWriter(&counted{Writer: c.out}, options...)
	} else {
		c.writer = ipc.NewWriter(c.out, options...)
	}
	return err
}

// counted is a writer that knows how far it is.
type counted struct {
	io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}

// Seek tells the place, which is all that arrow asks of it.
func (c *counted) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, errors.ErrUnsupported
	}
	return c.n, nil
}

// copyBatch writes the kept rows of a batch as one batch.
func (c *copier) copyBatch(batch arrow.Record, row int64, keep func(row int64) bool) error {
	var runs [][2]int64 // of kept rows
	rows := int64(0)
	for i := range batch.NumRows() {
		if !keep(row + i) {
			continue
		}
		if n := len(runs); n > 0 && runs[n-1][1] == i {
			runs[n-1][1]++
		} else {
			runs = append(runs, [2]int64{i, i + 1})
		}
		rows++
	}
	if rows == 0 {
		return nil
	}
	columns := make([]arrow.Array, 0, len(c.schema.Fields()))
	for i, whole := range batch.Columns() {
		kind := viewless(whole.DataType())
		some, err := pick(array.MakeFromData(withoutViews(whole.Data(), kind)), runs)
		if err != nil {
			return err
		}
		if c.text != nil && c.text[0] == i {
			if some, err = c.edited(some, c.text[1:]); err != nil {
				return err
			}
		}
		columns = append(columns, some)
	}
	for _, m := range c.changes.More {
		columns = append(columns, newColumn(m, int(c.kept), int(rows)))
	}
	c.kept += rows
	return c.writer.Write(array.NewRecord(c.schema, columns, rows))
}

// pick is the values of some rows.
func pick(whole arrow.Array, runs [][2]int64) (arrow.Array, error) {
	if len(runs) == 1 {
		return array.NewSlice(whole, runs[0][0], runs[0][1]), nil
	}
	some := make([]arrow.Array, len(runs))
	for i, r := range runs {
		some[i] = array.NewSlice(whole, r[0], r[1])
	}
	return array.Concatenate(some, mem)
}

// edited is the texts of kept rows, edited: a column, or one in groups, a place in each.
func (c *copier) edited(of arrow.Array, place []int) (arrow.Array, error) {
	if len(place) > 0 {
		if of.Data().Offset() > 0 { // which the values in the group do not have
			var err error
			if of, err = array.Concatenate([]arrow.Array{of}, mem); err != nil {
				return nil, err
			}
		}
		group := of.Data()
		children := slices.Clone(group.Children())
		texts, err := c.edited(array.MakeFromData(children[place[0]]), place[1:])
		if err != nil {
			return nil, err
		}
		children[place[0]] = texts.Data()
		kind := withPlain(of.DataType(), place[:1], texts.DataType())
		return array.MakeFromData(array.NewData(kind, group.Len(), group.Buffers(), children, group.NullN(), 0)), nil
	}
	values := column{values: of}
	b := array.NewBuilder(mem, plain(of.DataType())).(textBuilder)
	for i := range of.Len() {
		v, at := values.value(i)
		if v == nil {
			b.AppendNull()
			continue
		}
		text, _ := bytesOf(v, at)
		b.AppendString(string(c.changes.Text(c.kept+int64(i), []byte(text))))
	}
	return b.NewArray(), nil
}

// textBuilder is a builder of any column of strings or bytes, but for views.
type textBuilder interface {
	array.Builder
	AppendString(text string)
}

// newColumn is a piece of a new column.
func newColumn(m parquet.NewColumn, from, n int) arrow.Array {
	if m.Numbers != nil {
		b := array.NewInt32Builder(mem)
		b.AppendValues(m.Numbers[from:from+n], nil)
		return b.NewArray()
	}
	b := array.NewStringBuilder(mem)
	for _, word := range m.Words[from : from+n] {
		if word == "" {
			b.AppendNull()
		} else {
			b.Append(word)
		}
	}
	return b.NewArray()
}
