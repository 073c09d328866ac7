// Package csv reads documents, and fingerprints of foreign origin, from CSV and
// TSV files, plain or compressed, documents also where no header row names the
// columns. Quoting is that of RFC 4180, in TSV too. Rows that do not fit the
// header are skipped by name; it never guesses what a broken row may have
// meant, but where a quote is left open and the lines behind it are rows, it
// reads those.
//
// It has a row reader of its own. encoding/csv reads the same fields from rows
// that are sound, but holds a row of any length, and gives an open quote the
// rest of the file.
package csv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/field"
	"github.com/neardup/neardup/data/internal/stream"
)

// keptRaw is how much of a row that is skipped is kept.
const keptRaw = 64 << 10

type table struct {
	path   string
	in     *stream.Text
	scan   scanner
	header []string
	raw    []byte // the header row in UTF-8, with its line end
	row    []byte // the current row in UTF-8, without its line end
	fields []cell
	limit  int
	bare   bool  // no row names the columns
	err    error // ended the reading
	digest string
}

// openTable opens a file and reads its header.
func openTable(split data.Split, o data.ReaderOptions) (*table, error) {
	in, err := stream.OpenText(split, o)
	if err != nil {
		return nil, fmt.Errorf("csv: %s: %w", split.Path, err)
	}
	t := &table{path: split.Path, in: in, limit: int(o.RecordLimit()), bare: o.NoHeader, scan: scanner{comma: ','}}
	if split.Format == "tsv" {
		t.scan.comma = '\t'
	}
	if err := t.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("csv: %s: %w", split.Path, err), in.Close())
	}
	return t, nil
}

// open reads the header, or numbers the columns of the first row. A file that
// is empty, or damaged within it, has none, and no rows; one whose header is no
// row is *data.Unreadable.
func (t *table) open() error {
	found, err := t.scanRow()
	switch {
	case errors.Is(err, errDamaged), errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return fmt.Errorf("header row: %w", err)
	case found == more:
		return t.noHeader(fmt.Errorf("longer than %d bytes", t.limit))
	case found == brokenRow:
		return t.noHeader(t.scan.err)
	}
	t.take(t.in.Window()[:t.scan.at])
	if t.bare {
		for i := range t.fields {
			t.header = append(t.header, strconv.Itoa(i+1))
		}
		return nil
	}
	t.raw = bytes.Clone(t.in.UTF8(t.in.Window()[:t.scan.at]))
	for i := range t.fields {
		t.header = append(t.header, strings.TrimSpace(string(t.appendField(nil, i))))
	}
	if !t.bare && strings.Contains(strings.Join(t.header, ""), "\r") {
		return &data.Unreadable{Err: errors.New("header row: the line ends are carriage returns alone: write others, as `tr '\\r' '\\n'` does")}
	}
	t.in.Advance(t.scan.at)
	return nil
}

// noHeader says what is wrong with the row that should be the header, in which
// the columns have their names.
func (t *table) noHeader(err error) error {
	return &data.Unreadable{Offset: t.in.Offset(), Err: fmt.Errorf("header row: %w: mend that row, or leave the file out", err)}
}

// errDamaged says that a compressed file is damaged within the row.
var errDamaged = errors.New("damaged within the row")

// scanRow goes to the next row, over empty lines, and scans it in the window;
// more means that it is longer than a row may be.
func (t *table) scanRow() (found, error) {
	t.scan.reset()
	for {
		w := t.in.Window()
		i := 0
		for i < len(w) && (w[i] == '\n' || w[i] == '\r' && i+1 < len(w) && w[i+1] == '\n') {
			i++
		}
		t.in.Advance(i)
		if w = w[i:]; len(w) > 1 || len(w) == 1 && w[0] != '\r' {
			break
		}
		if t.in.More() {
			continue
		}
		if !t.in.AtEnd() {
			return more, errDamaged
		}
		return more, io.EOF
	}
	for most := t.limit + len("\r\n"); ; {
		w := t.in.Window()
		if found := t.scan.scan(w[:min(len(w), most)], false); found != more || len(w) > most {
			return found, nil
		}
		if t.in.More() {
			continue
		}
		if t.in.AtEnd() {
			return t.scan.scan(w, true), nil
		}
		return more, errDamaged
	}
}

// take makes raw the current row.
func (t *table) take(raw []byte) {
	text := t.in.UTF8(raw)
	t.fields = t.scan.fields
	if len(text) != len(raw) || &text[0] != &raw[0] { // no encoding moves a delimiter, but other bytes
		s := scanner{comma: t.scan.comma}
		s.reset()
		s.scan(text, true)
		t.fields = s.fields
	}
	t.row = trimEnd(text)
}

