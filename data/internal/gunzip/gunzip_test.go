package gunzip_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/neardup/neardup/data/internal/gunzip"
)

// texts are of all kinds: literals, copies near and far, codes short and long.
func texts() map[string][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, 300_000)
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	var chinese, skewed strings.Builder
	for chinese.Len() < 600_000 {
		chinese.WriteRune(rune(0x4e00 + int(rng.ExpFloat64()*300)))
		if rng.IntN(9) == 0 {
			s := chinese.String()
			at := max(0, len(s)-rng.IntN(60_000))
			chinese.WriteString(s[at:min(len(s), at+rng.IntN(400))])
		}
	}
	for skewed.Len() < 300_000 {
		skewed.WriteByte(byte(min(rng.ExpFloat64()*rng.ExpFloat64()*8, 255)))
	}
	periods := []byte{}
	for period := range 40 {
		for range 60 {
			periods = append(periods, random[:period]...)
		}
	}
	return map[string][]byte{
		"nothing": {}, "a byte": {7}, "few": []byte("neardup, neardup"),
		"random": random, "Chinese": []byte(chinese.String()), "skewed": []byte(skewed.String()),
		"periods": periods, "zeros": make([]byte, 500_000),
	}
}

var levels = []int{flate.HuffmanOnly, flate.NoCompression, flate.BestSpeed, flate.DefaultCompression, flate.BestCompression}

func pack(t testing.TB, text []byte, level int) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, level)
	if err == nil {
		z.Name, z.Comment, z.Extra = "name", "comment", []byte("extra")
		_, err = z.Write(text)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// both runs a test with the assembly and without.
func both(t *testing.T, test func(t *testing.T)) {
	t.Run("fast", test)
	if undo := gunzip.Portable(); undo != nil {
		defer undo()
		t.Run("portable", test)
	}
}

func TestText(t *testing.T) {
	both(t, func(t *testing.T) {
		for name, text := range texts() {
			for _, level := range levels {
				packed := pack(t, text, level)
				for _, from := range []io.Reader{bytes.NewReader(packed), iotest.OneByteReader(bytes.NewReader(packed)), iotest.DataErrReader(bytes.NewReader(packed))} {
					z, err := gunzip.New(from)
					if err != nil {
						t.Fatal(err)
					}
					if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, text) {
						t.Errorf("%s, level %d: %d bytes, want %d, %v", name, level, len(got), len(text), err)
					}
				}
			}
		}
	})
}

// TestMembers must leave the input behind each.
func TestMembers(t *testing.T) {
	both(t, func(t *testing.T) {
		var file []byte
		var want [][]byte
		for _, text := range texts() {
			for _, level := range levels {
				file = append(file, pack(t, text, level)...)
				want = append(want, text)
			}
		}
		unaligned := append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}, 0x4b, 0x04, 0x00) // bits are left of the last byte
		unaligned = binary.LittleEndian.AppendUint32(unaligned, crc32.ChecksumIEEE([]byte("a")))
		file = append(append(binary.LittleEndian.AppendUint32(unaligned, 1), file...), unaligned...)
		file = binary.LittleEndian.AppendUint32(file, 1)
		want = append(append([][]byte{[]byte("a")}, want...), []byte("a"))
		z, err := gunzip.New(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, bytes.Join(want, nil)) {
			t.Errorf("all members: %d bytes, %v", len(got), err)
		}
		in := bufio.NewReaderSize(bytes.NewReader(file), 64)
		var one gunzip.Reader
		for i, text := range want {
			if err := one.Reset(in); err != nil {
				t.Fatal(i, err)
			}
			if got, err := io.ReadAll(&one); err != nil || !bytes.Equal(got, text) {
				t.Fatalf("member %d: %d bytes, want %d, %v", i, len(got), len(text), err)
			}
		}
		if err := one.Reset(in); !errors.Is(err, io.EOF) {
			t.Errorf("behind the last: %v", err)
		}
	})
}

