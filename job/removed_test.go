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
	"github.com/neardup/neardup/job/internal/runs"
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
// other tables of a run: each document goes for one that stays, and the figures of
// the two say that they are a pair.
func checkRemoved(t *testing.T, out string, s *job.Summary) {
	t.Helper()
	_, cfg, err := runs.Settings(out)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{} // of each id in a part, the first
	ids := make([]int, s.Splits)
	eachRow(t, out, rundir.Fingerprints, &data.Fingerprints, func(part int, row *data.FingerprintRow) {
		key := fmt.Sprint(part, string(row.DocID))
		if _, again := rows[key]; !again {
			rows[key] = ids[part]
		}
		ids[part]++
	})
	clusters := clustersOf(t, out)
	sizes, representatives := map[string]int32{}, map[string]string{} // by cluster
	goes := map[string]string{}                                       // those that go: their clusters
	for doc, row := range clusters {
		id := string(row.ClusterID)
		if sizes[id]++; !row.Representative {
			goes[doc] = id
		} else if representatives[id] != "" {
			t.Errorf("%s and %s stay of cluster %s", doc, representatives[id], id)
		} else {
			representatives[id] = doc
		}
	}
	for doc, row := range clusters {
		if id := string(row.ClusterID); sizes[id] != row.Size {
			t.Errorf("%s is in a cluster of %d, its size is %d", doc, sizes[id], row.Size)
		}
	}
	matches := map[[2]string]data.MatchRow{}
	for _, table := range []string{rundir.Matches, rundir.Pairs} {
		if table == rundir.Pairs && !cfg.Match.AllPairs {
			continue
		}
		eachRow(t, out, table, &data.Matches, func(_ int, row *data.MatchRow) {
			matches[[2]string{string(row.DocID), string(row.MatchID)}] = *row
		})
	}
	figures := func(distance int32, similarity, estimate, jaccard, containment float64) string {
		return fmt.Sprint(distance, similarity, estimate, jaccard, containment)
	}
	reasons := map[string]int64{}
	removed := map[string]string{} // for whom
	last := slices.Repeat([]int{-1}, s.Splits)
	eachRow(t, out, rundir.Removed, &data.Removed, func(part int, r *data.RemovedRow) {
		reasons[r.Reason]++
		doc, kept := string(r.DocID), string(r.KeptID)
		if row, ok := rows[fmt.Sprint(part, doc)]; !ok || row < last[part] && r.Reason != data.ReasonDuplicateID {
			t.Errorf("%s is out of order, or is no document", doc)
		} else {
			last[part] = max(row, last[part])
		}
		if from := r.KeptFrom; (from == "") != (kept == "") || from != "" && (from == "run") == (r.Reason == decision.InHistory.String()) {
			t.Errorf("%s was removed as %s for %s of %q", doc, r.Reason, kept, from)
		}
		if (r.Reason == data.ReasonDeleted) != (r.Distance < 0 || r.Verdict == "") {
			t.Errorf("%s was removed as %s without a figure: %d, %q", doc, r.Reason, r.Distance, r.Verdict)
		}
		switch r.Reason {
		case data.ReasonDuplicateID, data.ReasonDeleted:
			if r.Reason == data.ReasonDuplicateID && (kept != doc || r.KeptRow < 0 || r.KeptRow >= r.Row) {
				t.Errorf("%s was removed for %s", doc, kept)
			}
			return
		case decision.Copy.String(), decision.Contained.String():
			if representatives[goes[doc]] != kept || removed[doc] != "" {
				t.Errorf("%s of cluster %s was removed for %s: %s stays", doc, r.ClusterID, kept, representatives[goes[doc]])
			}
			removed[doc] = kept
		}
		if string(r.ClusterID) != goes[doc] {
			t.Errorf("%s of cluster %s was removed of %s", doc, goes[doc], r.ClusterID)
		}
		delete(goes, doc)
		if cfg.Match.Verified() && r.Verdict != "unchanged" && math.IsNaN(r.Estimate) {
			t.Errorf("%s was removed for %s without an estimate", doc, kept)
		}
		m, ok := matches[[2]string{doc, kept}]
		if ok && m.MatchFrom == r.KeptFrom && figures(m.Distance, m.Similarity, m.Estimate, m.Jaccard, m.Containment)+m.Verdict != figures(r.Distance, r.Similarity, r.Estimate, r.Jaccard, r.Containment)+r.Verdict {
			t.Errorf("%s was removed for %s: %+v, the match is %+v", doc, kept, r, m)
		}
		back, is := matches[[2]string{kept, doc}]
		if is {
			ok = true
			if contained := map[string]string{"contains": "contained", "contained": "contains"}[back.Verdict]; contained != "" && contained != r.Verdict {
				t.Errorf("%s, which %s %s, was removed as %s", doc, back.Verdict, kept, r.Verdict)
			}
		}
		if cfg.Match.AllPairs && r.KeptFrom == "run" && !ok {
			t.Errorf("%s was removed for %s, which is no pair of it", doc, kept)
		}
		if (r.Verdict == "contained") != (r.Reason == decision.Contained.String()) || r.Verdict == "contains" {
			t.Errorf("%s was removed as %s for %s: %s", doc, r.Reason, kept, r.Verdict)
		}
	})
	for doc, kept := range removed {
		if removed[kept] != "" {
			t.Errorf("%s was removed for %s, which was for %s", doc, kept, removed[kept])
		}
	}
	if len(goes) > 0 {
		t.Errorf("not removed, though others stay for them: %v", goes)
	}
	for _, reason := range []string{data.ReasonDuplicateID, data.ReasonDeleted} {
		if reasons[reason] != s.Skipped[reason] {
			t.Errorf("%d were removed as %s, %d skipped", reasons[reason], reason, s.Skipped[reason])
		}
	}
	if sum := reasons["copy"] + reasons["contained"] + reasons["history"] + reasons[data.ReasonDuplicateID] + reasons[data.ReasonDeleted]; sum != s.Dropped || s.Kept+sum != s.Documents {
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
		got[string(r.DocID)] = fmt.Sprintf("%s %s %s %s %v %v", r.Reason, r.KeptID, r.ClusterID, r.Site, r.Similarity > 0.5, math.Round(10*r.Containment)) + " " + r.Verdict + " " + string(r.KeptSite)
	})
	want := map[string]string{
		"http://a.example/1": "copy http://b.example/2 http://b.example/2 a.example true NaN sketches alike b.example",
		"3":                  "contained http://b.example/2 http://b.example/2  true 10 contained b.example",
		"4":                  "duplicate_id 4   true NaN same id ",
	}
	if !maps.Equal(got, want) || s.Kept != 3 {
		t.Errorf("removed %q, want %q", got, want)
	}
}
