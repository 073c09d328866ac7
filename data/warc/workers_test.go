package warc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/warc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everything is all that a reader says of a file, a line for each call.
func everything(t testing.TB, content []byte, o data.ReaderOptions, workers int) []string {
	t.Helper()
	o.Workers, o.Stdin = workers, bytes.NewReader(content)
	r, err := warc.Open(data.Split{Path: "-", Format: "warc", Size: -1, End: -1}, o)
	if err != nil {
		return []string{err.Error()}
	}
	var lines []string
	var doc data.Document
	for {
		err := r.Read(&doc)
		if b, bad := data.IsBadRecord(err); bad {
			lines = append(lines, fmt.Sprintf("%v raw %q", b, b.Raw))
			continue
		}
		if err != nil {
			lines = append(lines, fmt.Sprintf("end: %v, consumed %d, digest %s", err, r.Consumed(), r.Digest()))
			break
		}
		lines = append(lines, fmt.Sprintf("%d %s %q %q %s %d cut %v", doc.Offset, doc.ID, doc.Title, doc.Text, doc.Language, doc.Date, doc.Cut))
		if len(lines) > len(content)+100 {
			t.Fatal("it does not end")
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	return lines
}

// agree fails unless any number of workers says the same, which it returns.
func agree(t testing.TB, what string, content []byte, o data.ReaderOptions) []string {
	t.Helper()
	want := everything(t, content, o, 1)
	several := []int{2, 5}
	if testing.Short() {
		several = several[1:]
	}
	for _, workers := range several {
		got := everything(t, content, o, workers)
		for i := range max(len(got), len(want)) {
			if w, g := line(want, i), line(got, i); w != g {
				at := 0
				for at < min(len(w), len(g)) && w[at] == g[at] {
					at++
				}
				t.Fatalf("%s: %d lines with one worker, %d with %d; line %d, byte %d\n%.300s\n%.300s", what, len(want), len(got), workers, i, at, w[at:], g[at:])
			}
		}
	}
	return want
}

func line(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "none"
}

func TestWorkersAgreeOnRealArchives(t *testing.T) {
	dir := sharedData(t)
	files, err := filepath.Glob(filepath.Join(dir, "*.warc*"))
	if err != nil {
		t.Fatal(err)
	}
	if !testing.Short() {
		files = append(files, filepath.Join(dir, "..", "html", "cctv-dev.warc.gz"))
	}
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, filepath.Base(path), content, data.ReaderOptions{HTML: data.HTMLVisible})
	}
}

// packers compress a member.
func packers(t testing.TB) map[string]func(text []byte) []byte {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	level := func(level int) func([]byte) []byte {
		return func(text []byte) []byte {
			var b bytes.Buffer
			w, err := gzip.NewWriterLevel(&b, level)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(text); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			return b.Bytes()
		}
	}
	return map[string]func([]byte) []byte{
		"gzip": level(gzip.BestSpeed), "stored": level(gzip.NoCompression),
		"zstd": func(text []byte) []byte { return z.EncodeAll(text, nil) },
	}
}

// pages are WARC records of all kinds: pages of very different lengths, some
// with a gzip body, and what is no page.
func pages(rng *rand.Rand, n int) [][]byte {
	var records [][]byte
	for i := range n {
		words := make([]string, 1+rng.IntN(1<<rng.IntN(12)))
		for j := range words {
			words[j] = fmt.Sprint("word", rng.Uint32())
		}
		text := strings.Join(words, " ")
		url := fmt.Sprintf("http://a/%d", i)
		switch rng.IntN(6) {
		case 0:
			records = append(records, []byte(record("WARC-Type: request\r\n", text)))
		case 1:
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			if _, err := w.Write([]byte(text)); err != nil {
				panic(err)
			}
			if err := w.Close(); err != nil {
				panic(err)
			}
			records = append(records, []byte(response(url, "Content-Type: text/plain; charset=windows-1252\r\nContent-Encoding: gzip\r\n", b.String())))
		case 2:
			records = append(records, []byte(strings.Replace(response(url, "Content-Type: text/html; charset=windows-1252\r\n", text), "1.1 200", "1.1 404", 1)))
		default:
			records = append(records, []byte(response(url, "Content-Type: text/html; charset=windows-1252\r\n", "<title>T</title><p>"+text)))
		}
	}
	return records
}

// layouts are the ways in which records stand in members.
var layouts = map[string]func(rng *rand.Rand, records [][]byte) [][]byte{
	"one a member": func(_ *rand.Rand, records [][]byte) [][]byte { return records },
	"one member":   func(_ *rand.Rand, records [][]byte) [][]byte { return [][]byte{bytes.Join(records, nil)} },
	"several a member, and empty members": func(rng *rand.Rand, records [][]byte) (members [][]byte) {
		for len(records) > 0 {
			n := min(rng.IntN(5), len(records))
			members = append(members, bytes.Join(records[:n], nil))
			records = records[n:]
		}
		return members
	},
	"spanning members": func(rng *rand.Rand, records [][]byte) (members [][]byte) {
		for all := bytes.Join(records, nil); len(all) > 0; {
			n := min(1+rng.IntN(8000), len(all))
			members = append(members, all[:n])
			all = all[n:]
		}
		return members
	},
}

