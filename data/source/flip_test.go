package source_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
)

// flipText is the text of document i.
func flipText(i int) string {
	rng := rand.New(rand.NewPCG(uint64(i), 7))
	var b strings.Builder
	for range 20 + rng.IntN(100) {
		fmt.Fprintf(&b, "%s%d为市", []string{"the law ", "第", "of a city, "}[rng.IntN(3)], rng.IntN(1000))
	}
	return b.String()
}

// flipFiles are files of the same documents, in all formats whose bytes a
// checksum covers, and of how many members.
func flipFiles(t testing.TB, n int) map[string][]byte {
	var lines, csv, warc [][]byte
	csv = append(csv, []byte("id,text\n"))
	rows := filepath.Join(t.TempDir(), "rows.parquet")
	w, err := parquet.Create(rows, &data.Texts, parquet.Options{Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		text := flipText(i)
		lines = append(lines, fmt.Appendf(nil, `{"id":"u%d","text":%q}`+"\n", i, text))
		csv = append(csv, fmt.Appendf(nil, "u%d,\"%s\n%s\"\n", i, text, text))
		sum := sha1.Sum([]byte(text))
		warc = append(warc, fmt.Appendf(nil, "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: u%d\r\nContent-Type: text/plain\r\nWARC-Block-Digest: sha1:%s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n",
			i, base32.StdEncoding.EncodeToString(sum[:]), len(text), text))
		if err := w.Write(&data.TextRow{DocID: fmt.Appendf(nil, "u%d", i), Text: []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(rows)
	if err != nil {
		t.Fatal(err)
	}
	blocks := func(of [][]byte, size int) [][]byte { return slices.Collect(slices.Chunk(bytes.Join(of, nil), size)) }
	join := func(of [][]byte) []byte { return bytes.Join(of, nil) }
	return map[string][]byte{
		"one.jsonl.gz": gzipped(join(lines)), "lines.jsonl.gz": gzipped(lines...), "blocks.jsonl.gz": gzipped(blocks(lines, 5000)...),
		"one.jsonl.zst": zstandard(join(lines)), "blocks.jsonl.zst": zstandard(blocks(lines, 5000)...),
		"one.csv.gz": gzipped(join(csv)), "blocks.csv.gz": gzipped(blocks(csv, 5000)...), "blocks.csv.zst": zstandard(blocks(csv, 5000)...),
		"one.warc.gz": gzipped(join(warc)), "records.warc.gz": gzipped(warc...), "blocks.warc.gz": gzipped(blocks(warc, 5000)...), "records.warc.zst": zstandard(warc...),
		"plain.warc": join(warc), "table.parquet": content,
	}
}

// TestFlippedBits flips a bit in files of all formats, 500 times and more: no
// document has a text that was not written, and what is missing is told of, with
// the bytes that are lost; whatever the number of goroutines.
func TestFlippedBits(t *testing.T) {
	flips := 72
	if testing.Short() {
		flips = 12
	}
	const n = 60
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	texts := map[string]int{}
	for i := range n {
		text := flipText(i)
		texts[text], texts[text+"\n"+text] = i, i // as lines and pages have it, and CSV
	}
	files, dir := flipFiles(t, n), t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for run := range flips {
			content := bytes.Clone(files[name])
			at := rng.IntN(len(content))
			if content[at] ^= 1 << rng.IntN(8); run == 0 {
				content = files[name] // sound
			}
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			var before []string
			for _, workers := range []int{1, 3} {
				got, documents, lost := readFlipped(t, path, workers, texts)
				if workers > 1 && !slices.Equal(got, before) {
					t.Fatalf("%s: bit flipped at %d: %d goroutines read other things than one: %q, %q", name, at, workers, got, before)
				}
				before = got
				if run == 0 && (documents != n || lost > 0) || documents < n && lost == 0 || lost > int64(len(content)) {
					t.Errorf("%s: bit flipped at %d: %d documents of %d, %d bytes are said to be lost of %d: %q", name, at, documents, n, lost, len(content), got)
				}
			}
		}
	}
}

// TestFlippedBitIsToldTheSame flips each bit of a few bytes of a frame of zstandard, of
// which a decoder says one thing or another by the frames that it read before: what is
// told is the same.
func TestFlippedBitIsToldTheSame(t *testing.T) {
	const n, from, to = 60, 15370, 15390
	texts := map[string]int{}
	for i := range n {
		texts[flipText(i)+"\n"+flipText(i)] = i
	}
	file := flipFiles(t, n)["blocks.csv.zst"]
	path, told := filepath.Join(t.TempDir(), "blocks.csv.zst"), 0
	for bit := from * 8; bit < to*8; bit++ {
		content := bytes.Clone(file)
		content[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		one, _, _ := readFlipped(t, path, 1, texts)
		if three, _, _ := readFlipped(t, path, 3, texts); !slices.Equal(one, three) {
			t.Fatalf("bit %d: %q, and %q", bit, one, three)
		}
		if strings.Contains(strings.Join(one, ""), "a block does not decompress") {
			told++
		}
	}
	if told == 0 {
		t.Error("no bit of these spoils a block: choose bytes within one")
	}
}

// readFlipped reads a file, all of whose texts must be those of flipText.
func readFlipped(t *testing.T, path string, workers int, texts map[string]int) (events []string, documents int, lost int64) {
	t.Helper()
	splits, err := source.Expand([]string{path}, source.ExpandOptions{})
	if err != nil {
		return []string{err.Error()}, 0, 1
	}
	for _, split := range splits {
		r, err := source.Open(split, data.ReaderOptions{Workers: workers, Unread: func(*data.Unreadable) {}, Missing: func(*data.NoColumn) {}})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var doc data.Document
		for {
			err := r.Read(&doc)
			if bad, is := data.IsBadRecord(err); is {
				if lost += bad.Lost; bad.Reason == data.ReasonUnreadable || bad.Reason != data.ReasonDamaged && bad.Lost == 0 {
					lost++ // a record of a file that no checksum covers, or all of one
				}
				events = append(events, bad.Error())
				continue
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			i, ok := texts[string(doc.Text)]
			if !ok {
				t.Fatalf("%s: a text that was not written: %s %q", path, doc.ID, doc.Text)
			}
			documents++
			events = append(events, fmt.Sprintf("%d is document %d", doc.Offset, i))
		}
		if len(r.Digest()) != 32 {
			t.Errorf("%s: digest %q", path, r.Digest())
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return events, documents, lost
}
