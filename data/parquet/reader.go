package parquet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/parquet"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/field"
)

// errNotTable: a Parquet file lacks the columns asked for.
var errNotTable = errors.New("not the table asked for")

// Info is what a table's file metadata says of it; fields of a foreign file
// are empty.
type Info struct {
	Version    string
	Table      string
	ConfigHash string
	Settings   string
	Bits       int // 0 when unknown
	Rows       int64
}

// ReadInfo returns what the metadata of the Parquet file at path says of it,
// a table of neardup's or not.
func ReadInfo(path string) (Info, error) {
	in, err := openInput(path)
	if err != nil {
		return Info{}, err
	}
	return in.info(), in.Close()
}

func (in *input) info() Info {
	kv := in.file.MetaData().KeyValueMetadata()
	get := func(key string) string {
		if v := kv.FindValue(key); v != nil {
			return *v
		}
		return ""
	}
	info := Info{Version: get(metaVersion), Table: get(metaTable), ConfigHash: get(metaConfig), Settings: get(metaSettings), Rows: in.file.NumRows()}
	_, _ = fmt.Sscan(get(metaBits), &info.Bits)
	return info
}

// ReadOptions say how a table is read.
type ReadOptions struct {
	// Columns are the columns to read, in any order; the fields of the others
	// stay zero. Nil means all. Fewer columns read faster.
	Columns []string
	// Foreign names the columns of a file that neardup did not write. A
	// fingerprint may be a signed or unsigned 64- or 32-bit integer, 4, 8 or
	// 16 bytes big-endian, or a string as field.ParseFingerprint takes it.
	Foreign data.ForeignColumns
	// Start and End bound the row groups that are read: [Start, End), all from
	// Start on unless End is positive.
	Start, End int64
}

// TableReader streams the rows of a table, one by one or in batches.
type TableReader[R any] struct {
	in      *input
	info    Info
	setters []setter[R]
	named   map[string]column
	hi, lo  []uint64 // of Batch.Fingerprints
}

// open opens a file of a table. With foreign it may be a file that neardup did
// not write: its id and its fingerprint may have other names, and the other
// columns be missing or null.
func open[R any](path string, t *data.Table[R], o ReadOptions, foreign *data.ForeignColumns) (*TableReader[R], error) {
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	r := &TableReader[R]{in: in, named: map[string]column{}}
	err = recovering(func() error {
		if o.End <= 0 {
			o.End = -1
		}
		return errors.Join(in.limit(o.Start, o.End), r.open(t, o.Columns, foreign))
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("parquet: %s: %w", path, err), in.Close())
	}
	return r, nil
}

func (r *TableReader[R]) open(t *data.Table[R], want []string, foreign *data.ForeignColumns) error {
	r.info = r.in.info()
	if foreign == nil && r.info.Table != t.Name {
		return fmt.Errorf("%w: it is a table of %q, not %q", errNotTable, r.info.Table, t.Name)
	}
	if foreign == nil && !r.in.checked {
		return fmt.Errorf("%w, or another program or an earlier neardup wrote it, which has no checksums: make it again", errChecksum)
	}
	for _, w := range want {
		if !slices.Contains(t.Names(), w) {
			return fmt.Errorf("the table has no column %q", w)
		}
	}
	paths := leaves(r.in.schema())
	for i := range t.Columns {
		c := &t.Columns[i]
		if want != nil && !slices.Contains(want, c.Name) {
			continue
		}
		leaf, optional, err := slices.Index(paths, c.Name), foreign != nil, error(nil)
		switch {
		case foreign == nil:
		case c.Fingerprint != nil:
			optional = false
			leaf, err = field.Need(paths, foreign.Fingerprint, field.OfFingerprint, field.UsualFingerprint)
		case c.Name == "doc_id":
			optional = false
			leaf, err = field.Need(paths, foreign.ID, field.OfID, field.UsualID)
		}
		switch {
		case err != nil:
			return fmt.Errorf("%w: %w", errNotTable, err)
		case leaf < 0 && optional:
			continue
		case leaf < 0:
			return fmt.Errorf("%w: no column %q; there are: %s", errNotTable, c.Name, strings.Join(paths, ", "))
		}
		if err := r.add(c, leaf, !optional && !c.Null, foreign); err != nil {
			return err
		}
	}
	return nil
}

// add opens a column of the table, which is this leaf of the file's schema.
func (r *TableReader[R]) add(c *data.Column[R], leaf int, required bool, foreign *data.ForeignColumns) error {
	from, err := r.in.add(leaf, required)
	if err != nil {
		return err
	}
	hexadecimal := false
	if _, text := from.(*byteArrays); text && c.Fingerprint != nil && foreign != nil {
		if hexadecimal = foreign.Hex; !hexadecimal {
			if hexadecimal, err = looksHexadecimal(r.in.path, leaf); err != nil {
				return err
			}
		}
	}
	set := setterOf(c, from, r.in.schema().Column(leaf), foreign != nil, hexadecimal)
	if set == nil {
		return fmt.Errorf("%w: column %s has another type", errNotTable, c.Name)
	}
	r.named[c.Name] = from
	r.setters = append(r.setters, set)
	return nil
}

