package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/stream"
)

const (
	maxHeader = 1 << 20   // of a record: more is no header
	maxLine   = 128 << 10 // of a header: more is no line
	keptRaw   = 64 << 10  // of a record that is skipped
)

type record struct {
	offset int64 // of the member it starts, else in the uncompressed stream
	header header
	length int64  // of the block
	block  []byte // as much of it as was read
	took   int64  // of the memory for pages
	sure   bool   // its bytes are those that were written, as far as a checksum tells
}

// archive finds the records of a file. The file is a sequence of compressed members, each
// normally with one record, or one stream of records.
type archive struct {
	path    string
	members *stream.Members

	in     *bufio.Reader // of the member, decompressed
	text   []byte        // buffer for a line that came in several pieces
	begun  bool          // the last line read is the first of a record
	member int64         // offset of the member in the file
	pos    int64         // offset in the uncompressed stream
	fresh  bool          // nothing of the member was read yet
	opened bool          // the next member was opened already
	inside bool          // within a record or line, which may go on in the next member
	done   bool

	// The record that was found last.
	offset  int64
	head    []byte
	left    int64 // bytes of its block that were not read yet
	checked bool  // checksums cover all of it
}

func openArchive(split data.Split, o data.ReaderOptions) (*archive, error) {
	members, err := stream.OpenMembers(split, o)
	if err != nil {
		return nil, err
	}
	return &archive{path: split.Path, members: members, fresh: true, in: bufio.NewReaderSize(none, maxLine)}, nil
}

// none is a member that is over.
var none = io.MultiReader()

// startMember starts to read the member that members.Next has opened.
func (a *archive) startMember() {
	a.member = a.members.Offset()
	a.in.Reset(a.members)
	a.fresh = true
}

// nextMember opens the next member; io.EOF at the end of the file. A damaged part of
// the file is returned as a *data.BadRecord.
func (a *archive) nextMember() error {
	if a.opened {
		a.opened = false
		return nil
	}
	if err := a.members.Next(); err != nil {
		if errors.Is(err, io.EOF) {
			return err
		}
		return a.damaged(a.pos, err, nil)
	}
	a.startMember()
	return nil
}

func (a *archive) bad(offset int64, reason string, err error, raw []byte) *data.BadRecord {
	return &data.BadRecord{Source: a.path, Offset: offset, Reason: reason, Err: err, Raw: raw[:min(len(raw), keptRaw)]}
}

// damaged turns an error within a record into a *data.BadRecord; reading goes on with
// the next member. The error of a file that cannot be read is returned as it is.
func (a *archive) damaged(offset int64, err error, raw []byte) error {
	var d *stream.Damage
	switch {
	case errors.As(err, &d):
		a.left = 0
		a.in.Reset(none)
		return d.Record(a.path, raw[:min(len(raw), keptRaw)])
	case errors.Is(err, io.ErrUnexpectedEOF):
		a.left = 0
		if !a.opened {
			a.in.Reset(none)
		}
		return a.bad(offset, data.ReasonTruncated, err, raw)
	}
	return fmt.Errorf("warc: %s at offset %d: %w", a.path, offset, err)
}

// fill makes sure that at least one byte of the member can be read. It returns io.EOF
// at the member's end, and another error if it is damaged.
func (a *archive) fill() error {
	for !a.opened {
		_, err := a.in.Peek(1)
		if err == nil || !a.inside || !errors.Is(err, io.EOF) {
			return err
		}
		if err := a.span(); err != nil {
			return err
		}
	}
	return io.EOF
}

// span goes on with the next member in the middle of a record, as is needed for
// archives that were compressed in blocks of a fixed size. If the next member starts
// with a record, span returns io.EOF with that member open: the record before is cut
// off.
func (a *archive) span() error {
	if err := a.members.Next(); err != nil {
		return err
	}
	a.startMember()
	a.checked = a.checked && a.members.Checked()
	begin, _ := a.in.Peek(1 << 10)
	if IsVersion(bytes.TrimLeft(begin, "\r\n")) {
		a.opened = true
		return io.EOF
	}
	a.fresh = len(begin) == 0
	return nil
}