// TestWorkersAgree damages archives of every layout in random places.
func TestWorkersAgree(t *testing.T) {
	damage := map[string]func(rng *rand.Rand, b []byte) []byte{
		"none": func(_ *rand.Rand, b []byte) []byte { return b },
		"flips": func(rng *rand.Rand, b []byte) []byte {
			for range 1 + rng.IntN(4) {
				b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
			}
			return b
		},
		"cut": func(rng *rand.Rand, b []byte) []byte {
			from := rng.IntN(len(b))
			return slices.Delete(b, from, min(len(b), from+1+rng.IntN(1<<rng.IntN(14))))
		},
		"insert": func(rng *rand.Rand, b []byte) []byte {
			more := make([]byte, 1+rng.IntN(1<<rng.IntN(14)))
			for i := range more {
				more[i] = byte(rng.Uint32())
			}
			return slices.Insert(b, rng.IntN(len(b)), more...)
		},
		"zero bytes": func(rng *rand.Rand, b []byte) []byte {
			return slices.Insert(b, rng.IntN(len(b)), make([]byte, 100)...)
		},
		"at the end": func(rng *rand.Rand, b []byte) []byte { return b[:rng.IntN(len(b))] },
	}
	rounds, n := 2, 120
	if testing.Short() {
		rounds, n = 1, 40
	}
	for seed := range uint64(rounds) {
		for layout, arrange := range layouts {
			for packer, pack := range packers(t) {
				rng := rand.New(rand.NewPCG(seed, 1))
				records := pages(rng, n)
				var archive []byte
				for _, m := range arrange(rng, records) {
					archive = append(archive, pack(m)...)
				}
				sound := agree(t, layout+", "+packer, archive, data.ReaderOptions{HTML: data.HTMLVisible})
				if n := len(sound) - 1; n != len(records) {
					t.Fatalf("%s, %s: %d records, want %d: %.300q", layout, packer, n, len(records), sound)
				}
				for name, spoil := range damage {
					rng := rand.New(rand.NewPCG(seed, uint64(len(name))))
					what := fmt.Sprintf("%s, %s, %s, seed %d", layout, packer, name, seed)
					agree(t, what, spoil(rng, bytes.Clone(archive)), data.ReaderOptions{HTML: data.HTMLVisible})
				}
			}
		}
	}
}

// TestDamageStaysLocal has one damaged byte cost at most the record that it is
// in, where each has its member.
func TestDamageStaysLocal(t *testing.T) {
	for name, pack := range packers(t) {
		rng := rand.New(rand.NewPCG(7, 7))
		records := pages(rng, 60)
		var members [][]byte
		for _, r := range records {
			members = append(members, pack(r))
		}
		whole := agree(t, name, bytes.Join(members, nil), data.ReaderOptions{HTML: data.HTMLVisible})
		places := 20
		if testing.Short() {
			places = 5
		}
		for range places {
			i := 1 + rng.IntN(len(members)-2)
			spoiled := slices.Clone(members)
			spoiled[i] = bytes.Clone(members[i])
			at := 12 + rng.IntN(len(members[i])-12) // the member's header may cost the place of the next
			spoiled[i][at] ^= 0x10
			got := agree(t, name, bytes.Join(spoiled, nil), data.ReaderOptions{HTML: data.HTMLVisible})
			lost := 0
			for _, l := range whole[:len(whole)-1] {
				if !strings.HasPrefix(l, "-") && !slices.ContainsFunc(got, func(g string) bool { return texts(g) == texts(l) }) {
					lost++
				}
			}
			if lost > 2 {
				t.Errorf("%s: a byte at %d of member %d of %d bytes lost %d records", name, at, i, len(members[i]), lost)
			}
		}
	}
}

// texts is a line of everything without its offset.
func texts(line string) string {
	_, rest, _ := strings.Cut(line, " ")
	return rest
}

