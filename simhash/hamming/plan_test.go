package hamming

import "testing"

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
				all, _ := NewPlan(width, k)
				if p.Cost(n) > all.Cost(n)*1.05 {
					t.Errorf("%v costs %.0f for %d fingerprints, all pairs %.0f", p, p.Cost(n), n, all.Cost(n))
				}
				for agree := 1; agree <= 4; agree++ {
					if choose(k+agree, agree) > 4096 || k+agree > width {
						break
					}
					even, err := NewPlan(width, k, Region{width, k, agree, 0})
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
			for _, keys := range []int{forJoin, forPortable, 64} {
				p := choosePlan(width, k, 1<<22, keys)
				budget := 0
				for _, r := range p.regions {
					budget += r.Errors + 1
				}
				if len(p.regions) > 0 && budget <= k {
					t.Errorf("%v, at most %d keys, misses pairs at distance %d", p, keys, k)
				}
				if keys > 0 && len(p.keys) > keys {
					t.Errorf("%v has more than %d keys", p, keys)
				}
			}
		}
	}
}
