package parquet

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/panics"
	"github.com/neardup/neardup/data/object"
)

// streamBuffer is how much of a column chunk is read ahead of its decoding, at
// most: a chunk of texts can be too large to hold. pageHeader is how much of a
// page arrow wants to see to find its header.
const (
	streamBuffer = 256 << 10
	pageHeader   = 16 << 10
)

// input is an open Parquet file, of which some columns are read.
type input struct {
	Info  Info // what the file's metadata says
	path  string
	file  *file.Reader
	props *parquet.ReaderProperties
	size  int64

	checked bool // it has checksums
	bytes   *checked
	memory  data.Memory // that large pages are taken from
	took    int64       // of it

	columns []opened
	batch   int   // rows that are decoded at once
	group   int   // the next row group
	end     int   // one past the last
	left    int64 // rows of the current row group that are not decoded
	decoded int   // rows that are decoded
	next    int   // the next of them
	row     int64 // its number within the file
	first   int64 // that of the first row that is read
	err     error // ended the reading; io.EOF at the end
}

// opened is a column that is read.
type opened struct {
	leaf     int
	required bool // a null is an error
	column
}

// openInput opens a Parquet file, as options o say. Every error names it.
func openInput(split data.Split, o data.ReaderOptions) (*input, error) {
	f, err := object.OpenInput(split, o)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	in, err := newInput(split.Path, f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return in, nil
}

// openFile opens a Parquet file whose size is not known.
func openFile(path string) (*input, error) {
	return openInput(data.Split{Path: path, Size: -1}, data.ReaderOptions{})
}

// newInput reads an open file.
func newInput(path string, f data.InputFile) (_ *input, err error) {
	in := &input{path: path, batch: readRows, props: parquet.NewReaderProperties(memory.NewGoAllocator())}
	in.props.BufferedStreamEnabled = true
	sums := &checked{InputFile: f}
	in.bytes = sums
	open := func(f parquet.ReaderAtSeeker) error {
		return panics.AsError(func() (err error) {
			if in.file, err = file.NewParquetReader(f, file.WithReadProps(in.props)); err != nil {
				return err
			}
			in.checked, err = sums.check(in.file)
			return err
		})
	}
	var failed error // of reading, which says nothing of the bytes
	if in.size, failed = f.Seek(0, io.SeekEnd); failed == nil {
		sums.size = in.size
		err, failed = open(sums), sums.failed
	}
	if err != nil && failed == nil {
		var changed *io.SectionReader
		if changed, failed = withoutUnknownTypes(sums, in.size); changed != nil {
			err = open(struct {
				*io.SectionReader
				io.Closer
			}{changed, f})
		}
	}
	switch {
	case failed != nil:
		err = failed
	case err != nil:
		err = unreadable(f, in.size, err)
	}
	if err != nil {
		return nil, fmt.Errorf("parquet: %s: %w", path, err)
	}
	in.Info, in.end = in.info(), in.file.NumRowGroups()
	return in, nil
}

// unreadable says of a file that could not be opened what is wrong with it.
func unreadable(f io.ReaderAt, size int64, err error) error {
	magic, readErr := io.ReadAll(io.NewSectionReader(f, 0, 4))
	if readErr == nil && size > 0 && string(magic) != "PAR1" {
		return &data.Unreadable{Err: errors.New("no Parquet file: name one")}
	}
	at := max(size-footerEnd, 0)
	return &data.Unreadable{Offset: at, Err: fmt.Errorf("no footer that can be read at its end, offset %d: %w: fetch or write the file again, or leave it out", at, err)}
}

func (in *input) schema() *schema.Schema { return in.file.MetaData().Schema }

// limit makes [start, end) the row groups that are read; end < 0 means all.
func (in *input) limit(start, end int64) error {
	n := int64(len(in.Info.Groups))
	if end < 0 {
		end = n
	}
	if start < 0 || start > end || end > n {
		return fmt.Errorf("row groups %d to %d are not in the file, which has %d", start, end, n)
	}
	in.group, in.end = int(start), int(end)
	for _, rows := range in.Info.Groups[:in.group] {
		in.row += rows
	}
	in.first = in.row
	return nil
}

// add opens a leaf column for reading, of which a null is an error if it is
// required.
func (in *input) add(leaf int, required bool) (column, error) {
	for _, o := range in.columns {
		if o.leaf == leaf {
			return o.column, nil
		}
	}
	at := in.schema().Column(leaf)
	if at.MaxRepetitionLevel() > 0 {
		return nil, fmt.Errorf("column %s is a list: name one that holds a single value a row", at.Path())
	}
	c, err := columnOf(at)
	if err != nil {
		return nil, err
	}
	in.columns = append(in.columns, opened{leaf, required, c})
	return c, nil
}

// decode decodes the next rows of a row group, after the last the next one's.
func (in *input) decode() error {
	for in.err == nil && in.left == 0 {
		if in.group == in.end {
			in.err = io.EOF
			break
		}
		in.err = in.failed(panics.AsError(in.openGroup), in.row)
	}
	if in.err != nil {
		return in.err
	}
	n := int(min(in.left, int64(in.batch)))
	for _, c := range in.columns {
		if err := panics.AsError(func() error { return c.fill(n) }); err != nil {
			return in.failed(fmt.Errorf("column %s: %w", in.schema().Column(c.leaf).Path(), err), in.row)
		}
		if i := c.firstNull(); c.required && i >= 0 {
			return in.failed(fmt.Errorf("column %s: a null, which must not be", in.schema().Column(c.leaf).Path()), in.row+int64(i))
		}
	}
	in.left -= int64(n)
	in.decoded, in.next = n, 0
	return nil
}

// nextRow moves to the next row, decoded row at, and returns its number.
func (in *input) nextRow() (row int64, at int, err error) {
	if in.next == in.decoded || in.err != nil {
		if err := in.decode(); err != nil {
			return 0, 0, err
		}
	}
	in.next++
	in.row++
	return in.row - 1, in.next - 1, nil
}

// seek makes row, which the reading must not have passed, the one that nextRow
// returns next; beyond the last one it ends the reading. Row groups before its
// own are not read.
func (in *input) seek(row int64) error {
	if row < in.row {
		return fmt.Errorf("parquet: %s: row %d was read before", in.path, row)
	}
	for in.err == nil && in.row < row {
		rest, ready := row-in.row, int64(in.decoded-in.next)
		switch {
		case ready > 0:
			in.next += int(min(ready, rest))
			in.row += min(ready, rest)
		case in.left > rest:
			_ = in.decode() // which keeps its error
		case in.left > 0:
			in.row += in.left
			in.left = 0
		case in.group == in.end:
			return nil // nextRow says so
		case rest < in.Info.Groups[in.group]:
			in.err = in.failed(panics.AsError(in.openGroup), in.row)
		default:
			in.row += max(in.Info.Groups[in.group], 0)
			in.group++
		}
	}
	return in.err
}

func (in *input) openGroup() error {
	g := in.file.RowGroup(in.group)
	in.group++
	in.left = g.NumRows()
	if in.left < 0 {
		return fmt.Errorf("row group %d has %d rows", in.group-1, in.left)
	}
	in.giveMemory()
	if err := in.hold(in.group - 1); err != nil {
		return err
	}
	largest := int64(0)
	for _, o := range in.columns {
		meta, err := g.MetaData().ColumnChunk(o.leaf)
		if err != nil {
			return err
		}
		if !in.checked {
			at := chunkStart(meta)
			n, err := checkPages(in.bytes, at, at+meta.TotalCompressedSize())
			if err != nil {
				return fmt.Errorf("column %s: %w", in.schema().Column(o.leaf).Path(), err)
			}
			largest += n
		}
		in.props.BufferSize = min(max(meta.TotalCompressedSize(), 0), streamBuffer-pageHeader) + pageHeader
		chunk, err := g.Column(o.leaf)
		if err != nil {
			return err
		}
		if err := o.open(chunk); err != nil {
			return err
		}
	}
	return in.takeMemory(largest)
}

// MostHeld is how large a row group of an object may be, in bytes, to be read by one
// request, and held until it was read.
const MostHeld = 32 << 20

// hold has a row group of an object read at once: it is read up to three times, column by
// column, page by page, and to digest it.
func (in *input) hold(g int) error {
	if !object.Is(in.path) {
		return nil
	}
	sections, err := in.sections(g, g+1)
	from, to := in.size, int64(0)
	for _, s := range sections {
		from, to = min(from, s[0]), max(to, s[0]+s[1])
	}
	if err != nil || from < 0 || to > in.size || to-from > MostHeld {
		return nil //nolint:nilerr // who reads it says what is wrong
	}
	if err := object.Hold(in.bytes.InputFile, [2]int64{from, to}); err != nil {
		in.bytes.failed = err // it is no damage
		return err
	}
	return nil
}

// sections are where the column chunks of row groups stand in the file: offsets and lengths.
func (in *input) sections(start, end int) (sections [][2]int64, err error) {
	for g := start; g < end; g++ {
		group := in.file.MetaData().RowGroup(g)
		for c := range group.NumColumns() {
			chunk, err := group.ColumnChunk(c)
			if err != nil {
				return nil, err
			}
			sections = append(sections, [2]int64{chunkStart(chunk), chunk.TotalCompressedSize()})
		}
	}
	return sections, nil
}

// takeMemory takes the memory for the largest pages of the row group's columns,
// if that is much.
func (in *input) takeMemory(largest int64) error {
	const much = 16 << 20
	if largest < much {
		return nil
	}
	if in.took = data.Take(in.memory, 2*largest); in.took < 2*largest { // as they stand in the file, and decompressed
		in.giveMemory()
		return fmt.Errorf("%w: %d bytes: write smaller pages, or give more memory", errLargePage, largest)
	}
	return nil
}

func (in *input) giveMemory() {
	data.Give(in.memory, in.took)
	in.took = 0
}

// errLargePage is returned for a page that takes more memory than there is.
var errLargePage = errors.New("its pages take more memory than there is")

// skipGroup goes on behind the row group in which an error ended the reading: it
// returns the error, how many rows are lost, and which share they are of the row
// group's bytes. It is false if the error is no damage, but one of reading the
// file.
func (in *input) skipGroup() (err error, rows, bytes int64, ok bool) { //nolint:staticcheck // the error is a value here
	if in.err == nil || in.bytes.failed != nil || errors.Is(in.err, io.EOF) && in.left == 0 && in.group == in.end || errors.Is(in.err, os.ErrClosed) {
		return nil, 0, 0, false
	}
	next := int64(0)
	for _, n := range in.Info.Groups[:in.group] {
		next += max(n, 0)
	}
	err, rows = in.err, max(next-in.row, 0)
	group := in.file.MetaData().RowGroup(in.group - 1)
	size := max(group.TotalCompressedSize(), 0)
	if size == 0 {
		size = max(group.TotalByteSize(), 0)
	}
	bytes = max(1, int64(float64(min(size, in.size))*float64(rows)/float64(max(in.Info.Groups[in.group-1], 1))))
	in.err, in.row, in.left, in.decoded, in.next = nil, next, 0, 0, 0
	return err, rows, bytes, true
}

// failed keeps and returns an error, if there is one, at a row.
func (in *input) failed(err error, row int64) error {
	if err != nil {
		in.err = fmt.Errorf("parquet: %s at row %d: %w", in.path, row, err)
	}
	return in.err
}

func (in *input) Close() error {
	if in.file == nil {
		return nil
	}
	f := in.file
	in.file = nil
	in.giveMemory()
	in.err = errors.Join(in.err, os.ErrClosed)
	if err := f.Close(); err != nil {
		return fmt.Errorf("parquet: %s: %w", in.path, err)
	}
	return nil
}
