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

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
)

// However small and mixed the files are, they stay in order, a split of several is of
// whole files that are alike and is small, and what can be put together is.
func TestCombine(t *testing.T) {
	names := []string{"a.jsonl", "a.jsonl.gz", "a.warc.gz", "a.wet.gz", "a.csv", "a.parquet"}
	formats := []string{source.FormatJSONL, source.FormatJSONL, source.FormatWARC, source.FormatWET, source.FormatCSV, source.FormatParquet}
	rapid.Check(t, func(t *rapid.T) {
		var splits []data.Split
		total := int64(0)
		largest := rapid.SampledFrom([]int64{0, 1000, 1 << 20, 100 << 20}).Draw(t, "largest")
		for i := range rapid.IntRange(0, 400).Draw(t, "files") {
			kind := rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2, 3, 4, 5}).Draw(t, "kind")
			s := data.Split{Path: fmt.Sprintf("%04d/%s", i, names[kind]), Format: formats[kind], Size: rapid.Int64Range(0, largest).Draw(t, "size"), End: -1}
			total += s.Size
			if piece := s; rapid.IntRange(0, 20).Draw(t, "cut") == 0 && s.Size > 1 {
				s.End, piece.Start, piece.End = s.Size/2, s.Size/2, s.Size
				splits = append(splits, piece)
			}
			splits = append(splits, s)
		}
		most := min(16<<20, total/64)
		combined := source.Combine(splits, 0, data.ReaderOptions{})
		var back []data.Split
		for i, s := range combined {
			size := int64(0)
			for one := range s.OfFiles() {
				back = append(back, one)
				size += one.Size
				if len(s.Files) > 0 && (one.Format != s.Format || filepath.Ext(one.Path) != filepath.Ext(s.Path) || one.Start != 0 || one.End >= 0 || s.Format == source.FormatCSV || s.Format == source.FormatParquet) {
					t.Fatalf("%+v in a split of %s", one, s.Path)
				}
			}
			if size != s.Size || len(s.Files) > 0 && (size > most || len(s.Files) == 1 || s.Files[0].Path != s.Path) {
				t.Fatalf("split of %d files, %d bytes in %d; %d at most", len(s.Files), s.Size, size, most)
			}
			if i > 0 && s.Format == source.FormatJSONL && combined[i-1].Format == s.Format && filepath.Ext(s.Path) == filepath.Ext(combined[i-1].Path) && s.End < 0 && combined[i-1].End < 0 && s.Start+combined[i-1].Start == 0 &&
				combined[i-1].Size+s.First().Size <= most {
				t.Fatalf("%s is not with %s", s.Path, combined[i-1].Path)
			}
		}
		if !slices.EqualFunc(back, splits, data.Split.Equal) {
			t.Fatal("the files are others, or in another order")
		}
	})
}

