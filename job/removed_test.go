package job_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state/decision"
)

// eachRow calls yield with the rows of all parts of a run's table.
func eachRow[R any](t *testing.T, out, folder string, table *data.Table[R], yield func(part int, row *R)) {
	t.Helper()
	parts, err := rundir.Parts(out, folder)
	if err != nil || len(parts) == 0 {
		t.Fatalf("%s: %v, %v", folder, parts, err)
	}
	for part, path := range parts {
		r, err := parquet.OpenTable(path, table, parquet.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var row R
		for err = r.Read(&row); err == nil; err = r.Read(&row) {
			yield(part, &row)
		}
		if closed := r.Close(); closed != nil || !errors.Is(err, io.EOF) {
			t.Fatal(err, closed)
		}
	}
}

// checkRemoved compares the table of what the clean dump leaves out with the
// other tables of a run.
func checkRemoved(t *testing.T, out string, s *job.Summary) {
	t.Helper()
	rows := map[string]int{} // of each id in a part, the first
	ids := make([]int, s.Splits)
	eachRow(t, out, rundir.Fingerprints, &data.Fingerprints, func(part int, row *data.FingerprintRow) {
		key := fmt.Sprint(part, string(row.DocID))
		if _, again := rows[key]; !again {
			rows[key] = ids[part]
		}
		ids[part]++
	})
	of, keepers := map[string]string{}, map[string]string{} // copies of those that go; representative by copies
	clusters := clustersOf(t, out)
	for doc, row := range clusters {
		switch copies := string(row.CopiesID); {
		case !row.Keeper:
			of[doc] = copies
		case copies != "" && keepers[copies] != "":
			t.Errorf("%s and %s represent the same copies", doc, keepers[copies])
		default:
			keepers[copies] = doc
		}
	}
	matches := map[[2]string]data.MatchRow{}
	eachRow(t, out, rundir.Matches, &data.Matches, func(_ int, row *data.MatchRow) {
		matches[[2]string{string(row.DocID), string(row.MatchID)}] = *row
	})
	reasons := map[string]int64{}
	last := slices.Repeat([]int{-1}, s.Splits)
	eachRow(t, out, rundir.Removed, &data.Removed, func(part int, r *data.RemovedRow) {
		reasons[r.Reason]++
		doc, kept := string(r.DocID), string(r.KeptID)
		if row, ok := rows[fmt.Sprint(part, doc)]; !ok || row < last[part] && r.Reason != data.ReasonDuplicateID {
			t.Errorf("%s is out of order, or is no document", doc)
		} else {
			last[part] = max(row, last[part])
		}
		if from := r.KeptFrom; (from == "") != (kept == "") || from != "" && (from == "run") == (r.Reason == decision.Earlier.String()) {
			t.Errorf("%s was removed as %s for %s of %q", doc, r.Reason, kept, from)
		}
		switch r.Reason {
		case decision.Earlier.String():
			delete(of, doc)
		case decision.Copy.String():
			if copies, ok := of[doc]; !ok || string(clusters[doc].ClusterID) != string(r.ClusterID) || keepers[copies] != kept {
				t.Errorf("%s of cluster %s was removed for %s: %s of %s stays", doc, r.ClusterID, kept, keepers[copies], copies)
			}
			delete(of, doc)
		case data.ReasonDuplicateID:
			if kept != doc {
				t.Errorf("%s was removed for %s", doc, kept)
			}
		}
		if m, ok := matches[[2]string{doc, kept}]; ok && m.Similarity != r.Similarity {
			t.Errorf("%s is %v similar to %s, the match %v", doc, r.Similarity, kept, m.Similarity)
		}
	})
	if len(of) > 0 {
		t.Errorf("not removed, though others represent them: %v", of)
	}
	for _, reason := range []string{data.ReasonDuplicateID, data.ReasonDeleted} {
		if reasons[reason] != s.Skipped[reason] {
			t.Errorf("%d were removed as %s, %d skipped", reasons[reason], reason, s.Skipped[reason])
		}
	}
	if sum := reasons["copy"] + reasons["contained"] + reasons["earlier"] + reasons[data.ReasonDuplicateID] + reasons[data.ReasonDeleted]; sum != s.Dropped || s.Kept+sum != s.Documents {
		t.Errorf("of %d documents %v were removed, the clean dump leaves out %d and has %d", s.Documents, reasons, s.Dropped, s.Kept)
	}
}

// What each reason says of the document that stays.
func TestRemoved(t *testing.T) {
	dir := t.TempDir()
	whole := text(1, 300)
	line := func(id, text string) string { return fmt.Sprintf(`{"id":%q,"text":%q}`, id, text) }
	in := jsonl(t, filepath.Join(dir, "in.jsonl"),
		line("http://a.example/1", whole), line("http://b.example/2", whole+" more"), line("3", whole[:len(whole)/4]),
		line("4", text(2, 200)), line("4", text(3, 200)), line("5", text(4, 200)))
	cfg, err := config.Default().WithPreset(config.PresetThorough)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Output.Contained, cfg.Clusters.Keep = config.ContainedDrop, config.KeepLongest
	out := filepath.Join(dir, "out")
	s := runJob(t, 1, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: out, Config: cfg})
	got := map[string]string{}
	eachRow(t, out, rundir.Removed, &data.Removed, func(_ int, r *data.RemovedRow) {
		got[string(r.DocID)] = fmt.Sprintf("%s %s %s %s %v %v", r.Reason, r.KeptID, r.ClusterID, r.Site, r.Similarity > 0.5, math.Round(10*r.Containment))
	})
	want := map[string]string{
		"http://a.example/1": "copy http://b.example/2 http://a.example/1 a.example true NaN",
		"3":                  "contained http://b.example/2 http://a.example/1  true 10",
		"4":                  "duplicate_id 4   false NaN",
	}
	if !maps.Equal(got, want) || s.Kept != 3 {
		t.Errorf("removed %q, want %q", got, want)
	}
}
