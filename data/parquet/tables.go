package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/neardup/neardup/data"
)

// ErrNotTable is returned for a Parquet file that lacks the columns asked
// for.
var ErrNotTable = errors.New("not the table asked for")

// Info is what a table's file metadata says of it; fields of a foreign file
// are empty.
type Info struct {
	Version    string
	Table      string
	ConfigHash string
	Bits       int // 0 when unknown
	Rows       int64
}

// info reads the file metadata.
func (in *input) info() Info {
	kv := in.file.MetaData().KeyValueMetadata()
	get := func(key string) string {
		if v := kv.FindValue(key); v != nil {
			return *v
		}
		return ""
	}
	info := Info{Version: get(MetaVersion), Table: get(MetaTable), ConfigHash: get(MetaConfig), Rows: in.file.NumRows()}
	_, _ = fmt.Sscan(get(MetaBits), &info.Bits)
	return info
}

// ReadOptions say how a table is read.
type ReadOptions struct {
	// Columns are the columns to read, in any order; the fields of the others
	// stay zero. Nil means all. Fewer columns read faster.
	Columns []string
	// Foreign names the columns of a file that neardup did not write. A
	// fingerprint may be a signed or unsigned 64- or 32-bit integer, 4, 8 or
	// 16 bytes big-endian, or a string as data.ParseFingerprint takes it.
	Foreign data.ForeignColumns
	// Allocator is what arrow takes memory from; nil means Go's.
	Allocator memory.Allocator
}

// reader streams the rows of a table.
type reader struct {
	in   *input
	info Info
}

// Info is what the file's metadata says of the table.
func (r *reader) Info() Info { return r.info }

// SeekRow makes row, counted from 0 and not before the next one, the next that is
// read; there is none if the table ends before it. It does not read the row
// groups before.
func (r *reader) SeekRow(row int64) error { return r.in.seek(row) }

// Close closes the file; it may be called at any time, and again.
func (r *reader) Close() error { return r.in.Close() }

// find opens the columns of a table by name; unwanted ones have no entry. With
// foreign, the first two may have other names and the others be missing.
func (r *reader) find(want []string, table []data.Column, foreign *data.ForeignColumns) (map[string]column, error) {
	for _, w := range want {
		if !slices.ContainsFunc(table, func(c data.Column) bool { return c.Name == w }) {
			return nil, fmt.Errorf("the table has no column %q", w)
		}
	}
	paths := leaves(r.in.schema())
	found := make(map[string]column)
	for i, c := range table {
		if want != nil && !slices.Contains(want, c.Name) {
			continue
		}
		leaf := slices.Index(paths, c.Name)
		if foreign != nil && i < 2 {
			var err error
			if c.Name == "doc_id" {
				leaf, err = pick(paths, foreign.ID, data.ForeignCandidates.ID)
			} else {
				leaf, err = pick(paths, foreign.Fingerprint, data.ForeignCandidates.Fingerprint)
			}
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrNotTable, err)
			}
		}
		if leaf < 0 {
			if foreign != nil && i >= 2 {
				continue
			}
			return nil, fmt.Errorf("%w: no column %q; there are: %s", ErrNotTable, c.Name, strings.Join(paths, ", "))
		}
		col, err := r.in.add(leaf)
		if err != nil {
			return nil, err
		}
		found[c.Name] = col
	}
	return found, nil
}

// openTable opens a file of one of our tables; take gets the columns that are
// asked for.
func openTable(path string, o ReadOptions, table []data.Column, take func(found map[string]column) error) (r reader, err error) {
	if r.in, err = openInput(path, o.Allocator); err != nil {
		return r, err
	}
	err = recovering(func() error {
		r.info = r.in.info()
		found, err := r.find(o.Columns, table, nil)
		if err != nil {
			return err
		}
		return take(found)
	})
	if err != nil {
		return r, errors.Join(fmt.Errorf("parquet: %s: %w", path, err), r.in.Close())
	}
	return r, nil
}

