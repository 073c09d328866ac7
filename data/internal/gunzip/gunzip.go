// Package gunzip unpacks gzip, RFC 1952, and the deflate streams within, RFC
// 1951. It is what most of the time of reading a compressed dump goes to, so
// it is made for speed. It knows nothing of what is packed.
package gunzip

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

const (
	history = 32 << 10 // how far back a copy may reach, RFC 1951 section 2
	chunk   = 128 << 10

	// spareOut is the room behind the place in the buffer that fast needs:
	// for literals, the longest copy, and what is written beyond its end.
	spareOut = literals + longest + 16
	longest  = 258
	// spareIn is the input that fast needs, to read ahead twice.
	spareIn = 16
)

// Reader unpacks gzip members. What it reads of its input, and what it returns
// before an error, depends on the input's bytes alone: not on the pieces in
// which they come.
type Reader struct {
	in   *bufio.Reader
	all  bool // members, not only one
	bare bool // a deflate stream, not a member

	src  []byte // of in, looked at and not yet discarded
	pos  int    // in src
	bits uint64 // bytes of src before pos, the lowest bit first
	n    uint   // how many bits those are; above them may be some of those that follow

	offset int64 // of src in the deflate stream

	buf    []byte // buf[r:w] is to be read, and the history before it
	r, w   int
	began  int // where the member begins in buf: nothing is copied from before it
	summed int // up to here crc goes
	crc    uint32
	size   uint32
	stored int  // bytes left of a stored block
	coded  bool // in a block of codes
	last   bool // no block follows
	lit    litTable
	dist   distTable

	stop error // of the input, behind src
	err  error // behind buf[r:w]
}

// New returns a Reader of all the members that src has, one after the other.
// An error of the first one's header is returned at once.
func New(src io.Reader) (*Reader, error) {
	z := new(Reader)
	if err := z.Reset(bufio.NewReaderSize(src, chunk)); err != nil {
		return nil, err
	}
	z.all = true
	return z, nil
}

// Reset starts the member at in's place, which needs a buffer of 64 bytes or
// more, and is left behind the member when Read has returned io.EOF. After
// another error it stands where the member is damaged.
func (z *Reader) Reset(in *bufio.Reader) error {
	z.reset(in)
	z.err = z.start()
	return z.err
}

// ResetDeflate is Reset for a deflate stream that is no gzip member.
func (z *Reader) ResetDeflate(in *bufio.Reader) {
	z.reset(in)
	z.bare = true
	z.begin()
}

func (z *Reader) reset(in *bufio.Reader) {
	if z.buf == nil {
		z.buf = make([]byte, history+chunk+spareOut)
	}
	z.in, z.all, z.bare = in, false, false
	z.src, z.pos, z.bits, z.n = nil, 0, 0, 0
	z.r, z.w, z.summed = 0, 0, 0
	z.err = nil
}

// Read returns io.EOF behind the last member, gzip.ErrHeader, gzip.ErrChecksum
// or flate.CorruptInputError where one is damaged, io.ErrUnexpectedEOF where
// the input ends within one, and errors of reading it as they are.
func (z *Reader) Read(p []byte) (int, error) {
	for z.r == z.w {
		if z.err != nil {
			return 0, z.err
		}
		z.fill()
	}
	n := copy(p, z.buf[z.r:z.w])
	z.r += n
	return n, nil
}

// begin begins a deflate stream.
func (z *Reader) begin() {
	z.offset, z.began, z.crc, z.size = 0, z.w, 0, 0
	z.stored, z.coded, z.last = 0, false, false
}

// start reads the header of a member, RFC 1952 section 2.3: io.EOF if the
// input ends before it.
func (z *Reader) start() error {
	z.begin()
	var head [10]byte
	if _, err := io.ReadFull(z.in, head[:]); err != nil {
		return err
	}
	const (
		hasSum = 1 << (iota + 1)
		hasExtra
		hasName
		hasComment
		reserved = 0xe0
	)
	flags := head[3]
	if head[0] != 0x1f || head[1] != 0x8b || head[2] != 8 || flags&reserved != 0 {
		return gzip.ErrHeader
	}
	h := header{in: z.in, sum: crc32.ChecksumIEEE(head[:])}
	if flags&hasExtra != 0 {
		h.skip(int(h.short()))
	}
	if flags&hasName != 0 {
		h.skipString()
	}
	if flags&hasComment != 0 {
		h.skipString()
	}
	if want := uint16(h.sum); flags&hasSum != 0 && h.short() != want && h.err == nil {
		h.err = gzip.ErrHeader
	}
	return unexpected(h.err)
}

// header reads a member's header.
type header struct {
	in  *bufio.Reader
	sum uint32
	err error // the first
}

func (h *header) byte() byte {
	if h.err != nil {
		return 0
	}
	var c [1]byte
	if c[0], h.err = h.in.ReadByte(); h.err == nil {
		h.sum = crc32.Update(h.sum, crc32.IEEETable, c[:])
	}
	return c[0]
}

func (h *header) short() uint16 { return uint16(h.byte()) | uint16(h.byte())<<8 }

func (h *header) skip(n int) {
	for range n {
		h.byte()
	}
}

func (h *header) skipString() {
	const most = 512 // bytes
	for range most {
		if h.byte() == 0 {
			return
		}
	}
	h.err = errors.Join(h.err, gzip.ErrHeader)
}

