package eval

import (
	"cmp"
	"math"
	"slices"

	"github.com/neardup/neardup/job/internal/labels"
	"github.com/neardup/neardup/job/internal/show"
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
	s.Value = float64(have) / float64(of)
	s.Low, s.High = Wilson(s.Value, float64(of))
	return s
}

// Wilson returns the 95 % interval of the proportion p of n, which need not be
// a whole number: that of a sample whose units weigh differently is less than
// there are. Of nothing it is 0 to 1.
func Wilson(p, n float64) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	const z = 1.959964
	centre := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, centre-half), min(1, centre+half)
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
	Pairs     int     `json:"pairs"`     // reported
	Precision Share   `json:"precision"` // right pairs of those reported
	Recall    Share   `json:"recall"`    // of the labelled pairs, where labels are of the truth; else of all right ones
	F1        float64 `json:"f1"`
}

// examplePair is a pair that a method got wrong.
type examplePair struct {
	Missed  bool       `json:"missed"` // a true one not reported, not one reported wrongly
	A       string     `json:"a"`      // ids
	B       string     `json:"b"`
	Score   float64    `json:"score"` // the method's; 0 when it did not report the pair
	Jaccard float64    `json:"jaccard"`
	Rows    []show.Row `json:"rows"` // the texts side by side: what differs, and what is next to it
}

// Figures are what a method does by a definition of truth.
type Figures struct {
	curvePoint
	Best curvePoint `json:"best"` // of all thresholds, by F1
}

// defined are the figures by one definition alone.
type defined struct {
	Truth     string `json:"truth"`
	Condition string `json:"condition"` // the same in mathematics
	Figures
}

// Result is one method's measurement.
type Result struct {
	Method string `json:"method"`
	Source string `json:"source"` // the text that describes it
	Figures
	Seconds     float64           `json:"seconds"` // from raw texts to pairs
	Definitions []defined         `json:"definitions"`
	Clusters    clusterFigures    `json:"clusters"`
	Contained   *containedFigures `json:"contained,omitempty"` // where containment is a definition
	Bands       []band            `json:"bands"`
	Groups      []group           `json:"groups"`     // by length, language, category and edit
	Dissimilar  int               `json:"dissimilar"` // reported pairs with J below 0.3
	Curve       []curvePoint      `json:"curve"`      // from the strictest on
	Examples    []examplePair     `json:"examples"`   // the most dissimilar pairs reported, and the most similar true ones missed
}

// bounds of the similarity bands.
var bounds = [...]float64{0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.000001}

const (
	curvePoints      = 200    // of a curve, at most
	maxFalseCompared = 20_000 // false pairs that are compared exactly, at most
)

// F1 is the harmonic mean of precision and recall.
func F1(precision, recall float64) float64 {
	if precision+recall == 0 {
		return 0
	}
	return 2 * precision * recall / (precision + recall)
}

// criterion says which pairs are right, and which of these recall is of.
type criterion struct{ right, wanted Definition }

// criterion is that of a definition.
func (l *Lab) criterion(d Definition) criterion {
	if len(l.corpus.Labelled) > 0 && d&TruthLabel != 0 {
		return criterion{d, TruthLabel}
	}
	return criterion{d, d}
}

// judges reports whether the criterion judges a reported pair. One that is
// contained and not the same it judges only where the definition says so of it.
// Where labels are asked, one that is labelled as unsure is neither right nor
// wrong; and where they alone are asked and some say no, neither is one without
// a label.
func (l *Lab) judges(c criterion, f Found) bool {
	if f.Contained && c.right&(TruthOwn|TruthContainment) == 0 {
		return false
	}
	label := l.truth[f.Pair].label
	return c.right&TruthLabel == 0 || label != labels.Unsure && (c.right != TruthLabel || len(l.corpus.Denied) == 0 || label != labels.None)
}

