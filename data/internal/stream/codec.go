package stream

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// codec decompresses one member after the other: gzip members or zstandard
// frames, which can be decompressed without those before them.
type codec interface {
	// reset starts the member at the reader's place; an error if none starts
	// there. Once Read has returned io.EOF the member was right, as far as it
	// has a checksum, and the reader is where it ends.
	reset(in *bufio.Reader) error
	io.Reader
	checked() bool // the member that was started has a checksum
	close()
}

// newCodec returns a codec of a compression. Of zstandard it takes about window
// bytes, and dictionary may be nil.
func newCodec(c Compression, dictionary []byte, window uint64) (codec, error) {
	if c == Gzip {
		return new(GzipMembers), nil
	}
	z, err := NewZstd(nil, dictionary, window)
	if err != nil {
		return nil, err
	}
	return &zstdFrames{zstd: z, window: window}, nil
}

// inflate appends the text of the member that starts at in's place to dst:
// errLarge if it is more than most bytes.
func inflate(dst []byte, c codec, in *bufio.Reader, most int) ([]byte, error) {
	if err := c.reset(in); err != nil {
		return dst, err
	}
	for end := len(dst) + most; ; {
		if cap(dst)-len(dst) < bytes.MinRead { // twice as much, as long as that may be wanted
			dst = slices.Grow(dst, max(min(len(dst), end-len(dst)), bytes.MinRead))
		}
		n, err := c.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case errors.Is(err, io.EOF):
			return dst, nil
		case err != nil:
			return dst, err
		case len(dst) > end:
			return dst, errLarge
		}
	}
}

// errLarge is a member that is too large to be held.
var errLarge = errors.New("a large member")

// GzipMembers decompresses gzip members, each on its own.
type GzipMembers struct {
	gzip.Reader
	primer bytes.Reader
}

// Reset starts the member at the reader's place; the next one starts where the
// reader is when Read has returned io.EOF.
func (g *GzipMembers) Reset(in *bufio.Reader) error {
	g.primer.Reset(primer)
	if err := forget(g, g.Reader.Reset(&g.primer)); err != nil {
		return err
	}
	if err := g.Reader.Reset(in); err != nil {
		return fmt.Errorf("gzip: %w", unexpected(err))
	}
	g.Multistream(false)
	return nil
}

// primer is a gzip member of no bytes. In damaged data there may be Huffman
// trees without codes, for which the decompressor uses those that it had
// before: what comes out depends on what it read last. Behind the primer,
// which has a dynamic block with two trees, that is always the same.
var primer = append(append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}, DeflatePrimer...), 0, 0, 0, 0, 0, 0, 0, 0)

// DeflatePrimer is the deflate stream of that member; see Forget.
var DeflatePrimer = []byte{0x05, 0xc0, 0x81, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0xff, 0xd5, 0x04}

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

// Forget reads z, a decompressor of deflate that was reset to DeflatePrimer, to
// its end: what it makes of damaged data depends no more on what it read before.
func Forget(z io.Reader) error { return forget(z, nil) }

func (g *GzipMembers) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("gzip: %w", err)
	}
	return n, err
}

func (g *GzipMembers) reset(in *bufio.Reader) error { return g.Reset(in) }
func (*GzipMembers) checked() bool                  { return true }
func (*GzipMembers) close()                         {}

type zstdFrames struct {
	zstd   *zstd.Decoder
	window uint64
	frame  frame
}

func (z *zstdFrames) reset(in *bufio.Reader) error {
	if err := z.frame.reset(in, z.window); err != nil {
		return fmt.Errorf("zstd: %w", err)
	}
	if z.frame.skip {
		return nil
	}
	if err := z.zstd.Reset(&z.frame); err != nil {
		return fmt.Errorf("zstd: %w", err)
	}
	return nil
}

func (z *zstdFrames) Read(p []byte) (n int, err error) {
	if z.frame.skip {
		if _, err = io.Copy(io.Discard, &z.frame); err == nil {
			return 0, io.EOF
		}
	} else if n, err = z.zstd.Read(p); err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	switch {
	case z.frame.err != nil:
		err = z.frame.err
	case !errors.Is(err, zstd.ErrCRCMismatch) && !errors.Is(err, zstd.ErrUnknownDictionary):
		err = errBlock
	}
	return n, fmt.Errorf("zstd: %w", err)
}

// errBlock stands for whatever the decoder says of a damaged block: of the same bytes
// it says one thing or another, by the room in its buffers.
var errBlock = errors.New("a block does not decompress")

func (z *zstdFrames) checked() bool { return z.frame.sum }
func (z *zstdFrames) close()        { z.zstd.Close() }