// unexpected makes the end of the input an error within a member.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// fill unpacks until the buffer is full or what is wrong is in err.
func (z *Reader) fill() {
	if past := z.w - history; past > 0 {
		copy(z.buf, z.buf[past:z.w])
		z.began = max(z.began-past, 0)
		z.r, z.w, z.summed = history, history, history
	}
	for z.room() > 0 && z.err == nil {
		switch {
		case z.stored > 0:
			z.copy()
		case z.coded:
			z.symbols()
		case z.last:
			z.end()
		default:
			z.block()
		}
	}
	z.sum()
	if z.err != nil {
		z.release()
	}
}

// room is how much the buffer takes before it is read.
func (z *Reader) room() int { return len(z.buf) - spareOut - z.w }

// sum adds what was unpacked to the checksum.
func (z *Reader) sum() {
	z.crc = crc32.Update(z.crc, crc32.IEEETable, z.buf[z.summed:z.w])
	z.size += uint32(z.w - z.summed)
	z.summed = z.w
}

// end checks the trailer of a member, RFC 1952 section 2.3.1.
func (z *Reader) end() {
	z.take(z.n & 7) // up to the next byte
	z.release()
	if z.err = io.EOF; z.bare {
		return
	}
	var tail [8]byte
	if _, err := io.ReadFull(z.in, tail[:]); err != nil {
		z.err = unexpected(err)
		return
	}
	z.sum()
	if binary.LittleEndian.Uint32(tail[:]) != z.crc || binary.LittleEndian.Uint32(tail[4:]) != z.size {
		z.err = gzip.ErrChecksum
		return
	}
	if z.all {
		z.err = z.start()
	}
}

// release gives back the bytes that no bit was used of.
func (z *Reader) release() {
	z.pos -= int(z.n >> 3)
	z.n &= 7
	z.bits &= 1<<z.n - 1
	_, _ = z.in.Discard(z.pos) // of its buffer
	z.offset += int64(z.pos)
	z.src, z.pos = nil, 0
}

// more looks at more of the input than there is, and at what there is of it
// again; false if stop ends it.
func (z *Reader) more() bool {
	left := int(z.n >> 3)
	z.release()
	z.src, z.stop = z.in.Peek(left + spareIn)
	if z.stop == nil {
		z.src, z.stop = z.in.Peek(z.in.Buffered())
	}
	return len(z.src) > left
}

// get makes bits of the input that follows, limit of them if there are so many.
// limit is at most 56.
func (z *Reader) get(limit uint) {
	for more := true; z.n < limit; {
		if z.pos < len(z.src) {
			z.bits |= uint64(z.src[z.pos]) << z.n
			z.pos++
			z.n += 8
		} else if more {
			more = z.more()
		} else {
			return
		}
	}
}

// take returns the next bits, at most 32; 0 with err if there are fewer.
func (z *Reader) take(count uint) uint32 {
	z.get(count)
	v := uint32(z.bits & (1<<count - 1))
	if !z.use(count) {
		return 0
	}
	return v
}

// cut sets the error of an input that has no more.
func (z *Reader) cut() {
	if z.err == nil {
		z.err = unexpected(z.stop)
	}
}

// corrupt sets the error of damaged data.
func (z *Reader) corrupt() {
	if z.err == nil {
		z.release()
		z.err = flate.CorruptInputError(z.offset)
	}
}

// block reads the header of a block, RFC 1951 section 3.2.3.
func (z *Reader) block() {
	z.last = z.take(1) == 1
	switch kind := z.take(2); {
	case z.err != nil:
	case kind == 0:
		z.take(z.n & 7) // up to the next byte
		size := z.take(16)
		if check := z.take(16); z.err == nil && size^check != 0xffff {
			z.corrupt()
		}
		z.stored = int(size)
	case kind == 1:
		z.fixed()
	case kind == 2:
		z.dynamic()
	default:
		z.corrupt()
	}
}

// copy copies of a stored block.
func (z *Reader) copy() {
	z.release()
	n, err := io.ReadFull(z.in, z.buf[z.w:z.w+min(z.stored, z.room())])
	z.w += n
	z.stored -= n
	z.offset += int64(n)
	z.err = unexpected(err)
}

// symbols unpacks a block of codes.
func (z *Reader) symbols() {
	for z.coded && z.err == nil && z.room() > 0 {
		if z.fast(); z.room() > 0 {
			z.symbol()
		}
	}
}

// symbol unpacks one literal, or a length with its distance, or the end of a
// block. It needs no spare input, and says what is wrong with it.
func (z *Reader) symbol() {
	z.get(lengthBits + distanceBits)
	e := z.lit.entry(z.bits)
	switch {
	case e&literal != 0:
		if z.use(uint(e >> codeShift & codeMask)) { // of the first, if it is two
			z.buf[z.w] = byte(e >> valueShift)
			z.w++
		}
	case e&exceptional != 0:
		if z.use(uint(e & bitsMask)) {
			if z.coded = false; e.invalid() {
				z.corrupt()
			}
		}
	default:
		z.copyBack(e)
	}
}

// copyBack copies what the length e and the distance after it say.
func (z *Reader) copyBack(e entry) {
	after := z.bits >> (e & bitsMask)
	d := z.dist.entry(after)
	length, distance := e.value(z.bits), d.value(after)
	switch used := uint(e&bitsMask + d&bitsMask); {
	case used <= z.n && (d.invalid() || distance > z.w-z.began):
		z.corrupt()
	case z.use(used):
		for end := z.w + length; z.w < end; { // what is copied may be longer than the distance
			z.w += copy(z.buf[z.w:end], z.buf[z.w-distance:z.w])
		}
	}
}

// use takes bits that were looked at; false with err if there are fewer.
func (z *Reader) use(count uint) bool {
	if count > z.n {
		z.cut()
		return false
	}
	z.bits >>= count
	z.n -= count
	return true
}
