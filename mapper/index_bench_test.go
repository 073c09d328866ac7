//go:build unix

package mapper

import (
	"encoding/binary"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash/sketch"
)

// BenchmarkProbe is the join of a batch of a library with a million documents of
// tonight, none alike: random fingerprints and sketches.
func BenchmarkProbe(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(v *data.View) {
		*v = data.View{Lo: r.Uint64(), Normal: true, Length: 1000}
		for i := 0; i < len(v.Sketch); i += 8 {
			binary.LittleEndian.PutUint64(v.Sketch[i:], r.Uint64())
		}
	}
	units := NewUnits(true)
	var v data.View
	for range 1_000_000 {
		random(&v)
		units.Add(&v)
	}
	const batch = 128 << 10
	views := make([]data.View, 8*batch)
	for i := range views {
		random(&views[i])
	}
	for name, rule := range map[string]Rule{
		"distance": {K: 3},
		"verified": {K: 3, Bands: true, ShortTexts: true, Rules: sketch.Balanced()},
	} {
		b.Run(name, func(b *testing.B) {
			t, err := NewIndex(units, rule, 64, 0)
			if err != nil {
				b.Fatal(err)
			}
			m := t.NewProber(testJudge)
			var rows []*HistoryRows
			for from := 0; from < len(views); from += batch {
				rows = append(rows, rowsOf(views[from:from+batch], false))
			}
			b.ResetTimer()
			began := worked(b)
			for i := range b.N {
				m.Probe(rows[i%len(rows)], func(HistoryMatch) {}, func(int) {})
			}
			b.ReportMetric(float64(worked(b)-began)/float64(b.N)/batch, "cpu-ns/row")
		})
	}
}

// worked is what this process has used of the processors, in nanoseconds.
func worked(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
