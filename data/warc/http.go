package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/data/internal/stream"
)

// message is an HTTP response as it was captured. Crawlers store what servers
// sent, so it is read as leniently as browsers do.
type message struct {
	status int
	header header
	body   []byte
}

// parse splits a block into status, header and body. It fails on what does
// not start with a status line.
func (m *message) parse(block []byte) error {
	line, rest, _ := bytes.Cut(block, []byte{'\n'})
	protocol, status, _ := bytes.Cut(bytes.TrimSpace(line), []byte{' '})
	if len(protocol) < 4 || !equalFold(protocol[:4], "HTTP") {
		return fmt.Errorf("no HTTP status line: %.60q", line)
	}
	status, _, _ = bytes.Cut(bytes.TrimSpace(status), []byte{' '})
	n, err := strconv.Atoi(string(status))
	if err != nil || n < 0 || n > 999 {
		return fmt.Errorf("no HTTP status: %.60q", line)
	}
	m.status = n
	fields := rest
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		if len(bytes.TrimRight(line, "\r")) == 0 {
			break
		}
	}
	m.header, m.body = header(fields[:len(fields)-len(rest)]), rest
	return nil
}

// maxEncodings is how many encodings of a body are undone; two are in use.
const maxEncodings = 5

var errTooLarge = errors.New("larger than the record limit when decoded")

// bodies decodes the bodies of messages; its buffers and decoders are used
// again.
type bodies struct {
	limit   int64 // bytes of a decoded body
	chunks  []byte
	decoded [2][]byte // one is decoded from the other
	src     bytes.Reader
	gzip    stream.GzipMembers
	in      *bufio.Reader // of gzip
	flate   io.ReadCloser
	brotli  brotli.Reader
	zstd    *zstd.Decoder
	damaged bool // the body that was decoded last, rather than cut off
}

// decode undoes the transfer and content encodings of a message; the body is
// valid until the next call. Many archives keep the header of an encoding that
// the crawler undid: a body that is not in the encoding is taken as it is, and
// encoded is the name of that encoding. Of a body that ends too early, or is
// damaged, the beginning is returned, and cut is true.
func (d *bodies) decode(m *message) (body []byte, encoded string, cut bool, err error) {
	body, d.damaged = m.body, false
	length, noLength := strconv.ParseInt(string(m.header.get("Content-Length")), 10, 64)
	short := noLength == nil && int64(len(body)) < length
	if bytes.Contains(bytes.ToLower(m.header.get("Transfer-Encoding")), []byte("chunked")) {
		body, cut = d.dechunk(body)
		short = false // there should be no length
	}
	for i := range d.decoded {
		if cap(d.decoded[i]) > keptBuffer {
			d.decoded[i] = nil
		}
	}
	buf := 0
	encodings := bytes.Split(m.header.get("Content-Encoding"), []byte{','})
	for i := len(encodings) - 1; i >= max(0, len(encodings)-maxEncodings); i-- {
		name := string(bytes.ToLower(bytes.TrimSpace(encodings[i])))
		if name == "" || name == "identity" || name == "none" {
			continue
		}
		out, ended, err := d.undo(name, body, &d.decoded[buf])
		if err != nil {
			return nil, "", false, err
		}
		if out == nil {
			encoded, short = name, false // the length is that of the encoded body
			continue
		}
		body, cut, buf = out, cut || !ended, 1-buf
	}
	return body, encoded, cut || short, nil
}

// undo decodes body into buf: nil if it is not in the encoding, or cannot be
// told to be. ended is false if the body is cut off or damaged.
func (d *bodies) undo(encoding string, body []byte, buf *[]byte) (out []byte, ended bool, err error) {
	src := d.decoder(encoding, body)
	if src == nil {
		return nil, false, nil
	}
	text := bytes.NewBuffer((*buf)[:0])
	for more := true; more; { // another member of gzip; garbage behind the last is common
		_, err = text.ReadFrom(io.LimitReader(src, d.limit+1-int64(text.Len())))
		if int64(text.Len()) > d.limit {
			return nil, false, errTooLarge
		}
		more = err == nil && src == &d.gzip && d.gzip.Reset(d.in) == nil
	}
	*buf = text.Bytes()
	d.damaged = d.damaged || err != nil && !errors.Is(err, io.ErrUnexpectedEOF)
	if ended = err == nil; !ended && text.Len() == 0 {
		return nil, false, nil
	}
	return text.Bytes(), ended, nil
}