// Small files of formats whose clean dump has their own form are put together if they
// have the same header or schema, and not if that cannot be told.
func TestSchemas(t *testing.T) {
	dir := t.TempDir()
	number := 0
	file := func(format, ext, content string) data.Split {
		number++
		s := data.Split{Path: filepath.Join(dir, fmt.Sprintf("%02d%s", number, ext)), Format: format, Size: int64(len(content)), End: -1}
		if err := os.WriteFile(s.Path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return s
	}
	csv := func(content string) data.Split { return file(source.FormatCSV, ".csv", content) }
	table := func(o parquet.Options, texts ...string) data.Split {
		s := file(source.FormatParquet, ".parquet", "")
		w, err := parquet.Create(s.Path, &data.Texts, o)
		for _, text := range texts {
			if err == nil {
				err = w.Write(&data.TextRow{DocID: []byte(text), Text: []byte(text)})
			}
		}
		if err == nil {
			err = w.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(s.Path)
		if err != nil {
			t.Fatal(err)
		}
		s.Size = info.Size()
		return s
	}
	batch := func(columns ...arrow.Field) data.Split {
		var b strings.Builder
		w := ipc.NewWriter(&b, ipc.WithSchema(arrow.NewSchema(columns, nil)))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return file(source.FormatArrow, ".arrows", b.String())
	}
	words := arrow.Field{Name: "text", Type: arrow.BinaryTypes.String}
	coded := arrow.Field{Name: "language", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}}
	none := data.ReaderOptions{NoHeader: true}
	for name, c := range map[string]struct {
		splits []data.Split
		o      data.ReaderOptions
		want   []int // files of each split
	}{
		"csv":                   {[]data.Split{csv("id,text\n1,a\n"), csv("id,text\n"), csv("id,text\n2,b\n")}, data.ReaderOptions{}, []int{3}},
		"another header":        {[]data.Split{csv("id,text\n1,a\n"), csv("text,id\na,1\n"), csv("text,id\nb,2\n"), csv("text,id\r\nb,2\r\n")}, data.ReaderOptions{}, []int{1, 2, 1}},
		"a header of no row":    {[]data.Split{csv("\"id,text\n1,a\n"), csv("\"id,text\n1,a\n"), csv(""), csv("")}, data.ReaderOptions{}, []int{1, 1, 1, 1}},
		"no header":             {[]data.Split{csv("1,a\n"), csv("2,b\n"), csv("3,c,d\n"), csv("")}, none, []int{2, 1, 1}},
		"parquet":               {[]data.Split{table(parquet.Options{}, "a"), table(parquet.Options{}, "b", "c")}, data.ReaderOptions{}, []int{2}},
		"without rows":          {[]data.Split{table(parquet.Options{}), table(parquet.Options{}), table(parquet.Options{}, "a")}, data.ReaderOptions{}, []int{1, 1, 1}},
		"of other settings":     {[]data.Split{table(parquet.Options{}, "a"), table(parquet.Options{Settings: "others"}, "b")}, data.ReaderOptions{}, []int{1, 1}},
		"no parquet":            {[]data.Split{file(source.FormatParquet, ".parquet", "PAR1"), file(source.FormatParquet, ".parquet", "PAR1")}, data.ReaderOptions{}, []int{1, 1}},
		"arrow":                 {[]data.Split{batch(words), batch(words)}, data.ReaderOptions{}, []int{2}},
		"another schema":        {[]data.Split{batch(words), batch(words, arrow.Field{Name: "id", Type: arrow.PrimitiveTypes.Int64})}, data.ReaderOptions{}, []int{1, 1}},
		"with dictionaries":     {[]data.Split{batch(words, coded), batch(words, coded)}, data.ReaderOptions{}, []int{1, 1}},
		"csv and arrow in turn": {[]data.Split{csv("id,text\n1,a\n"), batch(words), csv("id,text\n1,a\n")}, data.ReaderOptions{}, []int{1, 1, 1}},
	} {
		large := data.Split{Path: "large.jsonl", Format: source.FormatJSONL, Size: 1 << 30, End: -1} // so that the others are small
		var got []int
		for _, s := range source.Combine(append(c.splits, large), 0, c.o) {
			got = append(got, max(1, len(s.Files)))
		}
		if want := append(c.want, 1); !slices.Equal(got, want) {
			t.Errorf("%s: splits of %v files, want %v", name, got, want)
		}
	}
}

// given is what reading a split gave.
type given struct {
	documents []string
	files     []int // that they are from
	bad       []string
	told      []string
	digest    string
	consumed  int64
}

func readGiven(t rapid.TB, split data.Split, o data.ReaderOptions) (g given) {
	t.Helper()
	o.Missing = func(m *data.NoColumn) { g.told = append(g.told, m.File+": "+m.Problem()) }
	o.Unread = func(u *data.Unreadable) { g.told = append(g.told, u.File+": unread") }
	o.Decoded = func(path, encoding string) { g.told = append(g.told, path+": "+encoding) }
	o.Unchecked = func() { g.told = append(g.told, "unchecked") }
	r, err := source.Open(split, o)
	if err != nil {
		t.Fatal(err)
	}
	for {
		var doc data.Document
		err := r.Read(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if bad, is := data.IsBadRecord(err); is {
			g.bad = append(g.bad, fmt.Sprintf("%s %d %s %d %x", bad.Source, bad.Offset, bad.Reason, bad.Lost, bad.Raw))
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		g.files = append(g.files, doc.File)
		g.documents = append(g.documents, fmt.Sprintf("%s %s %s %d %s", doc.ID, doc.Title, doc.Text, doc.Offset, doc.Raw))
	}
	g.digest, g.consumed = r.Digest(), r.Consumed()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return g
}

// A split of several files gives what its files give one after the other, whatever is
// wrong with them.
func TestFilesAreReadInTurn(t *testing.T) {
	text := func(i int) string {
		return strings.Repeat(fmt.Sprintf("{\"id\":\"%d\",\"body\":\"第 %d 篇：今天天气很好，我们去公园看书和散步，中国人民的生活\"}\n", i, i), i%3)
	}
	record := func(i int) []byte {
		return warcRecord("conversion", fmt.Sprintf("http://example.org/%d", i), "text/plain", text(i))
	}
	damaged := gzipped([]byte(strings.Repeat(text(5), 20)))
	damaged[len(damaged)/2] ^= 0x40
	kinds := map[string][][]byte{
		".jsonl": {[]byte(text(1)), []byte(text(2)), nil, encoded("gb18030", []byte(text(5))), encoded("utf-16le", []byte(text(8))), []byte("no JSON\n" + text(1)),
			[]byte(`{"id":"1"}` + "\n"), []byte("\ufeff" + text(2)), []byte(`{"id":"cut off","body":"…`)},
		".jsonl.gz": {gzipped([]byte(text(1))), gzipped([]byte(text(2)), []byte(text(2))), damaged, damaged[:len(damaged)-9], nil, gzipped(nil)},
		".jsonl.zst": {zstandard([]byte(text(1))), // and a dictionary that is none
			slices.Concat([]byte{0x5d, 0x2a, 0x4d, 0x18, 8, 0, 0, 0}, []byte("no dictionary"), zstandard([]byte(text(2)))), zstandard([]byte(text(4)))},
		".wet":    {record(1), record(2), record(4)[:90], []byte("no record")},
		".wet.gz": {gzipped(record(1), record(2)), gzipped(record(4)), damaged},
	}
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		ext := rapid.SampledFrom([]string{".jsonl", ".jsonl.gz", ".jsonl.zst", ".wet", ".wet.gz"}).Draw(t, "kind")
		split := data.Split{Format: source.FormatJSONL, End: -1}
		if strings.HasPrefix(ext, ".wet") {
			split.Format = source.FormatWET
		}
		for i := range rapid.IntRange(2, 12).Draw(t, "files") {
			content := rapid.SampledFrom(kinds[ext]).Draw(t, "content")
			f := data.SplitFile{Path: filepath.Join(dir, fmt.Sprint(i)+ext), Size: int64(len(content))}
			if err := os.WriteFile(f.Path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			split.Files, split.Size = append(split.Files, f), split.Size+f.Size
		}
		split.Path = split.Files[0].Path
		o := data.ReaderOptions{KeepRaw: rapid.Bool().Draw(t, "raw"), Workers: rapid.IntRange(0, 3).Draw(t, "workers")}
		if rapid.Bool().Draw(t, "named") {
			o.Columns.Text = "body"
		}
		var want given
		sums := xxh3.New()
		file := 0
		for one := range split.OfFiles() {
			g := readGiven(t, one, o)
			want.files = append(want.files, slices.Repeat([]int{file}, len(g.documents))...)
			file++
			want.documents, want.bad, want.told = append(want.documents, g.documents...), append(want.bad, g.bad...), append(want.told, g.told...)
			want.consumed += g.consumed
			fmt.Fprintln(sums, g.digest)
		}
		sum := sums.Sum128().Bytes()
		want.digest = hex.EncodeToString(sum[:])
		got := readGiven(t, split, o)
		if !slices.Equal(got.documents, want.documents) || !slices.Equal(got.files, want.files) || !slices.Equal(got.bad, want.bad) || !slices.Equal(got.told, want.told) || got.digest != want.digest || got.consumed != want.consumed {
			t.Fatalf("got\n%+v\nwant\n%+v", got, want)
		}
	})
}

// A file that is missing is named. A reader may be closed at any time, and again.
func TestFilesEnd(t *testing.T) {
	dir := t.TempDir()
	split := data.Split{Path: filepath.Join(dir, "0.jsonl"), Format: source.FormatJSONL, End: -1}
	for i := range 3 {
		split.Files = append(split.Files, data.SplitFile{Path: filepath.Join(dir, fmt.Sprint(i)+".jsonl"), Size: 40})
		if err := os.WriteFile(split.Files[i].Path, []byte(`{"id":"1","text":"one"}`+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(split.Files[2].Path); err != nil {
		t.Fatal(err)
	}
	for documents := range 4 {
		r, err := source.Open(split, data.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var doc data.Document
		for i := range documents {
			if err := r.Read(&doc); (err == nil) != (i < 2) || err != nil && (!errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), split.Files[2].Path)) {
				t.Errorf("document %d: %v", i, err)
			}
		}
		if err := errors.Join(r.Close(), r.Close()); err != nil {
			t.Error(err)
		}
		if err := r.Read(&doc); err == nil || errors.Is(err, io.EOF) || r.Digest() != "" {
			t.Errorf("it is closed, and gives %v, digest %q", err, r.Digest())
		}
	}
}

// Windows of a split of several files are files of it, from all over it.
func TestWindowsOfFiles(t *testing.T) {
	split := data.Split{Path: "0000.jsonl", Format: source.FormatJSONL, End: -1}
	for i := range 4000 {
		split.Files = append(split.Files, data.SplitFile{Path: fmt.Sprintf("%04d.jsonl", i), Size: int64(500 + i%1000)})
		split.Size += split.Files[i].Size
	}
	met := map[string]bool{}
	for _, shift := range []float64{0, .3, .6, .99999} {
		windows, _, err := source.Windows(split, 1<<20, shift, new(data.ReaderOptions))
		if err != nil {
			t.Fatal(err)
		}
		size, last := int64(0), ""
		for _, w := range windows {
			of := int64(0)
			for _, f := range w.Files {
				if of += f.Size; f.Path <= last {
					t.Fatalf("%s behind %s", f.Path, last)
				}
				last = f.Path
				met[last] = true
			}
			if size += of; w.Size != of || w.Path != w.Files[0].Path || w.Format != split.Format || w.End != -1 || w.Start != 0 {
				t.Errorf("%+v has %d bytes", w.First(), of)
			}
		}
		if len(windows) != 4 || size < 1<<20 || size > 1<<20+4*1500 || last < "3000.jsonl" {
			t.Errorf("shift %g: %d windows of %d bytes up to %s", shift, len(windows), size, last)
		}
	}
	if len(met) < 3000 {
		t.Errorf("all shifts together have %d files", len(met))
	}
	if all, _, err := source.Windows(split, 1<<40, .5, new(data.ReaderOptions)); err != nil || len(all) != 1 || !all[0].Equal(split) {
		t.Errorf("all of it: %d windows, %v", len(all), err)
	}
}

// A folder of small files is few splits.
func ExampleCombine() {
	var splits []data.Split
	for i := range 10_000 {
		splits = append(splits, data.Split{Path: fmt.Sprintf("dump/%04d.jsonl", i), Format: source.FormatJSONL, Size: 2000, End: -1})
	}
	combined := source.Combine(splits, 0, data.ReaderOptions{})
	fmt.Println(len(combined), "splits, the first of", len(combined[0].Files), "files")
	// Output: 65 splits, the first of 156 files
}
