package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/stream"
)

const (
	maxHeader = 1 << 20  // of a record: more is no header
	keptRaw   = 64 << 10 // of a record that is skipped
	bufSize   = 128 << 10
)

// record is one WARC record, its block not read yet.
type record struct {
	offset int64  // of the member it starts, else in the uncompressed stream
	kind   string // WARC-Type, lower case
	header header
	length int64 // of the block
	left   int64 // of the block, not read yet
	raw    []byte
}

// header is the named fields of a record or of an HTTP message.
type header struct{ names, values []string }

// get returns the first value of a field; names are compared without case.
func (h *header) get(name string) string {
	for i, n := range h.names {
		if strings.EqualFold(n, name) {
			return h.values[i]
		}
	}
	return ""
}

func (h *header) reset() { h.names, h.values = h.names[:0], h.values[:0] }

// add takes one line of a header block.
func (h *header) add(line []byte) {
	if len(line) > 0 && (line[0] == ' ' || line[0] == '\t') { // a folded line
		if n := len(h.values); n > 0 {
			h.values[n-1] += " " + string(bytes.TrimSpace(line))
		}
		return
	}
	name, value, ok := bytes.Cut(line, []byte{':'})
	if !ok {
		return
	}
	h.names = append(h.names, string(bytes.TrimSpace(name)))
	h.values = append(h.values, string(bytes.TrimSpace(value)))
}

// archive finds the records of a file: gzip members, each normally one
// record, or one stream of them.
type archive struct {
	path string
	raw  *stream.Raw
	in   *bufio.Reader // of raw, so that the start of a member is known
	gz   *gzip.Reader  // nil when the file is no gzip
	end  func()        // of another decompressor

	body   *bufio.Reader // of the member or stream, decompressed
	member int64         // where the member starts in the file
	pos    int64         // in the uncompressed stream
	fresh  bool          // nothing of the member was read yet
	done   bool
	resync bool // what is passed over now was counted as a damaged record
	rec    record
}

func openArchive(split data.Split, o data.ReaderOptions) (*archive, error) {
	raw, err := stream.OpenRaw(split, o.Stdin)
	if err != nil {
		return nil, err
	}
	a := &archive{path: split.Path, raw: raw, in: bufio.NewReaderSize(raw, bufSize), end: func() {}, fresh: true}
	head, err := a.in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, raw.Close())
	}
	switch c := stream.Detect(head); c {
	case stream.Gzip:
		a.gz = new(gzip.Reader)
		a.body = bufio.NewReaderSize(nil, bufSize)
		if err := a.openMember(); err != nil {
			return nil, errors.Join(err, raw.Close())
		}
	default:
		src, end, err := stream.Decompress(a.in, c)
		if err != nil {
			return nil, errors.Join(err, raw.Close())
		}
		a.body, a.end = bufio.NewReaderSize(src, bufSize), end
	}
	return a, nil
}

// openMember starts the gzip member that stands at the current place.
func (a *archive) openMember() error {
	a.member = a.raw.Consumed() - int64(a.in.Buffered())
	if err := a.gz.Reset(a.in); err != nil {
		return fmt.Errorf("gzip: %w", err)
	}
	a.gz.Multistream(false)
	a.body.Reset(a.gz)
	a.fresh = true
	return nil
}

// nextMember goes on behind the member that ended; io.EOF at the file's end.
// Bytes that are no member are a bad record.
func (a *archive) nextMember() error {
	if a.gz == nil {
		return io.EOF
	}
	start := a.raw.Consumed() - int64(a.in.Buffered())
	counted := a.resync // the bytes up to the next member
	a.resync = false
	skipped, zero := int64(0), true
	for {
		head, err := a.in.Peek(3)
		if len(head) == 0 {
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			if skipped > 0 && !zero && !counted {
				a.done = true
				return a.bad(start, data.ReasonMalformed, fmt.Errorf("%d bytes behind the last gzip member", skipped), nil)
			}
			return io.EOF
		}
		if len(head) == 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8 {
			if err := a.openMember(); err == nil {
				break
			} else if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				a.done = true
				return a.bad(a.member, data.ReasonTruncated, err, nil)
			}
		}
		zero = zero && head[0] == 0
		if _, err := a.in.Discard(1); err != nil {
			return err
		}
		skipped++
	}
	if skipped > 0 && !zero && !counted {
		return a.bad(start, data.ReasonMalformed, fmt.Errorf("%d bytes between gzip members", skipped), nil)
	}
	return nil
}

func (a *archive) bad(offset int64, reason string, err error, raw []byte) *data.BadRecord {
	return &data.BadRecord{Source: a.path, Offset: offset, Reason: reason, Err: err, Raw: raw[:min(len(raw), keptRaw)]}
}

// damaged turns an error of the decompressor within a record into a bad
// record; the reading goes on with the next gzip member. Where there are no
// members the rest of the file cannot be read, unless it just ends.
func (a *archive) damaged(offset int64, err error, raw []byte) error {
	cut := errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
	if a.gz == nil {
		a.done = true
		if cut {
			return a.bad(offset, data.ReasonTruncated, errors.New("the file ends within the record"), raw)
		}
		return fmt.Errorf("warc: %s at offset %d: %w", a.path, offset, err)
	}
	reason := data.ReasonMalformed
	if cut {
		reason = data.ReasonTruncated
	}
	a.body.Reset(eof{}) // the member is over
	a.resync = true
	return a.bad(offset, reason, fmt.Errorf("gzip: %w", err), raw)
}

