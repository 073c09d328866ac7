package parquet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/field"
	"github.com/neardup/neardup/data/internal/panics"
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
	Groups     []int64 // rows of each row group
	Checksum   string  // 16 hexadecimal digits that stand for all bytes of the file
}

// ReadInfo returns what the metadata of the Parquet file at path says of it,
// a table of neardup's or not.
func ReadInfo(path string) (Info, error) {
	in, err := openFile(path)
	if err != nil {
		return Info{}, err
	}
	return in.Info, in.Close()
}

// InfoOf is ReadInfo of a file that is open, and stays so.
func InfoOf(path string, f data.InputFile) (Info, error) {
	in, err := newInput(path, f)
	if err != nil {
		return Info{}, err
	}
	return in.Info, nil
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
	info.Checksum, _, _ = strings.Cut(get(metaChecksums), ":")
	for g := range in.file.NumRowGroups() {
		info.Groups = append(info.Groups, in.file.MetaData().RowGroup(g).NumRows())
	}
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

// TableReader streams the rows of a table, one by one or in batches. Close may
// be called at any time, and again.
type TableReader[R any] struct {
	*input
	setters []setter[R]
}

// open opens a file of a table. With foreign it may be a file that neardup did
// not write: its id and its fingerprint may have other names, and the other
// columns be missing or null.
func open[R any](path string, t *data.Table[R], o ReadOptions, foreign *data.ForeignColumns) (*TableReader[R], error) {
	in, err := openFile(path)
	if err != nil {
		return nil, err
	}
	r := &TableReader[R]{input: in}
	err = panics.AsError(func() error {
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
	if foreign == nil && r.Info.Table != t.Name {
		return fmt.Errorf("%w: it is a table of %q, not %q", errNotTable, r.Info.Table, t.Name)
	}
	if foreign == nil && !r.checked {
		return fmt.Errorf("%w, or another program or an earlier neardup wrote it, which has no checksums: make it again", errChecksum)
	}
	for _, w := range want {
		if !slices.Contains(t.Names(), w) {
			return fmt.Errorf("the table has no column %q", w)
		}
	}
	paths := leaves(r.schema())
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Hex != nil || want != nil && !slices.Contains(want, c.Name) {
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
		case leaf < 0 && (optional || c.Later):
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
	from, err := r.input.add(leaf, required)
	if err != nil {
		return err
	}
	hexadecimal := false
	if _, text := from.(*byteArrays); text && c.Fingerprint != nil && foreign != nil {
		if hexadecimal = foreign.Hex; !hexadecimal {
			if hexadecimal, err = looksHexadecimal(r.path, leaf); err != nil {
				return err
			}
		}
	}
	set := setterOf(c, from, r.schema().Column(leaf), foreign != nil, hexadecimal)
	if set == nil {
		return fmt.Errorf("%w: column %s has another type", errNotTable, c.Name)
	}
	r.setters = append(r.setters, set)
	return nil
}

// looksHexadecimal tells whether a column of text holds hexadecimal numbers.
func looksHexadecimal(path string, leaf int) (bool, error) {
	in, err := openFile(path)
	if err != nil {
		return false, err
	}
	defer in.Close() //nolint:errcheck // opened for reading
	c, err := in.add(leaf, false)
	if err != nil {
		return false, err
	}
	return field.Hexadecimal(func() ([]byte, error) {
		_, at, err := in.nextRow()
		if err != nil || c.load(at) {
			return nil, err
		}
		return c.(*byteArrays).value, nil
	})
}

// SeekRow makes row, counted from 0 at the first row group that is read, and not
// before the next one, the next that is read; there is none if the table ends
// before it. It does not read the row groups before.
func (r *TableReader[R]) SeekRow(row int64) error { return r.seek(r.first + row) }

// Read fills row and returns io.EOF after the last one. Fields of columns that
// are not read stay as they are; byte slices are valid until the next Read.
func (r *TableReader[R]) Read(row *R) error {
	number, at, err := r.nextRow()
	if err != nil {
		return err
	}
	return r.set(row, at, number)
}

// set fills row from decoded row at, the file's of that number.
func (r *TableReader[R]) set(row *R, at int, number int64) error {
	for _, set := range r.setters {
		if err := set(row, at); err != nil {
			return r.failed(err, number)
		}
	}
	return nil
}

// ReadBatch fills rows with the next ones, as Read does, and returns how many
// they are, and the number within the file of the first; io.EOF after the last.
// Their byte slices are valid until the next read.
func (r *TableReader[R]) ReadBatch(rows []R) (n int, first int64, err error) {
	r.batch = len(rows)
	first, at, err := r.nextRow()
	if err != nil {
		return 0, 0, err
	}
	n = min(r.decoded-at, len(rows))
	for i := range n {
		if err := r.set(&rows[i], at+i, first+int64(i)); err != nil {
			return 0, 0, err
		}
	}
	r.row, r.next = first+int64(n), at+n
	return n, first, nil
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
