// Package csv reads documents, and fingerprints of foreign origin, from CSV and
// TSV files, plain or compressed, documents also where no header row names the
// columns. Quoting is that of RFC 4180, in TSV too. Rows that do not fit the
// header are skipped by name; it never guesses what a broken row may have
// meant, but where a quote is left open and the lines behind it are rows, it
// reads those.
//
// encoding/csv reads the rows, one by one: by itself it would hold a row of any
// length, and give an open quote the rest of the file.
package csv

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/field"
	"github.com/neardup/neardup/data/internal/stream"
)

// keptRaw is how much of a row that is skipped is kept.
const keptRaw = 64 << 10

type table struct {
	*stream.Text
	path   string
	rows   *parser
	probe  *parser // of what may be rows
	header []string
	raw    []byte   // the header row in UTF-8, with its line end
	row    []byte   // the current row in UTF-8, without its line end
	fields []string // of it
	broken error    // why it is no row
	limit  int
	bare   bool // no row names the columns

	at  int  // bytes of the window that are the row's
	odd bool // they have an odd number of quotes: one is open
}

// openTable opens a file and reads its header.
func openTable(split data.Split, o data.ReaderOptions) (*table, error) {
	in, err := stream.OpenText("csv", false, split, o)
	if err != nil {
		return nil, err
	}
	comma := ','
	if split.Format == "tsv" {
		comma = '\t'
	}
	t := &table{Text: in, path: split.Path, limit: int(o.RecordLimit()), bare: o.NoHeader, rows: newParser(comma), probe: newParser(comma)}
	if err := t.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("csv: %s: %w", split.Path, err), in.Close())
	}
	return t, nil
}

// open reads the header, or numbers the columns of the first row. A file that
// is empty, or damaged within it, has none, and no rows; one whose header is no
// row is *data.Unreadable.
func (t *table) open() error {
	whole, err := t.scan()
	switch {
	case err != nil:
		return nil //nolint:nilerr // next says it
	case !whole:
		return t.noHeader(fmt.Errorf("longer than %d bytes", t.limit))
	case t.broken != nil:
		return t.noHeader(t.broken)
	}
	if t.bare {
		for i := range t.fields {
			t.header = append(t.header, strconv.Itoa(i+1))
		}
		return nil
	}
	t.raw = bytes.Clone(t.UTF8(t.Window()[:t.at]))
	for _, name := range t.fields {
		t.header = append(t.header, strings.TrimSpace(name))
	}
	if strings.Contains(strings.Join(t.header, ""), "\r") {
		return &data.Unreadable{Err: errors.New("header row: the line ends are carriage returns alone: write others, as `tr '\\r' '\\n'` does")}
	}
	t.Advance(t.at)
	return nil
}

// noHeader says what is wrong with the row that should be the header, in which
// the columns have their names.
func (t *table) noHeader(err error) error {
	return &data.Unreadable{Offset: t.Offset(), Err: fmt.Errorf("header row: %w: mend that row, or leave the file out", err)}
}

var (
	errBare = errors.New("a quote in a field that is not quoted")
	errText = errors.New("text behind a quoted field")
	errOpen = errors.New("a quote that nothing closes")

	// errDamaged says that a compressed file is damaged within the row.
	errDamaged = errors.New("damaged within the row")
)

// scan goes to the next row, over empty lines, and reads it; whole is false for
// one that is longer than a row may be.
func (t *table) scan() (whole bool, err error) {
	for {
		if whole, err = t.extent(); !whole || err != nil {
			return whole, err
		}
		text := t.UTF8(t.Window()[:t.at])
		t.row = trimEnd(text)
		t.rows.reset(text)
		fields, end, err := t.rows.next()
		t.fields, t.broken = fields, nil
		switch {
		case errors.Is(err, io.EOF):
			t.Advance(t.at)
			continue
		case errors.Is(err, csv.ErrBareQuote):
			t.broken = errBare
		case err != nil && t.odd && end == len(text):
			t.broken = errOpen
		case err != nil:
			t.broken = errText
		}
		return true, nil
	}
}

// extent has the row, sound or not, in the window.
func (t *table) extent() (whole bool, err error) {
	t.at, t.odd = 0, false
	for most := t.limit + len("\r\n"); ; {
		w := t.Window()
		switch {
		case t.ends(w[:min(len(w), most)]):
			return true, nil
		case len(w) > most:
			return false, nil
		case t.More():
		case !t.AtEnd():
			return false, errDamaged
		case len(w) == 0:
			return false, io.EOF
		default:
			return true, nil
		}
	}
}

