package warc

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/data/internal/stream"
)

// codec is what is known of a file's compression. A member is a gzip member
// or a zstandard frame: it can be decompressed without those before it.
type codec struct {
	compression stream.Compression
	dictionary  []byte // of all frames of the file; nil: none
	window      uint64 // the largest that a frame may have
}

// usualWindow is the largest window that zstd itself accepts unless told
// otherwise. A decoder takes the memory for it before it knows whether the
// header that says so is damaged.
const usualWindow = 128 << 20

// newCodec looks at the beginning of a file, and reads its dictionary. in
// needs a buffer of blockSize.
func newCodec(in *bufio.Reader) (c codec, err error) {
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return c, err
	}
	c.compression = stream.Detect(head)
	if c.compression != stream.Zstd {
		return c, nil
	}
	if c.dictionary, err = stream.ReadDictionary(in); err != nil {
		return c, err
	}
	c.window = usualWindow
	if head, _ = in.Peek(blockSize); len(head) == blockSize { // less needs no large window
		var first frame
		first.header(head)
		c.window = max(c.window, first.window)
	}
	return c, nil
}

// decoder decompresses one member after the other. What it reads of its
// input, and what it returns before an error, depends on the member's bytes
// alone: not on who reads it, and in which pieces.
type decoder interface {
	// reset starts the member at the reader's place; an error if none starts
	// there. The next member starts where the reader is when Read has
	// returned io.EOF. After another error, members may start behind the place.
	reset(in *bufio.Reader) error
	io.Reader
	close()
}

// newDecoder returns a decoder; nil for a file that is not compressed.
// window is the largest that a frame may have.
func (c codec) newDecoder(window uint64) (decoder, error) {
	switch c.compression {
	case stream.Gzip:
		return new(gzipMembers), nil
	case stream.Zstd:
		z, err := stream.NewZstd(nil, c.dictionary, window)
		if err != nil {
			return nil, err
		}
		return &zstdFrames{zstd: z}, nil
	}
	return nil, nil
}

var (
	gzipMagic      = []byte{0x1f, 0x8b, 8} // with deflate, the only method there is
	zstdMagic      = []byte{0x28, 0xb5, 0x2f, 0xfd}
	skippableMagic = []byte{0x2a, 0x4d, 0x18} // behind 0x50 to 0x5f
)

// find returns the first place at or behind from where a member may start, to
// go by its magic number; -1 if there is none.
func (c codec) find(b []byte, from int) int {
	magic := gzipMagic
	if c.compression == stream.Zstd {
		magic = zstdMagic
	}
	i := bytes.Index(b[from:], magic)
	if i < 0 {
		return -1
	}
	return from + i
}

// starts reports whether a member may start with head, of four bytes.
func (c codec) starts(head []byte) bool {
	if c.compression == stream.Gzip {
		return bytes.HasPrefix(head, gzipMagic)
	}
	return bytes.Equal(head, zstdMagic) || skippable(head)
}

func skippable(head []byte) bool {
	return len(head) == 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:], skippableMagic)
}

type gzipMembers struct {
	gzip.Reader
	primer bytes.Reader
}

func (g *gzipMembers) reset(in *bufio.Reader) error {
	g.primer.Reset(primer)
	if err := forget(g, g.Reset(&g.primer)); err != nil {
		return err
	}
	if err := g.Reset(in); err != nil {
		return fmt.Errorf("gzip: %w", err)
	}
	g.Multistream(false)
	return nil
}

// primer is a gzip member of no bytes. In damaged data there may be Huffman
// trees without codes, for which the decompressor uses those that it had
// before: what comes out depends on what it read last. Behind the primer,
// which has a dynamic block with two trees, that is always the same.
var primer = append(append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}, deflatePrimer...), 0, 0, 0, 0, 0, 0, 0, 0)

// deflatePrimer is its deflate stream.
var deflatePrimer = []byte{0x05, 0xc0, 0x81, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0xff, 0xd5, 0x04}

// forget reads z, which was reset to a primer, to its end.
func forget(z io.Reader, err error) error {
	var none [1]byte
	for err == nil {
		_, err = z.Read(none[:])
	}
	if !errors.Is(err, io.EOF) {
		return fmt.Errorf("deflate: the primer: %w", err)
	}
	return nil
}

func (g *gzipMembers) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("gzip: %w", err)
	}
	return n, err
}

func (*gzipMembers) close() {}

type zstdFrames struct {
	zstd  *zstd.Decoder
	frame frame
}

func (z *zstdFrames) reset(in *bufio.Reader) error {
	if err := z.frame.reset(in); err != nil {
		return fmt.Errorf("zstd: %w", err)
	}
	if z.frame.skip {
		return nil
	}
	return z.zstd.Reset(&z.frame)
}

func (z *zstdFrames) Read(p []byte) (n int, err error) {
	if z.frame.skip {
		_, err = io.Copy(io.Discard, &z.frame)
		if err == nil {
			return 0, io.EOF
		}
	} else if n, err = z.zstd.Read(p); err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	// A frame that is damaged within its blocks still says where it ends.
	if _, end := io.Copy(io.Discard, &z.frame); errors.Is(end, io.ErrUnexpectedEOF) {
		err = end
	}
	return n, fmt.Errorf("zstd: %w", err)
}

func (z *zstdFrames) close() { z.zstd.Close() }

// frame is the bytes of one zstandard frame, RFC 8878 section 3.1: it goes
// from block to block by the sizes in their headers, and ends with the last.
type frame struct {
	in       *bufio.Reader
	left     int64 // bytes up to the next block's header, or to the checksum
	last     bool  // no block follows
	checksum bool  // follows the last block
	skip     bool  // a skippable frame, which has no blocks
	window   uint64
}

