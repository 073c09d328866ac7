package clean

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/data/internal/stream"
)

// The bytes are the same on any number of goroutines, and unpacked what was
// written, whatever the sizes of lines and blocks.
func TestBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var lines [][]byte
	for range 3000 {
		lines = append(lines, bytes.Repeat(fmt.Appendf(nil, "%x ", rng.Uint32()), rng.IntN(400)))
	}
	lines = append(lines, bytes.Repeat([]byte("x"), 3*blockSize), []byte("end"))
	unpack := map[stream.Compression]func(io.Reader) (io.Reader, error){
		stream.Gzip: func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		stream.Zstd: func(r io.Reader) (io.Reader, error) {
			z, err := zstd.NewReader(r)
			if err != nil {
				return nil, err
			}
			t.Cleanup(z.Close)
			return z, nil
		},
	}
	for compression, packer := range packers {
		for _, lines := range [][][]byte{nil, lines[:1], lines} {
			var first []byte
			for _, workers := range []int{1, 2, 7} {
				var out bytes.Buffer
				w := newBlocks(&out, packer, workers)
				for _, line := range lines {
					if n, err := w.Write(line); n != len(line) || err != nil {
						t.Fatal(n, err)
					}
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = out.Bytes()
				}
				if !bytes.Equal(out.Bytes(), first) {
					t.Errorf("%s, %d lines: %d workers write other bytes", compression, len(lines), workers)
				}
			}
			r, err := unpack[compression](bytes.NewReader(first))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, bytes.Join(lines, nil)) {
				t.Errorf("%s, %d lines: %d bytes come back, want %d: %v", compression, len(lines), len(got), len(bytes.Join(lines, nil)), err)
			}
		}
	}
}

// full takes so many bytes.
type full struct{ left int }

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// A disk that fills up ends the writing soon, and never hangs it.
func TestBlocksOnAFullDisk(t *testing.T) {
	line := make([]byte, 300<<10)
	rng := rand.New(rand.NewPCG(6, 6))
	for i := range line {
		line[i] = byte(rng.Uint32())
	}
	for _, left := range []int{0, 2 << 20} {
		w := newBlocks(&full{left}, packers[stream.Gzip], 2)
		n := 0
		for ; n < 1000; n++ {
			if _, err := w.Write(line); err != nil {
				break
			}
		}
		if n == 1000 {
			t.Error("nobody noticed")
		}
		if err := w.Close(); !errors.Is(err, errFull) {
			t.Errorf("got %v", err)
		}
	}
}
