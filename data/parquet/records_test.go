package parquet_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
)

func writeRecords(t *testing.T, path string, n int, o parquet.Options) {
	t.Helper()
	w, err := parquet.CreateRecords(path, "measures", []parquet.Field{
		{Name: "id", Type: parquet.String}, {Name: "text", Type: parquet.String}, {Name: "rank", Type: parquet.Double},
		{Name: "pairs", Type: parquet.Int}, {Name: "labelled", Type: parquet.Bool},
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for _, bad := range [][]any{{}, {"a", "b", 1.0, 2}, {"a", 1, 1.0, 2, true}, {"a", "b", 1, 2, true}, {"a", "b", 1.0, int64(2), true}, {"a", "b", 1.0, 2, nil}} {
			if err := w.Write(bad...); !errors.Is(err, parquet.ErrRecord) {
				t.Fatalf("%v is written: %v", bad, err)
			}
		}
		rank := float64(i) / 4
		if i%3 == 0 {
			rank = math.NaN()
		}
		if err := w.Write(fmt.Sprint("m", i), "记录", rank, 1000*i, i%2 == 0); err != nil {
			t.Fatal(err)
		}
	}
	if w.Rows() != int64(n) {
		t.Errorf("%d rows of %d", w.Rows(), n)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
}

func TestRecordsReadBack(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	path := filepath.Join(t.TempDir(), "measures.parquet")
	writeRecords(t, path, 100, parquet.Options{Version: "v1", Allocator: mem})
	released(t, mem, 5)

	r, err := parquet.Open(data.Split{Path: path, Format: "parquet", End: -1}, data.ReaderOptions{Columns: data.Columns{Rank: "rank"}})
	if err != nil {
		t.Fatal(err)
	}
	var doc data.Document
	for i := range 100 {
		if err := r.Read(&doc); err != nil {
			t.Fatal(err)
		}
		if string(doc.ID) != fmt.Sprint("m", i) || string(doc.Text) != "记录" || math.IsNaN(doc.Rank) != (i%3 == 0) || i%3 != 0 && doc.Rank != float64(i)/4 {
			t.Errorf("record %d reads as %+v", i, doc)
		}
	}
	if err := r.Read(&doc); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	python, err := exec.LookPath("python3")
	if err != nil || exec.Command(python, "-c", "import pyarrow").Run() != nil {
		t.Skip("python3 with pyarrow is not installed: the types are not read back")
	}
	script := `
import sys, pyarrow as pa, pyarrow.parquet as pq
t = pq.read_table(sys.argv[1])
assert t.schema.types == [pa.string(), pa.string(), pa.float64(), pa.int64(), pa.bool_()], t.schema
assert t.column("pairs")[7].as_py() == 7000 and t.column("labelled")[7].as_py() is False
assert t.column("rank").null_count == 34 and pq.read_metadata(sys.argv[1]).metadata[b"neardup.table"] == b"measures"
`
	if out, err := exec.Command(python, "-c", script, path).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestRecordsRefuse(t *testing.T) {
	dir := t.TempDir()
	if _, err := parquet.CreateRecords(filepath.Join(dir, "x"), "t", []parquet.Field{{Name: "a", Type: 9}}, parquet.Options{}); !errors.Is(err, parquet.ErrRecord) {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
