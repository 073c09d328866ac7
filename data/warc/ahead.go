package warc

import (
	"bufio"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

const (
	blockSize = 64 << 10
	// lookahead is how many blocks are read behind one before it is handed
	// out: a member that ends further away is left to the reader.
	lookahead = 16
	// maxAhead is how much of the members of a block is decompressed ahead.
	maxAhead = 4 << 20
	// maxWasted is how much of what proves to be no member is decompressed in
	// a block: places that look like the start of one may be there by malice.
	maxWasted = 1 << 20
	// maxWindow is the largest window of a zstandard frame that is
	// decompressed ahead: every worker has one.
	maxWindow = 8 << 20
)

// ahead reads a file ahead, and decompresses on several goroutines the
// members that it finds in it. It finds them by their magic number, which
// compressed data may hold by chance or by malice. So nothing it finds counts
// until the reader, going from the end of a member to the start of the next,
// asks for a member at that place; and what is damaged or large it leaves to
// the reader, which decides as if it were alone.
//
// All methods are the reader's.
type ahead struct {
	codec codec
	from  *bufio.Reader
	chain chan *block // as they follow in the file
	tasks chan *block
	free  chan *block
	texts chan []byte // buffers of members, to be used again
	err   error       // that ended the reading; set before chain is closed
	quit  chan struct{}
	done  sync.WaitGroup

	stopped sync.Once

	cur *block // that the reader is in; nil before the first
	off int    // in cur
	end int64  // of the blocks received
}

// block is a piece of the file.
type block struct {
	at     int64
	data   []byte
	behind []*block // that follow it: at most lookahead
	refs   atomic.Int32
	owner  atomic.Int32
	ready  chan struct{} // receives when the worker that owns it is done

	waited bool // the reader's: received from ready
	next   int  // the reader's: of members

	text    []byte // decompressed
	members []member
}

// Owners of a block, which decompress the members that start in it.
const (
	nobody = iota
	byWorker
	byReader
)

// member is one that was decompressed: its bytes in the file and in the text
// of its block.
type member struct {
	start, end int64
	from, to   int
}

// startAhead starts reading from, whose first byte is at offset at.
func startAhead(from *bufio.Reader, at int64, c codec, workers int) (*ahead, error) {
	n := lookahead + 2*workers + 4
	a := &ahead{
		codec: c, from: from, end: at,
		chain: make(chan *block, n), tasks: make(chan *block, n), free: make(chan *block, n), texts: make(chan []byte, n),
		quit: make(chan struct{}),
	}
	for range n {
		a.free <- &block{ready: make(chan struct{}, 1)}
	}
	var decoders []decoder
	for range workers {
		d, err := c.newDecoder(maxWindow)
		if err != nil {
			return nil, err
		}
		if d != nil {
			decoders = append(decoders, d)
		}
	}
	a.done.Go(func() { a.feed(at) })
	for _, d := range decoders {
		a.done.Go(func() {
			defer d.close()
			a.work(d)
		})
	}
	return a, nil
}

// feed reads the file, until its end or stop.
//
// There are always blocks to read into: of those in use, at most lookahead
// and one wait to be handed out, the workers pass the others on, and the
// reader holds one.
func (a *ahead) feed(at int64) {
	defer close(a.tasks)
	defer close(a.chain)
	var waiting []*block // to be handed out
	for {
		var b *block
		select {
		case b = <-a.free:
		case <-a.quit:
			a.err = os.ErrClosed
			return
		}
		if b.data == nil {
			b.data = make([]byte, blockSize)
		}
		n, err := io.ReadFull(a.from, b.data[:blockSize])
		if n > 0 {
			b.at, b.data = at, b.data[:n]
			at += int64(n)
			// The reader's, its own task's, and those of the blocks before.
			b.refs.Store(2 + int32(len(waiting)))
			for _, w := range waiting {
				w.behind = append(w.behind, b)
			}
			waiting = append(waiting, b)
			a.chain <- b
		}
		for len(waiting) > lookahead || err != nil && len(waiting) > 0 {
			a.tasks <- waiting[0]
			waiting = waiting[1:]
		}
		if err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = io.EOF
			}
			a.err = err
			return
		}
	}
}

// release gives up a reference; after the last the block is used again.
func (a *ahead) release(b *block) {
	if b.refs.Add(-1) > 0 {
		return
	}
	if b.text != nil {
		select {
		case a.texts <- b.text[:0]:
		default:
		}
	}
	select {
	case <-b.ready:
	default:
	}
	b.owner.Store(nobody)
	b.behind, b.members, b.text = b.behind[:0], b.members[:0], nil
	b.waited, b.next = false, 0
	a.free <- b
}

