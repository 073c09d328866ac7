package sorted_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/internal/stored"
	"github.com/neardup/neardup/data/lookup/sorted"
)

// schemaOf is that of most stores here: a table with fingerprints and one
// without at least.
func schemaOf(bits int) lookup.Schema {
	return lookup.Schema{Bits: bits, Tables: []lookup.Table{{Width: 4, Prints: true}, {Width: 20, Prints: true}, {Width: 24}}}
}

func one(yield func(*lookup.Entry) error) error {
	return yield(&lookup.Entry{Row: 7, ID: []byte("http://example.org/"), Lo: 5, Normal: true, Keys: []lookup.Key{{Table: 0, Value: 5}, {Table: 2, Value: 9}}})
}

// Files that were given each other's names are no parts: they are removed, and
// verification names both. A bit that is another is found wherever it is.
func TestExchangedFiles(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s, err := sorted.Open(dir, schemaOf(64), sorted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if err := s.Put(ctx, name, one); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if v, err := sorted.Verify(ctx, dir); err != nil || v.Files != 3 || len(v.Damaged) > 0 || !sorted.Is(dir) {
		t.Fatalf("%+v, %v", v, err)
	}
	path := func(name string) string { return filepath.Join(dir, name+".idx") }
	whole, err := os.ReadFile(path("c"))
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 1 << (at % 8)
		if err := os.WriteFile(path("c"), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if v, err := sorted.Verify(ctx, dir); err != nil || len(v.Damaged) != 1 || !strings.Contains(v.Damaged[0], path("c")) {
			t.Fatalf("a bit at %d of %d: %+v, %v", at, len(whole), v, err)
		}
	}
	if err := os.WriteFile(path("c"), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range [][2]string{{"a", "x"}, {"b", "a"}, {"x", "b"}} {
		if err := os.Rename(path(step[0]), path(step[1])); err != nil {
			t.Fatal(err)
		}
	}
	if v, err := sorted.Verify(ctx, dir); err != nil || len(v.Damaged) != 2 {
		t.Errorf("%+v, %v", v, err)
	}
	s, err = sorted.Open(dir, schemaOf(64), sorted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if parts, err := s.Parts(ctx); err != nil || !slices.Equal(parts, []string{"c"}) {
		t.Errorf("%v, %v", parts, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A store is there again when it is opened again; files that are cut, damaged
// or of another schema are not parts, and are removed.
func TestOpenAgain(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	schema := schemaOf(64)
	open := func(schema lookup.Schema) (lookup.Store, []string) {
		s, err := sorted.Open(dir, schema, sorted.Options{})
		if err != nil {
			t.Fatal(err)
		}
		parts, err := s.Parts(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return s, parts
	}
	s, _ := open(schema)
	if err := s.Put(ctx, "p", one); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "p.idx")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, parts := open(schema)
	hits, err := s.Near(ctx, &lookup.Query{Keys: []lookup.Key{{Table: 0, Value: 5}}, Lo: 4, Distance: 1})
	if err != nil || len(parts) != 1 || len(hits) != 1 || string(hits[0].ID) != "http://example.org/" || hits[0].Row != 7 || hits[0].Distance != 1 {
		t.Fatalf("%q %+v %v", parts, hits, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte(nil), whole...)
	flipped[len(flipped)-20] ^= 1
	for name, content := range map[string][]byte{"cut": whole[:len(whole)/2], "empty": nil, "damaged": flipped, "magic": append([]byte("x"), whole[1:]...), "tiny": whole[:12]} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s, parts := open(schema)
		if _, err := os.Stat(path); len(parts) != 0 || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: parts %q, %v", name, parts, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	other, parts := open(schemaOf(128))
	if len(parts) != 0 {
		t.Errorf("a part of another schema: %q", parts)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
}

// stopFS fails its at-th operation and all later ones.
type stopFS struct {
	data.FS
	at, n int
}

var errStop = errors.New("killed")

func (f *stopFS) op() error {
	if f.n++; f.n > f.at {
		return errStop
	}
	return nil
}

func (f *stopFS) CreateTemp(dir, pattern string) (data.File, error) {
	if err := f.op(); err != nil {
		return nil, err
	}
	file, err := f.FS.CreateTemp(dir, pattern)
	return stopFile{file, f}, err
}

func (f *stopFS) Rename(from, to string) error { return errors.Join(f.op(), f.rename(from, to)) }

func (f *stopFS) rename(from, to string) error {
	if f.n > f.at {
		return nil
	}
	return f.FS.Rename(from, to)
}

func (f *stopFS) SyncDir(string) error { return f.op() }

type stopFile struct {
	data.File
	fs *stopFS
}

func (f stopFile) Write(p []byte) (int, error) {
	if err := f.fs.op(); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f stopFile) Sync() error { return f.fs.op() }

// What a killed process left is removed, but for what another process may be
// writing to; a folder that is gone is made again.
func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	open := func() lookup.Store {
		s, err := sorted.Open(dir, schemaOf(64), sorted.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(context.Background(), "p", one); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{".old.idx.1.tmp": 25 * time.Hour, ".young.idx.2.tmp": time.Hour, "not-ours": 25 * time.Hour} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if err := open().Close(); err != nil {
		t.Fatal(err)
	}
	var names []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{".young.idx.2.tmp", "not-ours", "p.idx"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

// Files that are damaged in their middle, or cut while they are mapped, are an
// error at most: the process lives.
func TestDamagedFile(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	open := func() lookup.Store {
		s, err := sorted.Open(dir, schemaOf(64), sorted.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	err := s.Put(ctx, "p", func(yield func(*lookup.Entry) error) error {
		for i := range 2000 {
			e := lookup.Entry{Row: int64(i), ID: fmt.Appendf(nil, "http://example.org/%d", i), Lo: uint64(i), Normal: true, Keys: []lookup.Key{{Table: 0, Value: uint32(i % 7)}}}
			if err := yield(&e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	q := lookup.Query{Keys: []lookup.Key{{Table: 0, Value: 5}}, Lo: 5, Distance: 64}
	if hits, err := s.Near(ctx, &q); err != nil || len(hits) < 200 {
		t.Fatalf("%d hits, %v", len(hits), err)
	}
	path := filepath.Join(dir, "p.idx")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Near(ctx, &q); runtime.GOOS == "linux" && (!errors.Is(err, stored.ErrEntry) || !strings.Contains(err.Error(), "remove the folder")) {
		t.Errorf("cut: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for at := 16; at < len(whole)-1000; at += len(whole) / 50 {
		damaged := bytes.Clone(whole)
		for i := range 800 {
			damaged[at+i] ^= 0xa5
		}
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open()
		for value := range uint32(7) {
			q.Keys[0].Value = value
			if _, err := s.Near(ctx, &q); err != nil {
				failed++
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if failed == 0 {
		t.Error("no damage was noticed: the test shows nothing")
	}
}

// A flipped bit is an error that names the file, wherever a look-up comes upon it,
// or the file is no part; it never changes what is found.
func TestFlippedBits(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	open := func() lookup.Store {
		s, err := sorted.Open(dir, schemaOf(128), sorted.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	err := s.Put(ctx, "p", func(yield func(*lookup.Entry) error) error {
		for i := range uint32(300) {
			e := lookup.Entry{Row: int64(i), ID: fmt.Appendf(nil, "http://example.org/%d", i), Lo: uint64(i), Hi: uint64(i % 5), Normal: true,
				Keys: []lookup.Key{{Table: 0, Value: i % 16}, {Table: 1, Value: i * 3001 % (1 << 20)}, {Table: 2, Value: i % 50}}}
			if err := yield(&e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(s lookup.Store) (string, error) {
		var all []lookup.Hit
		for i := range uint32(50) {
			hits, err := s.Near(ctx, &lookup.Query{Keys: []lookup.Key{{Table: 0, Value: i % 16}, {Table: 1, Value: i * 3001 % (1 << 20)}, {Table: 2, Value: i}}, Lo: uint64(i), Hi: uint64(i % 5), Distance: 3})
			if err != nil {
				return "", err
			}
			all = append(all, hits...)
		}
		return fmt.Sprintf("%+v", all), nil
	}
	want, err := ask(s)
	if err := errors.Join(err, s.Close()); err != nil || len(want) < 1000 {
		t.Fatalf("%d bytes, %v", len(want), err)
	}
	path := filepath.Join(dir, "p.idx")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]int{}
	for at := 0; at < len(whole); at += 97 {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 1 << (at % 8)
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open()
		parts, err := s.Parts(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ask(s)
		switch {
		case len(parts) == 0:
			outcomes["no part"]++
		case err != nil && errors.Is(err, stored.ErrEntry) && strings.Contains(err.Error(), path):
			outcomes["refused"]++
		case err != nil || got != want:
			t.Errorf("byte %d of %d: %v, or another answer", at, len(whole), err)
		default:
			outcomes["not read"]++
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if t.Log(outcomes); outcomes["no part"] == 0 || outcomes["refused"] == 0 {
		t.Errorf("%v: the test shows nothing", outcomes)
	}
}

func TestKilledPut(t *testing.T) {
	ctx := context.Background()
	failed, done := 0, 0
	for at := 0; ; at++ {
		dir := t.TempDir()
		disk := &stopFS{FS: data.OS, at: at}
		s, err := sorted.Open(dir, schemaOf(64), sorted.Options{FS: disk})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Put(ctx, "p", one)
		if e := s.Close(); e != nil {
			t.Fatal(e)
		}
		again, openErr := sorted.Open(dir, schemaOf(64), sorted.Options{})
		if openErr != nil {
			t.Fatal(openErr)
		}
		parts, _ := again.Parts(ctx)
		if len(parts) == 1 {
			done++
		} else if failed++; err == nil {
			t.Fatal("no error and no part")
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		if disk.n <= at {
			break
		}
	}
	if failed < 3 || done == 0 {
		t.Fatalf("%d failed, %d done: the test shows nothing", failed, done)
	}
}

func Example() {
	err := func() error {
		dir, err := os.MkdirTemp("", "lookup-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		ctx := context.Background()
		s, err := sorted.Open(dir, lookup.Schema{Bits: 64, Tables: []lookup.Table{{Width: 16, Prints: true}}}, sorted.Options{})
		if err != nil {
			return err
		}
		defer s.Close()
		err = s.Put(ctx, "2026-11-20", func(yield func(*lookup.Entry) error) error {
			return yield(&lookup.Entry{Row: 0, ID: []byte("http://example.org/"), Lo: 0xabcd_0000_0000_0003, Normal: true, Keys: []lookup.Key{{Table: 0, Value: 0xabcd}}})
		})
		if err != nil {
			return err
		}
		hits, err := s.Near(ctx, &lookup.Query{Keys: []lookup.Key{{Table: 0, Value: 0xabcd}}, Lo: 0xabcd_0000_0000_0000, Distance: 3})
		if err != nil {
			return err
		}
		for _, h := range hits {
			fmt.Printf("%s of %s at distance %d\n", h.ID, h.Part, h.Distance)
		}
		return nil
	}()
	if err != nil {
		fmt.Println(err)
	}
	// Output: http://example.org/ of 2026-11-20 at distance 2
}