// next moves all columns, none of which may be null, to the next row.
func (r *reader) next() error {
	if _, err := r.in.nextRow(); err != nil {
		return err
	}
	for _, o := range r.in.columns {
		null, err := o.next()
		if err == nil && null {
			err = errors.New("a null in a column that has none")
		}
		if err != nil {
			return r.in.fail(err)
		}
	}
	return nil
}

// assign puts a found column into c, which stays nil when it was not asked
// for.
func assign[C column](c *C, found map[string]column, name string) error {
	col, ok := found[name]
	if !ok {
		return nil
	}
	if *c, ok = col.(C); !ok {
		return fmt.Errorf("%w: column %s has another type", ErrNotTable, name)
	}
	return nil
}

// FingerprintReader streams the rows of a fingerprints table, or of a foreign
// Parquet file that has an id and a fingerprint column.
type FingerprintReader struct {
	reader
	columns                []func(r *data.FingerprintRow) error // one per column read
	lane, source, language string                               // of the row before
}

// OpenFingerprints opens a file of the fingerprints table, or a foreign one.
// Columns other than id and fingerprint may be missing.
func OpenFingerprints(path string, o ReadOptions) (*FingerprintReader, error) {
	in, err := openInput(path, o.Allocator)
	if err != nil {
		return nil, err
	}
	r := &FingerprintReader{reader: reader{in: in}}
	if err := recovering(func() error { return r.open(o) }); err != nil {
		return nil, errors.Join(fmt.Errorf("parquet: %s: %w", path, err), in.Close())
	}
	return r, nil
}

func (r *FingerprintReader) open(o ReadOptions) error {
	r.info = r.in.info()
	found, err := r.find(o.Columns, data.FingerprintColumns, &o.Foreign)
	if err != nil {
		return err
	}
	if c, ok := found["doc_id"]; ok {
		r.columns = append(r.columns, func(row *data.FingerprintRow) error {
			null, err := c.next()
			if err != nil {
				return err
			}
			if null {
				return errors.New("a row without an id")
			}
			row.DocID = appendText(row.DocID[:0], c)
			return nil
		})
	}
	if c, ok := found["fingerprint"]; ok {
		hexadecimal := o.Foreign.Hex
		if _, text := c.(*byteArrays); text && !hexadecimal {
			if hexadecimal, err = looksHexadecimal(r.in.path, r.leaf(c)); err != nil {
				return err
			}
		}
		r.columns = append(r.columns, func(row *data.FingerprintRow) error {
			null, err := c.next()
			if err != nil {
				return err
			}
			if null {
				return errors.New("a row without a fingerprint")
			}
			row.Hi, row.Lo, err = fingerprintOf(c, hexadecimal)
			return err
		})
	}
	if err := errors.Join(
		r.name(found, "lane", func(row *data.FingerprintRow, v []byte) { r.lane = sameBytes(r.lane, v); row.Lane = r.lane }),
		r.name(found, "source", func(row *data.FingerprintRow, v []byte) { r.source = sameBytes(r.source, v); row.Source = r.source }),
		r.name(found, "language", func(row *data.FingerprintRow, v []byte) {
			r.language = sameBytes(r.language, v)
			row.Language = r.language
		}),
		r.name(found, "title", func(row *data.FingerprintRow, v []byte) { row.Title = append(row.Title[:0], v...) }),
		r.name(found, "letters", func(row *data.FingerprintRow, v []byte) { row.Letters = append(row.Letters[:0], v...) }),
	); err != nil {
		return err
	}
	if c, ok := found["sketch"]; ok {
		sketches, ok := c.(*fixedArrays)
		if !ok {
			return fmt.Errorf("%w: column sketch has another type", ErrNotTable)
		}
		r.columns = append(r.columns, func(row *data.FingerprintRow) error {
			row.Sketch = row.Sketch[:0]
			null, err := sketches.next()
			if null || err != nil {
				return err
			}
			if len(sketches.value) != data.SketchSize {
				return fmt.Errorf("a sketch of %d bytes: there must be %d", len(sketches.value), data.SketchSize)
			}
			row.Sketch = append(row.Sketch, sketches.value...)
			return nil
		})
	}
	for _, f := range []struct {
		name string
		set  func(row *data.FingerprintRow, v int64)
	}{
		{"features", func(row *data.FingerprintRow, v int64) { row.Features = int32(v) }},
		{"length", func(row *data.FingerprintRow, v int64) { row.Length = int32(v) }},
		{"offset", func(row *data.FingerprintRow, v int64) { row.Offset = v }},
	} {
		c, ok := found[f.name]
		if !ok {
			continue
		}
		r.columns = append(r.columns, func(row *data.FingerprintRow) error {
			null, err := c.next()
			switch c := c.(type) {
			case *int32Values:
				f.set(row, int64(c.value))
			case *int64Values:
				f.set(row, c.value)
			default:
				return fmt.Errorf("%w: column %s has another type", ErrNotTable, f.name)
			}
			if null {
				f.set(row, 0)
			}
			return err
		})
	}
	if c, ok := found["date"]; ok {
		leaf := r.leaf(c)
		r.columns = append(r.columns, func(row *data.FingerprintRow) error {
			null, err := c.next()
			row.Date = data.NoDate
			if !null && err == nil {
				row.Date = dateOf(r.in.schema().Column(leaf), c)
			}
			return err
		})
	}
	if c, ok := found["rank"]; ok {
		leaf := r.leaf(c)
		r.columns = append(r.columns, func(row *data.FingerprintRow) error {
			null, err := c.next()
			row.Rank = math.NaN()
			if !null && err == nil {
				row.Rank = numberOf(r.in.schema().Column(leaf), c)
			}
			return err
		})
	}
	return nil
}

