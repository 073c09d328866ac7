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
}

// archive finds the records of a file: members, each normally one record, or
// one stream of them.
type archive struct {
	path    string
	raw     *stream.Raw
	members *members

	in     *bufio.Reader // of the member, decompressed
	text   []byte        // a line that is in more than one piece
	begun  bool          // the line that was read last is a record's first
	member int64         // where the member starts in the file
	pos    int64         // in the uncompressed stream
	fresh  bool          // nothing of the member was read yet
	opened bool          // the next member was opened already
	inside bool          // a record or line, which may go on in the next member
	done   bool
	resync bool // what is passed over now was counted as a damaged record

	// The record that was found last.
	offset int64
	head   []byte
	left   int64 // of its block, not read yet
}

func openArchive(split data.Split, o data.ReaderOptions) (a *archive, err error) {
	raw, err := stream.OpenRaw(split, o.Stdin)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, raw.Close())
		}
	}()
	a = &archive{path: split.Path, raw: raw, fresh: true}
	if a.members, err = newMembers(raw); err != nil {
		return nil, err
	}
	a.in = bufio.NewReaderSize(a.members, maxLine)
	switch a.members.compression {
	case stream.Gzip: // a file that does not even start as one is none
		if err := a.openMember(); err != nil {
			a.members.close()
			return nil, err
		}
	case stream.Zstd:
		a.in.Reset(none)
	}
	return a, nil
}

// none is a member that is over.
var none = io.MultiReader()

// plain reports whether the file is not compressed, so that it has no members.
func (a *archive) plain() bool { return a.members.compression == stream.Plain }

// openMember starts the member that stands at the current place.
func (a *archive) openMember() error {
	a.member = a.members.offset()
	if err := a.members.open(); err != nil {
		return err
	}
	a.in.Reset(a.members)
	a.fresh = true
	return nil
}

// nextMember goes on behind the member that ended; io.EOF at the file's end.
// Bytes that are no member are a bad record.
func (a *archive) nextMember() error {
	if a.opened {
		a.opened = false
		return nil
	}
	if a.plain() {
		return io.EOF
	}
	start := a.members.offset()
	counted := a.resync // the bytes up to the next member
	a.resync = false
	skipped, zero := int64(0), true
	for {
		head, err := a.members.peek()
		if err != nil {
			return err
		}
		if len(head) == 0 {
			if skipped > 0 && !zero && !counted {
				a.done = true
				return a.bad(start, data.ReasonMalformed, fmt.Errorf("%d bytes behind the last member", skipped), nil)
			}
			return io.EOF
		}
		if a.members.starts(head) {
			if err := a.openMember(); err == nil {
				break
			} else if a.members.input.Failed != nil {
				return a.members.input.Failed
			} else if isCut(err) {
				a.done = true
				return a.bad(a.member, data.ReasonTruncated, err, nil)
			}
		}
		zero = zero && head[0] == 0
		if _, err := a.members.in.Discard(1); err != nil {
			return err
		}
		skipped++
	}
	if skipped > 0 && !zero && !counted {
		return a.bad(start, data.ReasonMalformed, fmt.Errorf("%d bytes between members", skipped), nil)
	}
	return nil
}

func (a *archive) bad(offset int64, reason string, err error, raw []byte) *data.BadRecord {
	return &data.BadRecord{Source: a.path, Offset: offset, Reason: reason, Err: err, Raw: raw[:min(len(raw), keptRaw)]}
}

// isCut reports whether the data ends too early, rather than being wrong.
func isCut(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// damaged turns an error within a record into a bad record; the reading goes
// on with the next member. The error of a file that cannot be read stays one.
func (a *archive) damaged(offset int64, err error, raw []byte) error {
	if a.members.input.Failed != nil {
		return fmt.Errorf("warc: %s at offset %d: %w", a.path, offset, a.members.input.Failed)
	}
	reason := data.ReasonMalformed
	if isCut(err) {
		reason = data.ReasonTruncated
	}
	a.left = 0
	if !a.opened {
		a.in.Reset(none)
		a.resync = true
	}
	return a.bad(offset, reason, err, raw)
}

// fill makes sure that there are bytes of the member to read: io.EOF where it
// ends, another error where it is damaged.
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

// span goes on with the next member within a record: archives that were
// compressed in blocks of a fixed size have such. It is io.EOF, with the
// member open, if a record starts there, so that the one before is cut off.
func (a *archive) span() error {
	if a.plain() {
		return io.EOF
	}
	head, err := a.members.peek()
	if err != nil {
		return err
	}
	if len(head) < 4 || !a.members.starts(head) {
		return io.EOF
	}
	if a.openMember() != nil {
		return io.EOF // nextMember meets it again
	}
	begin, _ := a.in.Peek(1 << 10)
	if IsVersion(bytes.TrimLeft(begin, "\r\n")) {
		a.opened = true
		return io.EOF
	}
	a.fresh = len(begin) == 0
	return nil
}

// next finds the next record and reads its header into r; what was left of
// the one before is read over. io.EOF at the end; a *data.BadRecord for what
// is no record.
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
	if a.members.compression == stream.Gzip && a.fresh && !a.opened {
		return a.member
	}
	return a.pos
}

// line reads a line with its end, valid until the next read; io.EOF where the
// member ends. A longer line than any header has comes in parts.
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
	a.inside = true
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

// finish reads over what is left of the record.
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

// verify checks, where the record is the last of its member, that the
// member's checksum is right.
func (a *archive) verify() error {
	if a.left > 0 || a.opened {
		return nil
	}
	rest, err := a.in.Peek(5)
	if err == nil || errors.Is(err, io.EOF) || len(bytes.Trim(rest, "\r\n")) > 0 {
		return nil
	}
	return a.damaged(a.offset, err, a.head)
}

// close may be called at any time by the goroutine that reads.
func (a *archive) close() error {
	a.done = true
	a.members.close()
	return a.raw.Close()
}
