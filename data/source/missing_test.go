package source_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
)

// tables writes the same three documents, whose text is called title, in every
// format that has columns.
func tables(t *testing.T) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	lines := map[string][2]string{"jsonl": {"", `{"id":"%d","title":"words %[1]d"}`}, "csv": {"id,title\n", "%d,words %[1]d"}, "tsv": {"id\ttitle\n", "%d\twords %[1]d"}}
	for ext, l := range lines {
		text := l[0]
		for i := range 3 {
			text += fmt.Sprintf(l[1], i) + "\n"
		}
		path := filepath.Join(dir, "a."+ext)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	path := filepath.Join(dir, "a.parquet")
	w, err := parquet.Create(path, &data.Texts, parquet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := w.Write(&data.TextRow{DocID: fmt.Append(nil, i), Title: fmt.Append(nil, "words ", i), Row: int64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	return append(paths, path)
}

func splitsOf(t *testing.T, paths ...string) []data.Split {
	t.Helper()
	splits, err := source.Expand(paths, source.ExpandOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return splits
}

// A file without a column that must be there is refused, or read without it by
// who bears that: in every format alike.
func TestMissingColumns(t *testing.T) {
	for _, path := range tables(t) {
		split := splitsOf(t, path)[0]
		for _, c := range []struct {
			columns         data.Columns
			missing         string
			documents, bads int
		}{
			{data.Columns{Text: "body"}, `no column "body"`, 0, 3},
			{data.Columns{Text: "title", Rank: "score"}, `no column "score"`, 3, 0},
			{data.Columns{Text: "title"}, "", 3, 0},
		} {
			var missing *data.NoColumn
			r, err := source.Open(split, data.ReaderOptions{Columns: c.columns})
			if err == nil {
				err = r.Close()
			}
			if errors.As(err, &missing) != (c.missing != "") || c.missing != "" && !strings.Contains(err.Error(), c.missing) {
				t.Errorf("%s: %+v: %v, want %s", split.Format, c.columns, err, c.missing)
			}

			var told []string
			r, err = source.Open(split, data.ReaderOptions{Columns: c.columns, Missing: func(m *data.NoColumn) { told = append(told, m.Problem()) }})
			if err != nil {
				t.Fatal(err)
			}
			documents, bads := 0, 0
			for doc := (data.Document{}); ; {
				err := r.Read(&doc)
				if errors.Is(err, io.EOF) {
					break
				}
				if bad, is := data.IsBadRecord(err); is && bad.Reason == data.ReasonNoText {
					bads++
				} else if err != nil {
					t.Fatal(err)
				} else {
					documents++
				}
			}
			if err := r.Close(); err != nil || documents != c.documents || bads != c.bads {
				t.Errorf("%s: %+v: %d documents, %d without a text, %v", split.Format, c.columns, documents, bads, err)
			}
			if len(told) != min(len(c.missing), 1) || !strings.HasPrefix(strings.Join(told, ""), c.missing) {
				t.Errorf("%s: %+v: told of %q", split.Format, c.columns, told)
			}
		}
	}
}

// What one file lacks others may have; what none has is an error before any is
// read, and so few are looked at.
func TestCheckColumns(t *testing.T) {
	paths := tables(t)
	splits := splitsOf(t, paths...)
	if err := source.CheckColumns(splits, data.ReaderOptions{Columns: data.Columns{Text: "body"}}); !errors.As(err, new(*data.NoColumn)) {
		t.Errorf("none has it: %v", err)
	}
	for ext, text := range map[string]string{"csv": "id,body\n", "warc": string(warcRecord("warcinfo", "", "application/warc-fields", "software: none\r\n")), "parquet": "PAR1"} {
		path := filepath.Join(t.TempDir(), "z."+ext)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		// A damaged file may be one that has it: who reads it says what it is.
		with := append(slices.Clone(splits), data.Split{Path: path, Format: ext, Size: int64(len(text)), End: -1})
		if err := source.CheckColumns(with, data.ReaderOptions{Columns: data.Columns{Text: "body"}}); err != nil {
			t.Errorf("%s has it: %v", ext, err)
		}
	}
}

// An empty table has no records, as an empty file of lines has none.
func TestEmptyTable(t *testing.T) {
	for _, ext := range []string{"jsonl", "csv", "tsv"} {
		path := filepath.Join(t.TempDir(), "a."+ext)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := source.Open(data.Split{Path: path, Format: ext, End: -1}, data.ReaderOptions{Columns: data.Columns{Text: "body"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.Read(new(data.Document)), r.Close()); !errors.Is(err, io.EOF) || r.Digest() == "" {
			t.Errorf("%s: %v, digest %q", ext, err, r.Digest())
		}
	}
}

// Where the first row of a table is a page, it is not told in full.
func TestLongNames(t *testing.T) {
	missing := data.NoColumn{Name: "text", Have: append(slices.Repeat([]string{strings.Repeat("字", 5000)}, 500), "end")}
	if text := missing.Error(); len(text) > 10_000 || !strings.HasSuffix(text, "字…, … (501)") {
		t.Errorf("%d bytes, ending with %q", len(text), text[len(text)-20:])
	}
}
