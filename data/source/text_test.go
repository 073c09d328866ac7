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
		if len(r.Digest()) != 32 {
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
			if ascii > 0 && testing.Short() && format != source.FormatJSONL {
				continue
			}
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

// TestDamagedCompression reads compressed lines: of a member that is cut off or
// damaged nothing, but one bad record that weighs what is lost; of those before
// and, where a line is a record, behind it all whole lines.
func TestDamagedCompression(t *testing.T) {
	for _, format := range []string{source.FormatJSONL, source.FormatCSV, source.FormatTSV} {
		content, want := lines(format, 0, 3000)
		third := bytes.Index(content[len(content)/3:], []byte("\n")) + len(content)/3 + 1
		first := bytes.Count(content[:third], []byte("\n"))
		if format != source.FormatJSONL {
			first-- // the header
		}
		for name, pack := range map[string]func(...[]byte) []byte{".gz": gzipped, ".zst": zstandard} {
			try := func(what string, broken []byte, lost int, want []string) {
				t.Helper()
				path := filepath.Join(t.TempDir(), "in."+format+name)
				if err := os.WriteFile(path, broken, 0o600); err != nil {
					t.Fatal(err)
				}
				got, bad, _, _ := readTexts(t, path, source.ExpandOptions{}, data.ReaderOptions{})
				if len(bad) != 1 || bad[0].Reason != data.ReasonDamaged || bad[0].Source != path || bad[0].Lost != int64(lost) {
					t.Fatalf("%s%s %s: %d bytes are lost, bad records %v", format, name, what, lost, bad)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s%s %s: %d documents, want %d, or other texts", format, name, what, len(got), len(want))
				}
			}
			one := pack(content)
			try("cut in the middle", one[:len(one)/2], len(one)/2, nil)
			try("cut in front of the checksum", one[:len(one)-9], len(one)-9, nil)
			try("cut in the header", one[:6], 6, nil)
			try("empty", nil, 1, nil)
			one[len(one)-3] ^= 1
			try("with a wrong checksum", one, len(one), nil)
			a, b, c := pack(content[:third]), pack(content[third:third+2000]), pack(content[third+2000:])
			try("with something behind", slices.Concat(a, []byte("no member")), len("no member"), want[:first])
			b[len(b)-1] ^= 1
			// A line starts within the member that is lost.
			rest, gone := want[first+bytes.Count(content[third:third+2000], []byte("\n"))+1:], len(b)
			if format != source.FormatJSONL { // of which nobody knows where a row starts
				rest, gone = nil, len(b)+len(c)
			}
			try("with a wrong checksum between", slices.Concat(a, b, c), gone, append(slices.Clone(want[:first]), rest...))
		}
	}
}

// FuzzDamagedLines damages a compressed file of lines anywhere: no document has
// another text than before, they come in their order, and it ends.
func FuzzDamagedLines(f *testing.F) {
	content, want := lines(source.FormatJSONL, 10, 200)
	csv, _ := lines(source.FormatCSV, 10, 200)
	packed := [][]byte{gzipped(content), zstandard(content), gzipped(csv), zstandard(csv), gzipped(content[:5000], content[5000:]), zstandard(csv[:1000], csv[1000:3000], csv[3000:])}
	f.Add(uint8(0), uint16(100), byte(0xff), false)
	f.Add(uint8(4), uint16(900), byte(1), true)
	f.Add(uint8(5), uint16(300), byte(1), false)
	f.Fuzz(func(t *testing.T, which uint8, at uint16, flip byte, cut bool) {
		n := int(which) % len(packed)
		broken := bytes.Clone(packed[n])
		i := int(at) % len(broken)
		broken[i] ^= flip
		if cut {
			broken = broken[:i]
		}
		format := source.FormatJSONL
		if n == 2 || n == 3 || n == 5 {
			format = source.FormatCSV
		}
		r, err := source.Open(data.Split{Path: "-", Format: format, End: -1}, data.ReaderOptions{Stdin: bytes.NewReader(broken)})
		if err != nil {
			return // a damaged header, or what is no magic number any more
		}
		defer r.Close()
		var doc data.Document
		rest := want
		for {
			err := r.Read(&doc)
			if errors.Is(err, io.EOF) {
				return
			}
			if _, bad := data.IsBadRecord(err); bad {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			at := slices.Index(rest, string(doc.Text))
			if at < 0 {
				t.Fatalf("a text that there was not, or not behind the one before: %s", doc.Text)
			}
			rest = rest[at+1:]
		}
	})
}
