package library_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data/library"
)

// However the library is cut, each document of the nights asked for stands in
// one split, for who holds the library and for those that read on its behalf.
func TestSplitsHoldEachDocumentOnce(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	l := lock(t, dir, library.Options{PartRows: 700})
	for i, night := range []string{"2026-11-01", "2026-11-02", "2026-11-03", "2026-11-04"} {
		var ids []int
		for id := range 1000 {
			if (id+i)%3 > 0 {
				ids = append(ids, id)
			}
		}
		if _, err := add(ctx, l, night, ids); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Delete(ctx, library.Doomed{IDs: []string{"http://site1.example/00001", "http://site2.example/00500"}}); err != nil {
		t.Fatal(err)
	}
	stream := func(t rapidTB, l *library.Library, o library.StreamOptions) (all []string) {
		var mu sync.Mutex
		o.Columns, o.Workers = []string{"doc_id"}, 2
		err := l.Stream(ctx, o, func(_ int, b *library.Batch) error {
			mu.Lock()
			defer mu.Unlock()
			for i := range b.Rows {
				all = append(all, fmt.Sprintf("%s %s", b.Night, b.Rows[i].DocID))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(all)
		return all
	}
	attached, err := library.Attach(dir, l.Manifest().Sequence)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := library.Attach(dir, l.Manifest().Sequence-1); !errors.Is(err, library.ErrChanged) {
		t.Errorf("another sequence: %v", err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		t := rapidTB{TB: nil, t: rt}
		o := library.StreamOptions{Before: rapid.SampledFrom([]string{"", "2026-11-04", "2026-11-02", "2026-11-01"}).Draw(rt, "before")}
		want := stream(t, l, o)
		splits, err := l.Splits(o, rapid.SampledFrom([]int64{1, 1000, 1 << 40}).Draw(rt, "rows"))
		if err != nil {
			t.Fatal(err)
		}
		var one []string
		for _, s := range splits {
			o.Splits = []library.Split{s}
			one = append(one, stream(t, attached, o)...)
		}
		slices.Sort(one)
		o.Splits = append([]library.Split{}, splits...)
		if all := stream(t, attached, o); !slices.Equal(all, want) || !slices.Equal(one, want) {
			t.Fatalf("%d documents in splits at once, %d one by one, want %d", len(all), len(one), len(want))
		}
	})
	if err := attached.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
