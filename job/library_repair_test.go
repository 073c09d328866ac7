package job_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/nightstest"
	"github.com/neardup/neardup/job/internal/stage/history"
	"github.com/neardup/neardup/job/internal/version"
)

// Every file of a library is damaged, and made again to the same bytes from the
// runs' directories; a sound file is not touched, and without its run a file is
// left as it is.
func TestRepairLibrary(t *testing.T) {
	if testing.Short() {
		t.Skip("makes every file of ten nights again")
	}
	dir := t.TempDir()
	lib := filepath.Join(dir, "lib")
	cfg, err := config.Default().WithPreset(config.PresetClassic) // it chains clusters
	if err != nil {
		t.Fatal(err)
	}
	var runs []string
	names := nightstest.Crawl(t, dir, 10, 50)
	for i, night := range names {
		if i == 6 {
			time.Sleep(time.Second) // what comes before is told by the second
			change(t, lib, func(l *library.Library) error {
				_, err := l.Delete(context.Background(), library.Doomed{Prefixes: []string{"http://site1.example/0/1"}})
				return err
			})
			time.Sleep(time.Second)
		}
		out := "run-" + night
		libraryRun(t, cfg, dir, night, out)
		runs = append(runs, filepath.Join(dir, out))
	}
	damageEach(t, lib, runs)

	// Files that were rewritten without what was deleted.
	change(t, lib, func(l *library.Library) error {
		_, err := l.Compact(context.Background(), 0)
		return err
	})
	damageEach(t, lib, runs)
	change(t, lib, func(l *library.Library) error {
		for _, f := range l.Manifest().Files {
			if l.Manifest().IsDocuments(f.Name) {
				damage(t, l.Path(f.Name))
			}
		}
		return nil
	})
	if left := repair(t, lib, runs[:9]); len(left) != 1 || !strings.Contains(left[0], "night 2026-11-10: its run directory was not named") {
		t.Errorf("without a run: %q", left)
	}
	if left := repair(t, lib, runs); len(left) != 0 {
		t.Error(left)
	}

	// Earlier nights that first_seen rests on are gone.
	change(t, lib, func(l *library.Library) error {
		_, err := l.RemoveNights(names[:2]...)
		for _, f := range l.Manifest().Files {
			damage(t, l.Path(f.Name))
		}
		return err
	})
	if left := repair(t, lib, runs); !slices.ContainsFunc(left, func(s string) bool { return strings.Contains(s, "earlier nights that its rows rest on are gone") }) {
		t.Errorf("without earlier nights: %q", left)
	}
}

func change(t *testing.T, lib string, f func(l *library.Library) error) {
	t.Helper()
	l, err := library.Lock(t.Context(), lib, library.Options{Version: version.Version})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := f(l); err != nil {
		t.Fatal(err)
	}
}

// repair returns what is left, and why.
func repair(t *testing.T, lib string, runs []string) (left []string) {
	t.Helper()
	change(t, lib, func(l *library.Library) error {
		return history.Repair(t.Context(), l, runs, func(file string, why error) {
			if why != nil {
				left = append(left, fmt.Sprintf("%s: %v", file, why))
			}
		})
	})
	return left
}

func damage(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// damageEach damages or removes one file after the other.
func damageEach(t *testing.T, lib string, runs []string) {
	t.Helper()
	m, err := library.ReadManifest(lib)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range m.Nights {
		if n.Samples == "" {
			continue
		}
		damage(t, filepath.Join(lib, n.Samples))
		left := repair(t, lib, runs)
		if m, err = library.ReadManifest(lib); err != nil || len(left) > 0 || m.Nights[i].Samples != "" {
			t.Errorf("damaged samples: %v, %q, %+v", err, left, m.Nights[i])
		}
	}
	var names []string
	merges := false
	for _, f := range append(m.Files, *m.Templates) {
		names = append(names, filepath.Join(lib, f.Name))
		merges = merges || !m.IsDocuments(f.Name)
	}
	if !merges {
		t.Fatal("no night merges clusters")
	}
	for i, name := range names {
		was := map[string]os.FileInfo{}
		for _, n := range names {
			if was[n], err = os.Stat(n); err != nil {
				t.Fatal(err)
			}
		}
		whole := readFile(t, name)
		if damage(t, name); i%2 == 0 {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		if left := repair(t, lib, runs); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
		if readFile(t, name) != whole {
			t.Errorf("%s has other bytes", name)
		}
		for n, before := range was {
			if after, err := os.Stat(n); n != name && (err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime())) {
				t.Errorf("%s was touched: %v", n, err)
			}
		}
		change(t, lib, func(l *library.Library) error {
			if wrong, err := l.Verify(t.Context()); err != nil || len(wrong) > 0 {
				t.Errorf("%q, %v", wrong, err)
			}
			return nil
		})
	}
}
