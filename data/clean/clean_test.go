package clean_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/clean"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func gz(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, s); err != nil {
		panic(err)
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

func zst(s string) string {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	defer z.Close()
	return string(z.EncodeAll([]byte(s), nil))
}

// inEncoding is text in another encoding.
func inEncoding(name, text string) string {
	enc, err := htmlindex.Get(name)
	if err != nil {
		panic(err)
	}
	out, err := enc.NewEncoder().String(text)
	if err != nil {
		panic(err)
	}
	return out
}

// unpack undoes a file's compression by its name.
func unpack(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r io.Reader = bytes.NewReader(content)
	switch filepath.Ext(path) {
	case ".gz":
		if r, err = gzip.NewReader(r); err != nil {
			t.Fatal(err)
		}
	case ".zst":
		z, err := zstd.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		r = z
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// run cleans a file: every document whose id starts with "keep" stays.
func run(t *testing.T, path string, o data.ReaderOptions) (to string, kept int64) {
	t.Helper()
	splits, err := source.Expand([]string{path}, source.ExpandOptions{})
	if err != nil || len(splits) != 1 {
		t.Fatal(splits, err)
	}
	o.KeepRaw = true
	r, err := source.Open(splits[0], o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	to = filepath.Join(t.TempDir(), "part-00000"+clean.Extension(splits[0]))
	w, err := clean.Create(to, splits[0], o, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	var doc data.Document
	for {
		err := r.Read(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if _, bad := data.IsBadRecord(err); bad {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(string(doc.ID), "keep") {
			if err := w.Keep(&doc); err != nil {
				t.Fatal(err)
			}
			kept++
		}
	}
	if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("before Commit: %v", err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	return to, kept
}

func TestOwnForm(t *testing.T) {
	jsonl := `{"id":"keep1", "n":1.0, "text":"\u4e2d"}` + "\n" + `{"id":"drop","text":"x"}` + "\n{bad\n" + ` {"text":"y","id":"keep2"}`
	jsonlKept := `{"id":"keep1", "n":1.0, "text":"\u4e2d"}` + "\n" + ` {"text":"y","id":"keep2"}` + "\n"
	csv := "id,text,n\r\nkeep1,\"a\r\nb\",1\r\ndrop,x,2\r\n\r\n\"keep2\",y,\"3\""
	csvKept := "id,text,n\r\nkeep1,\"a\r\nb\",1\r\n\"keep2\",y,\"3\"\r\n"
	record := func(id, text string) string {
		return fmt.Sprintf("WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: %s\r\nWARC-Date: 2024-05-18T01:58:10Z\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", id, len(text), text)
	}
	wet := gz(record("keep1", "one\n\"two\"")) + gz(record("drop", "x")) + gz(record("keep2", "中"))
	wetKept := `{"id":"keep1","text":"one\n\"two\"","date":"2024-05-18T01:58:10Z"}` + "\n" + `{"id":"keep2","text":"中","date":"2024-05-18T01:58:10Z"}` + "\n"
	// What is not UTF-8 is written in UTF-8.
	const sentence = "今天天气很好，我们去公园看书和散步"
	chinese := `{"id":"keep1","text":"` + sentence + `"}` + "\n" + `{"id":"drop","text":"x"}` + "\n" + `{"id":"keep2","标题":"` + sentence + `","text":"y"}` + "\n"
	chineseKept := `{"id":"keep1","text":"` + sentence + `"}` + "\n" + `{"id":"keep2","标题":"` + sentence + `","text":"y"}` + "\n"
	chineseCSV := "id,text,标题\r\nkeep1,\"" + sentence + "\r\n\",\r\ndrop,x,\r\nkeep2,y," + sentence + "\r\n"
	chineseCSVKept := "id,text,标题\r\nkeep1,\"" + sentence + "\r\n\",\r\nkeep2,y," + sentence + "\r\n"
	for _, c := range []struct{ name, content, ext, want string }{
		{"a.jsonl", jsonl, ".jsonl", jsonlKept},
		{"a.jsonl.gz", gz(jsonl), ".jsonl.gz", jsonlKept},
		{"a.jsonl.zst", zst(jsonl), ".jsonl.zst", jsonlKept},
		{"crlf.jsonl", strings.ReplaceAll(jsonl, "\n", "\r\n") + "\r\n", ".jsonl", strings.ReplaceAll(jsonlKept, "\n", "\r\n")},
		{"a.csv", csv, ".csv", csvKept},
		{"a.csv.gz", gz(csv), ".csv.gz", csvKept},
		{"a.tsv", "id\ttext\nkeep1\tx\ndrop\ty\n", ".tsv", "id\ttext\nkeep1\tx\n"},
		{"gb18030.jsonl", inEncoding("gb18030", chinese), ".jsonl", chineseKept},
		{"utf-16le.jsonl", inEncoding("utf-16le", "\ufeff"+chinese), ".jsonl", chineseKept},
		{"utf-16be.jsonl.gz", gz(inEncoding("utf-16be", strings.ReplaceAll(chinese, "\n", "\r\n"))), ".jsonl.gz", strings.ReplaceAll(chineseKept, "\n", "\r\n")},
		{"gb18030.csv", inEncoding("gb18030", chineseCSV), ".csv", chineseCSVKept},
		{"utf-16le.csv", inEncoding("utf-16le", "\ufeff"+chineseCSV), ".csv", chineseCSVKept},
		{"none.csv", "id,text\ndrop,x\n", ".csv", "id,text\n"},
		{"a.warc.wet.gz", wet, ".jsonl.gz", wetKept},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.name)
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			to, kept := run(t, path, data.ReaderOptions{})
			if !strings.HasSuffix(to, "part-00000"+c.ext) {
				t.Errorf("wrote %s, want %s", to, c.ext)
			}
			if got := unpack(t, to); got != c.want {
				t.Errorf("got\n%q\nwant\n%q", got, c.want)
			}
			if want := int64(strings.Count(c.want, "keep")); kept != want {
				t.Errorf("kept %d, want %d", kept, want)
			}
			// What was written is read again as the same documents.
			if again, n := run(t, to, data.ReaderOptions{}); unpack(t, again) != c.want || n != kept {
				t.Error("the clean dump of the clean dump differs")
			}
		})
	}
}

func TestParquet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	w, err := parquet.Create(path, &data.Fingerprints, parquet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		row := data.FingerprintRow{DocID: fmt.Appendf(nil, "%s%d", []string{"keep", "drop", "drop"}[i%3], i), Title: []byte("t"), Lo: uint64(i), Date: data.NoDate, Rank: math.NaN()}
		if err := w.Write(&row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	to, kept := run(t, path, data.ReaderOptions{Columns: data.Columns{ID: "doc_id", Text: "title"}})
	if kept != 334 || filepath.Ext(to) != ".parquet" {
		t.Errorf("kept %d in %s", kept, to)
	}
	i := uint64(0)
	if err := parquet.ReadFingerprints(t.Context(), to, parquet.ReadOptions{}, func(row *data.FingerprintRow) error {
		if string(row.DocID) != fmt.Sprintf("keep%d", i) || row.Lo != i {
			return fmt.Errorf("got %s, want keep%d", row.DocID, i)
		}
		i += 3
		return nil
	}); err != nil || i != 1002 {
		t.Error(i, err)
	}
}

// annotated cleans a file as run does, and says of each document that stays how often
// it was seen: the first a row of numbers, the second none of a library.
func annotated(t *testing.T, path string) string {
	t.Helper()
	splits, err := source.Expand([]string{path}, source.ExpandOptions{})
	if err != nil || len(splits) != 1 {
		t.Fatal(splits, err)
	}
	o := data.ReaderOptions{KeepRaw: true}
	r, err := source.Open(splits[0], o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	to := filepath.Join(t.TempDir(), "part-00000"+clean.Extension(splits[0]))
	w, err := clean.CreateAnnotated(to, splits[0], o, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	rows := map[string]data.SeenRow{
		"keep1": {Copies: 3, Sites: 2, FirstSeen: "2026-11-01", LastSeen: "2026-11-20", Nights: 4},
		"keep2": {Copies: 1, Nights: 1},
	}
	var doc data.Document
	for err = r.Read(&doc); err == nil; err = r.Read(&doc) {
		if row, ok := rows[string(doc.ID)]; ok {
			if err := w.KeepSeen(&doc, &row); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if err := w.Keep(&doc); err == nil {
		t.Error("a document that nothing is said of")
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	return to
}

// Each format has the fields behind its own.
func TestAnnotated(t *testing.T) {
	const one = `"neardup_copies":3,"neardup_sites":2,"neardup_first_seen":"2026-11-01","neardup_last_seen":"2026-11-20","neardup_nights":4}`
	const two = `"neardup_copies":1,"neardup_sites":0,"neardup_nights":1}`
	record := func(id string) string {
		return fmt.Sprintf("WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: %s\r\nWARC-Date: 2024-05-18T01:58:10Z\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\nx\r\n\r\n", id)
	}
	const date = `"date":"2024-05-18T01:58:10Z",`
	const names = "neardup_copies,neardup_sites,neardup_first_seen,neardup_last_seen,neardup_nights"
	for _, c := range []struct{ name, content, want string }{
		{"a.jsonl", `{"id":"keep1","text":"a}"} ` + "\r\n" + `{"id":"drop","text":"x"}` + "\r\n" + `{"text":"y","id":"keep2"}`, `{"id":"keep1","text":"a}",` + one + " \r\n" + `{"text":"y","id":"keep2",` + two + "\n"},
		{"a.jsonl.gz", gz(`{"id":"keep1","text":"{}"}` + "\n"), `{"id":"keep1","text":"{}",` + one + "\n"},
		{"a.csv", "id,text\r\nkeep1,\"a\r\nb\"\r\ndrop,x\r\nkeep2,y", "id,text," + names + "\r\nkeep1,\"a\r\nb\",3,2,2026-11-01,2026-11-20,4\r\nkeep2,y,1,0,,,1\r\n"},
		{"a.tsv", "id\ttext\nkeep2\ty\n", "id\ttext\t" + strings.ReplaceAll(names, ",", "\t") + "\nkeep2\ty\t1\t0\t\t\t1\n"},
		{"b.jsonl", `{"neardup_copies":9,"id":"keep1","text":"a","more":{"neardup_sites":[1]} , "neardup_nights" : 7 } ` + "\n" + `{"id":"keep2","neardup\u005fcopies":"\"","text":"neardup_"}`,
			`{"id":"keep1","text":"a","more":{"neardup_sites":[1]} ,` + one + " \n" + `{"id":"keep2","text":"neardup_",` + two + "\n"},
		{"b.csv", "neardup_copies,id,\"neardup_nights\",text\n9,keep1,\"1,2\",\"a,\"\"\n\"\"b\"\n,keep2,,y\n", "id,text," + names + "\nkeep1,\"a,\"\"\n\"\"b\",3,2,2026-11-01,2026-11-20,4\nkeep2,y,1,0,,,1\n"},
		{"a.warc.wet", record("keep1") + record("drop") + record("keep2"), `{"id":"keep1","text":"x",` + date + one + "\n" + `{"id":"keep2","text":"x",` + date + two + "\n"},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := unpack(t, annotated(t, path)); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// A Parquet file has them as columns; one that has such a column already is refused.
func TestAnnotatedParquet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	w, err := parquet.Create(path, &data.Texts, parquet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"drop", "keep1", "drop", "keep2"} {
		if err := w.Write(&data.TextRow{DocID: []byte(id), Text: []byte("text of " + id)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	to := annotated(t, path)
	r, err := parquet.OpenValues(to)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []string
	row, err := r.Read()
	for ; err == nil; row, err = r.Read() {
		got = append(got, fmt.Sprint(row...))
	}
	want := []string{
		"keep1 <nil> text of keep1 0 0 3 2 2026-11-01 2026-11-20 4",
		"keep2 <nil> text of keep2 0 0 1 0 <nil> <nil> 1",
	}
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], " ", "")
		if i >= len(got) || strings.ReplaceAll(got[i], " ", "") != strings.ReplaceAll(want[i], " ", "") {
			t.Fatalf("got %q, want %q, columns %q", got, want, r.Names)
		}
	}
	split := data.Split{Path: to, Format: source.FormatParquet, End: -1}
	again, err := clean.CreateAnnotated(filepath.Join(t.TempDir(), "again.parquet"), split, data.ReaderOptions{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Commit(); err == nil || !strings.Contains(err.Error(), "neardup_copies already") {
		t.Errorf("a column of that name: %v", err)
	}
}

func TestStandardInput(t *testing.T) {
	if _, err := clean.Create("x", data.Split{Path: "-", Format: source.FormatJSONL}, data.ReaderOptions{}, 1); !errors.Is(err, clean.ErrStandardInput) {
		t.Errorf("got %v", err)
	}
}

func ExampleCreate() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	in := filepath.Join(dir, "pages.csv")
	if err := os.WriteFile(in, []byte("id,text\na,one\nb,two\n"), 0o600); err != nil {
		panic(err)
	}
	split := data.Split{Path: in, Format: source.FormatCSV, End: -1}
	o := data.ReaderOptions{KeepRaw: true}
	r, err := source.Open(split, o)
	if err != nil {
		panic(err)
	}
	defer r.Close()
	path := filepath.Join(dir, "part-00000"+clean.Extension(split))
	w, err := clean.Create(path, split, o, 1)
	if err != nil {
		panic(err)
	}
	defer w.Abort()
	var doc data.Document
	for r.Read(&doc) == nil {
		if string(doc.ID) != "a" {
			if err := w.Keep(&doc); err != nil {
				panic(err)
			}
		}
	}
	if err := w.Commit(); err != nil {
		panic(err)
	}
	text, err := os.ReadFile(path)
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// id,text
	// b,two
	// <nil>
}
