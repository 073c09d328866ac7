package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"unicode/utf8"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/charset"
)

const (
	minBuffer = 1 << 20
	// evidence is how much text an encoding is told from, from the first byte
	// on that is not ASCII.
	evidence = 64 << 10
)

// buffers are those of texts that were closed: to clear a new one takes longer than to
// read a small file.
var buffers = sync.Pool{New: func() any { return new([minBuffer]byte) }}

// Text is a split of text that is cut into records: buffered, and the records
// decoded. A file in an encoding that has no line feed of its own, UTF-16, is
// decoded from its start, and its offsets are those of the text in UTF-8; of
// any other file they are those of its decompressed bytes. It is used by one
// goroutine.
type Text struct {
	*Reader
	format  string
	path    string
	lines   bool      // a record is a line
	src     io.Reader // the Reader, or what it is decoded to
	buf     []byte
	r, w    int   // buf[r:w] is not read yet
	base    int64 // offset of buf[0]
	err     error // of the input, once it ended
	told    bool  // its end was reported
	decoder charset.Decoder
	named   bool              // the encoding was named, not told from the bytes
	whole   *charset.Encoding // of a file that is decoded from its start
}

// OpenText opens a split's text, in a format of that name, whose records are
// lines or may have several. The encoding is the one that the options or the
// split name, else the one that the file's bytes are in.
func OpenText(format string, lines bool, split data.Split, o data.ReaderOptions) (*Text, error) {
	t, err := openText(split, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", format, split.Path, err)
	}
	t.format, t.path, t.lines = format, split.Path, lines
	return t, nil
}

func openText(split data.Split, o data.ReaderOptions) (*Text, error) {
	name := o.Encoding
	if name == "" {
		name = split.Encoding
	}
	decoder, err := charset.NewDecoder(name)
	if err != nil {
		return nil, err
	}
	in, err := Open(split, o)
	if err != nil {
		return nil, err
	}
	t := &Text{Reader: in, src: in, base: split.Start, buf: buffers.Get().(*[minBuffer]byte)[:], decoder: decoder, named: o.Encoding != ""}
	if split.Start > 0 {
		return t, nil
	}
	for t.w < len(t.buf) && t.err == nil {
		t.read()
	}
	if t.decoder.Encoding == nil {
		t.sniff()
	}
	if e := t.decoder.Encoding; e != nil && !e.PerLine() {
		t.whole, t.decoder.Encoding = e, charset.UTF8
		t.src = e.NewReader(io.MultiReader(bytes.NewReader(bytes.Clone(t.buf[:t.w])), &ended{in, t.err}))
		t.w, t.err = 0, nil
		for t.w < len(t.buf) && t.err == nil {
			t.read()
		}
	}
	if bytes.HasPrefix(t.buf[:t.w], bom) {
		t.r = len(bom)
	}
	return t, nil
}

// ended is a reader that may have ended with an error before.
type ended struct {
	io.Reader
	err error
}

func (e *ended) Read(p []byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	return e.Reader.Read(p)
}

var bom = []byte("\ufeff")

// read reads more into the buffer, which has room.
func (t *Text) read() {
	n, err := t.src.Read(t.buf[t.w:])
	t.w += n
	t.err = err
}

// sniff tells the encoding at the start of a file.
func (t *Text) sniff() {
	head := t.buf[:min(t.w, evidence)]
	if e := t.decoder.Decide(head, charset.Hint{}); !e.PerLine() || bytes.HasPrefix(head, bom) {
		t.decoder.Encoding = e
		return
	}
	t.decide(0)
}

// decide tells the encoding, if buf[from:w] has what is not ASCII.
func (t *Text) decide(from int) {
	at := charset.ASCIIPrefix(t.buf[from:t.w])
	if at == t.w-from {
		return
	}
	at += from
	for t.w-at < evidence && t.err == nil {
		t.grow()
		t.read()
	}
	e := t.decoder.Decide(t.buf[at:t.w], charset.Hint{})
	if !e.PerLine() { // the file would have begun in it
		e = charset.UTF8
	}
	t.decoder.Encoding = e
}

func (t *Text) grow() {
	if t.w == len(t.buf) {
		t.buf = append(t.buf, make([]byte, len(t.buf))...)
	}
}

