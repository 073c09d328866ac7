package source_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/source"
)

// lines are documents of Chinese text in a line format, with ASCII in front of
// them; and their texts.
func lines(format string, ascii, n int) (content []byte, texts []string) {
	var b bytes.Buffer
	switch format {
	case source.FormatCSV:
		b.WriteString("id,text\n")
	case source.FormatTSV:
		b.WriteString("id\ttext\n")
	}
	for i := range ascii + n {
		text := fmt.Sprintf("plain text number %d, and some more of it", i)
		if i >= ascii {
			text = fmt.Sprintf("第%d篇：今天天气很好，我们去公园看书和散步，中国人民的生活", i)
		}
		texts = append(texts, text)
		switch format {
		case source.FormatJSONL:
			fmt.Fprintf(&b, `{"id":"%d","text":"%s"}`+"\n", i, text)
		case source.FormatCSV:
			fmt.Fprintf(&b, "%d,\"%s\"\n", i, text)
		case source.FormatTSV:
			fmt.Fprintf(&b, "%d\t%s\n", i, text)
		}
	}
	return b.Bytes(), texts
}

// readTexts reads all documents of a file, and gives their texts and the bad
// records.
func readTexts(t testing.TB, path string, e source.ExpandOptions, o data.ReaderOptions) (texts []string, bad []*data.BadRecord, splits []data.Split, encodings []string) {
	t.Helper()
	splits, err := source.Expand([]string{path}, e)
	if err != nil {
		t.Fatal(err)
	}
	for _, split := range splits {
		r, err := source.Open(split, o)
		if err != nil {
			t.Fatal(err)
		}
		var doc data.Document
		for {
			err := r.Read(&doc)
			if errors.Is(err, io.EOF) {
				break
			}
			if b, ok := data.IsBadRecord(err); ok {
				bad = append(bad, b)
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(doc.Text))
		}
		if len(r.Digest()) != 64 {
			t.Errorf("digest %q", r.Digest())
		}
		encodings = append(encodings, r.Encoding())
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return texts, bad, splits, encodings
}

// TestEncodings reads every line format in several encodings, whole and in
// pieces, also where it begins with much ASCII.
func TestEncodings(t *testing.T) {
	for _, format := range []string{source.FormatJSONL, source.FormatCSV, source.FormatTSV} {
		for _, ascii := range []int{0, 3, 60_000} {
			content, want := lines(format, ascii, 3000)
			for _, name := range []string{"utf-8", "gb18030", "utf-16le", "utf-16be", "euc-kr"} {
				var o data.ReaderOptions
				written := content
				if name == "euc-kr" { // which has few of the characters, and is named
					o.Encoding = "windows-949"
					written = bytes.ReplaceAll(content, []byte("篇：今天天气很好，我们去公园看书和散步，中国人民的生活"), []byte("오늘은 날씨가 좋다"))
				}
				path := filepath.Join(t.TempDir(), "in."+format)
				if err := os.WriteFile(path, encoded(name, written), 0o600); err != nil {
					t.Fatal(err)
				}
				got, bad, splits, encodings := readTexts(t, path, source.ExpandOptions{SplitBytes: 50_000, Encoding: o.Encoding}, o)
				if len(bad) > 0 || len(got) != len(want) {
					t.Fatalf("%s in %s: %d documents, want %d; bad records %v", format, name, len(got), len(want), bad)
				}
				for i := range want {
					if name != "euc-kr" && got[i] != want[i] || name == "euc-kr" && i >= ascii && !strings.HasSuffix(got[i], "오늘은 날씨가 좋다") {
						t.Fatalf("%s in %s, document %d: got %s", format, name, i, got[i])
					}
				}
				cut := format == source.FormatJSONL && !strings.HasPrefix(name, "utf-16")
				if cut != (len(splits) > 1) {
					t.Errorf("%s in %s: %d splits", format, name, len(splits))
				}
				wantEncoding := name
				if name == "utf-8" {
					wantEncoding = ""
				}
				if last := encodings[len(encodings)-1]; last != wantEncoding {
					t.Errorf("%s in %s: read as %q", format, name, last)
				}
				for i, s := range splits {
					if (s.Encoding != "") != (cut && name == "gb18030") {
						t.Errorf("%s in %s: split %d has encoding %q", format, name, i, s.Encoding)
					}
				}
			}
		}
	}
}

// TestMixedEncodings: a line of UTF-8 stays one in a file of GB18030.
func TestMixedEncodings(t *testing.T) {
	content, want := lines(source.FormatJSONL, 0, 100)
	both := append(encoded("gb18030", content), content...)
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, both, 0o600); err != nil {
		t.Fatal(err)
	}
	got, bad, _, _ := readTexts(t, path, source.ExpandOptions{}, data.ReaderOptions{})
	if len(bad) > 0 || !slices.Equal(got, append(slices.Clone(want), want...)) {
		t.Errorf("%d documents, bad records %v, or other texts", len(got), bad)
	}
}

