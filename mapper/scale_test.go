package mapper

import (
	"fmt"
	"slices"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash"
)

// loads spreads the documents of each key over partial and final tasks as a
// flow does, and returns each task's share of all references, the largest in
// units of an even one. shares are those of the keys of one table, which all
// tables have.
func loads(shares []float64, tables, partials, finals, salts int) (partial, final float64) {
	p, f := make([]float64, partials), make([]float64, finals)
	for table := range tables {
		for value, share := range shares {
			r := data.Posting{Key: uint64(simhash.NewKey(table, 16, uint64(value)))}
			f[Shard(r.Key, finals)] += share / float64(tables)
			for salt := range salts {
				p[(Shard(r.Key, partials)+salt)%partials] += share / float64(tables) / float64(salts)
			}
		}
	}
	return slices.Max(p) * float64(partials), slices.Max(f) * float64(finals)
}

// What the tasks of a match of 10¹⁰ documents hold, see job/docs/internals/scale.md: keys of
// 16 bits, evenly spread, by Zipf's law, and with one site's template that has
// one document in fifty.
func TestTasksAtTenBillion(t *testing.T) {
	const values = 1 << 16
	even, zipf, site := make([]float64, values), make([]float64, values), make([]float64, values)
	sum := 0.0
	for i := range zipf {
		even[i], site[i] = 1.0/values, 0.98/values
		zipf[i] = 1 / float64(i+100) // the hundred likeliest are about alike
		sum += zipf[i]
	}
	for i := range zipf {
		zipf[i] /= sum
	}
	site[4711] += 0.02
	for _, c := range []struct {
		name             string
		shares           []float64
		partial1, final1 float64 // the most that 64 tasks may have, of an even share
	}{{"even", even, 1.05, 1.1}, {"zipf", zipf, 1.2, 1.3}, {"site", site, 1.4, 2.4}} {
		line := c.name
		for _, tasks := range []int{64, 512, 2048} {
			partial, final := loads(c.shares, 4, tasks, tasks, 4)
			line += fmt.Sprintf("; %d tasks: partial %.2f, final %.2f", tasks, partial, final)
			if tasks == 64 && (partial > c.partial1 || final > c.final1) {
				t.Errorf("%s: the largest of 64 tasks has %.2f and %.2f of an even share", c.name, partial, final)
			}
		}
		t.Log(line)
	}
}
