package library_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/data/library"
)

// snapshot is every file of a folder, by its path within it.
type snapshot map[string][]byte

func take(t testing.TB, dir string) snapshot {
	t.Helper()
	files := snapshot{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == ".lock" {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// put writes the files whose names begin so into a folder, over those of the same
// names.
func (s snapshot) put(t testing.TB, dir, prefix string) {
	t.Helper()
	for name, text := range s {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// history makes a library of some nights by changes of every kind, and returns
// its folder after each.
func history(t *testing.T, dir string, first int) (after []snapshot) {
	t.Helper()
	ctx := context.Background()
	adds := func(night int, ids ...int) func(*library.Library) error {
		return func(l *library.Library) error {
			for i := range ids {
				ids[i] += first
			}
			_, err := add(ctx, l, fmt.Sprintf("2026-11-%02d", night), ids, "a>b")
			return err
		}
	}
	for _, do := range []func(*library.Library) error{
		adds(1, 1, 2, 3), adds(2, 2, 3, 4, 5), adds(3, 5, 6, 7, 8),
		func(l *library.Library) error {
			_, err := l.Delete(ctx, library.Doomed{IDs: []string{string(rowOf("", first+3).DocID)}})
			return err
		},
		adds(4, 1, 3, 8, 9),
		func(l *library.Library) error { _, err := l.Compact(ctx, 0); return err },
		func(l *library.Library) error {
			_, err := l.Expire(time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC))
			return err
		},
		adds(5, 10, 11, 12),
		adds(4, 1, 8, 13), // again
		func(l *library.Library) error {
			_, err := l.Delete(ctx, library.Doomed{Prefixes: []string{fmt.Sprintf("http://site%d.example/%05d", (first+8)%3, first+8)}})
			return err
		},
		adds(6, 14, 15, 2),
	} {
		l := lock(t, dir, library.Options{PartRows: 3})
		if err := errors.Join(do(l), l.Close()); err != nil {
			t.Fatal(err)
		}
		after = append(after, take(t, dir))
	}
	return after
}

// TestSetBack puts old and foreign files into the place of a library's in drawn
// ways. Each is told, by verification and by the next change, with the command
// that mends it; nothing is removed; and after that command the library holds
// what it held, but for files that only a backup or a run has.
func TestSetBack(t *testing.T) {
	ways := 52 // four of each kind
	switch {
	case testing.Short():
		ways = 13
	case os.Getenv("NEARDUP_EXHAUSTIVE") != "":
		ways = 120
	}
	base, elsewhere := t.TempDir(), t.TempDir()
	mine, other := history(t, base, 0), history(t, elsewhere, 100)
	now := mine[len(mine)-1]
	want := contents(t, base)
	rnd := rand.New(rand.NewPCG(27, 2)) //nolint:gosec // not for secrets
	tables := func(s snapshot, kind string) (names []string) {
		for name := range s {
			if strings.HasPrefix(name, kind+"/") {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	counts := map[string]int{}
	for way := range ways {
		dir := filepath.Join(t.TempDir(), "lib")
		now.put(t, dir, "")
		old := mine[rnd.IntN(len(mine)-1)]
		var lost []string // files that only a backup or a run has
		foreign := map[string]bool{}
		what := []string{"older manifest", "manifest and deletions", "older copy over it", "file of another night", "files of another library", "another library's manifest", "another library over it", "lost", "cut", "a bit", "older changes", "changes lost", "manifest and changes lost"}[way%13]
		remove := func(name string) {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		switch what {
		case "older manifest":
			old.put(t, dir, library.ManifestFile)
		case "manifest and deletions":
			remove("deletions")
			old.put(t, dir, library.ManifestFile)
			old.put(t, dir, "deletions/")
			for name := range now {
				if strings.HasPrefix(name, "deletions/") && old[name] == nil {
					lost = append(lost, name)
				}
			}
		case "older copy over it":
			old.put(t, dir, "")
		case "file of another night":
			names := tables(now, []string{"documents", "merges", "samples"}[rnd.IntN(3)])
			lost = []string{names[rnd.IntN(len(names))]}
			for {
				if from := now[names[rnd.IntN(len(names))]]; !bytes.Equal(from, now[lost[0]]) {
					snapshot{lost[0]: from}.put(t, dir, "")
					break
				}
			}
		case "files of another library":
			names := tables(other[len(other)-1], "documents")
			name := names[rnd.IntN(len(names))]
			foreign[filepath.Join("documents", "night=2026-12-01", fmt.Sprintf("%08d-00000.parquet", rnd.IntN(20)))] = true
			for to := range foreign {
				snapshot{to: other[len(other)-1][name]}.put(t, dir, "")
			}
		case "another library's manifest":
			other[rnd.IntN(len(other))].put(t, dir, library.ManifestFile)
		case "another library over it":
			// of the same names are library.json and changes, whose copies are told apart
			s := other[rnd.IntN(len(other))]
			s.put(t, dir, library.ManifestFile)
			s.put(t, dir, "changes/")
		case "lost":
			remove(library.ManifestFile)
		case "cut":
			text := now[library.ManifestFile]
			snapshot{library.ManifestFile: text[:rnd.IntN(len(text))]}.put(t, dir, "")
		case "a bit":
			text := bytes.Clone(now[library.ManifestFile])
			text[rnd.IntN(len(text))] ^= 1 << rnd.IntN(8)
			snapshot{library.ManifestFile: text}.put(t, dir, "")
		case "older changes":
			remove("changes")
			old.put(t, dir, "changes/")
		case "changes lost":
			remove("changes")
		case "manifest and changes lost":
			remove("changes")
			remove(library.ManifestFile)
		}
		counts[what]++
		before := take(t, dir)
		told := tell(t, dir)
		if told == "" && what != "older changes" && what != "changes lost" {
			t.Errorf("way %d, %s: nobody says so", way, what)
		}
		if told != "" && !strings.Contains(told, "repair") && !strings.Contains(told, "backup") && !strings.Contains(told, "move it") {
			t.Errorf("way %d, %s: no remedy: %s", way, what, told)
		}
		for name, text := range take(t, dir) {
			if !bytes.Equal(before[name], text) && before[name] != nil && !strings.HasSuffix(name, library.ManifestFile) {
				t.Errorf("way %d, %s: %s has changed", way, what, name)
			}
		}
		for name := range before {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Errorf("way %d, %s: %s was removed: %s", way, what, name, told)
			}
		}
		if what == "manifest and changes lost" { // a backup is all that is left
			mine[len(mine)-2].put(t, dir, "changes/")
			mine[len(mine)-2].put(t, dir, library.ManifestFile)
			if told := tell(t, dir); !strings.Contains(told, "repair") {
				t.Errorf("way %d, %s: the backup is taken: %q", way, what, told)
			}
			continue
		}
		for _, name := range lost {
			now.put(t, dir, name)
		}
		done, err := library.Recover(t.Context(), dir, library.Options{})
		if err != nil {
			t.Errorf("way %d, %s: recover: %v", way, what, err)
			continue
		}
		for name := range foreign {
			remove(filepath.Dir(name))
		}
		if got := contents(t, dir); !slices.Equal(got, want) {
			t.Errorf("way %d, %s, %+v:\n%s\nwant:\n%s", way, what, done, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		// The next night comes.
		l := lock(t, dir, library.Options{})
		_, err = add(t.Context(), l, "2026-11-07", []int{3, 20, 8})
		if err := errors.Join(err, l.Close()); err != nil {
			t.Errorf("way %d, %s: the next night: %v", way, what, err)
		}
		if got := contents(t, dir); len(got) != len(want)+1 { // 3 and 8 are deleted for good
			t.Errorf("way %d, %s: the next night: %d documents, want %d", way, what, len(got), len(want)+1)
		}
	}
	t.Log(counts)
}

// tell is what verification and the next change say of a library; "" if it is
// sound to both.
func tell(t *testing.T, dir string) (told string) {
	t.Helper()
	l, err := library.Open(t.Context(), dir, library.Options{})
	if err != nil {
		told = err.Error()
	} else {
		wrong, err := l.Verify(t.Context())
		if err := errors.Join(err, l.Close()); err != nil {
			t.Fatal(err)
		}
		if told = strings.Join(wrong, "\n"); told != "" {
			told += "\nneardup library repair" // which the command says
		}
	}
	l, err = library.Lock(t.Context(), dir, library.Options{})
	if err != nil {
		return told + "\n" + err.Error()
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return told
}
