package job_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/nightstest"
	"github.com/neardup/neardup/job/internal/rundir"
)

// Ten nights one after another give the matches and the clusters of one
// comparison of all documents of all nights with each other, with any number of
// workers.
func TestTenNights(t *testing.T) {
	if testing.Short() {
		t.Skip("makes forty runs")
	}
	const count = 10
	for _, preset := range []string{config.PresetClassic, config.PresetBalanced} {
		t.Run(preset, func(t *testing.T) {
			t.Parallel()
			cfg, err := config.Default().WithPreset(preset)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			nightstest.Check(t, cfg, dir, nightstest.Crawl(t, dir, count, 50), func(n int, request job.Request) *job.Summary {
				again := request
				again.Out += "-again"
				again.Config.Library.Path += "-again"
				s := runJob(t, 1+n%3, request)
				runJob(t, 2, again)
				// The tables' metadata has the hash of the settings, and so of the library's path.
				clean := func(out string) string { return readFile(t, filepath.Join(out, "clean", "part-00000.jsonl")) }
				if !slices.Equal(nightstest.Matches(t, request.Out), nightstest.Matches(t, again.Out)) || clean(request.Out) != clean(again.Out) {
					t.Fatalf("night %s: other workers, another result", request.Config.Library.Night)
				}
				return s
			})
		})
	}
}

func libraryRun(t *testing.T, cfg config.Config, dir, night, out string) *job.Summary {
	t.Helper()
	cfg.Library = config.Library{Path: filepath.Join(dir, "lib"), Night: night}
	return runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{filepath.Join(dir, night+".jsonl")}, Out: filepath.Join(dir, out), Config: cfg})
}

// What was deleted is in no later result: no match, no cluster, no clean dump,
// even when the crawl brings it again; and a night that is run again is
// replaced.
func TestDeletedNeverAppearsAgain(t *testing.T) {
	dir := t.TempDir()
	page := func(id string) string {
		return fmt.Sprintf(`{"id":%q,"text":%q}`, id, text(1, 120))
	}
	jsonl(t, filepath.Join(dir, "2026-11-01.jsonl"), page("http://a.example/gone"), page("http://a.example/stays"))
	jsonl(t, filepath.Join(dir, "2026-11-02.jsonl"), page("http://a.example/gone"), page("http://b.example/copy"))
	cfg := config.Default()
	libraryRun(t, cfg, dir, "2026-11-01", "before-1")
	libraryRun(t, cfg, dir, "2026-11-02", "before-2")
	if rows := nightstest.Matches(t, filepath.Join(dir, "before-2")); len(rows) != 2 || rows[1].Other != "http://a.example/gone" || rows[1].From != "2026-11-01" {
		t.Fatalf("before the deletion: %+v", rows)
	}
	l, err := library.Lock(context.Background(), filepath.Join(dir, "lib"), library.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := l.Delete(context.Background(), library.Doomed{IDs: []string{"http://a.example/gone"}}); err != nil || done.Rows != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s := libraryRun(t, cfg, dir, "2026-11-02", "after-2")
	if !s.Library.Replaced || s.Library.Left != 1 || s.Library.Added != 1 {
		t.Errorf("%+v", s.Library)
	}
	rows := nightstest.Matches(t, filepath.Join(dir, "after-2"))
	if len(rows) != 1 || rows[0].Other != "http://a.example/stays" || rows[0].FirstSeen != "2026-11-01" {
		t.Errorf("after the deletion: %+v", rows)
	}
	for _, folder := range []string{"matches", "clusters", "clean", "growth", "drift"} {
		paths, err := rundir.Parts(filepath.Join(dir, "after-2"), folder)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v", folder, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil || bytes.Contains(text, []byte("/gone")) {
				t.Errorf("%s names what was deleted (%v)", path, err)
			}
		}
	}
	libraryRun(t, cfg, dir, "2026-11-01", "again-1") // brings it again
	l, err = library.Open(context.Background(), filepath.Join(dir, "lib"), library.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var ids []string
	err = l.Rows(context.Background(), library.StreamOptions{}, func(row *data.LibraryRow) error {
		ids = append(ids, string(row.DocID))
		return nil
	})
	if err != nil || !slices.Equal(ids, []string{"http://a.example/stays", "http://b.example/copy"}) {
		t.Errorf("the library has %q, %v", ids, err)
	}
}