// decoder returns the decoder of a content encoding; nil when body is not, or
// cannot be told to be, in it.
func (d *bodies) decoder(encoding string, body []byte) io.Reader {
	d.src.Reset(body)
	switch encoding {
	case "gzip", "x-gzip":
		if d.in == nil {
			d.in = bufio.NewReader(nil)
		}
		d.in.Reset(&d.src)
		if d.gzip.Reset(d.in) == nil {
			return &d.gzip
		}
	case "deflate": // zlib by the standard, bare by custom
		if len(body) > 2 && body[0]&0x0f == 8 && body[1]&0x20 == 0 && (uint(body[0])<<8|uint(body[1]))%31 == 0 { // RFC 1950 section 2.2
			body = body[2:] // what follows the deflate stream is a checksum
		} else if looksLikeText(body) {
			return nil
		}
		d.src.Reset(stream.DeflatePrimer)
		if d.flate == nil {
			d.flate = flate.NewReader(&d.src)
		} else if d.flate.(flate.Resetter).Reset(&d.src, nil) != nil {
			return nil
		}
		err := stream.Forget(d.flate)
		d.src.Reset(body)
		if err == nil && d.flate.(flate.Resetter).Reset(&d.src, nil) == nil {
			return d.flate
		}
	case "br":
		if !looksLikeText(body) && d.brotli.Reset(&d.src) == nil {
			return &d.brotli
		}
	case "zstd":
		if stream.Detect(body) != stream.Zstd {
			return nil
		}
		if d.zstd == nil {
			// RFC 9659 has windows of 8 MiB; a frame of one segment has one of its own size.
			z, err := stream.NewZstd(nil, nil, uint64(max(d.limit, 8<<20)))
			if err != nil {
				return nil
			}
			d.zstd = z
		}
		if d.zstd.Reset(&d.src) == nil {
			return d.zstd
		}
	}
	return nil
}

func (d *bodies) close() {
	if d.zstd != nil {
		d.zstd.Close()
	}
}

// looksLikeText tells a body that was decoded already: its first bytes hold
// no control characters but white space.
func looksLikeText(body []byte) bool {
	for _, c := range body[:min(len(body), 512)] {
		if c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != 0x1b {
			return false
		}
	}
	return len(bytes.TrimSpace(body)) > 0
}

// dechunk undoes the chunked transfer encoding, RFC 9112 section 7.1; a body
// that is not chunked comes back as it is, one that is cut off or damaged as
// far as it goes, with cut true. The result is valid until the next call.
func (d *bodies) dechunk(body []byte) (decoded []byte, cut bool) {
	out := d.chunks[:0]
	defer func() { d.chunks = out }()
	for rest := body; ; {
		line, after, ok := bytes.Cut(rest, []byte{'\n'})
		size, _, _ := bytes.Cut(line[:min(len(line), 64)], []byte{';'})
		n, err := strconv.ParseUint(string(bytes.TrimSpace(size)), 16, 31)
		switch {
		case !ok || err != nil:
			if len(out) == 0 {
				return body, false
			}
			return out, true
		case n == 0:
			if len(out) == 0 && len(bytes.TrimSpace(after)) > 0 {
				return body, false
			}
			return out, false
		case uint64(len(after)) < n:
			if len(out) == 0 && uint64(len(after)) < n/2 {
				return body, false // a first line that just looks like a size
			}
			out = append(out, after...)
			return out, true
		}
		out = append(out, after[:n]...)
		rest = bytes.TrimPrefix(bytes.TrimPrefix(after[n:], []byte{'\r'}), []byte{'\n'})
	}
}
