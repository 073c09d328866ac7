package parquet

import (
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/data"
)

// Rows come back through any number of pages, whatever their differences are.
func TestRowsComeBack(t *testing.T) {
	table := data.Table[data.ClusterRow]{Name: "rows", PageBytes: 1000, Columns: []data.Column[data.ClusterRow]{
		{Name: "row", Row: func(r *data.ClusterRow) *int64 { return &r.Row }},
	}}
	path := filepath.Join(t.TempDir(), "x")
	w, err := Create(path, &table, Options{})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	want := []int64{data.NoRow, 0, data.RowNumber(1<<20+1, 0) - 1}
	for i := range 3 * batchRows {
		want = append(want, int64(i), data.RowNumber(rng.IntN(4), rng.Uint64N(1<<(i%33))))
	}
	for _, row := range want {
		if err := w.Write(&data.ClusterRow{Row: row}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	in, err := open(path, &table, ReadOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var row data.ClusterRow
	for i, want := range want {
		if err := in.Read(&row); err != nil || row.Row != want {
			t.Fatalf("row %d is %d, %v, want %d", i, row.Row, err, want)
		}
	}
	if err := in.Read(&row); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}
