package identical_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/job/internal/state/identical"
)

func read(path string, first uint64) (docs []identical.Document, err error) {
	return docs, identical.Read(path, first, func(d identical.Document) error { docs = append(docs, d); return nil })
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part")
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Uint64Range(0, 1<<40).Draw(t, "first")
		rows := rapid.SliceOfDistinct(rapid.Uint64Range(0, 1<<20), rapid.ID[uint64]).Draw(t, "rows")
		slices.Sort(rows)
		w := identical.Create(path, first)
		var want []identical.Document
		for _, row := range rows {
			d := identical.Document{Doc: first + row, Kind: identical.Kind(rapid.IntRange(0, 3).Draw(t, "kind"))}
			if d.IsEqual() {
				if d.Doc == 0 {
					continue
				}
				d.Of = rapid.Uint64Range(0, d.Doc-1).Draw(t, "of")
			}
			w.Add(d)
			want = append(want, d)
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		got, err := read(path, first)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v: got %v, want %v", err, got, want)
		}
	})
}

func Example() {
	dir, err := os.MkdirTemp("", "identical")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "part-00001")
	w := identical.Create(path, 1000)
	w.Add(identical.Document{Doc: 1004, Kind: identical.DuplicateID})
	w.Add(identical.Document{Doc: 1010, Kind: identical.EqualShort, Of: 17})
	if err := w.Commit(); err != nil {
		fmt.Println(err)
		return
	}
	err = identical.Read(path, 1000, func(d identical.Document) error {
		fmt.Println(d.Doc, d.IsEqual(), d.Of)
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1004 false 0
	// 1010 true 17
}
