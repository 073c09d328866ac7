package job_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/sample"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/nightstest"
	"github.com/neardup/neardup/job/internal/rundir"
)

// Each column of each table has a value in some row: what a stage or the
// library forgets to fill in is zero or null everywhere.
func TestColumnsAreFilled(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "sample"), sample.Files()); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Default().WithPreset(config.PresetThorough)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Match.AllPairs, cfg.Input.Rank, cfg.Output.Contained = true, "rank", config.ContainedDrop
	cfg.Output.Annotate = config.AnnotateTable
	var runs []string
	names := nightstest.Crawl(t, dir, 2, 40)
	archive, _, _ := shortNews(t)
	for i, night := range names {
		lines := []string{
			fmt.Sprintf(`{"id":"http://ranked.example/%d","text":%q,"rank":%d}`, i, text(5, 120), i+1),
			fmt.Sprintf(`{"id":"http://long.example/%d","text":%q}`, i, text(6, 300)),
			fmt.Sprintf(`{"id":"http://part.example/%d","text":%q}`, i, text(6, 270)), // the long one's beginning
		}
		for n := range uint64(30) { // pages of a site that share a block
			lines = append(lines, fmt.Sprintf(`{"id":"http://site.example/%d/%d","text":%q}`, i, n, text(7, 40)+"\n"+text(100*uint64(i)+n, 80)))
		}
		more := jsonl(t, filepath.Join(dir, night+"-more.jsonl"), lines...)
		cfg.Library = config.Library{Path: filepath.Join(dir, "lib"), Night: night}
		out := filepath.Join(dir, "run-"+night)
		runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{filepath.Join(dir, night+".jsonl"), filepath.Join(dir, "sample"), more, archive}, Out: out, Config: cfg})
		runs = append(runs, out)
	}
	lib := []string{filepath.Join(dir, "lib")}

	// Few documents join clusters of earlier nights: where chains are long.
	plain, err := config.Default().WithPreset(config.PresetClassic)
	if err != nil {
		t.Fatal(err)
	}
	chains := t.TempDir()
	for _, night := range nightstest.Crawl(t, chains, 2, 60) {
		libraryRun(t, plain, chains, night, "run-"+night)
	}
	filled(t, &data.Fingerprints, runs, rundir.Fingerprints)
	filled(t, &data.Texts, runs, rundir.Texts)
	filled(t, &data.Matches, runs, rundir.Matches)
	filled(t, &data.Matches, runs, rundir.Pairs, "match_from", "first_seen") // pairs are of the run
	filled(t, &data.Clusters, runs, rundir.Clusters)
	filled(t, &data.Removed, runs, rundir.Removed)
	filled(t, &data.Seen, runs, rundir.Seen)
	filled(t, &data.Drift, runs, rundir.Drift)
	filled(t, &data.Growth, runs, rundir.Growth)
	filled(t, &data.LibraryDocuments, lib, "documents")
	filled(t, &data.Merges, []string{filepath.Join(chains, "lib")}, "merges")
	filled(t, &data.Samples, lib, "samples")
}

// filled reports the columns of a table, in the files of a folder of all those
// directories, that have a value in no row.
func filled[R any](t *testing.T, table *data.Table[R], dirs []string, folder string, but ...string) {
	t.Helper()
	has, rows := map[string]bool{}, 0
	for _, name := range but {
		has[name] = true
	}
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(dir, folder), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".parquet" {
				return err
			}
			return parquet.ReadTable(context.Background(), path, table, func(row *R) error {
				rows++
				for i := range table.Columns {
					c := &table.Columns[i]
					has[c.Name] = has[c.Name] || hasValue(c, row)
				}
				return nil
			})
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if rows == 0 {
		t.Errorf("table %s: no rows in %s: the test shows nothing", table.Name, folder)
		return
	}
	for _, c := range table.Columns {
		if !has[c.Name] {
			t.Errorf("table %s in %s, column %s: all %d rows are without a value: who writes the table does not fill it in", table.Name, folder, c.Name, rows)
		}
	}
}

// hasValue reports whether a row has more in a column than nothing, zero and
// false.
func hasValue[R any](c *data.Column[R], row *R) bool {
	switch {
	case c.Fingerprint != nil:
		hi, lo := c.Fingerprint(row)
		return *hi|*lo != 0
	case c.Hex != nil: // which is written of the same
		hi, lo := c.Hex(row)
		return *hi|*lo != 0
	case c.String != nil:
		return len(*c.String(row)) > 0
	case c.Bytes != nil:
		return len(*c.Bytes(row)) > 0
	case c.Sketch != nil:
		return len(*c.Sketch(row)) > 0
	case c.Word != nil:
		return *c.Word(row) != ""
	case c.Int32 != nil:
		return *c.Int32(row) != 0
	case c.Int64 != nil:
		return *c.Int64(row) != 0
	case c.Row != nil:
		return *c.Row(row) > 0
	case c.Date != nil:
		return *c.Date(row) != data.NoDate && *c.Date(row) != 0
	case c.Double != nil:
		v := *c.Double(row)
		return v != 0 && !math.IsNaN(v)
	case c.Bool != nil:
		return *c.Bool(row)
	}
	return false
}
