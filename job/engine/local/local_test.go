package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/numbered"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/job/engine/internal/planted"
	"github.com/neardup/neardup/job/rundir"
	"github.com/neardup/neardup/simhash"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// way is one way to find the pairs.
type way struct {
	workers int
	config.Execution
}

var ways = []way{
	{1, config.Execution{Matcher: config.MatcherKernel}},
	{7, config.Execution{Matcher: config.MatcherKernel}},
	{2, config.Execution{Matcher: config.MatcherKernel, Plan: "all pairs"}},
	{1, config.Execution{Matcher: config.MatcherShuffle, Shards: 1, Salts: 1}},
	{2, config.Execution{Matcher: config.MatcherShuffle, Shards: 3, Salts: 5}},
	{7, config.Execution{Matcher: config.MatcherShuffle, Shards: 8, Salts: 2}},
	{1, config.Execution{Matcher: config.MatcherKernel, Memory: "1500"}}, // spills
	{2, config.Execution{Matcher: config.MatcherKernel, Memory: "700"}},
}

func TestEveryWayEqualsBruteForce(t *testing.T) {
	dir, err := rundir.Open(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := dir.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.SampledFrom([]int{32, 64, 128}).Draw(t, "bits")
		k := rapid.IntRange(0, 8).Draw(t, "k")
		prints := drawFingerprints(t, bits)
		documents := numberedFolder(t, dir.Path(rundir.State, "documents"), bits, prints)
		defer func() {
			if err := documents.Close(); err != nil {
				t.Fatal(err)
			}
		}()
		want := representatives(prints, k)
		for _, w := range ways {
			cfg := config.Default()
			cfg.Features.Bits, cfg.Match.Distance, cfg.Execution = bits, k, w.Execution
			got := findPairs(t, w.workers, dir, cfg, documents)
			if !slices.Equal(got, want) {
				t.Fatalf("%+v: got %v, want %v", w, got, want)
			}
		}
	})
	if left, err := os.ReadDir(dir.Path(rundir.Scratch)); err != nil || len(left) > 0 {
		t.Fatalf("left behind: %v, %v", left, err)
	}
}

// drawFingerprints draws random, planted and skewed fingerprints: copies of a
// few values with some bits flipped, some in one segment only.
func drawFingerprints(t *rapid.T, bits int) []simhash.Fingerprint {
	mask := simhash.Fingerprint{Lo: ^uint64(0)}
	switch bits {
	case 32:
		mask.Lo = 1<<32 - 1
	case 128:
		mask.Hi = ^uint64(0)
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) simhash.Fingerprint {
		f := simhash.Fingerprint{Hi: rapid.Uint64().Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo")}
		if rapid.IntRange(0, 4).Draw(t, "kind") > 0 {
			f = simhash.Fingerprint{Lo: rapid.SampledFrom([]uint64{0, 0xffff, 0x123456789abcdef0}).Draw(t, "base")}
			for range rapid.IntRange(0, 6).Draw(t, "flips") {
				b := rapid.IntRange(0, bits-1).Draw(t, "bit")
				if b < 64 {
					f.Lo ^= 1 << b
				} else {
					f.Hi ^= 1 << (b - 64)
				}
			}
		}
		return simhash.Fingerprint{Hi: f.Hi & mask.Hi, Lo: f.Lo & mask.Lo}
	}), 0, 60).Draw(t, "fingerprints")
}

type fataler interface {
	Helper()
	Fatal(...any)
}

