package parquet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow/memory"
	arrow "github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
)

// foreignRows is the number of rows in each row group of writeForeign's file.
var foreignRows = []int{5, 3000, 1, 200}

func foreignText(i int) (string, bool) {
	return strings.Repeat(fmt.Sprintf("第 %d 行。", i), i%30), i%9 == 4
}
func foreignTags(i int) []string {
	return []string{"a", "b", "c", "d"}[:i%5%4]
}

// writeForeign writes a file as another program might: int64 ids, nullable
// text and date (microseconds), a nested group with a decimal, and a list of
// tags.
func writeForeign(t testing.TB, codec compress.Compression) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "foreign.parquet")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	node := func(name string, rep arrow.Repetition, logical schema.LogicalType, physical arrow.Type) schema.Node {
		return schema.MustPrimitive(schema.NewPrimitiveNodeLogical(name, rep, logical, physical, -1, -1))
	}
	opt, req := arrow.Repetitions.Optional, arrow.Repetitions.Required
	root := schema.MustGroup(schema.NewGroupNode("spark_schema", req, schema.FieldList{
		node("id", req, schema.NoLogicalType{}, arrow.Types.Int64),
		node("text", opt, schema.StringLogicalType{}, arrow.Types.ByteArray),
		node("date", opt, schema.NewTimestampLogicalType(true, schema.TimeUnitMicros), arrow.Types.Int64),
		schema.MustGroup(schema.NewGroupNode("meta", opt, schema.FieldList{
			node("score", opt, schema.NewDecimalLogicalType(9, 2), arrow.Types.Int32),
		}, -1)),
		schema.MustGroup(schema.ListOf(node("element", opt, schema.StringLogicalType{}, arrow.Types.ByteArray), opt, -1)),
	}, -1))
	w := file.NewParquetWriter(f, root, file.WithWriterProps(arrow.NewWriterProperties(arrow.WithCompression(codec), arrow.WithDataPageSize(1000), arrow.WithCreatedBy("another program"))))
	must := func(_ int64, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	next := func(g file.SerialRowGroupWriter) file.ColumnChunkWriter {
		c, err := g.NextColumn()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := 0
	for _, n := range foreignRows {
		var ids, dates []int64
		var texts, tags []arrow.ByteArray
		var scores []int32
		var textDefs, dateDefs, scoreDefs, tagDefs, tagReps []int16
		for i := first; i < first+n; i++ {
			ids = append(ids, int64(i)*7)
			if s, null := foreignText(i); null {
				textDefs = append(textDefs, 0)
			} else {
				textDefs, texts = append(textDefs, 1), append(texts, arrow.ByteArray(s))
			}
			if i%2 == 0 {
				dateDefs, dates = append(dateDefs, 1), append(dates, int64(i-10)*1_000_000+999)
			} else {
				dateDefs = append(dateDefs, 0)
			}
			scoreDefs = append(scoreDefs, int16(i%3)) // no group, no score, a score
			if i%3 == 2 {
				scores = append(scores, int32(i))
			}
			if len(foreignTags(i)) == 0 {
				tagDefs, tagReps = append(tagDefs, int16(i%2)), append(tagReps, 0) // null or empty
			}
			for j, tag := range foreignTags(i) {
				tagDefs, tagReps, tags = append(tagDefs, 3), append(tagReps, int16(min(j, 1))), append(tags, arrow.ByteArray(tag))
			}
		}
		first += n
		g := w.AppendRowGroup()
		must(next(g).(*file.Int64ColumnChunkWriter).WriteBatch(ids, nil, nil))
		must(next(g).(*file.ByteArrayColumnChunkWriter).WriteBatch(texts, textDefs, nil))
		must(next(g).(*file.Int64ColumnChunkWriter).WriteBatch(dates, dateDefs, nil))
		must(next(g).(*file.Int32ColumnChunkWriter).WriteBatch(scores, scoreDefs, nil))
		must(next(g).(*file.ByteArrayColumnChunkWriter).WriteBatch(tags, tagDefs, tagReps))
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.AppendKeyValueMetadata("owner", "someone"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadDocuments(t *testing.T) {
	path := writeForeign(t, compress.Codecs.Snappy)
	info, err := parquet.ReadInfo(path)
	if err != nil || len(info.Groups) != len(foreignRows) {
		t.Fatalf("ReadInfo() = %+v, %v", info, err)
	}
	options := data.ReaderOptions{Columns: data.Columns{Rank: "meta.score"}}
	check := func(split data.Split, first, n int) {
		t.Helper()
		r, err := parquet.Open(split, options)
		if err != nil {
			t.Fatal(err)
		}
		var doc data.Document
		for i := first; i < first+n; i++ {
			err := r.Read(&doc)
			text, null := foreignText(i)
			if null {
				if bad, ok := data.IsBadRecord(err); !ok || bad.Reason != data.ReasonNoText || bad.Offset != int64(i) {
					t.Fatalf("row %d: %v, want no text", i, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			wantDate := int64(data.NoDate)
			if i%2 == 0 {
				wantDate = time.UnixMicro(int64(i-10)*1_000_000 + 999).UnixMilli()
			}
			if string(doc.ID) != fmt.Sprint(i*7) || string(doc.Text) != text || doc.Offset != int64(i) || doc.Date != wantDate {
				t.Fatalf("row %d: %s %s at %d, date %d, want %d", i, doc.ID, doc.Text, doc.Offset, doc.Date, wantDate)
			}
			if i%3 == 2 && doc.Rank != float64(i)/100 || i%3 != 2 && !math.IsNaN(doc.Rank) {
				t.Fatalf("row %d: rank %v", i, doc.Rank)
			}
		}
		if err := r.Read(&doc); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last row: %v", err)
		}
		if len(r.Digest()) != 32 {
			t.Errorf("digest %q", r.Digest())
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	check(data.Split{Path: path, End: -1}, 0, 3206)
	first := 0
	for g, n := range foreignRows {
		check(data.Split{Path: path, Start: int64(g), End: int64(g) + 1}, first, n)
		first += n
	}
	for _, c := range []struct {
		columns data.Columns
		want    string
	}{
		{data.Columns{Text: "body"}, `no column "body"; there are: id, text, date, meta.score, element.list.element`},
		{data.Columns{Text: "id"}, `no column "id" of strings; there are: text`},
		{data.Columns{Title: "element.list.element"}, "is a list"},
	} {
		if _, err := parquet.Open(data.Split{Path: path, End: -1}, data.ReaderOptions{Columns: c.columns}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %s", c.columns, err, c.want)
		}
	}
	if _, err := parquet.Open(data.Split{Path: path, Start: 3, End: 9}, data.ReaderOptions{}); err == nil || !strings.Contains(err.Error(), "row groups 3 to 9 are not in the file, which has 4") {
		t.Errorf("row groups that are not there: %v", err)
	}
}

func TestCopyRows(t *testing.T) {
	for _, codec := range []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Zstd, 7 /* LZ4_RAW */} {
		path := writeForeign(t, codec)
		for name, keep := range map[string]func(_ int, row int64) bool{
			"all":         func(int, int64) bool { return true },
			"none":        func(int, int64) bool { return false },
			"every third": func(_ int, row int64) bool { return row%3 == 0 },
			"a stretch":   func(_ int, row int64) bool { return row >= 2000 && row < 2500 },
		} {
			t.Run(fmt.Sprintf("%v %s", codec, name), func(t *testing.T) {
				mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
				to := filepath.Join(t.TempDir(), "out.parquet")
				kept, err := parquet.CopyFile(to, data.Split{Path: path, End: -1}, parquet.Options{Allocator: mem}, parquet.Changes{}, keep)
				if err != nil {
					t.Fatal(err)
				}
				released(t, mem, 0)
				want, got := rowsOf(t, path), rowsOf(t, to)
				n := int64(-1)
				want = slices.DeleteFunc(want, func(string) bool { n++; return !keep(0, n) })
				if !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
					t.Errorf("%d rows, want %d, or some differ", len(got), len(want))
				}
				if kept != int64(len(want)) {
					t.Errorf("kept %d, want %d", kept, len(want))
				}
				a, b := metadataOf(t, path), metadataOf(t, to)
				if a != b {
					t.Errorf("schema or metadata\n%s\nwas\n%s", b, a)
				}
			})
		}
	}
}

// The rows of several files become one row group, in their order. A file that cannot be
// read has none of them, and of no file at all a copy is an error.
func TestCopySeveral(t *testing.T) {
	path := writeForeign(t, compress.Codecs.Zstd)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken.parquet")
	if err := os.WriteFile(broken, content[:len(content)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(t, path)
	split := func(paths ...string) data.Split {
		s := data.Split{Path: paths[0], End: -1}
		for _, p := range paths {
			s.Files = append(s.Files, data.SplitFile{Path: p, Size: int64(len(content))})
		}
		return s
	}
	for name, c := range map[string]struct {
		split data.Split
		keep  func(file int, row int64) bool
	}{
		"some of each":       {split(path, path, path), func(file int, row int64) bool { return (int(row)+file)%3 == 0 }},
		"none of the first":  {split(path, path), func(file int, _ int64) bool { return file == 1 }},
		"none":               {split(path, path), func(int, int64) bool { return false }},
		"one cannot be read": {split(broken, path, broken, path), func(_ int, row int64) bool { return row%2 == 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			var words []string
			file := 0
			for one := range c.split.OfFiles() {
				for i, row := range rows {
					if one.Path == path && c.keep(file, int64(i)) {
						word := []string{"", "night"}[len(want)%2]
						words, want = append(words, word), append(want, row)
					}
				}
				file++
			}
			to := filepath.Join(t.TempDir(), "out.parquet")
			kept, err := parquet.CopyFile(to, c.split, parquet.Options{}, parquet.Changes{}, c.keep)
			if err != nil || kept != int64(len(want)) {
				t.Fatalf("%d rows, want %d: %v", kept, len(want), err)
			}
			if got := rowsOf(t, to); !slices.Equal(got, want) {
				t.Errorf("%d rows, want %d, or some differ", len(got), len(want))
			}
			if info, err := parquet.ReadInfo(to); err != nil || len(info.Groups) > 1 {
				t.Errorf("row groups %v, %v", info.Groups, err)
			}
			if a, b := metadataOf(t, path), metadataOf(t, to); a != b {
				t.Errorf("schema or metadata\n%s\nwas\n%s", b, a)
			}
			more := []parquet.NewColumn{{Name: "seen", Words: words}}
			if kept, err = parquet.CopyFile(to, c.split, parquet.Options{}, parquet.Changes{More: more}, c.keep); err != nil || kept != int64(len(want)) {
				t.Fatalf("with a column more %d rows, want %d: %v", kept, len(want), err)
			}
			for i, row := range rowsOf(t, to) {
				if !strings.HasPrefix(row, want[i]) || row == want[i] || strings.Contains(row[len(want[i]):], "night") != (words[i] == "night") {
					t.Fatalf("row %d is %s", i, row)
				}
			}
		})
	}
	if _, err := parquet.CopyFile(filepath.Join(t.TempDir(), "out.parquet"), split(broken, broken), parquet.Options{}, parquet.Changes{}, func(int, int64) bool { return false }); err == nil {
		t.Error("made of files of which none can be read")
	}
}

// Files that are compressed alike have one schema.
func TestSchemaOf(t *testing.T) {
	schemas := map[compress.Compression]string{}
	for _, codec := range []compress.Compression{compress.Codecs.Snappy, compress.Codecs.Zstd, compress.Codecs.Zstd} {
		schema, err := parquet.SchemaOf(data.Split{Path: writeForeign(t, codec)}, data.ReaderOptions{})
		if was := schemas[codec]; err != nil || schema == "" || was != "" && was != schema {
			t.Errorf("%v: %q, was %q, %v", codec, schema, was, err)
		}
		schemas[codec] = schema
	}
	if schemas[compress.Codecs.Snappy] == schemas[compress.Codecs.Zstd] {
		t.Error("of two codecs the same")
	}
}

// rowsOf prints every row with all its values and levels, by reading all
// columns in full.
func rowsOf(t *testing.T, path string) []string {
	t.Helper()
	f, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	for g := range f.NumRowGroups() {
		group := f.RowGroup(g)
		first := len(out)
		out = append(out, make([]string, group.NumRows())...)
		for c := range group.NumColumns() {
			chunk, err := group.Column(c)
			if err != nil {
				t.Fatal(err)
			}
			const huge = 20_000
			defs, reps := make([]int16, huge), make([]int16, huge)
			var n int64
			var value func(i int) any
			switch r := chunk.(type) {
			case *file.Int64ColumnChunkReader:
				v := make([]int64, huge)
				n, _, err = r.ReadBatch(huge, v, defs, reps)
				value = func(i int) any { return v[i] }
			case *file.Int32ColumnChunkReader:
				v := make([]int32, huge)
				n, _, err = r.ReadBatch(huge, v, defs, reps)
				value = func(i int) any { return v[i] }
			case *file.ByteArrayColumnChunkReader:
				v := make([]arrow.ByteArray, huge)
				n, _, err = r.ReadBatch(huge, v, defs, reps)
				value = func(i int) any { return string(v[i]) }
			}
			if err != nil {
				t.Fatal(err)
			}
			row, at := first-1, 0
			descr := chunk.Descriptor()
			for i := range int(n) {
				if descr.MaxRepetitionLevel() == 0 || reps[i] == 0 {
					row++
				}
				if descr.MaxDefinitionLevel() == 0 || defs[i] == descr.MaxDefinitionLevel() {
					out[row] += fmt.Sprint("|", value(at))
					at++
				} else {
					out[row] += fmt.Sprint("|null at ", defs[i])
				}
			}
		}
	}
	return out
}

// metadataOf prints a file's schema and key-value metadata.
func metadataOf(t *testing.T, path string) string {
	t.Helper()
	f, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b strings.Builder
	schema.PrintSchema(f.MetaData().Schema.Root(), &b, 2)
	for i, key := range f.MetaData().KeyValueMetadata().Keys() {
		fmt.Fprintln(&b, key, f.MetaData().KeyValueMetadata().Values()[i])
	}
	return b.String()
}

// TestForeignPyarrow reads what pyarrow writes: version 2 pages, dictionary
// and delta encodings, large strings, and fingerprints of several types.
func TestForeignPyarrow(t *testing.T) {
	if testing.Short() {
		t.Skip("Python loads large packages")
	}
	python, err := exec.LookPath("python3")
	if err != nil || exec.Command(python, "-c", "import pyarrow").Run() != nil {
		t.Skip("python3 with pyarrow is not installed: its files are not read")
	}
	dir := t.TempDir()
	script := `
import sys, pyarrow as pa, pyarrow.parquet as pq, datetime
dir = sys.argv[1]
n = 5000
fp = [i * 0x9e3779b97f4a7c15 % 2**64 for i in range(n)]
t = pa.table({
  "url": [f"u{i}" for i in range(n)],
  "content": pa.array([f"文 {i} " * (i % 40) for i in range(n)], pa.large_string()),
  "title": pa.array([f"t{i%5}" for i in range(n)]).dictionary_encode(),
  "timestamp": pa.array([datetime.date(2024, 5, 1 + i % 30) for i in range(n)]),
})
for name, args in {
  "v1": dict(),
  "v2": dict(data_page_version="2.0", compression="zstd", row_group_size=1024),
  "delta": dict(use_dictionary=False, column_encoding={"url": "DELTA_BYTE_ARRAY", "content": "DELTA_LENGTH_BYTE_ARRAY"}),
  "tiny": dict(data_page_size=64, write_batch_size=3, compression="gzip"),
  "brotli": dict(compression="brotli"),
  "lz4": dict(compression="lz4", data_page_version="2.0"),
}.items():
  pq.write_table(t, f"{dir}/docs-{name}.parquet", **args)
ids = pa.array([f"u{i}" for i in range(n)])
for name, col in {
  "uint64": pa.array(fp, pa.uint64()),
  "int64": pa.array([x - 2**64 if x >= 2**63 else x for x in fp], pa.int64()),
  "bytes": pa.array([x.to_bytes(8, "big") for x in fp], pa.binary(8)),
  "decimal": pa.array([str(x) for x in fp]),
  "hex": pa.array([f"{x:016x}" for x in fp]),
}.items():
  pq.write_table(pa.table({"url": ids, "simhash": col}), f"{dir}/fp-{name}.parquet")
`
	if out, err := exec.Command(python, "-c", script, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	docs, err := filepath.Glob(filepath.Join(dir, "docs-*"))
	if err != nil || len(docs) != 6 {
		t.Fatal(docs, err)
	}
	for _, path := range docs {
		r, err := parquet.Open(data.Split{Path: path, End: -1}, data.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var doc data.Document
		for i := range 5000 {
			if err := r.Read(&doc); err != nil {
				t.Fatal(err)
			}
			date := time.Date(2024, 5, 1+i%30, 0, 0, 0, 0, time.UTC).UnixMilli()
			if string(doc.ID) != fmt.Sprintf("u%d", i) || string(doc.Text) != strings.Repeat(fmt.Sprintf("文 %d ", i), i%40) || string(doc.Title) != fmt.Sprintf("t%d", i%5) || doc.Date != date {
				t.Fatalf("%s row %d: %s %s %.60s %d", path, i, doc.ID, doc.Title, doc.Text, doc.Date)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		// And copies of them are read by pyarrow.
		to := path + ".copy.parquet"
		if _, err := parquet.CopyFile(to, data.Split{Path: path, End: -1}, parquet.Options{}, parquet.Changes{}, func(_ int, row int64) bool { return row%2 == 1 }); err != nil {
			t.Fatal(err)
		}
		check := "import sys, pyarrow.parquet as pq; a, b = map(pq.read_table, sys.argv[1:]); assert a.take(list(range(1, len(a), 2))).to_pydict() == b.to_pydict() and a.schema == b.schema, (a.schema, b.schema)"
		if out, err := exec.Command(python, "-c", check, path, to).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
	}
	prints, err := filepath.Glob(filepath.Join(dir, "fp-*"))
	if err != nil || len(prints) != 5 {
		t.Fatal(prints, err)
	}
	for _, path := range prints {
		i := uint64(0)
		if err := parquet.ReadFingerprints(t.Context(), path, parquet.ReadOptions{}, func(row *data.FingerprintRow) error {
			if string(row.DocID) != fmt.Sprintf("u%d", i) || row.Lo != i*0x9e3779b97f4a7c15 || row.Hi != 0 || row.Date != data.NoDate || !math.IsNaN(row.Rank) {
				return fmt.Errorf("row %d: %+v", i, row)
			}
			i++
			return nil
		}); err != nil || i != 5000 {
			t.Errorf("%s: %d rows, %v", path, i, err)
		}
	}
}

// TestDamagedRowGroup: of a row group that is damaged the rest is one bad record,
// which weighs its bytes; the others are read, and the rows that were can be
// copied.
func TestDamagedRowGroup(t *testing.T) {
	for _, codec := range []compress.Compression{compress.Codecs.Snappy, compress.Codecs.Zstd, compress.Codecs.Gzip, compress.Codecs.Brotli, 7} {
		path := writeForeign(t, codec)
		f, err := file.OpenParquetFile(path, false)
		if err != nil {
			t.Fatal(err)
		}
		chunk, err := f.MetaData().RowGroup(1).ColumnChunk(1)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		from := chunk.DataPageOffset()
		if chunk.HasDictionaryPage() {
			from = min(from, chunk.DictionaryPageOffset())
		}
		damage := content[from+chunk.TotalCompressedSize()*3/4:][:600] // more than a page
		for i := range damage {
			damage[i] = 0xff
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := parquet.Open(data.Split{Path: path, End: -1}, data.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var rows []int64
		var bad []*data.BadRecord
		var doc data.Document
		for {
			err := r.Read(&doc)
			if b, is := data.IsBadRecord(err); is {
				if b.Reason == data.ReasonDamaged {
					bad = append(bad, b)
				}
				continue
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if text, _ := foreignText(int(doc.Offset)); string(doc.Text) != text {
				t.Fatalf("%v: row %d has another text", codec, doc.Offset)
			}
			rows = append(rows, doc.Offset)
		}
		if len(bad) != 1 || bad[0].Offset < 5 || bad[0].Offset >= 3005 || bad[0].Lost < 1 || bad[0].Lost > int64(len(content)) {
			t.Fatalf("%v: bad records %v", codec, bad)
		}
		want := []int64{}
		for i := range int64(3206) {
			if _, null := foreignText(int(i)); !null && (i < bad[0].Offset || i >= 3005) {
				want = append(want, i)
			}
		}
		if !slices.Equal(rows, want) {
			t.Errorf("%v: %d rows, want %d", codec, len(rows), len(want))
		}
		if len(r.Digest()) != 32 || r.Consumed() != int64(len(content)) {
			t.Errorf("%v: digest %s, %d of %d bytes", codec, r.Digest(), r.Consumed(), len(content))
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		n, err := parquet.CopyFile(filepath.Join(t.TempDir(), "copy.parquet"), data.Split{Path: path, End: -1}, parquet.Options{}, parquet.Changes{}, func(_ int, row int64) bool { return slices.Contains(rows, row) })
		if err != nil || n != int64(len(rows)) {
			t.Errorf("%v: copied %d of %d, %v", codec, n, len(rows), err)
		}
	}
}

// FuzzDamaged reads files of which some bytes were changed or cut off: every
// reader returns an error that names the file, or rows, and none panics.
func FuzzDamaged(f *testing.F) {
	path := filepath.Join(f.TempDir(), "small.parquet")
	writeFingerprints(f, path, 50, parquet.Options{})
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(0, byte(0), len(whole))
	f.Add(4, byte(0xff), len(whole))
	f.Add(len(whole)-9, byte(0x80), len(whole))
	f.Add(len(whole)-300, byte(0x01), len(whole))
	f.Add(0, byte(0), len(whole)/2)
	f.Fuzz(func(t *testing.T, at int, flip byte, size int) {
		content := bytes.Clone(whole[:max(0, min(size, len(whole)))])
		if at >= 0 && at < len(content) {
			content[at] ^= flip
		}
		readEverything(t, content)
	})
}

func readEverything(t *testing.T, content []byte) {
	path := filepath.Join(t.TempDir(), "damaged.parquet")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	named := func(err error) {
		t.Helper()
		if err != nil && !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), path) {
			t.Errorf("the error does not name the file: %v", err)
		}
	}
	rows := 0
	named(parquet.ReadFingerprints(t.Context(), path, parquet.ReadOptions{}, func(*data.FingerprintRow) error {
		if rows++; rows > 1<<20 {
			return io.EOF
		}
		return nil
	}))
	r, err := parquet.Open(data.Split{Path: path, End: -1}, data.ReaderOptions{Columns: data.Columns{Text: "title"}})
	if named(err); err == nil {
		var doc data.Document
		for range 1 << 20 {
			err := r.Read(&doc)
			if _, bad := data.IsBadRecord(err); err != nil && !bad {
				named(err)
				break
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err = parquet.CopyFile(filepath.Join(t.TempDir(), "copy"), data.Split{Path: path, End: -1}, parquet.Options{}, parquet.Changes{}, func(_ int, row int64) bool { return row%2 == 0 })
	named(err)
}

// TestDamagedBytes flips bytes all over a small file, one at a time: fewer in a short
// run, with NEARDUP_EXHAUSTIVE every one.
func TestDamagedBytes(t *testing.T) {
	step := 9
	if testing.Short() {
		step = 27
	}
	if os.Getenv("NEARDUP_EXHAUSTIVE") != "" {
		step = 1
	}
	path := filepath.Join(t.TempDir(), "small.parquet")
	writeFingerprints(t, path, 3, parquet.Options{})
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(whole); at += step {
		content := bytes.Clone(whole)
		content[at] ^= 0xa5
		readEverything(t, content)
	}
}

func ExampleCreate() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "part-00000.parquet")
	w, err := parquet.Create(path, &data.Matches, parquet.Options{Version: "v1.0.0"})
	if err != nil {
		panic(err)
	}
	defer w.Abort()
	if err := w.Write(&data.MatchRow{DocID: []byte("a"), MatchID: []byte("b"), Distance: 2, Similarity: 1 - 2.0/64, MatchFrom: "run"}); err != nil {
		panic(err)
	}
	if err := w.Commit(); err != nil {
		panic(err)
	}
	r, err := parquet.OpenTable(path, &data.Matches, parquet.ReadOptions{})
	if err != nil {
		panic(err)
	}
	defer r.Close()
	var row data.MatchRow
	for r.Read(&row) == nil {
		fmt.Printf("%s %s %d %.3f %s\n", row.DocID, row.MatchID, row.Distance, row.Similarity, row.MatchFrom)
	}
	// Output: a b 2 0.969 run
}
