package source_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
)

// lay writes files into a new folder and makes it the current one.
func lay(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

const line = `{"text":"x"}` + "\n"

func TestExpand(t *testing.T) {
	warc := "WARC/1.0\r\n"
	lay(t, map[string]string{
		"b/2.jsonl": line, "b/1.csv": "text\nx\n", "b/deep/3.tsv": "text\nx\n", "b/.hidden.jsonl": line, "b/_SUCCESS": "", "b/_tmp/4.jsonl": line,
		"a.warc.gz": string(gzipped([]byte(warc))), "c.warc.wet.gz": string(gzipped([]byte(warc))), "zst.ndjson.zst": string(zstandard([]byte(line))),
		"sniffed": line, "misnamed.csv": warc, "lower.dump": "warc/1.0\r\n", "warc.jsonl": "warc/", "empty.jsonl": "", "odd[1].jsonl": line,
	})
	for link, to := range map[string]string{"link.jsonl": "sniffed", "latest": "b"} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"b"}, "b/1.csv csv, b/2.jsonl jsonl, b/deep/3.tsv tsv"},
		{[]string{"b/2.jsonl", "b", "./b/2.jsonl", "b"}, "./b/2.jsonl jsonl, b/1.csv csv, b/deep/3.tsv tsv"},
		{[]string{"*.gz", "zst*"}, "a.warc.gz warc, c.warc.wet.gz wet, zst.ndjson.zst jsonl"},
		{[]string{"sniffed", "misnamed.csv", "empty.jsonl"}, "empty.jsonl jsonl, misnamed.csv warc, sniffed jsonl"},
		{[]string{"lower.dump", "warc.jsonl"}, "lower.dump warc, warc.jsonl jsonl"},
		{[]string{"link.jsonl", "sniffed"}, "link.jsonl jsonl"},
		{[]string{"latest"}, "latest/1.csv csv, latest/2.jsonl jsonl, latest/deep/3.tsv tsv"},
		{[]string{"odd[1].jsonl"}, "odd[1].jsonl jsonl"},
		{[]string{"-"}, "- jsonl"},
	} {
		splits, err := source.Expand(c.args, source.ExpandOptions{})
		if err != nil {
			t.Errorf("%v: %v", c.args, err)
			continue
		}
		var got []string
		for _, s := range splits {
			got = append(got, s.Path+" "+s.Format)
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%v: got %s, want %s", c.args, s, c.want)
		}
	}
}

// TestManyFiles: files that are looked into at the same time come in the order of their
// paths, and the first of them that cannot be read is named.
func TestManyFiles(t *testing.T) {
	files := map[string]string{}
	var want, strange []string
	for i := range 5000 {
		path := fmt.Sprintf("d/%02d/%04d", i/100, i)
		switch {
		case i%7 == 0:
			path += ".txt"
			files[path], strange = "words", append(strange, path)
		case i%3 == 0:
			path += ".csv"
			files[path], want = "text\nx\n", append(want, path+" csv")
		default:
			path += ".jsonl"
			files[path], want = line, append(want, path+" jsonl")
		}
	}
	lay(t, files)
	if err := os.Symlink("d/03", "linked"); err != nil {
		t.Fatal(err)
	}
	expand := func() (got, ignored []string, err error) {
		splits, err := source.Expand([]string{"d", "linked"}, source.ExpandOptions{Ignored: func(path string) { ignored = append(ignored, path) }})
		for _, s := range splits {
			got = append(got, s.Path+" "+s.Format)
		}
		return got, ignored, err
	}
	if got, ignored, err := expand(); err != nil || !slices.Equal(got, want) || !slices.Equal(ignored, strange) {
		t.Errorf("%d splits, %d files ignored, %v; want %d and %d in order", len(got), len(ignored), err, len(want), len(strange))
	}
	if err := os.WriteFile("d/46/bad.arc", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := expand(); !errors.Is(err, source.ErrRefused) || !strings.Contains(err.Error(), "d/46/bad.arc") {
		t.Errorf("got %v", err)
	}
}

func TestExpandRefuses(t *testing.T) {
	lay(t, map[string]string{
		"a.arc.gz": string(gzipped([]byte("filedesc://a.arc 0.0.0.0 20080430204825 text/plain 1300\n"))), "b.arc": "anything", "c.warc.wat.gz": string(gzipped([]byte("WARC/1.0\r\n"))),
		"d.json": "[1]", "e.txt": "words", "f.bz2": "x", "g/.x": "", "h.zip": "PK", "k/README": "words", "l/README": "words", "l/old.arc": "x",
	})
	for _, c := range []struct {
		args   []string
		format string
		is     error
		want   string
	}{
		{[]string{"a.arc.gz"}, "", source.ErrRefused, "a.arc.gz: refused: ARC archives are not read: convert it to WARC first"},
		{[]string{"b.arc"}, "", source.ErrRefused, "ARC archives are not read"},
		{[]string{"c.warc.wat.gz"}, "", source.ErrRefused, "WAT files hold metadata and no text"},
		{[]string{"d.json"}, "", source.ErrFormat, "it is one JSON array"},
		{[]string{"e.txt"}, "", source.ErrFormat, "e.txt: unknown format: a file that is one text is not read: write a line of JSON of each"},
		{[]string{"f.bz2"}, "", source.ErrRefused, "bzip2 is not read"},
		{[]string{"h.zip"}, "", source.ErrRefused, "zip archives are not read"},
		{[]string{"none.jsonl"}, "", source.ErrNoInput, "none.jsonl does not exist"},
		{[]string{"*.jsonl"}, "", source.ErrNoInput, "nothing matches *.jsonl"},
		{[]string{"g"}, "", source.ErrNoInput, "g holds no files"},
		{[]string{"k"}, "", source.ErrNoInput, "no file in k has a format that is read"},
		{[]string{"l"}, "", source.ErrRefused, "l/old.arc: refused: ARC archives"},
		{nil, "", source.ErrNoInput, "no input"},
		{[]string{"e.txt"}, "json", source.ErrFormat, `unknown format "json": write one of warc, wet, jsonl, csv, tsv, parquet`},
	} {
		_, err := source.Expand(c.args, source.ExpandOptions{Format: c.format})
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %s", c.args, err, c.want)
		}
	}
	if splits, err := source.Expand([]string{"e.txt"}, source.ExpandOptions{Format: source.FormatCSV}); err != nil || splits[0].Format != source.FormatCSV {
		t.Errorf("a format that was given: %v, %v", splits, err)
	}
	if _, err := source.Open(data.Split{Path: "e.txt", Format: "doc"}, data.ReaderOptions{}); !errors.Is(err, source.ErrFormat) {
		t.Errorf("Open of an unknown format: %v", err)
	}
}

