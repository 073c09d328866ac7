// Package clean writes the documents of a split that stay, in the input's own
// form: JSONL lines and CSV rows byte by byte as they stand there, or decoded
// if they are not UTF-8, the rows of Parquet and Arrow with all their columns. Of
// formats that have no such form (WARC, WET) it writes JSONL. It can leave stretches of
// a document's text out. It never decides which documents stay, or what of them.
package clean

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/arrow"
	"github.com/neardup/neardup/data/internal/csv"
	"github.com/neardup/neardup/data/internal/jsonl"
	"github.com/neardup/neardup/data/internal/stream"
	"github.com/neardup/neardup/data/object"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
)

// errStandardInput is returned for standard input, which cannot be read a
// second time.
var errStandardInput = errors.New("no clean dump of standard input: write it to a file and name that")

// Extension is the file name extension that a split's clean dump has: that of
// its format and of the input's compression, like ".jsonl.gz".
func Extension(split data.Split) string {
	ext := ".jsonl"
	switch split.Format {
	case source.FormatParquet:
		return ".parquet"
	case source.FormatArrow:
		return ".arrow"
	case source.FormatCSV, source.FormatTSV:
		ext = "." + split.Format
	}
	compression, err := compressionOf(split)
	if err != nil { // Create will say it
		compression = stream.Plain
	}
	if compression != stream.Plain {
		ext += "." + string(compression)
	}
	return ext
}

// compressionOf is how a split's file is compressed: by its content, or by its
// name where the file may be gone, as the texts of its pages are kept.
func compressionOf(split data.Split) (stream.Compression, error) {
	if source.Extracts(split.Format) {
		switch filepath.Ext(split.Path) {
		case ".gz":
			return stream.Gzip, nil
		case ".zst":
			return stream.Zstd, nil
		}
		return stream.Plain, nil
	}
	f, err := object.OpenInput(split.First(), data.ReaderOptions{})
	if err != nil {
		return stream.Plain, err
	}
	compression, err := stream.Sniff(data.Split{Path: split.Path}, f)
	return compression, errors.Join(err, f.Close())
}

// Writer writes the clean dump of one split; it appears at its path complete,
// with Commit, or not at all. Its bytes do not depend on the number of
// workers. It is used by one goroutine.
type Writer struct {
	path    string
	split   data.Split
	options data.ReaderOptions
	rows    int64
	kept    []place // of rows that are copied, in order

	cuts map[int64][]Stretch // of the kept rows that are copied without some of their text, by their number

	retext     *jsonl.Retexter // nil before a line is written without some of its text
	textColumn int             // of CSV; unknown before a row is written so

	annotated bool
	seen      []seen // of the kept rows that are copied
	own       []bool // which columns of CSV stay, where it has such columns already

	file *data.AtomicFile // nil before Commit where rows are copied
	out  io.WriteCloser   // nil once it is closed
	end  []byte           // of a line
	line bytes.Buffer
	json *json.Encoder // to line
}

// place is where a row stands: in which file of the split, and its number within it.
type place struct {
	file int
	row  int64
}

// Create starts the clean dump of a split that is read with options o, which
// have KeepRaw set, and is compressed on so many goroutines. Commit or Abort
// ends them.
func Create(path string, split data.Split, o data.ReaderOptions, workers int) (*Writer, error) {
	return create(path, split, o, workers, false)
}

// CreateAnnotated is like Create for a dump that has more fields than the input: those
// of KeepSeen, which takes the place of Keep.
func CreateAnnotated(path string, split data.Split, o data.ReaderOptions, workers int) (*Writer, error) {
	return create(path, split, o, workers, true)
}

func create(path string, split data.Split, o data.ReaderOptions, workers int, annotated bool) (*Writer, error) {
	if split.Path == "-" {
		return nil, fmt.Errorf("clean: %w", errStandardInput)
	}
	w := &Writer{path: path, split: split, options: o, end: []byte{'\n'}, annotated: annotated, textColumn: unknown}
	if Copied(split) {
		return w, nil
	}
	compression, err := compressionOf(split)
	if err != nil {
		return nil, fmt.Errorf("clean: %w", err)
	}
	var header []byte
	if split.Format == source.FormatCSV || split.Format == source.FormatTSV {
		o.Memory = nil // who reads the split may hold all there is
		if header, err = csv.Header(split, o); err != nil {
			return nil, err
		}
		if n := len(header); n >= 2 && header[n-2] == '\r' {
			w.end = []byte("\r\n")
		}
		if n := len(header); n > 0 && header[n-1] != '\n' {
			header = append(header, '\n')
		}
		if annotated && len(header) > 0 && !o.NoHeader {
			names := strings.Join(seenFields[:], string(comma(split)))
			header = bytes.TrimRight(header, "\r\n")
			if w.own = ownColumns(header, comma(split)); w.own != nil {
				appendOwn(&w.line, header, comma(split), w.own)
				header = bytes.Clone(w.line.Bytes())
			}
			header = slices.Concat(header, []byte{comma(split)}, []byte(names), w.end)
		}
	}
	if err := w.createFile(); err != nil {
		return nil, err
	}
	w.out = plain{w.file}
	if pack := packers[compression]; pack != nil {
		w.out = newBlocks(w.file, pack, workers)
	}
	if _, err := w.out.Write(header); err != nil {
		return nil, errors.Join(fmt.Errorf("clean: %w", err), w.Abort())
	}
	return w, nil
}

func (w *Writer) createFile() (err error) {
	if w.file, err = data.CreateAtomic(w.path); err != nil {
		return fmt.Errorf("clean: %w", err)
	}
	w.file.KeepOutOfCache()
	return nil
}

type plain struct{ io.Writer }

