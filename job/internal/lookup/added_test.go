package lookup_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/wal"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/lookup"
)

// adding is a service that takes pages, in this process.
type adding struct {
	*httptest.Server
	index *lookup.Index
	added *lookup.Added
}

// startAdding starts a service on dir's library, which stop ends as an
// interruption does.
func startAdding(t testing.TB, dir string, o lookup.AddedOptions, so lookup.ServerOptions) (s *adding, stop func()) {
	t.Helper()
	x, err := lookup.Open(context.Background(), filepath.Join(dir, "lib"), lookup.Options{Distance: -1})
	if err != nil {
		t.Fatal(err)
	}
	a, err := x.OpenAdded(context.Background(), o)
	if err != nil {
		t.Fatal(errors.Join(err, x.Close()))
	}
	so.Loopback = true
	s = &adding{httptest.NewServer(lookup.NewServer(x, so).Handler()), x, a}
	var once sync.Once
	stop = func() {
		once.Do(func() {
			s.Close()
			if err := errors.Join(a.Close(), x.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(stop)
	return s, stop
}

// page is a page as a line of JSON.
func page(id string, text []string) string {
	b, err := json.Marshal(map[string]string{"id": id, "text": strings.Join(text, " ")})
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
}

// said is what a service says of a page that was to be added.
type said struct {
	ID    string `json:"id"`
	Added bool   `json:"added"`
	lookup.Answer
	Line  int    `json:"line"`
	Error string `json:"error"`
}

func (s said) ids() (ids []string) {
	for _, m := range s.Matches {
		ids = append(ids, m.ID)
	}
	return ids
}

// addTo sends pages, and returns what is said of each.
func addTo(t testing.TB, url string, lines ...string) (int, []said) {
	t.Helper()
	resp, err := http.Post(url+"/documents", "application/x-ndjson", strings.NewReader(strings.Join(lines, "")))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var all []said
	if resp.StatusCode != http.StatusOK {
		all = append(all, said{Error: string(body)})
		return resp.StatusCode, all
	}
	in := bufio.NewScanner(bytes.NewReader(body))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var one said
		if err := json.Unmarshal(in.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return resp.StatusCode, all
}

// libraryRows are the documents of dir's library by night and id, each with
// whether it stays and its component.
func libraryRows(t testing.TB, dir string) map[string]data.LibraryRow {
	t.Helper()
	l, err := library.Open(context.Background(), filepath.Join(dir, "lib"), library.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	rows := map[string]data.LibraryRow{}
	err = l.Rows(context.Background(), library.StreamOptions{}, func(row *data.LibraryRow) error {
		key := row.Night + " " + string(row.DocID)
		if _, twice := rows[key]; twice {
			return fmt.Errorf("%s is there twice", key)
		}
		rows[key] = data.LibraryRow{Cluster: bytes.Clone(row.Cluster), Kept: row.Kept, FirstSeen: row.FirstSeen, Night: row.Night, DocID: bytes.Clone(row.DocID)}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if wrong, err := l.Verify(context.Background()); err != nil || len(wrong) > 0 {
		t.Fatal(wrong, err)
	}
	return rows
}

// A page is answered with what it is near to, of the library and of the pages
// before it, and look-ups have it at once, in this process and in the next one,
// before it is a night and behind that, in which it has what a run would say of it.
func TestAdd(t *testing.T) {
	for _, preset := range []string{config.PresetClassic, config.PresetBalanced, config.PresetThorough} {
		t.Run(preset, func(t *testing.T) {
			dir := t.TempDir()
			known, fresh := words(1, 300), words(2, 300)
			addNight(t, dir, "2026-11-01", preset, map[string][]string{"k1": known, "k2": changed(known, 9)})
			s, stop := startAdding(t, dir, lookup.AddedOptions{}, lookup.ServerOptions{})
			code, all := addTo(t, s.URL, page("a", changed(known, 5)), page("b", fresh), "\n", page("c", changed(fresh, 5)), `{"id": "x"}`+"\n", page("", fresh), page("b", fresh), page("s", []string{"one"}), page("e", nil))
			if code != http.StatusOK || len(all) != 8 {
				t.Fatal(code, all)
			}
			a, b, c := all[0], all[1], all[2]
			if !a.Added || !a.Known || !slices.Equal(slices.Sorted(slices.Values(a.ids())), []string{"k1", "k2"}) || a.Documents != 2 {
				t.Errorf("a: %+v", a)
			}
			if !b.Added || b.Known || b.Documents != 3 {
				t.Errorf("b: %+v", b)
			}
			if !c.Added || !slices.Equal(c.ids(), []string{"b"}) || c.Matches[0].Night != lookup.AddedNight {
				t.Errorf("c: %+v", c)
			}
			if all[3].Error == "" || all[3].Line != 5 || all[4].Error == "" || all[4].Line != 6 {
				t.Errorf("lines that are no pages: %+v", all[3:5])
			}
			if all[5].Added || !slices.Contains(all[5].ids(), "b") {
				t.Errorf("b again: %+v", all[5])
			}
			if !all[6].Added || !all[7].Added {
				t.Errorf("short and empty: %+v", all[6:])
			}
			if got := find(t, s.index, changed(fresh, 7)); len(got.Matches) != 2 || got.Documents != 7 {
				t.Errorf("%+v", got)
			}
			stop()
			s, stop = startAdding(t, dir, lookup.AddedOptions{}, lookup.ServerOptions{})
			if got := find(t, s.index, changed(fresh, 7)); len(got.Matches) != 2 || got.Documents != 7 {
				t.Errorf("in the next process: %+v", got)
			}
			if _, all := addTo(t, s.URL, page("c", changed(fresh, 5)), page("b", changed(known, 5))); all[0].Added || !all[1].Added {
				t.Errorf("c as it was, b otherwise: %+v", all)
			}
			if got := find(t, s.index, changed(fresh, 7)); len(got.Matches) != 1 || got.Matches[0].ID != "c" {
				t.Errorf("b is another page now: %+v", got)
			}
			made, err := s.added.Night(context.Background())
			if err != nil || len(made) != 1 || made[0].Documents != 5 {
				t.Fatal(made, err)
			}
			got := find(t, s.index, changed(fresh, 7))
			if len(got.Matches) != 1 || got.Matches[0].ID != "c" || got.Matches[0].Night != made[0].Night || got.Matches[0].Nights != 1 || got.Documents != 7 {
				t.Errorf("of the night: %+v", got)
			}
			if _, all := addTo(t, s.URL, page("d", changed(fresh, 3))); len(all[0].Matches) != 1 || all[0].Matches[0].Night != made[0].Night {
				t.Errorf("d: %+v", all)
			}
			if _, all := addTo(t, s.URL, page("c", changed(fresh, 5))); all[0].Added {
				t.Errorf("c is sent again when it is a night: %+v", all)
			}
			stop()
			rows := libraryRows(t, dir)
			night := made[0].Night
			kept := map[string]bool{}
			for _, row := range rows {
				if row.Night == night {
					kept[string(row.DocID)] = row.Kept
				}
			}
			if want := map[string]bool{"a": false, "b": false, "c": true, "s": true, "e": true}; !maps.Equal(kept, want) {
				t.Errorf("what stays: %v, want %v", kept, want)
			}
			if k, a, b := rows["2026-11-01 k1"], rows[night+" a"], rows[night+" b"]; len(k.Cluster) == 0 || !bytes.Equal(a.Cluster, k.Cluster) || !bytes.Equal(a.Cluster, b.Cluster) {
				t.Errorf("components: %s, %s, %s", k.Cluster, a.Cluster, b.Cluster)
			}
			if c := rows[night+" c"]; len(c.Cluster) != 0 || c.FirstSeen != night {
				t.Errorf("%+v", c)
			}
			// The last page is a night by the command.
			made, err = lookup.MakeNights(context.Background(), filepath.Join(dir, "lib"), lookup.NightOptions{Warn: func(err error) { t.Error(err) }})
			if err != nil || len(made) != 1 || made[0].Documents != 1 {
				t.Fatal(made, err)
			}
			if d, c := libraryRows(t, dir)[made[0].Night+" d"], rows[night+" c"]; d.Kept || len(d.Cluster) == 0 || len(c.Cluster) != 0 {
				t.Errorf("d: %+v", d)
			}
			if paths, err := lookup.LogFiles(filepath.Join(dir, "lib")); err != nil || len(paths) > 0 {
				t.Error(paths, err)
			}
		})
	}
}

// Of equal pages that come at the same time one is new, and all others are told
// of a page that came before.
func TestEqualAtOnce(t *testing.T) {
	dir := t.TempDir()
	addNight(t, dir, "2026-11-01", config.PresetBalanced, map[string][]string{"k": words(1, 300)})
	s, _ := startAdding(t, dir, lookup.AddedOptions{Pages: 40}, lookup.ServerOptions{Adders: 8})
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	for round := range rounds {
		text := words(uint64(round+100), 200)
		var wait sync.WaitGroup
		var fresh atomic.Int64
		for i := range 8 {
			wait.Go(func() {
				_, all := addTo(t, s.URL, page(fmt.Sprintf("%d-%d", round, i), text))
				switch {
				case len(all) != 1 || !all[0].Added:
					t.Errorf("%+v", all)
				case !all[0].Known:
					fresh.Add(1)
				}
			})
		}
		if round%4 == 0 { // while they go over to the library, too
			wait.Go(func() {
				if _, err := s.added.Night(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if fresh.Load() != 1 {
			t.Errorf("round %d: %d of 8 equal pages are new", round, fresh.Load())
		}
	}
	if _, err := s.added.Night(context.Background()); err != nil {
		t.Fatal(err)
	}
	if rows := libraryRows(t, dir); len(rows) != 8*rounds+1 {
		t.Errorf("%d documents, want %d", len(rows), 8*rounds+1)
	}
}

// Of requests that bring the very same page at the same time one adds it, and says
// that it is new.
func TestSamePageAtOnce(t *testing.T) {
	dir := t.TempDir()
	addNight(t, dir, "2026-11-01", config.PresetBalanced, map[string][]string{"k": words(1, 300)})
	s, stop := startAdding(t, dir, lookup.AddedOptions{}, lookup.ServerOptions{Adders: 8})
	const rounds, senders = 10, 8
	for round := range rounds {
		line := page(fmt.Sprint(round), words(uint64(round+100), 200))
		var wait sync.WaitGroup
		var added, fresh atomic.Int64
		for range senders {
			wait.Go(func() {
				_, all := addTo(t, s.URL, line)
				if len(all) != 1 || all[0].Added == all[0].Known {
					t.Errorf("%+v", all)
					return
				}
				if all[0].Added {
					added.Add(1)
				}
				if !all[0].Known {
					fresh.Add(1)
				}
			})
		}
		wait.Wait()
		if added.Load() != 1 || fresh.Load() != 1 {
			t.Errorf("round %d: %d requests of %d added the page, %d say that it is new", round, added.Load(), senders, fresh.Load())
		}
	}
	if _, err := s.added.Night(context.Background()); err != nil {
		t.Fatal(err)
	}
	stop()
	if rows := libraryRows(t, dir); len(rows) != rounds+1 {
		t.Errorf("%d documents, want %d", len(rows), rounds+1)
	}
}

// A page on which the program panics is told of in its line; those beside it are
// kept. Alone it is refused.
func TestPageThatPanics(t *testing.T) {
	dir := t.TempDir()
	addNight(t, dir, "2026-11-01", config.PresetClassic, map[string][]string{"k": words(1, 300)})
	s, _ := startAdding(t, dir, lookup.AddedOptions{}, lookup.ServerOptions{})
	if err := s.index.PanicOnChinese(); err != nil {
		t.Fatal(err)
	}
	chinese := []string{"天气", "北京", "上海", "经济", "发展"}
	code, all := addTo(t, s.URL, page("a", words(2, 200)), page("b", chinese), page("c", words(3, 200)))
	if code != http.StatusOK || len(all) != 3 || !all[0].Added || all[1].Line != 2 || all[1].Error == "" || !all[2].Added {
		t.Errorf("%d %+v", code, all)
	}
	resp, err := http.Post(s.URL+"/documents", "application/json", strings.NewReader(page("b", chinese)))
	if err != nil {
		t.Fatal(err)
	}
	if _ = resp.Body.Close(); resp.StatusCode != http.StatusUnprocessableEntity {
		t.Error(resp.Status)
	}
	if n := s.added.Waiting(); n != 2 {
		t.Errorf("%d pages are kept", n)
	}
}

// Look-ups are answered while a batch is taken in, from what is on the disk.
func TestLookUpsBesideABatch(t *testing.T) {
	dir := t.TempDir()
	known := words(1, 300)
	addNight(t, dir, "2026-11-01", config.PresetBalanced, map[string][]string{"k": known})
	asked := 0
	var s *adding
	s, _ = startAdding(t, dir, lookup.AddedOptions{Page: func() {
		if got := find(t, s.index, changed(known, 3)); len(got.Matches) != 1 {
			t.Errorf("%+v", got)
		}
		asked++
	}}, lookup.ServerOptions{})
	if code, all := addTo(t, s.URL, page("a", changed(known, 5)), page("b", changed(known, 7))); code != http.StatusOK || len(all[1].Matches) != 2 || asked != 2 {
		t.Errorf("%d %+v, %d look-ups", code, all, asked)
	}
}

// fullDisk is a file that has no room while full says so.
type fullDisk struct {
	wal.File
	full *atomic.Bool
}

func (f fullDisk) WriteAt(p []byte, at int64) (int, error) {
	if f.full.Load() {
		n, _ := f.File.WriteAt(p[:len(p)/3], at)
		return n, syscall.ENOSPC
	}
	return f.File.WriteAt(p, at)
}

// While the disk is full pages are refused with 507 and not kept, look-ups go on;
// when there is room again adding goes on, and nothing of what was refused is there.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	known := words(1, 300)
	addNight(t, dir, "2026-11-01", config.PresetBalanced, map[string][]string{"k": known})
	var full atomic.Bool
	s, stop := startAdding(t, dir, lookup.AddedOptions{Through: func(f wal.File) wal.File { return fullDisk{f, &full} }}, lookup.ServerOptions{Adders: 4})
	if code, _ := addTo(t, s.URL, page("before", words(2, 200))); code != http.StatusOK {
		t.Fatal(code)
	}
	full.Store(true)
	var wait sync.WaitGroup
	for i := range 12 {
		wait.Go(func() {
			code, all := addTo(t, s.URL, page(fmt.Sprint("refused ", i), words(3, 200)), page("before", words(4, 200)))
			if code != http.StatusInsufficientStorage || !strings.Contains(all[0].Error, "room") {
				t.Errorf("%d %+v", code, all)
			}
		})
	}
	wait.Wait()
	for seed, want := range map[uint64]int{1: 1, 2: 1, 3: 0, 4: 0} {
		n := 300
		if seed > 1 {
			n = 200
		}
		if got := find(t, s.index, words(seed, n)); len(got.Matches) != want {
			t.Errorf("look-up of %d: %+v", seed, got)
		}
	}
	full.Store(false)
	code, all := addTo(t, s.URL, page("behind", words(3, 200)))
	if code != http.StatusOK || all[0].Known {
		t.Fatalf("%d %+v", code, all)
	}
	stop()
	s, _ = startAdding(t, dir, lookup.AddedOptions{}, lookup.ServerOptions{})
	for seed, want := range map[uint64]int{2: 1, 3: 1, 4: 0} {
		if got := find(t, s.index, words(seed, 200)); len(got.Matches) != want {
			t.Errorf("look-up of %d in the next process: %+v", seed, got)
		}
	}
}
