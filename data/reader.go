package data

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Columns names the columns (or keys) that a document's fields are read from.
// An empty name tries the usual ones, id, url, title, text, content and their
// like, and takes the first that is there; a name that is given must be there,
// and so must a text, else opening fails with a *NoColumn, or goes on as
// ReaderOptions.Missing has it.
type Columns struct {
	ID, Title, Text, Language, Date, Rank string
}

// ForeignColumns names the columns of fingerprints that neardup did not
// write. An empty name tries the usual ones: doc_id, id, url and their like;
// fingerprint, simhash, hash.
type ForeignColumns struct {
	ID, Fingerprint string
	// Hex makes fingerprints that are text hexadecimal. Otherwise they are
	// when the first 1,000 of a file say so.
	Hex bool
}

// defaultMaxRecord is ReaderOptions.MaxRecord when it is 0.
const defaultMaxRecord = 32 << 20

// Values of ReaderOptions.WARCID, ReaderOptions.HTTPStatus and
// ReaderOptions.HTML.
const (
	HTMLMain    = "main"    // a page's main text
	HTMLVisible = "visible" // all text of a page that a reader sees

	WARCIDURL     = "url"    // a WARC document's id is its target URI
	WARCIDRecord  = "record" // … is its WARC-Record-ID without the angle brackets
	HTTPStatusOK  = "ok"     // only responses with a status from 200 to 299 are documents
	HTTPStatusAll = "all"    // a response of any status is one
)

// ErrBroken is returned by a reader with ReaderOptions.Once for a member that turned
// out to be damaged after some of it was given out.
var ErrBroken = errors.New("a member whose text was given out is damaged: the split is to be read again")

// ReaderOptions says how documents are read. The zero value is the default.
type ReaderOptions struct {
	Columns    Columns
	KeepRaw    bool      // fill Document.Raw (JSONL and CSV)
	Encoding   string    // of all text, a label of the WHATWG Encoding Standard; "": told from each file or page
	MaxRecord  int64     // bytes; a longer record is skipped as too large; 0: 32 MiB
	WARCID     string    // WARCIDURL (default) or WARCIDRecord
	NoHeader   bool      // the columns of CSV and TSV are named 1, 2 and so on; no row names them
	HTTPStatus string    // HTTPStatusOK (default) or HTTPStatusAll
	HTML       string    // HTMLMain (default) or HTMLVisible
	Workers    int       // goroutines that make documents of the pages of a WARC file; 0 or 1: none but the caller's
	Stdin      io.Reader // what the path "-" reads; nil: os.Stdin

	// Unverified has what a compressed member holds believed before its checksum
	// was read, also where the split ends within one; what is damaged ends the
	// split. It is for who takes a sample and keeps no text, and for who reads a
	// sound split again and compares its Digest before anything is kept.
	Unverified bool

	// RawAlone, if not nil, is asked before each line of JSON whether Raw is all that is
	// needed of it. Such a line is not parsed, and taken for a document. It is for who
	// reads a split again of which no record was bad, and compares its Digest.
	RawAlone func() bool

	// Once gives out what a gzip member holds that is too large to be held before
	// its checksum was read, where such a member is else inflated twice. Read
	// returns ErrBroken if it turns out to be damaged: nothing that came of the
	// split is to be believed then, and who reads it begins again without Once.
	Once bool

	// Memory is what large windows of compressed files and large pages of Parquet
	// are taken from, and Pages what large pages and texts take (MemoryOf) while
	// they are worked on. Each is held while others are waited for, so they are two.
	// Nil: there is enough.
	Memory, Pages Memory

	// Missing, if not nil, is told of a column that must be there and is not,
	// and the file is read as if each of its records had no value in it: one
	// without a text is a *BadRecord.
	Missing func(*NoColumn)

	// Unchecked, if not nil, is told of each compressed member that has no checksum,
	// and is believed since all of it is there and could be decompressed; by
	// whichever goroutine reads the file.
	Unchecked func()

	// Unread, if not nil, is told of a file none of whose records can be read,
	// which is then read as one *BadRecord that stands for all of them.
	Unread func(*Unreadable)

	// Decoded, if not nil, is told at the end of each file or piece of one what its text
	// is in, as SourceReader.Encoding says it, where that is not UTF-8.
	Decoded func(path, encoding string)

	// Open, if not nil, opens files by their paths: it may have them already.
	Open func(path string) (InputFile, error)
}

// InputFile is an open file or object. Read and Seek are used by one goroutine, ReadAt by any.
type InputFile interface {
	io.Reader
	io.ReaderAt
	io.Seeker
	io.Closer
}

// Memory is memory that several readers share, in bytes. It is safe for
// concurrent use.
type Memory interface {
	// Take waits until n bytes are free, or all there are if that is less,
	// takes them, and returns how many.
	Take(n int64) int64
	// Give gives n bytes back.
	Give(n int64)
}

// A text of largeText bytes or more is large: what finds it in a page, what
// fingerprints it and what compares it each take about textMemory times its bytes.
const (
	largeText  = 1 << 20
	textMemory = 12
)

// MemoryOf is the memory, in bytes, to take for work on a page or a text of n bytes;
// 0 for one that is not large.
func MemoryOf(n int) int64 {
	if n < largeText {
		return 0
	}
	return textMemory * int64(n)
}

// Take takes n bytes of m; of nil there is enough.
func Take(m Memory, n int64) (taken int64) {
	if m == nil || n <= 0 {
		return n
	}
	return m.Take(n)
}

// Give gives n bytes back to m, which may be nil.
func Give(m Memory, n int64) {
	if m != nil && n > 0 {
		m.Give(n)
	}
}

// TolerateMissing lets a reader go on without a column that a file lacks: if err
// is or wraps a *NoColumn and the caller has set Missing, it calls Missing with it
// and returns nil. Any other error, and every error without Missing, comes back as
// it is.
func (o ReaderOptions) TolerateMissing(err error) error {
	missing := (*NoColumn)(nil)
	if o.Missing == nil || !errors.As(err, &missing) {
		return err
	}
	o.Missing(missing)
	return nil
}

// RecordLimit is MaxRecord with its default.
func (o ReaderOptions) RecordLimit() int64 {
	if o.MaxRecord > 0 {
		return o.MaxRecord
	}
	return defaultMaxRecord
}

// SourceReader is a Reader that knows its place in the input file; every
// reader of the source packages is one.
type SourceReader interface {
	Reader
	// Consumed is the number of bytes of the input file, compressed as they
	// stand, that were read so far: for progress.
	Consumed() int64
	// Digest is the XXH3 of 128 bits, in hexadecimal, of the split's bytes as they
	// stand in the file; of a split that is the whole file, what xxhsum -H128
	// says; of one of several files, that of their digests, a line each. It is empty
	// before Read returned io.EOF.
	Digest() string
	// Encoding is the name of the encoding that the text of a line format is
	// in, as far as it was read; empty for UTF-8, and for other formats, whose
	// pages have each their own or always UTF-8.
	Encoding() string
}

// ValidID returns the id as tables can hold it: with each byte that is no UTF-8
// percent-encoded, as it stands in a URL. The id is returned as it is if there
// is none.
func ValidID(id []byte) []byte {
	if utf8.Valid(id) {
		return id
	}
	valid := make([]byte, 0, len(id)+16)
	for len(id) > 0 {
		r, n := utf8.DecodeRune(id)
		if r == utf8.RuneError && n == 1 {
			valid = fmt.Appendf(valid, "%%%02X", id[0])
		} else {
			valid = append(valid, id[:n]...)
		}
		id = id[n:]
	}
	return valid
}