// next skips the rest of the current record, finds the next one and reads its header
// into r. It returns io.EOF at the end, and a *data.BadRecord for bytes that are not a
// record.
func (a *archive) next(r *record) error {
	if a.done {
		return io.EOF
	}
	if err := a.finish(); err != nil {
		return err
	}
	a.inside = false
	r.header, r.block = r.header[:0], r.block[:0]
	if a.begun {
		a.begun = false
		return a.header(r)
	}
	var lost []byte
	lostAt := int64(-1)
	for {
		a.offset = a.place()
		line, err := a.line()
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			if lostAt >= 0 {
				return a.bad(lostAt, data.ReasonMalformed, errNoRecord, lost)
			}
			if err := a.nextMember(); err != nil {
				a.done = a.done || errors.Is(err, io.EOF)
				return err
			}
			continue
		default:
			return a.damaged(a.offset, err, line)
		}
		if IsVersion(line) {
			a.head = append(a.head[:0], line...)
			if lostAt >= 0 { // put the record off by a call
				a.begun = true
				return a.bad(lostAt, data.ReasonMalformed, errNoRecord, lost)
			}
			return a.header(r)
		}
		if lostAt < 0 {
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			lostAt = a.offset
		}
		lost = append(lost, line[:min(len(line), keptRaw-len(lost))]...)
	}
}

var errNoRecord = errors.New("no WARC record starts here")

// IsVersion reports whether a line is, or a file starts with, the version
// that every WARC record starts with.
func IsVersion(line []byte) bool {
	return len(line) > 5 && equalFold(line[:5], "WARC/") && '0' <= line[5] && line[5] <= '9'
}

// place is the offset of a record that starts here.
func (a *archive) place() int64 {
	if a.members.Compression() == stream.Gzip && a.fresh && !a.opened {
		return a.member
	}
	return a.pos
}

// line reads a line with its line end, valid until the next read; io.EOF at the end
// of the member. A line longer than maxLine comes in parts.
func (a *archive) line() (line []byte, err error) {
	defer func() {
		a.pos += int64(len(line))
		a.fresh = a.fresh && len(bytes.TrimSpace(line)) == 0
	}()
	a.text = a.text[:0]
	inside := a.inside
	defer func() { a.inside = inside }()
	for {
		a.inside = inside || len(a.text) > 0
		if err := a.fill(); err != nil {
			if errors.Is(err, io.EOF) && len(a.text) > 0 {
				return a.text, nil
			}
			return a.text, err
		}
		part, err := a.in.ReadSlice('\n')
		if err == nil && len(a.text) == 0 {
			return part, nil
		}
		if a.text = append(a.text, part...); err == nil || len(a.text) >= maxLine {
			return a.text, nil // else fill says it
		}
	}
}

// header reads the named fields of the record whose version line was read.
func (a *archive) header(r *record) error {
	a.inside, a.checked = true, a.members.Checked()
	for {
		line, err := a.line()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return a.damaged(a.offset, err, a.head)
		}
		a.head = append(a.head, line...)
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			break
		}
		if len(a.head) > maxHeader {
			return a.bad(a.offset, data.ReasonMalformed, fmt.Errorf("a header of more than %d bytes", maxHeader), a.head)
		}
	}
	length, err := strconv.ParseInt(string(header(a.head).get("Content-Length")), 10, 64)
	if err != nil || length < 0 {
		return a.bad(a.offset, data.ReasonMalformed, fmt.Errorf("Content-Length %q", header(a.head).get("Content-Length")), a.head)
	}
	a.left = length
	r.offset, r.length = a.offset, length
	r.header = append(r.header, a.head...)
	return nil
}

// read appends up to n bytes of the record's block to that of r.
func (a *archive) read(r *record, n int64) error {
	n = min(n, a.left)
	r.block = slices.Grow(r.block, int(min(n, keptBuffer))) // the length may be a lie
	err := a.each(n, func(part []byte) { r.block = append(r.block, part...) })
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%d of %d bytes: %w", len(r.block), r.length, io.ErrUnexpectedEOF)
	}
	if err != nil {
		return a.damaged(r.offset, err, append(a.head, r.block[:min(len(r.block), keptRaw)]...))
	}
	return nil
}

// each calls take with the next n bytes of the record's block, piece by piece.
func (a *archive) each(n int64, take func(part []byte)) error {
	for n > 0 {
		if err := a.fill(); err != nil {
			return err
		}
		part, _ := a.in.Peek(int(min(int64(a.in.Buffered()), n)))
		take(part)
		_, _ = a.in.Discard(len(part)) // they are buffered
		a.pos += int64(len(part))
		a.left -= int64(len(part))
		n -= int64(len(part))
	}
	return nil
}

// finish skips the rest of the record.
func (a *archive) finish() error {
	err := a.each(a.left, func([]byte) {})
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return a.damaged(a.offset, err, a.head)
	}
	return nil
}

// close closes the file. Only the reading goroutine may call it, at any time.
func (a *archive) close() error {
	a.done = true
	return a.members.Close()
}
