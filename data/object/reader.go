package object

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/minio/minio-go/v7"
)

// request reads a piece of an object, front to back, by as few requests as the network
// allows: what broke off is asked for again from there.
type request struct {
	core        *minio.Core
	info        FileInfo
	bucket, key string
	ctx         context.Context //nolint:containedctx // until the object is closed

	at, end int64         // what is left to be read
	body    io.ReadCloser // it; nil: not asked for
}

// ask asks for what is left to be read.
func (r *request) ask() (io.ReadCloser, error) {
	var o minio.GetObjectOptions
	var err error
	if r.info.ETag != "" {
		err = o.SetMatchETag(r.info.ETag)
	}
	if err == nil {
		err = o.SetRange(r.at, r.end-1)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.info.Path, err)
	}
	body, info, _, err := r.core.GetObject(r.ctx, r.bucket, r.key, o)
	if err != nil {
		return nil, explained(r.info.Path, err)
	}
	// Some gateways have no ETag; nor can they be asked for an object that was
	// not changed since, when they know times to less than a second.
	if r.info.ETag == "" && !r.info.ModTime.IsZero() && !info.LastModified.Equal(r.info.ModTime) {
		return nil, errors.Join(fmt.Errorf("%s: %w", r.info.Path, errReplaced), body.Close())
	}
	return body, nil
}

func (r *request) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	for try := 0; ; try++ {
		if r.at >= r.end {
			return 0, io.EOF
		}
		if r.body == nil {
			if r.body, err = r.ask(); err != nil {
				return 0, err
			}
		}
		n, err = r.body.Read(p)
		r.at += int64(n)
		if n > 0 || err == nil {
			return n, nil
		}
		// The end before the object's end is a connection that broke.
		r.drop()
		if try == retries || r.ctx.Err() != nil {
			return 0, fmt.Errorf("%s at offset %d: %w", r.info.Path, r.at, err)
		}
	}
}

// drop ends the request.
func (r *request) drop() {
	if r.body != nil {
		_ = r.body.Close()
		r.body = nil
	}
}

// A store takes some 20 to 50 ms for the first byte of an answer, whatever is asked for.
// So ReadAt asks for more than it needs: the whole of an object that has small bytes; else
// leastAsked, and askedMore times as much each time that the reading goes on there. It
// reads over up to mostPassed bytes of an answer. Of so many places, each of which a
// column of a table may be, it holds what was read last.
const (
	small      = 1 << 20
	leastAsked = 64 << 10
	askedMore  = 16
	mostPassed = 1 << 20
	places     = 4
	held       = 4 << 20 // bytes of each
)

// reader is an open object.
type reader struct {
	request // of what Read reads
	cancel  func()

	lock   sync.Mutex // of what ReadAt reads
	places []*place   // the one read last comes last
}

// place is where ReadAt has read, and may go on.
type place struct {
	start int64
	bytes []byte // of the object from start on, up to the request's
	request
	asked int64
}

func (r *reader) Read(p []byte) (n int, err error) {
	if r.info.Size > small {
		return r.request.Read(p)
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
		r.lock.Lock()
		defer r.lock.Unlock()
		if n, err = r.placeAt(off, end).read(p[:end-off], off); err != nil {
			r.places[len(r.places)-1].drop()
			r.places = r.places[:len(r.places)-1]
			return n, err
		}
	}
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

// placeAt returns the place from which [off, end) can be read, the last one now.
func (r *reader) placeAt(off, end int64) *place {
	best := -1
	for i, p := range r.places {
		if p.start <= off && off <= p.at+mostPassed && (best < 0 || p.start > r.places[best].start) {
			best = i
		}
	}
	var p *place
	switch {
	case best >= 0:
		p = r.places[best]
		r.places = append(r.places[:best], r.places[best+1:]...)
	default:
		if len(r.places) == places {
			r.places[0].drop()
			r.places = append(r.places[:0], r.places[1:]...)
		}
		p = &place{start: off, request: r.request, asked: max(leastAsked, end-off)}
		switch size := r.info.Size; {
		case size <= small:
			p.start, p.asked = 0, size
		case end == size: // where many formats say what the file holds
			p.start = max(0, min(off, size-leastAsked))
		}
		p.body, p.at, p.end = nil, p.start, min(p.start+p.asked, r.info.Size)
	}
	r.places = append(r.places, p)
	return p
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
	if len(p.bytes) > held-most {
		kept := copy(p.bytes, p.bytes[len(p.bytes)/2:])
		p.start += int64(len(p.bytes) - kept)
		p.bytes = p.bytes[:kept]
	}
	if p.at == p.end {
		p.drop()
		p.asked = min(p.asked*askedMore, p.info.Size-p.end)
		p.end += p.asked
	}
	n := len(p.bytes)
	some := int(min(most, p.end-p.at))
	if cap(p.bytes)-n < some {
		grown := make([]byte, n, min(held, max(2*n, n+some)))
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
	}
	r.at = offset
	return offset, nil
}

func (r *reader) Close() error {
	r.lock.Lock()
	for _, p := range r.places {
		p.drop()
	}
	r.places = nil
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
