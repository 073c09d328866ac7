package local

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state/views"
)

// BenchmarkMatch joins fingerprints of which every tenth has a twin at
// distance 0 to 3, in memory and by way of the disk. NEARDUP_BENCH_DOCUMENTS
// sets their number, NEARDUP_BENCH_MEMORY the memory cap of the second, and
// NEARDUP_BENCH_DIR a folder on the disk to be used.
func BenchmarkMatch(b *testing.B) {
	n := 1_000_000
	if s := os.Getenv("NEARDUP_BENCH_DOCUMENTS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	limit := "32MiB"
	if s := os.Getenv("NEARDUP_BENCH_MEMORY"); s != "" {
		limit = s
	}
	parent := os.Getenv("NEARDUP_BENCH_DIR")
	if parent == "" {
		parent = b.TempDir()
	}
	path, err := os.MkdirTemp(parent, "match-*")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(path)
	dir, err := rundir.Open(filepath.Join(path, "run"))
	if err != nil {
		b.Fatal(err)
	}
	defer dir.Close()
	documents := plantedDocuments(b, dir, n)

	for _, c := range []struct{ name, memory string }{{"memory", ""}, {"disk", limit}} {
		b.Run(c.name, func(b *testing.B) {
			cfg := config.Default()
			cfg.Match.Verify, cfg.Execution.Memory = config.VerifyNone, c.memory
			if c.memory != "" {
				defer debug.SetMemoryLimit(debug.SetMemoryLimit(cfg.Execution.MemoryLimit()))
			}
			job := &engine.Job{Config: cfg, Dir: dir, Log: slog.New(slog.DiscardHandler)}
			var pairs atomic.Int64
			for b.Loop() {
				pairs.Store(0)
				err := New(runtime.GOMAXPROCS(0)).Match(context.Background(), job, documents, func(p []data.Pair) error {
					pairs.Add(int64(len(p)))
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "documents/s")
			b.ReportMetric(float64(pairs.Load()), "pairs")
			b.ReportMetric(peakMiB(b), "peak-MiB")
		})
	}
}

// peakMiB is the process's high-water mark of memory, file pages left out.
func peakMiB(b *testing.B) float64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			if err != nil {
				b.Fatal(err)
			}
			return kib / 1024
		}
	}
	return 0
}

// plantedDocuments writes the views of a run of one split.
func plantedDocuments(b *testing.B, dir *rundir.Dir, n int) *corpus.Documents {
	b.Helper()
	path := corpus.ViewPath(dir, 0)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.Fatal(err)
	}
	w, err := views.Create(path, views.Form{})
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	var row views.Row
	var last uint64
	for range n {
		v := rng.Uint64()
		if rng.IntN(10) == 0 {
			v = last
			for range rng.IntN(4) {
				v ^= 1 << rng.IntN(64)
			}
		}
		last = v
		row.View.Lo, row.View.Normal = v, true
		if err := w.Write(&row); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		b.Fatal(err)
	}
	documents, err := corpus.Open(dir, 1)
	if err != nil {
		b.Fatal(err)
	}
	return documents
}