var errFrame = errors.New("no frame starts here")

// reset starts the frame at the reader's place.
func (f *frame) reset(in *bufio.Reader) error {
	*f = frame{in: in}
	head, err := in.Peek(8)
	if len(head) < 8 { // the shortest frame has 9
		return unexpected(err)
	}
	if skippable(head[:4]) {
		f.skip, f.last = true, true
		f.left = 8 + int64(binary.LittleEndian.Uint32(head[4:]))
		return nil
	}
	if !bytes.Equal(head[:4], zstdMagic) {
		return errFrame
	}
	f.header(head)
	return nil
}

// header takes the frame's header of which head is the beginning.
func (f *frame) header(head []byte) {
	if len(head) < 8 || !bytes.Equal(head[:4], zstdMagic) {
		return
	}
	descriptor := head[4]
	single, size := descriptor&0x20 != 0, descriptor>>6
	f.checksum = descriptor&4 != 0
	f.left = 5 + [4]int64{0, 1, 2, 4}[descriptor&3] + [4]int64{0, 2, 4, 8}[size]
	if !single {
		f.left++
		f.window = 1 << (10 + head[5]>>3)
		f.window += f.window / 8 * uint64(head[5]&7)
	} else if size == 0 {
		f.left++ // the size, which is always there
	}
}

func (f *frame) Read(p []byte) (int, error) {
	for f.left == 0 {
		switch {
		case !f.last:
			head, err := f.in.Peek(3)
			if len(head) < 3 {
				return 0, unexpected(err)
			}
			block := uint32(head[0]) | uint32(head[1])<<8 | uint32(head[2])<<16
			f.last = block&1 != 0
			switch block >> 1 & 3 {
			case 1: // one byte, repeated
				f.left = 3 + 1
			case 3:
				return 0, errors.New("a block of the reserved type")
			default:
				f.left = 3 + int64(block>>3)
			}
		case f.checksum:
			f.checksum, f.left = false, 4
		default:
			return 0, io.EOF
		}
	}
	n, err := f.in.Read(p[:min(int64(len(p)), f.left)])
	f.left -= int64(n)
	return n, unexpected(err)
}

// unexpected makes the end of the file an error within a member.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// input counts the bytes of the file that were read.
type input struct {
	stream.Watched
	at int64
}

func (in *input) Read(p []byte) (int, error) {
	n, err := in.Watched.Read(p)
	in.at += int64(n)
	return n, err
}

// members goes through the members of a file; a file that is not compressed
// is one member.
type members struct {
	codec   codec
	input   input
	in      *bufio.Reader // of input
	ahead   *ahead        // nil: nothing is read ahead
	decoder decoder       // nil: the file is not compressed
	piece   []byte

	// The member that was opened, when it was decompressed ahead.
	ready []byte
	end   int64 // where it ends; in is elsewhere
	found bool
}

const (
	bufSize   = 32 << 10
	pieceSize = 64 << 10
)

// newMembers goes through the file whose bytes from offset at are those of
// from, which nobody else reads; on workers goroutines, if that is more than one.
func newMembers(from *bufio.Reader, at int64, c codec, workers int) (*members, error) {
	decoder, err := c.newDecoder(c.window)
	if err != nil {
		return nil, err
	}
	m := &members{codec: c, decoder: decoder, piece: make([]byte, pieceSize), input: input{stream.Watched{Reader: from}, at}}
	if workers > 1 {
		if m.ahead, err = startAhead(from, at, c, workers); err != nil {
			m.close()
			return nil, err
		}
		m.input.Reader = m.ahead
	}
	m.in = bufio.NewReaderSize(&m.input, bufSize)
	return m, nil
}

// offset is the place in the file: of the next member, when one has ended.
func (m *members) offset() int64 {
	if m.found {
		return m.end
	}
	return m.input.at - int64(m.in.Buffered())
}

// attach puts m.in at the place, behind a member that was read ahead.
func (m *members) attach() {
	if m.found {
		m.found = false
		m.ahead.seek(m.end)
		m.input.at = m.end
		m.in.Reset(&m.input)
	}
}

// peek returns the next four bytes of the file, fewer at its end.
func (m *members) peek() ([]byte, error) {
	m.attach()
	head, err := m.in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return head, nil
}

func (m *members) discard() error {
	_, err := m.in.Discard(1)
	return err
}

// open starts the member at the place; an error if none starts there.
func (m *members) open() error {
	if m.ahead != nil {
		at := m.offset()
		if text, end, ok := m.ahead.member(at); ok {
			m.ready, m.end, m.found = text, end, true
			return nil
		}
	}
	m.attach()
	return m.decoder.reset(m.in)
}

// read returns the next bytes of the member, which are valid until the next
// call, and what follows them: io.EOF where it ends, another error where it
// is damaged, nil where there is more.
func (m *members) read() ([]byte, error) {
	if m.found {
		text := m.ready
		m.ready = nil
		return text, io.EOF
	}
	var from io.Reader = m.in
	if m.decoder != nil {
		from = m.decoder
	}
	n := 0
	for n < len(m.piece) {
		k, err := from.Read(m.piece[n:])
		n += k
		if err != nil {
			return m.piece[:n], err
		}
	}
	return m.piece, nil
}

func (m *members) close() {
	if m.ahead != nil {
		m.ahead.stop()
	}
	if m.decoder != nil {
		m.decoder.close()
	}
}