func TestBadMembers(t *testing.T) {
	good := pack(t, []byte("neardup"), flate.DefaultCompression)
	change := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	unsummed := bytes.Clone(good)
	unsummed[3] |= 2 // a checksum of the header, which this is none
	for name, c := range map[string]struct {
		in   []byte
		want error
	}{
		"no gzip":      {[]byte("no gzip at all"), gzip.ErrHeader},
		"method":       {change(2, 7), gzip.ErrHeader},
		"flags":        {change(3, 0x80), gzip.ErrHeader},
		"header's sum": {unsummed, gzip.ErrHeader},
		"name":         {append(change(3, 8)[:10], bytes.Repeat([]byte("x"), 600)...), gzip.ErrHeader},
		"checksum":     {change(len(good)-8, good[len(good)-8]^1), gzip.ErrChecksum},
		"size":         {change(len(good)-1, 1), gzip.ErrChecksum},
		"behind":       {append(bytes.Clone(good), "garbage behind"...), gzip.ErrHeader},
		"cut behind":   {append(bytes.Clone(good), 0x1f, 0x8b), io.ErrUnexpectedEOF},
		"nothing":      {nil, io.EOF},
		"cut header":   {good[:12], io.ErrUnexpectedEOF},
	} {
		z, err := gunzip.New(bytes.NewReader(c.in))
		if err == nil {
			_, err = io.ReadAll(z)
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	broken := errors.New("broken")
	z, err := gunzip.New(io.MultiReader(bytes.NewReader(good[:len(good)-10]), iotest.ErrReader(broken)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(z); !errors.Is(err, broken) {
		t.Errorf("an input that cannot be read: %v", err)
	}
}

// compare unpacks a deflate stream and what follows it as compress/flate does,
// and in pieces as at once.
func compare(t *testing.T, stream []byte) {
	t.Helper()
	const behind = "behind the stream"
	oracle := bytes.NewReader(append(bytes.Clone(stream), behind...))
	want, wantErr := io.ReadAll(flate.NewReader(oracle))
	place := -1
	for _, from := range []io.Reader{bytes.NewReader(append(bytes.Clone(stream), behind...)), iotest.OneByteReader(bytes.NewReader(append(bytes.Clone(stream), behind...)))} {
		in := bufio.NewReaderSize(from, 64)
		var z gunzip.Reader
		z.ResetDeflate(in)
		got, err := io.ReadAll(&z)
		same := bytes.Equal(got, want)
		if errors.Is(wantErr, io.ErrUnexpectedEOF) { // the oracle leaves codes that are shorter than that of the block's end
			same = bytes.HasPrefix(got, want) && len(got) < len(want)+16
		}
		if !same || fmt.Sprintf("%T", err) != fmt.Sprintf("%T", wantErr) || errors.Is(wantErr, io.ErrUnexpectedEOF) != errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%d bytes, %v; want %d, %v, of %x", len(got), err, len(want), wantErr, stream)
		}
		rest, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if wantErr == nil && len(rest) != oracle.Len() {
			t.Fatalf("%d bytes are left, want %d", len(rest), oracle.Len())
		}
		if place >= 0 && place != len(rest) {
			t.Fatalf("%d bytes are left, and %d when it comes in pieces", place, len(rest))
		}
		place = len(rest)
	}
}

func TestDamage(t *testing.T) {
	both(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for _, text := range texts() {
			for _, level := range levels {
				var b bytes.Buffer
				z, err := flate.NewWriter(&b, level)
				if err == nil {
					_, err = z.Write(text[:min(len(text), 3000)])
				}
				if err = errors.Join(err, z.Close()); err != nil {
					t.Fatal(err)
				}
				for range 40 {
					damaged := bytes.Clone(b.Bytes())
					for range 1 + rng.IntN(3) {
						damaged[rng.IntN(min(len(damaged), 1<<(2+rng.IntN(12))))] ^= 1 << rng.IntN(8)
					}
					compare(t, damaged)
				}
			}
		}
	})
}

// TestCut must give what there is before the end, wherever that is.
func TestCut(t *testing.T) {
	both(t, func(t *testing.T) {
		text := texts()["Chinese"][:2000]
		packed := pack(t, text, flate.DefaultCompression)
		last := 0
		for size := 40; size < len(packed); size++ {
			z, err := gunzip.New(bytes.NewReader(packed[:size]))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(z)
			if !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.HasPrefix(text, got) || len(got) < last {
				t.Fatalf("cut at %d: %d bytes, %v", size, len(got), err)
			}
			want, _ := io.ReadAll(flate.NewReader(bytes.NewReader(packed[len(packed)-8-streamSize(t, text) : size])))
			if len(got) < len(want) {
				t.Fatalf("cut at %d: %d bytes, want %d", size, len(got), len(want))
			}
			last = len(got)
		}
	})
}

// streamSize is the size of the deflate stream of a text.
func streamSize(t *testing.T, text []byte) int {
	t.Helper()
	var b bytes.Buffer
	z, err := flate.NewWriter(&b, flate.DefaultCompression)
	if err == nil {
		_, err = z.Write(text)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}

func FuzzDeflate(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0x05, 0xc0, 0x81, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0xff, 0xd5, 0x04}) // an empty dynamic block
	f.Add([]byte{0x4b, 0x04, 0x00})                                                       // of the fixed code
	f.Add([]byte{1, 1, 0, 0xfe, 0xff, 'x'})                                               // stored
	for _, text := range texts() {
		f.Add(pack(f, text[:min(len(text), 500)], flate.DefaultCompression)[33:])
	}
	f.Fuzz(compare)
}

func BenchmarkRead(b *testing.B) {
	text := texts()["Chinese"]
	packed := pack(b, text, flate.DefaultCompression)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		z, err := gunzip.New(bytes.NewReader(packed))
		if err == nil {
			_, err = io.Copy(io.Discard, z)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func Example() {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, "hello"); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	z, err := gunzip.New(&b)
	if err != nil {
		panic(err)
	}
	text, err := io.ReadAll(z)
	fmt.Println(string(text), err)
	// Output: hello <nil>
}
