package clean_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/clean"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
)

// theirs is what the tests cut out of texts.
const theirs = "THEIRS, 他们的"

// without cleans a file: of every document whose id starts with "keep" what is not theirs
// stays.
func without(t *testing.T, path string, o data.ReaderOptions) (to string) {
	t.Helper()
	o.KeepRaw = true
	splits, err := source.Expand([]string{path}, source.ExpandOptions{})
	if err != nil || len(splits) != 1 {
		t.Fatal(splits, err)
	}
	to = filepath.Join(t.TempDir(), "part-00000"+clean.Extension(splits[0]))
	w, err := clean.Create(to, splits[0], o, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, doc := range documents(t, path, o) {
		if !strings.HasPrefix(string(doc.ID), "keep") {
			continue
		}
		if err := w.KeepWithout(&doc, ofTheirs(doc.Text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	return to
}

func ofTheirs(text []byte) (cuts []clean.Stretch) {
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(theirs))
		if i < 0 {
			return cuts
		}
		cuts = append(cuts, clean.Stretch{From: at + i, To: at + i + len(theirs)})
		at += i + len(theirs)
	}
}

// documents reads those of a file.
func documents(t *testing.T, path string, o data.ReaderOptions) (all []data.Document) {
	t.Helper()
	splits, err := source.Expand([]string{path}, source.ExpandOptions{})
	if err != nil || len(splits) != 1 {
		t.Fatal(splits, err)
	}
	r, err := source.Open(splits[0], o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		var doc data.Document
		err := r.Read(&doc)
		if errors.Is(err, io.EOF) {
			return all
		}
		if _, bad := data.IsBadRecord(err); bad {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, doc)
	}
}

// A document stays without stretches of its text. All else of its record stays byte by
// byte.
func TestWithout(t *testing.T) {
	record := func(id, text string) string {
		return fmt.Sprintf("WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: %s\r\nWARC-Date: 2024-05-18T01:58:10Z\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", id, len(text), text)
	}
	for _, c := range []struct {
		name, content, want string
		columns             data.Columns
	}{
		{
			name: "a.jsonl",
			content: `{"content":"THEIRS, 他们的", "text" : "\u6211\"s\\ THEIRS, 他们的。\n\u0001 " ,"id":"keep1", "n":1.0}` + "\r\n" +
				`{"id":"drop","text":"x"}` + "\n" + ` {"text":"\u0079","id":"keep2"}`,
			want: `{"content":"THEIRS, 他们的", "text" : "我\"s\\\n。\n\u0001 " ,"id":"keep1", "n":1.0}` + "\r\n" + ` {"text":"\u0079","id":"keep2"}` + "\n",
		},
		{
			name:    "named.jsonl.gz",
			content: gz(`{"id":"keep1","text":"THEIRS, 他们的","body":"THEIRS, 他们的b THEIRS, 他们的"}` + "\n"),
			want:    `{"id":"keep1","text":"THEIRS, 他们的","body":"b"}` + "\n", columns: data.Columns{Text: "body"},
		},
		{
			name:    "utf-16.jsonl",
			content: inEncoding("utf-16le", "\ufeff"+`{"id":"keep1","text":"甲THEIRS, 他们的乙"}`+"\n"),
			want:    `{"id":"keep1","text":"甲\n乙"}` + "\n",
		},
		{
			name:    "a.csv",
			content: "n,text,id\r\n\"1,5\",\"a \"\"b\"\"THEIRS, 他们的, c\",keep1\r\n2,x,drop\r\n3,y,keep2\r\n",
			want:    "n,text,id\r\n\"1,5\",\"a \"\"b\"\"\n, c\",keep1\r\n3,y,keep2\r\n",
		},
		{name: "a.tsv", content: "id\ttext\nkeep1\t\"x\nTHEIRS, 他们的\ny\"\ndrop\ty\n", want: "id\ttext\nkeep1\t\"x\n\ny\"\n"},
		{
			name:    "a.warc.wet",
			content: record("keep1", "one THEIRS, 他们的 two") + record("drop", "x"),
			want:    `{"id":"keep1","text":"one\ntwo","date":"2024-05-18T01:58:10Z"}` + "\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.name)
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := unpack(t, without(t, path, data.ReaderOptions{Columns: c.columns})); got != c.want {
				t.Errorf("got\n%q\nwant\n%q", got, c.want)
			}
		})
	}
}

// Parquet and Arrow hold the other texts in their own column, wherever it stands.
func TestWithoutInColumns(t *testing.T) {
	dir := t.TempDir()
	tables := map[string]data.Columns{filepath.Join(dir, "texts.parquet"): {}}
	ids := []string{"drop", "keep1", "keep2", "drop", "keep3"}
	texts := []string{theirs, "a " + theirs + "b", "y" + theirs, "x", "own"}
	want := []string{"keep1 a\nb", "keep2 y", "keep3 own"}

	w, err := parquet.Create(filepath.Join(dir, "texts.parquet"), &data.Texts, parquet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		if err := w.Write(&data.TextRow{DocID: []byte(id), Title: []byte(theirs), Text: []byte(texts[i])}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	group := func(text arrow.DataType) arrow.DataType {
		return arrow.StructOf(arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int32}, arrow.Field{Name: "body", Type: text, Nullable: true})
	}
	for name, kind := range map[string]arrow.DataType{
		"string": arrow.BinaryTypes.String, "large": arrow.BinaryTypes.LargeString, "binary": arrow.BinaryTypes.Binary, "view": arrow.BinaryTypes.StringView,
		"dictionary": &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
		"group":      group(arrow.BinaryTypes.String), "dictionary in a group": group(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}),
	} {
		path := filepath.Join(dir, name+".arrows")
		writeArrow(t, path, kind, ids, texts)
		tables[path] = data.Columns{Text: "text"}
		if _, ok := kind.(*arrow.StructType); ok {
			tables[path] = data.Columns{Text: "text.body"}
		}
	}
	for path, columns := range tables {
		t.Run(filepath.Base(path), func(t *testing.T) {
			to := without(t, path, data.ReaderOptions{Columns: columns})
			var got []string
			for _, doc := range documents(t, to, data.ReaderOptions{Columns: columns}) {
				got = append(got, fmt.Sprintf("%s %s", doc.ID, doc.Text))
				if filepath.Ext(path) == ".parquet" && string(doc.Title) != theirs {
					t.Errorf("title %q", doc.Title)
				}
			}
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// writeArrow writes a stream of two batches, of which the first begins with a row without a text.
func writeArrow(t *testing.T, path string, kind arrow.DataType, ids, texts []string) {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "text", Type: kind, Nullable: true}}, nil)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := ipc.NewWriter(f, ipc.WithSchema(schema))
	add := func(b array.Builder, text string) {
		if s, ok := b.(*array.StructBuilder); ok {
			s.Append(true)
			s.FieldBuilder(0).(*array.Int32Builder).Append(int32(len(text)))
			b = s.FieldBuilder(1)
		}
		switch b := b.(type) {
		case *array.BinaryDictionaryBuilder:
			if err := b.AppendString(text); err != nil {
				t.Fatal(err)
			}
		case interface{ AppendString(s string) }:
			b.AppendString(text)
		case interface{ Append(s string) }:
			b.Append(text)
		default:
			t.Fatalf("a builder of %T", b)
		}
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.StringBuilder).Append("keep0")
	b.Field(1).AppendNull()
	for i := range ids {
		if i == 3 {
			if err := w.Write(b.NewRecord()); err != nil {
				t.Fatal(err)
			}
		}
		b.Field(0).(*array.StringBuilder).Append(ids[i])
		add(b.Field(1), texts[i])
	}
	if err := errors.Join(w.Write(b.NewRecord()), w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func ExampleAppendWithout() {
	text := []byte("Our own. Their question? Ours again.")
	fmt.Printf("%s\n", clean.AppendWithout(nil, text, []clean.Stretch{{From: 9, To: 24}}))
	// Output:
	// Our own.
	// Ours again.
}