// TestFalseMembers plants what looks like the start of a member, and whole
// members, in stored blocks, where they stand as they are.
func TestFalseMembers(t *testing.T) {
	for name, pack := range packers(t) {
		var planted bytes.Buffer
		inner := pack([]byte(response("http://false/", "Content-Type: text/plain\r\n", "false")))
		for planted.Len() < 300<<10 {
			planted.Write(inner)
			planted.Write(inner[:12])
			planted.WriteByte(byte(planted.Len()))
		}
		outer := pack
		if name == "gzip" {
			outer = packers(t)["stored"]
		}
		var archive []byte
		for i := range 8 {
			archive = append(archive, outer([]byte(response(fmt.Sprintf("http://a/%d", i), "Content-Type: text/plain\r\n", "true"+strings.Repeat("\n", i)+"x")))...)
			archive = append(archive, outer([]byte(record("WARC-Type: metadata\r\n", planted.String())))...)
		}
		lines := agree(t, name, archive, data.ReaderOptions{})
		if len(lines) != 17 || strings.Contains(strings.Join(lines, ""), "http://false/") {
			t.Errorf("%s: %.2000q", name, lines)
		}
	}
}

// TestPlain reads a large archive that is not compressed: in no member, it is
// read to its end.
func TestPlain(t *testing.T) {
	record := response("http://a/", "Content-Type: text/plain\r\n", strings.Repeat("text ", 2000))
	n := 8 << 20 / len(record)
	if lines := agree(t, "plain", []byte(strings.Repeat(record, n)), data.ReaderOptions{}); len(lines) != n+1 {
		t.Errorf("%d lines, want %d and the end", len(lines), n)
	}
}

// TestGiantMember must not be held in memory.
func TestGiantMember(t *testing.T) {
	size := 256 << 20
	if testing.Short() {
		size /= 4
	}
	for _, workers := range []int{1, 3} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		pr, pw := io.Pipe()
		go func() {
			w := gzip.NewWriter(pw)
			_, err := fmt.Fprintf(w, "WARC/1.0\r\nWARC-Type: resource\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n", size)
			zeros := make([]byte, 1<<20)
			for i := 0; i < size && err == nil; i += len(zeros) {
				_, err = w.Write(zeros)
			}
			if err == nil {
				_, err = io.WriteString(w, "\r\n\r\n"+record("WARC-Type: resource\r\nContent-Type: text/plain\r\n", "small"))
			}
			pw.CloseWithError(errors.Join(err, w.Close()))
		}()
		r, err := warc.Open(data.Split{Path: "-", End: -1}, data.ReaderOptions{Stdin: pr, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		docs, bad := readAll(t, r)
		if len(docs) != 1 || string(docs[0].Text) != "small" || len(bad) != 1 || bad[0] != "0 too_large" {
			t.Errorf("%d documents, skipped %v", len(docs), bad)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > uint64(size)/8+(24<<20) {
			t.Errorf("%d workers allocated %d bytes", workers, n)
		}
	}
}

// TestClose at any time ends all goroutines, which TestMain checks.
func TestClose(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for name, pack := range packers(t) {
		var archive []byte
		for _, r := range pages(rng, 400) {
			archive = append(archive, pack(r)...)
		}
		for _, reads := range []int{0, 1, 33, 399, 500} {
			if reads == 33 && testing.Short() {
				continue
			}
			r := open(t, archive, data.ReaderOptions{HTML: data.HTMLVisible, Workers: 3})
			var doc data.Document
			for range reads {
				if err := r.Read(&doc); err != nil {
					if _, bad := data.IsBadRecord(err); !bad && !errors.Is(err, io.EOF) {
						t.Fatalf("%s: %v", name, err)
					}
				}
			}
			for range 2 {
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.Read(&doc); reads < 500 && !errors.Is(err, os.ErrClosed) {
				t.Errorf("%s: Read after Close: %v", name, err)
			}
		}
	}
}

// broken fails after some bytes.
type broken struct {
	io.Reader
	err error
}

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = b.err
	}
	return n, err
}

// TestReadError: a file that cannot be read is an error, not a damaged record.
func TestReadError(t *testing.T) {
	fault := errors.New("the disk is on fire")
	rng := rand.New(rand.NewPCG(3, 4))
	for name, pack := range packers(t) {
		var archive []byte
		for _, r := range pages(rng, 50) {
			archive = append(archive, pack(r)...)
		}
		for _, workers := range []int{1, 4} {
			for _, size := range []int{len(archive), len(archive) - 10, len(archive) / 2} {
				r, err := warc.Open(data.Split{Path: "-", End: -1}, data.ReaderOptions{Stdin: broken{bytes.NewReader(archive[:size]), fault}, Workers: workers})
				if err != nil {
					t.Fatal(err)
				}
				var doc data.Document
				for err = nil; err == nil; {
					if err = r.Read(&doc); err != nil {
						if b, bad := data.IsBadRecord(err); bad {
							err = nil
							if b.Reason == data.ReasonTruncated {
								t.Errorf("%s: %v", name, b)
							}
						}
					}
				}
				if !errors.Is(err, fault) || r.Digest() != "" {
					t.Errorf("%s, %d workers, %d of %d bytes: %v", name, workers, size, len(archive), err)
				}
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
