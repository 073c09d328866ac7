// Package warc reads the pages of web archives as documents: WARC files as
// crawlers write them, and the WET files that Common Crawl makes of them,
// plain, gzip (a member for each record) or zstandard. Of HTML pages it takes
// the title and the main text. It never reads ARC files, and never repairs an
// archive: what is damaged is skipped by name and counted.
//
// It has a record reader of its own. nlnwa/gowarc v2.0.1 finds the same
// records in sound archives, but reads no zstandard, and did not return from
// a gzip member with damaged bytes, which a night's run has to get past.
package warc

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/neardup/neardup/data"
)

// Reader reads the documents of a WARC or WET file; it is a
// data.SourceReader. Every record is a document or a *data.BadRecord:
// requests, metadata, images and the like are data.ReasonNotPage.
type Reader struct {
	archive *archive
	opts    data.ReaderOptions
	maxPage int64
	block   []byte
	utf8    []byte
	msg     message
	err     error
	digest  string
}

var _ data.SourceReader = (*Reader)(nil)

// Open opens a WARC or WET file.
func Open(split data.Split, o data.ReaderOptions) (*Reader, error) {
	if o.WARCID != "" && o.WARCID != data.WARCIDURL && o.WARCID != data.WARCIDRecord {
		return nil, fmt.Errorf("warc: id %q: write %s or %s", o.WARCID, data.WARCIDURL, data.WARCIDRecord)
	}
	if o.HTTPStatus != "" && o.HTTPStatus != data.HTTPStatusOK && o.HTTPStatus != data.HTTPStatusAll {
		return nil, fmt.Errorf("warc: HTTP status %q: write %s or %s", o.HTTPStatus, data.HTTPStatusOK, data.HTTPStatusAll)
	}
	if o.HTML != "" && o.HTML != data.HTMLMain && o.HTML != data.HTMLVisible {
		return nil, fmt.Errorf("warc: HTML %q: write %s or %s", o.HTML, data.HTMLMain, data.HTMLVisible)
	}
	a, err := openArchive(split, o)
	if err != nil {
		return nil, fmt.Errorf("warc: %s: %w", split.Path, err)
	}
	r := &Reader{archive: a, opts: o, maxPage: o.MaxPage}
	if r.maxPage <= 0 {
		r.maxPage = DefaultMaxPage
	}
	return r, nil
}

// Read fills doc with the next page; see data.Reader.
func (r *Reader) Read(doc *data.Document) error {
	if r.err != nil {
		return r.err
	}
	doc.Reset()
	rec, err := r.archive.next()
	if err == nil {
		err = r.document(doc, rec)
	}
	if err != nil {
		if _, bad := data.IsBadRecord(err); !bad {
			r.fail(err)
			return r.err
		}
	}
	return err
}

// fail keeps the error that ended the reading.
func (r *Reader) fail(err error) {
	switch {
	case errors.Is(err, io.EOF):
		r.err = io.EOF
		r.digest = r.archive.raw.Digest()
	case strings.HasPrefix(err.Error(), "warc: "):
		r.err = err
	default:
		r.err = fmt.Errorf("warc: %s at offset %d: %w", r.archive.path, r.archive.rec.offset, err)
	}
}