// ends goes on with the row in the window, up to the first line end behind an
// even number of quotes; false if it is not there.
func (t *table) ends(w []byte) bool {
	for t.at < len(w) {
		line, _, ended := bytes.Cut(w[t.at:], []byte{'\n'})
		t.odd = t.odd != (bytes.Count(line, []byte{'"'})%2 == 1)
		if t.at += len(line); ended {
			if t.at++; !t.odd {
				return true
			}
		}
	}
	return false
}

// next reads a row, and tells where it starts in the stream. What is no row
// that fits is a *data.BadRecord.
func (t *table) next() (offset int64, err error) {
	whole, err := t.scan()
	offset = t.Offset()
	w := t.Window()
	switch {
	case errors.Is(err, errDamaged):
		if line := t.resume(len(w), false); line > 0 {
			return offset, t.skip(line, data.ReasonMalformed, errOpen)
		}
		fallthrough
	case err != nil:
		return offset, t.End()
	case !whole:
		if line := t.resume(t.limit, false); line > 0 {
			return offset, t.skip(line, data.ReasonMalformed, errOpen)
		}
		return offset, t.tooLarge()
	case t.broken != nil:
		t.probe.reset(w[:t.at])
		_, n, _ := t.probe.next()
		if line := t.resume(n, false); line > 0 {
			return offset, t.skip(line, data.ReasonMalformed, errOpen)
		}
		return offset, t.skip(n, data.ReasonMalformed, t.broken)
	}
	raw := w[:t.at]
	if len(trimEnd(raw)) > t.limit {
		return offset, t.skip(len(raw), data.ReasonTooLarge, fmt.Errorf("longer than %d bytes", t.limit))
	}
	if n := len(t.fields); n != len(t.header) {
		if line := t.resume(len(raw), true); line > 0 {
			return offset, t.skip(line, data.ReasonMalformed, errOpen)
		}
		return offset, t.skip(len(raw), data.ReasonMalformed, fmt.Errorf("%d fields, the header has %d", n, len(t.header)))
	}
	t.Advance(len(raw))
	return offset, nil
}

// resume returns where to go on within the first n bytes of the window, in
// which a quoted field was opened that does not end as it should, or, in a whole
// row, may have ended with another row's quote, over several lines: behind the
// line where it was opened, if the lines that follow are rows; else 0.
//
// The time stays linear: a line that a quote stays open over holds an even
// number of quotes, and one that opens a quote an odd number. So no line that
// is read again opens another one as far as the first was followed, and none
// is read a third time.
func (t *table) resume(n int, whole bool) int {
	w := t.Window()[:n]
	t.probe.reset(w)
	fields, _, err := t.probe.next()
	switch {
	case errors.Is(err, csv.ErrQuote): // in the field behind these
	case whole:
		fields = fields[:max(0, slices.IndexFunc(fields, func(f string) bool { return strings.Contains(f, "\n") }))]
	default:
		return 0
	}
	line := 0
	for range 1 + strings.Count(strings.Join(fields, ""), "\n") {
		i := bytes.IndexByte(w[line:], '\n')
		if i < 0 {
			return 0
		}
		line += i + 1
	}
	if !t.areRows(w[line:]) {
		return 0
	}
	return line
}

// tooLarge passes over a row of more bytes than the window may have, or over
// as much of it as is no rows: a quote may be open.
func (t *table) tooLarge() error {
	offset := t.Offset()
	head := bytes.Clone(t.Window()[:min(t.limit, keptRaw)])
	t.Advance(t.at)
	for ended := false; ; {
		for len(t.Window()) < evidenceBytes && !ended {
			ended = !t.More()
		}
		w := t.Window()
		w = w[:min(len(w), evidenceBytes)]
		if t.odd {
			if line := bytes.IndexByte(w, '\n') + 1; line > 0 && t.areRows(w[line:]) {
				t.Advance(line)
				break
			}
		}
		t.at = 0
		found := t.ends(w)
		t.Advance(t.at)
		if found || ended && len(t.Window()) == 0 {
			break
		}
	}
	return t.bad(offset, data.ReasonTooLarge, fmt.Errorf("longer than %d bytes", t.limit), head)
}