// looksHexadecimal tells whether a column of text holds hexadecimal numbers,
// by its first 1,000 values.
func looksHexadecimal(path string, leaf int) (bool, error) {
	in, err := openInput(path, nil)
	if err != nil {
		return false, err
	}
	defer in.Close() //nolint:errcheck // opened for reading
	c, err := in.add(leaf)
	if err != nil {
		return false, err
	}
	for range 1000 {
		if _, err := in.nextRow(); err != nil {
			if errors.Is(err, io.EOF) {
				return false, nil
			}
			return false, err
		}
		null, err := c.next()
		if err != nil {
			return false, err
		}
		if !null && data.LooksHexadecimal(c.(*byteArrays).value) {
			return true, nil
		}
	}
	return false, nil
}

// leaf is the schema index of an opened column.
func (r *reader) leaf(c column) int {
	return r.in.columns[slices.IndexFunc(r.in.columns, func(o opened) bool { return o.column == c })].leaf
}

// name adds a string column.
func (r *FingerprintReader) name(found map[string]column, name string, set func(row *data.FingerprintRow, v []byte)) error {
	var c *byteArrays
	if err := assign(&c, found, name); err != nil || c == nil {
		return err
	}
	r.columns = append(r.columns, func(row *data.FingerprintRow) error {
		null, err := c.next()
		if null {
			set(row, nil)
		} else if err == nil {
			set(row, c.value)
		}
		return err
	})
	return nil
}

// fingerprintOf is the current value as a fingerprint.
func fingerprintOf(c column, hexadecimal bool) (hi, lo uint64, err error) {
	var b []byte
	switch c := c.(type) {
	case *int64Values:
		return 0, uint64(c.value), nil
	case *int32Values:
		return 0, uint64(uint32(c.value)), nil
	case *fixedArrays:
		b = c.value
	case *byteArrays:
		return data.ParseFingerprint(c.value, hexadecimal)
	default:
		return 0, 0, fmt.Errorf("%w: a fingerprint must be an integer, bytes or a string", ErrNotTable)
	}
	switch len(b) {
	case 4:
		return 0, uint64(binary.BigEndian.Uint32(b)), nil
	case 8:
		return 0, binary.BigEndian.Uint64(b), nil
	case 16:
		return binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), nil
	}
	return 0, 0, fmt.Errorf("a fingerprint of %d bytes: there must be 4, 8 or 16", len(b))
}