// An id may be as long as a record, in every table and over nights.
func TestLongIDs(t *testing.T) {
	if testing.Short() {
		t.Skip("handles much")
	}
	t.Parallel()
	dir := t.TempDir()
	long := strings.Repeat("i", 2<<20)
	for _, night := range []string{"2026-11-01", "2026-11-02"} {
		jsonl(t, filepath.Join(dir, night+".jsonl"), fmt.Sprintf(`{"id":%q,"text":%q}`, long, text(1, 120)), fmt.Sprintf(`{"id":%q,"text":%q}`, night, text(1, 120)))
		cfg := config.Default()
		cfg.Match.AllPairs = true
		s := libraryRun(t, cfg, dir, night, night)
		if want := []match{{long, night, 0}, {night, long, 0}}; night == "2026-11-01" && !slices.Equal(readMatches(t, filepath.Join(dir, night), rundir.Matches), want) || s.Pairs != 1 {
			t.Errorf("%s: %d pairs, or other matches", night, s.Pairs)
		}
		if s.Largest[0].Example != long {
			t.Errorf("%s: the cluster's example has %d characters", night, len(s.Largest[0].Example))
		}
	}
}

// A cluster that one document continues is none of the largest.
func TestLargestHaveTwoDocuments(t *testing.T) {
	dir := t.TempDir()
	line := func(id string, seed uint64) string { return fmt.Sprintf(`{"id":%q,"text":%q}`, id, text(seed, 120)) }
	jsonl(t, filepath.Join(dir, "2026-11-01.jsonl"), line("a", 1), line("b", 2))
	jsonl(t, filepath.Join(dir, "2026-11-02.jsonl"), line("c", 1), line("d", 3))
	jsonl(t, filepath.Join(dir, "2026-11-03.jsonl"), line("e", 1), line("f", 2), line("g", 2))
	for night, want := range []int{0, 0, 1} {
		name := fmt.Sprintf("2026-11-%02d", night+1)
		s := libraryRun(t, config.Default(), dir, name, name)
		var said bytes.Buffer
		if err := s.Print(&said, message.English); err != nil {
			t.Fatal(err)
		}
		none := strings.Contains(said.String(), "largest      none")
		if len(s.Largest) != want || none != (want == 0 && s.Clusters > 0) || int(s.Clusters) != night {
			t.Errorf("%s: %d clusters, largest %v: %s", name, s.Clusters, s.Largest, &said)
		}
	}
}

// Where the texts would settle whether two pages are the same, they do within a
// night; an earlier night's are gone, and the verdict says so.
func TestVerdictsOnHistory(t *testing.T) {
	dir := t.TempDir()
	line := func(id, text string) string { return fmt.Sprintf(`{"id":%q,"text":%q}`, id, text) }
	near := func(seed uint64) string { // the first 215 of its 290 words: J is about 0.59
		return strings.Join(strings.Fields(text(seed, 290))[:215], " ") + " " + text(seed+100, 75)
	}
	jsonl(t, filepath.Join(dir, "2026-11-01.jsonl"), line("old", text(1, 290)), line("older", text(2, 290)))
	jsonl(t, filepath.Join(dir, "2026-11-02.jsonl"), line("copy", text(1, 290)), line("near", near(2)),
		line("x", text(3, 290)), line("y", near(3)))
	cfg, err := config.Default().WithPreset(config.PresetThorough)
	if err != nil {
		t.Fatal(err)
	}
	libraryRun(t, cfg, dir, "2026-11-01", "one")
	libraryRun(t, cfg, dir, "2026-11-02", "two")
	paths, err := rundir.Parts(filepath.Join(dir, "two"), rundir.Matches)
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	in, err := parquet.OpenTable(paths[0], &data.Matches, parquet.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var got []string
	var row data.MatchRow
	for in.Read(&row) == nil {
		got = append(got, fmt.Sprintf("%s %s %s, texts %t", row.DocID, row.MatchID, row.Verdict, !math.IsNaN(row.Jaccard)))
	}
	want := []string{"copy old sketches alike, texts false", "near older sketches near the limit, texts false", "x y texts alike, texts true", "y x texts alike, texts true"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// With the rule that the earliest stays, the clean dump has only what no
// earlier night had.
func TestKeepEarliestOverNights(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes many runs")
	}
	dir := t.TempDir()
	line := func(id string, seed uint64) string { return fmt.Sprintf(`{"id":%q,"text":%q}`, id, text(seed, 120)) }
	jsonl(t, filepath.Join(dir, "2026-11-01.jsonl"), line("a", 1), line("b", 2))
	jsonl(t, filepath.Join(dir, "2026-11-02.jsonl"), line("c", 1), line("a", 1), line("d", 3), line("e", 3), line("f", 4))
	for keep, want := range map[string]int64{config.KeepEarliest: 2, config.KeepFirst: 3} {
		cfg := config.Default()
		cfg.Output.History = config.HistoryKeep
		cfg.Clusters.Keep = keep
		sub := filepath.Join(dir, keep)
		for _, night := range []string{"2026-11-01", "2026-11-02"} {
			c := cfg
			c.Library = config.Library{Path: filepath.Join(sub, "lib"), Night: night}
			s := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{filepath.Join(dir, night+".jsonl")}, Out: filepath.Join(sub, night), Config: c})
			if night == "2026-11-02" && s.Kept != want {
				t.Errorf("keep %s: %d stay, want %d", keep, s.Kept, want)
			}
			if night == "2026-11-02" && (s.Library.New != 3 || s.Library.Repeated != 1 || s.Library.Returned != 1) {
				t.Errorf("keep %s: %+v", keep, s.Library)
			}
		}
	}
}

