// Package csv reads documents, and fingerprints of foreign origin, from CSV
// and TSV files with a header row, plain or compressed. Quoting is that of
// RFC 4180, in TSV too. Rows that do not fit the header are skipped by name;
// it never guesses what a broken row may have meant.
package csv

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/stream"
)

// keptRaw is how much of a row that is skipped is kept.
const keptRaw = 64 << 10

// table reads the rows of a file.
type table struct {
	path   string
	in     *stream.Reader
	tail   *tail
	rows   *csv.Reader
	header []string
	raw    []byte // the header's bytes
	base   int64  // bytes in front of what rows reads
	limit  int64
	err    error // ended the reading
	digest string
}

// openTable opens a file and reads its header.
func openTable(split data.Split, o data.ReaderOptions) (*table, error) {
	in, err := stream.Open(split, o.Stdin)
	if err != nil {
		return nil, fmt.Errorf("csv: %s: %w", split.Path, err)
	}
	t := &table{path: split.Path, in: in, limit: o.RecordLimit()}
	if err := t.open(split.Format); err != nil {
		return nil, errors.Join(fmt.Errorf("csv: %s: %w", split.Path, err), in.Close())
	}
	return t, nil
}

func (t *table) open(format string) error {
	buffered := bufio.NewReaderSize(t.in, 64<<10)
	if head, err := buffered.Peek(3); err == nil && bytes.Equal(head, []byte("\xef\xbb\xbf")) {
		if _, err := buffered.Discard(3); err != nil {
			return err
		}
		t.base = 3
	}
	t.tail = &tail{src: buffered, limit: t.limit}
	t.rows = csv.NewReader(t.tail)
	t.rows.FieldsPerRecord = -1
	t.rows.ReuseRecord = true
	if format == "tsv" {
		t.rows.Comma = '\t'
	}
	header, err := t.rows.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("no header row: the file is empty")
	}
	if err != nil {
		return fmt.Errorf("header row: %w", err)
	}
	for _, name := range header {
		t.header = append(t.header, strings.TrimSpace(name))
	}
	t.raw = bytes.Clone(t.tail.until(t.rows.InputOffset()))
	return nil
}

// next reads a row, and tells where it starts in the stream. What is no row
// that fits is a *data.BadRecord.
func (t *table) next() (row []string, raw []byte, offset int64, err error) {
	if t.err != nil {
		return nil, nil, 0, t.err
	}
	start := t.rows.InputOffset()
	t.tail.mark(start)
	row, err = t.rows.Read()
	end := t.rows.InputOffset()
	raw = t.tail.until(end)
	raw, offset = skipBlank(raw, start)
	offset += t.base
	raw = trimEnd(raw)
	var syntax *csv.ParseError
	switch {
	case errors.Is(err, io.EOF):
		t.err = io.EOF
		t.digest = t.in.Digest()
		return nil, nil, 0, t.err
	case errors.Is(err, errTooLarge):
		t.err = fmt.Errorf("csv: %s at offset %d: a row of more than %d bytes, perhaps an open quote", t.path, offset, t.limit)
		return nil, nil, 0, t.err
	case errors.As(err, &syntax):
		return nil, raw, offset, t.bad(offset, data.ReasonMalformed, syntax.Err, raw)
	case err != nil:
		t.err = fmt.Errorf("csv: %s at offset %d: %w", t.path, offset, err)
		return nil, nil, 0, t.err
	case int64(len(raw)) > t.limit:
		return nil, raw, offset, t.bad(offset, data.ReasonTooLarge, fmt.Errorf("longer than %d bytes", t.limit), raw)
	case len(row) != len(t.header):
		return nil, raw, offset, t.bad(offset, data.ReasonMalformed, fmt.Errorf("%d fields, the header has %d", len(row), len(t.header)), raw)
	}
	return row, raw, offset, nil
}

func (t *table) bad(offset int64, reason string, err error, raw []byte) *data.BadRecord {
	return &data.BadRecord{Source: t.path, Offset: offset, Reason: reason, Err: err, Raw: raw[:min(len(raw), keptRaw)]}
}

// column returns the index of the column that name asks for: the named one,
// which must be there, or for "" the first of the candidates; -1 when there
// is none.
func (t *table) column(name string, candidates []string) (int, error) {
	if name != "" {
		for i, h := range t.header {
			if h == name {
				return i, nil
			}
		}
		return -1, fmt.Errorf("no column %q; there are: %s", name, strings.Join(t.header, ", "))
	}
	for _, fold := range []bool{false, true} {
		for _, c := range candidates {
			for i, h := range t.header {
				if h == c || fold && strings.EqualFold(h, c) {
					return i, nil
				}
			}
		}
	}
	return -1, nil
}

func (t *table) close() error {
	if t.err == nil {
		t.err = os.ErrClosed
	}
	return t.in.Close()
}

