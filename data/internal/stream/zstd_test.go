package stream_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/dict"
	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/stream"
)

// withDictionary returns a dictionary, and content compressed with it.
func withDictionary(t testing.TB, content []byte) (dictionary, packed []byte) {
	t.Helper()
	var samples [][]byte
	for i := range 100 {
		samples = append(samples, []byte(strings.Repeat(fmt.Sprintf("near duplicate %d of %d, ", i, i%7), 4)))
	}
	dictionary, err := dict.BuildZstdDict(samples, dict.Options{MaxDictSize: 4 << 10, HashBytes: 6, ZstdDictID: 9, ZstdLevel: zstd.SpeedFastest})
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderDict(dictionary))
	if err != nil {
		t.Fatal(err)
	}
	return dictionary, z.EncodeAll(content, nil)
}

func dictionaryFrame(content []byte) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte{0x5d, 0x2a, 0x4d, 0x18}, uint32(len(content))), content...)
}

func TestDictionary(t *testing.T) {
	content := []byte(strings.Repeat("near duplicate 5 of 5, ", 1000))
	dictionary, packed := withDictionary(t, content)
	for name, head := range map[string][]byte{"plain": dictionaryFrame(dictionary), "compressed": dictionaryFrame(pack(t, stream.Zstd, dictionary))} {
		r, err := stream.Open(data.Split{Path: "-", End: -1}, data.ReaderOptions{Stdin: bytes.NewReader(append(head, packed...))})
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	in := bufio.NewReader(bytes.NewReader(packed))
	if d, err := stream.ReadDictionary(in); d != nil || err != nil || in.Buffered() != len(packed) {
		t.Errorf("without one: %d bytes, %v, %d of %d left", len(d), err, in.Buffered(), len(packed))
	}
}

func FuzzReadDictionary(f *testing.F) {
	dictionary, packed := withDictionary(f, []byte("x"))
	f.Add(append(dictionaryFrame(dictionary), packed...))
	f.Add(dictionaryFrame(pack(f, stream.Zstd, dictionary)))
	f.Fuzz(func(t *testing.T, content []byte) {
		d, err := stream.ReadDictionary(bufio.NewReader(bytes.NewReader(content)))
		if err != nil || d == nil {
			return
		}
		z, err := stream.NewZstd(bytes.NewReader(content), d, 0)
		if err != nil {
			return
		}
		defer z.Close()
		if _, err := io.Copy(io.Discard, io.LimitReader(z, 1<<20)); err != nil {
			return
		}
	})
}
