package job_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
)

// TestQueries asks DuckDB every question of docs/queries.sql about a run over
// the sample, and expects rows.
func TestQueries(t *testing.T) {
	if testing.Short() {
		t.Skip("Python loads large packages")
	}
	python, err := exec.LookPath("python3")
	if err != nil || exec.Command(python, "-c", "import duckdb").Run() != nil {
		t.Skip("python3 has no duckdb: the queries are not asked")
	}
	queries, err := os.ReadFile(filepath.Join("docs", "queries.sql"))
	if err != nil {
		t.Fatal(err)
	}
	sample, err := filepath.Abs(filepath.Join("..", "data", "sample"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cfg := config.Default()
	cfg.Match.AllPairs = true
	cfg.Library = config.Library{Path: filepath.Join(dir, "lib"), Night: "2026-11-20"}
	out := filepath.Join(dir, "night1")
	runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{sample}, Out: out, Config: cfg})
	asked := 0
	for q := range strings.SplitSeq(string(queries), ";\n") {
		if q = strings.TrimSpace(q); q == "" {
			continue
		}
		asked++
		script := fmt.Sprintf(`import sys, duckdb
duckdb.sql("SET VARIABLE crawl = '%s/pages-*.jsonl*'")
print(duckdb.sql("SELECT count(*) FROM (" + sys.stdin.read() + ")").fetchall()[0][0])`, sample)
		cmd := exec.Command(python, "-c", script)
		cmd.Dir, cmd.Stdin, cmd.Stderr = out, strings.NewReader(q), t.Output()
		rows, err := cmd.Output()
		if err != nil || strings.TrimSpace(string(rows)) == "0" {
			t.Errorf("%s rows, %v:\n%s", strings.TrimSpace(string(rows)), err, q)
		}
	}
	if asked != 11 {
		t.Errorf("%d questions were asked, not 11", asked)
	}
}
