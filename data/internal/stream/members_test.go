package stream_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/stream"
)

// packedMember is a member of a file, and its text.
type packedMember struct{ text, packed []byte }

// drawMembers draws members of all sizes: n of them, and with large one that is
// not held.
func drawMembers(t testing.TB, rng *rand.Rand, c stream.Compression, n int, large bool) []packedMember {
	members := make([]packedMember, n)
	for i := range members {
		size := rng.IntN(1 << rng.IntN(18))
		if large && i == n/2 {
			size = 5 << 20
		}
		text := make([]byte, 0, size)
		for len(text) < size {
			text = fmt.Appendf(text, "member %d says %x, ", i, rng.Uint32()>>rng.IntN(32))
		}
		members[i] = packedMember{text, pack(t, c, text)}
	}
	return members
}

// events are what goes through the members of a file says, one for each member
// and damage, and the texts that a checksum vouches for.
func events(t testing.TB, path string, workers int) (events []string, texts [][]byte) {
	t.Helper()
	m, err := stream.OpenMembers(data.Split{Path: path, Size: -1, End: -1}, data.ReaderOptions{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	for {
		err := m.Next()
		var d *stream.Damage
		switch {
		case errors.As(err, &d):
			events = append(events, fmt.Sprintf("damage at %d, %d bytes, cut %v", d.Offset, d.Bytes, d.Cut))
			continue
		case errors.Is(err, io.EOF):
			if info, err := os.Stat(path); err != nil || m.Consumed() != info.Size() {
				t.Errorf("%d bytes were read of %v, %v", m.Consumed(), info, err)
			}
			return append(events, "digest "+m.Digest()), texts
		case err != nil:
			t.Fatal(err)
		}
		text, err := io.ReadAll(m)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, fmt.Sprintf("member at %d, %d bytes, checked %v", m.Offset(), len(text), m.Checked()))
		if m.Checked() {
			texts = append(texts, text)
		}
	}
}

// TestDamage draws files and faults: what is given out are the texts of the
// members that no fault is in, all of them, whatever the number of goroutines,
// and members and damage together are the file.
func TestDamage(t *testing.T) {
	runs := 100
	switch {
	case testing.Short():
		runs = 20
	case os.Getenv("NEARDUP_EXHAUSTIVE") != "":
		runs = 300
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for run := range runs {
		c := []stream.Compression{stream.Gzip, stream.Zstd}[run%2]
		large := run%10 == 9
		members := drawMembers(t, rng, c, 1+rng.IntN(60), large)
		var file []byte
		var ends []int
		for _, m := range members {
			file = append(file, m.packed...)
			ends = append(ends, len(file))
		}
		hit := map[int]bool{}
		for range 1 + rng.IntN(4) {
			at := rng.IntN(len(file))
			if file[at] ^= 1 << rng.IntN(8); at > 0 {
				i, _ := slices.BinarySearch(ends, at+1)
				hit[i] = true
			} else {
				hit[0] = true
			}
		}
		if rng.IntN(3) == 0 {
			file = file[:rng.IntN(len(file))]
			for i, end := range ends {
				if end > len(file) {
					hit[i] = true
				}
			}
		}
		path := filepath.Join(t.TempDir(), "in."+string(c))
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		want, texts := events(t, path, 1)
		if got, _ := events(t, path, 4); !slices.Equal(got, want) {
			t.Fatalf("run %d: 4 goroutines: %q\n1: %q", run, got, want)
		}
		texts = slices.DeleteFunc(texts, func(text []byte) bool { return len(text) == 0 }) // of which one is like the other
		next, lost := 0, 0
		for i, m := range members {
			switch {
			case len(m.text) == 0:
			case next < len(texts) && bytes.Equal(texts[next], m.text):
				next++
			case !hit[i]:
				lost++
			}
		}
		// A fault may leave a member's text as it is (in a header's date), and a
		// large one that is damaged may take what follows it along.
		if next != len(texts) || lost > 0 && !large || lost > 3 {
			t.Fatalf("run %d: %d of %d texts are those of members; %d members without a fault are lost: %q, faults in %v", run, next, len(texts), lost, want, hit)
		}
	}
}

// TestUnchecked frames are believed if they are whole, and told of.
func TestUnchecked(t *testing.T) {
	text := bytes.Repeat([]byte("no checksum, "), 1000)
	w, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(false))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "in.zst")
	packed := w.EncodeAll(text, nil)
	for _, c := range []struct {
		file []byte
		want string
	}{
		{packed, "member at 0, 13000 bytes, checked false"},
		{packed[:len(packed)-2], fmt.Sprintf("damage at 0, %d bytes, cut true", len(packed)-2)},
	} {
		if err := os.WriteFile(path, c.file, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, _ := events(t, path, 2); len(got) != 2 || got[0] != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	// One that is held, one that is not, and one with a checksum.
	large := w.EncodeAll(bytes.Repeat(text, 500), nil)
	if err := os.WriteFile(path, slices.Concat(packed, large, pack(t, stream.Zstd, text)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{1, 2} {
		told := 0
		r, err := stream.Open(data.Split{Path: path, End: -1}, data.ReaderOptions{Workers: workers, Unchecked: func() { told++ }})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, r); err != nil || n != int64(502*len(text)) || told != 2 {
			t.Errorf("%d bytes, %d frames without a checksum, %v", n, told, err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNamed: a file whose first bytes are no magic is what its name says, unless
// it is text.
func TestNamed(t *testing.T) {
	packed := pack(t, stream.Gzip, bytes.Repeat([]byte("text "), 1000))
	flipped := bytes.Clone(packed)
	flipped[0] ^= 1
	for _, c := range []struct {
		name    string
		content []byte
		want    []string
	}{
		{"empty.gz", nil, []string{"damage at 0, 0 bytes, cut true"}},
		{"empty.jsonl", nil, []string{"member at 0, 0 bytes, checked false"}},
		{"zeros.gz", make([]byte, 5000), []string{"damage at 0, 5000 bytes, cut true"}},
		{"plain.gz", []byte("plain text"), []string{"member at 0, 10 bytes, checked false"}},
		{"flipped.gz", append(flipped, packed...), []string{fmt.Sprintf("damage at 0, %d bytes, cut false", len(packed)), fmt.Sprintf("member at %d, 5000 bytes, checked true", len(packed))}},
		{"behind.gz", append(bytes.Clone(packed), "something behind it"...), []string{"member at 0, 5000 bytes, checked true", fmt.Sprintf("damage at %d, 19 bytes, cut false", len(packed))}},
		{"filled.gz", append(bytes.Clone(packed), make([]byte, 5000)...), []string{"member at 0, 5000 bytes, checked true"}},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, workers := range []int{1, 3} {
			if got, _ := events(t, path, workers); !slices.Equal(got[:len(got)-1], c.want) {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
	}
}

// budget is memory of so many bytes, none of which comes back before it is
// given.
type budget struct{ left, least int64 }

func (b *budget) Take(n int64) int64 {
	n = min(n, b.left)
	b.left -= n
	b.least = min(b.least, b.left)
	return n
}

func (b *budget) Give(n int64) { b.left += n }

// TestWindow: a window is taken from the memory there is if the text needs one,
// and no larger one than the text; what needs more is left out by name.
func TestWindow(t *testing.T) {
	if testing.Short() {
		t.Skip("packs and unpacks 20 MB of noise")
	}
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(zstd.MaxWindowSize), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		t.Fatal(err)
	}
	half := make([]byte, 10<<20) // larger than the window that is always there
	rng := rand.NewChaCha8([32]byte{27})
	rng.Read(half) //nolint:errcheck // it has none
	for range 2 {  // as a stream, so that the header does not know the size
		if _, err := w.Write(half); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 15<<20 {
		t.Fatalf("%d bytes: nothing refers back to the first half", b.Len())
	}
	small := pack(t, stream.Zstd, []byte("small"))
	empty := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x01, 0x00, 0x00} // 2 GiB for an empty block
	endless := slices.Clone(empty[:6])
	for range 2 << 30 >> 17 {
		endless = append(endless, 1<<1, 0x00, 1<<4, 'x') // 128 KiB of one byte
	}
	endless = append(endless, 0x01, 0x00, 0x00)
	path := filepath.Join(t.TempDir(), "in.zst")
	if err := os.WriteFile(path, slices.Concat(empty, b.Bytes(), endless, small), 0o600); err != nil {
		t.Fatal(err)
	}
	const needed = 32 << 20
	for _, c := range []struct {
		memory int64
		large  int // how many bytes are left out, in one stretch
		want   []string
	}{
		{100 << 20, len(endless), []string{"", string(half[:10]), "too_large", "small"}},
		{needed - 1, b.Len() + len(endless), []string{"", "too_large", "small"}},
	} {
		memory := &budget{c.memory, c.memory}
		m, err := stream.OpenMembers(data.Split{Path: path, End: -1}, data.ReaderOptions{Memory: memory, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range c.want {
			err := m.Next()
			if want == "too_large" {
				if d := (*stream.Damage)(nil); !errors.As(err, &d) || d.Record("", nil).Reason != want || d.Bytes != int64(c.large) {
					t.Errorf("%d bytes: member %d: %v", c.memory, i, err)
				}
				continue
			}
			if left := c.memory - memory.left; err == nil && i == 1 && left != needed {
				t.Errorf("%d bytes are taken for 20 MiB of text", left)
			}
			text, rest := io.ReadAll(m)
			if err != nil || rest != nil || !bytes.HasPrefix(text, []byte(want)) || i == 1 && !bytes.Equal(text, append(half, half...)) {
				t.Errorf("%d bytes: member %d: %d bytes, %v, %v", c.memory, i, len(text), err, rest)
			}
		}
		if err := m.Next(); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		if err := m.Close(); err != nil || memory.left != c.memory {
			t.Errorf("%v, %d of %d bytes came back", err, memory.left, c.memory)
		}
	}
}

// TestUnverified gives the same texts of a sound file, whatever windows it asks
// for, and of one that is cut off what there is.
func TestUnverified(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, c := range []stream.Compression{stream.Gzip, stream.Zstd} {
		var file, text []byte
		for _, m := range drawMembers(t, rng, c, 20, true) {
			file, text = append(file, m.packed...), append(text, m.text...)
		}
		if c == stream.Zstd { // 2 GiB, and a block of one byte
			file, text = append(file, 0x28, 0xb5, 0x2f, 0xfd, 0x00, 21<<3, 1<<3|1, 0x00, 0x00, 'x'), append(text, 'x')
		}
		path := filepath.Join(t.TempDir(), "in."+string(c))
		for _, size := range []int{len(file), len(file) - 1, len(file) / 2, len(file) / 3} {
			if err := os.WriteFile(path, file[:size], 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := stream.Open(data.Split{Path: path, End: -1}, data.ReaderOptions{Unverified: true, Memory: &budget{64 << 20, 64 << 20}})
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if !bytes.HasPrefix(text, got) || size == len(file) && (err != nil || len(got) != len(text)) || size < len(file) && (!errors.As(err, new(*stream.Damage)) || len(got) == 0) {
				t.Errorf("%q, %d of %d bytes: %d of %d bytes of text, %v", c, size, len(file), len(got), len(text), err)
			}
			if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil || len(r.Digest()) != 32 {
				t.Errorf("%q, %d of %d bytes: %d bytes behind the damage, %v", c, size, len(file), len(rest), err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestOnce gives what a reader that verifies gives, of a sound file and of one whose
// damage is where the members are held, or says that the file is to be read again.
func TestOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var file []byte
	for _, m := range drawMembers(t, rng, stream.Gzip, 9, true) {
		file = append(file, m.packed...)
	}
	path := filepath.Join(t.TempDir(), "in.gz")
	read := func(once bool, workers int) (text []byte, damaged int, err error) {
		r, err := stream.Open(data.Split{Path: path, Size: -1, End: -1}, data.ReaderOptions{Once: once, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}()
		for {
			part, err := io.ReadAll(r)
			text = append(text, part...)
			if err == nil || !errors.As(err, new(*stream.Damage)) {
				return text, damaged, err
			}
			damaged++
		}
	}
	broken, step := 0, 1
	if testing.Short() {
		step = 5
	}
	for i := 0; i < 40; i += step {
		changed, workers := bytes.Clone(file), 1+2*(i%2)
		switch {
		case i < 2: // sound
		case i < 20:
			changed[rng.IntN(len(file))] ^= 1 << rng.IntN(8)
		default:
			changed = changed[:rng.IntN(len(file))]
		}
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		want, lost, err := read(false, workers)
		if err != nil {
			t.Fatal(err)
		}
		got, n, err := read(true, workers)
		if errors.Is(err, data.ErrBroken) && lost > 0 {
			broken++
		} else if err != nil || n != lost || !bytes.Equal(got, want) {
			t.Errorf("change %d: %d bytes and %d times damage, want %d and %d: %v", i, len(got), n, len(want), lost, err)
		}
	}
	if broken == 0 {
		t.Error("no large member was damaged: the test shows nothing")
	}
}

// TestCloseMembers at any place ends all goroutines, which TestMain checks.
func TestCloseMembers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	members := drawMembers(t, rng, stream.Gzip, 50, true)
	var file []byte
	for _, m := range members {
		file = append(file, m.packed...)
	}
	path := filepath.Join(t.TempDir(), "in.gz")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	step := 1
	if testing.Short() {
		step = 10
	}
	for n := 0; n < 52; n += step {
		m, err := stream.OpenMembers(data.Split{Path: path, End: -1}, data.ReaderOptions{Workers: 3})
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			if err := m.Next(); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			if _, err := m.Read(make([]byte, 10)); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Next(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}
