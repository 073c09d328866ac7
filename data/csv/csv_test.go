package csv_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	neardupcsv "github.com/neardup/neardup/data/csv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(content, format string, o data.ReaderOptions) (*neardupcsv.Reader, error) {
	o.Stdin = strings.NewReader(content)
	return neardupcsv.Open(data.Split{Path: "-", Format: format, Size: -1, End: -1}, o)
}

// readAll returns a line for every document and bad record.
func readAll(t testing.TB, r data.Reader) []string {
	t.Helper()
	var out []string
	var doc data.Document
	for {
		err := r.Read(&doc)
		if bad, ok := data.IsBadRecord(err); ok {
			out = append(out, fmt.Sprintf("%d %s %q", bad.Offset, bad.Reason, bad.Raw))
			continue
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			out = append(out, err.Error())
			break
		}
		out = append(out, fmt.Sprintf("%d %s|%s|%s|%q", doc.Offset, doc.ID, doc.Title, doc.Text, doc.Raw))
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	return out
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, content, format string
		options               data.ReaderOptions
		want                  []string
	}{
		{"plain", "id,title,text\na,T,x\nb,,y", "csv", data.ReaderOptions{}, []string{`14 a|T|x|"a,T,x"`, `20 b||y|"b,,y"`}},
		{"byte order mark, crlf, blank lines", "\xef\xbb\xbfid,text\r\n\r\na,x\r\n\r\n\r\nb,y\r\n", "csv", data.ReaderOptions{}, []string{`14 a||x|"a,x"`, `23 b||y|"b,y"`}},
		{"quotes and line ends inside", "id,text\n\"a\"\"1\",\"x\n,y\r\nz\"\nb,y\n", "csv", data.ReaderOptions{}, []string{"8 a\"1||x\n,y\nz|\"\\\"a\\\"\\\"1\\\",\\\"x\\n,y\\r\\nz\\\"\"", `25 b||y|"b,y"`}},
		{"tabs", "id\ttext\na\tx,y\n", "tsv", data.ReaderOptions{}, []string{`8 a||x,y|"a\tx,y"`}},
		{"ragged", "id,text\na\nb,y,z\nc,x\n", "csv", data.ReaderOptions{}, []string{`8 malformed "a"`, `10 malformed "b,y,z"`, `16 c||x|"c,x"`}},
		{"stray quote", "id,text\na,x\"y\nb,\"x\" y\nc,x\n", "csv", data.ReaderOptions{}, []string{`8 malformed "a,x\"y"`, `14 malformed "b,\"x\" y"`, `22 c||x|"c,x"`}},
		{"open quote", "id,text\na,x\nb,\"y\nc,z\n", "csv", data.ReaderOptions{}, []string{`8 a||x|"a,x"`, `12 malformed "b,\"y\nc,z"`}},
		{"no id", "text\nx\n", "csv", data.ReaderOptions{}, []string{`5 stdin#5||x|"x"`}},
		{"names", "k,body,id,text\na,x,no,no\n", "csv", data.ReaderOptions{Columns: data.Columns{ID: "k", Text: "body"}}, []string{`15 a||x|"a,x,no,no"`}},
		{"letter case", "URL,Content\na,x\n", "csv", data.ReaderOptions{}, []string{`12 a||x|"a,x"`}},
		{"too large", "id,text\na," + strings.Repeat("x", 70) + "\nb,y\n", "csv", data.ReaderOptions{MaxRecord: 60}, []string{`8 too_large "a,` + strings.Repeat("x", 70) + `"`, `81 b||y|"b,y"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.options.KeepRaw = true
			r, err := open(c.content, c.format, c.options)
			if err != nil {
				t.Fatal(err)
			}
			got := readAll(t, r)
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	for _, c := range []struct{ content, column, want string }{
		{"", "", "csv: -: no header row: the file is empty"},
		{"id,url\n", "", "csv: -: no column text, content, body, raw_content, article: name the column that holds the text; there are: id, url"},
		{"id,text\n", "words", `csv: -: no column "words"; there are: id, text`},
		{"\"open\n", "", "csv: -: header row: "},
	} {
		_, err := open(c.content, "csv", data.ReaderOptions{Columns: data.Columns{Text: c.column}})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.content, err, c.want)
		}
	}
}

// TestEndlessQuote must not read a whole dump into one row.
func TestEndlessQuote(t *testing.T) {
	r, err := open("id,text\na,\""+strings.Repeat("x\n", 4<<20), "csv", data.ReaderOptions{MaxRecord: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, r); len(got) != 1 || !strings.Contains(got[0], "at offset 8: a row of more than 1048576 bytes, perhaps an open quote") {
		t.Errorf("got %.200q", got)
	}
}

// TestAgainstWriter writes rows with encoding/csv and reads them back, with
// the raw rows where the offsets say.
func TestAgainstWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		field := rapid.StringOf(rapid.RuneFrom([]rune("ab,\"\n\t 文")))
		rows := rapid.SliceOf(rapid.SliceOfN(field, 3, 3)).Draw(t, "rows")
		var b strings.Builder
		w := csv.NewWriter(&b)
		w.UseCRLF = false
		if err := w.Write([]string{"id", "title", "text"}); err != nil {
			t.Fatal(err)
		}
		if err := w.WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		r, err := open(b.String(), "csv", data.ReaderOptions{KeepRaw: true})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var doc data.Document
		for i, row := range rows {
			if err := r.Read(&doc); err != nil {
				t.Fatalf("row %d: %v", i, err)
			}
			id := row[0]
			if id == "" {
				id = fmt.Sprintf("stdin#%d", doc.Offset)
			}
			if string(doc.ID) != id || string(doc.Title) != row[1] || string(doc.Text) != row[2] {
				t.Fatalf("row %d: got %q %q %q, want %q", i, doc.ID, doc.Title, doc.Text, row)
			}
			if at := b.String()[doc.Offset:]; !strings.HasPrefix(at, string(doc.Raw)+"\n") {
				t.Fatalf("row %d: raw %q, at its offset is %.40q", i, doc.Raw, at)
			}
		}
		if err := r.Read(&doc); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last row: %v", err)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add("id,text\na,x\n\"b\",\"y\ny\"\n", false)
	f.Add("id\ttext\r\na\tx\r\n", true)
	f.Add("text\n\"", false)
	f.Fuzz(func(t *testing.T, content string, tabs bool) {
		format := "csv"
		if tabs {
			format = "tsv"
		}
		r, err := open(content, format, data.ReaderOptions{MaxRecord: 1 << 12, KeepRaw: true})
		if err != nil {
			return
		}
		var doc data.Document
		last := int64(-1)
		for {
			err := r.Read(&doc)
			if bad, ok := data.IsBadRecord(err); ok {
				if bad.Offset <= last {
					t.Fatalf("offset %d after %d", bad.Offset, last)
				}
				last = bad.Offset
				continue
			}
			if err != nil {
				break
			}
			if doc.Offset <= last {
				t.Fatalf("offset %d after %d", doc.Offset, last)
			}
			last = doc.Offset
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestFingerprints(t *testing.T) {
	for _, c := range []struct {
		name, content string
		columns       data.ForeignColumns
		want          string
	}{
		{"decimal", "doc_id,fingerprint\na,18446744073709551615\nb,-1\nc,7\n", data.ForeignColumns{}, "a ffffffffffffffff b ffffffffffffffff c 7"},
		{"hexadecimal, told by one value", "url,simhash\na,1234567890123456\nb,00000000000000ff\n", data.ForeignColumns{}, "a 1234567890123456 b ff"},
		{"hexadecimal, told by the caller", "url,simhash\na,1234567890123456\n", data.ForeignColumns{Hex: true}, "a 1234567890123456"},
		{"prefixed", "k,h,fingerprint\na,0xff,1\n", data.ForeignColumns{ID: "k", Fingerprint: "h"}, "a ff"},
		{"missing", "id,hash2\na,1\n", data.ForeignColumns{}, `no column "fingerprint"; there are: id, hash2`},
		{"wrong", "id,hash\na,1\nb,x\n", data.ForeignColumns{}, "a 1 at offset 12: fingerprint \"x\": not a decimal 64-bit number"},
		{"no id", "id,hash\n,1\n", data.ForeignColumns{}, "at offset 8: a row without an id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "prints.csv")
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := neardupcsv.OpenFingerprints(data.Split{Path: path, Format: "csv", End: -1}, c.columns)
			if err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %s", err, c.want)
				}
				return
			}
			defer r.Close()
			var got []string
			for {
				var row data.FingerprintRow
				err := r.Read(&row)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					got = append(got, strings.TrimPrefix(err.Error(), "csv: "+path+" "))
					break
				}
				got = append(got, fmt.Sprintf("%s %x", row.DocID, row.Lo))
			}
			if s := strings.Join(got, " "); !strings.HasPrefix(s, c.want) {
				t.Errorf("got %s, want %s", s, c.want)
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	row := "https://example.org/page,标题,\"" + strings.Repeat("这是一篇关于网页去重的文章。", 48) + "\"\n"
	content := "id,title,text\n" + strings.Repeat(row, 16<<20/len(row))
	b.SetBytes(int64(len(content)))
	var doc data.Document
	for b.Loop() {
		r, err := open(content, "csv", data.ReaderOptions{})
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			err = r.Read(&doc)
		}
		if !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
	}
}

func ExampleReader() {
	r, err := open("url,content\nhttps://example.org/,\"Hello, world!\"\n", "csv", data.ReaderOptions{})
	if err != nil {
		panic(err)
	}
	defer r.Close()
	var doc data.Document
	if err := r.Read(&doc); err != nil {
		panic(err)
	}
	fmt.Printf("%s: %s\n", doc.ID, doc.Text)
	// Output: https://example.org/: Hello, world!
}
