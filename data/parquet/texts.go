package parquet

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/neardup/neardup/data"
)

// Sizes of texts, but for a document that alone is larger: of a row group, as
// who wants few documents reads the row groups that they stand in, and of a
// page, several of which are in memory.
const (
	textGroupBytes = 16 << 20
	textPageSize   = 1 << 20
)

// TextWriter writes the texts table.
type TextWriter struct {
	*table
	docID, title, text *byteValues
}

// CreateTexts starts a file of the texts table; it appears at path with
// Commit.
func CreateTexts(path string, o Options) (*TextWriter, error) {
	bits, err := o.bits()
	if err != nil {
		return nil, err
	}
	w := &TextWriter{docID: &byteValues{}, title: &byteValues{}, text: &byteValues{}}
	w.table, err = createTable(path, data.TableTexts, bits, o, schema.FieldList{
		stringField("doc_id"),
		stringField("title"),
		stringField("text"),
	}, []batch{w.docID, w.title, w.text}, parquet.WithStats(false), parquet.WithDataPageSize(textPageSize))
	if err != nil {
		return nil, err
	}
	w.maxGroupBytes = textGroupBytes
	return w, nil
}

// Write appends a row. It keeps nothing of it. What is not UTF-8 in the text
// becomes U+FFFD.
func (w *TextWriter) Write(r *data.TextRow) error {
	text := r.Text
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	w.docID.add(r.DocID)
	w.title.add(r.Title)
	w.text.add(text)
	return w.added(len(r.DocID) + len(r.Title) + len(text))
}

// TextReader streams the rows of a texts table.
type TextReader struct {
	reader
	docID, title, text *byteArrays
}

// OpenTexts opens a file of the texts table.
func OpenTexts(path string, o ReadOptions) (_ *TextReader, err error) {
	r := &TextReader{}
	r.reader, err = openTable(path, o, data.TextColumns, func(found map[string]column) error {
		return errors.Join(
			assign(&r.docID, found, "doc_id"),
			assign(&r.title, found, "title"),
			assign(&r.text, found, "text"),
		)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Read fills row, whose byte slices it reuses, and returns io.EOF after the
// last one.
func (r *TextReader) Read(row *data.TextRow) error {
	if err := r.next(); err != nil {
		return err
	}
	for _, c := range []struct {
		to   *[]byte
		from *byteArrays
	}{{&row.DocID, r.docID}, {&row.Title, r.title}, {&row.Text, r.text}} {
		if c.from != nil {
			*c.to = append((*c.to)[:0], c.from.value...)
		}
	}
	return nil
}