// next reads a row, and tells where it starts in the stream. What is no row
// that fits is a *data.BadRecord.
func (t *table) next() (offset int64, err error) {
	if t.err != nil {
		return 0, t.err
	}
	found, err := t.scanRow()
	offset = t.in.Offset()
	w := t.in.Window()
	switch {
	case errors.Is(err, errDamaged):
		if line := t.resume(len(w)); line > 0 {
			return offset, t.skip(line, data.ReasonMalformed, errOpen)
		}
		fallthrough
	case err != nil:
		err = t.in.End(t.path)
		if _, bad := data.IsBadRecord(err); bad {
			return offset, err
		}
		if t.err = err; errors.Is(err, io.EOF) {
			t.digest = t.in.Digest()
		} else {
			t.err = fmt.Errorf("csv: %w", err)
		}
		return 0, t.err
	case found == more:
		if line := t.resume(t.limit); line > 0 {
			return offset, t.skip(line, data.ReasonMalformed, errOpen)
		}
		return offset, t.tooLarge()
	case found == brokenRow:
		if line := t.resume(t.scan.at); line > 0 {
			return offset, t.skip(line, data.ReasonMalformed, errOpen)
		}
		return offset, t.skip(t.scan.at, data.ReasonMalformed, t.scan.err)
	}
	raw := w[:t.scan.at]
	if len(trimEnd(raw)) > t.limit {
		return offset, t.skip(len(raw), data.ReasonTooLarge, fmt.Errorf("longer than %d bytes", t.limit))
	}
	if n := len(t.scan.fields); n != len(t.header) {
		t.scan.opened = -1
		for _, f := range t.scan.fields { // of several lines, which another row's quote may end
			if f.quoted && bytes.IndexByte(raw[f.from:f.to], '\n') >= 0 {
				t.scan.opened = f.from
				break
			}
		}
		if line := t.resume(len(raw)); line > 0 {
			return offset, t.skip(line, data.ReasonMalformed, errOpen)
		}
		return offset, t.skip(len(raw), data.ReasonMalformed, fmt.Errorf("%d fields, the header has %d", n, len(t.header)))
	}
	t.take(raw)
	t.in.Advance(len(raw))
	return offset, nil
}

// resume returns where to go on within the first n bytes of the window, in
// which a quoted field was opened that does not end as it should: behind the
// line where it was opened, if the lines that follow are rows; else 0.
//
// The time stays linear: a line that a quote stays open over holds an even
// number of quotes, and one that opens a quote an odd number. So no line that
// is read again opens another one as far as the first was followed, and none
// is read a third time.
func (t *table) resume(n int) int {
	if t.scan.opened < 0 {
		return 0
	}
	w := t.in.Window()[:n]
	i := bytes.IndexByte(w[t.scan.opened:], '\n')
	if i < 0 {
		return 0
	}
	line := t.scan.opened + i + 1
	if !areRows(w[line:], t.scan.comma, len(t.header)) {
		return 0
	}
	return line
}

// tooLarge passes over a row of more bytes than the window may have, or over
// as much of it as is no rows: a quote may be open.
func (t *table) tooLarge() error {
	offset := t.in.Offset()
	head := bytes.Clone(t.in.Window()[:min(t.limit, keptRaw)])
	t.in.Advance(t.scan.at)
	for ended := false; ; {
		for len(t.in.Window()) < evidenceBytes && !ended {
			ended = !t.in.More()
		}
		w := t.in.Window()
		w = w[:min(len(w), evidenceBytes)]
		t.scan.at, t.scan.fields = 0, t.scan.fields[:0]
		if t.scan.state == quotedField {
			if line := bytes.IndexByte(w, '\n') + 1; line > 0 && areRows(w[line:], t.scan.comma, len(t.header)) {
				t.in.Advance(line)
				break
			}
		}
		last := ended && len(w) == len(t.in.Window())
		found := t.scan.scan(w, last)
		t.in.Advance(t.scan.at)
		if found != more || last {
			break
		}
	}
	return t.bad(offset, data.ReasonTooLarge, fmt.Errorf("longer than %d bytes", t.limit), head)
}

// skip goes over the first n bytes of the window, which are a bad record.
func (t *table) skip(n int, reason string, err error) error {
	bad := t.bad(t.in.Offset(), reason, err, trimEnd(t.in.Window()[:n]))
	t.in.Advance(n)
	return bad
}

func (t *table) bad(offset int64, reason string, err error, raw []byte) *data.BadRecord {
	return &data.BadRecord{Source: t.path, Offset: offset, Reason: reason, Err: err, Raw: raw[:min(len(raw), keptRaw)]}
}

// appendField appends a field of the current row to dst.
func (t *table) appendField(dst []byte, i int) []byte { return appendField(dst, t.row, t.fields[i]) }

func (t *table) close() error {
	if t.err == nil {
		t.err = os.ErrClosed
	}
	return t.in.Close()
}

// Reader reads the documents of a CSV or TSV file.
type Reader interface {
	data.SourceReader
	// Header is the header row as it stands in the file, in UTF-8, with its line
	// end; empty when the file is, or is damaged within it.
	Header() []byte
}

type reader struct {
	*table
	opts    data.ReaderOptions
	scratch []byte
	columns [field.Fields]int // -1 when there is none
}

// Open opens a CSV file, or with the split's format "tsv" a TSV file.
func Open(split data.Split, o data.ReaderOptions) (Reader, error) {
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
		if err = o.Bear(err); err != nil {
			return nil, errors.Join(fmt.Errorf("csv: %s: %w", split.Path, err), t.close())
		}
	}
	return r, nil
}

func (r *reader) Header() []byte { return r.raw }

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
	return nil
}

// fill appends what the current row has of a field to dst.
func (r *reader) fill(dst []byte, f int) []byte {
	if i := r.columns[f]; i >= 0 {
		return r.appendField(dst, i)
	}
	return dst
}

func (r *reader) Encoding() string { return r.in.Encoding() }
func (r *reader) Consumed() int64  { return r.in.Consumed() }
func (r *reader) Digest() string   { return r.digest }
func (r *reader) Close() error     { return r.close() }

// trimEnd drops a row's line end.
func trimEnd(raw []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte{'\n'}), []byte{'\r'})
}
