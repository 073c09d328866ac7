package stream_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/xxh3"
	"go.uber.org/goleak"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func pack(t testing.TB, c stream.Compression, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch c {
	case stream.Gzip:
		w = gzip.NewWriter(&b)
	case stream.Zstd:
		w, err = zstd.NewWriter(&b)
	default:
		return content
	}
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRead(t *testing.T) {
	for _, c := range []stream.Compression{stream.Plain, stream.Gzip, stream.Zstd} {
		for _, size := range []int{0, 1, 3, 4, 1000, 256 << 10, 256<<10 + 1, 3 << 20} {
			content := bytes.Repeat([]byte("neardup\n"), size/8+1)[:size]
			packed := append(pack(t, c, content), pack(t, c, content)...) // two members
			path := filepath.Join(t.TempDir(), "in")
			if err := os.WriteFile(path, packed, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, split := range []data.Split{{Path: path, End: -1}, {Path: "-", End: -1}} {
				r, err := stream.Open(split, data.ReaderOptions{Stdin: iotest.HalfReader(bytes.NewReader(packed))})
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(iotest.OneByteReader(io.LimitReader(r, 10)))
				if err != nil {
					t.Fatal(err)
				}
				rest, err := io.ReadAll(r)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(append(got, rest...), append(bytes.Clone(content), content...)) {
					t.Errorf("%q of %d bytes: other bytes came out", c, size)
				}
				if want := fmt.Sprintf("%x", xxh3.Hash128(packed).Bytes()); r.Digest() != want || r.Consumed() != int64(len(packed)) {
					t.Errorf("%q of %d bytes: digest %s, want %s; consumed %d of %d", c, size, r.Digest(), want, r.Consumed(), len(packed))
				}
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestSplitOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := stream.Open(data.Split{Path: path, Start: 3, End: 7}, data.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err != nil || string(got) != "3456" || r.Digest() != fmt.Sprintf("%x", xxh3.Hash128(got).Bytes()) || r.Consumed() != 4 {
		t.Errorf("got %s, %v, digest %s, consumed %d", got, err, r.Digest(), r.Consumed())
	}
}

// TestCutOff must give the members that are whole, and then the damage.
func TestCutOff(t *testing.T) {
	content := []byte(strings.Repeat("neardup and so on, ", 100_000))
	for _, c := range []stream.Compression{stream.Gzip, stream.Zstd} {
		packed := pack(t, c, content)
		for _, whole := range []int{0, 1, 3} {
			for _, size := range []int{len(packed) - 1, len(packed) - 5, len(packed) / 2, 30, 1} {
				file := append(bytes.Repeat(packed, whole), packed[:size]...)
				if whole == 0 && size < 4 {
					continue // nobody can tell that it is compressed
				}
				r, err := stream.Open(data.Split{Path: "-", End: -1}, data.ReaderOptions{Stdin: bytes.NewReader(file)})
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(r)
				var damage *stream.Damage
				if !errors.As(err, &damage) || !damage.Cut || damage.Bytes != int64(size) || damage.Offset != int64(whole*len(packed)) || !bytes.Equal(got, bytes.Repeat(content, whole)) {
					t.Errorf("%q cut at %d of %d behind %d: %d bytes, error %v", c, size, len(packed), whole, len(got), err)
				}
				if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil || r.Digest() != fmt.Sprintf("%x", xxh3.Hash128(file).Bytes()) {
					t.Errorf("%q cut at %d: %d bytes behind it, %v, digest %q", c, size, len(rest), err, r.Digest())
				}
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestErrors(t *testing.T) {
	if _, err := stream.Open(data.Split{Path: filepath.Join(t.TempDir(), "none")}, data.ReaderOptions{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	broken := errors.New("broken pipe")
	r, err := stream.Open(data.Split{Path: "-", End: -1}, data.ReaderOptions{Stdin: io.MultiReader(strings.NewReader("plain text"), iotest.ErrReader(broken))})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); !errors.Is(err, broken) || string(got) != "plain text" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	var damage *stream.Damage
	if r, err = stream.Open(data.Split{Path: "-", End: -1}, data.ReaderOptions{Stdin: strings.NewReader("\x1f\x8bno gzip at all")}); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); len(got) > 0 || !errors.As(err, &damage) || damage.Cut || r.Consumed() != 16 {
		t.Errorf("a damaged gzip header: got %q, %v", got, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err = stream.Open(data.Split{Path: "-", End: -1}, data.ReaderOptions{Stdin: io.MultiReader(bytes.NewReader(pack(t, stream.Gzip, []byte("text"))[:20]), iotest.ErrReader(broken))}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); !errors.Is(err, broken) || errors.As(err, &damage) {
		t.Errorf("a file that cannot be read is no damage: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func ExampleOpen() {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := fmt.Fprintln(z, "hello"); err != nil {
		panic(err)
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	r, err := stream.Open(data.Split{Path: "-", End: -1}, data.ReaderOptions{Stdin: &b})
	if err != nil {
		panic(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// hello
	// <nil>
}
