package job_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/engine/local"
	"github.com/neardup/neardup/job/rundir"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/reducer"
	"github.com/neardup/neardup/simhash"
)

// crawl makes up nights of pages: new ones, copies with a word or two changed
// of pages of the same and of earlier nights, pages that come again as they
// were or changed, and short texts.
func crawl(t *testing.T, dir string, nights, pages int) (names []string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 11))
	var texts []string
	var ids []string
	for n := range nights {
		name := fmt.Sprintf("2026-11-%02d", n+1)
		names = append(names, name)
		var lines []string
		used := map[string]bool{}
		for p := range pages {
			id := fmt.Sprintf("http://site%d.example/%d/%d", rng.IntN(4), n, p)
			var words []string
			switch kind := rng.IntN(10); {
			case kind < 4 && len(texts) > 0: // a copy
				words = strings.Fields(texts[rng.IntN(len(texts))])
			case kind < 6 && len(ids) > 0: // an id that was there, with a text that was there
				id = ids[rng.IntN(len(ids))]
				words = strings.Fields(texts[rng.IntN(len(texts))])
			case kind == 6:
				words = strings.Fields([]string{"breaking news tonight", "breaking news tonight at 7", "weather for tomorrow morning", "weather for tomorow morning"}[rng.IntN(4)])
			default:
				for range 60 + rng.IntN(200) {
					words = append(words, fmt.Sprintf("w%d", rng.IntN(3000)))
				}
			}
			if used[id] {
				continue
			}
			used[id] = true
			for range rng.IntN(3) {
				if len(words) > 20 {
					words[rng.IntN(len(words))] = "changed"
				}
			}
			text := strings.Join(words, " ")
			texts, ids = append(texts, text), append(ids, id)
			line, err := json.Marshal(map[string]string{"id": id, "text": text})
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(line))
		}
		jsonl(t, filepath.Join(dir, name+".jsonl"), lines...)
	}
	return names
}

// nightDocument is a document of a night as the oracle sees it.
type nightDocument struct {
	night, id string
	view      data.View
}

