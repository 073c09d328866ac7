package parquet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
)

// fingerprintRow is row i of a made-up table.
func fingerprintRow(i int) data.FingerprintRow {
	r := data.FingerprintRow{
		DocID:       fmt.Appendf(nil, "https://example.org/%d/page-%d.html", i%7, i),
		Lo:          uint64(i) * 0x9e3779b97f4a7c15,
		LengthClass: []string{"normal", "short", "empty"}[i%3],
		Features:    int32(i % 500),
		Length:      int32(i % 4000),
		Title:       fmt.Appendf(nil, "标题 %d", i),
		Source:      fmt.Sprintf("crawl/%03d.warc.gz", i/1000),
		Offset:      int64(i) * 4097,
		Date:        1_700_000_000_000 + int64(i),
		Rank:        float64(i) / 8,
	}
	if i%3 == 0 {
		r.Sketch = bytes.Repeat([]byte{byte(i)}, data.SketchSize)
	}
	if i%6 == 1 {
		r.Letters = fmt.Appendf(nil, "短%d", i)
	}
	if i%5 == 0 {
		r.Date = data.NoDate
	}
	if i%4 == 0 {
		r.Rank = math.NaN()
	}
	if i%11 == 0 {
		r.Title = nil
	}
	return r
}

func writeFingerprints(t testing.TB, path string, n int, o parquet.Options) {
	t.Helper()
	w, err := parquet.Create(path, &data.Fingerprints, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		row := fingerprintRow(i)
		if o.Bits == 128 {
			row.Hi = ^row.Lo
		}
		if err := w.Write(&row); err != nil {
			t.Fatal(err)
		}
		// The sink has to have copied what it was given.
		for j := range row.DocID {
			row.DocID[j] = '!'
		}
		for j := range row.Title {
			row.Title[j] = '!'
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	if w.Rows() != int64(n) {
		t.Fatalf("Rows() = %d, want %d", w.Rows(), n)
	}
}

// equalRows compares rows, taking NaN as equal to NaN and nil to empty.
func equalRows(a, b data.FingerprintRow) bool {
	if math.IsNaN(a.Rank) != math.IsNaN(b.Rank) || !math.IsNaN(a.Rank) && a.Rank != b.Rank {
		return false
	}
	for _, v := range [][2]*[]byte{{&a.DocID, &b.DocID}, {&a.Title, &b.Title}, {&a.Sketch, &b.Sketch}, {&a.Letters, &b.Letters}} {
		if !bytes.Equal(*v[0], *v[1]) {
			return false
		}
		*v[0], *v[1] = nil, nil
	}
	a.Rank, b.Rank = 0, 0
	return reflect.DeepEqual(a, b)
}

// released checks that a writer of one row group gave its memory back, but
// for what arrow itself loses: closing a buffered column leaves the empty
// buffer, of 256 bytes, that BufferWriter.Finish makes for a next use.
func released(t *testing.T, mem *memory.CheckedAllocator, columns int) {
	t.Helper()
	if left := mem.CurrentAlloc(); left > 256*columns {
		t.Errorf("%d bytes are not released, beyond the %d that arrow loses", left, 256*columns)
	}
}

func TestFingerprintsRoundTrip(t *testing.T) {
	for _, bits := range []int{32, 64, 128} {
		for _, n := range []int{0, 1, 1023, 1024, 1025, 8192, 30_000} {
			if testing.Short() && n > 8192 && bits != 64 {
				continue
			}
			t.Run(fmt.Sprintf("%d bits, %d rows", bits, n), func(t *testing.T) {
				mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
				path := filepath.Join(t.TempDir(), "part.parquet")
				writeFingerprints(t, path, n, parquet.Options{Version: "v1", ConfigHash: "abc", Bits: bits, Allocator: mem})
				released(t, mem, len(data.Fingerprints.Columns))

				r, err := parquet.OpenFingerprints(path, parquet.ReadOptions{})
				if err != nil {
					t.Fatal(err)
				}
				want := parquet.Info{Version: "v1", Table: "fingerprints", ConfigHash: "abc", Bits: bits, Rows: int64(n)}
				if n > 0 {
					want.Groups = []int64{int64(n)}
				}
				if want.Checksum = r.Info.Checksum; !reflect.DeepEqual(r.Info, want) || len(want.Checksum) != 16 {
					t.Errorf("Info = %+v, want %+v", r.Info, want)
				}
				var row data.FingerprintRow
				for i := range n {
					if err := r.Read(&row); err != nil {
						t.Fatalf("row %d: %v", i, err)
					}
					want := fingerprintRow(i)
					if bits == 128 {
						want.Hi = ^want.Lo
					}
					if !equalRows(row, want) {
						t.Fatalf("row %d\n got %+v\nwant %+v", i, row, want)
					}
				}
				for range 2 {
					if err := r.Read(&row); !errors.Is(err, io.EOF) {
						t.Fatalf("after the last row: %v", err)
					}
				}
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

func TestFingerprintsSomeColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part.parquet")
	writeFingerprints(t, path, 3000, parquet.Options{})
	r, err := parquet.OpenFingerprints(path, parquet.ReadOptions{Columns: []string{"fingerprint", "length_class"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var row data.FingerprintRow
	for i := range 3000 {
		if err := r.Read(&row); err != nil {
			t.Fatal(err)
		}
		want := fingerprintRow(i)
		if row.Lo != want.Lo || row.LengthClass != want.LengthClass || len(row.DocID) > 0 || row.Offset != 0 {
			t.Fatalf("row %d: %+v", i, row)
		}
	}
	if _, err := parquet.OpenFingerprints(path, parquet.ReadOptions{Columns: []string{"colour"}}); err == nil || !strings.Contains(err.Error(), `no column "colour"`) {
		t.Errorf("an unknown column: %v", err)
	}
}

func TestSameRowsSameBytes(t *testing.T) {
	dir := t.TempDir()
	var files [2][]byte
	for i := range files {
		path := filepath.Join(dir, fmt.Sprint(i))
		writeFingerprints(t, path, 20_000, parquet.Options{Version: "v1", ConfigHash: "abc"})
		var err error
		if files[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two files of the same rows differ")
	}
}

func TestMatchesRoundTrip(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	path := filepath.Join(t.TempDir(), "part.parquet")
	w, err := parquet.Create(path, &data.Matches, parquet.Options{Allocator: mem})
	if err != nil {
		t.Fatal(err)
	}
	const n = 20_000
	want := func(i int) data.MatchRow {
		row := data.MatchRow{DocID: fmt.Appendf(nil, "a%d", i), MatchID: fmt.Appendf(nil, "b%d", i), Distance: int32(i % 4), Similarity: 1 - float64(i%4)/64, MatchFrom: []string{"run", "2026-11-20"}[i%2],
			Estimate: float64(i%7) / 7, Jaccard: 0.5, Verdict: []string{"distance", "texts alike"}[i%2], FirstSeen: []string{"", "2026-11-01"}[i%2]}
		if i%3 == 0 {
			row.Estimate = math.NaN()
		}
		if i%5 > 0 {
			row.Jaccard = math.NaN()
		}
		return row
	}
	for i := range n {
		row := want(i)
		if err := w.Write(&row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	released(t, mem, len(data.Matches.Columns))
	r, err := parquet.OpenTable(path, &data.Matches, parquet.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var row data.MatchRow
	for i := range n {
		if err := r.Read(&row); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprintf("%+v", row), fmt.Sprintf("%+v", want(i)); got != want { // NaN equals NaN
			t.Fatalf("row %d: got %s, want %s", i, got, want)
		}
	}
	if err := r.Read(&row); !errors.Is(err, io.EOF) {
		t.Fatalf("after the last row: %v", err)
	}
}

func TestClustersRoundTrip(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	path := filepath.Join(t.TempDir(), "part.parquet")
	w, err := parquet.Create(path, &data.Clusters, parquet.Options{Allocator: mem})
	if err != nil {
		t.Fatal(err)
	}
	const n = 20_000
	want := func(i int) data.ClusterRow {
		return data.ClusterRow{DocID: fmt.Appendf(nil, "a%d", i), ClusterID: fmt.Appendf(nil, "a%d", i-i%3), Size: 3, Representative: i%3 == 1}
	}
	for i := range n {
		row := want(i)
		if err := w.Write(&row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	released(t, mem, len(data.Clusters.Columns))
	r, err := parquet.OpenTable(path, &data.Clusters, parquet.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var row data.ClusterRow
	for i := range n {
		if err := r.Read(&row); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprintf("%+v", row), fmt.Sprintf("%+v", want(i)); got != want { // NaN equals NaN
			t.Fatalf("row %d: got %s, want %s", i, got, want)
		}
	}
	if _, err := parquet.OpenTable(path, &data.Matches, parquet.ReadOptions{}); !errors.Is(err, parquet.ErrNotTable) {
		t.Errorf("clusters opened as matches: %v", err)
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	w, err := parquet.Create(filepath.Join(dir, "part.parquet"), &data.Fingerprints, parquet.Options{Allocator: mem})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20_000 {
		row := fingerprintRow(i)
		if err := w.Write(&row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	released(t, mem, len(data.Fingerprints.Columns))
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestAnalystsReadTables reads the tables with what analysts use.
func TestAnalystsReadTables(t *testing.T) {
	if testing.Short() {
		t.Skip("Python loads large packages")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed: the tables are not read with pyarrow and DuckDB")
	}
	if err := exec.Command(python, "-c", "import pyarrow, duckdb").Run(); err != nil {
		t.Skip("python3 has no pyarrow and duckdb: the tables are not read with them")
	}
	dir := t.TempDir()
	narrow, wide := filepath.Join(dir, "narrow.parquet"), filepath.Join(dir, "wide.parquet")
	writeFingerprints(t, narrow, 20_000, parquet.Options{Version: "v1", ConfigHash: "abc"})
	writeFingerprints(t, wide, 100, parquet.Options{Bits: 128})
	script := `
import sys, duckdb, pyarrow as pa, pyarrow.parquet as pq
narrow, wide = sys.argv[1:]
t = pq.read_table(narrow)
assert t.num_rows == 20000, t.num_rows
assert t.schema.field("fingerprint").type == pa.uint64(), t.schema
assert t.schema.field("date").type == pa.timestamp("ms", tz="UTC"), t.schema
assert t.schema.field("date").nullable and not t.schema.field("doc_id").nullable
assert t.schema.field("sketch").type == pa.binary(64) and t.column("sketch")[3].as_py() == bytes([3]) * 64, t.schema
assert t.column("sketch").null_count == 13333 and t.column("letters")[1].as_py() == "短1"
assert t.column("date").null_count == 4000 and t.column("rank").null_count == 5000
for i in (0, 1, 8191, 8192, 19999):
    assert t.column("fingerprint")[i].as_py() == i * 0x9e3779b97f4a7c15 % 2**64
    assert t.column("doc_id")[i].as_py() == f"https://example.org/{i%7}/page-{i}.html"
    assert t.column("title")[i].as_py() == (None if i % 11 == 0 else f"标题 {i}")
assert t.schema.field("length").metadata == {b"description": b"length of the document's own text, in normal form", b"unit": b"characters"}, t.schema
assert t.schema.metadata[b"neardup.table"] == b"fingerprints", t.schema.metadata
meta = pq.read_metadata(narrow).metadata
assert meta[b"neardup.table"] == b"fingerprints" and meta[b"neardup.config"] == b"abc", meta
stats = pq.read_metadata(narrow).row_group(0).column(0).statistics
ids = t.column("doc_id").to_pylist()
assert (stats.min, stats.max) == (min(ids), max(ids)), (stats.min, stats.max)
w = pq.read_table(wide)
assert w.schema.field("fingerprint").type == pa.binary(16), w.schema
lo = 5 * 0x9e3779b97f4a7c15 % 2**64
assert w.column("fingerprint")[5].as_py() == ((~lo) % 2**64).to_bytes(8, "big") + lo.to_bytes(8, "big")
q = duckdb.sql(f"select count(*), count(distinct doc_id), sum(length), count(date) from '{narrow}' where length_class = 'short'").fetchall()[0]
assert q == (6667, 6667, sum(i % 4000 for i in range(1, 20000, 3)), sum(1 for i in range(1, 20000, 3) if i % 5)), q
`
	if out, err := exec.Command(python, "-c", script, narrow, wide).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func BenchmarkWriteFingerprints(b *testing.B) {
	const n = 200_000
	rows := make([]data.FingerprintRow, n)
	for i := range rows {
		rows[i] = fingerprintRow(i)
	}
	path := filepath.Join(b.TempDir(), "part.parquet")
	b.ReportAllocs()
	for b.Loop() {
		w, err := parquet.Create(path, &data.Fingerprints, parquet.Options{})
		if err != nil {
			b.Fatal(err)
		}
		for i := range rows {
			if err := w.Write(&rows[i]); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Commit(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkReadFingerprints(b *testing.B) {
	const n = 200_000
	path := filepath.Join(b.TempDir(), "part.parquet")
	writeFingerprints(b, path, n, parquet.Options{})
	for name, columns := range map[string][]string{"all": nil, "three": {"doc_id", "fingerprint", "length_class"}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := parquet.OpenFingerprints(path, parquet.ReadOptions{Columns: columns})
				if err != nil {
					b.Fatal(err)
				}
				var row data.FingerprintRow
				for range n {
					if err := r.Read(&row); err != nil {
						b.Fatal(err)
					}
				}
				if err := r.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
