//go:build linux

package gleam

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/history"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/internal/plantedtest"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/rundir"
)

// BenchmarkMatch matches on a real cluster of 3 agents on this machine: one
// flow each time, start and end of all processes included. In the skewed
// input a third of the documents share the first and the last segment, so
// that salting shows in the log's balance (-v); in the hot ones a tenth and a
// half share one segment, and the rest of their bits is random.
func BenchmarkMatch(b *testing.B) {
	if !long() {
		b.Skip("NEARDUP_CLUSTER_LONG is not set")
	}
	uniform := func(n, _ int) []data.View {
		r := rand.New(rand.NewPCG(2, 2))
		out := make([]data.View, n)
		for i := range out {
			out[i] = data.View{Lo: r.Uint64(), Normal: true}
			if i%5 == 0 { // within 3 of another
				out[i].Lo = out[r.IntN(i+1)].Lo ^ 1<<r.IntN(64) ^ 1<<r.IntN(64)
			}
		}
		return out
	}
	hot := func(percent int) func(n, bits int) []data.View {
		return func(n, bits int) []data.View {
			out := uniform(n, bits)
			for i := range out {
				if i%100 < percent {
					out[i].Lo = out[i].Lo&^0xFFFF | 0xABCD
				}
			}
			return out
		}
	}
	for _, v := range []struct {
		name   string
		prints func(n, bits int) []data.View
		n      int
	}{
		{"uniform", uniform, 1_000_000},
		{"uniform", uniform, 2_000_000},
		{"hot=10%", hot(10), 2_000_000},
		{"hot=50%", hot(50), 2_000_000},
		{"skewed", plantedtest.Prints, 1_000_000},
		{"uniform", uniform, 10_000_000},
		{"hot=50%", hot(50), 10_000_000},
	} {
		b.Run(fmt.Sprintf("%s/documents=%d", v.name, v.n), func(b *testing.B) {
			c := startCluster(b, 3, 6)
			dir := openRun(b)
			job := matchJob(b, dir, variant{64, 3, v.n}.config())
			documents := writeViews(b, dir, job.Config, v.prints(v.n, 64))
			found := 0
			for b.Loop() {
				found = 0
				err := newEngine(b, Options{Master: c.master, Stall: time.Minute}).Match(b.Context(), job, documents, func(pairs []data.Pair) error {
					found += len(pairs)
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(v.n)*float64(b.N)/b.Elapsed().Seconds(), "documents/s")
			b.ReportMetric(float64(found), "pairs")
		})
	}
}

// BenchmarkVerified matches a million documents in the default preset, the
// further tables included, in this process and on a cluster as above.
func BenchmarkVerified(b *testing.B) {
	if !long() {
		b.Skip("NEARDUP_CLUSTER_LONG is not set")
	}
	const n = 1_000_000
	dir := openRun(b)
	documents := writeViews(b, dir, config.Default(), plantedtest.Alike(n))
	c := startCluster(b, 3, 5)
	for _, v := range []struct {
		name   string
		engine engine.Engine
	}{
		{"local", local.New(2)},
		{"gleam", newEngine(b, Options{Master: c.master, Stall: time.Minute})},
	} {
		b.Run(v.name, func(b *testing.B) {
			found := 0
			for b.Loop() {
				pairs, err := findPairs(b.Context(), b, v.engine, dir, config.Default(), documents)
				if err != nil {
					b.Fatal(err)
				}
				found = len(pairs)
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "documents/s")
			b.ReportMetric(float64(found), "pairs")
		})
	}
}

// BenchmarkHistory joins half a million documents of tonight with two million
// of four earlier nights, in the default preset, in this process and on a
// cluster as above; half of tonight's are copies. It tells the memory of the
// largest worker.
func BenchmarkHistory(b *testing.B) {
	if !long() {
		b.Skip("NEARDUP_CLUSTER_LONG is not set")
	}
	const nights, documents = 4, 500_000
	cfg := config.Default()
	cfg.Library = config.Library{Path: filepath.Join(b.TempDir(), "lib"), Night: "2026-11-20"}
	l, err := library.Lock(b.Context(), cfg.Library.Path, library.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := l.Close(); err != nil {
			b.Error(err)
		}
	})
	if err := l.Settle(64, map[string]string{"made": "up"}, nil); err != nil {
		b.Fatal(err)
	}
	rows := func(first uint64) func(yield func(*data.LibraryRow) error) error {
		return func(yield func(*data.LibraryRow) error) error {
			row := data.LibraryRow{LengthClass: "normal", Length: 1000, FirstSeen: "2026-11-01", Date: data.NoDate}
			for i := first; i < first+documents; i++ {
				rng := rand.New(rand.NewPCG(i, 1))
				row.DocID = fmt.Appendf(row.DocID[:0], "https://site.example/%010d.html", i)
				row.Lo, row.Sketch = rng.Uint64(), row.Sketch[:0]
				for range 8 {
					row.Sketch = binary.LittleEndian.AppendUint64(row.Sketch, rng.Uint64())
				}
				if err := yield(&row); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for n := range uint64(nights) {
		if _, _, err := l.Add(b.Context(), fmt.Sprintf("2026-11-%02d", n+1), "", rows(n*documents), nil); err != nil {
			b.Fatal(err)
		}
	}
	dir := openRun(b)
	var night []data.LibraryRow
	err = rows(nights*documents - documents/2)(func(row *data.LibraryRow) error {
		row.DocID[8] = 't' // another site
		r := *row
		r.DocID, r.Sketch = bytes.Clone(row.DocID), bytes.Clone(row.Sketch)
		night = append(night, r)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	writeNight(b, dir, cfg, night)
	c := startCluster(b, 3, 5)
	job := &engine.Job{Config: cfg, Dir: dir, Splits: make([]data.Split, splitsOfNight), Log: testLog(b)}
	for _, v := range []struct {
		name   string
		engine engine.Engine
	}{
		{"local", local.New(2)},
		{"gleam", newEngine(b, Options{Master: c.master})},
	} {
		b.Run(v.name, func(b *testing.B) {
			most := watchMemory(b, dir.Path())
			matched := 0
			for b.Loop() {
				documents, err := corpus.ReadNight(b.Context(), cfg, dir, splitsOfNight, 2, nil)
				if err != nil {
					b.Fatal(err)
				}
				splits, err := l.Splits(documents.Before(), 1)
				if err != nil {
					b.Fatal(err)
				}
				found := documents.NewMatches(l.Manifest())
				if err := v.engine.History(b.Context(), job, documents, l, splits, found); err != nil {
					b.Fatal(err)
				}
				matched = 0
				for u := range uint32(found.Units()) {
					if _, ok := found.Gathered(u); ok {
						matched++
					}
				}
				if err := os.RemoveAll(dir.Path(rundir.State, history.PartsFolder)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(nights*documents*float64(b.N)/b.Elapsed().Seconds(), "documents/s")
			b.ReportMetric(float64(matched), "matched")
			b.ReportMetric(float64(most())/1024, "worker-MiB")
		})
	}
}

// watchMemory returns what gives, in KiB, the most memory that a worker of the
// earlier flow has held since.
func watchMemory(b *testing.B, run string) func() int64 {
	stop, most := make(chan struct{}), make(chan int64)
	go func() {
		peak := int64(0)
		for {
			select {
			case <-stop:
				most <- peak
				return
			case <-time.After(100 * time.Millisecond):
			}
			for pid, args := range processes(run) {
				text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
				_, rest, ok := strings.Cut(string(text), "VmHWM:")
				if err != nil || !ok || !slices.Contains(args, stageHistory) {
					continue
				}
				var kib int64
				if _, err := fmt.Sscan(rest, &kib); err == nil {
					peak = max(peak, kib)
				}
			}
		}
	}()
	return func() int64 {
		close(stop)
		return <-most
	}
}
