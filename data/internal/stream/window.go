package stream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
)

// window keeps the part of a file that may still be needed: from the offset keep,
// to which a reader may return, up to what has been read.
type window struct {
	next func() ([]byte, error) // the file's bytes, piece by piece; valid until the next call
	buf  []byte                 // the file's bytes from at on
	at   int64                  // offset in the file
	keep int64                  // offset before which no byte is needed any more
	err  error                  // ended the reading; io.EOF at the file's end
	copy io.Writer              // also gets what is read; may be nil
}

// more reads the next piece and reports whether there was one.
func (w *window) more() bool {
	if w.err != nil {
		return false
	}
	if gone := min(w.keep-w.at, int64(len(w.buf))); gone > 0 {
		w.buf = w.buf[:copy(w.buf, w.buf[gone:])]
		w.at += gone
	}
	part, err := w.next()
	w.buf = append(w.buf, part...)
	if w.copy != nil && len(part) > 0 {
		if _, failed := w.copy.Write(part); failed != nil {
			err = failed
		}
	}
	w.err = err
	return len(part) > 0 || err == nil
}

// from returns the bytes that were read from the offset at on. It reads on until there
// are n, or the file ends.
func (w *window) from(at int64, n int) []byte {
	for int(w.end()-at) < n && w.more() { // more does it
	}
	return w.buf[min(max(at-w.at, 0), int64(len(w.buf))):]
}

func (w *window) end() int64 { return w.at + int64(len(w.buf)) }

// failed is the error of reading the file, nil if there was none. It tells a file that
// cannot be read from one whose bytes are damaged.
func (w *window) failed() error {
	if errors.Is(w.err, io.EOF) {
		return nil
	}
	return w.err
}

// cursor reads a window from an offset on.
type cursor struct {
	*window
	pos    int64
	passes bool // what it has read is not needed again, but for the last bytes
}

func (c *cursor) Read(p []byte) (int, error) {
	for c.pos >= c.end() {
		if c.passes {
			c.keep = max(c.keep, c.pos-2*bufferSize)
		}
		if !c.more() {
			return 0, c.err
		}
	}
	n := copy(p, c.buf[c.pos-c.at:])
	c.pos += int64(n)
	return n, nil
}

// bufferSize is the size of the buffered readers over a cursor. They read up to so much
// ahead.
const bufferSize = 64 << 10

// A unit of inflating ahead is a block of the file with the members that start in it.
// aheadWorkers goroutines are enough to keep up with the reader of the text.
const (
	aheadBlock   = 256 << 10
	aheadWorkers = 4
)

// ahead reads a file in blocks, and inflates the members that start in each block
// before they are asked for, on several goroutines:
//
//	file ─read─► block, block, block …      in order, to Members
//	               │      │      │
//	               └──────┴──────┴─inflate─► found members of the block
//
// Where a member starts is certain only once the one before it has ended. So the
// goroutines guess, by the bytes that every member starts with. Members uses a guess
// if the member before ends exactly there, and inflates all others itself.
type ahead struct {
	members *Members
	work    chan *block // to the goroutines that inflate
	ordered chan *block // to Members, in the order of the file
	spare   chan []byte
	quit    chan struct{}
	done    sync.WaitGroup
}

// block is a piece of the file, with what was found in it.
type block struct {
	at    int64
	raw   []byte
	after []byte // the block behind it
	err   error  // of reading behind this block

	ready chan struct{} // closed once found and text are complete
	found []found
	text  []byte
}

// found is a member that was inflated and verified: its offsets in the file, and those
// of its text in the block's text.
type found struct {
	start, end int64
	from, to   int
	checked    bool
}

func newAhead(m *Members, workers int, from int64) *ahead {
	workers = min(workers, aheadWorkers)
	a := &ahead{members: m, work: make(chan *block, workers+3), ordered: make(chan *block, workers+1), spare: make(chan []byte, workers+3), quit: make(chan struct{})}
	a.done.Go(func() { a.read(from) })
	for range workers {
		a.done.Go(a.inflate)
	}
	return a
}

// read reads the blocks from a place on, until the file's end or quit.
func (a *ahead) read(from int64) {
	defer close(a.work)
	defer close(a.ordered)
	var last *block
	send := func(b *block) bool {
		a.work <- b // it has room for all that are not taken yet
		select {
		case a.ordered <- b:
			return true
		case <-a.quit:
			return false
		}
	}
	for at := from; ; at += aheadBlock {
		b := &block{at: at, raw: make([]byte, aheadBlock), ready: make(chan struct{})}
		n, err := io.ReadFull(a.members.src, b.raw)
		b.raw = b.raw[:n]
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF
		}
		b.err = err
		if last != nil {
			last.after = b.raw
			if !send(last) {
				return
			}
		}
		if last = b; err != nil {
			send(b)
			return
		}
	}
}

// inflate inflates what starts in the blocks.
func (a *ahead) inflate() {
	m := a.members
	c, err := newCodec(m.compression, m.dictionary, heldWindow)
	in := bufio.NewReaderSize(nil, bufferSize)
	for b := range a.work {
		if err == nil && !a.closed() {
			a.guess(b, c, in)
		}
		close(b.ready)
	}
	if err == nil {
		c.close()
	}
}

func (a *ahead) closed() bool {
	select {
	case <-a.quit:
		return true
	default:
		return false
	}
}

// guess finds members of a block: from the first place where one starts and is
// right, one behind the other.
func (a *ahead) guess(b *block, c codec, in *bufio.Reader) {
	const tries = 8
	select {
	case b.text = <-a.spare:
		b.text = b.text[:0]
	default:
	}
	for at, sure, try := 0, false, 0; at < len(b.raw) && try < tries && len(b.text) <= held; {
		if !sure {
			if at = candidate(a.members.compression, b.raw, at); at < 0 {
				return
			}
		}
		src := counter{Reader: io.MultiReader(bytes.NewReader(b.raw[at:]), bytes.NewReader(b.after))}
		in.Reset(&src)
		from := len(b.text)
		var err error
		if b.text, err = inflate(b.text, c, in, held); err != nil {
			if b.text = b.text[:from]; sure { // it is cut off here, or damaged: who goes through the members finds out
				return
			}
			at++
			try++
			continue
		}
		end := at + src.n - in.Buffered()
		b.found = append(b.found, found{b.at + int64(at), b.at + int64(end), from, len(b.text), c.checked()})
		at, sure = end, true
	}
}

// counter counts what is read.
type counter struct {
	io.Reader
	n int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}

// next returns the next block, with err behind its bytes; io.EOF behind the last.
func (a *ahead) next() (*block, error) {
	b, more := <-a.ordered
	if !more {
		return nil, io.EOF
	}
	return b, b.err
}

// drop gives back what a block was inflated to.
func (a *ahead) drop(b *block) {
	<-b.ready
	select {
	case a.spare <- b.text:
	default:
	}
}

// stop returns once no goroutine is left.
func (a *ahead) stop() {
	close(a.quit)
	a.done.Wait()
}
