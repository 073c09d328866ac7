package mapper

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash/sketch"
)

// passages are units of texts of some passages, and a footer that too many
// share to be compared for it.
func passages(r *rand.Rand, n int) *Units {
	letters := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteRune(rune('一' + r.IntN(3000)))
		}
		return b.String()
	}
	parts := make([]string, 30)
	for i := range parts {
		parts[i] = letters(20 + r.IntN(400))
	}
	footer := letters(60)
	units := NewUnits(true)
	var m sketch.Maker
	for unit := range n {
		text := letters(r.IntN(200))
		for range r.IntN(4) {
			text += parts[r.IntN(len(parts))]
		}
		if unit <= 2*maxSampled { // some of which share more than the footer
			text = footer + letters(30) + parts[r.IntN(len(parts))][:3*r.IntN(20)]
		}
		v := data.View{Lo: uint64(unit), Normal: true, Length: uint32(len([]rune(text)))}
		var s sketch.Sketch
		_, v.Sample = m.SketchAndSample(&s, nil, []byte(text), int(v.Length))
		copy(v.Sketch[:], s[:])
		units.Append(&v)
	}
	return units
}

// Sampled finds each pair once whose samples are alike and share a key that is
// compared for.
func TestSampledAgainstAllPairs(t *testing.T) {
	rule := Rule{K: 12, Bands: true, Verified: true, Rules: sketch.Thorough()}
	v := NewVerifier(rule)
	for seed := range uint64(2) {
		units := passages(rand.New(rand.NewPCG(seed, 9)), 2*maxSampled+100)
		var records []uint64
		keys := NewKeyEmitter(nil, rule)
		group := map[uint64]int{}
		views := make([]data.View, units.Len())
		for i := range views {
			units.View(uint32(i), &views[i])
			for _, value := range keys.Values(Samples, &views[i]) {
				records = append(records, value<<32|uint64(i))
				group[value]++
			}
		}
		slices.Sort(records)
		want, hot := map[[2]uint32]int{}, 0
		for a := range views {
			for b := a + 1; b < len(views); b++ {
				cool := slices.ContainsFunc(slices.Clone(keys.Values(Samples, &views[a])), func(value uint64) bool {
					return group[value] <= maxSampled && slices.Contains(keys.Values(Samples, &views[b]), value)
				})
				switch alike := rule.sampled(&views[a], &views[b]); {
				case alike && cool:
					want[[2]uint32{uint32(a), uint32(b)}] = 1
				case alike:
					hot++
				}
			}
		}
		if len(want) == 0 || hot == 0 {
			t.Fatalf("%d pairs, and %d by hot keys alone", len(want), hot)
		}
		found := NewSampled(units, records, make([]uint64, len(records)))
		for a := range uint32(units.Len()) {
			found.Each(v, a, func(b uint32) { want[[2]uint32{a, b}]-- })
		}
		for pair, n := range want {
			if n != 0 {
				t.Errorf("seed %d: units %v: found %d times, want %d", seed, pair, 1-n, min(1, 1-n))
			}
		}
	}
}
