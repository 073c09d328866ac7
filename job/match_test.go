package job_test

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
)

// rowsOf lists the rows of a table of a run in their order.
func rowsOf(t *testing.T, out, table string) (rows []string) {
	t.Helper()
	eachValue(t, out, table, func(r map[string]string) { rows = append(rows, fmt.Sprint(r)) })
	return rows
}

// A match of a run's fingerprints, with nothing said of how, finds what the run
// found, whatever its settings were: all of it, but for the pairs near the limit on
// which signatures decided, which a match does not have.
func TestMatchFindsWhatTheRunFound(t *testing.T) {
	inputs := map[string]string{"sample": writeSample(t)}
	if !testing.Short() {
		inputs["hk-dev"] = filepath.Join(sharedData(t), "data", "zh", "hk-dev.jsonl.gz")
	}
	changes := []func(*config.Config) error{
		func(c *config.Config) error { return c.Set(config.SettingPreset, config.PresetClassic) },
		func(c *config.Config) error {
			return errors.Join(c.Set("features.bits", "128"), c.Set("match.bands", "false"))
		},
		func(c *config.Config) error {
			return errors.Join(c.Set("match.distance", "6"), c.Set("clusters.keep", "first"))
		},
		func(*config.Config) error { return nil },
	}
	if testing.Short() {
		changes = changes[:2]
	}
	for name, in := range inputs {
		for _, change := range changes {
			dir := t.TempDir()
			cfg := config.Default()
			if err := change(&cfg); err != nil {
				t.Fatal(err)
			}
			cfg.Match.AllPairs, cfg.Output.Clean = true, false
			night, again := filepath.Join(dir, "night"), filepath.Join(dir, "again")
			runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: night, Config: cfg})
			usual, _ := config.Default().WithPreset(config.PresetClassic)
			matched, err := method.MatchConfig([]string{night}, usual)
			if err != nil {
				t.Fatal(err)
			}
			matched.Match.AllPairs = true
			s := runJob(t, 2, job.Request{Command: job.CommandMatch, Inputs: []string{night}, Out: again, Config: matched})
			if m := s.Method; m == nil || m.Preset != cfg.Match.Preset || m.Distance != cfg.Match.Distance {
				t.Errorf("%s: the method is told as %+v", name, m)
			}
			if name != "sample" && cfg.Match.Signs() {
				want, got := pairsOf(t, night), pairsOf(t, again)
				apart := 0
				for pair := range want {
					if !got[pair] {
						apart++
					}
				}
				for pair := range got {
					if !want[pair] {
						apart++
					}
				}
				if len(want) == 0 || 50*apart > len(want) {
					t.Errorf("%s, %+v: of %d pairs of the run and %d of the match %d are in one alone", name, cfg.Match, len(want), len(got), apart)
				}
				t.Logf("%s, distance %d: of %d pairs %d are in one alone", name, cfg.Match.Distance, len(want), apart)
				continue
			}
			for _, table := range []string{rundir.Pairs, rundir.Matches, rundir.Clusters} {
				if want, got := rowsOf(t, night, table), rowsOf(t, again, table); len(want) == 0 || !slices.Equal(got, want) {
					t.Errorf("%s, %+v: %s has %d rows, the run's %d", name, cfg.Match, table, len(got), len(want))
				}
			}
		}
	}
}

// pairsOf returns the pairs of a run by their ids.
func pairsOf(t *testing.T, out string) map[string]bool {
	t.Helper()
	pairs := map[string]bool{}
	eachValue(t, out, rundir.Pairs, func(r map[string]string) { pairs[r["doc_id"]+" "+r["match_id"]] = true })
	return pairs
}

