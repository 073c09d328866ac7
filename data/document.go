// Package data holds what a run reads and writes: documents and where they
// come from, the tables that go to Parquet, and files that appear under their
// final name only when they are complete. The formats live in its
// sub-packages; this package never imports them, and never computes a
// fingerprint.
package data

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Document is one page of the dump.
//
// A Reader overwrites all fields and reuses the capacity of the byte slices,
// so one Document can be read into again and again without allocation; who
// keeps a slice beyond the next Read copies it.
type Document struct {
	ID       []byte  // URL or record id; empty when the input has none
	Title    []byte  // the document's own title field
	Text     []byte  // plain text, UTF-8 not guaranteed
	Body     int     // where in Text the body of short news begins: the title and summary before it are kept, and not compared. 0 of most documents
	Language []byte  // what the input says that the text is in: a tag as it stands there, or several; empty when it says nothing
	Date     int64   // Unix milliseconds; NoDate when unknown
	Rank     float64 // value of the rank column; NaN when there is none
	Cut      bool    // the input has only the beginning of the page, and says so

	// None says why a page of HTML has no main text: it is a "shell" that
	// scripts fill, an "error" page or a "login". It is "" for all other
	// documents. Such a page is kept, without title and text: it resembles
	// nothing, not even its like.
	None string

	// Offset is where the document starts in its source: a byte offset (of
	// the compressed member for record-wise gzip, else of the uncompressed
	// stream), or the row number for Parquet.
	Offset int64

	// File is which of its split's Files the document is from; 0 if the split is of one
	// file.
	File int

	// Raw is the record in the input's own form, without its line end (JSONL
	// line, CSV row); filled only when ReaderOptions.KeepRaw asks for it.
	Raw []byte
}

// NoDate is the Date of a document that has none.
const NoDate = math.MinInt64

// Reset empties doc and keeps the capacity of its slices.
func (d *Document) Reset() {
	d.ID, d.Title, d.Text, d.Language, d.Raw = d.ID[:0], d.Title[:0], d.Text[:0], d.Language[:0], d.Raw[:0]
	d.Body, d.Date, d.Rank, d.Cut, d.None, d.Offset, d.File = 0, NoDate, math.NaN(), false, "", 0, 0
}

// Compared returns what of the text is compared with that of other documents.
func (d *Document) Compared() []byte { return d.Text[min(d.Body, len(d.Text)):] }

// Reader yields the documents of one split, in the order of the input.
//
// Read fills doc. It returns io.EOF after the last document, a *BadRecord for
// a record that cannot be used (Read may be called again and goes on behind
// it), and any other error, with file and offset in its text, when the rest
// of the split cannot be read. A Reader is used by one goroutine at a time.
type Reader interface {
	Read(doc *Document) error
	Close() error
}

// Reasons a record is skipped for; they are the names that counts, the
// quarantine and the summary use.
const (
	ReasonMalformed   = "malformed"    // not a record of its format
	ReasonTruncated   = "truncated"    // the record ends before its length
	ReasonTooLarge    = "too_large"    // longer than the record limit
	ReasonNoText      = "no_text"      // no text field, or no text in the page
	ReasonUndecodable = "undecodable"  // a page whose body is not text, or in an encoding that cannot be undone
	ReasonNotPage     = "not_page"     // a WARC record that is no page: request, metadata, image …
	ReasonHTTPStatus  = "http_status"  // a response that is an error or redirect
	ReasonDuplicateID = "duplicate_id" // the id appeared earlier in the dump
	ReasonDeleted     = "deleted"      // the library was told to forget the id for good
	ReasonUnreadable  = "unreadable"   // stands for all records of a file: see Unreadable
	ReasonDamaged     = "damaged"      // stands for all records of a part of a file whose bytes are not those that were written
)

// BadRecord reports one record that was skipped.
type BadRecord struct {
	Source string // path of the input
	Offset int64  // where the record starts, as Document.Offset
	Reason string // one of the Reason constants
	Err    error  // detail; may be nil
	Raw    []byte // the record's bytes as far as they were read; valid until the next Read
	Lost   int64  // bytes of the file that it stands for, where that is a damaged part of it
}

func (b *BadRecord) Error() string {
	if b.Err == nil {
		return fmt.Sprintf("%s at offset %d: %s", b.Source, b.Offset, b.Reason)
	}
	return fmt.Sprintf("%s at offset %d: %s: %v", b.Source, b.Offset, b.Reason, b.Err)
}