// rights reports whether a pair is right: where labels are asked, one that is
// labelled as no near-duplicate or as unsure is not, whatever else says so.
func (c criterion) rights(t truePair) bool { return t.by&c.right != 0 && !c.overruled(t) }

// wants reports whether recall is of a pair.
func (c criterion) wants(t truePair) bool { return t.by&c.wanted != 0 && !c.overruled(t) }

func (c criterion) overruled(t truePair) bool {
	return (c.right|c.wanted)&TruthLabel != 0 && (t.label == labels.No || t.label == labels.Unsure)
}

// tally counts the pairs that a method reports and those that recall is of, and
// how many of either are among the others.
type tally struct {
	criterion
	pairs, hits, of, have int
}

// tally begins one of no pair.
func (l *Lab) tally(c criterion) tally {
	t := tally{criterion: c}
	for p, truth := range l.truth {
		if l.counts(p) && c.wants(truth) {
			t.of++
		}
	}
	return t
}

// report adds a pair that a method reports.
func (t *tally) report(l *Lab, p Pair) {
	truth := l.truth[p]
	t.pairs++
	if t.rights(truth) {
		t.hits++
	}
	if t.wants(truth) {
		t.have++
	}
}

// add counts a pair that recall is of.
func (t *tally) add(have bool) {
	t.of++
	if have {
		t.have++
	}
}

func (t tally) precision() Share { return NewShare(t.hits, t.pairs) }
func (t tally) recall() Share    { return NewShare(t.have, t.of) }

// at is the figures so far, of scores from that one on.
func (t tally) at(score float64) curvePoint {
	p := curvePoint{Score: score, Pairs: t.pairs, Precision: t.precision(), Recall: t.recall()}
	p.F1 = F1(p.Precision.Value, p.Recall.Value)
	return p
}

// compare makes a result of distinct pairs. Of a tuned method those below its
// best score are left out.
func (l *Lab) compare(all []Found, tuned bool) (*Result, error) {
	half := func(list []Found) []Found {
		return slices.DeleteFunc(slices.Clone(list), func(f Found) bool { return !l.counts(f.Pair) })
	}
	found, main := half(all), l.criterion(l.options.Truth)
	r := &Result{}
	r.Figures, r.Curve = l.figures(found, main, tuned)
	for _, d := range l.defined() {
		f, _ := l.figures(found, l.criterion(d.Truth), tuned)
		r.Definitions = append(r.Definitions, defined{d.Name, d.condition(l.options.Alike), f})
	}
	if tuned {
		all = slices.DeleteFunc(slices.Clone(all), func(f Found) bool { return f.Score < r.Best.Score })
		found = half(all)
	}
	reported := make(map[Pair]Found, len(found))
	var wrong []Found
	for _, f := range found {
		reported[f.Pair] = f
		if l.judges(main, f) && !main.rights(l.truth[f.Pair]) {
			wrong = append(wrong, f)
		}
	}
	r.Clusters = l.clusters(all, main)
	if (l.options.Truth|l.options.Beside)&TruthContainment != 0 {
		r.Contained = l.containedFigures(reported)
	}
	r.bands(l, main, reported)
	r.groups(l, main, found)
	return r, r.falsePairs(l, wrong)
}

// defined lists the definitions that results state figures by.
func (l *Lab) defined() []DefinitionStatement {
	return slices.DeleteFunc(Definitions(), func(d DefinitionStatement) bool {
		return (l.options.Truth|l.options.Beside)&d.Truth == 0 || d.Truth == TruthLabel && len(l.corpus.Labelled) == 0
	})
}

