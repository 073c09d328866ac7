package eval

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/engine/local"
	"github.com/neardup/neardup/job/rundir"
)

// What the lab measures is what a run does: the presets find the same pairs in
// both. With NEARDUP_LAB on the documents of TestGoals, else on some of them.
func TestRunFindsWhatIsMeasured(t *testing.T) {
	c := mix(t, true)
	if os.Getenv("NEARDUP_LAB") == "" {
		c.Documents, c.Labelled = c.Documents[:600], c.Labelled[:300]
		titles := 0
		shared(t, "zh/weibo_titles.jsonl.gz", func(field func(string) string) {
			if titles++; titles <= 2000 {
				c.add(field("id"), field("text"))
			}
		})
		var err error
		if c, err = Plant(c, Planting{Edits: atStrength(0.2, EditTypos), Count: 1000, Seed: 4}); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	in, err := os.Create(filepath.Join(dir, "in.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	index := map[string]int32{}
	enc := json.NewEncoder(in)
	for i, d := range c.Documents {
		index[d.ID] = int32(i)
		if err := enc.Encode(map[string]string{"id": d.ID, "text": string(d.Text)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	l := newLab(t, c, Options{Half: AllPairs, Alike: 1})
	for _, m := range []*Neardup{Classic(), Balanced(), Thorough()} {
		found, err := m.Find(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		var want []Pair
		for _, f := range found {
			want = append(want, f.Pair)
		}
		slices.SortFunc(want, Pair.compare)
		got := runPairs(t, m.Name(), in.Name(), filepath.Join(dir, m.Name()), index)
		if !slices.Equal(got, want) || len(want) < 100 {
			t.Errorf("%s: the run has %d pairs, the lab %d", m.Name(), len(got), len(want))
		}
	}
}

// runPairs executes a run of the preset and returns its pairs by the
// documents' places.
func runPairs(t *testing.T, preset, in, out string, index map[string]int32) []Pair {
	t.Helper()
	cfg, err := config.Default().WithPreset(preset)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Match.AllPairs, cfg.Output.Clean = true, false
	if _, err := job.Run(context.Background(), job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: out, Config: cfg, Engine: local.New(2)}); err != nil {
		t.Fatal(err)
	}
	r, err := parquet.OpenMatches(filepath.Join(out, rundir.Pairs, rundir.PartName(0, ".parquet")), parquet.ReadOptions{Columns: []string{"doc_id", "match_id"}})
	if err != nil {
		t.Fatal(err)
	}
	var pairs []Pair
	var row data.MatchRow
	for range r.Info().Rows {
		if err := r.Read(&row); err != nil {
			t.Fatal(errors.Join(err, r.Close()))
		}
		pairs = append(pairs, pairOf(index[string(row.DocID)], index[string(row.MatchID)]))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(pairs, Pair.compare)
	return pairs
}
