package eval

import (
	"fmt"
	"testing"

	"github.com/neardup/neardup/job/internal/message"
)

// All methods with their sources, on the held-out half of the mix; and on a
// sample of it those too that compare all pairs of texts.
func TestBaselines(t *testing.T) {
	laboratory(t)
	all := func(t *testing.T, title string, c *Corpus, small bool, half int) {
		l := newLab(t, c, Options{Half: half})
		report := l.Report(title)
		for _, s := range Methods() {
			if s.Small && !small {
				continue
			}
			m, err := Parse(s.Name)
			if err != nil {
				t.Fatal(err)
			}
			r, err := l.Measure(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			if r.Source != s.Source || r.Pairs == 0 {
				t.Errorf("%s of %q: %d pairs", r.Method, r.Source, r.Pairs)
			}
			report.Results = append(report.Results, r)
		}
		if err := report.WriteText(t.Output(), message.English); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(t.Output()); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("sample", func(t *testing.T) { all(t, "a sample of the mix", sampleOf(mix(t, false), 500), true, AllPairs) })
	t.Run("mix", func(t *testing.T) { all(t, "the mix, held-out half", mix(t, true), false, 1) })
}

// sampleOf returns n labelled pairs of a corpus, evenly spread, and three times
// as many of its other documents.
func sampleOf(c *Corpus, n int) *Corpus {
	out, of := &Corpus{}, map[int32]bool{}
	for _, p := range c.Labelled {
		of[p.A], of[p.B] = true, true
	}
	for i := range n {
		p := c.Labelled[i*len(c.Labelled)/n]
		at := int32(len(out.Documents))
		out.Documents = append(out.Documents, c.Documents[p.A], c.Documents[p.B])
		out.Labelled = append(out.Labelled, Pair{at, at + 1})
	}
	var others []Document
	for i, d := range c.Documents {
		if !of[int32(i)] {
			others = append(others, d)
		}
	}
	for i := range 3 * n {
		out.Documents = append(out.Documents, others[i*len(others)/(3*n)])
	}
	return out
}
