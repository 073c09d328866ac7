//go:build unix

package eval

import (
	"fmt"
	"hash/fnv"
	"slices"
	"syscall"
	"testing"

	"github.com/neardup/neardup/job/internal/config"
)

// candidate is a pair that met, for trying limits on.
type candidate struct {
	first            int32 // document of the pair
	score            float64
	long             bool
	true_, labelled_ bool
}

// split puts an id into one of two halves; every seed is another split.
func split(id string, seed byte) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte{seed})
	_, _ = h.Write([]byte(id))
	return int(mixed(h.Sum64()) & 1)
}

// The limits of the presets, chosen anew on one half of the pairs and measured
// on the other, for 20 ways of halving: how much of the figures is owed to the
// choice. The limits that are shipped stand beside.
func TestLimitsOnOtherSplits(t *testing.T) {
	laboratory(t)
	c := mix(t, true)
	l := newLab(t, c, Options{Half: AllPairs})
	for _, m := range []*Neardup{Preset(config.PresetBalanced), Preset(config.PresetThorough)} {
		shipped, least := m.Match.Rules(), 0.99
		m.Match.LimitShort, m.Match.LimitLong = 0.36, 0.36
		if shipped.Border > 0 {
			m.Match.Border, least = 1, 0.995
		}
		found, err := m.Find(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		var all []candidate
		for _, f := range found {
			truth := l.truth[f.Pair]
			all = append(all, candidate{f.A, f.Score, min(l.lengths[f.A], l.lengths[f.B]) >= int32(shipped.LongFrom), truth.by != 0, truth.by&TruthLabel != 0})
		}
		sides := make([]int, len(c.Documents)) // of the split at hand
		measure := func(side int, short, long float64) (precision, recall float64) {
			pairs, right, have, wanted := 0, 0, 0, 0
			for _, p := range c.Labelled {
				if sides[p.A] == side {
					wanted++
				}
			}
			for _, x := range all {
				limit := short
				if x.long {
					limit = long
				}
				if x.score < limit || sides[x.first] != side {
					continue
				}
				pairs++
				if x.true_ {
					right++
				}
				if x.labelled_ {
					have++
				}
			}
			return float64(right) / float64(pairs), float64(have) / float64(wanted)
		}
		type figures struct{ precision, recall, f1 float64 }
		var chosen, as []figures
		limits := map[string]int{}
		for seed := range byte(20) {
			for i, d := range c.Documents {
				sides[i] = split(d.ID, seed)
			}
			best, short, long := -1.0, 0.0, 0.0
			for s := 0.40; s < 0.701; s += 0.02 {
				for g := 0.40; g < 0.601; g += 0.02 {
					p, r := measure(0, s, g)
					if f := F1(p, r); p >= least && f > best {
						best, short, long = f, s, g
					}
				}
			}
			limits[fmt.Sprintf("%.2f/%.2f", short, long)]++
			p, r := measure(1, short, long)
			chosen = append(chosen, figures{p, r, F1(p, r)})
			p, r = measure(1, shipped.Short, shipped.Long)
			as = append(as, figures{p, r, F1(p, r)})
		}
		for i, list := range [][]figures{chosen, as} {
			var sum figures
			for _, f := range list {
				sum.precision += f.precision / 20
				sum.recall += f.recall / 20
				sum.f1 += f.f1 / 20
			}
			worst := slices.MinFunc(list, func(a, b figures) int {
				if a.f1 < b.f1 {
					return -1
				}
				return 1
			})
			name := []string{"chosen on the other half", "shipped"}[i]
			fmt.Fprintf(t.Output(), "%s, limits %s: precision %.4f, recall %.4f, F1 %.4f, the worst split %.4f, %.4f, %.4f\n",
				m.Name(), name, sum.precision, sum.recall, sum.f1, worst.precision, worst.recall, worst.f1)
			if sum.precision < least-0.003 {
				t.Errorf("%s: precision %.4f", m.Name(), sum.precision)
			}
		}
		fmt.Fprintln(t.Output(), m.Name(), "chosen limits:", limits)
	}
}

// cpu returns the seconds of processor time that the process has used.
func cpu(t *testing.T) float64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// thorough takes a third of MinHash's processor time or less, from the same
// texts and the same shingles, in one run, turn by turn.
func TestThoroughAgainstMinHash(t *testing.T) {
	laboratory(t)
	c := mix(t, true)
	third := &Corpus{}
	for i := 0; i < len(c.Documents); i += 3 {
		third.Documents = append(third.Documents, c.Documents[i])
	}
	l := &Lab{corpus: third, options: Options{Workers: 2}} // no truth is asked for
	closed(t, l)
	methods := []Method{Preset(config.PresetThorough), Preset(config.PresetBalanced), Preset(config.PresetClassic), minHash()}
	seconds := make([][]float64, len(methods))
	for round := range 3 {
		for i, m := range methods {
			began := cpu(t)
			if _, err := m.Find(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			if round > 0 { // the first loads the dictionary
				seconds[i] = append(seconds[i], cpu(t)-began)
			}
		}
	}
	for i, m := range methods {
		fmt.Fprintf(t.Output(), "%d documents, %s: %.2f CPU seconds\n", len(third.Documents), m.Name(), seconds[i])
	}
	for round := range seconds[0] {
		if ratio := seconds[3][round] / seconds[0][round]; ratio < 3 {
			t.Errorf("MinHash takes %.1f times the time of thorough", ratio)
		}
	}
}
