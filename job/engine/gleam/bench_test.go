package gleam

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/numbered"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/job/engine/internal/planted"
	"github.com/neardup/neardup/job/engine/local"
	"github.com/neardup/neardup/job/rundir"
	"github.com/neardup/neardup/simhash"
)

// BenchmarkMatch matches on a real cluster of 3 agents on this machine: one
// flow each time, start and end of all processes included. In the skewed
// input a third of the documents share the first and the last segment, so
// that salting shows in the log's balance (-v).
func BenchmarkMatch(b *testing.B) {
	if !long() {
		b.Skip("NEARDUP_CLUSTER_LONG is not set")
	}
	uniform := func(n, _ int) []simhash.Fingerprint {
		r := rand.New(rand.NewPCG(2, 2))
		out := make([]simhash.Fingerprint, n)
		for i := range out {
			out[i].Lo = r.Uint64()
			if i%5 == 0 { // within 3 of another
				out[i].Lo = out[r.IntN(i+1)].Lo ^ 1<<r.IntN(64) ^ 1<<r.IntN(64)
			}
		}
		return out
	}
	for _, v := range []struct {
		name     string
		prints   func(n, bits int) []simhash.Fingerprint
		n, salts int
	}{
		{"uniform", uniform, 1_000_000, 4},
		{"skewed", prints, 1_000_000, 1},
		{"skewed", prints, 1_000_000, 4},
		{"uniform", uniform, 10_000_000, 4},
	} {
		b.Run(fmt.Sprintf("%s/documents=%d/salts=%d", v.name, v.n, v.salts), func(b *testing.B) {
			c := startCluster(b, 3, 6)
			dir := openRun(b)
			documents := numberedFolder(b, dir, 64, v.prints(v.n, 64))
			job := &engine.Job{Config: variant{64, 3, v.n, 4, v.salts}.config(), Dir: dir, Log: testLog(b)}
			found := 0
			for b.Loop() {
				found = 0
				err := New(Options{Master: c.master, Stall: time.Minute}).Match(b.Context(), job, documents, func(pairs []data.Pair) error {
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
	documents, err := planted.Write(dir.Path(rundir.State, "documents"), numbered.Form{Views: true}, planted.Alike(n))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := documents.Close(); err != nil {
			b.Error(err)
		}
	})
	c := startCluster(b, 3, 5)
	for _, v := range []struct {
		name   string
		engine engine.Engine
	}{
		{"local", local.New(2)},
		{"gleam", New(Options{Master: c.master, Stall: time.Minute})},
	} {
		b.Run(v.name, func(b *testing.B) {
			found := 0
			for b.Loop() {
				pairs, err := findPairs(b, v.engine, dir, config.Default(), documents)
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
