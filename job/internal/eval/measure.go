package eval

import (
	"cmp"
	"math"
	"slices"

	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/sketch"
)

// Share is a proportion with its 95 % interval by Wilson (Probable Inference,
// the Law of Succession, and Statistical Inference, JASA 1927).
type Share struct {
	Of    int     `json:"of"`   // how many there are
	Have  int     `json:"have"` // how many of them
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// NewShare returns have / of with its interval; 0 of 0 is 0, from 0 to 1.
func NewShare(have, of int) Share {
	s := Share{Of: of, Have: have, High: 1}
	if of == 0 {
		return s
	}
	const z = 1.959964
	n, p := float64(of), float64(have)/float64(of)
	centre := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	s.Value, s.Low, s.High = p, max(0, centre-half), min(1, centre+half)
	return s
}

// band is the recall of the true pairs whose Jaccard similarity is Low to
// below High.
type band struct {
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	All      Share   `json:"all"`      // of all true pairs
	Labelled Share   `json:"labelled"` // of the labelled ones
}

// curvePoint is what a method does when it reports only scores from Score on.
type curvePoint struct {
	Score     float64 `json:"score"`
	Pairs     int     `json:"pairs"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
}

// examplePair is a pair that a method got wrong.
type examplePair struct {
	A       string    `json:"a"` // ids
	B       string    `json:"b"`
	Score   float64   `json:"score"` // the method's; 0 when it did not report the pair
	Jaccard float64   `json:"jaccard"`
	TextA   string    `json:"text_a"` // the start of the texts
	TextB   string    `json:"text_b"`
	Rows    []diffRow `json:"rows"` // the texts side by side: what differs, and what is next to it
}

// Result is one method's measurement.
type Result struct {
	Method     string        `json:"method"`
	Pairs      int           `json:"pairs"`     // reported
	Precision  Share         `json:"precision"` // true pairs of those reported
	Recall     Share         `json:"recall"`    // labelled pairs found; without labels, all true pairs
	F1         float64       `json:"f1"`
	Seconds    float64       `json:"seconds"` // from raw texts to pairs
	Bands      []band        `json:"bands"`
	Groups     []group       `json:"groups"`     // by length, script, category and edit
	Dissimilar int           `json:"dissimilar"` // reported pairs with J below 0.3
	Curve      []curvePoint  `json:"curve"`      // from the strictest on
	Best       curvePoint    `json:"best"`       // of the curve, by F1
	False      []examplePair `json:"false"`      // the most dissimilar pairs reported
	Missed     []examplePair `json:"missed"`     // the most similar true pairs not reported
}

// bounds of the similarity bands.
var bounds = [...]float64{0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.000001}

// curvePoints is the most points of a curve.
const curvePoints = 200

// F1 is the harmonic mean of precision and recall.
func F1(precision, recall float64) float64 {
	if precision+recall == 0 {
		return 0
	}
	return 2 * precision * recall / (precision + recall)
}

// tally counts the pairs that a method reports and those that recall is of, and
// how many of either are among the others.
type tally struct{ pairs, right, wanted, have int }

// report adds a pair that a method reports.
func (t *tally) report(l *Lab, p Pair) {
	t.pairs++
	if truth, ok := l.truth[p]; ok {
		t.right++
		if l.wants(truth) {
			t.have++
		}
	}
}

func (t tally) precision() Share { return NewShare(t.right, t.pairs) }
func (t tally) recall() Share    { return NewShare(t.have, t.wanted) }
func (t tally) f1() float64      { return F1(t.precision().Value, t.recall().Value) }

// wants reports whether recall is of a true pair: without labels of all, else
// of the labelled ones.
func (l *Lab) wants(t truePair) bool { return t.Labelled || len(l.corpus.Labelled) == 0 }

// wanted returns how many pairs recall is of.
func (l *Lab) wanted() (n int) {
	for p, t := range l.truth {
		if l.counts(p) && l.wants(t) {
			n++
		}
	}
	return n
}

// compare makes a result of distinct pairs.
func (l *Lab) compare(found []Found) (*Result, error) {
	a, err := normalizer()
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(slices.Clone(found), func(f Found) bool { return !l.counts(f.Pair) })
	all := tally{wanted: l.wanted()}
	reported := make(map[Pair]bool, len(found))
	var wrong []Found
	for _, f := range found {
		all.report(l, f.Pair)
		reported[f.Pair] = true
		if _, ok := l.truth[f.Pair]; !ok {
			wrong = append(wrong, f)
		}
	}
	r := &Result{Pairs: all.pairs, Precision: all.precision(), Recall: all.recall(), F1: all.f1()}
	r.bands(l, reported)
	r.groups(l, found)
	r.curve(l, found, all.wanted)
	r.falsePairs(l, a.NewWorkspace(), wrong)
	return r, nil
}

// bands fills in the recall by similarity, and the most similar pairs missed.
func (r *Result) bands(l *Lab, reported map[Pair]bool) {
	var missed []Found
	var all, labelled [len(bounds) - 1]tally
	for p, t := range l.truth {
		if !l.counts(p) {
			continue
		}
		hit := 0
		if reported[p] {
			hit = 1
		} else {
			missed = append(missed, Found{p, t.Jaccard})
		}
		i := 0
		for t.Jaccard >= bounds[i+1] {
			i++
		}
		all[i].wanted, all[i].have = all[i].wanted+1, all[i].have+hit
		if t.Labelled {
			labelled[i].wanted, labelled[i].have = labelled[i].wanted+1, labelled[i].have+hit
		}
	}
	for i := range all {
		r.Bands = append(r.Bands, band{Low: bounds[i], High: min(1, bounds[i+1]), All: all[i].recall(), Labelled: labelled[i].recall()})
	}
	slices.SortFunc(missed, func(a, b Found) int { return cmp.Or(cmp.Compare(b.Score, a.Score), a.compare(b.Pair)) })
	for _, f := range missed[:min(len(missed), l.options.Examples)] {
		r.Missed = append(r.Missed, l.example(f.Pair, 0, f.Score))
	}
}

// maxFalseCompared bounds how many false pairs are compared exactly.
const maxFalseCompared = 20_000

// falsePairs lists the most dissimilar of the false pairs. Of very many it
// looks at evenly spread ones, and scales the count of dissimilar ones.
func (r *Result) falsePairs(l *Lab, w *simhash.Workspace, wrong []Found) {
	step := max(1, (len(wrong)+maxFalseCompared-1)/maxFalseCompared)
	scores := map[Pair]float64{}
	var worst []Found // with their similarity
	for i := 0; i < len(wrong); i += step {
		f := wrong[i]
		j := sketch.Jaccard(l.shingles(w, f.A), l.shingles(w, f.B))
		if j < 0.3 {
			r.Dissimilar += step
		}
		scores[f.Pair] = f.Score
		worst = append(worst, Found{f.Pair, j})
	}
	r.Dissimilar = min(r.Dissimilar, len(wrong))
	slices.SortFunc(worst, func(a, b Found) int { return cmp.Or(cmp.Compare(a.Score, b.Score), a.compare(b.Pair)) })
	for _, f := range worst[:min(len(worst), l.options.Examples)] {
		r.False = append(r.False, l.example(f.Pair, scores[f.Pair], f.Score))
	}
}

// curve fills in precision and recall for every score, thinned out.
func (r *Result) curve(l *Lab, found []Found, wanted int) {
	order := slices.Clone(found)
	slices.SortStableFunc(order, func(a, b Found) int { return cmp.Compare(b.Score, a.Score) })
	t := tally{wanted: wanted}
	var all []curvePoint
	for i, f := range order {
		t.report(l, f.Pair)
		if i+1 < len(order) && order[i+1].Score == f.Score {
			continue
		}
		p := curvePoint{Score: f.Score, Pairs: t.pairs, Precision: t.precision().Value, Recall: t.recall().Value, F1: t.f1()}
		all = append(all, p)
		if p.F1 > r.Best.F1 {
			r.Best = p
		}
	}
	step := max(1, len(all)/curvePoints)
	for i, p := range all {
		if i%step == 0 || i == len(all)-1 {
			r.Curve = append(r.Curve, p)
		}
	}
}

// exampleText is how many characters of a text an example shows.
const exampleText = 600

// diffText is how many characters of the texts of an example are compared, and
// diffRows how many rows that gives at most.
const (
	diffText = 2000
	diffRows = 24
)

func (l *Lab) example(p Pair, score, jaccard float64) examplePair {
	a, b := &l.corpus.Documents[p.A], &l.corpus.Documents[p.B]
	rows := sideBySide(diff([]byte(excerpt(a.Text, diffText)), []byte(excerpt(b.Text, diffText))), diffRows)
	return examplePair{
		A: a.ID, B: b.ID, Score: score, Jaccard: jaccard, Rows: rows,
		TextA: excerpt(a.Text, exampleText), TextB: excerpt(b.Text, exampleText),
	}
}

// excerpt returns the first characters of a text, in valid UTF-8.
func excerpt(text []byte, most int) string {
	n := 0
	for i := range string(text) {
		if n++; n > most {
			return string([]rune(string(text[:i]))) + "…"
		}
	}
	return string([]rune(string(text)))
}
