package extsort

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type pair struct {
	key, value string
}

func comparePairs(a, b pair) int {
	if c := cmp.Compare(a.key, b.key); c != 0 {
		return c
	}
	return cmp.Compare(a.value, b.value)
}

func TestSortedEqualsSlicesSort(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) pair {
			prefix := rapid.SampledFrom([]string{"", "http://www.example.org/", "\x00", "http://www.example.org/\x00"}).Draw(t, "prefix")
			return pair{prefix + string(rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "key")), string(rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "value"))}
		}), 0, 300).Draw(t, "items")
		s := New(dir, 0, rapid.IntRange(1, 5).Draw(t, "workers"))
		s.maxRuns = rapid.IntRange(2, 5).Draw(t, "runs")
		s.limit = rapid.SampledFrom([]int{100, 1000, 1 << 20}).Draw(t, "limit")
		defer func() {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}()
		for _, p := range keys {
			if err := s.Add([]byte(p.key), []byte(p.value)); err != nil {
				t.Fatal(err)
			}
		}
		var got []pair
		err := s.Sorted(context.Background(), func(key, value []byte) error {
			got = append(got, pair{string(key), string(value)})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(keys)
		slices.SortFunc(want, comparePairs)
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Fatalf("left behind: %v, %v", left, err)
	}
}

func TestErrorsReachTheCaller(t *testing.T) {
	s := New(t.TempDir(), 0, 1)
	s.limit = 200
	for i := range 100 {
		if err := s.Add(fmt.Appendf(nil, "%d", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	stop := errors.New("stop")
	if err := s.Sorted(context.Background(), func(_, _ []byte) error { return stop }); !errors.Is(err, stop) {
		t.Fatalf("got %v, want the caller's error", err)
	}
	if err := s.runs[0].Truncate(5); err != nil {
		t.Fatal(err)
	}
	if err := s.Sorted(context.Background(), func(_, _ []byte) error { return nil }); err == nil {
		t.Fatal("a cut run went unnoticed")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Sorted(ctx, func(_, _ []byte) error { return nil }); err == nil {
		t.Fatal("a cancelled sort went on")
	}
	small := New(t.TempDir(), 1<<20, 1)
	if err := small.Add([]byte("a"), nil); err != nil {
		t.Fatal(err)
	}
	if err := small.Sorted(ctx, func(_, _ []byte) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled sort in memory: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	missing := New("/nonexistent", 0, 1)
	missing.limit = 10
	if err := missing.Add([]byte("a"), nil); err != nil {
		t.Fatal(err)
	}
	err := missing.Add([]byte("b"), nil)
	for range 2 {
		if err = errors.Join(err, missing.Sorted(context.Background(), func(_, _ []byte) error { return nil })); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("a spill into a missing folder: %v", err)
		}
	}
	if err := missing.Close(); err != nil {
		t.Fatal(err)
	}
}

func Example() {
	s := New(os.TempDir(), 1<<20, 2)
	for i, id := range []string{"pear", "apple", "fig"} {
		if err := s.Add([]byte(id), []byte{byte('0' + i)}); err != nil {
			fmt.Println(err)
		}
	}
	err := s.Sorted(context.Background(), func(key, value []byte) error {
		fmt.Println(string(key), string(value))
		return nil
	})
	fmt.Println(err, s.Close())
	// Output:
	// apple 1
	// fig 2
	// pear 0
	// <nil> <nil>
}

func BenchmarkSort(b *testing.B) {
	const n = 200_000
	var text bytes.Buffer
	for b.Loop() {
		s := New(b.TempDir(), 1<<30, 2)
		for i := range n {
			text.Reset()
			fmt.Fprintf(&text, "http://www.example.org/page/%d", (i*7919)%n)
			if err := s.Add(text.Bytes(), nil); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Sorted(context.Background(), func(_, _ []byte) error { return nil }); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "items/s")
}
