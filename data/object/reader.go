package object

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/minio/minio-go/v7"

	"github.com/neardup/neardup/data"
)

// A store takes some 20 to 50 ms for the first byte of an answer, whatever is asked for.
// So a reader asks for more than it needs: for the whole of an object that has small
// bytes; else for leastAsked, at an object's end for endAsked, and for askedMore times as
// much each time that the reading goes on there. Up to mostPassed bytes of an answer are
// read over. Of so many places, each of which a column of a table may be, ReadAt holds
// what it read last.
const (
	small      = 1 << 20
	leastAsked = 256 << 10
	endAsked   = 64 << 10
	askedMore  = 16
	mostPassed = 4 << 20
	places     = 4
	placeBytes = 4 << 20
)

// handle is an object that is open; all requests for it share one.
type handle struct {
	core        *minio.Core
	bucket, key string
	ctx         context.Context //nolint:containedctx // until the object is closed

	lock sync.Mutex
	info FileInfo // without a time until the first answer, if only path and size were known
}

// ask asks for a piece. It fails if the object is not the one that was opened.
func (s *handle) ask(start, end int64) (io.ReadCloser, error) {
	s.lock.Lock()
	info := s.info
	s.lock.Unlock()
	var o minio.GetObjectOptions
	var err error
	if info.ETag != "" {
		err = o.SetMatchETag(info.ETag)
	}
	if err == nil {
		err = o.SetRange(start, end-1)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", info.Path, err)
	}
	body, got, header, err := s.core.GetObject(s.ctx, s.bucket, s.key, o)
	if err != nil {
		return nil, explained(info.Path, err)
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.info.ModTime.IsZero() {
		s.info.ETag, s.info.ModTime = got.ETag, got.LastModified
	}
	// Some gateways have no ETag; nor can they be asked for an object that was
	// not changed since, when they know times to less than a second.
	_, size, told := strings.Cut(header.Get("Content-Range"), "/")
	if s.info.ETag == "" && !got.LastModified.Equal(s.info.ModTime) || s.info.ETag != "" && got.ETag != s.info.ETag || told && size != fmt.Sprint(info.Size) {
		return nil, errors.Join(fmt.Errorf("%s: %w", info.Path, errReplaced), body.Close())
	}
	return body, nil
}

// stream reads an object from a place on, front to back. What broke off is asked for again
// from there.
type stream struct {
	*handle
	at, end int64         // what was asked for, and not read
	asked   int64         // how much that was; 0: nothing
	body    io.ReadCloser // it; nil: it is to be asked for
}

func (s *stream) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	for try := 0; ; try++ {
		size := s.info.Size
		if s.at >= size {
			return 0, io.EOF
		}
		if s.at >= s.end {
			s.drop()
			s.askMore(size)
		}
		if s.body == nil {
			if s.body, err = s.ask(s.at, s.end); err != nil {
				return 0, err
			}
		}
		n, err = s.body.Read(p)
		s.at += int64(n)
		if n > 0 || err == nil {
			return n, nil
		}
		// The end before the object's end is a connection that broke.
		s.drop()
		if try == retries || s.ctx.Err() != nil {
			return 0, fmt.Errorf("%s at offset %d: %w", s.info.Path, s.at, err)
		}
	}
}

// askMore has what follows asked for.
func (s *stream) askMore(size int64) {
	switch {
	case size <= small:
		s.asked = size
	case s.asked == 0:
		s.asked = leastAsked
	default:
		s.asked *= askedMore
	}
	s.asked = min(s.asked, size-s.at)
	s.end = s.at + s.asked
}

// drop ends the request.
func (s *stream) drop() {
	if s.body != nil {
		_ = s.body.Close()
		s.body = nil
	}
}

// reader is an open object. What Read and Seek do is the stream's, but for what is held.
type reader struct {
	stream
	cancel func()

	places []*place // that nobody reads at, under the lock; the one read last comes last
	held   []piece  // see Hold
}

// place is where ReadAt has read, and may go on.
type place struct {
	start int64
	bytes []byte // of the object, from start up to where the stream is
	stream
}

// piece is some of an object.
type piece struct {
	start int64
	bytes []byte
}

// Hold reads pieces of an object, each from an offset to another one, several at a time,
// and keeps them for reads within one of them, in place of those before. It does nothing
// for a file. No other call may read f meanwhile.
func Hold(f data.InputFile, pieces ...[2]int64) error {
	if v, is := f.(shared); is {
		f = v.of
	}
	r, is := f.(*reader)
	if !is || r.info.Size <= small || r.holds(pieces) {
		return nil
	}
	r.held = make([]piece, len(pieces))
	failed := make([]error, len(pieces))
	var wait sync.WaitGroup
	for w := range min(requests, len(pieces)) {
		wait.Go(func() {
			for i := w; i < len(pieces); i += requests {
				from, to := pieces[i][0], min(pieces[i][1], r.info.Size)
				rest := stream{handle: r.handle, at: from, end: to, asked: to - from}
				r.held[i] = piece{from, make([]byte, max(to-from, 0))}
				_, failed[i] = io.ReadFull(&rest, r.held[i].bytes)
				rest.drop()
			}
		})
	}
	wait.Wait()
	err := errors.Join(failed...)
	if err != nil {
		r.held = nil
	}
	return err
}