func (plain) Close() error { return nil }

// document is a line of the clean dump of formats that have none of their
// own.
type document struct {
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
	Text  string `json:"text"`
	Date  string `json:"date,omitempty"` // RFC 3339
	*seen
}

// Keep adds a document; documents come in the order of the split.
func (w *Writer) Keep(doc *data.Document) error { return w.keep(doc, nil, nil) }

// KeepWithout adds a document without stretches of its text, which are in order and do
// not overlap. All else of it stays as it is.
func (w *Writer) KeepWithout(doc *data.Document, cuts []Stretch) error { return w.keep(doc, nil, cuts) }

// KeepSeen adds a document with what is said of it to a dump of CreateAnnotated.
func (w *Writer) KeepSeen(doc *data.Document, row *data.SeenRow) error {
	s := seenOf(row)
	return w.keep(doc, &s, nil)
}

func (w *Writer) keep(doc *data.Document, s *seen, cuts []Stretch) error {
	if (s != nil) != w.annotated {
		return fmt.Errorf("clean: %s: a document of a dump that is annotated, or of another", w.path)
	}
	w.rows++
	if Copied(w.split) {
		if len(cuts) > 0 {
			if w.cuts == nil {
				w.cuts = map[int64][]Stretch{}
			}
			w.cuts[int64(len(w.kept))] = slices.Clone(cuts)
		}
		w.kept = append(w.kept, place{doc.File, doc.Offset})
		if s != nil {
			w.seen = append(w.seen, *s)
		}
		return nil
	}
	w.line.Reset()
	raw, err := w.raw(doc, cuts)
	if err != nil {
		return fmt.Errorf("clean: %s: %w", w.path, err)
	}
	switch w.split.Format {
	case source.FormatJSONL:
		if s == nil {
			w.line.Write(raw)
		} else if err := s.appendJSON(&w.line, raw); err != nil {
			return fmt.Errorf("clean: %s: %w", w.path, err)
		}
		w.line.Write(w.end)
	case source.FormatCSV, source.FormatTSV:
		if w.own != nil {
			appendOwn(&w.line, raw, comma(w.split), w.own)
		} else {
			w.line.Write(raw)
		}
		if s != nil {
			s.appendRow(&w.line, comma(w.split))
		}
		w.line.Write(w.end)
	default:
		d := document{ID: string(doc.ID), Title: string(doc.Title), Text: string(raw), seen: s}
		if doc.Date != data.NoDate {
			d.Date = time.UnixMilli(doc.Date).UTC().Format(time.RFC3339Nano)
		}
		if w.json == nil {
			w.json = json.NewEncoder(&w.line)
			w.json.SetEscapeHTML(false)
		}
		if err := w.json.Encode(d); err != nil {
			return fmt.Errorf("clean: %s: %w", w.path, err)
		}
	}
	_, err = w.out.Write(w.line.Bytes())
	if data.MemoryOf(w.line.Cap()) > 0 {
		w.line = bytes.Buffer{} // it has grown with a large document
	}
	if err != nil {
		return fmt.Errorf("clean: %w", err)
	}
	return nil
}

// Commit completes the file and makes it appear.
func (w *Writer) Commit() error {
	if Copied(w.split) {
		if err := w.copyRows(); err != nil {
			return errors.Join(err, w.Abort())
		}
	} else {
		out := w.out
		w.out = nil
		if err := out.Close(); err != nil {
			return errors.Join(fmt.Errorf("clean: %w", err), w.Abort())
		}
	}
	if err := w.file.Commit(); err != nil {
		return fmt.Errorf("clean: %w", err)
	}
	return nil
}

// Sum returns the sum of the committed file.
func (w *Writer) Sum() data.Sum { return w.file.Sum() }

// Copied reports whether the kept rows of a split are copied from its file, with all
// columns, once it is known which they are: the Writer opens it when all is read.
func Copied(split data.Split) bool {
	return split.Format == source.FormatParquet || split.Format == source.FormatArrow
}

// copyRows copies the kept rows.
func (w *Writer) copyRows() error {
	if err := w.createFile(); err != nil {
		return err
	}
	next := 0
	changes := parquet.Changes{TextColumn: w.options.Columns.Text}
	if w.annotated {
		changes.More = columns(w.seen)
	}
	if w.cuts != nil {
		changes.Text = func(kept int64, text []byte) []byte {
			if cuts := w.cuts[kept]; cuts != nil {
				return AppendWithout(nil, text, cuts)
			}
			return text
		}
	}
	keep := func(file int, row int64) bool {
		if next < len(w.kept) && w.kept[next] == (place{file, row}) {
			next++
			return true
		}
		return false
	}
	o := w.options
	ahead := object.ReadAhead(w.split, &o)
	defer ahead.Close() //nolint:errcheck // it was read from
	var n int64
	var err error
	if w.split.Format == source.FormatArrow {
		n, err = arrow.CopyRows(w.file, w.split, o, changes, keep)
	} else {
		n, err = parquet.CopyRows(w.file, w.split, o, parquet.Options{}, changes, keep)
	}
	if err != nil {
		return fmt.Errorf("clean: %w", err)
	}
	if n != w.rows {
		return fmt.Errorf("clean: %s: %d rows to keep, %d of them in %s", w.path, w.rows, n, w.split.Path)
	}
	return nil
}

// Abort drops the file. After Commit it does nothing, so it may be deferred.
func (w *Writer) Abort() error {
	if w.file == nil {
		return nil
	}
	if w.out != nil {
		_ = w.out.Close() // the file is dropped
		w.out = nil
	}
	if err := w.file.Abort(); err != nil {
		return fmt.Errorf("clean: %w", err)
	}
	return nil
}
