package parquet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
)

// TestDriftTables writes the tables of drift and growth and reads them back,
// as rows and as values.
func TestDriftTables(t *testing.T) {
	for _, bits := range []int{32, 64, 128} {
		dir := t.TempDir()
		o := parquet.Options{Bits: bits}
		drift := []data.DriftRow{
			{Night: "2026-11-02", Site: []byte("a.example"), Language: "zh", Documents: 6, New: 1, Repeated: 2, Returned: 3},
			{Night: "2026-11-02", Site: []byte("b.example"), Documents: 1, Returned: 1},
		}
		w, err := parquet.Create(filepath.Join(dir, "drift"), &data.Drift, o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range drift {
			if err := w.Write(&drift[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		n := 0
		err = parquet.ReadTable(context.Background(), filepath.Join(dir, "drift"), &data.Drift, func(r *data.DriftRow) error {
			if fmt.Sprint(*r) != fmt.Sprint(drift[n]) {
				t.Errorf("row %d: %v, want %v", n, *r, drift[n])
			}
			n++
			return nil
		})
		if err != nil || n != 2 {
			t.Fatal(n, err)
		}

		hot := data.GrowthRow{Night: "2026-11-02", Lo: 0xabcdef, Documents: 9, Before: 4, History: 5, Example: []byte("x")}
		want := "0000000000abcdef"
		switch bits {
		case 32:
			want = "00abcdef"
		case 128:
			hot.Hi, want = 1, "0000000000000001"+want
		}
		g, err := parquet.Create(filepath.Join(dir, "growth"), &data.Growth, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(g.Write(&hot), g.Commit()); err != nil {
			t.Fatal(err)
		}
		err = parquet.ReadTable(context.Background(), filepath.Join(dir, "growth"), &data.Growth, func(r *data.GrowthRow) error {
			if fmt.Sprint(*r) != fmt.Sprint(hot) {
				t.Errorf("%v, want %v", *r, hot)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := parquet.ReadTable(context.Background(), filepath.Join(dir, "drift"), &data.Growth, nil); !errors.Is(err, parquet.ErrNotTable) {
			t.Errorf("the drift table as growth: %v", err)
		}

		v, err := parquet.OpenValues(filepath.Join(dir, "growth"))
		if err != nil {
			t.Fatal(err)
		}
		if names := []string{"night", "fingerprint", "fingerprint_hex", "documents", "before", "history", "example", "title", "row"}; !slices.Equal(v.Names, names) {
			t.Errorf("names %v", v.Names)
		}
		row, err := v.Read()
		if err != nil || !slices.Equal(row, []any{"2026-11-02", want, want, int64(9), int64(4), int64(5), "x", nil, int64(0)}) {
			t.Errorf("%d bits: %v, %v", bits, row, err)
		}
		if _, err := v.Read(); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestValuesOfDocuments reads nulls, dates and bytes as values.
func TestValuesOfDocuments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w, err := parquet.Create(path, &data.Fingerprints, parquet.Options{Bits: 64})
	if err != nil {
		t.Fatal(err)
	}
	row := data.EmptyFingerprintRow()
	row.DocID, row.Lo, row.Date, row.Language = []byte("a"), 1<<63, 0, "en"
	if err := errors.Join(w.Write(&row), w.Commit()); err != nil {
		t.Fatal(err)
	}
	v, err := parquet.OpenValues(path)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	got, err := v.Read()
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) any { return got[slices.Index(v.Names, name)] }
	if at("fingerprint") != "8000000000000000" || at("date") != "1970-01-01T00:00:00Z" || at("rank") != nil || at("sketch") != nil || at("language") != "en" || at("features") != int32(0) {
		t.Errorf("%v", got)
	}
}