// TestIgnored leaves files of no known format out of a folder, and tells of those
// whose name does not say that they hold no documents.
func TestIgnored(t *testing.T) {
	lay(t, map[string]string{
		"a/README": "words", "a/Licence.txt": "words", "a/b/md5sums": "00 x", "a/b/read.go": "package a", "a/notes.md": "words", "a/_labels.csv": "id,cluster\n",
		"a/b/notes.txt": "words", "a/list.json": "[1]", "a/pages.jsonl": line, "a/README.jsonl": line,
	})
	var ignored []string
	splits, err := source.Expand([]string{"a"}, source.ExpandOptions{Ignored: func(path string) { ignored = append(ignored, path) }})
	if err != nil || len(splits) != 2 || splits[0].Path != "a/README.jsonl" || splits[1].Path != "a/pages.jsonl" {
		t.Errorf("got %v, %v", splits, err)
	}
	if want := []string{"a/b/notes.txt", "a/list.json"}; !slices.Equal(ignored, want) {
		t.Errorf("ignored %v, want %v", ignored, want)
	}
}

// TestSplits reads a file in pieces of many sizes: together they give the
// documents of the whole, with the same offsets.
func TestSplits(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, `{"id":"%d","text":"%s"}`+"\n", i, strings.Repeat("x", i*7%90))
	}
	for name, content := range map[string]string{
		"lines.jsonl": b.String(), "open.jsonl": strings.TrimSuffix(b.String(), "\n"), "one.jsonl": line, "long.jsonl": `{"text":"` + strings.Repeat("x", 1<<18) + `"}` + "\n" + line,
	} {
		lay(t, map[string]string{name: content})
		whole := read(t, data.Split{Path: name, Format: source.FormatJSONL, End: -1})
		for _, size := range []int64{1, 10, 64, 1000, 1 << 20} {
			if size < 1000 && len(content) > 1<<16 && testing.Short() {
				continue // to know the encoding, it would look at every byte
			}
			splits, err := source.Expand([]string{name}, source.ExpandOptions{SplitBytes: size})
			if err != nil {
				t.Fatal(err)
			}
			if size == 1000 && name == "lines.jsonl" && len(splits) < 10 {
				t.Errorf("%d splits of %d bytes each of %d", len(splits), size, len(content))
			}
			var pieces []string
			at := int64(0)
			for _, s := range splits {
				if len(splits) > 1 {
					if s.Start != at || s.End <= s.Start {
						t.Fatalf("%s by %d: split %+v, the last ended at %d", name, size, s, at)
					}
					at = s.End
				}
				pieces = append(pieces, read(t, s)...)
			}
			if len(splits) > 1 && at != int64(len(content)) {
				t.Errorf("%s by %d: the splits end at %d of %d", name, size, at, len(content))
			}
			if !slices.Equal(pieces, whole) {
				t.Errorf("%s by %d: %d documents, the whole has %d, or some differ", name, size, len(pieces), len(whole))
			}
		}
	}
}