// skip goes over the first n bytes of the window, which are a bad record.
func (t *table) skip(n int, reason string, err error) error {
	bad := t.bad(t.Offset(), reason, err, trimEnd(t.Window()[:n]))
	t.Advance(n)
	return bad
}

func (t *table) bad(offset int64, reason string, err error, raw []byte) *data.BadRecord {
	return &data.BadRecord{Source: t.path, Offset: offset, Reason: reason, Err: err, Raw: raw[:min(len(raw), keptRaw)]}
}

// Header is the header row as it stands in the file, in UTF-8, with its line
// end; empty when the file is, or is damaged within it.
func Header(split data.Split, o data.ReaderOptions) ([]byte, error) {
	t, err := openTable(split, o)
	if err != nil {
		return nil, err
	}
	return t.raw, t.Close()
}

// TextColumn is the number, counted from 0, of the column that has the texts of the
// documents that are read with options o; -1 where there is none.
func TextColumn(split data.Split, o data.ReaderOptions) (int, error) {
	t, err := openTable(split, o)
	if err != nil {
		return -1, err
	}
	column, err := field.Pick(t.header, o.Columns.Text, field.Usual[field.Text])
	if err = o.TolerateMissing(err); err != nil {
		err = fmt.Errorf("csv: %s: %w", split.Path, err)
	}
	return column, errors.Join(err, t.Close())
}

// SchemaOf is what files must share for their rows to stand in one: the header row with its
// line end, or where there is none the number of columns. It is empty if the file is.
func SchemaOf(split data.Split, o data.ReaderOptions) (string, error) {
	t, err := openTable(split, o)
	if err != nil {
		return "", err
	}
	schema := string(t.raw)
	if t.bare && len(t.header) > 0 {
		schema = strconv.Itoa(len(t.header))
	}
	return schema, t.Close()
}

// reader reads the documents of a CSV or TSV file.
type reader struct {
	*table
	opts    data.ReaderOptions
	scratch []byte
	columns [field.Fields]int // -1 when there is none
}

// Open opens a CSV file, or with the split's format "tsv" a TSV file.
func Open(split data.Split, o data.ReaderOptions) (data.SourceReader, error) {
	t, err := openTable(split, o)
	if err != nil {
		return nil, err
	}
	r := &reader{table: t, opts: o}
	if t.header == nil {
		return r, nil
	}
	for f, name := range field.Names(o.Columns) {
		r.columns[f], err = field.Pick(t.header, name, field.Usual[f])
		if err == nil && f == field.Text && r.columns[f] < 0 {
			err = &data.NoColumn{Of: field.OfText, Usual: field.Usual[f], Have: t.header, Header: !o.NoHeader}
		}
		if err = o.TolerateMissing(err); err != nil {
			return nil, errors.Join(fmt.Errorf("csv: %s: %w", split.Path, err), t.Close())
		}
	}
	return r, nil
}

// Read fills doc with the next row's document; see data.Reader. Empty lines
// are no records.
func (r *reader) Read(doc *data.Document) error {
	offset, err := r.next()
	if err != nil {
		return err
	}
	doc.Reset()
	doc.Offset = offset
	if r.columns[field.Text] < 0 {
		return r.bad(offset, data.ReasonNoText, field.NoText(r.opts.Columns.Text), r.row)
	}
	doc.Text = r.fill(doc.Text, field.Text)
	if doc.ID = r.fill(doc.ID, field.ID); len(doc.ID) == 0 {
		doc.ID = field.AppendDefaultID(doc.ID, r.path, offset)
	}
	doc.Title = r.fill(doc.Title, field.Title)
	doc.Language = r.fill(doc.Language, field.Language)
	r.scratch = r.fill(r.scratch[:0], field.Date)
	doc.Date = field.ParseDate(r.scratch)
	r.scratch = r.fill(r.scratch[:0], field.Rank)
	doc.Rank = field.ParseNumber(r.scratch)
	if r.opts.KeepRaw {
		doc.Raw = append(doc.Raw, r.row...)
	}
	r.Shed()
	return nil
}

// fill appends what the current row has of a field to dst.
func (r *reader) fill(dst []byte, f int) []byte {
	if i := r.columns[f]; i >= 0 {
		return append(dst, r.fields[i]...)
	}
	return dst
}

// trimEnd drops a row's line end.
func trimEnd(raw []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte{'\n'}), []byte{'\r'})
}
