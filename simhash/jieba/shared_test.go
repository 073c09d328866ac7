package jieba_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"testing"
)

// sharedFiles are the real documents the tests run over, with the JSON fields
// that hold text.
var sharedFiles = []struct {
	name   string
	fields []string
}{
	{"zh/laws.jsonl.gz", []string{"text"}},
	{"zh/blogs.jsonl.gz", []string{"text"}},
	{"zh/lctt_pairs.jsonl.gz", []string{"draft", "published"}},
	{"zh/weibo_titles.jsonl.gz", []string{"text"}},
	{"en/reuters21578.jsonl.gz", []string{"title", "text"}},
}

// shared returns the directory of the real documents or skips the test.
func shared(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("NEARDUP_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	dir = filepath.Join(dir, "data")
	if _, err := os.Stat(dir); err != nil {
		tb.Skipf("shared data not found at %s", dir)
	}
	return dir
}

// texts yields every text of a file, and closes it when the loop ends.
func texts(tb testing.TB, dir, name string, fields []string) iter.Seq[[]byte] {
	tb.Helper()
	return func(yield func([]byte) bool) {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			tb.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			tb.Fatal(err)
		}
		s := bufio.NewScanner(z)
		s.Buffer(nil, 64<<20)
		for s.Scan() {
			var record map[string]any
			if err := json.Unmarshal(s.Bytes(), &record); err != nil {
				tb.Fatal(err)
			}
			for _, field := range fields {
				if text, ok := record[field].(string); ok && !yield([]byte(text)) {
					return
				}
			}
		}
		if err := s.Err(); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
	}
}