// Read fills row, whose byte slices it reuses, and returns io.EOF after the
// last one. Fields of columns that are not read stay as they are.
func (r *FingerprintReader) Read(row *data.FingerprintRow) error {
	if _, err := r.in.nextRow(); err != nil {
		return err
	}
	for _, c := range r.columns {
		if err := c(row); err != nil {
			return r.in.fail(err)
		}
	}
	return nil
}

// MatchReader streams the rows of a matches table.
type MatchReader struct {
	reader
	docID, matchID, from, verdict *byteArrays
	firstSeen                     *byteArrays
	distance                      *int32Values
	similarity, estimate, jaccard *doubleVals
	name, reason, night           string // match_from, verdict and first_seen of the row before
}

// OpenMatches opens a file of the matches table.
func OpenMatches(path string, o ReadOptions) (_ *MatchReader, err error) {
	r := &MatchReader{}
	r.reader, err = openTable(path, o, data.MatchColumns, func(found map[string]column) error {
		return errors.Join(
			assign(&r.docID, found, "doc_id"),
			assign(&r.matchID, found, "match_id"),
			assign(&r.distance, found, "distance"),
			assign(&r.similarity, found, "similarity"),
			assign(&r.from, found, "match_from"),
			assign(&r.estimate, found, "estimate"),
			assign(&r.jaccard, found, "jaccard"),
			assign(&r.verdict, found, "verdict"),
			assign(&r.firstSeen, found, "first_seen"),
		)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Read fills row, whose byte slices it reuses, and returns io.EOF after the
// last one.
func (r *MatchReader) Read(row *data.MatchRow) error {
	if _, err := r.in.nextRow(); err != nil {
		return err
	}
	row.Estimate, row.Jaccard = math.NaN(), math.NaN()
	for _, o := range r.in.columns {
		null, err := o.next()
		switch c := o.column; {
		case err != nil:
		case c == column(r.estimate) || c == column(r.jaccard):
			if value := c.(*doubleVals).value; !null && c == column(r.estimate) {
				row.Estimate = value
			} else if !null {
				row.Jaccard = value
			}
		case null:
			err = errors.New("a null in a column that has none")
		}
		if err != nil {
			return r.in.fail(err)
		}
	}
	if r.docID != nil {
		row.DocID = append(row.DocID[:0], r.docID.value...)
	}
	if r.matchID != nil {
		row.MatchID = append(row.MatchID[:0], r.matchID.value...)
	}
	if r.distance != nil {
		row.Distance = r.distance.value
	}
	if r.similarity != nil {
		row.Similarity = r.similarity.value
	}
	if r.from != nil {
		r.name = sameBytes(r.name, r.from.value)
		row.MatchFrom = r.name
	}
	if r.verdict != nil {
		r.reason = sameBytes(r.reason, r.verdict.value)
		row.Verdict = r.reason
	}
	if r.firstSeen != nil {
		r.night = sameBytes(r.night, r.firstSeen.value)
		row.FirstSeen = r.night
	}
	return nil
}

// ClusterReader streams the rows of a clusters table.
type ClusterReader struct {
	reader
	docID, clusterID *byteArrays
	size             *int32Values
	keeper           *boolValues
}

// OpenClusters opens a file of the clusters table.
func OpenClusters(path string, o ReadOptions) (_ *ClusterReader, err error) {
	r := &ClusterReader{}
	r.reader, err = openTable(path, o, data.ClusterColumns, func(found map[string]column) error {
		return errors.Join(
			assign(&r.docID, found, "doc_id"),
			assign(&r.clusterID, found, "cluster_id"),
			assign(&r.size, found, "size"),
			assign(&r.keeper, found, "keeper"),
		)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Read fills row, whose byte slices it reuses, and returns io.EOF after the
// last one.
func (r *ClusterReader) Read(row *data.ClusterRow) error {
	if err := r.next(); err != nil {
		return err
	}
	if r.docID != nil {
		row.DocID = append(row.DocID[:0], r.docID.value...)
	}
	if r.clusterID != nil {
		row.ClusterID = append(row.ClusterID[:0], r.clusterID.value...)
	}
	if r.size != nil {
		row.Size = r.size.value
	}
	if r.keeper != nil {
		row.Keeper = r.keeper.value
	}
	return nil
}
