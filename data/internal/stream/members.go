package stream

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/object"
)

const (
	// held is how many bytes of a member's text are kept in memory until its checksum
	// is verified. A larger member is inflated twice: once to verify it, and once more
	// to give out its text.
	held = 4 << 20
	// heldWindow is a decoder window that is enough for such a member; a power of two.
	heldWindow = 2 * held
	// heldUnverified is held for Unverified: as nothing is verified, what is inflated
	// of a larger member to find out that it is one is lost.
	heldUnverified = 256 << 10
	// wasted bounds how many bytes are inflated in vain while searching for an
	// undamaged member within a damaged one. Beyond it the search goes on behind the
	// place where inflating failed.
	wasted = 64 << 20
)

// Members iterates over the members of a file: gzip members or zstandard frames. It
// gives out a member's text only after it has inflated all of it and verified the
// checksum. A zstandard frame without a checksum is accepted if it is complete and can be
// decoded; Checked tells the two cases apart. A file that is not compressed is one
// member without a checksum.
//
// The result depends only on the file's bytes, not on how many goroutines inflate
// ahead. Close ends these goroutines. Members itself is not safe for concurrent use.
type Members struct {
	*Raw
	split       data.Split
	options     data.ReaderOptions
	compression Compression
	dictionary  []byte
	src         io.Reader // of Raw, with the bytes that were sniffed

	window window
	cursor cursor
	in     *bufio.Reader // over cursor
	codec  codec
	ahead  *ahead
	blocks []*block // that were read, of which members may be taken

	pos      int64  // offset of the next member
	start    int64  // offset of the current member
	text     []byte // of the current member, not read yet
	buf      []byte // buffer for reading
	inflated []byte // buffer for inflating
	large    *large // gives out the text of a member that is too large to be held
	sure     bool   // the current member has a checksum
	broken   error  // the error at the end of its text, if it is not verified
	ready    bool   // the next member was found behind a damaged one already
	plain    bool   // the text of a file that is not compressed was given out
	told     bool   // a member or a damage was given out
	stopped  bool
	err      error // ended the iteration
}

// OpenMembers opens the members of a split. It uses the options Stdin, Open,
// Workers, Memory, Unchecked and Unverified.
func OpenMembers(split data.Split, o data.ReaderOptions) (*Members, error) {
	raw, err := OpenRaw(split, o)
	if err != nil {
		return nil, err
	}
	m := &Members{Raw: raw, split: split, options: o}
	if err := m.open(); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

func (m *Members) open() error {
	head := make([]byte, sniffed)
	n, err := io.ReadFull(m.Raw, head)
	head = head[:n]
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	m.compression = Named(m.split, head)
	m.src = io.MultiReader(bytes.NewReader(head), &ended{m.Raw, err})
	m.window.next, m.cursor.window = m.read, &m.window
	if m.compression == Plain {
		return nil
	}
	m.in = bufio.NewReaderSize(&m.cursor, bufferSize)
	if m.compression == Zstd {
		m.dictionary, err = ReadDictionary(m.in)
		if failed := m.window.failed(); failed != nil {
			return failed
		}
		if err == nil {
			m.codec, err = newCodec(m.compression, m.dictionary, heldWindow)
		}
		if err != nil {
			return &data.Unreadable{Err: fmt.Errorf("the dictionary at its start is damaged: %w: fetch it again", err)}
		}
		m.pos = m.place()
	} else if m.codec, err = newCodec(m.compression, nil, 0); err != nil {
		return err
	}
	if m.options.Workers > 1 && m.split.Path != "-" && !m.options.Unverified { // standard input cannot be told to end a read
		m.startAhead()
	}
	return nil
}

// startAhead starts to read the file in blocks, and to inflate ahead. The bytes read
// so far count as a block of which nothing is inflated.
func (m *Members) startAhead() {
	m.ahead = newAhead(m, m.options.Workers, m.window.end())
}

// sniffed is how many bytes of a file Named looks at.
const sniffed = 512

// Named returns the compression of a file that starts with head. The first bytes
// decide. If they match no compression and are not text either, the name decides: one
// of the first bytes may be damaged.
func Named(split data.Split, head []byte) Compression {
	c := Detect(head)
	if c != Plain || split.Start > 0 || isText(head) && len(head) > 0 {
		return c
	}
	switch filepath.Ext(split.Path) {
	case ".gz":
		return Gzip
	case ".zst", ".zstd":
		return Zstd
	}
	return c
}

// isText tells bytes that are text in an encoding of ASCII or UTF-16: they hold
// no control characters but white space, or start with the mark of UTF-16.
func isText(head []byte) bool {
	if bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff}) {
		return true
	}
	return !slices.ContainsFunc(head, func(c byte) bool { return c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != 0x1b })
}

