package local

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/mapper"
)

// A table that the test brings is found by all that find pairs: in memory, by the
// disk, by the reduces of a cluster, and among the documents of earlier nights.
// Nothing but mapper.Tables names it.
func TestTableOfItsOwn(t *testing.T) {
	const rare = 1 << 20 // lengths from here on bring documents together
	brings := func(r *mapper.Rule, a, b *data.View) bool { return r.Bands && a.Length >= rare && a.Length == b.Length }
	own := len(mapper.Tables)
	mapper.Tables = append(mapper.Tables, mapper.Table{
		Name:  "rare lengths",
		Reads: data.ReadSketch,
		Asked: func(r *mapper.Rule) bool { return r.Bands },
		Values: func(dst []uint64, _ *mapper.KeyEmitter, v *data.View) []uint64 {
			if v.Length < rare {
				return dst
			}
			return append(dst, uint64(v.Length))
		},
		Brings: brings,
		FirstShared: func(r *mapper.Rule, _ int, a, b *data.View) bool {
			return !slices.ContainsFunc(mapper.Tables[:own], func(before mapper.Table) bool { return before.Brings(r, a, b) })
		},
	})
	t.Cleanup(func() { mapper.Tables = mapper.Tables[:own] })

	// Twins in all but what the other tables look at: far fingerprints, and sketches
	// that differ in every band, and little else.
	r := rand.New(rand.NewPCG(2, 4))
	var all []data.View
	for i := range uint32(300) {
		v := data.View{Lo: r.Uint64(), Normal: true, Length: rare + i}
		for b := range v.Sketch {
			v.Sketch[b] = byte(r.Uint32())
		}
		twin := v
		twin.Lo = r.Uint64()
		for b := 0; b < len(twin.Sketch); b += 3 {
			twin.Sketch[b] ^= 1
		}
		all = append(all, v, twin)
	}
	cfg := config.Default()
	rule := method.Rule(cfg.Match)
	want := bruteForce(all, rule)
	if len(want) < 300 {
		t.Fatalf("%d pairs of 300 twins", len(want))
	}
	others := slices.Clone(mapper.Tables[:own])
	for i := 0; i < len(all); i += 2 {
		if slices.ContainsFunc(others, func(o mapper.Table) bool { return o.Brings(&rule, &all[i], &all[i+1]) }) {
			t.Fatalf("twins %d are brought together by another table", i)
		}
	}
	sorted := func(pairs []data.Pair) []data.Pair {
		slices.SortFunc(pairs, func(p, q data.Pair) int { return cmp.Or(cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B)) })
		return pairs
	}
	dir := openRun(t)
	documents := written(t, dir, cfg, 3, all)
	for _, way := range ways("64KiB", "32KiB", "100KiB") {
		t.Run(way.name, func(t *testing.T) {
			if got := sorted(way.find(t, dir, cfg, documents)); !slices.Equal(got, want) {
				t.Errorf("%d pairs, want %d", len(got), len(want))
			}
		})
	}
	t.Run("earlier nights", func(t *testing.T) {
		units := mapper.NewUnits(true)
		for i := range all {
			units.Append(&all[i])
		}
		index, err := mapper.NewIndex(units, rule, 64, 1)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		verify := mapper.NewVerifier(rule)
		index.NewProber(verify.Estimated).Probe(units.Rows(), func(m mapper.HistoryMatch) {
			if int(m.Unit) < m.Row {
				found[fmt.Sprint(m.Unit, " ", m.Row)] = true
			}
		}, nil)
		for _, p := range want {
			if !found[fmt.Sprint(p.A, " ", p.B)] {
				t.Errorf("%d and %d are not found among earlier nights", p.A, p.B)
			}
		}
	})
}