// figures returns those of the pairs that the criterion judges, of a tuned
// method at its best score; and precision and recall for every score, thinned
// out.
func (l *Lab) figures(found []Found, c criterion, tuned bool) (f Figures, curve []curvePoint) {
	order := slices.DeleteFunc(slices.Clone(found), func(f Found) bool { return !l.judges(c, f) })
	slices.SortStableFunc(order, func(a, b Found) int { return cmp.Compare(b.Score, a.Score) })
	t := l.tally(c)
	f.curvePoint = t.at(0)
	for i, one := range order {
		t.report(l, one.Pair)
		if i+1 < len(order) && order[i+1].Score == one.Score {
			continue
		}
		f.curvePoint = t.at(one.Score)
		curve = append(curve, f.curvePoint)
		if f.F1 > f.Best.F1 {
			f.Best = f.curvePoint
		}
	}
	if tuned {
		f.curvePoint = f.Best
	}
	step, last := max(1, len(curve)/curvePoints), len(curve)-1
	thin := curve[:0]
	for i, p := range curve {
		if i%step == 0 || i == last {
			thin = append(thin, p)
		}
	}
	return f, thin
}

// bands fills in the recall by similarity, and the most similar pairs missed.
func (r *Result) bands(l *Lab, main criterion, reported map[Pair]Found) {
	var missed []Found
	var all, labelled [len(bounds) - 1]tally
	for p, t := range l.truth {
		if !l.counts(p) || !main.rights(t) {
			continue
		}
		f, hit := reported[p]
		hit = hit && l.judges(main, f)
		if !hit {
			missed = append(missed, Found{Pair: p, Score: t.jaccard})
		}
		i := 0
		for t.jaccard >= bounds[i+1] {
			i++
		}
		all[i].add(hit)
		if t.by&TruthLabel != 0 {
			labelled[i].add(hit)
		}
	}
	for i := range all {
		r.Bands = append(r.Bands, band{Low: bounds[i], High: min(1, bounds[i+1]), All: all[i].recall(), Labelled: labelled[i].recall()})
	}
	slices.SortFunc(missed, func(a, b Found) int { return cmp.Or(cmp.Compare(b.Score, a.Score), a.compare(b.Pair)) })
	for _, f := range missed[:min(len(missed), l.options.Examples)] {
		r.Examples = append(r.Examples, l.example(true, f.Pair, 0, f.Score))
	}
}

// falsePairs lists the most dissimilar of the false pairs. Of very many it
// looks at evenly spread ones, and scales the count of dissimilar ones.
func (r *Result) falsePairs(l *Lab, wrong []Found) error {
	a, err := normalizer()
	if err != nil {
		return err
	}
	w := a.NewWorkspace()
	step := max(1, (len(wrong)+maxFalseCompared-1)/maxFalseCompared)
	type compared struct {
		Found
		jaccard float64
	}
	var worst []compared
	for i := 0; i < len(wrong); i += step {
		jaccard, _ := sketch.Overlap(l.shingles(w, wrong[i].A), l.shingles(w, wrong[i].B))
		f := compared{wrong[i], jaccard}
		if f.jaccard < 0.3 {
			r.Dissimilar += step
		}
		worst = append(worst, f)
	}
	r.Dissimilar = min(r.Dissimilar, len(wrong))
	slices.SortFunc(worst, func(a, b compared) int { return cmp.Or(cmp.Compare(a.jaccard, b.jaccard), a.compare(b.Pair)) })
	for _, f := range worst[:min(len(worst), l.options.Examples)] {
		r.Examples = append(r.Examples, l.example(false, f.Pair, f.Score, f.jaccard))
	}
	return nil
}

// What an example shows.
const (
	diffText = 2000 // characters of the texts that are compared
	diffRows = 24   // rows that this gives at most
)

func (l *Lab) example(missed bool, p Pair, score, jaccard float64) examplePair {
	a, b := &l.corpus.Documents[p.A], &l.corpus.Documents[p.B]
	rows := show.SideBySide(show.Diff([]byte(show.Excerpt(a.Text, diffText)), []byte(show.Excerpt(b.Text, diffText))), diffRows)
	return examplePair{Missed: missed, A: a.ID, B: b.ID, Score: score, Jaccard: jaccard, Rows: rows}
}
