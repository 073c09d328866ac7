package warc

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// message is an HTTP response as it was captured. Crawlers store what servers
// sent, so it is read as leniently as browsers do.
type message struct {
	status int
	header header
	body   []byte
}

// parseHTTP splits a block into status, header and body. It fails on what
// does not start with a status line.
func parseHTTP(m *message, block []byte) error {
	m.header.reset()
	line, rest, _ := bytes.Cut(block, []byte{'\n'})
	words := bytes.Fields(line)
	if len(words) < 2 || !bytes.HasPrefix(bytes.ToUpper(words[0]), []byte("HTTP")) {
		return fmt.Errorf("no HTTP status line: %.60q", line)
	}
	status, err := strconv.Atoi(string(words[1]))
	if err != nil || status < 0 || status > 999 {
		return fmt.Errorf("no HTTP status: %.60q", line)
	}
	m.status = status
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		line = bytes.TrimRight(line, "\r")
		if len(line) == 0 {
			break
		}
		m.header.add(line)
	}
	m.body = rest
	return nil
}

var errTooLarge = errors.New("larger than the record limit when decoded")

// decodeBody undoes the transfer and content encodings. Many archives keep
// the header of an encoding that the crawler undid: a body that is not in the
// encoding is taken as it is, and of a body that is cut off the beginning.
func decodeBody(m *message, limit int64) ([]byte, error) {
	body := m.body
	if strings.Contains(strings.ToLower(m.header.get("Transfer-Encoding")), "chunked") {
		body = dechunk(body)
	}
	encodings := strings.Split(m.header.get("Content-Encoding"), ",")
	for i := len(encodings) - 1; i >= 0; i-- {
		src, end := decoder(strings.ToLower(strings.TrimSpace(encodings[i])), body)
		if src == nil {
			continue
		}
		decoded, err := io.ReadAll(io.LimitReader(src, limit+1))
		end()
		if int64(len(decoded)) > limit {
			return nil, errTooLarge
		}
		if err != nil && len(decoded) == 0 {
			continue // it is not in the encoding
		}
		body = decoded
	}
	return body, nil
}

// decoder returns the decoder of a content encoding; nil when body is not, or
// cannot be told to be, in it.
func decoder(encoding string, body []byte) (io.Reader, func()) {
	none := func() {}
	switch encoding {
	case "gzip", "x-gzip":
		if z, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
			return z, none
		}
	case "deflate": // zlib by the standard, bare by custom
		if z, err := zlib.NewReader(bytes.NewReader(body)); err == nil {
			return z, none
		}
		if len(body) > 0 && !looksLikeText(body) {
			return flate.NewReader(bytes.NewReader(body)), none
		}
	case "br":
		if !looksLikeText(body) {
			return brotli.NewReader(bytes.NewReader(body)), none
		}
	case "zstd":
		if z, err := zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30)); err == nil {
			return z, z.Close
		}
	}
	return nil, none
}

// looksLikeText tells a body that was decoded already: its first bytes hold
// no control characters but white space.
func looksLikeText(body []byte) bool {
	for _, c := range body[:min(len(body), 64)] {
		if c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != 0x1b {
			return false
		}
	}
	return len(bytes.TrimSpace(body)) > 0
}

// dechunk undoes the chunked transfer encoding, RFC 9112 section 7.1; a body
// that is not chunked comes back as it is, one that is cut off or damaged as
// far as it goes.
func dechunk(body []byte) []byte {
	var out []byte
	for rest := body; ; {
		line, after, ok := bytes.Cut(rest, []byte{'\n'})
		size, _, _ := bytes.Cut(line, []byte{';'})
		n, err := strconv.ParseUint(string(bytes.TrimSpace(size)), 16, 31)
		if !ok || err != nil {
			if len(out) == 0 {
				return body
			}
			return out
		}
		if n == 0 {
			if len(out) == 0 && len(bytes.TrimSpace(after)) > 0 {
				return body
			}
			return out
		}
		if uint64(len(after)) <= n {
			if len(out) == 0 && uint64(len(after)) < n/2 {
				return body // a first line that just looks like a size
			}
			return append(out, after...)
		}
		out = append(out, after[:n]...)
		rest = bytes.TrimPrefix(bytes.TrimPrefix(after[n:], []byte{'\r'}), []byte{'\n'})
	}
}
