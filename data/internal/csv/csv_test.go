package csv_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	neardupcsv "github.com/neardup/neardup/data/internal/csv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(content, format string, o data.ReaderOptions) (data.SourceReader, error) {
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
		{"open quote", "id,text\na,x\nb,\"y\nc,z\n", "csv", data.ReaderOptions{}, []string{`8 a||x|"a,x"`, `12 malformed "b,\"y"`, `17 c||z|"c,z"`}},
		{"open quote in front of a quoted field", "id,text\nb,\"y\nc,z\nd,\"w\"\n", "csv", data.ReaderOptions{}, []string{`8 malformed "b,\"y"`, `13 c||z|"c,z"`, `17 d||w|"d,\"w\""`}},
		{"open quote behind a field of two lines", "id,n,text\na,\"1\n2\",\"y\nc,3,z\nd,4,z\n", "csv", data.ReaderOptions{}, []string{`10 malformed "a,\"1\n2\",\"y"`, `21 c||z|"c,3,z"`, `27 d||z|"d,4,z"`}},
		{"open quote that another row's closes", "id,text\na,\"x\nb,y\nc,z\nd,w\ne,\",\n", "csv", data.ReaderOptions{}, []string{`8 malformed "a,\"x"`, `13 b||y|"b,y"`, `17 c||z|"c,z"`, `21 d||w|"d,w"`, `25 malformed "e,\","`}},
		{"open quote, no rows behind it", "id,text\na,\"one\ntwo\nthree\n", "csv", data.ReaderOptions{}, []string{`8 malformed "a,\"one\ntwo\nthree"`}},
		{"quotes in a text of several lines", "id,text\na,\"one\nand \"two\", ok\nb,x\n", "csv", data.ReaderOptions{}, []string{`8 malformed "a,\"one\nand \"two\", ok"`, `29 b||x|"b,x"`}},
		{"carriage returns", "id,text\r\na,\"x\ry\r\nz\"\r\nb,y\r", "csv", data.ReaderOptions{}, []string{`9 a||x` + "\ry\nz" + `|"a,\"x\ry\r\nz\""`, `21 b||y|"b,y"`}},
		{"no id", "text\nx\n", "csv", data.ReaderOptions{}, []string{`5 stdin#5||x|"x"`}},
		{"names", "k,body,id,text\na,x,no,no\n", "csv", data.ReaderOptions{Columns: data.Columns{ID: "k", Text: "body"}}, []string{`15 a||x|"a,x,no,no"`}},
		{"letter case", "URL,Content\na,x\n", "csv", data.ReaderOptions{}, []string{`12 a||x|"a,x"`}},
		{"too large", "id,text\na," + strings.Repeat("x", 70) + "\nb,y\n", "csv", data.ReaderOptions{MaxRecord: 60}, []string{`8 too_large "a,` + strings.Repeat("x", 58) + `"`, `81 b||y|"b,y"`}},
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
	const noText, name = "csv: -: no column text, content, body, raw_content, article; there are: ", ": name the one that holds the text"
	for _, c := range []struct {
		content, column string
		bare            bool
		want            string
	}{
		{"id,url\n", "", false, noText + "id, url" + name},
		{"id,url\n", "", true, noText + "1, 2" + name},
		{"id,text\n", "words", false, `csv: -: no column "words"; there are: id, text`},
		{"\"open\n", "", false, "csv: -: header row: a quote that nothing closes: mend that row, or leave the file out"},
	} {
		_, err := open(c.content, "csv", data.ReaderOptions{NoHeader: c.bare, Columns: data.Columns{Text: c.column}})
		if err == nil || err.Error() != c.want {
			t.Errorf("%q: got %v, want %s", c.content, err, c.want)
		}
	}
}

