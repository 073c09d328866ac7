package lookup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/data/library"
	store "github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/sorted"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/lookup"
)

// crowd is pages around a few texts, from a changed word to many, among them
// posts of a few words.
func crowd(rng *rand.Rand, n int) map[string][]string {
	pages := map[string][]string{}
	for i := range n {
		size := 300
		if i%4 == 0 {
			size = 12
		}
		text := words(uint64(i%7), size)
		for range i % 9 {
			text[rng.IntN(size)] = fmt.Sprintf("w%d", rng.IntN(5000))
		}
		pages[fmt.Sprintf("page-%03d", i)] = text
	}
	return pages
}

// probing opens the library's own store, which looks the values up in however
// small a file.
func probing(dir string, schema store.Schema) (store.Store, error) {
	return sorted.Open(filepath.Join(dir, library.Index), schema, sorted.Options{ProbeCost: -1 << 40})
}

// Whatever tables the index has, an answer is the same, of short texts too, and
// says what it took.
func TestTables(t *testing.T) {
	dir := t.TempDir()
	pages := crowd(rand.New(rand.NewPCG(7, 7)), 120)
	addNight(t, dir, "2026-11-01", config.PresetBalanced, pages)
	for _, distance := range []int{0, 3, 6} {
		want := map[string][]byte{}
		for _, tables := range []int{4, 10, 20} {
			x := open(t, dir, lookup.Options{Distance: distance, Limit: 1000, Tables: tables, Store: probing})
			short := 0
			for id, text := range pages {
				a := find(t, x, text)
				normal := a.LengthClass == "normal"
				if !normal && a.Known {
					short++
				}
				if a.Tables != tables || normal != (a.Values >= tables) && distance >= 3 || normal && a.Candidates == 0 {
					t.Fatalf("%s in %d tables took %+v", id, tables, a)
				}
				got, err := json.Marshal(a.Matches)
				if err != nil {
					t.Fatal(err)
				}
				if tables == 4 {
					want[id] = got
				} else if !bytes.Equal(got, want[id]) {
					t.Fatalf("distance %d, %s: %d tables answer %s\nfour %s", distance, id, tables, got, want[id])
				}
			}
			if short < 10 {
				t.Errorf("%d short texts are known: the test shows little", short)
			}
		}
	}
}

// An index keeps its tables until others are asked for, and is made anew then.
func TestTablesStay(t *testing.T) {
	dir := t.TempDir()
	text := words(1, 300)
	addNight(t, dir, "2026-11-01", config.PresetClassic, map[string][]string{"a": text})
	made := func() os.FileInfo {
		files, err := filepath.Glob(filepath.Join(dir, "lib", "index", "*.idx"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%q, %v", files, err)
		}
		info, err := os.Stat(files[0])
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	var last os.FileInfo
	for _, c := range []struct {
		asked, want int
		anew        bool
	}{{0, 4, true}, {10, 10, true}, {0, 10, false}, {10, 10, false}, {20, 20, true}, {4, 4, true}, {0, 4, false}} {
		x, err := lookup.Open(context.Background(), filepath.Join(dir, "lib"), lookup.Options{Distance: -1, Tables: c.asked})
		if err != nil {
			t.Fatal(err)
		}
		if a := find(t, x, changed(text, 3)); !a.Known || a.Tables != c.want {
			t.Errorf("%+v: %+v", c, a)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		now := made()
		if anew := last == nil || !os.SameFile(now, last) || !now.ModTime().Equal(last.ModTime()); anew != c.anew {
			t.Errorf("%+v: made anew is %t", c, anew)
		}
		last = now
	}
	if _, err := lookup.Open(context.Background(), filepath.Join(dir, "lib"), lookup.Options{Distance: -1, Tables: 7}); !errors.Is(err, lookup.ErrTables) {
		t.Errorf("seven tables: %v", err)
	}
}
