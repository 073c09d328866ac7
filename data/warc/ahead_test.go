package warc

import (
	"bufio"
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/neardup/neardup/data/internal/stream"
)

// counting counts what a decoder gives.
type counting struct {
	decoder
	n int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.decoder.Read(p)
	c.n += n
	return n, err
}

// TestWasteIsBounded has blocks full of what looks like the start of a
// member, each with a megabyte or more to decompress before it proves to be
// none, or more than is decompressed ahead.
func TestWasteIsBounded(t *testing.T) {
	header := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}
	var zeros bytes.Buffer
	z := gzip.NewWriter(&zeros)
	if _, err := z.Write(make([]byte, 2<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	wrong := zeros.Bytes()
	wrong[len(wrong)-1] ^= 1 // the size
	stored := append(bytes.Clone(header), 0, 255, 255, 0, 0)
	rng := rand.New(rand.NewPCG(1, 1))
	for name, fill := range map[string]func(b []byte) []byte{
		"headers":     func(b []byte) []byte { return append(b, header...) },
		"stored":      func(b []byte) []byte { return append(b, stored...) },
		"wrong sizes": func(b []byte) []byte { return append(b, wrong...) },
		"random":      func(b []byte) []byte { return append(append(b, header...), byte(rng.Uint32())) },
	} {
		var blocks []*block
		for range 1 + lookahead {
			b := &block{}
			for len(b.data) < blockSize {
				b.data = fill(b.data)
			}
			b.data = b.data[:blockSize]
			blocks = append(blocks, b)
		}
		b := blocks[0]
		b.behind = blocks[1:]
		c := codec{compression: stream.Gzip}
		d := &counting{decoder: new(gzipMembers)}
		w := &aheadWorker{codec: c, decoder: d}
		w.in = bufio.NewReaderSize(&w.input, bufSize)
		w.decompress(b)
		if d.n > maxAhead+maxWasted {
			t.Errorf("%s: %d bytes were decompressed", name, d.n)
		}
		if len(b.members) > 0 {
			t.Errorf("%s: %d members", name, len(b.members))
		}
	}
}
