package parquet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
)

// textFill stands between the numbers of a made-up text.
var textFill = bytes.Repeat([]byte("some words, "), 200)

// textRow is row i of a made-up table: mostly some kilobytes, some rows without
// a title or a text, now and then one of megabytes.
func textRow(i int) data.TextRow {
	r := rand.New(rand.NewPCG(uint64(i), 3))
	size := r.IntN(8 << 10)
	switch {
	case i%13 == 0:
		size = 0
	case i%997 == 500:
		size = 20 << 20
	}
	row := data.TextRow{DocID: fmt.Appendf(nil, "https://example.org/%d", i), Text: make([]byte, 0, size)}
	if i%3 > 0 {
		row.Title, row.Body = fmt.Appendf(nil, "标题 %d", i), int32(i%5)
	}
	for len(row.Text) < size {
		row.Text = append(fmt.Appendf(row.Text, "第 %d 段", r.IntN(1000)), textFill[:r.IntN(len(textFill))]...)
	}
	return row
}

func writeTexts(t testing.TB, path string, n int, o parquet.Options) {
	t.Helper()
	w, err := parquet.Create(path, &data.Texts, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		row := textRow(i)
		if err := w.Write(&row); err != nil {
			t.Fatal(err)
		}
		clear(row.Text) // the sink has to have copied what it was given
		clear(row.DocID)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
}

func equalTexts(a, b data.TextRow) bool {
	return bytes.Equal(a.DocID, b.DocID) && bytes.Equal(a.Title, b.Title) && bytes.Equal(a.Text, b.Text) && a.Body == b.Body
}

func TestTextsRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 1025, 4000} {
		if n == 4000 && testing.Short() {
			continue
		}
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		path := filepath.Join(t.TempDir(), "part.parquet")
		writeTexts(t, path, n, parquet.Options{Version: "v1", ConfigHash: "abc", Allocator: mem})
		info, err := parquet.ReadInfo(path)
		if err != nil {
			t.Fatal(err)
		}
		released(t, mem, max(len(info.Groups), 1)*len(data.Texts.Columns))
		if n == 4000 && len(info.Groups) < 3 {
			t.Errorf("%d rows in %d row groups: they are not bounded by their bytes", n, len(info.Groups))
		}
		r, err := parquet.OpenTable(path, &data.Texts, parquet.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if want := (parquet.Info{Version: "v1", Table: "texts", ConfigHash: "abc", Bits: 64, Rows: int64(n), Groups: info.Groups, Checksum: info.Checksum}); !reflect.DeepEqual(r.Info, want) {
			t.Errorf("Info = %+v, want %+v", r.Info, want)
		}
		var row data.TextRow
		for i := range n {
			if err := r.Read(&row); err != nil {
				t.Fatalf("row %d: %v", i, err)
			}
			if !equalTexts(row, textRow(i)) {
				t.Fatalf("row %d differs", i)
			}
		}
		if err := r.Read(&row); !errors.Is(err, io.EOF) {
			t.Errorf("after the last row: %v", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}

		again := filepath.Join(t.TempDir(), "again.parquet")
		writeTexts(t, again, n, parquet.Options{Version: "v1", ConfigHash: "abc"})
		a, errA := os.ReadFile(path)
		b, errB := os.ReadFile(again)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%d rows: the same rows gave other bytes", n)
		}
	}
}

// A table of an earlier program, which lacks a column that came later, is read; one
// that lacks another is refused.
func TestLaterColumns(t *testing.T) {
	for name, readable := range map[string]bool{"body_from": true, "title": false} {
		earlier := data.Texts
		earlier.Columns = slices.DeleteFunc(slices.Clone(earlier.Columns), func(c data.Column[data.TextRow]) bool { return c.Name == name })
		path, row := filepath.Join(t.TempDir(), "part.parquet"), textRow(1)
		if err := parquet.WriteTable(path, &earlier, parquet.Options{}, []*data.TextRow{&row}); err != nil {
			t.Fatal(err)
		}
		rows := 0
		err := parquet.ReadTable(t.Context(), path, &data.Texts, func(got *data.TextRow) error {
			rows++
			if got.Body != 0 || !bytes.Equal(got.Text, row.Text) {
				t.Errorf("without %s: body %d, text %q", name, got.Body, got.Text)
			}
			return nil
		})
		if readable && (err != nil || rows != 1) || !readable && err == nil {
			t.Errorf("without %s: %d rows, %v", name, rows, err)
		}
	}
}

// Any ascending rows are found, wherever row groups and pages end, in either
// table that a split's documents are put together from.
func TestSeekRow(t *testing.T) {
	const n = 4000
	dir := t.TempDir()
	texts, prints := filepath.Join(dir, "texts.parquet"), filepath.Join(dir, "prints.parquet")
	writeTexts(t, texts, n, parquet.Options{})
	writeFingerprints(t, prints, n, parquet.Options{})
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 4))
		a, err := parquet.OpenTable(texts, &data.Texts, parquet.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := parquet.OpenFingerprints(prints, parquet.ReadOptions{Columns: []string{"doc_id", "date"}})
		if err != nil {
			t.Fatal(err)
		}
		for row := rng.IntN(40); row < n; row += 1 + rng.IntN(1+rng.IntN(1<<(2*seed))) {
			if err := errors.Join(a.SeekRow(int64(row)), b.SeekRow(int64(row))); err != nil {
				t.Fatal(err)
			}
			for range 1 + rng.IntN(2) { // and on from there
				var x data.TextRow
				var y data.FingerprintRow
				if err := errors.Join(a.Read(&x), b.Read(&y)); err != nil {
					t.Fatal(err)
				}
				if want := fingerprintRow(row); !equalTexts(x, textRow(row)) || !bytes.Equal(y.DocID, want.DocID) || y.Date != want.Date {
					t.Fatalf("seed %d: row %d differs: %s, %s", seed, row, x.DocID, y.DocID)
				}
				if row++; row == n {
					break
				}
			}
			row--
		}
		if err := a.SeekRow(0); err == nil {
			t.Error("it went back")
		}
		var x data.TextRow
		if err := a.SeekRow(n + 7); err != nil {
			t.Error(err)
		}
		if err := a.Read(&x); !errors.Is(err, io.EOF) {
			t.Errorf("beyond the last row: %v", err)
		}
		if err := errors.Join(a.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestTextsAreUTF8(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part.parquet")
	w, err := parquet.Create(path, &data.Texts, parquet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(&data.TextRow{DocID: []byte("a"), Text: []byte("x\xff\xfey")}), w.Commit()); err != nil {
		t.Fatal(err)
	}
	r, err := parquet.OpenTable(path, &data.Texts, parquet.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var row data.TextRow
	if err := errors.Join(r.Read(&row), r.Close()); err != nil || string(row.Text) != "x\uFFFDy" {
		t.Errorf("%q, %v", row.Text, err)
	}
}

func TestTextsOfAnotherTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part.parquet")
	writeFingerprints(t, path, 3, parquet.Options{})
	if _, err := parquet.OpenTable(path, &data.Texts, parquet.ReadOptions{}); !errors.Is(err, parquet.ErrNotTable) {
		t.Errorf("got %v, want ErrNotTable", err)
	}
}
