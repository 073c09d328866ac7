package simhash

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// sharedData returns the folder of the shared test data, or skips the test.
func sharedData(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("NEARDUP_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	dir = filepath.Join(dir, "data")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("shared data not found at %s", dir)
	}
	return dir
}

// sharedRecords reads up to limit records of a gzipped JSONL file.
func sharedRecords(t testing.TB, name string, limit int) []map[string]any {
	t.Helper()
	f, err := os.Open(filepath.Join(sharedData(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 64<<20)
	var records []map[string]any
	for len(records) < limit && lines.Scan() {
		var r map[string]any
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return records
}

// sharedTexts returns one field of up to limit records.
func sharedTexts(t testing.TB, name, field string, limit int) [][]byte {
	t.Helper()
	var texts [][]byte
	for _, r := range sharedRecords(t, name, limit) {
		s, ok := r[field].(string)
		if !ok {
			t.Fatalf("%s has a record without %s", name, field)
		}
		texts = append(texts, []byte(s))
	}
	return texts
}
