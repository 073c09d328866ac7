package pairs_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/pairs"
)

func read(path string) (got []pairs.Pair, err error) {
	return got, pairs.Each(context.Background(), path, func(p pairs.Pair) error { got = append(got, p); return nil })
}

func write(path string, batches ...[]pairs.Pair) error {
	w, err := pairs.Create(path)
	if err != nil {
		return err
	}
	for _, b := range batches {
		if err := w.Add(b); err != nil {
			return errors.Join(err, w.Abort())
		}
	}
	return w.Commit()
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pairs")
	rapid.Check(t, func(t *rapid.T) {
		batches := rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) pairs.Pair {
			return pairs.Pair{Pair: data.Pair{
				A: rapid.Uint64Range(0, 1<<40-1).Draw(t, "a"), B: rapid.Uint64Range(0, 1<<40-1).Draw(t, "b"), Distance: rapid.Byte().Draw(t, "h"),
				Evidence: data.Evidence{Reason: data.Reason(rapid.Byte().Draw(t, "reason")), Figure: rapid.Uint16().Draw(t, "figure")},
			}, Overlap: data.Overlap{Jaccard: rapid.Float32().Draw(t, "jaccard"), Containment: rapid.Float32().Draw(t, "containment")}}
		}), 0, 20), 0, 5).Draw(t, "batches")
		if err := write(path, batches...); err != nil {
			t.Fatal(err)
		}
		got, err := read(path)
		if err != nil || !slices.Equal(got, slices.Concat(batches...)) {
			t.Fatalf("%v: got %v, want %v", err, got, batches)
		}
	})
}

func TestManyPairs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pairs")
	want := make([]pairs.Pair, 100_000)
	for i := range want {
		want[i].A, want[i].B = uint64(i), uint64(2*i)
	}
	if err := write(path, want); err != nil {
		t.Fatal(err)
	}
	if got, err := read(path); err != nil || !slices.Equal(got, want) {
		t.Fatalf("%v: %d pairs", err, len(got))
	}
	seen := make([]atomic.Int32, len(want))
	err := pairs.Concurrently(context.Background(), path, 3, func(p pairs.Pair) error {
		if p != want[p.A] {
			return fmt.Errorf("%v", p)
		}
		seen[p.A].Add(1)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range seen {
		if n := seen[i].Load(); n != 1 {
			t.Fatalf("pair %d came %d times", i, n)
		}
	}
	full := errors.New("full")
	err = pairs.Concurrently(context.Background(), path, 3, func(p pairs.Pair) error {
		if p.A == 5000 {
			return full
		}
		return nil
	})
	if !errors.Is(err, full) {
		t.Error("the error of yield is", err)
	}
}

func TestRecordsComeBackAndSort(t *testing.T) {
	number := rapid.Uint64Range(0, 1<<(8*state.NumberBytes)-1)
	rapid.Check(t, func(t *rapid.T) {
		p := pairs.Pair{
			Pair: data.Pair{A: number.Draw(t, "a"), B: number.Draw(t, "b"), Distance: rapid.Byte().Draw(t, "h"),
				Evidence: data.Evidence{Reason: data.Reason(rapid.Byte().Draw(t, "reason")), Figure: rapid.Uint16().Draw(t, "figure")}},
			Overlap: data.Overlap{Jaccard: rapid.Float32().Draw(t, "jaccard"), Containment: rapid.Float32().Draw(t, "containment")},
		}
		rec := pairs.Append([]byte("x"), &p)[1:]
		if got := pairs.Unpack(rec); len(rec) != pairs.RecordBytes || got != p {
			t.Fatalf("%+v, in %d bytes, is %+v", p, len(rec), got)
		}
		q := pairs.Pair{Pair: data.Pair{A: number.Draw(t, "c"), B: number.Draw(t, "d")}}
		if want := cmp.Or(cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B)); want != 0 && slices.Compare(rec, pairs.Append(nil, &q)) != want {
			t.Fatalf("%d %d and %d %d do not sort as they should", p.A, p.B, q.A, q.B)
		}
	})
	p := pairs.Pair{Overlap: data.UnknownOverlap()}
	if o := pairs.Unpack(pairs.Append(nil, &p)).Overlap; o.Jaccard == o.Jaccard || o.Containment == o.Containment {
		t.Error("an overlap that is not known is", o)
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "pairs")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "pairs")
	p := pairs.Pair{Pair: data.Pair{A: 3, B: 17, Distance: 2}, Overlap: data.UnknownOverlap()}
	if err := write(path, []pairs.Pair{p}); err != nil {
		fmt.Println(err)
		return
	}
	got, err := read(path)
	fmt.Println(got[0].A, got[0].B, got[0].Distance, math.IsNaN(float64(got[0].Jaccard)), err)
	// Output: 3 17 2 true <nil>
}