// Window is the bytes that are read ahead, from the current place on; valid
// until More.
func (t *Text) Window() []byte { return t.buf[t.r:t.w] }

// More adds to the window, which may move, and reports whether the input goes
// on: at its end it adds nothing.
func (t *Text) More() bool {
	if t.err != nil {
		return false
	}
	if t.r > 0 {
		copy(t.buf, t.buf[t.r:t.w])
		t.base += int64(t.r)
		t.w -= t.r
		t.r = 0
	}
	t.grow()
	from := t.w
	t.read()
	if t.decoder.Encoding == nil {
		t.decide(from)
	}
	return true
}

// Advance goes on by n bytes of the window.
func (t *Text) Advance(n int) { t.r += n }

// Shed lets go of the memory that a large record took, once it was read. What Window
// gave before stays as it is.
func (t *Text) Shed() {
	if len(t.buf) > minBuffer && t.w-t.r < len(t.buf)/2 {
		buf := make([]byte, max(minBuffer, t.w-t.r))
		t.base, t.w, t.r, t.buf = t.base+int64(t.r), copy(buf, t.Window()), 0, buf
	}
}

// Offset is where the window starts in the file.
func (t *Text) Offset() int64 { return t.base + int64(t.r) }

// UTF8 returns a record decoded; valid until the next call. In a file of
// UTF-8 it comes back as it is, with what is invalid in it; so does, where the
// encoding was told from the bytes, a record that is UTF-8 in another file:
// some have both.
func (t *Text) UTF8(record []byte) []byte {
	if t.decoder.Encoding == nil || t.decoder.Encoding == charset.UTF8 || !t.named && utf8.Valid(record) {
		return record
	}
	text, _ := t.decoder.Decode(record, charset.Hint{})
	return text
}

// Encoding is the name of the encoding that the text is in, as far as it was
// read; empty for UTF-8.
func (t *Text) Encoding() string {
	switch e := t.decoder.Encoding; {
	case t.whole != nil:
		return t.whole.Name()
	case e != nil && e != charset.UTF8:
		return e.Name()
	}
	return ""
}

// End says how the input ended, once More has returned false: io.EOF at its
// end. Where a compressed file is damaged it is a bad record, which holds what
// is left of the window; if records are lines the text goes on behind it, with
// the next whole line. Else it goes on no more: nobody knows where a record
// starts. Any other error, which has the offset in its text, is one of reading
// the file.
func (t *Text) End() error {
	var d *Damage
	switch {
	case errors.As(t.err, &d):
		raw := bytes.Clone(t.Window())
		t.r, t.err = t.w, nil
		if !t.lines || t.whole != nil {
			t.err = io.EOF
			lost := *d
			n, err := t.Rest()
			if err != nil {
				t.err = err
				return t.End()
			}
			lost.Bytes += n
			d = &lost
		}
		t.line()
		return d.Record(t.path, raw)
	case errors.Is(t.err, io.EOF):
		t.told = true
		return io.EOF
	}
	return fmt.Errorf("%s: %s at offset %d: %w", t.format, t.path, t.base+int64(t.w), t.err)
}

// line goes on behind the next line end.
func (t *Text) line() {
	for t.err == nil {
		if i := bytes.IndexByte(t.Window(), '\n'); i >= 0 {
			t.Advance(i + 1)
			return
		}
		t.r = t.w
		t.More()
	}
	t.r = t.w
}

// Digest is that of the Reader once End has returned io.EOF.
func (t *Text) Digest() string {
	if !t.told {
		return ""
	}
	return t.Reader.Digest()
}

// Close ends the reading; it may be called at any time, and again.
func (t *Text) Close() error {
	if !t.told {
		t.err = os.ErrClosed
	}
	if len(t.buf) == minBuffer {
		buffers.Put((*[minBuffer]byte)(t.buf))
	}
	t.buf, t.r, t.w = nil, 0, 0
	return t.Reader.Close()
}

// AtEnd tells that the input has ended, and at its end: a last record without
// a line end is whole.
func (t *Text) AtEnd() bool { return errors.Is(t.err, io.EOF) }
