package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/data/internal/stream"
)

// usualWindow is the largest window that zstd itself accepts unless told
// otherwise. A decoder takes the memory for it before it knows whether the
// header that says so is damaged.
const usualWindow = 128 << 20

// bufSize is how much of a file is read at once.
const bufSize = 64 << 10

// decoder decompresses one member after the other: gzip members or zstandard
// frames, which can be decompressed without those before them.
type decoder interface {
	// reset starts the member at the reader's place; an error if none starts
	// there. The next member starts where the reader is when Read has
	// returned io.EOF. After another error, members may start behind the place.
	reset(in *bufio.Reader) error
	io.Reader
	close()
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
}

// reset starts the frame at the reader's place.
func (f *frame) reset(in *bufio.Reader) error {
	head, err := in.Peek(zstd.HeaderMaxSize)
	if len(head) < 8 { // the shortest frame has 9
		return unexpected(err)
	}
	var h zstd.Header
	if err := h.Decode(head); err != nil {
		return err
	}
	*f = frame{in: in, left: int64(h.HeaderSize) + int64(h.SkippableSize), last: h.Skippable, skip: h.Skippable, checksum: h.HasCheckSum}
	return nil
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
	at     int64
	closed atomic.Bool // reading fails
}

func (in *input) Read(p []byte) (int, error) {
	if in.closed.Load() {
		in.Failed = os.ErrClosed
		return 0, in.Failed
	}
	n, err := in.Watched.Read(p)
	in.at += int64(n)
	return n, err
}

// members goes through the members of a file; a file that is not compressed
// is one member.
type members struct {
	compression stream.Compression
	input       input
	in          *bufio.Reader // of input
	decoder     decoder       // nil: the file is not compressed
	err         error         // that ended the member
}

// newMembers looks at the beginning of a file, and reads its dictionary.
func newMembers(from io.Reader) (*members, error) {
	m := &members{input: input{Watched: stream.Watched{Reader: from}}}
	m.in = bufio.NewReaderSize(&m.input, bufSize)
	head, err := m.peek()
	if err != nil {
		return nil, err
	}
	switch m.compression = stream.Detect(head); m.compression {
	case stream.Gzip:
		m.decoder = new(gzipMembers)
	case stream.Zstd:
		dictionary, err := stream.ReadDictionary(m.in)
		if err != nil {
			return nil, err
		}
		window := uint64(usualWindow)
		if head, _ = m.in.Peek(bufSize); len(head) == bufSize { // less needs no large window
			var first zstd.Header
			_ = first.Decode(head) // what is no frame has no window
			window = max(window, first.WindowSize)
		}
		z, err := stream.NewZstd(nil, dictionary, window)
		if err != nil {
			return nil, err
		}
		m.decoder = &zstdFrames{zstd: z}
	}
	return m, nil
}

// starts reports whether a member may start with head, of four bytes.
func (m *members) starts(head []byte) bool {
	return stream.Detect(head) == m.compression && (m.compression != stream.Gzip || len(head) > 2 && head[2] == 8) // deflate
}

// offset is the place in the file: of the next member, when one has ended.
func (m *members) offset() int64 { return m.input.at - int64(m.in.Buffered()) }

// peek returns the next four bytes of the file, fewer at its end.
func (m *members) peek() ([]byte, error) {
	head, err := m.in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return head, nil
}

// open starts the member at the place; an error if none starts there.
func (m *members) open() error {
	m.err = nil
	return m.decoder.reset(m.in)
}

// Read reads on in the member: io.EOF where it ends, another error where it is
// damaged, each again and again: a decoder may go on behind it.
func (m *members) Read(p []byte) (n int, err error) {
	switch {
	case m.err != nil:
	case m.decoder == nil:
		n, m.err = m.in.Read(p)
	default:
		n, m.err = m.decoder.Read(p)
	}
	return n, m.err
}

func (m *members) close() {
	if m.decoder != nil {
		m.decoder.close()
	}
}
