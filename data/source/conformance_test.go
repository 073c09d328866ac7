package source_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/xxh3"
	"go.uber.org/goleak"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// documents is how many there are in every input of the suite.
const documents = 500

func id(i int) string   { return fmt.Sprintf("https://example.org/%d", i) }
func text(i int) string { return strings.Repeat(fmt.Sprintf("第 %d 句。", i), i%50+1) }

// input is one input of the suite: the same documents in some format, with
// bad records where the format can have them.
type input struct {
	name, format string
	content      []byte // of the file, when write does not make it
	write        func(t *testing.T, path string)
	options      data.ReaderOptions
	bad          []string // their reasons, in order
}

func gzipped(members ...[]byte) []byte {
	var b bytes.Buffer
	for _, m := range members {
		z := gzip.NewWriter(&b)
		if _, err := z.Write(m); err != nil {
			panic(err)
		}
		if err := z.Close(); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

func zstandard(frames ...[]byte) (packed []byte) {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	defer z.Close()
	for _, f := range frames {
		packed = z.EncodeAll(f, packed)
	}
	return packed
}

// encoded is text in another encoding.
func encoded(name string, text []byte) []byte {
	enc, err := htmlindex.Get(name)
	if err != nil {
		panic(err)
	}
	out, err := enc.NewEncoder().Bytes(text)
	if err != nil {
		panic(err)
	}
	return out
}

// warcRecord is one record with its end.
func warcRecord(kind, uri, contentType, block string) []byte {
	return fmt.Appendf(nil, "WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: %s\r\nWARC-Date: 2024-05-18T01:58:10Z\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", kind, uri, contentType, len(block), block)
}

func inputs() []input {
	var jsonl, csv, tsv bytes.Buffer
	var warc, wet [][]byte
	csv.WriteString("id,title,text\r\n")
	tsv.WriteString("id\ttitle\ttext\n")
	warc = append(warc, warcRecord("warcinfo", "", "application/warc-fields", "software: none\r\n"))
	for i := range documents {
		if i == documents/2 {
			jsonl.WriteString("{broken\n\n{\"id\":\"x\"}\n")
			csv.WriteString("too,few\r\n")
			tsv.WriteString("a\"b\t\t\n")
			warc = append(warc, warcRecord("request", id(i), "application/http", "GET / HTTP/1.1\r\n\r\n"),
				warcRecord("response", id(i), "application/http", "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n\r\nno"))
			wet = append(wet, warcRecord("warcinfo", "", "application/warc-fields", "software: none\r\n"))
		}
		fmt.Fprintf(&jsonl, `{"id":%q,"title":"t%d","text":%q}`+"\n", id(i), i, text(i))
		fmt.Fprintf(&csv, "%s,t%d,\"%s\"\r\n", id(i), i, text(i))
		fmt.Fprintf(&tsv, "%s\tt%d\t%s\n", id(i), i, text(i))
		warc = append(warc, warcRecord("response", id(i), "application/http; msgtype=response",
			"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"+text(i)))
		wet = append(wet, warcRecord("conversion", id(i), "text/plain", text(i)))
	}
	jsonlBad := []string{data.ReasonMalformed, data.ReasonNoText}
	warcBad := []string{data.ReasonNotPage, data.ReasonNotPage, data.ReasonHTTPStatus}
	return []input{
		{name: "a.jsonl", format: source.FormatJSONL, content: jsonl.Bytes(), bad: jsonlBad},
		{name: "a.jsonl.gz", format: source.FormatJSONL, content: gzipped(jsonl.Bytes()[:1000], jsonl.Bytes()[1000:]), bad: jsonlBad},
		{name: "a.jsonl.zst", format: source.FormatJSONL, content: zstandard(jsonl.Bytes()), bad: jsonlBad},
		{name: "a.csv", format: source.FormatCSV, content: csv.Bytes(), bad: []string{data.ReasonMalformed}},
		{name: "a.csv.gz", format: source.FormatCSV, content: gzipped(csv.Bytes()), bad: []string{data.ReasonMalformed}},
		{name: "a.tsv", format: source.FormatTSV, content: tsv.Bytes(), bad: []string{data.ReasonMalformed}},
		{name: "gb.jsonl", format: source.FormatJSONL, content: encoded("gb18030", jsonl.Bytes()), bad: jsonlBad},
		{name: "gb.csv.gz", format: source.FormatCSV, content: gzipped(encoded("gb18030", csv.Bytes())), bad: []string{data.ReasonMalformed}},
		{name: "gb.tsv.zst", format: source.FormatTSV, content: zstandard(encoded("gb18030", tsv.Bytes())), bad: []string{data.ReasonMalformed}},
		{name: "utf-16le.jsonl", format: source.FormatJSONL, content: encoded("utf-16le", append([]byte("\ufeff"), jsonl.Bytes()...)), bad: jsonlBad},
		{name: "utf-16be.csv.gz", format: source.FormatCSV, content: gzipped(encoded("utf-16be", csv.Bytes())), bad: []string{data.ReasonMalformed}},
		{name: "named.tsv", format: source.FormatTSV, content: encoded("euc-jp", tsv.Bytes()), bad: []string{data.ReasonMalformed}, options: data.ReaderOptions{Encoding: "euc-jp"}},
		{name: "a.warc", format: source.FormatWARC, content: bytes.Join(warc, nil), bad: warcBad},
		{name: "a.warc.gz", format: source.FormatWARC, content: gzipped(warc...), bad: warcBad},
		{name: "b.warc.gz", format: source.FormatWARC, content: gzipped(bytes.Join(warc, nil)), bad: warcBad},
		{name: "a.warc.zst", format: source.FormatWARC, content: zstandard(bytes.Join(warc, nil)), bad: warcBad},
		{name: "a.warc.wet.gz", format: source.FormatWET, content: gzipped(wet...), bad: []string{data.ReasonNotPage}},
		{name: "a.parquet", format: source.FormatParquet, options: data.ReaderOptions{Columns: data.Columns{ID: "doc_id", Text: "title"}}, write: func(t *testing.T, path string) {
			w, err := parquet.Create(path, &data.Fingerprints, parquet.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range documents {
				if err := w.Write(&data.FingerprintRow{DocID: []byte(id(i)), Title: []byte(text(i)), Date: data.NoDate, Rank: math.NaN()}); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Commit(); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "a.arrow", format: source.FormatArrow, content: arrowFile(true)},
		{name: "a.arrows", format: source.FormatArrow, content: arrowFile(false)},
		{name: "a.arrows.gz", format: source.FormatArrow, content: gzipped(arrowFile(false))},
		{name: "zst.arrow", format: source.FormatArrow, content: arrowFile(true, ipc.WithZstd())},
	}
}

// arrowFile is the documents as Arrow IPC, a file or a stream, in batches.
func arrowFile(file bool, options ...ipc.Option) []byte {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "title", Type: arrow.BinaryTypes.String}, {Name: "text", Type: arrow.BinaryTypes.LargeString},
	}, nil))
	options = append(options, ipc.WithSchema(b.Schema()))
	var out seekable
	var w interface {
		Write(arrow.Record) error
		Close() error
	} = ipc.NewWriter(&out, options...)
	if file {
		var err error
		if w, err = ipc.NewFileWriter(&out, options...); err != nil {
			panic(err)
		}
	}
	for i := range documents {
		b.Field(0).(*array.StringBuilder).Append(id(i))
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprint("t", i))
		b.Field(2).(*array.LargeStringBuilder).Append(text(i))
		if (i+1)%100 == 0 {
			if err := w.Write(b.NewRecord()); err != nil {
				panic(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// seekable is a buffer that says how far it is.
type seekable struct{ bytes.Buffer }

func (s *seekable) Seek(int64, int) (int64, error) { return int64(s.Len()), nil }

// TestReaders is the contract of data.Reader and data.SourceReader, for every
// format and compression.
func TestReaders(t *testing.T) {
	for _, in := range inputs() {
		t.Run(in.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), in.name)
			if in.write != nil {
				in.write(t, path)
			} else if err := os.WriteFile(path, in.content, 0o600); err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			splits, err := source.Expand([]string{path}, source.ExpandOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(splits) != 1 || splits[0].Format != in.format || splits[0].Size != int64(len(content)) {
				t.Fatalf("Expand: %+v", splits)
			}
			open := func() data.SourceReader {
				r, err := source.Open(splits[0], in.options)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}

			t.Run("all", func(t *testing.T) { readAll(t, open(), path, content, in.bad) })
			t.Run("closed early", func(t *testing.T) {
				for _, n := range []int{0, 1, 100} {
					r := open()
					var doc data.Document
					for range n {
						if err := r.Read(&doc); err != nil {
							if _, bad := data.IsBadRecord(err); !bad {
								t.Fatal(err)
							}
						}
					}
					for range 2 {
						if err := r.Close(); err != nil {
							t.Fatal(err)
						}
					}
					if err := r.Read(&doc); err == nil || errors.Is(err, io.EOF) {
						t.Errorf("Read after Close: %v", err)
					}
					if r.Digest() != "" {
						t.Error("a digest of half a file")
					}
					goleak.VerifyNone(t)
				}
			})
			t.Run("damaged", func(t *testing.T) { readDamaged(t, splits[0], in.options, content) })
		})
	}
}

func readAll(t *testing.T, r data.SourceReader, path string, content []byte, wantBad []string) {
	var doc data.Document
	var bad []string
	last, n := int64(-1), 0
	for {
		// What was in doc must not shine through, and its memory is reused.
		doc.ID, doc.Title, doc.Text, doc.Raw = append(doc.ID, "junk"...), append(doc.Title, "junk"...), append(doc.Text, "junk"...), append(doc.Raw, "junk"...)
		doc.Date, doc.Rank = 1, 1
		err := r.Read(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if b, ok := data.IsBadRecord(err); ok {
			bad = append(bad, b.Reason)
			if b.Source != path || b.Offset <= last {
				t.Errorf("%v: source or offset (the last was %d)", b, last)
			}
			last = b.Offset
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if string(doc.ID) != id(n) || string(doc.Text) != text(n) || len(doc.Raw) > 0 {
			t.Fatalf("document %d: id %s, text %.100s, raw %q", n, doc.ID, doc.Text, doc.Raw)
		}
		if doc.Offset <= last {
			t.Fatalf("document %d at offset %d, the last was %d", n, doc.Offset, last)
		}
		if !math.IsNaN(doc.Rank) || doc.Date == 1 {
			t.Fatalf("document %d: date %d, rank %v", n, doc.Date, doc.Rank)
		}
		if c := r.Consumed(); c <= 0 || c > int64(len(content)) {
			t.Fatalf("consumed %d of %d", c, len(content))
		}
		last = doc.Offset
		n++
	}
	for range 3 {
		if err := r.Read(&doc); !errors.Is(err, io.EOF) {
			t.Errorf("after the end: %v", err)
		}
	}
	if n != documents {
		t.Errorf("%d documents, want %d", n, documents)
	}
	if strings.Join(bad, " ") != strings.Join(wantBad, " ") {
		t.Errorf("bad records %v, want %v", bad, wantBad)
	}
	if r.Consumed() != int64(len(content)) {
		t.Errorf("consumed %d of %d", r.Consumed(), len(content))
	}
	if sum := xxh3.Hash128(content).Bytes(); r.Digest() != hex.EncodeToString(sum[:]) {
		t.Errorf("digest %s, xxhsum -H128 says %x", r.Digest(), sum)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// readDamaged cuts and damages the file in many places: reading it must end,
// with bad records or an error that names the file, and without a panic.
func readDamaged(t *testing.T, split data.Split, o data.ReaderOptions, content []byte) {
	read := func(what string, broken []byte) {
		path := filepath.Join(t.TempDir(), filepath.Base(split.Path))
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		s := split
		s.Path, s.Size = path, int64(len(broken))
		r, err := source.Open(s, o)
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("%s: the error does not name the file: %v", what, err)
			}
			return
		}
		var doc data.Document
		for n := 0; ; n++ {
			err := r.Read(&doc)
			if _, bad := data.IsBadRecord(err); bad || err == nil {
				if n > 100*documents { // damaged data can hold more line ends
					t.Fatalf("%s: it does not end", what)
				}
				continue
			}
			if !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), path) {
				t.Errorf("%s: the error does not name the file: %v", what, err)
			}
			if again := r.Read(&doc); !errors.Is(again, err) && again.Error() != err.Error() {
				t.Errorf("%s: first %v, then %v", what, err, again)
			}
			break
		}
		if err := r.Close(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	places := 24
	if testing.Short() {
		places = 5
	}
	for i := range places {
		at := len(content) * i / places
		read(fmt.Sprintf("cut at %d", at), content[:at])
		flipped := bytes.Clone(content)
		flipped[at] ^= 0x55
		read(fmt.Sprintf("flipped at %d", at), flipped)
	}
}

// The suite has an input of every format.
func TestEveryFormatConforms(t *testing.T) {
	have := map[string]bool{}
	for _, in := range inputs() {
		have[in.format] = true
	}
	for _, format := range source.Formats() {
		if !have[format] {
			t.Errorf("data/source/conformance_test.go: no input of format %s: its reader is not held to the contract", format)
		}
	}
}
