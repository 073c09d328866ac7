package parquet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/neardup/neardup/data"
)

// LibraryWriter writes the library's table.
type LibraryWriter struct {
	*table
	docID, sketch, letters, cluster, site *byteValues
	print                                 *prints
	lane, night, firstSeen, language      *names
	length                                *int32s
	date                                  *int64s
}

// CreateLibrary starts a file of the library's table; it appears at path with
// Commit.
func CreateLibrary(path string, o Options) (*LibraryWriter, error) {
	bits, err := o.bits()
	if err != nil {
		return nil, err
	}
	w := &LibraryWriter{
		docID: &byteValues{stats: true}, sketch: &byteValues{}, letters: &byteValues{}, cluster: &byteValues{}, site: &byteValues{},
		print: &prints{bits: bits},
		lane:  &names{}, night: &names{}, firstSeen: &names{}, language: &names{},
		length: &int32s{}, date: &int64s{nullable: true},
	}
	w.table, err = createTable(path, data.TableLibrary, bits, o, schema.FieldList{
		stringField("doc_id"),
		printField(bits),
		stringField("lane"),
		plainField("length", parquet.Types.Int32),
		plainField("sketch", parquet.Types.ByteArray),
		stringField("letters"),
		stringField("night"),
		stringField("first_seen"),
		stringField("cluster_id"),
		stringField("site"),
		stringField("language"),
		fieldOf("date", parquet.Repetitions.Optional, schema.NewTimestampLogicalType(true, schema.TimeUnitMillis), parquet.Types.Int64, -1),
	}, []batch{w.docID, w.print, w.lane, w.length, w.sketch, w.letters, w.night, w.firstSeen, w.cluster, w.site, w.language, w.date},
		parquet.WithCompressionFor("fingerprint", compress.Codecs.Uncompressed), // random bits
		parquet.WithCompressionFor("sketch", compress.Codecs.Uncompressed),
		parquet.WithStatsFor("fingerprint", false),
		parquet.WithStatsFor("sketch", false),
		parquet.WithStatsFor("letters", false),
		parquet.WithStatsFor("cluster_id", false),
		parquet.WithStatsFor("site", false),
		parquet.WithDictionaryFor("lane", true),
		parquet.WithDictionaryFor("night", true),
		parquet.WithDictionaryFor("first_seen", true),
		parquet.WithDictionaryFor("language", true),
	)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Write appends a row. It keeps nothing of it.
func (w *LibraryWriter) Write(r *data.LibraryRow) error {
	w.docID.add(r.DocID)
	w.print.add(r.Hi, r.Lo)
	w.lane.add(r.Lane)
	w.length.add(r.Length)
	w.sketch.add(r.Sketch)
	w.letters.add(r.Letters)
	w.night.add(r.Night)
	w.firstSeen.add(r.FirstSeen)
	w.cluster.add(r.Cluster)
	w.site.add(r.Site)
	w.language.add(r.Language)
	w.date.addNullable(r.Date, r.Date == data.NoDate)
	return w.added(len(r.DocID) + len(r.Sketch) + len(r.Letters) + len(r.Cluster) + len(r.Site) + 48)
}

// MergeWriter writes the table of merges.
type MergeWriter struct {
	*table
	night      *names
	from, into *byteValues
}

// CreateMerges starts a file of the table of merges; it appears at path with
// Commit.
func CreateMerges(path string, o Options) (*MergeWriter, error) {
	bits, err := o.bits()
	if err != nil {
		return nil, err
	}
	w := &MergeWriter{night: &names{}, from: &byteValues{stats: true}, into: &byteValues{}}
	w.table, err = createTable(path, data.TableMerges, bits, o,
		schema.FieldList{stringField("night"), stringField("from"), stringField("into")},
		[]batch{w.night, w.from, w.into},
		parquet.WithDictionaryFor("night", true),
		parquet.WithStatsFor("into", false))
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Write appends a row. It keeps nothing of it.
func (w *MergeWriter) Write(r *data.MergeRow) error {
	w.night.add(r.Night)
	w.from.add(r.From)
	w.into.add(r.Into)
	return w.added(len(r.From) + len(r.Into) + 16)
}

// DriftWriter writes the drift table.
type DriftWriter struct {
	*table
	night, language                     *names
	site                                *byteValues
	documents, fresh, repeated, returns *int64s
}

// CreateDrift starts a file of the drift table; it appears at path with
// Commit.
func CreateDrift(path string, o Options) (*DriftWriter, error) {
	bits, err := o.bits()
	if err != nil {
		return nil, err
	}
	w := &DriftWriter{
		night: &names{}, language: &names{}, site: &byteValues{stats: true},
		documents: &int64s{}, fresh: &int64s{}, repeated: &int64s{}, returns: &int64s{},
	}
	w.table, err = createTable(path, data.TableDrift, bits, o, schema.FieldList{
		stringField("night"),
		stringField("site"),
		stringField("language"),
		plainField("documents", parquet.Types.Int64),
		plainField("new", parquet.Types.Int64),
		plainField("repeated", parquet.Types.Int64),
		plainField("returning", parquet.Types.Int64),
	}, []batch{w.night, w.site, w.language, w.documents, w.fresh, w.repeated, w.returns},
		parquet.WithDictionaryFor("night", true),
		parquet.WithDictionaryFor("language", true))
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Write appends a row. It keeps nothing of it.
func (w *DriftWriter) Write(r *data.DriftRow) error {
	w.night.add(r.Night)
	w.site.add(r.Site)
	w.language.add(r.Language)
	w.documents.add(r.Documents)
	w.fresh.add(r.New)
	w.repeated.add(r.Repeated)
	w.returns.add(r.Returning)
	return w.added(len(r.Site) + 48)
}

// GrowthWriter writes the growth table.
type GrowthWriter struct {
	*table
	night                      *names
	print                      *prints
	documents, before, earlier *int64s
	example                    *byteValues
}

// CreateGrowth starts a file of the growth table; it appears at path with
// Commit.
func CreateGrowth(path string, o Options) (*GrowthWriter, error) {
	bits, err := o.bits()
	if err != nil {
		return nil, err
	}
	w := &GrowthWriter{
		night: &names{}, print: &prints{bits: bits},
		documents: &int64s{}, before: &int64s{}, earlier: &int64s{}, example: &byteValues{stats: true},
	}
	w.table, err = createTable(path, data.TableGrowth, bits, o, schema.FieldList{
		stringField("night"),
		printField(bits),
		plainField("documents", parquet.Types.Int64),
		plainField("before", parquet.Types.Int64),
		plainField("earlier", parquet.Types.Int64),
		stringField("example"),
	}, []batch{w.night, w.print, w.documents, w.before, w.earlier, w.example},
		parquet.WithDictionaryFor("night", true),
		parquet.WithStatsFor("fingerprint", false))
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Write appends a row. It keeps nothing of it.
func (w *GrowthWriter) Write(r *data.GrowthRow) error {
	w.night.add(r.Night)
	w.print.add(r.Hi, r.Lo)
	w.documents.add(r.Documents)
	w.before.add(r.Before)
	w.earlier.add(r.Earlier)
	w.example.add(r.Example)
	return w.added(len(r.Example) + 48)
}

// ReadMerges calls yield for every row of a file of merges. The row's bytes
// are valid during the call.
func ReadMerges(ctx context.Context, path string, yield func(*data.MergeRow) error) error {
	var row data.MergeRow
	var night, from, into *byteArrays
	return readWhole(ctx, path, data.MergeColumns, func(found map[string]column) error {
		return errors.Join(assign(&night, found, "night"), assign(&from, found, "from"), assign(&into, found, "into"))
	}, func() error {
		row.Night, row.From, row.Into = sameBytes(row.Night, night.value), from.value, into.value
		return yield(&row)
	})
}

// BatchRows is how many rows a LibraryReader gives at once, at most.
const BatchRows = 128 << 10

// LibraryBatch is a stretch of successive rows, column by column; a column
// that was not asked for has no values. The values are valid until the next
// Read.
type LibraryBatch struct {
	First int64 // row number within the file of the first
	N     int

	DocID, Lane, Sketch, Letters, Night, FirstSeen, Cluster, Site, Language []parquet.ByteArray

	Hi, Lo []uint64
	Length []int32
	Date   []int64 // data.NoDate where there is none
}

// Row copies row i into r, whose strings it keeps where they are the same; the
// byte slices refer to the batch.
func (b *LibraryBatch) Row(i int, r *data.LibraryRow) {
	r.DocID, r.Sketch, r.Letters, r.Cluster, r.Site = at(b.DocID, i), at(b.Sketch, i), at(b.Letters, i), at(b.Cluster, i), at(b.Site, i)
	r.Lane, r.Night = sameBytes(r.Lane, at(b.Lane, i)), sameBytes(r.Night, at(b.Night, i))
	r.FirstSeen, r.Language = sameBytes(r.FirstSeen, at(b.FirstSeen, i)), sameBytes(r.Language, at(b.Language, i))
	r.Hi, r.Lo, r.Length, r.Date = 0, 0, 0, data.NoDate
	if len(b.Lo) > 0 {
		r.Lo = b.Lo[i]
	}
	if len(b.Hi) > 0 {
		r.Hi = b.Hi[i]
	}
	if len(b.Length) > 0 {
		r.Length = b.Length[i]
	}
	if len(b.Date) > 0 {
		r.Date = b.Date[i]
	}
}

func at(values []parquet.ByteArray, i int) []byte {
	if len(values) == 0 {
		return nil
	}
	return values[i]
}

// LibraryReader reads row groups of a file of the library's table, a batch of
// rows at a time.
type LibraryReader struct {
	reader
	fill []func(n int) error // one for each column read
	open []func(g *file.RowGroupReader) error
	b    LibraryBatch
}

// OpenLibrary opens row groups [start, end) of a file of the library's table;
// end < 0 means all from start on.
func OpenLibrary(path string, start, end int64, o ReadOptions) (*LibraryReader, error) {
	in, err := openInput(path, o.Allocator)
	if err != nil {
		return nil, err
	}
	r := &LibraryReader{reader: reader{in: in}}
	err = recovering(func() error {
		r.info = in.info()
		if r.info.Table != data.TableLibrary {
			return fmt.Errorf("%w: it is a table of %q", ErrNotTable, r.info.Table)
		}
		if err := r.columns(o.Columns); err != nil {
			return err
		}
		return in.limit(start, end)
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("parquet: %s: %w", path, err), in.Close())
	}
	return r, nil
}

// GroupRows lists the rows of each row group of a Parquet file.
func GroupRows(path string) ([]int64, error) {
	in, err := openInput(path, nil)
	if err != nil {
		return nil, err
	}
	rows := make([]int64, in.file.NumRowGroups())
	for g := range rows {
		rows[g] = in.file.MetaData().RowGroup(g).NumRows()
	}
	return rows, in.Close()
}

func (r *LibraryReader) columns(want []string) error {
	for _, w := range want {
		if !slices.ContainsFunc(data.LibraryColumns, func(c data.Column) bool { return c.Name == w }) {
			return fmt.Errorf("the table has no column %q", w)
		}
	}
	paths := leaves(r.in.schema())
	for _, c := range data.LibraryColumns {
		if want != nil && !slices.Contains(want, c.Name) {
			continue
		}
		leaf := slices.Index(paths, c.Name)
		if leaf < 0 {
			return fmt.Errorf("%w: no column %q", ErrNotTable, c.Name)
		}
		b := &r.b
		switch c.Name {
		case "fingerprint":
			if r.info.Bits == 128 {
				var values []parquet.FixedLenByteArray
				columnar[*file.FixedLenByteArrayColumnChunkReader](r, leaf, &values, func(n int) {
					b.Hi, b.Lo = slices.Grow(b.Hi[:0], n)[:n], slices.Grow(b.Lo[:0], n)[:n]
					for i, v := range values {
						b.Hi[i], b.Lo[i] = binary.BigEndian.Uint64(v), binary.BigEndian.Uint64(v[8:])
					}
				})
				continue
			}
			var values []int64
			columnar[*file.Int64ColumnChunkReader](r, leaf, &values, func(n int) {
				b.Lo = slices.Grow(b.Lo[:0], n)[:n]
				for i, v := range values {
					b.Lo[i] = uint64(v)
				}
			})
		case "length":
			columnar[*file.Int32ColumnChunkReader](r, leaf, &b.Length, nil)
		case "date":
			r.dates(leaf)
		default:
			columnar[*file.ByteArrayColumnChunkReader](r, leaf, map[string]*[]parquet.ByteArray{
				"doc_id": &b.DocID, "lane": &b.Lane, "sketch": &b.Sketch, "letters": &b.Letters, "night": &b.Night,
				"first_seen": &b.FirstSeen, "cluster_id": &b.Cluster, "site": &b.Site, "language": &b.Language,
			}[c.Name], nil)
		}
	}
	return nil
}

// columnar reads a column without nulls into values; then, if there is one,
// takes them.
func columnar[R chunkReader[T], T any](r *LibraryReader, leaf int, values *[]T, then func(n int)) {
	var chunk R
	r.open = append(r.open, func(g *file.RowGroupReader) error {
		c, err := g.Column(leaf)
		if err != nil {
			return err
		}
		typed, ok := c.(R)
		if !ok || c.Descriptor().MaxDefinitionLevel() > 0 {
			return fmt.Errorf("%w: column %s has another type", ErrNotTable, c.Descriptor().Path())
		}
		chunk = typed
		return nil
	})
	r.fill = append(r.fill, func(n int) error {
		*values = slices.Grow((*values)[:0], n)[:n]
		total, read, err := chunk.ReadBatch(int64(n), *values, nil, nil)
		if err == nil {
			err = chunk.Err()
		}
		if err == nil && (int(total) != n || read != n) {
			err = errors.New("fewer values than rows")
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", chunk.Descriptor().Path(), err)
		}
		if then != nil {
			then(n)
		}
		return nil
	})
}

// dates reads the one column that has nulls.
func (r *LibraryReader) dates(leaf int) {
	var chunk *file.Int64ColumnChunkReader
	var values []int64
	var defs []int16
	r.open = append(r.open, func(g *file.RowGroupReader) error {
		c, err := g.Column(leaf)
		if err != nil {
			return err
		}
		var ok bool
		if chunk, ok = c.(*file.Int64ColumnChunkReader); !ok || c.Descriptor().MaxDefinitionLevel() != 1 {
			return fmt.Errorf("%w: column %s has another type", ErrNotTable, c.Descriptor().Path())
		}
		return nil
	})
	r.fill = append(r.fill, func(n int) error {
		values, defs = slices.Grow(values[:0], n)[:n], slices.Grow(defs[:0], n)[:n]
		total, read, err := chunk.ReadBatch(int64(n), values, defs, nil)
		if err == nil {
			err = chunk.Err()
		}
		if err == nil && int(total) != n {
			err = errors.New("fewer values than rows")
		}
		if err != nil {
			return fmt.Errorf("column date: %w", err)
		}
		r.b.Date = slices.Grow(r.b.Date[:0], n)[:n]
		v := 0
		for i, d := range defs {
			r.b.Date[i] = data.NoDate
			if d == 1 {
				if v == read {
					return errors.New("column date has fewer values than its levels say")
				}
				r.b.Date[i] = values[v]
				v++
			}
		}
		return nil
	})
}

// Read returns the next rows, and io.EOF after the last.
func (r *LibraryReader) Read() (*LibraryBatch, error) {
	in := r.in
	for in.err == nil && in.left == 0 {
		if in.group == in.end {
			in.err = io.EOF
			break
		}
		in.err = recovering(func() error {
			g := in.file.RowGroup(in.group)
			in.group++
			in.left = g.NumRows()
			for _, open := range r.open {
				if err := open(g); err != nil {
					return err
				}
			}
			return nil
		})
		if in.err != nil {
			in.err = fmt.Errorf("parquet: %s at row %d: %w", in.path, in.row, in.err)
		}
	}
	if in.err != nil {
		return nil, in.err
	}
	n := int(min(in.left, BatchRows))
	for _, fill := range r.fill {
		if err := recovering(func() error { return fill(n) }); err != nil {
			in.err = fmt.Errorf("parquet: %s at row %d: %w", in.path, in.row, err)
			return nil, in.err
		}
	}
	r.b.First, r.b.N = in.row, n
	in.left -= int64(n)
	in.row += int64(n)
	return &r.b, nil
}

// Slice returns rows from to to of the batch; the values are the batch's.
func (b *LibraryBatch) Slice(from, to int) LibraryBatch {
	return LibraryBatch{
		First: b.First + int64(from), N: to - from,
		DocID: slice(b.DocID, from, to), Lane: slice(b.Lane, from, to), Sketch: slice(b.Sketch, from, to), Letters: slice(b.Letters, from, to),
		Night: slice(b.Night, from, to), FirstSeen: slice(b.FirstSeen, from, to), Cluster: slice(b.Cluster, from, to),
		Site: slice(b.Site, from, to), Language: slice(b.Language, from, to),
		Hi: slice(b.Hi, from, to), Lo: slice(b.Lo, from, to), Length: slice(b.Length, from, to), Date: slice(b.Date, from, to),
	}
}

func slice[T any](values []T, from, to int) []T {
	if len(values) == 0 {
		return nil
	}
	return values[from:to:to]
}

// Filter keeps the rows for which keep is true, in their order, in place.
func (b *LibraryBatch) Filter(keep func(i int) bool) {
	n := 0
	for i := range b.N {
		if !keep(i) {
			continue
		}
		if n != i {
			for _, c := range []*[]parquet.ByteArray{&b.DocID, &b.Lane, &b.Sketch, &b.Letters, &b.Night, &b.FirstSeen, &b.Cluster, &b.Site, &b.Language} {
				move(*c, n, i)
			}
			move(b.Hi, n, i)
			move(b.Lo, n, i)
			move(b.Length, n, i)
			move(b.Date, n, i)
		}
		n++
	}
	*b = b.Slice(0, n)
}

func move[T any](values []T, to, from int) {
	if len(values) > 0 {
		values[to] = values[from]
	}
}
