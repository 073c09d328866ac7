package input

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"unicode/utf8"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/rundir"
)

// textsReader reads the documents of a split from the run's own tables: id, title,
// text and where its body begins from texts, the date from the same row of
// fingerprints. Other fields stay empty.
type textsReader struct {
	texts  *parquet.TableReader[data.TextRow]
	prints *parquet.TableReader[data.FingerprintRow]
	bytes  int64 // of the split, for Consumed
	row    int64 // the next
	print  data.FingerprintRow
}

var _ data.SourceReader = (*textsReader)(nil)

// openTexts opens the documents of split task of the run in folder dir.
func openTexts(dir string, task int, split data.Split) (_ *textsReader, err error) {
	name := rundir.PartName(task, ".parquet")
	path := filepath.Join(dir, rundir.Texts, name)
	defer func() {
		if err != nil {
			err = fmt.Errorf("the texts of %s: %w: delete the file if it is there, and the same command makes it again; if the run is finished, run again into a new folder", split.Path, err)
		}
	}()
	r := &textsReader{bytes: Bytes([]data.Split{split})}
	if r.texts, err = parquet.OpenTable(path, &data.Texts, parquet.ReadOptions{}); err != nil {
		return nil, err
	}
	if r.prints, err = parquet.OpenFingerprints(filepath.Join(dir, rundir.Fingerprints, name), parquet.ReadOptions{Columns: []string{"date"}}); err != nil {
		return nil, errors.Join(err, r.texts.Close())
	}
	if texts, prints := r.texts.Info.Rows, r.prints.Info.Rows; texts != prints {
		return nil, errors.Join(fmt.Errorf("%s has %d rows, and its part of the fingerprints %d", path, texts, prints), r.Close())
	}
	return r, nil
}

// Read fills doc with the next document; see data.Reader.
func (r *textsReader) Read(doc *data.Document) error {
	doc.Reset()
	text := data.TextRow{DocID: doc.ID, Title: doc.Title, Text: doc.Text}
	err := r.texts.Read(&text)
	doc.ID, doc.Title, doc.Text = text.DocID, text.Title, text.Text
	if err != nil {
		return err
	}
	for range text.Body {
		_, size := utf8.DecodeRune(doc.Text[doc.Body:])
		doc.Body += size
	}
	if err := r.prints.Read(&r.print); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	doc.Date = r.print.Date
	r.row++
	return nil
}

// seekRow makes row the next one to read. It must not be before the next row.
func (r *textsReader) seekRow(row int64) error {
	r.row = row
	return errors.Join(r.texts.SeekRow(row), r.prints.SeekRow(row))
}

// Consumed returns the split's bytes, in proportion to the rows that were read.
func (r *textsReader) Consumed() int64 {
	return int64(float64(r.row) / float64(max(r.texts.Info.Rows, 1)) * float64(r.bytes))
}

// Encoding returns "", since the texts are UTF-8.
func (r *textsReader) Encoding() string { return "" }

// Digest returns "", since the reader reads nothing of the input.
func (r *textsReader) Digest() string { return "" }

// Close ends the reading.
func (r *textsReader) Close() error { return errors.Join(r.texts.Close(), r.prints.Close()) }
