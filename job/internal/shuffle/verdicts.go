package shuffle

import (
	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/mapper"
)

// Verdicts is a [mapper.Comparer] for documents whose views are in memory: it gives a
// verdict on each candidate pair at once. It calls documents by their places in the
// views. Only one goroutine may use it at a time.
type Verdicts struct {
	*mapper.Comparer // its methods return no error, as they read memory alone

	verify *mapper.Verifier
	did    []rundir.TableCount // candidates and pairs, by table of mapper.Tables
}

// NewVerdicts returns the verdicts on documents of these views, to which more may be
// appended. It calls emit with the pairs: those that are the same, and those that only
// the texts can decide.
func NewVerdicts(rule mapper.Rule, views *mapper.Units, emit func(data.Pair)) *Verdicts {
	v := &Verdicts{verify: mapper.NewVerifier(rule), did: make([]rundir.TableCount, len(mapper.Tables))}
	var a, b data.View
	view := func(doc uint64, v *data.View) error {
		views.View(uint32(doc), v)
		return nil
	}
	v.Comparer = mapper.NewComparer(rule, view, func(c mapper.Candidate) error {
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

// AddTo adds the candidates and pairs so far to the counts of mapper.Tables.
func (v *Verdicts) AddTo(counts []*Count) {
	for table, count := range counts {
		count.Add(v.did[table])
	}
}
