package hamming

import (
	"slices"
	"strings"
	"testing"
)

func TestParseRegions(t *testing.T) {
	for k := range 16 {
		plan, err := ChoosePlan(64, k, 1_000_000)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(plan.String(), ": ")
		text, _, _ = strings.Cut(text, ",")
		regions, err := ParseRegions(text)
		if err != nil {
			t.Fatalf("k=%d: %q: %v", k, text, err)
		}
		again, err := NewPlan(64, k, regions...)
		if err != nil || again.String() != plan.String() {
			t.Fatalf("k=%d: %q gives %v (%v), want %v", k, text, again, err, plan)
		}
	}
	if r, err := ParseRegions("30/3/4/2"); err != nil || len(r) != 1 || r[0] != (Region{30, 3, 4, 2}) {
		t.Errorf("%v, %v", r, err)
	}
	for _, s := range []string{"32", "32/1/2/1/1", "32/1", "a/b/c", "32/1/2+", "-1/1/1"} {
		if r, err := ParseRegions(s); err == nil {
			t.Errorf("%q gave %v", s, r)
		}
	}
}

func FuzzParseRegions(f *testing.F) {
	f.Add("32/1/2+32/1/2")
	f.Add("all pairs")
	f.Fuzz(func(t *testing.T, s string) {
		regions, err := ParseRegions(s)
		if err != nil {
			return
		}
		if p, err := NewPlan(64, 3, regions...); err == nil && !slices.Equal(p.regions, regions) {
			t.Fatalf("%q: plan of %v", s, p.regions)
		}
	})
}
