package warc_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/dict"
	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/data"
)

// dictionary makes one of pages, and what compresses with it.
func dictionary(t testing.TB) (content []byte, pack func(text []byte) []byte) {
	t.Helper()
	var samples [][]byte
	for i := range 200 {
		samples = append(samples, []byte(response(fmt.Sprintf("http://a/%d", i), "Content-Type: text/plain\r\n", strings.Repeat(fmt.Sprint("common words ", i%7), 3))))
	}
	content, err := dict.BuildZstdDict(samples, dict.Options{MaxDictSize: 8 << 10, HashBytes: 6, ZstdDictID: 77, ZstdLevel: zstd.SpeedFastest})
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderDict(content))
	if err != nil {
		t.Fatal(err)
	}
	return content, func(text []byte) []byte { return z.EncodeAll(text, nil) }
}

// skippable is a skippable frame of a .warc.zst, of kind 0 to 15.
func skippable(kind byte, content []byte) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte{0x50 | kind, 0x2a, 0x4d, 0x18}, uint32(len(content))), content...)
}

func TestDictionary(t *testing.T) {
	content, pack := dictionary(t)
	var records []byte
	const n = 500
	for i := range n { // in more than one block
		records = append(records, pack([]byte(response(fmt.Sprintf("http://a/%d", i), "Content-Type: text/plain\r\n", strings.Repeat(fmt.Sprint("common words ", i), 3))))...)
	}
	plain := packers(t)["zstd"]
	for name, head := range map[string][]byte{
		"as it is": skippable(0xd, content), "compressed": skippable(0xd, plain(content)),
		"another frame in front of the records": append(skippable(0xd, content), skippable(0, []byte("else"))...),
	} {
		lines := agree(t, name, append(bytes.Clone(head), records...), data.ReaderOptions{})
		if len(lines) != n+1 || !strings.Contains(lines[n-1], "http://a/499") {
			t.Errorf("%s: %d lines: %.300q", name, len(lines), lines)
		}
	}
	for name, head := range map[string][]byte{
		"none": nil, "of another kind": skippable(3, content), "of no dictionary": skippable(0xd, []byte("twelve bytes and more")),
	} {
		lines := agree(t, name, append(bytes.Clone(head), records...), data.ReaderOptions{})
		if len(lines) != 2 || !strings.Contains(lines[0], data.ReasonDamaged) || !strings.Contains(lines[0], "dictionary") {
			t.Errorf("%s: %d lines: %.300q", name, len(lines), lines)
		}
	}
	for name, head := range map[string][]byte{
		"cut off": skippable(0xd, content)[:100], "damaged": skippable(0xd, append(bytes.Clone(content[:20]), make([]byte, 100)...)), "huge": binary.LittleEndian.AppendUint32([]byte{0x5d, 0x2a, 0x4d, 0x18}, 1<<31),
		"compressed and damaged": skippable(0xd, plain(content)[:200]),
	} {
		if name == "huge" {
			head = append(head, plain(content)...)
		}
		lines := agree(t, name, head, data.ReaderOptions{})
		if len(lines) != 1 || !strings.Contains(lines[0], "dictionary") {
			t.Errorf("%s: %.300q", name, lines)
		}
	}
}

// TestDamagedFrames are passed over one by one: within a frame and where the
// walk from block to block goes astray.
func TestDamagedFrames(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	pack := packers(t)["zstd"]
	var members [][]byte
	for i := range 200 {
		members = append(members, pack([]byte(response(fmt.Sprintf("http://a/%d", i), "Content-Type: text/plain\r\n", strings.Repeat(fmt.Sprint(rng.Uint64(), " "), 1+i)))))
	}
	members[50][len(members[50])-1] ^= 1 // the checksum
	members[100][len(members[100])/2] ^= 1
	members[150] = members[150][:len(members[150])/2]
	lines := agree(t, "frames", bytes.Join(members, nil), data.ReaderOptions{})
	var bad []string
	documents := 0
	for _, l := range lines[:len(lines)-1] {
		if strings.HasPrefix(l, "-") {
			bad = append(bad, l)
		} else {
			documents++
		}
	}
	if documents != 197 || len(bad) != 3 {
		t.Errorf("%d documents, skipped %.200q", documents, bad)
	}
}

