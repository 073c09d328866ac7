package hamming

import (
	"strings"
	"testing"
)

// The chosen plan is modelled as no dearer than those one would write down:
// all pairs, and m of k+m equal blocks.
func TestChosenIsCheapest(t *testing.T) {
	for _, width := range []int{32, 64, 128} {
		for k := 0; k <= MaxDistance(width); k += 1 + k*width/512 {
			for _, n := range []int{2, 1 << 10, 1 << 17, 1_000_000, 1 << 27} {
				p, err := ChoosePlan(width, k, n)
				if err != nil {
					t.Fatal(err)
				}
				n = max(n, 64)
				all, _ := newPlan(width, k)
				if p.Cost(n) > all.Cost(n)*1.05 {
					t.Errorf("%v costs %.0f for %d fingerprints, all pairs %.0f", p, p.Cost(n), n, all.Cost(n))
				}
				for agree := 1; agree <= 4; agree++ {
					if choose(k+agree, agree) > 4096 || k+agree > width {
						break
					}
					even, err := newPlan(width, k, region{width, k, agree, 1})
					if err != nil {
						t.Fatal(err)
					}
					// The search is by whole bits of a block, and by powers of two of n.
					if p.Cost(n) > even.Cost(n)*1.5 {
						t.Errorf("%v costs %.0f for %d fingerprints, %v %.0f", p, p.Cost(n), n, even, even.Cost(n))
					}
				}
			}
		}
	}
}

// Plans for the few bits that vary in a group serve the whole distance, also
// one that is out of range for fingerprints of that width.
func TestPlanServesDistance(t *testing.T) {
	for _, width := range []int{24, 40, 64, 128} {
		for _, k := range []int{0, 1, 3, 8, 15, 16, 23} {
			for _, m := range []*model{&joining, &portable, probing(64)} {
				p := choosePlan(width, k, 1<<22, m)
				budget := 0
				for _, r := range p.regions {
					budget += r.errors + 1
				}
				if len(p.regions) > 0 && budget <= k {
					t.Errorf("%v, at most %d keys, misses pairs at distance %d", p, m.maxKeys, k)
				}
				if len(p.keys) > m.maxKeys {
					t.Errorf("%v has more than %d keys", p, m.maxKeys)
				}
			}
		}
	}
}

func TestParsePlan(t *testing.T) {
	for k := range 16 {
		plan, err := ChoosePlan(64, k, 1_000_000)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParsePlan(64, k, regionsOf(plan))
		if err != nil || again.String() != plan.String() {
			t.Fatalf("k=%d: %q gives %v (%v), want %v", k, regionsOf(plan), again, err, plan)
		}
	}
	if p, err := ParsePlan(64, 3, "30/3/4/2"); err != nil || len(p.regions) != 1 || p.regions[0] != (region{30, 3, 4, 2}) {
		t.Errorf("%v, %v", p, err)
	}
	for _, s := range []string{"", "32", "64/3/1/1/1", "64/3", "a/b/c", "64/3/1+", "-1/1/1", "64/3/1/2", "64/3/1/0", "64/4611686018427387904/4611686018427387904"} {
		if p, err := ParsePlan(64, 3, s); err == nil {
			t.Errorf("%q gave %v", s, p)
		}
	}
}

// regionsOf is the plan's regions as ParsePlan reads them.
func regionsOf(p *Plan) string {
	_, text, _ := strings.Cut(p.String(), ": ")
	text, _, _ = strings.Cut(text, ",")
	return text
}

func FuzzParsePlan(f *testing.F) {
	f.Add("32/1/2+32/1/2")
	f.Add("all pairs")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePlan(64, 3, s)
		if err != nil {
			return
		}
		if again, err := ParsePlan(64, 3, regionsOf(p)); err != nil || again.String() != p.String() {
			t.Fatalf("%q: plan %v, read again %v (%v)", s, p, again, err)
		}
	})
}
