package sketch

import "testing"

func TestRules(t *testing.T) {
	r := Rules{LongFrom: 100, Short: 0.6, Long: 0.4, Border: 0.1}
	for _, c := range []struct {
		estimate float64
		length   int
		want     Verdict
	}{
		{0.75, 99, Verdict{Same: true, Reason: reasonSketchAlike}},
		{0.65, 99, Verdict{Same: true, Open: true, Reason: ReasonOpen}},
		{0.55, 99, Verdict{Open: true, Reason: ReasonOpen}},
		{0.45, 99, Verdict{Reason: reasonSketchUnlike}},
		{0.55, 100, Verdict{Same: true, Reason: reasonSketchAlike}},
		{0.35, 100, Verdict{Open: true, Reason: ReasonOpen}},
	} {
		if got := r.Judge(c.estimate, c.length); got != c.want {
			t.Errorf("Judge(%v, %d) = %+v, want %+v", c.estimate, c.length, got, c.want)
		}
	}
	if got := r.Settle(0.6, 99); got != (Verdict{Same: true, Reason: reasonTextsAlike}) {
		t.Errorf("at the limit: %+v", got)
	}
	if got := r.Settle(0.59, 99); got != (Verdict{Reason: reasonTextsUnlike}) {
		t.Errorf("below the limit: %+v", got)
	}
	r.Border = 0
	if got := r.Judge(0.6, 0); got != (Verdict{Same: true, Reason: reasonSketchAlike}) {
		t.Errorf("without a border: %+v", got)
	}
}
