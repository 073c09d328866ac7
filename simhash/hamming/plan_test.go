package hamming

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// widths are all of these, in the short form only 64.
func widths(all ...int) []int {
	if testing.Short() {
		return []int{64}
	}
	return all
}

// The chosen plan is modelled as no dearer than those one would write down:
// all pairs, and m of k+m equal blocks.
func TestChosenIsCheapest(t *testing.T) {
	for _, width := range widths(32, 64, 128) {
		for k := 0; k <= MaxDistance(width); k += 1 + k*width/512 {
			for _, n := range []int{2, 1 << 10, 1 << 17, 1_000_000, 1 << 27} {
				p, err := ChoosePlan(width, k, n)
				if err != nil {
					t.Fatal(err)
				}
				n = max(n, 64)
				all, _ := newPlan(width, k)
				if n > 1<<10 && p.Cost(n) > all.Cost(n)*1.05 {
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
	for _, width := range widths(24, 40, 64, 128) {
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
		again, err := parsePlan(64, k, regionsOf(plan))
		if err != nil || again.String() != plan.String() {
			t.Fatalf("k=%d: %q gives %v (%v), want %v", k, regionsOf(plan), again, err, plan)
		}
	}
	if p, err := parsePlan(64, 3, "30/3/4/2"); err != nil || len(p.regions) != 1 || p.regions[0] != (region{30, 3, 4, 2}) {
		t.Errorf("%v, %v", p, err)
	}
	for _, s := range []string{"", "32", "64/3/1/1/1", "64/3", "a/b/c", "64/3/1+", "-1/1/1", "64/3/1/2", "64/3/1/0", "64/4611686018427387904/4611686018427387904"} {
		if p, err := parsePlan(64, 3, s); err == nil {
			t.Errorf("%q gave %v", s, p)
		}
	}
}

// regionsOf is the plan's regions as parsePlan reads them.
func regionsOf(p *Plan) string {
	_, text, _ := strings.Cut(p.String(), ": ")
	text, _, _ = strings.Cut(text, ",")
	return text
}

func FuzzParsePlan(f *testing.F) {
	f.Add("32/1/2+32/1/2")
	f.Add("all pairs")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parsePlan(64, 3, s)
		if err != nil {
			return
		}
		if again, err := parsePlan(64, 3, regionsOf(p)); err != nil || again.String() != p.String() {
			t.Fatalf("%q: plan %v, read again %v (%v)", s, p, again, err)
		}
	})
}

// parsePlan returns the plan for fingerprints of width bits and distance k
// that has the regions s, written as [Plan.String] writes them:
// bits/errors/agree or bits/errors/agree/lead (else 1), joined by +, as in
// "32/1/2+32/1/2". "all pairs" is the plan without a region. The regions may
// leave low bits unused. It fails if they do not serve k, or have more than
// 65,536 keys.
func parsePlan(width, k int, s string) (*Plan, error) {
	if err := checkPlan(width, k); err != nil {
		return nil, err
	}
	if s == "all pairs" {
		return newPlan(width, k)
	}
	var regions []region
	for part := range strings.SplitSeq(s, "+") {
		v := [4]int{3: 1}
		fields := strings.Split(part, "/")
		valid := len(fields) == 3 || len(fields) == 4
		for i := 0; valid && i < len(fields); i++ {
			var err error
			v[i], err = strconv.Atoi(fields[i])
			valid = err == nil && v[i] >= 0 && v[i] <= 128
		}
		if !valid {
			return nil, fmt.Errorf("hamming: region %q: write bits/errors/agree or bits/errors/agree/lead, like 32/1/2", part)
		}
		regions = append(regions, region{bits: v[0], errors: v[1], agree: v[2], lead: v[3]})
	}
	return newPlan(width, k, regions...)
}