// candidate is the first place from at on where a member may start, -1 if there
// is none.
func candidate(c Compression, b []byte, at int) int {
	magic := zstdMagic
	if c == Gzip {
		magic = gzipMember
	}
	for {
		i := bytes.Index(b[at:], magic)
		if i < 0 {
			return -1
		}
		at += i
		if c != Gzip || at+3 >= len(b) || b[at+3]&0xe0 == 0 { // flags that there are, RFC 1952
			return at
		}
		at++
	}
}

// gzipMember is what a gzip member starts with: the magic, and deflate.
var gzipMember = []byte{0x1f, 0x8b, 8}

// read gives the window the file's next bytes.
func (m *Members) read() ([]byte, error) {
	if m.ahead == nil {
		if m.buf == nil {
			m.buf = make([]byte, bufferSize)
		}
		n, err := m.src.Read(m.buf)
		return m.buf[:n], err
	}
	b, err := m.ahead.next()
	if b == nil {
		return nil, err
	}
	if m.cursor.passes { // nothing of it will be taken
		return b.raw, err
	}
	m.blocks = append(m.blocks, b)
	return b.raw, err
}

// place is where in reads.
func (m *Members) place() int64 { return m.cursor.pos - int64(m.in.Buffered()) }

// seek makes in read from a place on that is in the window.
func (m *Members) seek(at int64) {
	m.cursor.pos = at
	m.in.Reset(&m.cursor)
}

// Next goes to the next member, or that which is believed of it: io.EOF at the
// file's end. A *Damage stands for a stretch of the file of which nothing is
// believed; Next goes on behind it. Any other error is one of reading the file,
// and ends it.
func (m *Members) Next() error {
	if m.err != nil {
		return m.err
	}
	if m.ready {
		m.ready = false
		return nil
	}
	err := m.endLarge()
	if err == nil {
		err = m.next()
	}
	if err != nil && !errors.As(err, new(*Damage)) {
		m.err = err
	}
	return err
}

func (m *Members) next() error {
	switch {
	case m.compression == Plain && m.plain:
		return io.EOF
	case m.compression == Plain:
		m.plain = true
		return nil
	}
	// Zeros may fill a file up, as tapes have them.
	for b := m.window.from(m.pos, 1); len(b) > 0; b = m.window.from(m.pos, 1) {
		n := len(b) - len(bytes.TrimLeft(b, "\x00"))
		m.pos += int64(n)
		m.window.keep = m.pos
		if n < len(b) {
			break
		}
	}
	if err := m.window.failed(); err != nil {
		return err
	}
	if len(m.window.from(m.pos, 1)) == 0 {
		if m.told || m.split.Start > 0 {
			return io.EOF
		}
		m.told = true
		return &Damage{Bytes: m.pos, Cut: true, Err: errors.New("it is empty")}
	}
	m.told = true
	m.drop(m.pos)
	from := m.pos
	err := m.take(from)
	switch {
	case err == nil:
		m.believe()
		return nil
	case m.options.Unverified && m.window.failed() == nil && len(m.text) > 0:
		m.broken = err // behind what there is
		return nil
	case m.options.Unverified:
		return m.ended(from, err)
	}
	return m.damaged(from, err)
}