// TestLongFields reads rows beyond the limit, with the rows behind them, and
// never holds much more than the limit.
func TestLongFields(t *testing.T) {
	const limit = 1 << 18
	long := strings.Repeat("x", 8*limit)
	lines := strings.Repeat("lorem ipsum dolor sit amet\n", 8*limit/27)
	var numbered strings.Builder
	for i := range 25_000 {
		fmt.Fprintf(&numbered, "%d,z\n", i)
	}
	rows := numbered.String()
	for name, c := range map[string]struct {
		content string
		want    string // reasons and numbers of records
	}{
		"quoted":                        {"a,\"" + long + "\"\nb,y\n", "too_large 1 ok 1"},
		"not quoted":                    {"a," + long + "\nb,y\n", "too_large 1 ok 1"},
		"quoted lines":                  {"a,\"" + lines + "\"\nb,y\n", "too_large 1 ok 1"},
		"quoted lines with quotes":      {"a,\"" + strings.ReplaceAll(lines, "dolor", `""dolor""`) + "\"\nb,y\n", "too_large 1 ok 1"},
		"quoted lines of two fields":    {"a,\"" + strings.ReplaceAll(lines, "ipsum", "ipsum,") + "\"\nb,y\n", "too_large 1 ok 1"},
		"to the end":                    {"a,\"" + long, "too_large 1"},
		"lines to the end":              {"a,\"" + lines, "too_large 1"},
		"open quote, rows":              {"a,\"x\n" + rows, "malformed 1 ok 25000"},
		"open quote, long, then rows":   {"a,\"" + long + "\n" + rows, "too_large 1 ok "},
		"open quote, lines, then rows":  {"a,\"" + lines + rows + rows, "too_large 1 ok 49"},
		"broken quoting in a long line": {"a,\"x\" " + long + "\nb,y\n", "too_large 1 ok 1"},
		"many open quotes":              {strings.Repeat("a,\"x\n", 120_000), "malformed 60000"},
		"many open quotes between rows": {strings.Repeat("a,\"x\nb,y\nc,z\n", 50_000), "malformed 50000 ok 100000"},
		"quotes that reach to the next": {strings.Repeat("\",\"\n", 120_000), "malformed 120000"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r, err := open("id,text\n"+c.content, "csv", data.ReaderOptions{MaxRecord: limit})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			counts := make(map[string]int)
			var doc data.Document
			for {
				err := r.Read(&doc)
				if errors.Is(err, io.EOF) {
					break
				}
				if bad, ok := data.IsBadRecord(err); ok {
					counts[bad.Reason]++
				} else if err != nil {
					t.Fatal(err)
				} else {
					counts["ok"]++
				}
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 32*limit+uint64(500*counts[data.ReasonMalformed]) {
				t.Errorf("%d bytes allocated", n)
			}
			got := ""
			for _, reason := range []string{data.ReasonMalformed, data.ReasonTooLarge, "ok"} {
				if counts[reason] > 0 {
					got += fmt.Sprintf("%s %d ", reason, counts[reason])
				}
			}
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestAgainstEncodingCSV reads anything, in pieces of any size, as
// encoding/csv does, up to the first row whose quoting is broken.
func TestAgainstEncodingCSV(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString("a,b,c\n")
		pieces := []string{"a", "文", ",", ",", "\"", "\"", "\"\"", ",\"", "\",", "\n", "\r\n", "\"\n", "\r", " "}
		for _, i := range rapid.SliceOf(rapid.IntRange(0, len(pieces)-1)).Draw(t, "pieces") {
			b.WriteString(pieces[i])
		}
		againstEncodingCSV(t, b.String())
	})
}

type fataler interface {
	Fatalf(format string, args ...any)
}

func againstEncodingCSV(t fataler, content string) {
	want := csv.NewReader(strings.NewReader(content))
	want.FieldsPerRecord = -1
	header, err := want.Read()
	if err != nil || len(header) != 3 || strings.Join(header, "") != "abc" {
		return
	}
	r, err := neardupcsv.Open(data.Split{Path: "-", Format: "csv", Size: -1, End: -1},
		data.ReaderOptions{Stdin: iotest.OneByteReader(strings.NewReader(content)), Columns: data.Columns{ID: "a", Title: "b", Text: "c"}})
	if err != nil {
		t.Fatalf("%q: %v", content, err)
	}
	defer r.Close()
	var doc data.Document
	for {
		row, wantErr := want.Read()
		err := r.Read(&doc)
		var syntax *csv.ParseError
		bad, isBad := data.IsBadRecord(err)
		switch {
		case errors.As(wantErr, &syntax):
			if !isBad {
				t.Fatalf("%q: encoding/csv says %v, Read %v", content, wantErr, err)
			}
			return
		case errors.Is(wantErr, io.EOF):
			if !errors.Is(err, io.EOF) {
				t.Fatalf("%q: encoding/csv is at the end, Read says %v", content, err)
			}
			return
		case len(row) != 3:
			if !isBad || bad.Reason != data.ReasonMalformed {
				t.Fatalf("%q: a row of %d fields, Read says %v", content, len(row), err)
			}
			if strings.Contains(strings.Join(row, ""), "\n") {
				return // it may be read otherwise
			}
		default:
			if err != nil {
				t.Fatalf("%q: %q, Read says %v", content, row, err)
			}
			if row[0] == "" {
				row[0] = fmt.Sprintf("stdin#%d", doc.Offset)
			}
			if string(doc.ID) != row[0] || string(doc.Title) != row[1] || string(doc.Text) != row[2] {
				t.Fatalf("%q: got %q %q %q, want %q", content, doc.ID, doc.Title, doc.Text, row)
			}
		}
	}
}

func FuzzAgainstEncodingCSV(f *testing.F) {
	f.Add("a,\"b\"\"\r\n\",c\r\n\n,,\r")
	f.Fuzz(func(t *testing.T, rows string) {
		if !utf8.ValidString(rows) || strings.ContainsAny(rows, "\x00\x1b") {
			return // it would be decoded
		}
		againstEncodingCSV(t, "a,b,c\n"+rows)
	})
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
		{"missing", "id,hash2\na,1\n", data.ForeignColumns{}, `no column fingerprint, simhash, hash; there are: id, hash2: name the one that holds the fingerprint`},
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

func ExampleOpen() {
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

func TestSeekRowOfFingerprints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prints.csv")
	if err := os.WriteFile(path, []byte("id,fingerprint\na,1\nb,2\nc,3\nd,4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := neardupcsv.OpenFingerprints(data.Split{Path: path, Format: "csv", End: -1}, data.ForeignColumns{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, want := range []struct {
		row int64
		lo  uint64
	}{{1, 2}, {2, 3}, {3, 4}} {
		var row data.FingerprintRow
		if err := errors.Join(r.SeekRow(want.row), r.Read(&row)); err != nil || row.Lo != want.lo {
			t.Errorf("row %d: %d, %v", want.row, row.Lo, err)
		}
	}
	if err := errors.Join(r.SeekRow(9), r.Read(new(data.FingerprintRow))); !errors.Is(err, io.EOF) {
		t.Errorf("behind the last row: %v", err)
	}
}