func (a *ahead) work(d decoder) {
	w := &aheadWorker{codec: a.codec, decoder: d}
	w.in = bufio.NewReaderSize(&w.input, bufSize)
	for b := range a.tasks {
		select {
		case <-a.quit:
			continue
		default:
		}
		if b.owner.CompareAndSwap(nobody, byWorker) {
			select {
			case b.text = <-a.texts:
			default:
			}
			w.decompress(b)
			b.ready <- struct{}{}
		}
		for _, next := range b.behind {
			a.release(next)
		}
		a.release(b)
	}
}

type aheadWorker struct {
	codec   codec
	decoder decoder
	input   blocks
	in      *bufio.Reader // of input
}

// blocks is the bytes from a place in a block to the end of those behind it.
type blocks struct {
	rest []byte
	next []*block
	at   int64 // of rest
}

func (s *blocks) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		if len(s.next) == 0 {
			return 0, io.EOF
		}
		s.rest, s.next = s.next[0].data, s.next[1:]
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	s.at += int64(n)
	return n, nil
}

func (w *aheadWorker) decompress(b *block) {
	wasted := 0
	at := int64(-1) // where w.in is
	for from := 0; from < len(b.data); {
		if from = w.codec.find(b.data, from); from < 0 {
			return
		}
		start := b.at + int64(from)
		if at != start {
			w.input = blocks{rest: b.data[from:], next: b.behind, at: start}
			w.in.Reset(&w.input)
		}
		size := len(b.text)
		err := w.member(b)
		at = w.input.at - int64(w.in.Buffered())
		if err == nil {
			b.members = append(b.members, member{start: start, end: at, from: size, to: len(b.text)})
			from = int(at - b.at)
			continue
		}
		wasted += len(b.text) - size + int(at-start)
		b.text = b.text[:size]
		if errors.Is(err, errFull) || wasted > maxWasted {
			return
		}
		from++
	}
}

var errFull = errors.New("too much to be decompressed ahead")

// member appends the member at the place of w.in to the text of b.
func (w *aheadWorker) member(b *block) error {
	if err := w.decoder.reset(w.in); err != nil {
		return err
	}
	for {
		if len(b.text) == cap(b.text) {
			if len(b.text) >= maxAhead {
				return errFull
			}
			grown := make([]byte, len(b.text), max(4*blockSize, 2*cap(b.text)))
			copy(grown, b.text)
			b.text = grown
		}
		n, err := w.decoder.Read(b.text[len(b.text):cap(b.text)])
		b.text = b.text[:len(b.text)+n]
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

func (a *ahead) advance() error {
	b, ok := <-a.chain
	if !ok {
		return a.err
	}
	if a.cur != nil {
		a.cur.owner.CompareAndSwap(nobody, byReader) // too late to be of use
		a.release(a.cur)
	}
	a.cur, a.off, a.end = b, 0, b.at+int64(len(b.data))
	return nil
}

func (a *ahead) Read(p []byte) (int, error) {
	for a.cur == nil || a.off == len(a.cur.data) {
		if err := a.advance(); err != nil {
			return 0, err
		}
	}
	n := copy(p, a.cur.data[a.off:])
	a.off += n
	return n, nil
}

// seek goes forward to a place that a member's end was found at.
func (a *ahead) seek(at int64) {
	for a.end < at {
		if a.advance() != nil { // only after stop: the place has been read
			return
		}
	}
	if a.cur != nil {
		a.off = int(at - a.cur.at)
	}
}

// member returns the text of the member that starts at a place at or behind
// that of the call before, and where it ends; false when it is the reader's to
// decompress. The text is valid until the next call of any method.
func (a *ahead) member(at int64) (text []byte, end int64, ok bool) {
	for a.end <= at {
		if a.advance() != nil {
			return nil, 0, false
		}
	}
	b := a.cur
	if at < b.at || b.owner.CompareAndSwap(nobody, byReader) || b.owner.Load() == byReader {
		return nil, 0, false
	}
	if !b.waited {
		<-b.ready
		b.waited = true
	}
	for b.next < len(b.members) && b.members[b.next].start < at {
		b.next++
	}
	if b.next == len(b.members) || b.members[b.next].start != at {
		return nil, 0, false
	}
	m := b.members[b.next]
	return b.text[m.from:m.to], m.end, true
}

// stop ends all goroutines; unlike the other methods it may be called by
// another goroutine than the reader's, and again by the reader's.
func (a *ahead) stop() {
	a.stopped.Do(func() { close(a.quit) })
	a.done.Wait()
}
