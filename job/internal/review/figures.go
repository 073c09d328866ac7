package review

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/neardup/neardup/job/internal/eval"
	"github.com/neardup/neardup/job/internal/labels"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/show"
)

// Figures are what the verdicts of readers say of a run.
type Figures struct {
	Run       string          `json:"run"`
	Read      int             `json:"read"`    // pairs with a verdict
	Drawn     int             `json:"drawn"`   // pairs there are to read
	Strangers int             `json:"unknown"` // pairs of the verdicts that were not drawn
	Strata    []StratumFigure `json:"strata"`
	Precision Estimate        `json:"precision"` // of what the run takes for the same
	Recall    Estimate        `json:"recall"`    // of what the wider search can see
	Missed    float64         `json:"missed"`    // pairs beyond the limit that are near-duplicates, about
	Readers   []Reader        `json:"readers"`
	Agreement Agreement       `json:"agreement"`
}

// StratumFigure is what the readers say of a stratum.
type StratumFigure struct {
	Stratum
	Yes    int        `json:"yes"`
	No     int        `json:"no"`
	Unsure int        `json:"unsure"`
	Right  eval.Share `json:"right"` // yes, of yes and no
}

// Estimate is a figure of a run, estimated from a sample, with its 95 %
// interval; Of is how many verdicts it is made from.
type Estimate struct {
	Of    int     `json:"of"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Reader is somebody who gave verdicts.
type Reader struct {
	Who    string `json:"who"`
	Yes    int    `json:"yes"`
	No     int    `json:"no"`
	Unsure int    `json:"unsure"`
}

// Agreement is of the pairs that two readers or more judged.
type Agreement struct {
	Agreed   eval.Share    `json:"agreed"` // of the pairs that two or more said yes or no to
	Kappa    *float64      `json:"kappa"`  // Cohen's, of two readers; null of others
	Disputed []labels.Pair `json:"disputed,omitempty"`
}

// Judge makes figures of the readers' verdicts.
func (d *Draw) Judge(rows []labels.Row) *Figures {
	f := &Figures{Run: d.Run, Drawn: len(d.Pairs)}
	answers := d.answers(rows, f)
	for _, s := range d.Strata {
		of := StratumFigure{Stratum: s}
		for i := range d.Pairs {
			if d.Pairs[i].Stratum != s.Name {
				continue
			}
			switch answers[i] {
			case labels.Yes:
				of.Yes++
			case labels.No:
				of.No++
			case labels.Unsure:
				of.Unsure++
			}
		}
		of.Right = eval.NewShare(of.Yes, of.Yes+of.No)
		f.Strata = append(f.Strata, of)
	}
	f.Precision = stratified(f.Strata, (*Stratum).claims)
	f.recall()
	return f
}

// answers returns the merged answer for each pair, and fills in who gave them.
func (d *Draw) answers(rows []labels.Row, f *Figures) []labels.Answer {
	at := map[[2]string]int{}
	key := func(a, b string) [2]string { return [2]string{min(a, b), max(a, b)} }
	for i, p := range d.Pairs {
		at[key(p.A, p.B)] = i
	}
	answers := make([]labels.Answer, len(d.Pairs))
	readers := map[string]*Reader{}
	var both [2][2]int // of two readers: what the one says, and the other
	agreed, judged := 0, 0
	for _, p := range labels.Merge(rows) {
		i, ours := at[key(p.A, p.B)]
		if !ours {
			f.Strangers++
			continue
		}
		f.Read++
		answers[i] = p.Answer
		var says []int // 1: yes, 0: no
		for _, v := range p.Votes {
			r := readers[v.Who]
			if r == nil {
				r = &Reader{Who: v.Who}
				readers[v.Who] = r
			}
			switch v.Answer {
			case labels.Yes:
				r.Yes++
				says = append(says, 1)
			case labels.No:
				r.No++
				says = append(says, 0)
			case labels.Unsure:
				r.Unsure++
			}
		}
		if len(says) < 2 {
			continue
		}
		judged++
		if !p.Disagree() {
			agreed++
		} else {
			f.Agreement.Disputed = append(f.Agreement.Disputed, p)
		}
		both[says[0]][says[1]]++
	}
	for _, r := range readers {
		f.Readers = append(f.Readers, *r)
	}
	slices.SortFunc(f.Readers, func(a, b Reader) int { return cmp.Compare(a.Who, b.Who) })
	f.Agreement.Agreed = eval.NewShare(agreed, judged)
	if len(f.Readers) == 2 {
		f.Agreement.Kappa = kappa(both)
	}
	return answers
}

// kappa is how far two readers agree beyond chance (Cohen: A coefficient of
// agreement for nominal scales, 1960); nil where chance alone agrees fully.
func kappa(both [2][2]int) *float64 {
	n := float64(both[0][0] + both[0][1] + both[1][0] + both[1][1])
	if n == 0 {
		return nil
	}
	observed := float64(both[0][0]+both[1][1]) / n
	chance := (float64(both[0][0]+both[0][1])*float64(both[0][0]+both[1][0]) + float64(both[1][0]+both[1][1])*float64(both[0][1]+both[1][1])) / (n * n)
	if chance == 1 {
		return nil
	}
	k := (observed - chance) / (1 - chance)
	return &k
}

// stratified is the share of right pairs in the strata that are asked for, each
// by as many pairs as it has and not by as many as were read. Its interval is
// Wilson's at the effective size of the sample, 1 / Σ W² / n for strata of
// weight W with n verdicts (Kish: Survey Sampling, 1965). A stratum that nobody
// read counts for nothing.
func stratified(strata []StratumFigure, of func(*Stratum) bool) (e Estimate) {
	var pairs, right, spread float64
	for i := range strata {
		if s := &strata[i]; of(&s.Stratum) && s.Right.Of > 0 {
			pairs += float64(s.Pairs)
			right += float64(s.Pairs) * s.Right.Value
			e.Of += s.Right.Of
		}
	}
	if pairs == 0 {
		e.High = 1
		return e
	}
	for i := range strata {
		if s := &strata[i]; of(&s.Stratum) && s.Right.Of > 0 {
			w := float64(s.Pairs) / pairs
			spread += w * w / float64(s.Right.Of)
		}
	}
	e.Value = right / pairs
	e.Low, e.High = eval.Wilson(e.Value, 1/spread)
	return e
}

// recall is the right pairs of the first round, of those of both. Earlier
// nights are left out, which the wider search does not look at. The interval
// takes the ends of both shares that are furthest apart.
func (f *Figures) recall() {
	f.Recall.High = 1
	found := func(s *Stratum) bool { return s.claims() && s.Name != StratumHistory }
	missed := func(s *Stratum) bool { return s.Round == 2 }
	a, b := stratified(f.Strata, found), stratified(f.Strata, missed)
	var had, beyond float64
	for i := range f.Strata {
		switch s := &f.Strata[i]; {
		case s.Right.Of == 0:
		case found(&s.Stratum):
			had += float64(s.Pairs)
		case missed(&s.Stratum):
			beyond += float64(s.Pairs)
		}
	}
	f.Missed = b.Value * beyond
	share := func(found, missed float64) float64 {
		if found+missed == 0 {
			return 0
		}
		return found / (found + missed)
	}
	if a.Of == 0 || b.Of == 0 {
		return
	}
	f.Recall = Estimate{a.Of + b.Of, share(a.Value*had, b.Value*beyond), share(a.Low*had, b.High*beyond), share(a.High*had, b.Low*beyond)}
}

// WriteText writes the figures for a person, in the language of t.
func (f *Figures) WriteText(w io.Writer, t message.Language) error {
	var b strings.Builder
	b.WriteString(t.Text("%s: %s of %s drawn pairs have a verdict", show.Line(f.Run), show.Number(int64(f.Read)), show.Number(int64(f.Drawn))))
	if f.Strangers > 0 {
		b.WriteString(t.Text("; %s more are about other pairs and are ignored", show.Number(int64(f.Strangers))))
	}
	b.WriteString("\n\n")
	var c show.Columns
	c.Row(t.Text("stratum"), t.Text("pairs"), t.Text("read"), t.Text("yes"), t.Text("no"), t.Text("unsure"), t.Text("right"), "95 %")
	for i := range f.Strata {
		s := &f.Strata[i]
		right, interval := "–", "–"
		if s.Right.Of > 0 {
			right, interval = s.Right.String(), fmt.Sprintf("%.3f–%.3f", s.Right.Low, s.Right.High)
		}
		c.Row(stratum(t, s.Name), show.Number(s.Pairs), s.Yes+s.No+s.Unsure, s.Yes, s.No, s.Unsure, right, interval)
	}
	if err := c.Write(&b); err != nil {
		return err
	}
	b.WriteByte('\n')
	f.estimate(&b, t, t.Text("precision"), f.Precision, t.Text("of the pairs that the run judges the same"))
	f.estimate(&b, t, t.Text("recall"), f.Recall, t.Text("of the pairs that the wider search can find: an upper bound"))
	if f.Recall.Of > 0 {
		b.WriteString(t.Text("missed       about %s pairs beyond the limit are near-duplicates\n", show.Number(int64(f.Missed+0.5))))
	}
	for _, r := range f.Readers {
		b.WriteString(t.Text("reader       %s: %d yes, %d no, %d unsure\n", show.Line(cmp.Or(r.Who, "–")), r.Yes, r.No, r.Unsure))
	}
	if a := f.Agreement; a.Agreed.Of > 0 {
		b.WriteString(t.Text("agreement    %d of %d pairs that several judged (95 %%: %.3f–%.3f)", a.Agreed.Have, a.Agreed.Of, a.Agreed.Low, a.Agreed.High))
		if a.Kappa != nil {
			b.WriteString(t.Text(", kappa %.2f", *a.Kappa))
		}
		b.WriteByte('\n')
		const most = 10
		for _, p := range a.Disputed[:min(len(a.Disputed), most)] {
			fmt.Fprintf(&b, "  %s · %s:", show.Cut(p.A, 60), show.Cut(p.B, 60))
			for _, v := range p.Votes {
				fmt.Fprintf(&b, " %s %s", show.Cut(cmp.Or(v.Who, "–"), 30), answer(t, v.Answer))
			}
			b.WriteByte('\n')
		}
		if more := len(a.Disputed) - most; more > 0 {
			b.WriteString(t.Text("  and %d more, which --json lists\n", more))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *Figures) estimate(b *strings.Builder, t message.Language, name string, e Estimate, note string) {
	pad := strings.Repeat(" ", max(1, 13-show.Cells(name)))
	if e.Of == 0 {
		b.WriteString(t.Text("%s%snot known: too few pairs judged\n", name, pad))
		return
	}
	fmt.Fprintf(b, "%s%s%.4f (95 %%: %.4f–%.4f; %d) %s\n", name, pad, e.Value, e.Low, e.High, e.Of, note)
}