// The clean dump has what no earlier night keeps: neither what is the same as a
// document that stayed there, nor what comes again as it was, even if nothing can be
// compared of it. What only shares a component with such a one stays.
func TestCleanDumpLacksHistory(t *testing.T) {
	dir := t.TempDir()
	line := func(id, text string) string { return fmt.Sprintf(`{"id":%q,"text":%q}`, id, text) }
	between := append(strings.Fields(text(1, 120))[:90], strings.Fields(text(2, 45))...) // alike to what is before it and to what is behind
	jsonl(t, filepath.Join(dir, "2026-11-01.jsonl"), line("again", text(1, 120)), line("marks", "!! ??"), line("changes", text(5, 120)), line("few", "!!"))
	jsonl(t, filepath.Join(dir, "2026-11-02.jsonl"), line("again", text(1, 120)), line("copy", text(1, 120)), line("near", text(1, 120)+" more"),
		line("new", text(3, 120)), line("newer", text(3, 120)), line("marks", "!! ??"), line("changes", text(6, 120)), line("few", "!!!!"), line("other marks", "!! ??"),
		line("between", strings.Join(between, " ")), line("beyond", strings.Join(between[60:], " ")))
	cfg := config.Default()
	cfg.Match.LimitLong, cfg.Match.LimitShort, cfg.Match.Distance = 0.4, 0.4, 15
	libraryRun(t, cfg, dir, "2026-11-01", "one")
	s := libraryRun(t, cfg, dir, "2026-11-02", "two")
	got := map[string]string{}
	eachRow(t, filepath.Join(dir, "two"), rundir.Removed, &data.Removed, func(_ int, r *data.RemovedRow) {
		got[string(r.DocID)] = fmt.Sprintf("%s %s %s %t", r.Reason, r.KeptID, r.KeptFrom, math.IsNaN(r.Similarity))
	})
	want := map[string]string{
		"again": "history again 2026-11-01 false", "copy": "history again 2026-11-01 false", "near": "history again 2026-11-01 false",
		"newer": "copy new run false", "marks": "history marks 2026-11-01 false",
		"between": "history again 2026-11-01 false",
	}
	if !maps.Equal(got, want) || s.Library.Dropped != 5 || s.Kept != 5 {
		t.Errorf("%d left out as earlier, %d stay: removed %q, want %q", s.Library.Dropped, s.Kept, got, want)
	}
	var said bytes.Buffer
	if err := s.Print(&said, message.English); err != nil || !strings.Contains(said.String(), "5 of them are in an earlier night") {
		t.Errorf("%v: the summary does not say so:\n%s", err, &said)
	}
	checkRemoved(t, filepath.Join(dir, "two"), s)

	cfg.Output.History = config.HistoryKeep
	if s = libraryRun(t, cfg, dir, "2026-11-02", "kept"); s.Library.Dropped != 0 || s.Kept != 6 {
		t.Errorf("asked to keep them, %d stay, %d are left out as earlier", s.Kept, s.Library.Dropped)
	}
	checkRemoved(t, filepath.Join(dir, "kept"), s)
}

func TestOtherLibrarySettingsAreRefused(t *testing.T) {
	dir := t.TempDir()
	jsonl(t, filepath.Join(dir, "2026-11-01.jsonl"), fmt.Sprintf(`{"id":"a","text":%q}`, text(1, 120)))
	libraryRun(t, config.Default(), dir, "2026-11-01", "one")
	cfg := config.Default()
	cfg.Features.Bits = 128
	cfg.Library = config.Library{Path: filepath.Join(dir, "lib"), Night: "2026-11-02"}
	_, err := job.Run(context.Background(), job.Request{Command: job.CommandRun, Inputs: []string{filepath.Join(dir, "2026-11-01.jsonl")}, Out: filepath.Join(dir, "two"), Config: cfg, Engine: local.New(1)})
	if !errors.Is(err, library.ErrSettings) || !strings.Contains(err.Error(), "features.bits  64       128") {
		t.Fatal(err)
	}
}
