package parquet

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/parquet"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/field"
	"github.com/neardup/neardup/data/internal/panics"
	"github.com/neardup/neardup/data/internal/stream"
)

// reader reads documents from a split of a Parquet file, row group by row group.
type reader struct {
	*input
	split  data.Split
	limit  int
	digest string
	groups int   // row groups of the split
	done   int64 // rows that were read

	columns [field.Fields]column // nil when there is none
	leaves  [field.Fields]int
	noText  error // why a row has none
	raw     []byte
}

// Open opens a split of a Parquet file: the row groups from split.Start to
// split.End. Columns may be nested in groups (named by their dotted path), not
// in lists. Document.Offset is the row number within the file; Raw stays empty.
func Open(split data.Split, o data.ReaderOptions) (data.SourceReader, error) {
	if split.Path == "-" {
		return nil, errors.New("parquet: standard input cannot be read from its end: write it to a file and name that")
	}
	in, err := openInput(split, o)
	if err != nil {
		return nil, err
	}
	r := &reader{input: in, split: split, limit: int(o.RecordLimit())}
	in.memory = o.Memory
	if err := panics.AsError(func() error { return r.open(o) }); err != nil {
		return nil, errors.Join(fmt.Errorf("parquet: %s: %w", split.Path, err), in.Close())
	}
	return r, nil
}

func (r *reader) open(o data.ReaderOptions) error {
	if err := r.input.limit(r.split.Start, r.split.End); err != nil {
		return err
	}
	r.groups = r.end - r.group
	paths := leaves(r.schema())
	for f, name := range field.Names(o.Columns) {
		if f == field.Text {
			if err := o.TolerateMissing(r.openText(paths, name)); err != nil {
				return err
			}
			continue
		}
		leaf, err := field.Pick(paths, name, field.Usual[f])
		if err = o.TolerateMissing(err); err != nil {
			return err
		}
		if r.leaves[f] = leaf; leaf < 0 {
			continue
		}
		if r.columns[f], err = r.add(leaf, false); err != nil && name != "" { // else a guess that does not fit
			return err
		}
	}
	return nil
}

// openText opens the column of the text, which is a *data.NoColumn unless there
// is one and it holds strings.
func (r *reader) openText(paths []string, name string) error {
	r.noText = field.NoText(name)
	leaf, err := r.textLeaf(paths, name)
	if err != nil {
		return err
	}
	r.noText = errors.New("the text is null")
	r.columns[field.Text], err = r.add(leaf, false)
	return err
}

// textLeaf is the column of the text, by its name or a usual one. It is a
// *data.NoColumn unless there is one and it holds strings.
func (in *input) textLeaf(paths []string, name string) (leaf int, err error) {
	leaf, err = field.Need(paths, name, field.OfText, field.Usual[field.Text])
	if err != nil || in.holdsStrings(leaf) {
		return leaf, err
	}
	missing := &data.NoColumn{Name: name, Of: field.OfText, Usual: field.Usual[field.Text], Where: " of strings"}
	for leaf, path := range paths {
		if in.holdsStrings(leaf) {
			missing.Have = append(missing.Have, path)
		}
	}
	return -1, missing
}

// holdsStrings reports whether a leaf column has a string, or nothing, a row.
func (in *input) holdsStrings(leaf int) bool {
	at := in.schema().Column(leaf)
	return at.MaxRepetitionLevel() == 0 && at.PhysicalType() == parquet.Types.ByteArray
}

// Read fills doc with the next row's document; see data.Reader.
func (r *reader) Read(doc *data.Document) error {
	row, at, err := r.nextRow()
	if err != nil {
		if damage, rows, lost, ok := r.skipGroup(); ok {
			r.done += rows
			reason := data.ReasonDamaged
			if errors.Is(damage, errLargePage) {
				reason = data.ReasonTooLarge
			}
			return &data.BadRecord{Source: r.path, Offset: r.row - rows, Reason: reason, Err: fmt.Errorf("%s of its row group are lost: %w", count(rows), damage), Lost: lost}
		}
		if errors.Is(err, io.EOF) && r.digest == "" {
			err = r.finish()
		}
		return err
	}
	r.done++
	doc.Reset()
	doc.Offset = row
	if doc.ID = appendText(doc.ID, r.value(field.ID, at)); len(doc.ID) == 0 {
		doc.ID = field.AppendDefaultID(doc.ID, r.path, row)
	}
	doc.Title = appendText(doc.Title, r.value(field.Title, at))
	doc.Language = appendText(doc.Language, r.value(field.Language, at))
	if c := r.value(field.Date, at); c != nil {
		doc.Date = dateOf(r.schema().Column(r.leaves[field.Date]), c)
	}
	if c := r.value(field.Rank, at); c != nil {
		doc.Rank = numberOf(r.schema().Column(r.leaves[field.Rank]), c)
	}
	text, ok := r.value(field.Text, at).(*byteArrays)
	if !ok {
		return &data.BadRecord{Source: r.path, Offset: row, Reason: data.ReasonNoText, Err: r.noText}
	}
	if len(text.value) > r.limit {
		r.raw = append(r.raw[:0], text.value[:min(len(text.value), 1<<20)]...)
		return &data.BadRecord{Source: r.path, Offset: row, Reason: data.ReasonTooLarge, Err: fmt.Errorf("longer than %d bytes", r.limit), Raw: r.raw}
	}
	doc.Text = append(doc.Text, text.value...)
	return nil
}

func count(rows int64) string {
	if rows == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", rows)
}

// value is the column of a field, at decoded row at; nil if there is no value.
func (r *reader) value(f, at int) column {
	c := r.columns[f]
	if c == nil || c.load(at) {
		return nil
	}
	return c
}

// finish digests the split once all rows are read, and returns io.EOF.
func (r *reader) finish() error {
	var sections [][2]int64 // nil: all of the file
	err := panics.AsError(func() (err error) {
		if start := r.end - r.groups; start > 0 || r.end < r.file.NumRowGroups() {
			sections, err = r.sections(start, r.end)
		}
		return err
	})
	if err == nil {
		r.digest, err = stream.Digest(r.bytes.InputFile, sections)
	}
	if err != nil {
		r.err = fmt.Errorf("parquet: %s: %w", r.path, err)
		return r.err
	}
	return io.EOF
}

// Encoding is empty: Parquet holds UTF-8; see data.SourceReader.
func (r *reader) Encoding() string { return "" }

// Consumed is the split's share of the file's bytes, as its rows are read.
func (r *reader) Consumed() int64 {
	return int64(float64(r.done) / float64(max(r.Info.Rows, 1)) * float64(r.size))
}

// Digest is the XXH3 of the split's bytes; see data.SourceReader.
func (r *reader) Digest() string { return r.digest }
