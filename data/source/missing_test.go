package source_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

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
	for ext, c := range map[string]struct {
		text    string
		missing bool
	}{
		"csv":     {"id,body\n", false},
		"warc":    {string(warcRecord("warcinfo", "", "application/warc-fields", "software: none\r\n")), false},
		"parquet": {"PAR1", true}, // damaged: it says nothing of the columns
	} {
		path := filepath.Join(t.TempDir(), "z."+ext)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		split := data.Split{Path: path, Format: ext, Size: int64(len(c.text)), End: -1}
		for _, with := range [][]data.Split{append(slices.Clone(splits), split), append([]data.Split{split}, splits...)} {
			err := source.CheckColumns(with, data.ReaderOptions{Columns: data.Columns{Text: "body"}})
			if errors.As(err, new(*data.NoColumn)) != c.missing || err != nil && !c.missing {
				t.Errorf("%s: %v", ext, err)
			}
		}
		if err := source.CheckColumns([]data.Split{split}, data.ReaderOptions{Columns: data.Columns{Text: "body"}}); err != nil {
			t.Errorf("%s alone: %v", ext, err)
		}
	}
}

// A file none of whose records can be read is refused, or read as one bad record
// by who bears that. What cannot be read at all is an error for both.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ content, want string }{
		"a.csv":     {"id,te\"xt\na,words\n", "header row: a quote in a field that is not quoted: mend that row, or leave the file out"},
		"b.tsv":     {"id\t\"text\na\twords\n", "header row: a quote that nothing closes: mend that row, or leave the file out"},
		"c.parquet": {"PAR1 and no footer", "no footer that can be read at its end, offset 10: "},
		"d.parquet": {"", "no footer that can be read at its end, offset 0: "},
		"e.parquet": {"<html>not found</html>", "no Parquet file: name one"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		split := splitsOf(t, path)[0]
		if _, err := source.Open(split, data.ReaderOptions{}); !errors.As(err, new(*data.Unreadable)) || !strings.Contains(err.Error(), path+": "+c.want) {
			t.Errorf("%s: %v", name, err)
		}
		var told *data.Unreadable
		r, err := source.Open(split, data.ReaderOptions{Unread: func(u *data.Unreadable) { told = u }})
		if err != nil {
			t.Fatal(err)
		}
		bad, is := data.IsBadRecord(r.Read(new(data.Document)))
		if !is || bad.Source != path || bad.Reason != data.ReasonUnreadable || bad.Offset != told.Offset || !strings.HasPrefix(told.Error(), c.want) {
			t.Errorf("%s: %v, told %v", name, bad, told)
		}
		sum := xxh3.HashString128(c.content).Bytes()
		for range 2 {
			if err := r.Read(new(data.Document)); !errors.Is(err, io.EOF) || r.Digest() != hex.EncodeToString(sum[:]) || r.Consumed() != int64(len(c.content)) {
				t.Errorf("%s: %v, digest %s, consumed %d", name, err, r.Digest(), r.Consumed())
			}
		}
		if err := errors.Join(r.Close(), r.Close()); err != nil {
			t.Error(err)
		}
		if err := r.Read(new(data.Document)); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: Read after Close: %v", name, err)
		}
	}
	folder := data.Split{Path: dir, Format: source.FormatParquet, End: -1}
	if _, err := source.Open(folder, data.ReaderOptions{Unread: func(*data.Unreadable) {}}); err == nil || errors.As(err, new(*data.Unreadable)) {
		t.Errorf("a folder: %v", err)
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