// believe tells of the current member if it has no checksum.
func (m *Members) believe() {
	if !m.sure && (len(m.text) > 0 || m.large != nil) && m.options.Unchecked != nil {
		m.options.Unchecked()
	}
}

// drop forgets what stands before a place.
func (m *Members) drop(at int64) {
	m.window.keep = at
	for len(m.blocks) > 0 && m.blocks[0].at+int64(len(m.blocks[0].raw)) <= at {
		m.ahead.drop(m.blocks[0])
		m.blocks = m.blocks[1:]
	}
}

// damaged looks for the next member that is right, behind one at from that is
// not.
func (m *Members) damaged(from int64, err error) error {
	d := &Damage{Offset: from, Cut: isCut(err), TooLarge: errors.Is(err, errWindow), Err: err}
	vain := int64(len(m.text))
	for at := from; ; {
		if at++; vain > wasted || m.cursor.passes {
			at = max(at, m.place())
		}
		m.cursor.passes = false
		at, err = m.candidate(at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err != nil { // to the end
			m.pos, m.text = m.window.end(), nil
			d.Bytes = m.pos - from
			return d
		}
		if err = m.take(at); err == nil {
			m.ready = true
			m.believe()
			d.Bytes = at - from
			d.Cut = false
			return d
		}
		if failed := m.window.failed(); failed != nil {
			return failed
		}
		vain += int64(len(m.text))
	}
}

// candidate is the next place from at on where a member may start; io.EOF if
// there is none.
func (m *Members) candidate(at int64) (int64, error) {
	for {
		m.window.keep = max(m.window.keep, at)
		b := m.window.from(at, len(zstdMagic))
		if i := candidate(m.compression, b, 0); i >= 0 {
			return at + int64(i), nil
		}
		at += int64(max(0, len(b)-len(zstdMagic)+1))
		if !m.window.more() {
			return 0, m.window.err
		}
	}
}

// take makes the member at a place the current one, if it is right: inflated
// ahead, or here. pos is then its end.
func (m *Members) take(at int64) error {
	m.start, m.text, m.cursor.passes = at, nil, false
	if m.taken(at) {
		return nil
	}
	m.seek(at)
	var err error
	most := held
	if m.options.Unverified {
		most = heldUnverified
	}
	m.inflated, err = inflate(m.inflated[:0], m.codec, m.in, most)
	m.text = m.inflated
	if errors.Is(err, errLarge) {
		if m.text = nil; m.options.Unverified || m.options.Once && m.compression == Gzip {
			return m.once(at)
		}
		err = m.twice(at)
	} else if err == nil {
		m.pos, m.sure = m.place(), m.codec.checked()
	}
	if failed := m.window.failed(); failed != nil {
		return failed
	}
	return err
}

// taken takes a member that was inflated ahead.
func (m *Members) taken(at int64) bool {
	for _, b := range m.blocks {
		if at < b.at || at >= b.at+int64(len(b.raw)) {
			continue
		}
		<-b.ready
		i, ok := slices.BinarySearchFunc(b.found, at, func(f found, at int64) int { return cmp.Compare(f.start, at) })
		if ok {
			f := b.found[i]
			m.text, m.pos, m.sure = b.text[f.from:f.to], f.end, f.checked
		}
		return ok
	}
	return false
}

// large gives out the text of a member that is not held.
type large struct {
	codec
	file io.ReadSeekCloser // that is read once more; nil: the text is not verified
	took int64             // of the memory
}

// errWindow is returned for a frame whose window is larger than there may be.
var errWindow = errors.New("zstd: too large a window")

// twice finds out whether a member that is too large to be held is right, and
// opens it again.
func (m *Members) twice(at int64) (err error) {
	l, err := m.wide(at)
	defer func() {
		if err != nil {
			err = errors.Join(err, m.release(l))
		}
	}()
	if err != nil {
		return err
	}
	if l.file, err = m.readAgain(at); err != nil {
		return err
	}
	m.cursor.passes = true
	m.seek(at)
	if err = l.reset(m.in); err == nil {
		_, err = io.Copy(io.Discard, struct{ io.Reader }{l.codec})
	}
	m.window.copy = nil
	if err != nil {
		return err
	}
	end := m.place()
	src, err := m.rewind(l.file, at)
	if err != nil {
		return err
	}
	if err := l.reset(bufio.NewReaderSize(io.LimitReader(src, end-at), bufferSize)); err != nil {
		return fmt.Errorf("%w: %w", errChanged, err)
	}
	m.pos, m.sure, m.large = end, l.checked(), l
	m.window.keep = m.pos
	return nil
}

// wide has a codec for the member at a place, whatever its window is. release
// follows, also after an error.
func (m *Members) wide(at int64) (l *large, err error) {
	l = &large{}
	window := uint64(heldWindow)
	if m.compression == Zstd {
		m.seek(at)
		h, err := readHeader(m.in)
		if err != nil {
			return l, err
		}
		if window = max(window, windowOf(&h)); window > heldWindow {
			if window, err = m.needed(at, window); err != nil {
				return l, err
			}
		}
		if window > heldWindow && window <= maxWindow {
			l.took = data.Take(m.options.Memory, int64(window))
		}
		if window > heldWindow && l.took < int64(window) {
			return l, fmt.Errorf("%w: %d MiB, more than the memory allows: give more, or compress the file again without --long", errWindow, window>>20)
		}
	}
	if l.codec = m.codec; window > heldWindow {
		l.codec, err = newCodec(m.compression, m.dictionary, window)
	}
	return l, err
}

// needed is the window that does for the frame at a place, whose header asks for
// one of so many bytes: if it has less text than that, a power of two that holds
// it. Standard input cannot be looked through ahead.
func (m *Members) needed(at int64, window uint64) (uint64, error) {
	if m.split.Path == "-" {
		return window, nil
	}
	f, err := object.Open(m.split.Path)
	if err != nil {
		return window, err
	}
	defer f.Close() //nolint:errcheck // opened for reading
	src, err := m.rewind(f, at)
	if err != nil {
		return window, err
	}
	text, err := textBound(bufio.NewReaderSize(src, bufferSize), window)
	needed := uint64(heldWindow)
	for needed < text {
		needed *= 2
	}
	return min(needed, window), err
}

// errChanged is returned for a member that was right, and is no more.
var errChanged = errors.New("the file has changed while it was read")

// readAgain opens what a member can be read from once more: its file, or where
// that is standard input a file that what is read of it is copied to.
func (m *Members) readAgain(at int64) (io.ReadSeekCloser, error) {
	if m.split.Path != "-" {
		return object.Open(m.split.Path)
	}
	f, err := os.CreateTemp("", "neardup-member-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil { // it is there while it is open
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.Write(m.window.from(at, 0)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	m.window.copy = f
	return f, nil
}

// rewind makes file, of readAgain, read from the member at a place on.
func (m *Members) rewind(file io.ReadSeeker, at int64) (io.Reader, error) {
	if m.split.Path == "-" {
		at = 0
	} else {
		at += m.split.Start
	}
	_, err := file.Seek(at, io.SeekStart)
	return file, err
}

// release lets go of what a large member took.
func (m *Members) release(l *large) (err error) {
	if l.file != nil {
		err = l.file.Close()
	}
	if l.codec != nil && l.codec != m.codec {
		l.close()
	}
	data.Give(m.options.Memory, l.took)
	return err
}

// once makes a member that is too large to be held the current one, though
// nobody knows whether it is right: it may end where the split ends.
func (m *Members) once(at int64) error {
	l, err := m.wide(at)
	m.cursor.passes = true
	m.seek(at)
	if err == nil {
		err = l.reset(m.in)
	}
	if err != nil {
		return errors.Join(err, m.release(l))
	}
	m.sure, m.large = !m.options.Unverified, l // if it is not, nothing of it is believed
	return nil
}

// brokenAt is the error of a member of once that is damaged: that of the split, or the
// damage of a sample.
func (m *Members) brokenAt(err error) error {
	if m.options.Unverified {
		return m.ended(m.start, err)
	}
	if failed := m.window.failed(); failed != nil {
		return failed
	}
	return fmt.Errorf("%w: %w", data.ErrBroken, err)
}

// ended is the damage of a sample, or the error of reading the file.
func (m *Members) ended(from int64, err error) error {
	if failed := m.window.failed(); failed != nil {
		return failed
	}
	for m.window.more() {
		m.window.keep = m.window.end()
	}
	m.pos = m.window.end()
	return &Damage{Offset: from, Bytes: m.pos - from, Cut: isCut(err), TooLarge: errors.Is(err, errWindow), Err: err}
}

// Offset is where the current member starts in the split.
func (m *Members) Offset() int64 { return m.start }

// Compression is how the file is compressed.
func (m *Members) Compression() Compression { return m.compression }

// Checked reports whether a checksum covers the current member.
func (m *Members) Checked() bool { return m.compression != Plain && m.sure }

// Read reads on in the current member; io.EOF at its end.
func (m *Members) Read(p []byte) (n int, err error) {
	switch {
	case m.err != nil:
		return 0, m.err
	case m.compression == Plain:
		n, err = m.src.Read(p)
	case m.large == nil:
		n = copy(p, m.text)
		m.text = m.text[n:]
		switch {
		case n > 0 || len(p) == 0:
			return n, nil
		case m.broken == nil:
			return 0, io.EOF
		}
		err, m.broken = m.ended(m.start, m.broken), nil
	case m.Raw.stopped.Load():
		err = os.ErrClosed
	case m.large.file != nil:
		if n, err = m.large.Read(p); err != nil && !errors.Is(err, io.EOF) {
			err = fmt.Errorf("%w: %w", errChanged, err)
		}
	default:
		switch n, err = m.large.Read(p); {
		case errors.Is(err, io.EOF):
			m.pos = m.place()
		case err != nil:
			err = m.brokenAt(err)
		}
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, new(*Damage)) {
		m.err = err
	}
	return n, err
}

// endLarge leaves a member that is not held, wherever its reading is.
func (m *Members) endLarge() error {
	l := m.large
	if m.large = nil; l == nil {
		if m.broken != nil { // nobody read so far
			err := m.ended(m.start, m.broken)
			m.broken = nil
			return err
		}
		return nil
	}
	if l.file == nil && m.pos == m.start { // of a sample the end is where its text ends
		if _, err := io.Copy(io.Discard, struct{ io.Reader }{l.codec}); err != nil {
			return errors.Join(m.brokenAt(err), m.release(l))
		}
		m.pos = m.place()
	}
	return m.release(l)
}

// Rest passes over what is left of the file, and returns how many bytes it has.
func (m *Members) Rest() (n int64, err error) {
	from := m.pos
	if m.ready {
		from = m.start
	}
	m.endLarge() //nolint:errcheck // only reading the file matters
	m.text, m.ready = nil, false
	if m.compression == Plain {
		n, err = io.Copy(io.Discard, m.src)
	} else {
		for m.window.more() {
			m.cursor.passes, m.window.keep = true, m.window.end()
		}
		n, err = m.window.end()-from, m.window.failed()
	}
	if m.err = err; err == nil {
		m.err = io.EOF
	}
	return n, err
}

// Close ends the reading; it may be called at any time, and again.
func (m *Members) Close() error {
	if m.stopped {
		return nil
	}
	m.stopped = true
	if m.ahead != nil {
		m.Interrupt()
		m.ahead.stop()
	}
	var err error
	if m.large != nil {
		err = m.release(m.large)
	}
	if m.codec != nil {
		m.codec.close()
	}
	m.large, m.err = nil, os.ErrClosed
	return errors.Join(err, m.Raw.Close())
}
