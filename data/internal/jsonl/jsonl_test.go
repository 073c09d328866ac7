package jsonl_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/jsonl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens content as standard input.
func open(t testing.TB, content string, o data.ReaderOptions) data.SourceReader {
	t.Helper()
	o.Stdin = strings.NewReader(content)
	r, err := jsonl.Open(data.Split{Path: "-", Format: "jsonl", Size: -1, End: -1}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// readAll returns a line for every document and bad record.
func readAll(t testing.TB, r data.Reader) []string {
	t.Helper()
	var out []string
	var doc data.Document
	for {
		err := r.Read(&doc)
		if bad, ok := data.IsBadRecord(err); ok {
			out = append(out, fmt.Sprintf("%d %s", bad.Offset, bad.Reason))
			continue
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			out = append(out, err.Error())
			break
		}
		line := fmt.Sprintf("%d %s|%s|%s", doc.Offset, doc.ID, doc.Title, doc.Text)
		if doc.Date != data.NoDate {
			line += fmt.Sprintf("|date %d", doc.Date)
		}
		if !math.IsNaN(doc.Rank) {
			line += fmt.Sprintf("|rank %g", doc.Rank)
		}
		out = append(out, line)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	return out
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name    string
		content string
		options data.ReaderOptions
		want    []string
	}{
		{"plain", `{"id":"a","title":"T","text":"x"}` + "\n" + `{"text":"y","id":"b"}` + "\n", data.ReaderOptions{}, []string{"0 a|T|x", "34 b||y"}},
		{"no last line feed", `{"id":"a","text":"x"}`, data.ReaderOptions{}, []string{"0 a||x"}},
		{"crlf and blank lines", "\r\n{\"id\":\"a\",\"text\":\"x\"}\r\n \t\r\n{\"id\":\"b\",\"text\":\"y\"}\r\n", data.ReaderOptions{}, []string{"2 a||x", "29 b||y"}},
		{"byte order mark", "\xef\xbb\xbf{\"id\":\"a\",\"text\":\"x\"}\n", data.ReaderOptions{}, []string{"3 a||x"}},
		{"empty", "", data.ReaderOptions{}, nil},
		{"number ids as they stand", `{"id":12345678901234567890,"text":"x"}` + "\n" + `{"id":1.50e2,"text":"y"}`, data.ReaderOptions{}, []string{"0 12345678901234567890||x", "39 1.50e2||y"}},
		{"no id", `{"text":"x"}` + "\n" + `{"id":"","text":"y"}` + "\n" + `{"id":null,"text":"z"}`, data.ReaderOptions{}, []string{"0 stdin#0||x", "13 stdin#13||y", "34 stdin#34||z"}},
		{"escapes", `{"id":"a","text":"\"\\\/\b\f\n\r\t\u4e2d\ud83d\ude00"}`, data.ReaderOptions{}, []string{"0 a||\"\\/\b\f\n\r\t中😀"}},
		{"lone surrogates", `{"id":"a","text":"\ud83d|\ude00|\ud83dx|\ud83d\u0041"}`, data.ReaderOptions{}, []string{"0 a||\uFFFD|\uFFFD|\uFFFDx|\uFFFDA"}},
		{"escaped keys", `{"\u0069d":"a","te\u0078t":"x"}`, data.ReaderOptions{}, []string{"0 a||x"}},
		{"the better name wins", `{"content":"no","text":"x","url":"u","id":"a"}` + "\n" + `{"id":"b","text":"y","content":"no"}` + "\n" + `{"URL":"c","CONTENT":"z"}`, data.ReaderOptions{}, []string{"0 a||x", "47 b||y", "84 c||z"}},
		{"the last of equal keys wins", `{"id":"a","text":"x","text":"y"}`, data.ReaderOptions{}, []string{"0 a||y"}},
		{"null is not there", `{"id":"a","text":null,"content":"x"}`, data.ReaderOptions{}, []string{"0 a||x"}},
		{"keys change places", `{"id":"a","text":"x"}` + "\n" + `{"text":"y","id":"b"}` + "\n" + `{"z":1,"id":"c","text":"z"}`, data.ReaderOptions{}, []string{"0 a||x", "22 b||y", "44 c||z"}},
		{"nested values are skipped", `{"a":{"text":"no","b":[1,{"c":null}]},"id":"a","text":"x","e":[],"f":{}}`, data.ReaderOptions{}, []string{"0 a||x"}},
		{"named columns", `{"id":"no","k":"a","text":"no","body":"x","d":"2024-05-18","score":2.5}`,
			data.ReaderOptions{Columns: data.Columns{ID: "k", Text: "body", Date: "d", Rank: "score"}}, []string{"0 a||x|date 1715990400000|rank 2.5"}},
		{"dates", `{"id":"a","text":"","date":1715997490}` + "\n" + `{"id":"b","text":"","date":"never"}`, data.ReaderOptions{}, []string{"0 a|||date 1715997490000", "39 b||"}},
		{"no text", `{"id":"a"}` + "\n" + `{"id":"b","text":5}` + "\n" + `{"id":"c","text":"x"}`, data.ReaderOptions{}, []string{"0 no_text", "11 no_text", "31 c||x"}},
		{"bad ids", `{"id":{"a":1},"text":"x"}` + "\n" + `{"id":true,"text":"x"}`, data.ReaderOptions{}, []string{"0 malformed", "26 malformed"}},
		{"malformed", strings.Join([]string{`[]`, `{"text":"x",}`, `{"text":"x"}}`, `{"text":"` + "\x01" + `"}`, `{"text":"\x"}`, `{"text":"\u12g4"}`, `{text:"x"}`, `{"text":"x"} // no`, `{"n":01,"text":"x"}`, `{"n":1.,"text":"x"}`, `{"n":+1,"text":"x"}`, `{"n":nul,"text":"x"}`, `{"id":"a","text":"ok"}`}, "\n"),
			data.ReaderOptions{}, []string{"0 malformed", "3 malformed", "17 malformed", "31 malformed", "44 malformed", "58 malformed", "76 malformed", "87 malformed", "106 malformed", "126 malformed", "146 malformed", "166 malformed", "187 a||ok"}},
		{"cut off", `{"id":"a","text":"x"}` + "\n" + `{"id":"b","te`, data.ReaderOptions{}, []string{"0 a||x", "22 truncated"}},
		{"too large", `{"id":"a","text":"` + strings.Repeat("x", 100) + `"}` + "\n" + `{"id":"b","text":"y"}`, data.ReaderOptions{MaxRecord: 64}, []string{"0 too_large", "121 b||y"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := readAll(t, open(t, c.content, c.options))
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestLongLines has lines around and beyond the buffer's size, and beyond the
// limit.
func TestLongLines(t *testing.T) {
	var content strings.Builder
	var want []string
	for i, n := range []int{1 << 20, 10, 3 << 20, 1<<20 - 30, 5 << 20, 1, 4 << 20} {
		at := content.Len()
		text := strings.Repeat("文", n/3)
		fmt.Fprintf(&content, `{"id":"%d","text":"%s"}`+"\n", i, text)
		if size := content.Len() - at - 1; size > 4<<20 {
			want = append(want, fmt.Sprintf("%d too_large", at))
		} else {
			want = append(want, fmt.Sprintf("%d %d||%s", at, i, text))
		}
	}
	got := readAll(t, open(t, content.String(), data.ReaderOptions{MaxRecord: 4 << 20}))
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("record %d: %.60s, want %.60s", i, got[i], want[i])
		}
	}
}

func TestMissingColumn(t *testing.T) {
	for _, columns := range []data.Columns{{Text: "body"}, {ID: "body"}, {Title: "body"}, {Date: "body"}, {Rank: "body"}} {
		_, err := jsonl.Open(data.Split{Path: "-", End: -1}, data.ReaderOptions{Columns: columns, Stdin: strings.NewReader(`{"text":"x","id":"a"}` + "\n" + `{"url":"u"}`)})
		if want := `jsonl: -: no column "body" in the first 2 records; there are: id, text, url`; err == nil || err.Error() != want {
			t.Errorf("%+v: got %v, want %s", columns, err, want)
		}
	}
}

func TestKeepRaw(t *testing.T) {
	lines := []string{`{"id":"a", "text" : "x"}`, ` {"text":"\u0078","id":"b"}` + "\r"}
	r := open(t, strings.Join(lines, "\n"), data.ReaderOptions{KeepRaw: true})
	var doc data.Document
	for _, want := range lines {
		if err := r.Read(&doc); err != nil {
			t.Fatal(err)
		}
		if string(doc.Raw) != want {
			t.Errorf("Raw = %q, want %q", doc.Raw, want)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRawAlone asks for the fields of every third line only: of the others it gets Raw
// and offset, and no line is asked about twice or passed over.
func TestRawAlone(t *testing.T) {
	var content strings.Builder
	content.WriteString("\ufeff")
	for i := range 1000 {
		fmt.Fprintf(&content, "{\"id\":\"%d\",\"text\":\"%s\"}%s\n%s", i, strings.Repeat("甲 \\n", i%97), strings.Repeat("\r", i%2), strings.Repeat(" \n", i%5/4))
	}
	all := open(t, content.String(), data.ReaderOptions{KeepRaw: true})
	asked, line := 0, 0
	some := open(t, content.String(), data.ReaderOptions{KeepRaw: true, RawAlone: func() bool { asked++; return line%3 > 0 }})
	var want, got data.Document
	for {
		err, other := all.Read(&want), some.Read(&got)
		if !errors.Is(other, err) {
			t.Fatalf("line %d: %v, and %v", line, err, other)
		}
		if err != nil {
			break
		}
		if line%3 > 0 {
			want.ID, want.Text = nil, nil
		}
		if string(got.Raw) != string(want.Raw) || string(got.ID) != string(want.ID) || string(got.Text) != string(want.Text) || got.Offset != want.Offset {
			t.Fatalf("line %d: got %q of id %q, want %q", line, got.Raw, got.ID, want.Raw)
		}
		line++
	}
	if line != 1000 || asked != line || some.Digest() != all.Digest() || some.Digest() == "" {
		t.Errorf("%d lines, asked of %d, digests %s and %s", line, asked, some.Digest(), all.Digest())
	}
	if err := errors.Join(all.Close(), some.Close()); err != nil {
		t.Fatal(err)
	}
}

// FuzzRead compares with encoding/json: what is valid, and what it says.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		`{"id":"a","title":"T","text":"x","date":"2024-05-18","n":-1.5e+3}`,
		`{"text":"\ud83d\ude00\ud83d\\\"\/","a":[1,[],{}],"b":{"text":"no"},"c":true,"d":false,"e":null}`,
		`{"text":"x","text":"y"}`, `[]`, `{}`, `{"text":"`, "{\"text\":\"\xff\"}", `{"\u0074ext":"x"} `, `{"n":0e1,"m":-0}`, `{"n":-}`, `{"a":1 "b":2}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.ContainsAny(line, "\n") || len(bytes.TrimSpace(line)) == 0 || bytes.HasPrefix(line, []byte("\xef\xbb\xbf")) || len(line) < 4 || line[0] == 0x1f || line[0] == 0x28 || line[0]&0xf0 == 0x50 {
			return // no one line of plain text
		}
		r, err := jsonl.Open(data.Split{Path: "-", End: -1}, data.ReaderOptions{Stdin: bytes.NewReader(line), KeepRaw: true})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var doc data.Document
		err = r.Read(&doc)

		var fields map[string]any
		valid := json.Valid(line) && json.Unmarshal(line, &fields) == nil && fields != nil
		bad, isBad := data.IsBadRecord(err)
		switch {
		case !valid:
			if !isBad || bad.Reason != data.ReasonMalformed && bad.Reason != data.ReasonTruncated {
				t.Fatalf("encoding/json refuses it, Read returns %v", err)
			}
			return
		case err != nil && (!isBad || bad.Reason == data.ReasonTruncated):
			t.Fatalf("encoding/json takes it, Read returns %v", err)
		case isBad && bad.Reason == data.ReasonMalformed && !strings.Contains(bad.Err.Error(), "the id is"):
			t.Fatalf("encoding/json takes it, Read returns %v", err)
		}
		if text, ok := fields["text"].(string); ok && err == nil && utf8.Valid(line) && !strings.Contains(strings.ToLower(string(line)), `\u00`) && strings.Count(string(line), "text") == 1 {
			if string(doc.Text) != text {
				t.Errorf("Text = %q, encoding/json says %q", doc.Text, text)
			}
		}
		if err == nil && utf8.Valid(line) && !bytes.Equal(doc.Raw, line) {
			t.Errorf("Raw = %q", doc.Raw)
		}
	})
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	line := `{"id":"https://example.org/1","title":"标题","text":"` + strings.Repeat("正文 text \\n", 100) + `","date":"2024-05-18T01:58:10Z"}` + "\n"
	const n = 3000
	r := open(t, strings.Repeat(line, n), data.ReaderOptions{KeepRaw: true})
	defer r.Close()
	var doc data.Document
	for range 10 {
		if err := r.Read(&doc); err != nil {
			t.Fatal(err)
		}
	}
	if allocs := testing.AllocsPerRun(n-100, func() {
		if err := r.Read(&doc); err != nil {
			t.Fatal(err)
		}
	}); allocs > 0 {
		t.Errorf("%v allocations for a document", allocs)
	}
}

func benchmark(b *testing.B, text string) {
	line := fmt.Appendf(nil, `{"id":"https://example.org/a/page/%d.html","title":"标题","text":"%s","date":"2024-05-18T01:58:10Z","label":"news"}`+"\n", 12345, text)
	path := filepath.Join(b.TempDir(), "in.jsonl")
	content := bytes.Repeat(line, 64<<20/len(line))
	if err := os.WriteFile(path, content, 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	var doc data.Document
	for b.Loop() {
		r, err := jsonl.Open(data.Split{Path: path, Format: "jsonl", End: -1}, data.ReaderOptions{})
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			err = r.Read(&doc)
		}
		if !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadChinese(b *testing.B) {
	benchmark(b, strings.Repeat("这是一篇关于网页去重的文章。", 48))
}
func BenchmarkReadLines(b *testing.B) {
	benchmark(b, strings.Repeat("这是一篇关于网页去重的文章，它有几个段落。\\n", 32))
}
func BenchmarkReadASCIIEscapes(b *testing.B) {
	benchmark(b, strings.Repeat(`\u8fd9\u662f\u4e00\u7bc7\u6587\u7ae0`, 60))
}

func ExampleOpen() {
	r, err := jsonl.Open(data.Split{Path: "-", Format: "jsonl", End: -1}, data.ReaderOptions{
		Stdin: strings.NewReader(`{"url":"https://example.org/","content":"Hello"}` + "\n" + `{"broken` + "\n"),
	})
	if err != nil {
		panic(err)
	}
	defer r.Close()
	var doc data.Document
	for {
		err := r.Read(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if bad, ok := data.IsBadRecord(err); ok {
			fmt.Println("skipped:", bad)
			continue
		}
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %s\n", doc.ID, doc.Text)
	}
	// Output:
	// https://example.org/: Hello
	// skipped: - at offset 49: malformed: unexpected end of line
}

// A line with another text is read as the same document but for its text, and holds the
// same fields otherwise.
func FuzzRetexter(f *testing.F) {
	for _, s := range []string{
		`{"id":"a","title":"T","text":"x","date":"2024-05-18","n":-1.5e+3}`, `{"text":"x","text":"y"}`, `{"body":"\ud83d\ude00","text" : "\\"}`,
		"{\"text\":\"\xff\"}", `{"\u0074ext":"x"} `, `{"content":"y"}`, `{"text":null,"content":"y"}`, `{}`, `{"text":1}`,
	} {
		f.Add([]byte(s), []byte("a \"text\"\\\n\x01\xff"))
	}
	read := func(t *testing.T, line []byte) (doc data.Document, err error) {
		r, err := jsonl.Open(data.Split{Path: "-", End: -1, Encoding: "utf-8"}, data.ReaderOptions{Stdin: bytes.NewReader(line), Encoding: "utf-8"})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		err = r.Read(&doc)
		return doc, err
	}
	f.Fuzz(func(t *testing.T, line, text []byte) {
		if bytes.ContainsAny(line, "\n") || len(bytes.TrimSpace(line)) == 0 || line[0] == 0x1f || line[0] == 0x28 || line[0]&0xf0 == 0x50 || !utf8.Valid(line) || !utf8.Valid(text) {
			return // no one line of plain text
		}
		was, err := read(t, line)
		other, failed := jsonl.NewRetexter(data.Columns{}).Append(nil, line, text)
		if err != nil {
			return
		}
		if failed != nil {
			t.Fatalf("a document is read of it, and it takes no text: %v", failed)
		}
		got, err := read(t, other)
		if err != nil || string(got.Text) != string(text) || string(got.Title) != string(was.Title) || !strings.HasPrefix(string(got.ID), "stdin#") && string(got.ID) != string(was.ID) {
			t.Fatalf("%s: got %q, %v", other, got.Text, err)
		}
		same, err := jsonl.NewRetexter(data.Columns{}).Append(nil, other, was.Text)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := jsonl.NewRetexter(data.Columns{}).Append(nil, same, text); err != nil || !bytes.Equal(again, other) {
			t.Fatalf("%s is %s, %v", other, again, err)
		}
	})
}