func (b *BadRecord) Unwrap() error { return b.Err }

// IsBadRecord reports whether err is a skipped record, and returns it.
func IsBadRecord(err error) (*BadRecord, bool) {
	var b *BadRecord
	ok := errors.As(err, &b)
	return b, ok
}

// Unreadable is the error for a file none of whose records can be read: what
// names their columns, or says where they stand, is damaged.
type Unreadable struct {
	File   string // its path, as source.Open tells it
	Offset int64  // of the damage
	Err    error  // what it is, and what to do about it
}

func (u *Unreadable) Error() string { return u.Err.Error() }
func (u *Unreadable) Unwrap() error { return u.Err }

// Split is the piece of the input that one task reads. Splits depend on the
// input alone, never on the number of workers.
type Split struct {
	Path   string `json:"path"`   // as the user named it; "-" is standard input
	Format string `json:"format"` // "warc", "wet", "jsonl", "csv", "tsv", "parquet", "arrow"
	Size   int64  `json:"size"`   // of the whole file in bytes; -1 when unknown
	Start  int64  `json:"start"`  // first byte (or row group) of the split
	End    int64  `json:"end"`    // one past the last; -1: to the end

	// Row is the number of rows of the file before the split, where it is a piece of
	// Arrow IPC: only what comes before tells.
	Row int64 `json:"row,omitempty"`

	// Encoding is that of the whole file, where the split is a piece of it:
	// a label as of ReaderOptions.Encoding; "": told from the split.
	Encoding string `json:"encoding,omitempty"`

	// Files are those of a split of several whole files, in the order in which they are
	// read. Path is then that of the first, and Size what they have together. A split
	// of one file has none.
	Files []SplitFile `json:"files,omitempty"`
}

// SplitFile is one of the files of a split of several.
type SplitFile struct {
	Path string `json:"path"`
	Size int64  `json:"size"` // bytes
}

// Equal reports whether both are the same piece of the same files.
func (s Split) Equal(o Split) bool { return reflect.DeepEqual(s, o) }

// OfFiles iterates over the splits of one file each that s consists of: over those of
// its Files, or over s itself.
func (s Split) OfFiles() iter.Seq[Split] {
	return func(yield func(Split) bool) {
		if len(s.Files) == 0 {
			yield(s)
			return
		}
		for _, f := range s.Files {
			if !yield(Split{Path: f.Path, Format: s.Format, Size: f.Size, End: -1}) {
				return
			}
		}
	}
}

// PathOf is the path of one of its files, as Document.File numbers them.
func (s Split) PathOf(file int) string {
	if len(s.Files) == 0 {
		return s.Path
	}
	return s.Files[file].Path
}

// First is the split of its first file.
func (s Split) First() Split {
	for one := range s.OfFiles() {
		return one
	}
	return s
}

// NoColumn is the error for a column that is not there: one that was asked for
// by its name, or one that is needed and has none of its usual names.
type NoColumn struct {
	Name   string   // that was asked for; "": none was
	Of     string   // without a name: what the column holds: id, text, fingerprint
	Usual  []string // without a name: those that it would be found by
	Where  string   // " in …", " of …", or nothing
	Have   []string
	Header bool   // Have is the first row of a table, which may be no header
	File   string // the path of the file that lacks it, as source.Open tells it
}

// Error says what is missing and, if no name was asked for, what to do.
func (e *NoColumn) Error() string {
	if e.Name != "" {
		return e.Problem()
	}
	return fmt.Sprintf("%s: name the one that holds the %s", e.Problem(), e.Of)
}

// Problem says what is missing, and what there is.
func (e *NoColumn) Problem() string {
	name := strings.Join(e.Usual, ", ")
	if e.Name != "" {
		name = strconv.Quote(e.Name)
	}
	return fmt.Sprintf("no column %s%s; there are: %s", name, e.Where, some(e.Have))
}

// some lists names for a person: not all of very many, nor all of a long one,
// which may be a page where the first row of a table is no header.
func some(names []string) string {
	const most, longest = 40, 60
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == most {
			fmt.Fprintf(&b, "… (%d)", len(names))
			break
		}
		if runes := []rune(name); len(runes) > longest {
			name = string(runes[:longest]) + "…"
		}
		b.WriteString(name)
	}
	return b.String()
}
