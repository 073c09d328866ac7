package inflate_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/neardup/neardup/data/internal/inflate"
)

// texts are of every kind: of few bytes, of all bytes alike, of one, of near and far
// repetitions.
func texts() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 300_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	var words, far bytes.Buffer
	for words.Len() < 700_000 {
		fmt.Fprintf(&words, "word%d 文%c ", r.IntN(3000), rune(0x4e00+r.IntN(3000)))
	}
	for far.Len() < 400_000 {
		far.Write(noise[:32<<10])
	}
	skewed := make([]byte, 200_000) // codes of many lengths
	for i := range skewed {
		for skewed[i] < 250 && r.IntN(16) > 0 {
			skewed[i]++
		}
	}
	return map[string][]byte{
		"none": nil, "one": []byte("a"), "short": []byte("hello, hello, hello"), "zeros": make([]byte, 500_000),
		"noise": noise, "words": words.Bytes(), "far": far.Bytes(), "skewed": skewed,
		"pairs": []byte(strings.Repeat("ab", 100_000)), "sevens": []byte(strings.Repeat("abcdefg", 40_000)), "nines": []byte(strings.Repeat("abcdefghi", 40_000)),
	}
}

func deflated(text []byte, level int) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, level)
	if err != nil {
		panic(err)
	}
	for len(text) > 0 {
		n := min(len(text), 150_000)
		if _, err := w.Write(text[:n]); err != nil {
			panic(err)
		}
		if text = text[n:]; len(text) > 0 {
			if err := w.Flush(); err != nil {
				panic(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// TestReader reads what flate wrote, at all levels, from readers that give much and
// little at once, and stands behind its end.
func TestReader(t *testing.T) {
	var r inflate.Reader
	for name, text := range texts() {
		for level := flate.HuffmanOnly; level <= flate.BestCompression; level++ {
			stream := deflated(text, level)
			whole := append(bytes.Clone(stream), "behind it"...)
			for _, c := range []struct {
				name string
				in   *bufio.Reader
			}{
				{"whole", bufio.NewReaderSize(bytes.NewReader(whole), 256<<10)},
				{"pieces", bufio.NewReaderSize(bytes.NewReader(whole), 61)},
				{"bytes", bufio.NewReader(iotest.OneByteReader(bytes.NewReader(whole)))},
				{"late", bufio.NewReader(iotest.DataErrReader(bytes.NewReader(whole)))},
			} {
				if c.name == "bytes" && len(whole) > 100_000 {
					continue
				}
				r.Reset(c.in)
				got, err := io.ReadAll(&r)
				if err != nil || !bytes.Equal(got, text) {
					t.Fatalf("%s, level %d, %s: %d bytes of %d, %v", name, level, c.name, len(got), len(text), err)
				}
				if rest, err := io.ReadAll(c.in); err != nil || string(rest) != "behind it" {
					t.Fatalf("%s, level %d, %s: %q is left, %v", name, level, c.name, rest, err)
				}
				if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF { //nolint:errorlint // the contract
					t.Fatalf("behind the end: %d, %v", n, err)
				}
			}
		}
	}
}

// TestCut gives out what there is of a stream that is cut off, and says so.
func TestCut(t *testing.T) {
	text := texts()["words"]
	stream := deflated(text, 6)
	var r inflate.Reader
	for cut := 0; cut < len(stream); cut += 1 + cut/7 {
		r.Reset(bufio.NewReader(bytes.NewReader(stream[:cut])))
		got, err := io.ReadAll(&r)
		if !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.HasPrefix(text, got) {
			t.Fatalf("cut at %d: %d bytes, %v", cut, len(got), err)
		}
	}
}

// TestFailing passes on the error of the reader.
func TestFailing(t *testing.T) {
	failure := errors.New("the disk")
	stream := deflated(texts()["words"], 6)
	var r inflate.Reader
	r.Reset(bufio.NewReader(io.MultiReader(bytes.NewReader(stream[:1000]), iotest.ErrReader(failure))))
	if got, err := io.ReadAll(&r); !errors.Is(err, failure) || len(got) == 0 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestWaits gives out what has come before it waits for more.
func TestWaits(t *testing.T) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, 6)
	if err != nil {
		t.Fatal(err)
	}
	in, out := io.Pipe()
	go func() {
		for _, s := range []string{"first", "second"} {
			if _, err := w.Write([]byte(s)); err != nil {
				panic(err)
			}
			if err := w.Flush(); err != nil {
				panic(err)
			}
			if _, err := b.WriteTo(out); err != nil {
				return
			}
		}
		// Nothing more comes, and it stays open.
	}()
	var r inflate.Reader
	r.Reset(bufio.NewReader(in))
	got := make([]byte, len("firstsecond"))
	if _, err := io.ReadFull(&r, got); err != nil || string(got) != "firstsecond" {
		t.Errorf("%q, %v", got, err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
}

// same compares with the standard library: the same text, the same end, and behind it
// the same rest, and of damaged streams that they are.
func same(t *testing.T, stream []byte, size int) {
	t.Helper()
	const most = 4 << 20
	theirs := bytes.NewReader(stream)
	want, wrong := io.ReadAll(io.LimitReader(flate.NewReader(theirs), most))
	var r inflate.Reader
	in := bufio.NewReaderSize(bytes.NewReader(stream), size)
	r.Reset(in)
	got, err := io.ReadAll(io.LimitReader(&r, most))
	var corrupt flate.CorruptInputError
	if wrong != nil {
		if err == nil || !errors.As(err, &corrupt) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%v, want %v", err, wrong)
		}
		if n := min(len(got), len(want)); !bytes.Equal(got[:n], want[:n]) {
			t.Fatal("another text before the damage")
		}
		return
	}
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, want %d; %v", len(got), len(want), err)
	}
	if len(got) == most {
		return
	}
	rest, err := io.ReadAll(in)
	if err != nil || len(rest) != theirs.Len() {
		t.Fatalf("%d bytes are left, want %d; %v", len(rest), theirs.Len(), err)
	}
}

// TestDamaged changes bytes of streams.
func TestDamaged(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, text := range texts() {
		for _, level := range []int{flate.HuffmanOnly, 1, 6} {
			stream := deflated(text[:min(len(text), 20_000)], level)
			for range 60 {
				bad := bytes.Clone(stream)
				for range 1 + r.IntN(3) {
					bad[r.IntN(min(len(bad), 1+r.IntN(len(bad))))] ^= 1 << r.IntN(8)
				}
				same(t, bad, 16<<r.IntN(12))
			}
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, text := range texts() {
		for _, level := range []int{flate.HuffmanOnly, 1, 6} {
			f.Add(deflated(text[:min(len(text), 3000)], level), uint16(4096))
		}
	}
	f.Add([]byte{0x05, 0xc0, 0x81, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0xff, 0xd5, 0x04}, uint16(64)) // a tree of one code
	f.Fuzz(func(t *testing.T, stream []byte, size uint16) { same(t, stream, int(size)) })
}

func BenchmarkReader(b *testing.B) {
	text := texts()["words"]
	stream := deflated(text, 6)
	src := bytes.NewReader(stream)
	in := bufio.NewReaderSize(src, 256<<10)
	buf := make([]byte, 1<<20)
	var r inflate.Reader
	for _, c := range []struct {
		name  string
		reset func() io.Reader
	}{
		{"inflate", func() io.Reader { r.Reset(in); return &r }},
		{"standard", func() io.Reader { return flate.NewReader(in) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				src.Reset(stream)
				in.Reset(src)
				if n, err := io.ReadFull(c.reset(), buf[:len(text)]); err != nil {
					b.Fatal(n, err)
				}
			}
		})
	}
}

func ExampleReader() {
	var r inflate.Reader
	r.Reset(bufio.NewReader(bytes.NewReader(deflated([]byte("中文 and English\n"), 6))))
	text, err := io.ReadAll(&r)
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// 中文 and English
	// <nil>
}
