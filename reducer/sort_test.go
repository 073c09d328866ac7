package reducer

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
)

// Dealt by keys or compared: the order is the same.
func TestSortKeyed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		mask := rapid.Custom(func(t *rapid.T) uint64 { return rapid.Uint64().Draw(t, "a") & rapid.Uint64().Draw(t, "b") })
		keys, rest := mask.Draw(t, "keys"), mask.Draw(t, "rest")
		records := make([]data.Keyed, rapid.IntRange(0, 3000).Draw(t, "n"))
		for i := range records {
			records[i] = data.Keyed{Key: r.Uint64() & keys, Hi: r.Uint64() & rest & 1, Lo: r.Uint64() & rest, Doc: r.Uint64N(50)}
		}
		want := slices.Clone(records)
		slices.SortFunc(want, compareKeyed)
		sortKeyed(records)
		if !slices.Equal(records, want) {
			t.Fatalf("%d records with keys in %x are not in order", len(records), keys)
		}
	})
}

// BenchmarkSortKeyed sorts what a partial reduce of 10 million documents on
// four tasks sorts: 4 tables of 16 bits.
func BenchmarkSortKeyed(b *testing.B) {
	const n = 2_000_000
	r := rand.New(rand.NewPCG(1, 1))
	records := make([]data.Keyed, n)
	for i := range records {
		records[i] = data.Keyed{Key: r.Uint64N(4)<<48 | r.Uint64N(1<<14)<<2, Lo: r.Uint64() >> 16, Doc: uint64(i)}
	}
	for name, sort := range map[string]func([]data.Keyed){
		"dealt":    sortKeyed,
		"compared": func(records []data.Keyed) { slices.SortFunc(records, compareKeyed) },
	} {
		b.Run(name, func(b *testing.B) {
			work := make([]data.Keyed, n)
			for b.Loop() {
				copy(work, records)
				sort(work)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
		})
	}
}
