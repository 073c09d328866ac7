package library_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
)

var settings = map[string]string{"features.kind": "words", "features.bits": "64"}

func lock(t testing.TB, dir string, o library.Options) *library.Library {
	t.Helper()
	l, err := library.Lock(context.Background(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Settle(64, settings, nil); err != nil {
		t.Fatal(err)
	}
	return l
}

// rowOf makes up what a night knows of a document.
func rowOf(night string, id int) data.LibraryRow {
	return data.LibraryRow{
		DocID: fmt.Appendf(nil, "http://site%d.example/%05d", id%3, id), Lo: uint64(id) * 0x9e3779b97f4a7c15, LengthClass: []string{"normal", "normal", "short"}[id%3],
		Length: int32(id), Sketch: bytes.Repeat([]byte{byte(id)}, 64*(id%2)), Letters: bytes.Repeat([]byte("a"), id%7), FirstSeen: night,
		Cluster: bytes.Repeat([]byte("c"), id%5), Site: fmt.Appendf(nil, "site%d.example", id%3), Language: "en", Date: []int64{data.NoDate, int64(id)}[id%2],
	}
}

// add adds a night of documents, each of which is sampled.
func add(ctx context.Context, l *library.Library, night string, ids []int, merges ...string) (library.Night, error) {
	rows := make([]data.LibraryRow, len(ids))
	for i, id := range ids {
		rows[i] = rowOf(night, id)
	}
	slices.SortFunc(rows, func(a, b data.LibraryRow) int { return bytes.Compare(a.DocID, b.DocID) })
	err := l.KeepSamples(night, func(yield func(*data.SampleRow) error) error {
		for _, r := range rows {
			if err := yield(&data.SampleRow{DocID: r.DocID, Page: fmt.Append(nil, r.Lo)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return library.Night{}, err
	}
	added, _, err := l.Add(ctx, night, "", func(yield func(*data.LibraryRow) error) error {
		for _, r := range rows {
			if err := yield(&r); err != nil {
				return err
			}
		}
		return nil
	}, func(yield func(from, into []byte) error) error {
		for _, m := range merges {
			from, into, _ := strings.Cut(m, ">")
			if err := yield([]byte(from), []byte(into)); err != nil {
				return err
			}
		}
		return nil
	})
	return added, err
}

// contents reads every document as "night id …" in order, streamed by several
// workers, and checks the row-wise reader against it.
func contents(t testing.TB, dir string) []string {
	t.Helper()
	lines := read(t, dir)
	l, err := library.Open(context.Background(), dir, library.Options{})
	if errors.Is(err, library.ErrNone) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if wrong, err := l.Verify(context.Background()); err != nil || len(wrong) > 0 {
		t.Fatalf("verify: %v %v", wrong, err)
	}
	return lines
}

// read is contents without the check of the files.
func read(t testing.TB, dir string) []string {
	t.Helper()
	l, err := library.Open(context.Background(), dir, library.Options{})
	if errors.Is(err, library.ErrNone) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var mu sync.Mutex
	var all, ordered, ids, sampled []string
	show := func(night string, r *data.LibraryRow) string {
		return fmt.Sprintf("%s %s %x %s %d %x %s %s %s %s %s %d", night, r.DocID, r.Lo, r.LengthClass, r.Length, r.Sketch, r.Letters, r.FirstSeen, r.Cluster, r.Site, r.Language, r.Date)
	}
	err = l.Stream(context.Background(), library.StreamOptions{Workers: 3}, func(_ int, b *library.Batch) error {
		mu.Lock()
		defer mu.Unlock()
		for i := range b.Rows {
			r := &b.Rows[i]
			id, err := strconv.Atoi(string(r.DocID[len(r.DocID)-5:]))
			if want := rowOf("", id); err != nil || !bytes.Equal(r.Sketch, want.Sketch) || !bytes.Equal(r.Letters, want.Letters) || !bytes.Equal(r.Cluster, want.Cluster) || r.Lo != want.Lo {
				return fmt.Errorf("%s: %x %s %s, want %x %s %s; %w", r.DocID, r.Sketch, r.Letters, r.Cluster, want.Sketch, want.Letters, want.Cluster, err)
			}
			if r.Night != b.Night {
				return fmt.Errorf("a row of %s in a batch of %s", r.Night, b.Night)
			}
			all = append(all, show(b.Night, r))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	err = l.Rows(context.Background(), library.StreamOptions{}, func(r *data.LibraryRow) error {
		ordered, ids = append(ordered, show(r.Night, r)), append(ids, fmt.Sprint(string(r.DocID), " ", r.Lo))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = l.Samples(context.Background(), "9999-12-31", func(r *data.SampleRow) error {
		sampled = append(sampled, fmt.Sprintf("%s %s", r.DocID, r.Page))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(ordered, func(a, b string) int { return strings.Compare(nightIn(a), nightIn(b)) })
	slices.Sort(ids)
	slices.Sort(sampled)
	if !slices.Equal(ids, sampled) {
		t.Fatalf("documents:\n%s\nsamples of them:\n%s", strings.Join(ids, "\n"), strings.Join(sampled, "\n"))
	}
	if !slices.Equal(all, ordered) {
		t.Fatalf("streamed:\n%s\nin order:\n%s", strings.Join(all, "\n"), strings.Join(ordered, "\n"))
	}
	if int64(len(all)) != l.Manifest().Rows() {
		t.Fatalf("%d rows, the manifest says %d", len(all), l.Manifest().Rows())
	}
	for _, n := range l.Manifest().Nights {
		files := []string{n.Merges, n.Samples}
		for _, e := range n.Extents {
			files = append(files, e.File)
		}
		for _, name := range files {
			if night := nightOf(name); night != "" && night != n.Name {
				t.Fatalf("%s has rows of night %s", name, n.Name)
			}
		}
	}
	return all
}

// nightIn is the night of a line of read.
func nightIn(line string) string {
	night, _, _ := strings.Cut(line, " ")
	return night
}

// nightOf is the night in whose folder a file of the library stands; "": none.
func nightOf(file string) string {
	if night, ok := strings.CutPrefix(path.Base(path.Dir(file)), "night="); ok {
		return night
	}
	return ""
}

// tidy is an error if a library's folder holds files that the manifest does not
// name, or an empty folder of a night.
func tidy(t testing.TB, dir string) {
	t.Helper()
	m, err := library.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"documents", "merges", "samples"} {
		for _, name := range listing(t, filepath.Join(dir, kind)) {
			night := strings.HasPrefix(path.Base(name), "night=") // else it is a file
			if name = kind + "/" + name; night {
				name += "/"
			}
			if !slices.ContainsFunc(m.Files, func(f library.File) bool { return f.Name == name || night && strings.HasPrefix(f.Name, name) }) {
				t.Fatalf("%s is there, and not in the manifest", name)
			}
		}
	}
}

// Whatever is done to a library in whatever order, it holds what a list of
// rows would.
func TestLibraryAgainstModel(t *testing.T) {
	type row struct {
		night string
		id    int
	}
	nights := []string{"2026-11-01", "2026-11-02", "2026-11-02.2", "2026-11-03"}
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "library-*")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		model := map[row]bool{}
		forever := map[int]bool{}
		var foreverSites []string
		site := func(id int) string { return fmt.Sprintf("http://site%d.", id%3) }
		gone := func(id int) bool { return forever[id] || slices.Contains(foreverSites, site(id)) }
		for step := range rapid.IntRange(1, 5).Draw(t, "steps") {
			l, err := library.Lock(context.Background(), dir, library.Options{PartRows: rapid.Int64Range(10, 50).Draw(t, "part"), FS: healthy()})
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Settle(64, settings, nil); err != nil {
				t.Fatal(err)
			}
			action := rapid.SampledFrom([]string{"add", "add", "add", "ids", "prefix", "expire", "compact", "night"}).Draw(t, "action")
			if step == 0 {
				action = "add"
			}
			switch action {
			case "add":
				night := rapid.SampledFrom(nights).Draw(t, "night")
				ids := rapid.SliceOfNDistinct(rapid.IntRange(0, 60), 0, 40, rapid.ID).Draw(t, "ids")
				_, err = add(context.Background(), l, night, ids)
				maps.DeleteFunc(model, func(r row, _ bool) bool { return r.night == night })
				for _, id := range ids {
					if !gone(id) {
						model[row{night, id}] = true
					}
				}
			case "ids", "prefix":
				d := library.Doomed{Once: rapid.Bool().Draw(t, "once")}
				hit := map[int]bool{}
				if action == "ids" {
					for _, id := range rapid.SliceOfNDistinct(rapid.IntRange(0, 60), 1, 10, rapid.ID).Draw(t, "ids") {
						d.IDs = append(d.IDs, string(rowOf("", id).DocID))
						hit[id] = true
						if !d.Once {
							forever[id] = true
						}
					}
				} else {
					s := site(rapid.IntRange(0, 2).Draw(t, "site"))
					d.Prefixes = []string{s}
					for id := range 61 {
						hit[id] = site(id) == s
					}
					if !d.Once {
						foreverSites = append(foreverSites, s)
					}
				}
				before := len(model)
				there := map[string]bool{}
				for r := range model {
					there[string(rowOf("", r.id).DocID)] = true
				}
				maps.DeleteFunc(model, func(r row, _ bool) bool { return hit[r.id] })
				var unknown []string
				for _, id := range d.IDs {
					if !there[id] && !slices.Contains(unknown, id) {
						unknown = append(unknown, id)
					}
				}
				var done library.Deleted
				if done, err = l.Delete(context.Background(), d); int(done.Rows) != before-len(model) || !slices.Equal(done.Unknown, unknown) {
					t.Fatalf("%+v, want %d rows, %q unknown", done, before-len(model), unknown)
				}
			case "expire":
				date := time.Date(2026, 11, rapid.IntRange(1, 4).Draw(t, "day"), 0, 0, 0, 0, time.UTC)
				_, err = l.Expire(date)
				maps.DeleteFunc(model, func(r row, _ bool) bool { return r.night[:10] < date.Format(time.DateOnly) })
			case "night":
				if n := len(l.Manifest().Nights); n > 0 {
					name := l.Manifest().Nights[rapid.IntRange(0, n-1).Draw(t, "which")].Name
					_, err = l.RemoveNights(name)
					maps.DeleteFunc(model, func(r row, _ bool) bool { return r.night == name })
				}
			case "compact":
				_, err = l.Compact(context.Background(), rapid.Int64Range(1, 60).Draw(t, "rows"))
				for _, f := range l.Manifest().Files {
					if nightOf(f.Name) == "" {
						t.Fatalf("after a compaction %s stands in no folder of a night", f.Name)
					}
				}
				for _, n := range l.Manifest().Nights {
					if n.Deleted > 0 {
						t.Fatalf("night %s has %d deleted rows after a compaction", n.Name, n.Deleted)
					}
				}
			}
			if err != nil {
				t.Fatalf("%s: %v", action, err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			tidy(rapidTB{t: t}, dir)
			var want []string
			for r := range model {
				want = append(want, r.night+" "+string(rowOf("", r.id).DocID))
			}
			slices.Sort(want)
			var got []string
			for _, line := range contentsIn(t, dir) {
				got = append(got, strings.Join(strings.Fields(line)[:2], " "))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("after %s:\n%s\nwant:\n%s", action, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	})
}

// contentsIn is contents within a property.
func contentsIn(t *rapid.T, dir string) []string {
	if rapid.Bool().Draw(t, "verify") {
		return contents(rapidTB{t: t}, dir)
	}
	return read(rapidTB{t: t}, dir)
}

// rapidTB lets helpers of tests be used in properties.
type rapidTB struct {
	testing.TB
	t *rapid.T
}

func (r rapidTB) Helper()                      { r.t.Helper() }
func (r rapidTB) Fatal(args ...any)            { r.t.Fatal(args...) }
func (r rapidTB) Fatalf(f string, args ...any) { r.t.Fatalf(f, args...) }

// What was deleted is, after a compaction, in no file of the library, not even
// as text in one that is no more named.
func TestCompactErases(t *testing.T) {
	dir := t.TempDir()
	l := lock(t, dir, library.Options{})
	for _, night := range []string{"2026-11-01", "2026-11-02", "2026-11-03"} {
		if _, err := add(context.Background(), l, night, []int{1, 2, 3, 4, 5}); err != nil {
			t.Fatal(err)
		}
	}
	doomed := rowOf("", 4)
	before := documents(t, l)
	if done, err := l.Delete(context.Background(), library.Doomed{IDs: []string{string(doomed.DocID), "http://unknown.example/"}}); err != nil || done.Rows != 3 || !slices.Equal(done.Unknown, []string{"http://unknown.example/"}) {
		t.Fatalf("%+v, %v", done, err)
	}
	done, err := l.Compact(context.Background(), 0)
	if err != nil || done.Erased != 3 || len(l.Manifest().Files) != 3+3 {
		t.Fatalf("%+v %v, %d files", done, err, len(l.Manifest().Files))
	}
	after := documents(t, l)
	if len(before)-len(after) != 3 {
		t.Fatalf("%d documents before, %d after", len(before), len(after))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	// The fingerprint is random bits and not compressed: it would be found.
	var needle [8]byte
	for i := range needle {
		needle[i] = byte(doomed.Lo >> (8 * i))
	}
	kept := rowOf("", 5)
	var other [8]byte
	for i := range other {
		other[i] = byte(kept.Lo >> (8 * i))
	}
	found := false
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, needle[:]) || bytes.Contains(text, doomed.DocID) {
			t.Errorf("%s still holds the document", path)
		}
		found = found || bytes.Contains(text, other[:])
		return err
	})
	if err != nil || !found {
		t.Fatalf("%v; the document that stays was found: %t", err, found)
	}

	// It stays out, unless it was deleted once.
	l = lock(t, dir, library.Options{})
	defer l.Close()
	added, err := add(context.Background(), l, "2026-11-04", []int{3, 4})
	if err != nil || added.Rows != 1 {
		t.Fatalf("%+v %v", added, err)
	}
}

// A deletion for once is gone, with its file, with the first compaction a day
// later, whatever else the nights brought; one for good stays.
func TestCompactDropsWhatWasDeletedOnce(t *testing.T) {
	now := time.Date(2026, 11, 4, 0, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	l := lock(t, dir, library.Options{Now: func() time.Time { return now }})
	defer l.Close()
	for _, night := range []string{"2026-11-01", "2026-11-02", "2026-11-03"} {
		if _, err := add(t.Context(), l, night, []int{1, 2, 3, 4, 5}, "b>a"); err != nil {
			t.Fatal(err)
		}
	}
	for id, once := range map[int]bool{3: false, 4: true} {
		if _, err := l.Delete(t.Context(), library.Doomed{IDs: []string{string(rowOf("", id).DocID)}, Once: once}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{2, 1} {
		if _, err := l.Compact(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(filepath.Join(dir, "deletions"))
		if got := len(l.Manifest().Deletions); err != nil || got != want || len(files) != want {
			t.Errorf("%s: %d deletions, %d files, %v; want %d", now, got, len(files), err, want)
		}
		now = now.Add(25 * time.Hour)
	}
	added, err := add(t.Context(), l, "2026-11-04", []int{3, 4})
	if err != nil || added.Rows != 1 {
		t.Errorf("%+v %v", added, err)
	}
}

func documents(t *testing.T, l *library.Library) (ids []string) {
	t.Helper()
	err := l.Rows(context.Background(), library.StreamOptions{Columns: []string{"doc_id"}}, func(r *data.LibraryRow) error {
		ids = append(ids, r.Night+" "+string(r.DocID))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// crashFS is the real file system until its at-th operation; that one and all
// later ones fail, as for a process that is killed there. It does not wait for
// the disk: what a killed process wrote is there.
type crashFS struct{ at, n int }

var errCrash = errors.New("killed")

func healthy() *crashFS { return &crashFS{at: math.MaxInt} }

func (f *crashFS) op() error {
	f.n++
	if f.n > f.at {
		return errCrash
	}
	return nil
}

func (f *crashFS) CreateTemp(dir, pattern string) (data.File, error) {
	if err := f.op(); err != nil {
		return nil, err
	}
	file, err := data.OS.CreateTemp(dir, pattern)
	return crashFile{file, f}, err
}

func (f *crashFS) Rename(from, to string) error {
	if err := f.op(); err != nil {
		return err
	}
	return data.OS.Rename(from, to)
}

func (f *crashFS) Remove(path string) error {
	if err := f.op(); err != nil {
		return err
	}
	return data.OS.Remove(path)
}

func (f *crashFS) SyncDir(dir string) error {
	if err := f.op(); err != nil {
		return err
	}
	return nil
}

type crashFile struct {
	data.File
	fs *crashFS
}

func (f crashFile) Write(p []byte) (int, error) {
	if err := f.fs.op(); err != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, err
	}
	return f.File.Write(p)
}

func (f crashFile) Sync() error {
	return f.fs.op()
}

func (f crashFile) Close() error {
	err := f.File.Close()
	return errors.Join(f.fs.op(), err)
}

// A process that is killed at any file operation of any change leaves the
// library as it was before or as it is after the change; the same change again
// then ends as if nothing had happened, and leaves no file behind.
func TestCrashes(t *testing.T) {
	ctx := context.Background()
	step := 1
	if testing.Short() {
		step = 37
	}
	prepare := func(dir string) {
		l := lock(t, dir, library.Options{PartRows: 5, FS: healthy()})
		defer l.Close()
		for i, night := range []string{"2026-11-01", "2026-11-02", "2026-11-03"} {
			if _, err := add(ctx, l, night, []int{i, i + 1, i + 5, i + 7}, "a>b"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.Delete(ctx, library.Doomed{IDs: []string{string(rowOf("", 7).DocID)}}); err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(l *library.Library) error{
		"add": func(l *library.Library) error {
			_, err := add(ctx, l, "2026-11-04", []int{2, 4, 6, 8, 10, 12}, "c>d", "e>f")
			return err
		},
		"replace": func(l *library.Library) error {
			_, err := add(ctx, l, "2026-11-02", []int{2, 4, 9, 6}, "c>d")
			return err
		},
		"delete": func(l *library.Library) error {
			_, err := l.Delete(ctx, library.Doomed{IDs: []string{string(rowOf("", 2).DocID)}, Prefixes: []string{"http://site1."}})
			return err
		},
		"expire": func(l *library.Library) error {
			_, err := l.Expire(time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC))
			return err
		},
		"compact": func(l *library.Library) error { _, err := l.Compact(ctx, 100); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			prepare(base)
			before := contents(t, base)
			done := filepath.Join(t.TempDir(), "done")
			copyFolder(t, base, done)
			l := lock(t, done, library.Options{PartRows: 5})
			if err := change(l); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			after := contents(t, done)
			files := holding(t, done)
			kept, changed := 0, 0
			for at := 0; ; at += step {
				dir := filepath.Join(t.TempDir(), "crashed")
				copyFolder(t, base, dir)
				disk := &crashFS{at: at}
				l := lock(t, dir, library.Options{PartRows: 5, FS: disk})
				err := change(l)
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				got := read(t, dir)
				switch {
				case slices.Equal(got, after):
					changed++
				case slices.Equal(got, before) && err != nil:
					kept++
				default:
					t.Fatalf("killed at operation %d (%v):\n%s", at, err, strings.Join(got, "\n"))
				}
				again := lock(t, dir, library.Options{PartRows: 5, FS: healthy()})
				if err := change(again); err != nil {
					t.Fatal(err)
				}
				if err := again.Close(); err != nil {
					t.Fatal(err)
				}
				if got := read(t, dir); !slices.Equal(got, after) {
					t.Fatalf("killed at operation %d, then done again:\n%s", at, strings.Join(got, "\n"))
				}
				if got := holding(t, dir); len(got) != len(files) && name != "delete" {
					t.Fatalf("killed at operation %d, then done again: files %v, want %v", at, got, files)
				}
				tidy(t, dir)
				if disk.n <= at { // nothing failed
					break
				}
			}
			if kept == 0 && !strings.HasPrefix(name, "compact") || changed == 0 {
				t.Fatalf("kept %d, changed %d: the test shows nothing", kept, changed)
			}
		})
	}
}

func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// listing lists the files and folders of a library.
func listing(t testing.TB, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); rel != "." {
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// holding is listing without the copies of manifests, one for each change.
func holding(t testing.TB, dir string) []string {
	t.Helper()
	return slices.DeleteFunc(listing(t, dir), func(name string) bool { return strings.HasPrefix(name, "changes/") && path.Ext(name) == ".json" })
}

// The samples of the oldest nights go first, and one night does not take all the
// room.
func TestSamplesAreBounded(t *testing.T) {
	page := bytes.Repeat([]byte("0123456789abcdef"), 64)
	for bound, want := range map[int64][]int64{50_000: {0, 0, 20, 20}, 10_000: {0, 0, 0, 4}} { // pages by night
		dir := t.TempDir()
		for n := range want {
			l := lock(t, dir, library.Options{SampleBytes: bound})
			night := fmt.Sprintf("2026-11-%02d", n+1)
			err := l.KeepSamples(night, func(yield func(*data.SampleRow) error) error {
				for id := range 20 {
					if err := yield(&data.SampleRow{DocID: fmt.Append(nil, id), Page: page}); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			row := rowOf(night, n)
			if _, _, err := l.Add(t.Context(), night, "", func(yield func(*data.LibraryRow) error) error { return yield(&row) }, nil); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		m, err := library.ReadManifest(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, n := range m.Nights {
			f, _ := m.File(n.Samples)
			got = append(got, f.Rows)
		}
		if files, err := os.ReadDir(filepath.Join(dir, "samples")); !slices.Equal(got, want) || err != nil || len(files) == len(want) {
			t.Errorf("of %d bytes: %v pages in %d files, want %v; %v", bound, got, len(files), want, err)
		}
	}
}

func TestOtherSettingsAreRefused(t *testing.T) {
	dir := t.TempDir()
	l := lock(t, dir, library.Options{})
	defer l.Close()
	if _, err := add(context.Background(), l, "2026-11-01", []int{1}); err != nil {
		t.Fatal(err)
	}
	err := l.Settle(128, map[string]string{"features.kind": "ngrams", "features.bits": "64", "features.n": "3"}, nil)
	if !errors.Is(err, library.ErrSettings) {
		t.Fatal(err)
	}
	for _, want := range []string{"features.kind  words    ngrams", "features.n     -        3"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "features.bits") {
		t.Errorf("%v\nnames what is equal", err)
	}
}

func TestSecondProcessWaits(t *testing.T) {
	dir := t.TempDir()
	first := lock(t, dir, library.Options{})
	if _, err := add(context.Background(), first, "2026-11-01", []int{1}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	waited := 0
	if _, err := library.Lock(ctx, dir, library.Options{Waiting: func(holders string, _ time.Duration) {
		if strings.Contains(holders, fmt.Sprintf("process %d of", os.Getpid())) {
			waited++
		}
		cancel()
	}}); !errors.Is(err, context.Canceled) || waited != 1 {
		t.Fatalf("%v, told %d times", err, waited)
	}
	got := make(chan error)
	go func() {
		l, err := library.Lock(context.Background(), dir, library.Options{Waiting: func(string, time.Duration) { _ = first.Close() }})
		if err == nil {
			err = l.Close()
		}
		got <- err
	}()
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	// Readers do not wait for each other.
	a, err := library.Open(context.Background(), dir, library.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := library.Open(context.Background(), dir, library.Options{Waiting: func(string, time.Duration) { t.Error("waits for a reader") }})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
}

// Who waits for too long is told who has the library.
func TestWaitHasALimit(t *testing.T) {
	dir := t.TempDir()
	l := lock(t, dir, library.Options{})
	defer l.Close()
	if _, err := add(t.Context(), l, "2026-11-01", []int{1}); err != nil {
		t.Fatal(err)
	}
	_, err := library.Lock(t.Context(), dir, library.Options{Wait: time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d of", os.Getpid())) {
		t.Error(err)
	}
}

func TestDamageIsFound(t *testing.T) {
	dir := t.TempDir()
	l := lock(t, dir, library.Options{PartRows: 2})
	if _, err := add(context.Background(), l, "2026-11-01", []int{1, 2, 3, 4}, "a>b"); err != nil {
		t.Fatal(err)
	}
	m := l.Manifest()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for i, f := range m.Files {
		damaged := filepath.Join(t.TempDir(), "damaged")
		copyFolder(t, dir, damaged)
		path := filepath.Join(damaged, filepath.FromSlash(f.Name))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			err = os.Remove(path)
		} else {
			text[4] ^= 1 // the first page's header; in the footer are descriptions that no reader of rows misses
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		l, err := library.Open(context.Background(), damaged, library.Options{})
		if err != nil {
			t.Fatal(err)
		}
		wrong, err := l.Verify(context.Background())
		if err := l.Rows(context.Background(), library.StreamOptions{}, func(*data.LibraryRow) error { return nil }); m.IsDocuments(f.Name) &&
			(!errors.Is(err, library.ErrDamaged) || !strings.Contains(err.Error(), filepath.Base(path)) || !strings.Contains(err.Error(), "backup")) {
			t.Errorf("%s is read: %v", f.Name, err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil || len(wrong) != 1 || !strings.Contains(wrong[0], filepath.Base(path)) {
			t.Errorf("%s: %v %v", f.Name, wrong, err)
		}
	}
	path := filepath.Join(dir, library.ManifestFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range [][]byte{text[:len(text)/2], bytes.Replace(text, []byte(`"rows": 2`), []byte(`"rows": 3`), 1), bytes.Replace(text, []byte("2026-11-01"), []byte("2026-13-01"), 1), bytes.Replace(text, []byte(`"version": 4`), []byte(`"version": 1`), 1)} {
		if err := os.WriteFile(path, other, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := library.ReadManifest(dir); err == nil || bytes.Equal(other, text) {
			t.Errorf("no error for %s", other)
		}
	}
}

// TestFlippedBits flips one bit at a time in the files of a library: whoever
// reads the file is told which it is, and a compaction changes nothing.
func TestFlippedBits(t *testing.T) {
	dir := t.TempDir()
	l := lock(t, dir, library.Options{PartRows: 100})
	for _, night := range []string{"2026-11-01", "2026-11-02"} {
		if _, err := add(t.Context(), l, night, []int{1, 2, 3, 4, 5, 6, 7, 8}, "a>b"); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{library.ManifestFile}
	for _, f := range l.Manifest().Files {
		names = append(names, f.Name)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	use := func(compact bool) error {
		l, err := library.Lock(t.Context(), dir, library.Options{})
		if err != nil {
			return err
		}
		err = l.Rows(t.Context(), library.StreamOptions{}, func(*data.LibraryRow) error { return nil })
		_, current := l.Current(t.Context(), "", []string{"a"})
		current = errors.Join(current, l.Samples(t.Context(), "9999-12-31", func(*data.SampleRow) error { return nil }))
		if compact {
			_, wrong := l.Compact(t.Context(), 1000)
			err = errors.Join(err, wrong)
		}
		return errors.Join(err, current, l.Close())
	}
	random := rand.New(rand.NewPCG(1, 2))
	flips := 40
	if testing.Short() {
		flips = 8
	}
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		sound, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for range flips {
			before := listing(t, dir)
			damaged := bytes.Clone(sound)
			at := random.IntN(len(damaged))
			damaged[at] ^= 1 << random.IntN(8)
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := use(!strings.HasPrefix(name, "merges/") && !strings.HasPrefix(name, "samples/")); err == nil || !strings.Contains(err.Error(), filepath.Base(path)) {
				t.Errorf("%s with a flipped bit at offset %d of %d: %v", name, at, len(sound), err)
			}
			if after := listing(t, dir); !slices.Equal(before, after) {
				t.Fatalf("%s with a flipped bit at offset %d: the library had %v, now %v", name, at, before, after)
			}
		}
		if err := os.WriteFile(path, sound, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := use(true); err != nil {
		t.Error(err)
	}
}

// A file that is whole, but another one's, is not rewritten: it would then be
// what the manifest says.
func TestCompactWantsItsFiles(t *testing.T) {
	for _, kind := range []string{"documents", "samples"} {
		dir := t.TempDir()
		l := lock(t, dir, library.Options{})
		defer l.Close()
		for i, night := range []string{"2026-11-01", "2026-11-02"} {
			if _, err := add(t.Context(), l, night, []int{i, 2, 3}, night+">b"); err != nil {
				t.Fatal(err)
			}
		}
		files := slices.DeleteFunc(slices.Clone(l.Manifest().Files), func(f library.File) bool { return !strings.HasPrefix(f.Name, kind) })
		if _, err := l.Delete(t.Context(), library.Doomed{IDs: []string{string(rowOf("", 2).DocID)}}); err != nil {
			t.Fatal(err)
		}
		other, err := os.ReadFile(l.Path(files[1].Name))
		if err == nil {
			err = os.WriteFile(l.Path(files[0].Name), other, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Compact(t.Context(), 0); !errors.Is(err, library.ErrDamaged) || !strings.Contains(err.Error(), path.Base(files[0].Name)) {
			t.Errorf("%s: %v", kind, err)
		}
		if _, ok := l.Manifest().File(files[0].Name); !ok {
			t.Errorf("%s: the library has not %s any more", kind, files[0].Name)
		}
	}
}

// Deletions that are not what they were are no deletions to go by.
func TestDamagedDeletions(t *testing.T) {
	dir := t.TempDir()
	l := lock(t, dir, library.Options{})
	if _, err := add(context.Background(), l, "2026-11-01", []int{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Delete(context.Background(), library.Doomed{IDs: []string{string(rowOf("", 2).DocID)}}); err != nil {
		t.Fatal(err)
	}
	path := l.Path(l.Manifest().Deletions[0].File)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(text)
	flipped[3] ^= 1
	for name, damaged := range map[string][]byte{"a bit": flipped, "the end": text[:8], "all": nil} {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := library.Open(context.Background(), dir, library.Options{}); !errors.Is(err, library.ErrDamaged) || !strings.Contains(err.Error(), filepath.Base(path)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir); len(got) != 2 {
		t.Errorf("put back: %v", got)
	}
}

// A library that has lost its manifest is not taken for a new one: a night
// that is added to it would remove all others.
func TestLostManifest(t *testing.T) {
	dir := t.TempDir()
	l := lock(t, dir, library.Options{})
	if _, err := add(context.Background(), l, "2026-11-01", []int{1, 2}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, library.ManifestFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	files := listing(t, dir)
	for name, open := range map[string]func() error{
		"lock":  func() error { _, err := library.Lock(context.Background(), dir, library.Options{}); return err },
		"open":  func() error { _, err := library.Open(context.Background(), dir, library.Options{}); return err },
		"check": func() error { return library.Check(dir, "2026-11-20") },
	} {
		if err := open(); !errors.Is(err, library.ErrDamaged) || !strings.Contains(err.Error(), library.ManifestFile+" is missing") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := listing(t, dir); !slices.Equal(got, files) {
		t.Errorf("%v are left of %v", got, files)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir); len(got) < 2 {
		t.Errorf("put back, it has %v", got)
	}
}

// A folder that was copied without the names that start with a dot is a
// library all the same; one of other files is none.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	l := lock(t, dir, library.Options{})
	if _, err := add(context.Background(), l, "2026-11-01", []int{1, 2}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, ".lock")); err != nil {
		t.Fatal(err)
	}
	if err := library.Check(dir, "2026-11-20"); err != nil {
		t.Error(err)
	}
	l = lock(t, dir, library.Options{})
	if rows := l.Manifest().Rows(); rows != 2 {
		t.Errorf("%d rows", rows)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, ".lock")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can lock it: %v, %v", info, err)
	}
	fresh := filepath.Join(t.TempDir(), "a", "b")
	if err := library.Check(fresh, "2026-11-20"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(fresh)); err == nil {
		t.Errorf("%s was made", filepath.Dir(fresh))
	}
	if err := library.Check(filepath.Join(dir, library.ManifestFile, "below"), "2026-11-20"); err == nil {
		t.Error("a folder in a file can be written")
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "page.html"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func() error{
		"lock":  func() error { _, err := library.Lock(context.Background(), other, library.Options{}); return err },
		"check": func() error { return library.Check(other, "2026-11-20") },
	} {
		if err := open(); err == nil || !strings.Contains(err.Error(), "no library: name a new folder") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	l := lock(t, t.TempDir(), library.Options{})
	defer l.Close()
	for night, ids := range map[string][]string{"2026-11-02": {"a", "b", "a"}, "2026-11-03": {""}, "tonight": {"a"}, "2026-11-31": {"a"}, "../2026-11-01": {"a"}} {
		_, _, err := l.Add(context.Background(), night, "", func(yield func(*data.LibraryRow) error) error {
			for _, id := range ids {
				if err := yield(&data.LibraryRow{DocID: []byte(id), FirstSeen: night}); err != nil {
					return err
				}
			}
			return nil
		}, nil)
		if err == nil {
			t.Errorf("night %q of %q was taken", night, ids)
		}
	}
	if n := len(l.Manifest().Nights); n != 0 {
		t.Errorf("%d nights", n)
	}
}

func TestCurrent(t *testing.T) {
	l := lock(t, t.TempDir(), library.Options{})
	defer l.Close()
	ctx := context.Background()
	for night, merges := range map[string][]string{"2026-11-01": {"c>b"}, "2026-11-02": {"b>a", "z>y"}, "2026-11-03": {"y>a"}} {
		if _, err := add(ctx, l, night, []int{1}, merges...); err != nil {
			t.Fatal(err)
		}
	}
	for before, want := range map[string]map[string]string{
		"":           {"c": "a", "b": "a", "z": "a"},
		"2026-11-03": {"c": "a", "b": "a", "z": "y"},
		"2026-11-02": {"c": "b"},
	} {
		got, err := l.Current(ctx, before, []string{"c", "b", "z", "a", "c"})
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("before %q: %v %v, want %v", before, got, err, want)
		}
	}
}

// A library knows which of its nights have texts of another extractor.
func TestExtracted(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	for i, version := range []int{0, 2, 3} {
		l := lock(t, dir, library.Options{Extractor: version})
		if _, err := add(ctx, l, fmt.Sprintf("2026-11-0%d", i+1), []int{i, i + 10}); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	m, err := library.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	if nights, documents := m.Extracted(3); !slices.Equal(nights, []string{"2026-11-01", "2026-11-02"}) || documents != 4 {
		t.Errorf("other than 3: %v, %d documents", nights, documents)
	}
}

func FuzzReadManifest(f *testing.F) {
	f.Add([]byte(`{"version":1,"bits":64,"settings":{},"nights":[{"name":"2026-11-01","rows":1,"extents":[{"file":"documents/a","start":0,"rows":1}]}],"files":[{"name":"documents/a","rows":1}]}`))
	f.Add([]byte(`{"version":1,"bits":64,"files":[{"name":"../a","rows":1}]}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, library.ManifestFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := library.ReadManifest(dir)
		if err != nil {
			return
		}
		for _, file := range m.Files {
			if strings.Contains(file.Name, "..") && !filepath.IsLocal(file.Name) {
				t.Fatalf("file %q leaves the library", file.Name)
			}
		}
	})
}
