// Package warc reads the pages of web archives as documents: WARC files as
// crawlers write them, and the WET files that Common Crawl makes of them,
// plain, gzip (a member for each record) or zstandard (with a dictionary, if
// the file has one). Of HTML pages it takes the title and the main text. It
// never reads ARC files, and never repairs an archive: what is damaged is
// skipped by name and counted.
//
// With several workers, one goroutine finds a file's records and the others convert
// them, in batches (pipeline.go). Documents come out in the order of the file, whatever the
// number of goroutines:
//
//	file ─find records─► batches ─┬─convert─┬─► in order ─► Read
//	                              ├─convert─┤
//	                              └─convert─┘
//
// It has a record reader of its own. nlnwa/gowarc v2.0.1 finds the same
// records in sound archives, but reads no zstandard, and did not return from
// a gzip member with damaged bytes, which a night's run has to get past.
package warc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/charset"
)

type reader struct {
	archive *archive
	opts    data.ReaderOptions
	charset charset.Decoder // new: each converter has a copy
	err     error
	digest  string
	closed  bool

	// One goroutine: the caller's.
	converter *converter
	rec       record

	// Several.
	free    chan *batch
	work    chan *batch // to the converters
	ordered chan *batch // to Read
	quit    chan struct{}
	done    sync.WaitGroup
	cur     *batch
	next    int // of cur's records
}

// Open reads the documents of a WARC or WET file. Every record is a document or
// a *data.BadRecord: requests, metadata, images and the like are
// data.ReasonNotPage. The reader may be closed at any time, and again.
func Open(split data.Split, o data.ReaderOptions) (data.SourceReader, error) {
	decoder, err := charset.NewDecoder(o.Encoding)
	if err != nil {
		return nil, fmt.Errorf("warc: %w", err)
	}
	a, err := openArchive(split, o)
	if err != nil {
		return nil, fmt.Errorf("warc: %s: %w", split.Path, err)
	}
	r := &reader{archive: a, opts: o, charset: decoder}
	if o.Workers > 1 {
		r.start(o.Workers)
	} else {
		r.converter = r.newConverter()
	}
	return r, nil
}

// Read fills doc with the next page; see data.Reader.
func (r *reader) Read(doc *data.Document) error {
	if r.err != nil {
		return r.err
	}
	if r.converter == nil {
		return r.take(doc)
	}
	err := r.frame(&r.rec)
	if err == nil {
		doc.Reset()
		err = r.converter.convert(doc, &r.rec)
		r.rec.release(r.opts.Pages)
	}
	if _, bad := data.IsBadRecord(err); err != nil && !bad {
		return r.end(err)
	}
	return err
}

// end keeps the error that ended the reading.
func (r *reader) end(err error) error {
	r.err = err
	if errors.Is(err, io.EOF) {
		r.digest = r.archive.members.Digest()
	}
	return err
}

// frame finds the next record that is wanted, and reads it. The bytes of a
// bad record are valid until the next call.
func (r *reader) frame(rec *record) error {
	err := r.record(rec)
	if _, bad := data.IsBadRecord(err); err == nil || bad {
		return err
	}
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case strings.HasPrefix(err.Error(), "warc: "):
		return err
	}
	return fmt.Errorf("warc: %s at offset %d: %w", r.archive.path, r.archive.offset, err)
}

func (r *reader) record(rec *record) error {
	a := r.archive
	if err := a.next(rec); err != nil {
		return err
	}
	if yes, what := wanted(rec.header); !yes {
		if len(rec.header.get("WARC-Type")) == 0 {
			return a.bad(rec.offset, data.ReasonMalformed, errors.New("no WARC-Type"), rec.header)
		}
		return notPage(a.path, rec.offset, what)
	}
	n := rec.length
	if n > r.opts.RecordLimit() {
		n = min(maxHeader, r.opts.RecordLimit()) // it is skipped; its HTTP header says what for
	}
	if n == rec.length {
		rec.took = data.Take(r.opts.Pages, data.MemoryOf(int(n)))
	}
	err := r.block(rec, n)
	if err != nil {
		rec.release(r.opts.Pages)
	}
	return err
}

// release drops the block of a large record, and gives back what it took.
func (rec *record) release(pages data.Memory) {
	if rec.took > 0 {
		rec.block = nil
	}
	data.Give(pages, rec.took)
	rec.took = 0
}

// block reads the first n bytes of a record's block, and compares all of it with
// its digest where no checksum covers it.
func (r *reader) block(rec *record, n int64) error {
	a := r.archive
	if err := a.read(rec, n); err != nil {
		return err
	}
	if rec.sure = a.checked; rec.sure || n < rec.length {
		return nil
	}
	var err error
	if rec.sure, err = rec.verify(); err != nil {
		bad := a.bad(rec.offset, data.ReasonDamaged, err, append(a.head, rec.block[:min(len(rec.block), keptRaw)]...))
		bad.Lost = int64(len(rec.header)) + rec.length
		return bad
	}
	return nil
}

func (r *reader) Encoding() string { return "" }
func (r *reader) Consumed() int64  { return r.archive.members.Consumed() }
func (r *reader) Digest() string   { return r.digest }

func (r *reader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	if r.err == nil {
		r.err = os.ErrClosed
	}
	if r.converter != nil {
		r.converter.close()
		return r.archive.close()
	}
	return r.stop()
}