// looksHexadecimal tells whether a column of text holds hexadecimal numbers,
// by its first 1,000 values.
func looksHexadecimal(path string, leaf int) (bool, error) {
	in, err := openInput(path)
	if err != nil {
		return false, err
	}
	defer in.Close() //nolint:errcheck // opened for reading
	c, err := in.add(leaf, false)
	if err != nil {
		return false, err
	}
	for range 1000 {
		_, at, err := in.nextRow()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if !c.load(at) && field.LooksHexadecimal(c.(*byteArrays).value) {
			return true, nil
		}
	}
	return false, nil
}

// Info is what the file's metadata says of the table.
func (r *TableReader[R]) Info() Info { return r.info }

// SeekRow makes row, counted from 0 at the first row group that is read, and not
// before the next one, the next that is read; there is none if the table ends
// before it. It does not read the row groups before.
func (r *TableReader[R]) SeekRow(row int64) error { return r.in.seek(r.in.first + row) }

// Read fills row and returns io.EOF after the last one. Fields of columns that
// are not read stay as they are; byte slices are valid until the next Read.
func (r *TableReader[R]) Read(row *R) error {
	_, at, err := r.in.nextRow()
	if err != nil {
		return err
	}
	if err := r.set(row, at); err != nil {
		return r.in.failed(err, r.in.row-1)
	}
	return nil
}

// set fills row from decoded row at.
func (r *TableReader[R]) set(row *R, at int) error {
	for _, set := range r.setters {
		if err := set(row, at); err != nil {
			return err
		}
	}
	return nil
}

// Each calls yield with every row that r reads, filled into row, until yield
// returns an error or ctx ends, and closes r.
func Each[R any](ctx context.Context, r interface {
	Read(row *R) error
	Close() error
}, row R, yield func(*R) error,
) (err error) {
	defer func() { err = errors.Join(err, r.Close()) }()
	for n := 0; ; n++ {
		if n%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if err := r.Read(&row); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := yield(&row); err != nil {
			return err
		}
	}
}

// Close closes the file; it may be called at any time, and again.
func (r *TableReader[R]) Close() error { return r.in.Close() }

// BatchRows is how many rows ReadBatch gives at once, at most.
const BatchRows = 128 << 10

// ByteArray is a value of a column of strings or bytes.
type ByteArray = parquet.ByteArray

// Batch is a stretch of successive rows, decoded column by column. It and its
// values are valid until the next ReadBatch.
type Batch[R any] struct {
	First int64 // number within the file of the first row
	N     int   // rows

	reader *TableReader[R]
	from   int // decoded row that is the first
}

// ReadBatch returns the next rows, and io.EOF after the last.
func (r *TableReader[R]) ReadBatch() (Batch[R], error) {
	r.in.batch = BatchRows
	row, from, err := r.in.nextRow()
	if err != nil {
		return Batch[R]{}, err
	}
	n := r.in.decoded - from
	r.in.row, r.in.next = row+int64(n), r.in.decoded
	return Batch[R]{First: row, N: n, reader: r, from: from}, nil
}

// Row fills r with row i, as TableReader.Read does. Of a file of neardup's, and
// no other is read in batches, every value fits.
func (b *Batch[R]) Row(i int, r *R) { _ = b.reader.set(r, b.from+i) }

// Filter keeps the rows for which keep is true, in their order, in place.
func (b *Batch[R]) Filter(keep func(i int) bool) {
	n := 0
	for i := range b.N {
		if !keep(i) {
			continue
		}
		if n != i {
			for _, c := range b.reader.in.columns {
				c.move(b.from+n, b.from+i)
			}
		}
		n++
	}
	b.N = n
}

// Bytes are the values of a column of strings or bytes, that of a null is empty;
// nil when the column was not asked for, or is of another type.
func (b *Batch[R]) Bytes(column string) []ByteArray {
	c, ok := b.reader.named[column].(*byteArrays)
	if !ok {
		return nil
	}
	return c.buf[b.from : b.from+b.N : b.from+b.N]
}

// Int32s are the values of a column as Bytes.
func (b *Batch[R]) Int32s(column string) []int32 {
	c, ok := b.reader.named[column].(*int32Values)
	if !ok {
		return nil
	}
	return c.buf[b.from : b.from+b.N : b.from+b.N]
}

// Fingerprints are those of the column fingerprint; hi is nil when they have
// at most 64 bits, both when the column was not asked for. They are valid
// until the next call for any batch of the reader.
func (b *Batch[R]) Fingerprints() (hi, lo []uint64) {
	r := b.reader
	switch c := r.named["fingerprint"].(type) {
	case *int64Values:
		r.lo = slices.Grow(r.lo[:0], b.N)[:b.N]
		for i, v := range c.buf[b.from : b.from+b.N] {
			r.lo[i] = uint64(v)
		}
		return nil, r.lo
	case *fixedArrays:
		r.hi, r.lo = slices.Grow(r.hi[:0], b.N)[:b.N], slices.Grow(r.lo[:0], b.N)[:b.N]
		for i, v := range c.buf[b.from : b.from+b.N] {
			r.hi[i], r.lo[i] = binary.BigEndian.Uint64(v), binary.BigEndian.Uint64(v[8:])
		}
		return r.hi, r.lo
	}
	return nil, nil
}