// frame is the bytes of one zstandard frame, RFC 8878 section 3.1: it goes
// from block to block by the sizes in their headers, and ends with the last.
//
// The window in a frame's header says how far back a match may reach, and is
// what a decoder takes memory for, before it knows whether the frame has so
// much. Where it is more than the reader holds, another header is given out,
// with a window that is no more: what is shorter than that decodes all the same.
// See textBound.
type frame struct {
	in       *bufio.Reader
	head     []byte // given out in the place of the frame's header
	left     int64  // bytes up to the next block's header, or to the checksum
	last     bool   // no block follows
	checksum bool   // follows the last block
	skip     bool   // a skippable frame, which has no blocks
	sum      bool   // the frame has a checksum
	text     uint64 // bytes of text that there may be so far
	err      error  // of Read, but for io.EOF
}

// windowOf is the window that a frame's header asks for.
func windowOf(h *zstd.Header) uint64 {
	if h.SingleSegment {
		return h.FrameContentSize
	}
	return h.WindowSize
}

// readHeader returns the header of the frame that starts at in's place.
func readHeader(in *bufio.Reader) (h zstd.Header, err error) {
	head, err := in.Peek(zstd.HeaderMaxSize)
	if len(head) < 8 { // the shortest frame has 9
		return h, unexpected(err)
	}
	if err := h.Decode(head); err != nil {
		return h, unexpected(err)
	}
	return h, nil
}

// reset starts the frame at the reader's place, for a decoder of that window.
func (f *frame) reset(in *bufio.Reader, window uint64) error {
	h, err := readHeader(in)
	if err != nil {
		return err
	}
	*f = frame{in: in, left: int64(h.HeaderSize) + int64(h.SkippableSize), last: h.Skippable, skip: h.Skippable, checksum: h.HasCheckSum, sum: h.HasCheckSum, head: f.head[:0]}
	if !f.skip && windowOf(&h) > window {
		f.head, f.left = appendHeader(f.head, &h, window), 0
		if _, err := in.Discard(h.HeaderSize); err != nil {
			return unexpected(err)
		}
	}
	return nil
}

// appendHeader appends a frame's header with a window of at most so many bytes,
// RFC 8878 section 3.1.1.1.
func appendHeader(dst []byte, h *zstd.Header, window uint64) []byte {
	var descriptor byte
	if h.HasFCS {
		descriptor |= 3 << 6 // its size in eight bytes
	}
	if h.HasCheckSum {
		descriptor |= 1 << 2
	}
	if h.DictionaryID != 0 {
		descriptor |= 3 // four bytes
	}
	dst = append(append(dst, zstdMagic...), descriptor, byte(bits.Len64(window)-1-10)<<3)
	if h.DictionaryID != 0 {
		dst = binary.LittleEndian.AppendUint32(dst, h.DictionaryID)
	}
	if h.HasFCS {
		dst = binary.LittleEndian.AppendUint64(dst, h.FrameContentSize)
	}
	return dst
}

func (f *frame) Read(p []byte) (int, error) {
	n, err := f.read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

func (f *frame) read(p []byte) (int, error) {
	if len(f.head) > 0 {
		n := copy(p, f.head)
		f.head = f.head[:copy(f.head, f.head[n:])]
		return n, nil
	}
	for f.left == 0 {
		if err := f.block(); err != nil {
			return 0, err
		}
	}
	n, err := f.in.Read(p[:min(int64(len(p)), f.left)])
	f.left -= int64(n)
	return n, unexpected(err)
}

// block goes on to the next block, at whose header the reader is, or to the
// checksum; io.EOF if none is left.
func (f *frame) block() error {
	switch {
	case !f.last:
		head, err := f.in.Peek(3)
		if len(head) < 3 {
			return unexpected(err)
		}
		block := uint32(head[0]) | uint32(head[1])<<8 | uint32(head[2])<<16
		size := block >> 3
		f.last = block&1 != 0
		switch block >> 1 & 3 {
		case 0:
			f.left, f.text = 3+int64(size), f.text+uint64(size)
		case 1: // one byte, repeated
			f.left, f.text = 3+1, f.text+uint64(size)
		case 2:
			f.left, f.text = 3+int64(size), f.text+largestBlock
		default:
			return errors.New("a block of the reserved type")
		}
	case f.checksum:
		f.checksum, f.left = false, 4
	default:
		return io.EOF
	}
	return nil
}

// largestBlock is the most text that a block has, RFC 8878 section 3.1.1.2.4.
const largestBlock = 128 << 10

// textBound is at most how many bytes of text the frame that starts at the reader's
// place has, as the headers of its blocks tell; of one that is cut off, up to there.
// It looks no further than to so many as are enough.
func textBound(in *bufio.Reader, enough uint64) (uint64, error) {
	var f frame
	err := f.reset(in, maxWindow)
	for err == nil && f.text < enough {
		if _, err = in.Discard(int(f.left)); err == nil {
			err = f.block()
		}
	}
	if isCut(err) {
		err = nil
	}
	return f.text, err
}

// unexpected makes the end of the file an error within a member.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