func readNight(t *testing.T, out, night string) (docs []nightDocument) {
	t.Helper()
	paths, err := rundir.Parts(out, rundir.Fingerprints)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		err := parquet.ReadFingerprints(context.Background(), path, parquet.ReadOptions{}, func(row *data.FingerprintRow) error {
			d := nightDocument{night: night, id: string(row.DocID)}
			mapper.View(row, &d.view)
			d.view.Letters = bytes.Clone(row.Letters)
			docs = append(docs, d)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return docs
}

// found is a row of the matches table.
type found struct {
	id, other, from, firstSeen string
	distance                   int
}

func readFound(t *testing.T, out string) (rows []found) {
	t.Helper()
	paths, err := rundir.Parts(out, rundir.Matches)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		in, err := parquet.OpenMatches(path, parquet.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var row data.MatchRow
		for in.Read(&row) == nil {
			rows = append(rows, found{string(row.DocID), string(row.MatchID), row.MatchFrom, row.FirstSeen, int(row.Distance)})
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// sameOf says whether two documents are a match, in the obvious way.
func sameOf(t *testing.T, cfg config.Config) func(a, b *data.View) bool {
	t.Helper()
	if !cfg.Match.Verified() {
		return func(a, b *data.View) bool {
			return a.Normal && b.Normal && simhash.Distance(simhash.Fingerprint{Hi: a.Hi, Lo: a.Lo}, simhash.Fingerprint{Hi: b.Hi, Lo: b.Lo}) <= cfg.Match.Distance
		}
	}
	layout, err := simhash.NewLayout(cfg.Features.Bits, cfg.Match.Distance)
	if err != nil {
		t.Fatal(err)
	}
	confirmer := mapper.NewConfirmer(cfg.Match.Distance, mapper.NewFurther(layout.Tables(), cfg.Match.Bands, cfg.Match.ShortTexts), cfg.Match.Rules(), nil)
	return func(a, b *data.View) bool {
		met, verdict := confirmer.Judge(a, b)
		return met && verdict.Same
	}
}

// Ten nights one after another give the matches and the clusters of one
// comparison of all documents of all nights with each other, with any number of
// workers.
func TestTenNights(t *testing.T) {
	for _, preset := range []string{config.PresetClassic, config.PresetBalanced} {
		t.Run(preset, func(t *testing.T) {
			t.Parallel()
			cfg, err := config.Default().WithPreset(preset)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			nights := crawl(t, dir, 10, 50)
			same := sameOf(t, cfg)
			distance := func(a, b *data.View) int {
				return simhash.Distance(simhash.Fingerprint{Hi: a.Hi, Lo: a.Lo}, simhash.Fingerprint{Hi: b.Hi, Lo: b.Lo})
			}
			var all []nightDocument // of the nights so far
			parent := map[int]int{} // clusters of their places
			var root func(i int) int
			root = func(i int) int {
				if parent[i] != i {
					parent[i] = root(parent[i])
				}
				return parent[i]
			}
			firstSeen := map[string]string{}
			var was map[int]string // cluster by place, the night before
			matchesEarlier, merges := 0, int64(0)
			for n, night := range nights {
				request := func(lib, out string) job.Request {
					c := cfg
					c.Library = config.Library{Path: lib, Night: night}
					return job.Request{Command: job.CommandRun, Inputs: []string{filepath.Join(dir, night+".jsonl")}, Out: out, Config: c}
				}
				lib, out := filepath.Join(dir, "lib"), filepath.Join(dir, "run-"+night)
				s := runJob(t, 1+n%3, request(lib, out))
				merges += s.Library.Merges
				again := filepath.Join(dir, "again-"+night)
				runJob(t, 2, request(filepath.Join(dir, "lib2"), again))
				// The tables' metadata has the hash of the settings, and so of the library's path.
				if !slices.Equal(readFound(t, out), readFound(t, again)) || readFile(t, filepath.Join(out, "clean", "part-00000.jsonl")) != readFile(t, filepath.Join(again, "clean", "part-00000.jsonl")) {
					t.Fatalf("night %s: other workers, another result", night)
				}

				from := len(all)
				all = append(all, readNight(t, out, night)...)
				for i := from; i < len(all); i++ {
					parent[i] = i
				}
				known := maps.Clone(firstSeen)
				var want []found
				for i := from; i < len(all); i++ {
					d := &all[i]
					best, ok := found{}, false
					key := func(f found) string {
						from := f.from
						if from == "run" {
							from = "~"
						}
						return fmt.Sprintf("%03d %s %s", f.distance, from, f.other)
					}
					for j := range all {
						o := &all[j]
						if j == i || !same(&d.view, &o.view) {
							continue
						}
						parent[max(root(i), root(j))] = min(root(i), root(j))
						if o.id == d.id {
							continue
						}
						f := found{d.id, o.id, o.night, known[o.id], distance(&d.view, &o.view)}
						if o.night == night {
							f.from, f.firstSeen = "run", ""
						} else {
							f.firstSeen = firstSeenBy(all, o)
						}
						if !ok || key(f) < key(best) {
							best, ok = f, true
						}
					}
					if ok {
						want = append(want, best)
						if best.from != "run" {
							matchesEarlier++
						}
					}
					if firstSeen[d.id] == "" {
						firstSeen[d.id] = night
					}
				}
				slices.SortFunc(want, func(a, b found) int { return strings.Compare(a.id, b.id) })
				got := readFound(t, out)
				if !slices.Equal(got, want) {
					for i := range want {
						if i >= len(got) || got[i] != want[i] {
							t.Fatalf("night %s, %d matches, want %d; the first that differs: %+v, want %+v", night, len(got), len(want), got[min(i, len(got)-1)], want[i])
						}
					}
					t.Fatalf("night %s: %d matches, want %d", night, len(got), len(want))
				}

				// Clusters: the library's are the components of all documents so
				// far, and where nothing was merged they keep their ids.
				clusters := clustersOf(t, lib, all)
				byRoot := map[int]string{}
				roots := map[string]int{}
				for i := range all {
					r, c := root(i), clusters[i]
					if have, ok := byRoot[r]; ok && have != c {
						t.Fatalf("night %s: %s of %s is in cluster %s, one connected to it in %s", night, all[i].id, all[i].night, c, have)
					}
					if have, ok := roots[c]; ok && have != r {
						t.Fatalf("night %s: %s of %s is in cluster %s without a connection", night, all[i].id, all[i].night, c)
					}
					byRoot[r], roots[c] = c, r
				}
				for i, c := range was {
					least := c
					for j, o := range was {
						if root(i) == root(j) {
							least = min(least, o)
						}
					}
					if clusters[i] != least {
						t.Fatalf("night %s: cluster %s became %s, want %s", night, c, clusters[i], least)
					}
				}
				was = clusters

				// What the summary says is what the tables say.
				l := s.Library
				if int(l.New+l.Repeated+l.Returning) != len(all)-from || int(l.Added) != len(all)-from || l.Nights != n || int(l.Documents) != from {
					t.Fatalf("night %s: %+v, %d documents and %d before", night, l, len(all)-from, from)
				}
			}
			if matchesEarlier < 100 || merges == 0 && preset == config.PresetClassic {
				t.Errorf("%d matches with earlier nights, %d merges: the test shows nothing", matchesEarlier, merges)
			}
		})
	}
}

// firstSeenBy is the night in which the id of an earlier document was first
// there.
func firstSeenBy(all []nightDocument, o *nightDocument) string {
	first := o.night
	for i := range all {
		if all[i].id == o.id {
			first = min(first, all[i].night)
		}
	}
	return first
}

// clustersOf gives the cluster of each document, by its place, as the library
// has it today.
func clustersOf(t *testing.T, lib string, all []nightDocument) map[int]string {
	t.Helper()
	l, err := library.Open(context.Background(), lib, library.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := map[string]int{}
	for i, d := range all {
		at[d.night+" "+d.id] = i
	}
	clusters := map[int]string{}
	var ids []string
	err = l.Rows(context.Background(), library.StreamOptions{}, func(row *data.LibraryRow) error {
		c := string(row.Cluster)
		if c == "" {
			c = reducer.FoundedCluster(row.Night, row.DocID)
		}
		i, ok := at[row.Night+" "+string(row.DocID)]
		if !ok {
			return fmt.Errorf("the library has %s of %s", row.DocID, row.Night)
		}
		clusters[i] = c
		ids = append(ids, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(clusters) != len(all) {
		t.Fatalf("the library has %d documents, want %d", len(clusters), len(all))
	}
	now, err := l.Current(context.Background(), "", ids)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range clusters {
		if to, ok := now[c]; ok {
			clusters[i] = to
		}
	}
	return clusters
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
	if rows := readFound(t, filepath.Join(dir, "before-2")); len(rows) != 2 || rows[1].other != "http://a.example/gone" || rows[1].from != "2026-11-01" {
		t.Fatalf("before the deletion: %+v", rows)
	}
	l, err := library.Lock(context.Background(), filepath.Join(dir, "lib"), library.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := l.Delete(context.Background(), library.Doomed{IDs: []string{"http://a.example/gone"}}); err != nil || rows != 2 {
		t.Fatalf("%d rows, %v", rows, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s := libraryRun(t, cfg, dir, "2026-11-02", "after-2")
	if !s.Library.Replaced || s.Library.Left != 1 || s.Library.Added != 1 {
		t.Errorf("%+v", s.Library)
	}
	rows := readFound(t, filepath.Join(dir, "after-2"))
	if len(rows) != 1 || rows[0].other != "http://a.example/stays" || rows[0].firstSeen != "2026-11-01" {
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

// With the rule that the earliest stays, the clean dump has only what no
// earlier night had.
func TestKeepEarliestOverNights(t *testing.T) {
	dir := t.TempDir()
	line := func(id string, seed uint64) string { return fmt.Sprintf(`{"id":%q,"text":%q}`, id, text(seed, 120)) }
	jsonl(t, filepath.Join(dir, "2026-11-01.jsonl"), line("a", 1), line("b", 2))
	jsonl(t, filepath.Join(dir, "2026-11-02.jsonl"), line("c", 1), line("a", 1), line("d", 3), line("e", 3), line("f", 4))
	for keep, want := range map[string]int64{config.KeepEarliest: 2, config.KeepSmallest: 3} {
		cfg := config.Default()
		cfg.Clusters.Keep = keep
		sub := filepath.Join(dir, keep)
		for _, night := range []string{"2026-11-01", "2026-11-02"} {
			c := cfg
			c.Library = config.Library{Path: filepath.Join(sub, "lib"), Night: night}
			s := runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{filepath.Join(dir, night+".jsonl")}, Out: filepath.Join(sub, night), Config: c})
			if night == "2026-11-02" && s.Kept != want {
				t.Errorf("keep %s: %d stay, want %d", keep, s.Kept, want)
			}
			if night == "2026-11-02" && (s.Library.New != 3 || s.Library.Repeated != 1 || s.Library.Returning != 1) {
				t.Errorf("keep %s: %+v", keep, s.Library)
			}
		}
	}
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
