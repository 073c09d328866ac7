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

	"github.com/neardup/neardup/data/object"
)

// streamBuffer is how much of a column chunk is read ahead of its decoding: a
// chunk of texts can be too large to hold.
const streamBuffer = 256 << 10

// input is an open Parquet file, of which some columns are read.
type input struct {
	path string
	file *file.Reader
	size int64

	columns []opened
	group   int   // the next row group
	end     int   // one past the last
	left    int64 // rows that are left of the current row group
	row     int64 // number, within the file, of the next row
	err     error // ended the reading; io.EOF at the end
}

// opened is a column that is read.
type opened struct {
	leaf int
	column
}

// openInput opens a Parquet file. Every error names it.
func openInput(path string, alloc memory.Allocator) (*input, error) {
	if alloc == nil {
		alloc = memory.NewGoAllocator()
	}
	f, err := object.Open(path)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	in := &input{path: path}
	props := parquet.NewReaderProperties(alloc)
	props.BufferedStreamEnabled = true
	props.BufferSize = streamBuffer
	open := func(f parquet.ReaderAtSeeker) error {
		return recovering(func() (err error) {
			in.file, err = file.NewParquetReader(f, file.WithReadProps(props))
			return err
		})
	}
	if in.size, err = f.Seek(0, io.SeekEnd); err == nil {
		err = open(f)
	}
	if err != nil {
		changed, readErr := withoutUnknownTypes(f, in.size)
		if changed != nil {
			err = open(struct {
				*io.SectionReader
				io.Closer
			}{changed, f})
		}
		err = errors.Join(err, readErr)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("parquet: %s: %w", path, err), f.Close())
	}
	in.end = in.file.NumRowGroups()
	return in, nil
}

func (in *input) schema() *schema.Schema { return in.file.MetaData().Schema }

// limit makes [start, end) the row groups that are read; end < 0 means all.
func (in *input) limit(start, end int64) error {
	n := int64(in.file.NumRowGroups())
	if end < 0 {
		end = n
	}
	if start < 0 || start > end || end > n {
		return fmt.Errorf("row groups %d to %d are not in the file, which has %d", start, end, n)
	}
	in.group, in.end = int(start), int(end)
	return recovering(func() error {
		for g := range in.group {
			in.row += in.file.MetaData().RowGroup(g).NumRows()
		}
		return nil
	})
}

// add opens a leaf column for reading.
func (in *input) add(leaf int) (column, error) {
	for _, o := range in.columns {
		if o.leaf == leaf {
			return o.column, nil
		}
	}
	c, err := newColumn(in.schema().Column(leaf))
	if err != nil {
		return nil, err
	}
	in.columns = append(in.columns, opened{leaf, c})
	return c, nil
}

// nextRow makes sure that a row is left, and returns its number; the caller
// then calls next on every column once.
func (in *input) nextRow() (int64, error) {
	for in.err == nil && in.left == 0 {
		if in.group == in.end {
			in.err = io.EOF
			break
		}
		in.err = recovering(in.openGroup)
		if in.err != nil {
			in.err = fmt.Errorf("parquet: %s at row %d: %w", in.path, in.row, in.err)
		}
	}
	if in.err != nil {
		return 0, in.err
	}
	in.left--
	in.row++
	return in.row - 1, nil
}

// seek makes row, which the reading must not have passed, the one that nextRow
// returns next; beyond the last one it ends the reading. Row groups before its
// own are not read.
func (in *input) seek(row int64) error {
	if row < in.row {
		return fmt.Errorf("parquet: %s: row %d was read before", in.path, row)
	}
	for in.err == nil && row >= in.row+in.left {
		in.row += in.left
		in.left = 0
		if in.group == in.end {
			break // nextRow says so
		}
		rows := int64(0)
		in.err = recovering(func() error {
			rows = in.file.MetaData().RowGroup(in.group).NumRows()
			if row < in.row+rows {
				return in.openGroup()
			}
			in.group++
			return nil
		})
		if in.err != nil {
			in.err = fmt.Errorf("parquet: %s at row %d: %w", in.path, in.row, in.err)
		} else if in.left == 0 {
			in.row += rows
		}
	}
	for in.err == nil && in.left > 0 && in.row < row {
		if _, err := in.nextRow(); err != nil {
			return err
		}
		for _, o := range in.columns {
			if _, err := o.next(); err != nil {
				return in.fail(err)
			}
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
	for _, o := range in.columns {
		chunk, err := g.Column(o.leaf)
		if err != nil {
			return err
		}
		if err := o.open(chunk); err != nil {
			return err
		}
	}
	return nil
}

// fail keeps and returns an error at the current row.
func (in *input) fail(err error) error {
	in.err = fmt.Errorf("parquet: %s at row %d: %w", in.path, in.row-1, err)
	return in.err
}

// Close closes the file.
func (in *input) Close() error {
	if in.file == nil {
		return nil
	}
	f := in.file
	in.file = nil
	in.err = errors.Join(in.err, os.ErrClosed)
	if err := f.Close(); err != nil {
		return fmt.Errorf("parquet: %s: %w", in.path, err)
	}
	return nil
}

// RowGroups is the number of row groups of a Parquet file, and so of the
// splits it can be read in.
func RowGroups(path string) (int, error) {
	in, err := openInput(path, nil)
	if err != nil {
		return 0, err
	}
	n := in.file.NumRowGroups()
	return n, in.Close()
}
