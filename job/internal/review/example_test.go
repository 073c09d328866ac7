package review_test

import (
	"fmt"

	"github.com/neardup/neardup/job/internal/labels"
	"github.com/neardup/neardup/job/internal/review"
)

func Example() {
	// Of 100 pairs that a run takes for the same four were drawn and read.
	draw := review.Draw{Strata: []review.Stratum{{Name: review.StratumNear, Round: 1, Pairs: 100, Drawn: 4}}}
	var verdicts []labels.Row
	for i, answer := range []labels.Answer{labels.Yes, labels.Yes, labels.No, labels.Yes} {
		p := review.Pair{A: fmt.Sprint("a", i), B: fmt.Sprint("b", i), Stratum: review.StratumNear}
		draw.Pairs = append(draw.Pairs, p)
		verdicts = append(verdicts, labels.Row{A: p.A, B: p.B, Answer: answer, Who: "ada"})
	}
	p := draw.Judge(verdicts).Precision
	fmt.Printf("precision %.2f, from %.2f to %.2f\n", p.Value, p.Low, p.High)
	// Output: precision 0.75, from 0.30 to 0.95
}