func TestUnknownEncoding(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{source.FormatJSONL, source.FormatCSV, source.FormatWARC} {
		if _, err := source.Open(data.Split{Path: path, Format: format, End: -1}, data.ReaderOptions{Encoding: "utf-7"}); err == nil || !strings.Contains(err.Error(), "unknown encoding") {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// TestDamagedCompression reads compressed lines up to where they are cut off
// or damaged, and one bad record there.
func TestDamagedCompression(t *testing.T) {
	for _, format := range []string{source.FormatJSONL, source.FormatCSV, source.FormatTSV} {
		content, want := lines(format, 0, 20_000)
		for name, packed := range map[string][]byte{".gz": gzipped(content), ".zst": zstandard(content)} {
			try := func(what string, broken []byte, reason string, least int) {
				t.Helper()
				path := filepath.Join(t.TempDir(), "in."+format+name)
				if err := os.WriteFile(path, broken, 0o600); err != nil {
					t.Fatal(err)
				}
				got, bad, _, _ := readTexts(t, path, source.ExpandOptions{}, data.ReaderOptions{})
				if len(bad) != 1 || bad[0].Reason != reason || bad[0].Source != path {
					t.Fatalf("%s%s %s: bad records %v", format, name, what, bad)
				}
				if len(got) < least || len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
					t.Errorf("%s%s %s: %d documents, at least %d should be, or other texts", format, name, what, len(got), least)
				}
			}
			try("cut in the middle", packed[:len(packed)/2], data.ReasonTruncated, len(want)/3)
			try("cut in front of the checksum", packed[:len(packed)-9], data.ReasonTruncated, len(want)/2)
			try("cut in the header", packed[:6], data.ReasonTruncated, 0)
			damaged := bytes.Clone(packed)
			damaged[len(damaged)-5] ^= 0xff
			if name == ".gz" {
				try("with a wrong checksum", damaged, data.ReasonMalformed, len(want))
				damaged = append(bytes.Clone(packed), "no gzip member"...)
				try("with something behind", damaged, data.ReasonMalformed, len(want))
			}
		}
	}
}

// FuzzDamagedLines damages a compressed file of lines anywhere: the documents
// that lie before the damage are all read, in their order, and it ends.
func FuzzDamagedLines(f *testing.F) {
	content, want := lines(source.FormatJSONL, 10, 200)
	csv, _ := lines(source.FormatCSV, 10, 200)
	packed := [][]byte{gzipped(content), zstandard(content), gzipped(csv), zstandard(csv), gzipped(content[:5000], content[5000:])}
	f.Add(uint8(0), uint16(100), byte(0xff), false)
	f.Add(uint8(4), uint16(900), byte(1), true)
	f.Fuzz(func(t *testing.T, which uint8, at uint16, flip byte, cut bool) {
		whole := packed[int(which)%len(packed)]
		broken := bytes.Clone(whole)
		i := int(at) % len(broken)
		broken[i] ^= flip
		if cut {
			broken = broken[:i]
		}
		if len(broken) < 4 {
			return // it is no compressed file
		}
		format := source.FormatJSONL
		if n := int(which) % len(packed); n == 2 || n == 3 {
			format = source.FormatCSV
		}
		r, err := source.Open(data.Split{Path: "-", Format: format, End: -1}, data.ReaderOptions{Stdin: bytes.NewReader(broken)})
		if err != nil {
			return // a damaged header, or what is no magic number any more
		}
		defer r.Close()
		// What gzip itself gives in front of the damage.
		sound := 0
		if broken[0] == 0x1f && broken[1] == 0x8b {
			if z, err := gzip.NewReader(bytes.NewReader(broken[:i])); err == nil {
				text, _ := io.ReadAll(z)
				sound = bytes.Count(text, []byte{'\n'})
				if format == source.FormatCSV {
					sound--
				}
			}
		}
		var doc data.Document
		for n := 0; ; {
			err := r.Read(&doc)
			if errors.Is(err, io.EOF) {
				if n < sound {
					t.Fatalf("%d documents, %d lie before the damage", n, sound)
				}
				return
			}
			if _, bad := data.IsBadRecord(err); bad {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if n < sound && string(doc.Text) != want[n] {
				t.Fatalf("document %d: %s", n, doc.Text)
			}
			n++
		}
	})
}