// Reader reads the documents of a CSV or TSV file; it is a
// data.SourceReader.
type Reader struct {
	*table
	keepRaw                               bool
	id, title, text, language, date, rank int // column indexes; -1 when there is none
}

var _ data.SourceReader = (*Reader)(nil)

// Open opens a CSV file, or with the split's format "tsv" a TSV file.
func Open(split data.Split, o data.ReaderOptions) (*Reader, error) {
	t, err := openTable(split, o)
	if err != nil {
		return nil, err
	}
	r := &Reader{table: t, keepRaw: o.KeepRaw}
	for _, f := range []struct {
		index      *int
		name       string
		candidates []string
	}{
		{&r.id, o.Columns.ID, data.Candidates.ID},
		{&r.title, o.Columns.Title, data.Candidates.Title},
		{&r.text, o.Columns.Text, data.Candidates.Text},
		{&r.language, o.Columns.Language, data.Candidates.Language},
		{&r.date, o.Columns.Date, data.Candidates.Date},
		{&r.rank, o.Columns.Rank, nil},
	} {
		if *f.index, err = t.column(f.name, f.candidates); err != nil {
			return nil, errors.Join(fmt.Errorf("csv: %s: %w", split.Path, err), t.close())
		}
	}
	if r.text < 0 {
		return nil, errors.Join(fmt.Errorf("csv: %s: no column %s: name the column that holds the text; there are: %s",
			split.Path, strings.Join(data.Candidates.Text, ", "), strings.Join(t.header, ", ")), t.close())
	}
	return r, nil
}

// Header is the header row as it stands in the file, with its line end.
func (r *Reader) Header() []byte { return r.raw }

// Read fills doc with the next row's document; see data.Reader. Empty lines
// are no records.
func (r *Reader) Read(doc *data.Document) error {
	row, raw, offset, err := r.next()
	if err != nil {
		return err
	}
	doc.Reset()
	doc.Offset = offset
	doc.Text = append(doc.Text, row[r.text]...)
	if r.id >= 0 {
		doc.ID = append(doc.ID, row[r.id]...)
	}
	if len(doc.ID) == 0 {
		doc.ID = data.AppendDefaultID(doc.ID, r.path, offset)
	}
	if r.title >= 0 {
		doc.Title = append(doc.Title, row[r.title]...)
	}
	if r.language >= 0 {
		doc.Language = append(doc.Language, row[r.language]...)
	}
	if r.date >= 0 {
		doc.Date = data.ParseDate([]byte(row[r.date]))
	}
	if r.rank >= 0 {
		doc.Rank = data.ParseNumber([]byte(row[r.rank]))
	}
	if r.keepRaw {
		doc.Raw = append(doc.Raw, raw...)
	}
	return nil
}

// Consumed is the number of bytes of the file read so far.
func (r *Reader) Consumed() int64 { return r.in.Consumed() }

// Digest is the SHA-256 of the file; see data.SourceReader.
func (r *Reader) Digest() string { return r.digest }

// Close ends the reading; it may be called at any time, and again.
func (r *Reader) Close() error { return r.close() }

var errTooLarge = errors.New("row too large")

// tail keeps the bytes that a csv.Reader read, from a mark on, so that a row
// can be had as it stands in the file. A row that grows far beyond the limit
// ends the reading: encoding/csv would hold an open quote's whole file.
type tail struct {
	src   io.Reader
	buf   []byte // from the mark on
	from  int64  // offset of buf[0]
	limit int64
}

func (t *tail) Read(p []byte) (int, error) {
	if int64(len(t.buf)) > 2*t.limit+(1<<20) {
		return 0, errTooLarge
	}
	n, err := t.src.Read(p)
	t.buf = append(t.buf, p[:n]...)
	return n, err
}

// mark forgets what stands in front of offset.
func (t *tail) mark(offset int64) {
	n := int(offset - t.from)
	if n < len(t.buf)/2 && n < 64<<10 { // moving bytes for every row would cost
		t.from, t.buf = offset, t.buf[n:]
		return
	}
	t.buf = append(t.buf[:0], t.buf[n:]...)
	t.from = offset
}

// until returns the bytes from the mark to offset.
func (t *tail) until(offset int64) []byte { return t.buf[:offset-t.from] }

// skipBlank passes over the empty lines in front of a row.
func skipBlank(raw []byte, offset int64) ([]byte, int64) {
	for {
		line, _, ok := bytes.Cut(raw, []byte{'\n'})
		if !ok || len(bytes.TrimRight(line, "\r")) > 0 {
			return raw, offset
		}
		raw, offset = raw[len(line)+1:], offset+int64(len(line))+1
	}
}

// trimEnd drops a row's line end.
func trimEnd(raw []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte{'\n'}), []byte{'\r'})
}