// TestShortRecords: a record whose length is more than its member has ends
// where the next starts; one that goes on in the next member is whole.
func TestShortRecords(t *testing.T) {
	page := response("http://a/", "Content-Type: text/plain\r\n", "hello")
	long := strings.Replace(page, "Content-Length: ", "Content-Length: 9", 1)
	for name, pack := range packers(t) {
		for what, c := range map[string]struct {
			members []string
			want    []string
		}{
			"too long":               {[]string{long, page}, []string{data.ReasonTruncated, "http://a/"}},
			"too long, blank lines":  {[]string{long, "\r\n" + page}, []string{data.ReasonTruncated, "http://a/"}},
			"too long, at the end":   {[]string{page, long}, []string{"http://a/", data.ReasonTruncated}},
			"in two":                 {[]string{page[:150], page[150:]}, []string{"http://a/"}},
			"in two, in the version": {[]string{page + page[:3], page[3:]}, []string{"http://a/", "http://a/"}},
			"in two, in the header":  {[]string{page[:60], page[60:] + page}, []string{"http://a/", "http://a/"}},
			"empty between":          {[]string{page[:150], "", "", page[150:], "", page}, []string{"http://a/", "http://a/"}},
			"in bytes":               {strings.Split(page, ""), []string{"http://a/"}},
			"header cut off":         {[]string{page[:60], page}, []string{data.ReasonTruncated, "http://a/"}},
		} {
			var archive []byte
			for _, m := range c.members {
				archive = append(archive, pack([]byte(m))...)
			}
			lines := agree(t, name+", "+what, archive, data.ReaderOptions{})
			if len(lines) != len(c.want)+1 {
				t.Errorf("%s, %s: %.500q", name, what, lines)
				continue
			}
			for i, want := range c.want {
				if !strings.Contains(lines[i], want) {
					t.Errorf("%s, %s: %.500q, want %s", name, what, lines[i], want)
				}
			}
		}
	}
}

// FuzzMembers splits archives of any bytes, and damages sound ones.
func FuzzMembers(f *testing.F) {
	rng := rand.New(rand.NewPCG(9, 9))
	for _, pack := range packers(f) {
		var archive []byte
		for _, r := range pages(rng, 5) {
			if len(r) < 2000 {
				archive = append(archive, pack(r)...)
			}
		}
		f.Add(archive)
		f.Add(append(archive, pack(nil)...))
	}
	content, pack := dictionary(f)
	f.Add(append(skippable(0xd, content), pack([]byte("WARC/1.0\r\nWARC-Type: request\r\nContent-Length: 0\r\n\r\n\r\n\r\n"))...))
	f.Fuzz(func(t *testing.T, content []byte) {
		lines := agree(t, "fuzzing", content, data.ReaderOptions{HTML: data.HTMLVisible, MaxRecord: 1 << 16})
		if len(lines) > len(content)+1 {
			t.Error("more records than bytes")
		}
	})
}

// FuzzMessage decodes the bodies of HTTP messages of any bytes.
func FuzzMessage(f *testing.F) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 20)
	for _, c := range encodings(text) {
		f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=windows-1252\r\n" + c.fields + "\r\n" + c.body))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		const limit = 1 << 16
		content := record("WARC-Type: response\r\nWARC-Target-URI: http://a/\r\n", string(message))
		docs, bad := readAll(t, open(t, []byte(content), data.ReaderOptions{HTML: data.HTMLVisible, MaxRecord: limit}))
		if len(docs)+len(bad) != 1 {
			t.Errorf("%d documents, skipped %v", len(docs), bad)
		}
		for _, d := range docs {
			if len(d.Text) > 3*limit { // a byte of Windows-1252 is up to three of UTF-8
				t.Errorf("a text of %d bytes", len(d.Text))
			}
		}
	})
}