// Where runs were made differently, nothing is compared that cannot be.
func TestMatchOfSeveralRuns(t *testing.T) {
	dir := t.TempDir()
	in := jsonl(t, filepath.Join(dir, "in.jsonl"), `{"id":"a","text":"`+text(1, 100)+`"}`, `{"id":"b","text":"`+text(2, 100)+`"}`)
	night := func(name string, settings ...string) string {
		cfg := config.Default()
		for i := 0; i < len(settings); i += 2 {
			if err := cfg.Set(settings[i], settings[i+1]); err != nil {
				t.Fatal(err)
			}
		}
		out := filepath.Join(dir, name)
		runJob(t, 1, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: out, Config: cfg})
		return out
	}
	plain, balanced, thorough := night("plain", config.SettingPreset, config.PresetClassic), night("balanced"), night("thorough", config.SettingPreset, config.PresetThorough)
	foreign := filepath.Join(dir, "foreign.parquet")
	writeFingerprints(t, foreign, 64, nil)
	usual, _ := config.Default().WithPreset(config.PresetClassic)
	for _, c := range []struct {
		inputs []string
		preset string
	}{
		{[]string{balanced, thorough}, config.PresetBalanced},
		{[]string{thorough, balanced}, config.PresetBalanced},
		{[]string{thorough, plain}, config.PresetClassic},
		{[]string{plain, thorough}, config.PresetClassic},
		{[]string{filepath.Join(balanced, "fingerprints")}, config.PresetBalanced},
		{[]string{balanced, foreign}, config.PresetClassic},
		{[]string{foreign}, config.PresetClassic},
	} {
		got, err := method.MatchConfig(c.inputs, usual)
		if err != nil || got.Match.Preset != c.preset {
			t.Errorf("%v: %s, %v, want %s", c.inputs, got.Match.Preset, err, c.preset)
		}
	}
	other := night("other", "features.stop", "none")
	if _, err := method.MatchConfig([]string{balanced, other}, usual); err == nil || !strings.Contains(err.Error(), "features.stop is builtin there, none here") {
		t.Errorf("runs of other features: %v", err)
	}
}

// A row is the same document in all tables of a run, and in those of a match of
// its fingerprints, with any splits.
func TestRowsJoinTheTables(t *testing.T) {
	dir := t.TempDir()
	cfg := config.Default()
	cfg.Match.AllPairs, cfg.Input.SplitBytes = true, 16<<10
	cfg.Library = config.Library{Path: filepath.Join(dir, "lib"), Night: "2026-11-20"}
	night, again, next := filepath.Join(dir, "night"), filepath.Join(dir, "again"), filepath.Join(dir, "next")
	in := writeSample(t)
	s := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: night, Config: cfg})
	if s.Splits < 5 {
		t.Errorf("%d splits", s.Splits)
	}
	cfg.Library.Night = "2026-11-21"
	runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{in}, Out: next, Config: cfg})
	matched, err := method.MatchConfig([]string{night}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	matched.Library = config.Library{}
	runJob(t, 2, job.Request{Command: job.CommandMatch, Inputs: []string{night}, Out: again, Config: matched})
	for _, run := range []struct{ out, prints, night string }{{night, night, "2026-11-20"}, {again, night, ""}, {next, next, "2026-11-21"}} {
		ids := map[string]string{}
		eachValue(t, run.prints, rundir.Fingerprints, func(r map[string]string) { ids[r["row"]] = r["doc_id"] })
		if len(ids) != int(s.Documents) {
			t.Fatalf("%d rows of %d documents", len(ids), s.Documents)
		}
		none := map[string]int{}
		for _, table := range []string{rundir.Texts, rundir.Matches, rundir.Pairs, rundir.Clusters, rundir.Removed} {
			n := 0
			eachValue(t, run.out, table, func(r map[string]string) {
				n++
				if ids[r["row"]] != r["doc_id"] || table != rundir.Texts && r["night"] != run.night {
					t.Fatalf("%s, %s: row %s is %s there, %s here; night %q", run.out, table, r["row"], ids[r["row"]], r["doc_id"], r["night"])
				}
				for _, other := range []string{"match", "kept"} {
					row, ok := r[other+"_row"]
					if row == fmt.Sprint(data.NoRow) {
						none[table]++
					} else if ok && ids[row] != r[other+"_id"] {
						t.Fatalf("%s, %s: %s is %s, %s here", run.out, table, row, ids[row], r[other+"_id"])
					}
				}
			})
			if n == 0 && run.out != again {
				t.Errorf("%s has no %s", run.out, table)
			}
		}
		if (none[rundir.Matches] > 0) != (run.out == next) || none[rundir.Pairs] > 0 {
			t.Errorf("%s: without a row %v", run.out, none)
		}
	}
}

// eachValue yields the rows of a table of a run, if it has it, as text.
func eachValue(t *testing.T, out, table string, yield func(map[string]string)) {
	t.Helper()
	parts, err := rundir.Parts(out, table)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		in, err := parquet.OpenValues(part)
		if err != nil {
			t.Fatal(err)
		}
		values, err := in.Read()
		for ; err == nil; values, err = in.Read() {
			r := map[string]string{}
			for i, name := range in.Names {
				if values[i] != nil {
					r[name] = fmt.Sprint(values[i])
				}
			}
			yield(r)
		}
		if err := errors.Join(err, in.Close()); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
}