func numberedFolder(t fataler, path string, bits int, prints []simhash.Fingerprint) *numbered.Folder {
	t.Helper()
	w, err := numbered.Create(path, numbered.Form{Wide: bits == 128})
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range prints {
		if err := w.Add(numbered.Document{ID: fmt.Appendf(nil, "%08d", i), Hi: f.Hi, Lo: f.Lo}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	folder, err := numbered.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// findPairs returns the pairs that an engine finds, sorted.
func findPairs(t fataler, workers int, dir *rundir.Dir, cfg config.Config, documents *numbered.Folder) []data.Pair {
	t.Helper()
	var mu sync.Mutex
	var pairs []data.Pair
	job := &engine.Job{Config: cfg, Dir: dir, Log: slog.New(slog.DiscardHandler)}
	err := New(workers).Match(context.Background(), job, documents, func(batch []data.Pair) error {
		mu.Lock()
		defer mu.Unlock()
		pairs = append(pairs, batch...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(pairs, comparePairs)
	return pairs
}

func comparePairs(a, b data.Pair) int {
	return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B))
}

// representatives compares all with all: of identical fingerprints the first
// stands for the others.
func representatives(prints []simhash.Fingerprint, k int) []data.Pair {
	first := make([]int, len(prints))
	for i, f := range prints {
		first[i] = slices.Index(prints, f)
	}
	var pairs []data.Pair
	for i := range prints {
		for j := i + 1; j < len(prints); j++ {
			d := simhash.Distance(prints[i], prints[j])
			if d == 0 && first[j] == i || d > 0 && d <= k && first[i] == i && first[j] == j {
				pairs = append(pairs, data.Pair{A: uint32(i), B: uint32(j), Distance: uint8(d)})
			}
		}
	}
	return pairs
}

func TestErrorsAndCancellationEndMatch(t *testing.T) {
	dir, err := rundir.Open(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := dir.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	prints := make([]simhash.Fingerprint, 20_000)
	for i := range prints {
		prints[i].Lo = uint64(i/3) * 0x9e3779b97f4a7c15
	}
	documents := numberedFolder(t, dir.Path(rundir.State, "documents"), 64, prints)
	defer func() {
		if err := documents.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	for _, w := range ways {
		if w.Memory != "" {
			w.Memory = "1MiB"
		}
		cfg := config.Default()
		cfg.Execution = w.Execution
		job := &engine.Job{Config: cfg, Dir: dir, Log: slog.New(slog.DiscardHandler)}
		stop := errors.New("stop")
		err := New(w.workers).Match(context.Background(), job, documents, func([]data.Pair) error { return stop })
		if !errors.Is(err, stop) {
			t.Errorf("%+v: got %v, want the receiver's error", w, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		err = New(w.workers).Match(ctx, job, documents, func([]data.Pair) error { return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%+v: got %v, want the cancellation", w, err)
		}
	}
	if left, err := os.ReadDir(dir.Path(rundir.Scratch)); err != nil || len(left) > 0 {
		t.Fatalf("left behind: %v, %v", left, err)
	}
}

func ExampleEngine_Match() {
	tmp, err := os.MkdirTemp("", "local")
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := rundir.Open(filepath.Join(tmp, "run"))
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := numbered.Create(dir.Path(rundir.State, "documents"), numbered.Form{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, f := range []uint64{0x00ff, 0xff00, 0x00fe, 0x00ff} {
		if err := w.Add(numbered.Document{ID: []byte{byte('a' + i)}, Lo: f}); err != nil {
			fmt.Println(err)
		}
	}
	if err := w.Commit(); err != nil {
		fmt.Println(err)
	}
	documents, err := numbered.Open(dir.Path(rundir.State, "documents"))
	if err != nil {
		fmt.Println(err)
		return
	}
	job := &engine.Job{Config: config.Default(), Dir: dir}
	err = New(1).Match(context.Background(), job, documents, func(pairs []data.Pair) error {
		for _, p := range pairs {
			fmt.Println(p.A, p.B, "distance", p.Distance)
		}
		return nil
	})
	fmt.Println(err, documents.Close(), dir.Close(), os.RemoveAll(tmp))
	// Output:
	// 0 3 distance 0
	// 0 2 distance 1
	// <nil> <nil> <nil> <nil>
}

// Verified pairs are the same in memory, in ranges of the keys and through
// the shuffle.
func TestFurtherTablesAreTheSameEveryWay(t *testing.T) {
	for _, bits := range []int{64, 128} {
		dir, err := rundir.Open(filepath.Join(t.TempDir(), "run"))
		if err != nil {
			t.Fatal(err)
		}
		documents, err := planted.Write(dir.Path(rundir.State, "documents"), numbered.Form{Wide: bits == 128, Views: true}, planted.Views(3000, bits))
		if err != nil {
			t.Fatal(err)
		}
		var want []data.Pair
		for _, e := range []config.Execution{
			{Matcher: config.MatcherKernel, Memory: "1GiB"},
			{Matcher: config.MatcherKernel, Memory: "100KiB"},
			{Matcher: config.MatcherShuffle, Shards: 1, Salts: 1},
			{Matcher: config.MatcherShuffle, Shards: 5, Salts: 3},
		} {
			cfg := config.Default()
			cfg.Features.Bits, cfg.Execution = bits, e
			got := findPairs(t, 2, dir, cfg, documents)
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) || len(want) < 1000 {
				t.Errorf("%d bits, %+v: %d pairs, want %d", bits, e, len(got), len(want))
			}
			if len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Errorf("%d bits, %+v: pairs that come twice", bits, e)
			}
		}
		if err := errors.Join(documents.Close(), dir.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// Enough fingerprints for every path that several workers take: the in-memory
// join, compiled for this package, and the shuffle find the same pairs.
func TestManyFingerprints(t *testing.T) {
	for _, bits := range []int{64, 128} {
		dir, err := rundir.Open(filepath.Join(t.TempDir(), "run"))
		if err != nil {
			t.Fatal(err)
		}
		documents, err := planted.Write(dir.Path(rundir.State, "documents"), numbered.Form{Wide: bits == 128}, planted.Prints(300_000, bits))
		if err != nil {
			t.Fatal(err)
		}
		cfg := config.Default()
		cfg.Match.Verify, cfg.Features.Bits = config.VerifyNone, bits
		want := findPairs(t, 2, dir, cfg, documents)
		cfg.Execution.Matcher = config.MatcherShuffle
		if got := findPairs(t, 2, dir, cfg, documents); !slices.Equal(got, want) || len(want) < 10_000 {
			t.Errorf("%d bits: %d pairs in memory, %d by the shuffle", bits, len(want), len(got))
		}
		if err := errors.Join(documents.Close(), dir.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