// eof is an ended member.
type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// next finds the next record and reads its header; what was left of the one
// before is read over. io.EOF at the end; a *data.BadRecord for what is no
// record.
func (a *archive) next() (*record, error) {
	if a.done {
		return nil, io.EOF
	}
	if err := a.finish(); err != nil {
		return nil, err
	}
	r := &a.rec
	r.raw = r.raw[:0]
	lost, lostAt := []byte(nil), int64(0)
	for {
		r.offset = a.offset()
		line, err := a.line()
		switch {
		case err == nil:
		case errors.Is(err, errMember):
			if lost != nil {
				return nil, a.bad(lostAt, data.ReasonMalformed, errNoRecord, lost)
			}
			if err := a.nextMember(); err != nil {
				a.done = a.done || errors.Is(err, io.EOF)
				return nil, err
			}
			continue
		default:
			return nil, a.damaged(r.offset, err, line)
		}
		if bytes.HasPrefix(line, []byte("WARC/")) {
			if lost != nil {
				// The line is the next record's: put the record off by a call.
				a.unread(line)
				return nil, a.bad(lostAt, data.ReasonMalformed, errNoRecord, lost)
			}
			r.raw = append(r.raw, line...)
			return a.header(r)
		}
		if lost == nil && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if lost == nil {
			lostAt = r.offset
			lost = make([]byte, 0, 256)
		}
		lost = append(lost, line[:min(len(line), keptRaw-len(lost))]...)
	}
}

var (
	errMember   = errors.New("end of the member")
	errNoRecord = errors.New("no WARC record starts here")
)

// offset is where a record starts that starts here.
func (a *archive) offset() int64 {
	if a.gz != nil && a.fresh {
		return a.member
	}
	return a.pos
}

// line reads a line with its end; errMember where the member or stream ends.
func (a *archive) line() ([]byte, error) {
	line, err := a.body.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) { // no header line is so long
		err = nil
	}
	a.pos += int64(len(line))
	if len(bytes.TrimSpace(line)) > 0 {
		a.fresh = false
	}
	if errors.Is(err, io.EOF) {
		if len(line) > 0 {
			return line, nil
		}
		return nil, errMember
	}
	return line, err
}

// unread puts a line back in front of the body.
func (a *archive) unread(line []byte) {
	a.pos -= int64(len(line))
	a.body = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(bytes.Clone(line)), a.body), bufSize)
}

// header reads the named fields of the record whose version line was read.
func (a *archive) header(r *record) (*record, error) {
	r.header.reset()
	for {
		line, err := a.line()
		if errors.Is(err, errMember) {
			return nil, a.damaged(r.offset, io.ErrUnexpectedEOF, r.raw)
		}
		if err != nil {
			return nil, a.damaged(r.offset, err, r.raw)
		}
		r.raw = append(r.raw, line...)
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if len(r.raw) > maxHeader {
			return nil, a.bad(r.offset, data.ReasonMalformed, fmt.Errorf("a header of more than %d bytes", maxHeader), r.raw)
		}
		r.header.add(line)
	}
	r.kind = strings.ToLower(r.header.get("WARC-Type"))
	length, err := strconv.ParseInt(r.header.get("Content-Length"), 10, 64)
	if err != nil || length < 0 {
		r.left = 0
		return nil, a.bad(r.offset, data.ReasonMalformed, fmt.Errorf("Content-Length %q", r.header.get("Content-Length")), r.raw)
	}
	r.length, r.left = length, length
	return r, nil
}

// read appends up to n bytes of the record's block to dst.
func (a *archive) read(dst []byte, n int64) ([]byte, error) {
	r := &a.rec
	n = min(n, r.left)
	for n > 0 {
		if cap(dst) == len(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		room := dst[len(dst):cap(dst)]
		m, err := a.body.Read(room[:min(int64(len(room)), n)])
		dst = dst[:len(dst)+m]
		n -= int64(m)
		r.left -= int64(m)
		a.pos += int64(m)
		if err != nil && n > 0 {
			r.left = 0
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("%d of %d bytes: %w", len(dst), r.length, io.ErrUnexpectedEOF)
			}
			return dst, a.damaged(r.offset, err, append(r.raw, dst[:min(len(dst), keptRaw)]...))
		}
	}
	return dst, nil
}

// finish reads over what is left of the record. It is where damage behind the
// block shows: a bad checksum.
func (a *archive) finish() error {
	r := &a.rec
	for r.left > 0 {
		n, err := a.body.Discard(int(min(r.left, 1<<30)))
		r.left -= int64(n)
		a.pos += int64(n)
		if err != nil {
			r.left = 0
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return a.damaged(r.offset, err, r.raw)
		}
	}
	return nil
}

// verify checks, where the record is all of its gzip member, that the
// member's checksum is right.
func (a *archive) verify() error {
	if a.gz == nil {
		return nil
	}
	head, err := a.body.Peek(5)
	if err == nil || errors.Is(err, io.EOF) || len(bytes.Trim(head, "\r\n")) > 0 {
		return nil
	}
	return a.damaged(a.rec.offset, err, a.rec.raw)
}

func (a *archive) close() error {
	a.done = true
	a.end()
	return a.raw.Close()
}
