package shuffle

import (
	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/mapper"
)

// verdicts compares the documents of a group, and gives a verdict on each candidate
// pair at once. It calls documents by their places in the views. Only one goroutine
// may use it at a time.
type verdicts struct {
	compare *mapper.Comparer
	verify  *mapper.Verifier
	did     []rundir.TableCount // candidates and pairs, by table of mapper.Tables
}

// newVerdicts returns the verdicts on documents whose views are given, which calls
// emit with the pairs. Its compare returns no error, as it reads memory alone.
func newVerdicts(rule mapper.Rule, views *mapper.Units, emit func(data.Pair)) *verdicts {
	v := &verdicts{verify: mapper.NewVerifier(rule), did: make([]rundir.TableCount, len(mapper.Tables))}
	var a, b data.View
	view := func(doc uint64, v *data.View) error {
		views.View(uint32(doc), v)
		return nil
	}
	v.compare = mapper.NewComparer(rule, view, func(c mapper.Candidate) error {
		if c.Table >= 0 {
			v.did[c.Table].Candidates++
		}
		if c.Table != mapper.Samples && v.verify.Unlike(views, c.Table, uint32(c.A), uint32(c.B)) {
			return nil
		}
		views.View(uint32(c.A), &a)
		views.View(uint32(c.B), &b)
		if p, ok := v.verify.Pair(&c, &a, &b); ok {
			if c.Table >= 0 {
				v.did[c.Table].Pairs++
			}
			emit(p)
		}
		return nil
	})
	return v
}
