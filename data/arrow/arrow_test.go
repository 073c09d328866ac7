package arrow_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"go.uber.org/goleak"

	"github.com/neardup/neardup/data"
	ours "github.com/neardup/neardup/data/arrow"
	"github.com/neardup/neardup/data/parquet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	batches = 8
	rows    = 50 // of each
)

// copyRows is CopyRows to a file that appears whole, or not at all.
func copyRows(path string, split data.Split, o data.ReaderOptions, changes parquet.Changes, keep func(file int, row int64) bool) (kept int64, err error) {
	out, err := data.CreateAtomic(path)
	if err != nil {
		return 0, err
	}
	if kept, err = ours.CopyRows(out, split, o, changes, keep); err != nil {
		return 0, errors.Join(err, out.Abort())
	}
	return kept, out.Commit()
}

func id(i int) string   { return fmt.Sprintf("https://example.org/%d", i) }
func text(i int) string { return strings.Repeat(fmt.Sprintf("第 %d 句。", i), i%50+1) }

// schema has a column of most kinds that a document's field may come of.
var schema = arrow.NewSchema([]arrow.Field{
	{Name: "url", Type: arrow.BinaryTypes.LargeString},
	{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "lang", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}},
	{Name: "date", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
	{Name: "meta", Type: arrow.StructOf(arrow.Field{Name: "score", Type: arrow.PrimitiveTypes.Float64, Nullable: true}), Nullable: true},
	{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String)},
}, nil)

// records are the batches of the fixture: row 7 has no text, row 8 no group.
func records() (all []arrow.Record) {
	for n := range batches {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for i := n * rows; i < (n+1)*rows; i++ {
			b.Field(0).(*array.LargeStringBuilder).Append(id(i))
			if i == 7 {
				b.Field(1).AppendNull()
			} else {
				b.Field(1).(*array.StringBuilder).Append(text(i))
			}
			if err := b.Field(2).(*array.BinaryDictionaryBuilder).AppendString([]string{"zh", "en"}[i%2]); err != nil {
				panic(err)
			}
			b.Field(3).(*array.TimestampBuilder).Append(arrow.Timestamp(i) * 1e6)
			if group := b.Field(4).(*array.StructBuilder); i == 8 {
				group.AppendNull()
			} else {
				group.Append(true)
				group.FieldBuilder(0).(*array.Float64Builder).Append(float64(i) / 2)
			}
			b.Field(5).(*array.ListBuilder).Append(true)
			b.Field(5).(*array.ListBuilder).ValueBuilder().(*array.StringBuilder).Append(fmt.Sprint("tag", i))
		}
		all = append(all, b.NewRecord())
	}
	return all
}

type memoryFile struct{ bytes.Buffer }

func (m *memoryFile) Seek(int64, int) (int64, error) { return int64(m.Len()), nil }

type writer interface {
	Write(arrow.Record) error
	Close() error
}

// written is the fixture, as a file or a stream.
func written(t testing.TB, file bool, options ...ipc.Option) []byte {
	t.Helper()
	return write(t, file, records(), options...)
}