// document fills doc from a record.
func (r *Reader) document(doc *data.Document, rec *record) (err error) {
	doc.Offset = rec.offset
	skip := func(reason string, err error) error {
		return r.archive.bad(rec.offset, reason, err, append(rec.raw, r.block[:min(len(r.block), keptRaw)]...))
	}
	contentType := rec.header.get("Content-Type")
	r.block = r.block[:0]
	switch rec.kind {
	case "response":
		if media(contentType) != "application/http" && contentType != "" {
			return r.notPage(rec, media(contentType))
		}
	case "resource", "conversion":
		if !isPage(media(contentType)) {
			return r.notPage(rec, media(contentType))
		}
	case "":
		return skip(data.ReasonMalformed, errors.New("no WARC-Type"))
	default:
		return r.notPage(rec, rec.kind)
	}

	limit := r.opts.RecordLimit()
	if r.block, err = r.archive.read(r.block, min(rec.length, limit)); err != nil {
		return err
	}
	body := r.block
	if rec.kind == "response" {
		if err := parseHTTP(&r.msg, r.block); err != nil {
			return skip(data.ReasonMalformed, err)
		}
		if r.opts.HTTPStatus != data.HTTPStatusAll && (r.msg.status < 200 || r.msg.status > 299) {
			return skip(data.ReasonHTTPStatus, fmt.Errorf("status %d", r.msg.status))
		}
		contentType = r.msg.header.get("Content-Type")
		if m := media(contentType); m != "" && !isPage(m) {
			return r.notPage(rec, m)
		}
	}
	if rec.length > limit {
		return skip(data.ReasonTooLarge, fmt.Errorf("%d bytes: longer than %d", rec.length, limit))
	}
	if err := r.archive.verify(); err != nil {
		return err
	}
	if rec.kind == "response" {
		if body, err = decodeBody(&r.msg, limit); err != nil {
			return skip(data.ReasonTooLarge, err)
		}
	}
	if len(body) == 0 {
		return skip(data.ReasonNoText, errors.New("the body is empty"))
	}
	kind := media(contentType)
	sniffed := media(http.DetectContentType(body))
	if kind == "" {
		kind = sniffed
	}
	if !isPage(kind) || isBinary(sniffed) {
		return r.notPage(rec, sniffed)
	}

	if kind == "text/html" || kind == "application/xhtml+xml" {
		r.utf8 = toUTF8(r.utf8[:0], body[:min(int64(len(body)), r.maxPage)], contentType)
		if err := page(doc, r.utf8, r.opts.HTML != data.HTMLVisible); err != nil {
			return skip(data.ReasonNoText, err)
		}
	} else {
		doc.Text = toUTF8(doc.Text, body, contentType)
	}
	r.identify(doc, rec)
	// The crawler looked at the text; the page says it of itself, the server of all its pages.
	if l := rec.header.get("WARC-Identified-Content-Language"); l != "" {
		doc.Language = append(doc.Language[:0], l...)
	} else if len(doc.Language) == 0 && rec.kind == "response" {
		doc.Language = append(doc.Language, r.msg.header.get("Content-Language")...)
	}
	return nil
}

// identify sets the id and the date.
func (r *Reader) identify(doc *data.Document, rec *record) {
	url := strings.Trim(rec.header.get("WARC-Target-URI"), "<> ")
	id := strings.Trim(rec.header.get("WARC-Record-ID"), "<> ")
	if r.opts.WARCID != data.WARCIDRecord && url != "" || id == "" {
		id = url
	}
	doc.ID = append(doc.ID, id...)
	if len(doc.ID) == 0 {
		doc.ID = data.AppendDefaultID(doc.ID, r.archive.path, rec.offset)
	}
	doc.Date = data.ParseDate([]byte(rec.header.get("WARC-Date")))
}

// notPage is the bad record of a record that is no page; its bytes are not
// kept.
func (r *Reader) notPage(rec *record, what string) error {
	if what == "" {
		what = "unknown type"
	}
	return &data.BadRecord{Source: r.archive.path, Offset: rec.offset, Reason: data.ReasonNotPage, Err: errors.New(what)}
}

// media is a content type without its parameters, lower case.
func media(contentType string) string {
	m, _, _ := strings.Cut(contentType, ";")
	m, _, _ = strings.Cut(m, ",")
	return strings.ToLower(strings.TrimSpace(m))
}

// isPage tells the types that are read as documents.
func isPage(media string) bool {
	switch media {
	case "text/html", "application/xhtml+xml", "text/plain", "text/markdown", "text/x-markdown":
		return true
	}
	return false
}

// isBinary tells, of what http.DetectContentType says, what is certainly no
// text, whatever the server called it.
func isBinary(sniffed string) bool {
	for _, prefix := range []string{"image/", "audio/", "video/", "font/", "application/pdf", "application/zip", "application/x-gzip", "application/x-rar", "application/wasm", "application/vnd.ms-fontobject"} {
		if strings.HasPrefix(sniffed, prefix) {
			return true
		}
	}
	return false
}

// Consumed is the number of bytes of the file read so far.
func (r *Reader) Consumed() int64 { return r.archive.raw.Consumed() }

// Digest is the SHA-256 of the file; see data.SourceReader.
func (r *Reader) Digest() string { return r.digest }

// Close ends the reading; it may be called at any time, and again.
func (r *Reader) Close() error {
	if r.err == nil {
		r.err = os.ErrClosed
	}
	if r.archive.end == nil {
		return nil
	}
	err := r.archive.close()
	r.archive.end = nil
	return err
}