// holds reports whether these pieces are held already.
func (r *reader) holds(pieces [][2]int64) bool {
	return slices.EqualFunc(r.held, pieces, func(h piece, p [2]int64) bool {
		return h.start == p[0] && h.start+int64(len(h.bytes)) == min(p[1], r.info.Size)
	})
}

// fromHeld reads at off from what is held, if that has it.
func (r *reader) fromHeld(p []byte, off int64) (n int) {
	for _, h := range r.held {
		if off >= h.start && off < h.start+int64(len(h.bytes)) {
			return copy(p, h.bytes[off-h.start:])
		}
	}
	return 0
}

func (r *reader) Read(p []byte) (n int, err error) {
	if n = r.fromHeld(p, r.at); n > 0 {
		_, err = r.Seek(int64(n), io.SeekCurrent)
		return n, err
	}
	if r.info.Size > small {
		return r.stream.Read(p)
	}
	n, err = r.ReadAt(p, r.at)
	r.at += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (r *reader) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fmt.Errorf("%s: offset %d", r.info.Path, off)
	}
	end := min(off+int64(len(p)), r.info.Size)
	if off < end {
		n = r.fromHeld(p[:end-off], off)
	}
	if off+int64(n) < end {
		at := r.take(off+int64(n), end)
		more, err := at.read(p[n:end-off], off+int64(n))
		n += more
		if err != nil {
			at.drop()
			return n, err
		}
		r.give(at)
	}
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

// take takes a place from which [off, end) can be read, or makes one.
func (r *reader) take(off, end int64) *place {
	r.lock.Lock()
	defer r.lock.Unlock()
	best := -1
	for i, p := range r.places {
		if p.start <= off && off <= p.at+mostPassed && (best < 0 || p.start > r.places[best].start) {
			best = i
		}
	}
	if best >= 0 {
		p := r.places[best]
		r.places = append(r.places[:best], r.places[best+1:]...)
		return p
	}
	p := &place{start: off}
	switch size := r.info.Size; {
	case size <= small:
		p.start = 0
	case end == size: // where many formats say what the file holds
		p.start = max(0, min(off, size-endAsked))
	}
	p.stream = stream{handle: r.handle, at: p.start, end: p.start}
	return p
}

// give gives a place back, and drops the one that was read longest ago if they are too many.
func (r *reader) give(p *place) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.places = append(r.places, p)
	if len(r.places) > places {
		r.places[0].drop()
		r.places = append(r.places[:0], r.places[1:]...)
	}
}

// read reads the bytes at off, all of which the object has.
func (p *place) read(to []byte, off int64) (n int, err error) {
	for n < len(to) {
		if at := off + int64(n) - p.start; at < int64(len(p.bytes)) {
			n += copy(to[n:], p.bytes[at:])
			continue
		}
		if err := p.more(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// more reads some of what follows.
func (p *place) more() error {
	const most = 256 << 10 // at once
	if len(p.bytes) > placeBytes-most {
		kept := copy(p.bytes, p.bytes[len(p.bytes)/2:])
		p.start += int64(len(p.bytes) - kept)
		p.bytes = p.bytes[:kept]
	}
	n := len(p.bytes)
	some := int(min(most, p.info.Size-p.at))
	if cap(p.bytes)-n < some {
		grown := make([]byte, n, min(placeBytes, max(2*n, n+some)))
		copy(grown, p.bytes)
		p.bytes = grown
	}
	m, err := p.Read(p.bytes[n : n+some])
	p.bytes = p.bytes[:n+m]
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func (r *reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.info.Size
	}
	if offset < 0 {
		return 0, fmt.Errorf("%s: offset %d", r.info.Path, offset)
	}
	if offset != r.at {
		r.drop()
		r.at, r.end, r.asked = offset, offset, 0
	}
	return offset, nil
}

func (r *reader) Close() error {
	r.lock.Lock()
	for _, p := range r.places {
		p.drop()
	}
	r.places, r.held = nil, nil
	r.lock.Unlock()
	r.cancel()
	if r.body == nil {
		return nil
	}
	body := r.body
	r.body = nil
	if err := body.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", r.info.Path, err)
	}
	return nil
}

// OpenOnce opens the object of a split for all who then open it with options o; close it
// behind the last of them. It does nothing where the split is of several objects, or of
// files.
func OpenOnce(split data.Split, o *data.ReaderOptions) (io.Closer, error) {
	if !Is(split.Path) || len(split.Files) > 0 || o.Open != nil {
		return io.NopCloser(nil), nil
	}
	f, err := OpenInput(split, *o)
	if err != nil {
		return nil, err
	}
	r := f.(*reader) //nolint:forcetypeassert // it is an object
	o.Open = func(string) (data.InputFile, error) { return shared{io.NewSectionReader(r, 0, r.info.Size), r}, nil }
	return r, nil
}

// shared is an object that stays open.
type shared struct {
	*io.SectionReader
	of *reader
}

func (shared) Close() error { return nil }

// inMemory is an object all of whose bytes were read.
type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }
