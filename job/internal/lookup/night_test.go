package lookup_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/wal"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/lookup"
)

var errKilled = errors.New("killed here")

// A service that is ended at any step of making a night, and started again, has
// each page once, before and behind the night.
func TestNightKilledAtEachStep(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes many runs")
	}
	text := func(i int) []string { return words(uint64(i+10), 200) }
	for _, step := range []string{"named", "matched", "half", "merges", "night", "removed"} {
		t.Run(step, func(t *testing.T) {
			dir := t.TempDir()
			addNight(t, dir, "2026-11-01", config.PresetBalanced, map[string][]string{"k": words(1, 300)})
			reached := false
			s, stop := startAdding(t, dir, lookup.AddedOptions{Step: func(at string) error {
				if reached = at == step; reached {
					return errKilled
				}
				return nil
			}}, lookup.ServerOptions{})
			var lines []string
			for i := range 20 {
				lines = append(lines, page(fmt.Sprint(i), text(i)))
			}
			addTo(t, s.URL, lines...)
			if _, err := s.added.Night(context.Background()); !errors.Is(err, errKilled) || !reached {
				t.Fatal(err)
			}
			addTo(t, s.URL, page("20", text(20)))
			see := func(x *lookup.Index, when string) {
				t.Helper()
				for i := range 21 {
					if got := find(t, x, text(i)); len(got.Matches) != 1 || got.Matches[0].Nights != 1 || got.Documents != 22 {
						t.Errorf("%s: page %d: %+v", when, i, got)
					}
				}
			}
			see(s.index, "ended there")
			stop()
			s, stop = startAdding(t, dir, lookup.AddedOptions{}, lookup.ServerOptions{})
			see(s.index, "started again")
			if _, err := s.added.Night(context.Background()); err != nil {
				t.Fatal(err)
			}
			see(s.index, "as a night")
			stop()
			times := map[string]int{}
			for _, row := range libraryRows(t, dir) {
				times[string(row.DocID)]++
			}
			if len(times) != 22 || slices.Max(slices.Collect(maps.Values(times))) != 1 {
				t.Errorf("%v", times)
			}
		})
	}
}

// The night that added pages become has the components and what stays of a run
// over the same pages.
func TestNightIsThatOfARun(t *testing.T) {
	pages := map[string][]string{}
	var ids []string
	put := func(id string, text []string) {
		ids = append(ids, id)
		pages[id] = text
	}
	old := map[string][]string{"o1": words(1, 300), "o2": words(2, 300), "o3": words(3, 300)}
	for i := range 30 {
		put(fmt.Sprintf("p%02d", i), changed(words(uint64(i%12), 300), i%7))
	}
	put("short1", []string{"breaking", "news", "tonight", "at", "the", "harbour"})
	put("short2", []string{"breaking", "news", "tonight", "at", "the", "harbour"})
	put("empty1", nil)
	put("empty2", nil)
	for _, preset := range []string{config.PresetClassic, config.PresetBalanced} {
		t.Run(preset, func(t *testing.T) {
			run, service := t.TempDir(), t.TempDir()
			for _, dir := range []string{run, service} {
				addNight(t, dir, "2026-11-01", preset, old)
			}
			s, stop := startAdding(t, service, lookup.AddedOptions{}, lookup.ServerOptions{})
			var in strings.Builder
			for _, id := range ids {
				in.WriteString(page(id, pages[id]))
			}
			if _, all := addTo(t, s.URL, in.String()); len(all) != len(ids) {
				t.Fatal(all)
			}
			made, err := s.added.Night(context.Background())
			if err != nil || len(made) != 1 {
				t.Fatal(made, err)
			}
			stop()
			night := made[0].Night
			path := filepath.Join(run, "in.jsonl")
			if err := os.WriteFile(path, []byte(in.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			cfg, err := config.Default().WithPreset(preset)
			if err != nil {
				t.Fatal(err)
			}
			cfg.Library, cfg.Clusters.Keep = config.Library{Path: filepath.Join(run, "lib"), Night: night}, config.KeepFirst
			if _, err := job.Run(context.Background(), job.Request{Command: job.CommandRun, Inputs: []string{path}, Out: filepath.Join(run, "out"), Config: cfg, Engine: local.New(1)}); err != nil {
				t.Fatal(err)
			}
			want, got := libraryRows(t, run), libraryRows(t, service)
			kept := 0
			for key, w := range want {
				g, ok := got[key]
				if !ok || string(g.Cluster) != string(w.Cluster) || g.Kept != w.Kept || g.FirstSeen != w.FirstSeen {
					t.Errorf("%s: %v %s %v %s, want %s %v %s", key, ok, g.Cluster, g.Kept, g.FirstSeen, w.Cluster, w.Kept, w.FirstSeen)
				}
				if w.Kept {
					kept++
				}
			}
			if len(got) != len(want) || kept == len(want) || kept < 10 {
				t.Errorf("%d documents, want %d, of which %d stay", len(got), len(want), kept)
			}
		})
	}
}

// What was deleted is in no answer and in no night, though the log has it.
func TestDeletedBeforeTheNight(t *testing.T) {
	dir := t.TempDir()
	addNight(t, dir, "2026-11-01", config.PresetBalanced, map[string][]string{"k": words(1, 300)})
	s, stop := startAdding(t, dir, lookup.AddedOptions{}, lookup.ServerOptions{})
	addTo(t, s.URL, page("gone", words(2, 200)), page("once", words(3, 200)), page("stays", words(4, 200)))
	l, err := library.Lock(context.Background(), filepath.Join(dir, "lib"), library.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Delete(context.Background(), library.Doomed{IDs: []string{"gone"}})
	_, again := l.Delete(context.Background(), library.Doomed{IDs: []string{"once"}, Once: true})
	if err := errors.Join(err, again, l.Close()); err != nil {
		t.Fatal(err)
	}
	for seed, want := range map[uint64]int{2: 0, 3: 0, 4: 1} {
		if got := find(t, s.index, words(seed, 200)); len(got.Matches) != want {
			t.Errorf("%d: %+v", seed, got)
		}
	}
	if _, all := addTo(t, s.URL, page("once", words(3, 200))); !all[0].Added || all[0].Known {
		t.Errorf("%+v", all)
	}
	if _, err := s.added.Night(context.Background()); err != nil {
		t.Fatal(err)
	}
	stop()
	var ids []string
	for _, row := range libraryRows(t, dir) {
		ids = append(ids, string(row.DocID))
	}
	if slices.Sort(ids); !slices.Equal(ids, []string{"k", "once", "stays"}) {
		t.Error(ids)
	}
}

// A damaged log keeps the service from taking pages, which says where; the command
// makes a night of the rest when it is asked to.
func TestDamagedLog(t *testing.T) {
	dir := t.TempDir()
	lib := filepath.Join(dir, "lib")
	addNight(t, dir, "2026-11-01", config.PresetBalanced, map[string][]string{"k": words(1, 300)})
	s, stop := startAdding(t, dir, lookup.AddedOptions{}, lookup.ServerOptions{})
	for i := range 5 {
		addTo(t, s.URL, page(fmt.Sprint(i), words(uint64(i+10), 200)))
	}
	stop()
	paths, err := lookup.LogFiles(lib)
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	b, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 4
	if err := os.WriteFile(paths[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	x := open(t, dir, lookup.Options{Distance: -1})
	if _, err := x.OpenAdded(context.Background(), lookup.AddedOptions{}); !errors.Is(err, wal.ErrDamaged) || !strings.Contains(err.Error(), paths[0]) || !strings.Contains(err.Error(), "offset") {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, err := lookup.MakeNights(ctx, lib, lookup.NightOptions{}); !errors.Is(err, wal.ErrDamaged) {
		t.Fatal(err)
	}
	var told []error
	made, err := lookup.MakeNights(ctx, lib, lookup.NightOptions{SkipDamaged: true, Warn: func(err error) { told = append(told, err) }})
	if err != nil || len(made) != 1 || made[0].Documents != 4 || made[0].Lost != 1 || len(told) != 1 {
		t.Fatal(made, told, err)
	}
	if rows := libraryRows(t, dir); len(rows) != 5 {
		t.Error(len(rows))
	}
}

// A file that stands where the next one of the log is to be, as a failed attempt
// leaves it, keeps pages from becoming a night once at most.
func TestNextFileIsThere(t *testing.T) {
	dir := t.TempDir()
	addNight(t, dir, "2026-11-01", config.PresetBalanced, map[string][]string{"k": words(1, 300)})
	s, stop := startAdding(t, dir, lookup.AddedOptions{Pages: 2}, lookup.ServerOptions{})
	paths, err := lookup.LogFiles(filepath.Join(dir, "lib"))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	b, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(paths[0]), "00000002.log"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 4 { // the file is full, and goes on being added to
		if code, all := addTo(t, s.URL, page(fmt.Sprint(i), words(uint64(i+10), 200))); code != http.StatusOK || !all[0].Added {
			t.Fatal(code, all)
		}
	}
	if _, err := s.added.Night(context.Background()); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	if _, err := s.added.Night(context.Background()); err != nil {
		t.Fatal(err)
	}
	stop()
	_, stop = startAdding(t, dir, lookup.AddedOptions{}, lookup.ServerOptions{})
	stop()
	if rows := libraryRows(t, dir); len(rows) != 5 {
		t.Errorf("%d documents, want 5", len(rows))
	}
}

// One service at a time has the log.
func TestLogIsHeld(t *testing.T) {
	dir := t.TempDir()
	addNight(t, dir, "2026-11-01", config.PresetBalanced, map[string][]string{"k": words(1, 300)})
	s, _ := startAdding(t, dir, lookup.AddedOptions{}, lookup.ServerOptions{})
	addTo(t, s.URL, page("a", words(2, 200)))
	x := open(t, dir, lookup.Options{Distance: -1})
	if _, err := x.OpenAdded(context.Background(), lookup.AddedOptions{}); !errors.Is(err, lookup.ErrAdded) || !strings.Contains(err.Error(), "another process holds it") {
		t.Error(err)
	}
	if _, err := lookup.MakeNights(context.Background(), filepath.Join(dir, "lib"), lookup.NightOptions{}); err == nil || !strings.Contains(err.Error(), "POST /nights") {
		t.Error(err)
	}
}

// FuzzAddedPage: what is no record of a page is an error; a record is read as it
// was written.
func FuzzAddedPage(f *testing.F) {
	row := data.LibraryRow{DocID: []byte("http://a.example/1"), Lo: 7, Hi: 1, LengthClass: "normal", Length: 400, Sketch: make([]byte, data.SketchSize), Language: "en", Date: data.NoDate}
	f.Add(lookup.EncodePage(row, 12, true))
	row.Sketch, row.Letters, row.LengthClass = nil, []byte("abc"), "short"
	f.Add(lookup.EncodePage(row, 0, false))
	f.Add([]byte{1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		row, change, extracted, err := lookup.DecodePage(b)
		if err != nil {
			return
		}
		again, c, e, err := lookup.DecodePage(lookup.EncodePage(row, change, extracted))
		if err != nil || c != change || e != extracted || string(again.DocID) != string(row.DocID) || again.Lo != row.Lo || again.Hi != row.Hi || again.Length != row.Length ||
			string(again.Sketch) != string(row.Sketch) || string(again.Letters) != string(row.Letters) || again.LengthClass != row.LengthClass || again.Language != row.Language || again.Date != row.Date {
			t.Fatalf("%+v became %+v, %v", row, again, err)
		}
	})
}
