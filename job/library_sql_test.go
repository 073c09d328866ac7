package job_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/neardup/neardup/job/internal/config"
)

// TestDocumentedQueries asks DuckDB the questions of docs/library.md, about
// three nights in which there is an answer to each.
func TestDocumentedQueries(t *testing.T) {
	if testing.Short() {
		t.Skip("Python loads large packages")
	}
	python, err := exec.LookPath("python3")
	if err != nil || exec.Command(python, "-c", "import duckdb").Run() != nil {
		t.Skip("python3 has no duckdb: the queries are not asked")
	}
	dir := t.TempDir()
	page := func(id string, seed uint64, more ...string) string {
		return fmt.Sprintf(`{"id":"http://a.example/%s","text":%q,"lang":"en"}`, id, text(seed, 120)+" "+strings.Join(more, " "))
	}
	jsonl(t, filepath.Join(dir, "2026-11-18.jsonl"), page("a", 1), page("b", 2))
	// c is half a and half b, so it joins their clusters.
	jsonl(t, filepath.Join(dir, "2026-11-19.jsonl"), page("a", 1), page("x", 1, "one", "word"), page("hot1", 5), page("hot2", 5))
	jsonl(t, filepath.Join(dir, "2026-11-20.jsonl"), page("c", 1, text(2, 120)), page("d", 2), page("hot1", 5), page("hot2", 5), page("hot3", 5))
	cfg := config.Default()
	cfg.Match.LimitLong, cfg.Match.LimitShort = 0.3, 0.3
	for _, night := range []string{"2026-11-18", "2026-11-19", "2026-11-20"} {
		libraryRun(t, cfg, dir, night, filepath.Join("runs", night))
	}
	if merges, err := filepath.Glob(filepath.Join(dir, "lib", "merges", "night=*", "*.parquet")); err != nil || len(merges) == 0 {
		t.Fatal("the nights have merged no clusters", err)
	}
	docs, err := os.ReadFile(filepath.Join("docs", "library.md"))
	if err != nil {
		t.Fatal(err)
	}
	var queries []string
	for _, block := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(docs), -1) {
		for q := range strings.SplitSeq(block[1], ";") {
			if q = strings.TrimSpace(q); q != "" {
				queries = append(queries, q)
			}
		}
	}
	if len(queries) < 5 {
		t.Fatalf("%d queries in the docs", len(queries))
	}
	for _, q := range queries {
		cmd := exec.Command(python, "-c", "import sys, duckdb; print(len(duckdb.sql(sys.stdin.read()).fetchall()))")
		cmd.Dir, cmd.Stdin, cmd.Stderr = dir, strings.NewReader(q), t.Output()
		rows, err := cmd.Output()
		if err != nil || strings.TrimSpace(string(rows)) == "0" {
			t.Errorf("%s rows, %v:\n%s", strings.TrimSpace(string(rows)), err, q)
		}
	}
}
