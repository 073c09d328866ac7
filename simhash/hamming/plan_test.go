package hamming

import "testing"

func TestChosen(t *testing.T) {
	for _, k := range []int{3, 8, 10} {
		for _, n := range []int{1 << 10, 1 << 14, 1 << 17, 1_000_000, 10_000_000, 100_000_000} {
			p, err := ChoosePlan(64, k, n)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("n=%d: %v: %.0f ns", n, p, p.Cost(n))
		}
	}
}