func write(t testing.TB, file bool, records []arrow.Record, options ...ipc.Option) []byte {
	t.Helper()
	var out memoryFile
	options = append(options, ipc.WithSchema(schema))
	var w writer = ipc.NewWriter(&out, options...)
	if file {
		var err error
		if w, err = ipc.NewFileWriter(&out, options...); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func forms(t testing.TB) map[string][]byte {
	return map[string][]byte{
		"file.arrow": written(t, true), "stream.arrows": written(t, false),
		"zstd.arrow": written(t, true, ipc.WithZstd()), "lz4.arrows": written(t, false, ipc.WithLZ4()),
	}
}

func save(t testing.TB, name string, content []byte) data.Split {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return data.Split{Path: path, Format: "arrow", Size: int64(len(content)), End: -1}
}

type found struct {
	docs []data.Document
	bad  []*data.BadRecord
}

func readAll(t testing.TB, split data.Split, o data.ReaderOptions) (all found) {
	t.Helper()
	in, err := ours.Open(split, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}()
	for {
		var doc data.Document
		err := in.Read(&doc)
		if errors.Is(err, io.EOF) {
			if in.Digest() == "" {
				t.Error("no digest at the end")
			}
			return all
		}
		if bad, ok := data.IsBadRecord(err); ok {
			all.bad = append(all.bad, bad)
		} else if err != nil {
			t.Fatal(err)
		} else {
			all.docs = append(all.docs, doc)
		}
	}
}

// Each field comes of its column, whatever the form, also on standard input; and pieces
// are the whole.
func TestDocuments(t *testing.T) {
	for name, content := range forms(t) {
		split := save(t, name, content)
		o := data.ReaderOptions{Columns: data.Columns{Rank: "meta.score"}}
		all := readAll(t, split, o)
		if len(all.docs) != batches*rows-1 || len(all.bad) != 1 || all.bad[0].Offset != 7 || all.bad[0].Reason != data.ReasonNoText {
			t.Fatalf("%s: %d documents, bad %v", name, len(all.docs), all.bad)
		}
		for _, d := range all.docs {
			i := int(d.Offset)
			rank := float64(i) / 2
			if string(d.ID) != id(i) || string(d.Text) != text(i) || string(d.Language) != []string{"zh", "en"}[i%2] || d.Date != int64(i)*1000 ||
				d.Rank != rank && !(i == 8 && math.IsNaN(d.Rank)) {
				t.Fatalf("%s: row %d is %+v", name, i, d)
			}
		}
		stdin := split
		stdin.Path, stdin.Size = "-", -1
		o.Stdin = bytes.NewReader(content)
		if again := readAll(t, stdin, o); !slices.EqualFunc(all.docs, again.docs, same) {
			t.Errorf("%s: standard input has other documents", name)
		}
		pieces, err := ours.Cut(split, int64(len(content)/5))
		if err != nil || len(pieces) < 3 {
			t.Fatalf("%s: %d pieces, %v", name, len(pieces), err)
		}
		var joined found
		end := int64(0)
		for _, p := range pieces {
			if p.Start != end {
				t.Fatalf("%s: piece %+v begins behind %d", name, p, end)
			}
			end = p.End
			part := readAll(t, p, o)
			joined.docs, joined.bad = append(joined.docs, part.docs...), append(joined.bad, part.bad...)
		}
		if end != split.Size || len(joined.bad) != 1 || !slices.EqualFunc(all.docs, joined.docs, same) {
			t.Errorf("%s: the pieces have %d documents, bad %v", name, len(joined.docs), joined.bad)
		}
	}
}

func same(a, b data.Document) bool {
	return string(a.ID) == string(b.ID) && string(a.Text) == string(b.Text) && a.Offset == b.Offset
}

// A file that is cut off gives the batches before the cut, and says what is lost.
func TestCutOff(t *testing.T) {
	for name, content := range forms(t) {
		for _, cut := range []int{len(content) / 2, len(content) - 5, len(content) * 9 / 10} {
			all := readAll(t, save(t, name, content[:cut]), data.ReaderOptions{})
			lost := 0
			for _, b := range all.bad {
				if b.Reason == data.ReasonDamaged && b.Lost > 0 {
					lost++
				}
			}
			if lost != 1 || len(all.docs) == 0 || len(all.docs)%rows != rows-1 {
				t.Errorf("%s at %d: %d documents, bad %v", name, cut, len(all.docs), all.bad)
			}
		}
	}
	for _, content := range []string{"", "ARROW1", "ARROW1\x00\x00", "ARROW1\x00\x00\xff\xff\xff\xff\x10\x00\x00\x00", "{\"text\":\"no\"}\n", "\xff\xff\xff\xff\x00\x00\x00\x00"} {
		in, err := ours.Open(save(t, "x.arrow", []byte(content)), data.ReaderOptions{})
		if err == nil || !errors.As(err, new(*data.Unreadable)) {
			t.Errorf("%q: %v, %v", content, in, err)
		}
	}
}

// A file without a length before its schema, as polars writes it, is read by its footer,
// whole and in pieces.
func TestSchemaInFooter(t *testing.T) {
	content := written(t, true)
	copy(content[8:], "\x04\x00\x00\x00\x00\x00\x00\x00")
	split := save(t, "polars.arrow", content)
	if all := readAll(t, split, data.ReaderOptions{}); len(all.docs) != batches*rows-1 || len(all.bad) != 1 {
		t.Errorf("%d documents, bad %v", len(all.docs), all.bad)
	}
	pieces, err := ours.Cut(split, split.Size/4)
	if err != nil || len(pieces) < 2 {
		t.Fatal(pieces, err)
	}
	n := 0
	for _, p := range pieces {
		n += len(readAll(t, p, data.ReaderOptions{}).docs)
	}
	if n != batches*rows-1 {
		t.Errorf("the pieces have %d documents", n)
	}
}

// Whatever bit is wrong, there is no panic, and each row is a document or is lost.
// NEARDUP_EXHAUSTIVE flips more of them.
func TestFlippedBits(t *testing.T) {
	step := 293
	switch {
	case testing.Short():
		step = 3989
	case os.Getenv("NEARDUP_EXHAUSTIVE") != "":
		step = 37
	}
	for name, content := range forms(t) {
		for bit := 0; bit < 8*len(content); bit += step * 8 * max(1, len(content)/20_000) {
			flipped := bytes.Clone(content)
			flipped[bit/8] ^= 1 << (bit % 7)
			split := save(t, name, flipped)
			in, err := ours.Open(split, data.ReaderOptions{})
			if err != nil {
				if !errors.As(err, new(*data.Unreadable)) && !errors.As(err, new(*data.NoColumn)) {
					t.Fatalf("%s, bit %d: %v", name, bit, err)
				}
				continue
			}
			seen, lost := 0, false
			for {
				err := in.Read(new(data.Document))
				if errors.Is(err, io.EOF) {
					break
				}
				bad, ok := data.IsBadRecord(err)
				if err != nil && !ok {
					t.Fatalf("%s, bit %d: %v", name, bit, err)
				}
				lost = lost || ok && bad.Lost > 0
				seen++
			}
			if seen != batches*rows && !lost {
				t.Errorf("%s, bit %d: %d rows, and nothing is lost", name, bit, seen)
			}
			if err := in.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := copyRows(filepath.Join(t.TempDir(), "copy"), split, data.ReaderOptions{}, parquet.Changes{}, func(_ int, row int64) bool { return row%2 == 0 }); err != nil {
				t.Fatalf("%s, bit %d: a copy: %v", name, bit, err)
			}
		}
	}
}

// bounded is memory of so many bytes.
type bounded int64

func (b bounded) Take(n int64) int64 { return min(n, int64(b)) }
func (bounded) Give(int64)           {}

// A batch that takes more memory than there is is left out, and said.
func TestMemory(t *testing.T) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.LargeString}}, nil))
	b.Field(0).(*array.LargeStringBuilder).Append(strings.Repeat("x", 20<<20))
	large := b.NewRecord()
	b.Field(0).(*array.LargeStringBuilder).Append("small")
	small := b.NewRecord()
	for _, options := range [][]ipc.Option{nil, {ipc.WithZstd()}} {
		var out bytes.Buffer
		w := ipc.NewWriter(&out, append(options, ipc.WithSchema(large.Schema()))...)
		for _, r := range []arrow.Record{small, large, small} {
			if err := w.Write(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		all := readAll(t, save(t, "large.arrows", out.Bytes()), data.ReaderOptions{Memory: bounded(8 << 20)})
		if len(all.docs) != 2 || len(all.bad) != 1 || all.bad[0].Reason != data.ReasonTooLarge || all.docs[1].Offset != 2 {
			t.Errorf("%d documents, bad %v", len(all.docs), all.bad)
		}
	}
}

// The rows of several files become one file or stream, in their order. A file that cannot be
// read has none of them, and of no file at all a copy is an error.
func TestCopySeveral(t *testing.T) {
	keep := func(file int, row int64) bool { return (int(row)+file)%3 == 0 }
	broken := save(t, "broken", []byte("ARROW1"))
	for name, content := range forms(t) {
		one := save(t, name, content)
		split := one
		var want []int32
		for file, s := range []data.Split{one, broken, one, one} {
			split.Files = append(split.Files, data.SplitFile{Path: s.Path, Size: s.Size})
			for i := range batches * rows {
				if s.Path == one.Path && keep(file, int64(i)) {
					want = append(want, int32(i))
				}
			}
		}
		to := filepath.Join(t.TempDir(), "copy.arrow")
		kept, err := copyRows(to, split, data.ReaderOptions{}, parquet.Changes{More: []parquet.NewColumn{{Name: "row", Numbers: want}}}, keep)
		if err != nil || kept != int64(len(want)) {
			t.Fatalf("%s: %d rows, want %d: %v", name, kept, len(want), err)
		}
		written, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		for _, r := range decoded(t, written) {
			for i := range int(r.NumRows()) {
				if got := r.Column(0).ValueStr(i); got != id(int(want[at])) || r.Column(6).(*array.Int32).Value(i) != want[at] {
					t.Fatalf("%s: row %d is %s, want %s", name, at, got, id(int(want[at])))
				}
				at++
			}
		}
		if at != len(want) {
			t.Errorf("%s: %d rows, want %d", name, at, len(want))
		}
		split.Files = []data.SplitFile{{Path: broken.Path}, {Path: broken.Path}}
		if _, err := copyRows(to, split, data.ReaderOptions{}, parquet.Changes{}, keep); err == nil {
			t.Errorf("%s: made of files of which none can be read", name)
		}
	}
}

// A copy has the rows that are kept, with all columns, in the form of the input.
func TestCopyRows(t *testing.T) {
	keep := func(_ int, row int64) bool { return row%3 != 1 && row/rows != 2 }
	for name, content := range forms(t) {
		split := save(t, name, content)
		to := filepath.Join(t.TempDir(), "copy.arrow")
		var numbers []int32
		var words []string
		for i := range int64(batches * rows) {
			if keep(0, i) {
				numbers = append(numbers, int32(i))
				words = append(words, []string{"", "night"}[i%2])
			}
		}
		more := []parquet.NewColumn{{Name: "copies", Numbers: numbers}, {Name: "seen", Words: words}}
		kept, err := copyRows(to, split, data.ReaderOptions{}, parquet.Changes{More: more}, keep)
		if err != nil || kept != int64(len(numbers)) {
			t.Fatalf("%s: %d rows, %v", name, kept, err)
		}
		written, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.HasPrefix(content, []byte("ARROW1")) != bytes.HasPrefix(written, []byte("ARROW1")) {
			t.Errorf("%s: a copy of another form", name)
		}
		at := 0
		for _, r := range decoded(t, written) {
			for i := range int(r.NumRows()) {
				row := int(numbers[at])
				if got := r.Column(0).ValueStr(i); got != id(row) || r.Column(5).ValueStr(i) != fmt.Sprintf(`["tag%d"]`, row) || r.Column(6).(*array.Int32).Value(i) != int32(row) ||
					r.Column(7).IsNull(i) != (row%2 == 0) || r.Column(1).IsNull(i) != (row == 7) {
					t.Fatalf("%s: row %d is %s, %s", name, row, got, r.Column(5).ValueStr(i))
				}
				at++
			}
		}
		if at != len(numbers) {
			t.Errorf("%s: %d rows, of %d", name, at, len(numbers))
		}
		if _, err := copyRows(to, split, data.ReaderOptions{}, parquet.Changes{More: []parquet.NewColumn{{Name: "url", Words: words}}}, keep); err == nil {
			t.Errorf("%s: a column that is there already", name)
		}
	}
}

func decoded(t *testing.T, content []byte) (all []arrow.Record) {
	t.Helper()
	if bytes.HasPrefix(content, []byte("ARROW1")) {
		f, err := ipc.NewFileReader(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		for i := range f.NumRecords() {
			r, err := f.RecordAt(i)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		return all
	}
	in, err := ipc.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	for in.Next() {
		in.Record().Retain()
		all = append(all, in.Record())
	}
	if in.Err() != nil {
		t.Fatal(in.Err())
	}
	return all
}

// FuzzRead reads what may be Arrow IPC, whole, in pieces and as a copy: no panic, and
// no more memory than the bytes account for.
func FuzzRead(f *testing.F) {
	var few []arrow.Record // a fuzzer gets on with what is small
	for _, r := range records()[:2] {
		few = append(few, r.NewSlice(6, 9))
	}
	for _, file := range []bool{false, true} {
		for _, packed := range [][]ipc.Option{nil, {ipc.WithZstd()}, {ipc.WithLZ4()}} {
			f.Add(write(f, file, few, packed...))
		}
	}
	f.Add([]byte("ARROW1\x00\x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		split := save(t, "x.arrow", content)
		pieces, err := ours.Cut(split, int64(len(content)/3+1))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range append(pieces, split) {
			in, err := ours.Open(p, data.ReaderOptions{})
			if err != nil {
				continue
			}
			for n := 0; n < 10_000; n++ {
				err := in.Read(new(data.Document))
				if _, bad := data.IsBadRecord(err); err != nil && !bad {
					if !errors.Is(err, io.EOF) {
						t.Fatal(err)
					}
					break
				}
			}
			if err := in.Close(); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = copyRows(filepath.Join(t.TempDir(), "copy"), split, data.ReaderOptions{}, parquet.Changes{}, func(_ int, row int64) bool { return row%2 == 0 })
	})
}
