package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/rundir"
)

// What the lab measures is what a run does: on the same documents the presets
// have the same pairs in both. With NEARDUP_LAB on the documents of TestGoals
// too.
func TestRunFindsWhatIsMeasured(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures several times")
	}
	c := planted(t, 0.3)
	r := rand.New(rand.NewPCG(31, 32))
	for i := range 40 {
		c.add(fmt.Sprint("title", i), cut(prose(r, 2), 6+r.IntN(14)))
	}
	for i := range c.Documents {
		c.Documents[i].ID += fmt.Sprint("@", i) // planted again, none is there twice
	}
	c, err := Plant(c, Planting{Edits: atStrength(0.1, "typos", "mirror"), Count: len(c.Documents), Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	c.Documents = append(c.Documents, Document{ID: "title alone", Title: []byte("图书馆")}, Document{ID: "http://of.a.site/", Text: c.Documents[0].Text})
	t.Run("planted", func(t *testing.T) { compareWithRuns(t, c, 40) })
	t.Run("mix", func(t *testing.T) {
		laboratory(t)
		compareWithRuns(t, mix(t, true), 100)
	})
}

// compareWithRuns compares what every preset finds in the lab with the pairs
// table of a run, of which there are to be at least least.
func compareWithRuns(t *testing.T, c *Corpus, least int) {
	dir := t.TempDir()
	in, err := os.Create(filepath.Join(dir, "in.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	enc := json.NewEncoder(in)
	for _, d := range c.Documents {
		if err := enc.Encode(map[string]string{"id": d.ID, "title": string(d.Title), "text": string(d.Text)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	l := newLab(t, c, Options{Half: AllPairs, Alike: 1})
	for _, name := range append(config.Presets(), config.PresetPiecewise) {
		found, err := Preset(name).Find(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(found, func(a, b Found) int { return a.compare(b.Pair) })
		got := runPairs(t, name, in.Name(), filepath.Join(dir, name), c)
		if !slices.Equal(got, found) || len(found) < least {
			t.Errorf("%s: the run has %d pairs, the lab %d:\n%v\n%v", name, len(got), len(found), got, found)
		}
	}
}

// runPairs executes a run of the preset and returns its pairs.
func runPairs(t *testing.T, preset, in, out string, c *Corpus) []Found {
	t.Helper()
	cfg, err := config.Default().WithPreset(preset)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Match.AllPairs = true
	if _, err := job.Run(t.Context(), job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: out, Config: cfg, Engine: local.New(2)}); err != nil {
		t.Fatal(err)
	}
	r, err := parquet.OpenTable(filepath.Join(out, rundir.Pairs, rundir.PartName(0, ".parquet")), &data.Matches, parquet.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var pairs []Found
	var row data.MatchRow
	for range r.Info.Rows {
		if err := r.Read(&row); err != nil {
			t.Fatal(errors.Join(err, r.Close()))
		}
		if row.Verdict == data.Contains.String() || row.Verdict == data.Contained.String() {
			continue // not the same
		}
		a, okA := c.number(string(row.DocID))
		b, okB := c.number(string(row.MatchID))
		if !okA || !okB {
			t.Fatalf("a pair of %q and %q", row.DocID, row.MatchID)
		}
		score := row.Similarity
		if !math.IsNaN(row.Estimate) {
			score = row.Estimate
		}
		if !math.IsNaN(row.Jaccard) {
			score = row.Jaccard
		}
		pairs = append(pairs, Found{Pair: pairOf(a, b), Score: score})
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(pairs, func(a, b Found) int { return a.compare(b.Pair) })
	return pairs
}