func read(t *testing.T, s data.Split) []string {
	t.Helper()
	r, err := source.Open(s, data.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	var doc data.Document
	for {
		err := r.Read(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %d %s", doc.ID, doc.Offset, doc.Text))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFingerprints(t *testing.T) {
	lay(t, map[string]string{"night1/manifest.json": "{}", "night1/fingerprints/_x": "", "prints/a.csv": "id,simhash\na,1\nb,00000000000000ff\n", "wrong/a.jsonl": line})
	for i, ids := range [][]string{{"x", "y"}, {"z"}} {
		w, err := parquet.Create(fmt.Sprintf("night1/fingerprints/part-%05d.parquet", i), &data.Fingerprints, parquet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if err := w.Write(&data.FingerprintRow{DocID: []byte(id), Lo: 1 << 63, Date: data.NoDate}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	splits, err := source.ExpandFingerprints([]string{"prints", "night1"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range splits {
		if err := source.ReadFingerprints(t.Context(), s, data.ForeignColumns{}, nil, func(row *data.FingerprintRow) error {
			got = append(got, fmt.Sprintf("%s:%x", row.DocID, row.Lo))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if s := strings.Join(got, " "); s != "x:8000000000000000 y:8000000000000000 z:8000000000000000 a:1 b:ff" {
		t.Errorf("got %s", s)
	}
	for arg, want := range map[string]string{"wrong": `"jsonl" of fingerprints`, "-": "standard input"} {
		if _, err := source.ExpandFingerprints([]string{arg}); !errors.Is(err, source.ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

func ExampleExpand() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "pages.jsonl"), []byte(`{"url":"https://example.org/","text":"Hello"}`), 0o600); err != nil {
		panic(err)
	}
	splits, err := source.Expand([]string{dir}, source.ExpandOptions{})
	if err != nil {
		panic(err)
	}
	for _, split := range splits {
		r, err := source.Open(split, data.ReaderOptions{})
		if err != nil {
			panic(err)
		}
		var doc data.Document
		for r.Read(&doc) == nil {
			fmt.Printf("%s %s: %s\n", split.Format, doc.ID, doc.Text)
		}
		if err := r.Close(); err != nil {
			panic(err)
		}
	}
	// Output: jsonl https://example.org/: Hello
}

// Ids and titles are valid UTF-8 whatever the input holds: many readers of
// Parquet refuse a file for one that is not.
func TestStringsAreValid(t *testing.T) {
	dir := t.TempDir()
	raw := "http://a.example/\xd6\xd0/文\xff"
	text := strings.Repeat("这是文字", 30) // so that the files are UTF-8 but for that
	for name, content := range map[string]string{
		"a.jsonl": `{"id":"` + raw + `","title":"t` + "\xd6" + `","text":"` + text + "\"}\n",
		"a.csv":   "id,title,text\n" + raw + ",t\xd6," + text + "\n",
		"a.tsv":   "id\ttitle\ttext\n" + raw + "\tt\xd6\t" + text + "\n",
		"a.warc":  string(warcRecord("response", raw, "application/http", "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n\r\none two")),
		"a.wet":   string(warcRecord("conversion", raw, "text/plain", "one two")),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		splits, err := source.Expand([]string{path}, source.ExpandOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := source.Open(splits[0], data.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var doc data.Document
		doc.Reset()
		if err := r.Read(&doc); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := string(doc.ID); got != "http://a.example/%D6%D0/文%FF" {
			t.Errorf("%s: id %q", name, got)
		}
		if got := string(doc.Title); got != "t\uFFFD" && got != "" {
			t.Errorf("%s: title %q", name, got)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if id := []byte("http://a.example/文 %D6"); !bytes.Equal(data.ValidID(id), id) {
		t.Errorf("%q became %q", id, data.ValidID(id))
	}
	path := filepath.Join(dir, "prints.csv")
	if err := os.WriteFile(path, []byte("id,fingerprint\n"+raw+",7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	splits, err := source.ExpandFingerprints([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	err = source.ReadFingerprints(t.Context(), splits[0], data.ForeignColumns{}, nil, func(row *data.FingerprintRow) error {
		if got := string(row.DocID); got != "http://a.example/%D6%D0/文%FF" {
			t.Errorf("fingerprints: id %q", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A large file of fingerprints is read in splits of row groups, which have all
// rows in their order.
func TestFingerprintsOfRowGroups(t *testing.T) {
	if testing.Short() {
		t.Skip("three million rows")
	}
	path := filepath.Join(t.TempDir(), "prints.parquet")
	w, err := parquet.Create(path, &data.Fingerprints, parquet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	row := data.FingerprintRow{Date: data.NoDate}
	const rows = 3<<20 + 5 // a row group has 1<<20
	for i := range rows {
		row.DocID, row.Lo = strconv.AppendUint(strconv.AppendInt(row.DocID[:0], int64(i), 10), random.Uint64(), 36), random.Uint64()
		if err := w.Write(&row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	splits, err := source.ExpandFingerprints([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	if len(splits) < 2 || len(splits) > 4 {
		t.Fatalf("splits %+v", splits)
	}
	i := 0
	for _, split := range splits {
		err := source.ReadFingerprints(t.Context(), split, data.ForeignColumns{}, []string{"doc_id"}, func(row *data.FingerprintRow) error {
			if id, number := string(row.DocID), strconv.Itoa(i); !strings.HasPrefix(id, number) {
				return fmt.Errorf("row %d has the id %s", i, id)
			}
			i++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if i != rows {
		t.Errorf("%d rows of %d", i, rows)
	}
}
