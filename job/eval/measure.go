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

// Band is the recall of the true pairs whose Jaccard similarity is Low to
// below High.
type Band struct {
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	All      Share   `json:"all"`      // of all true pairs
	Labelled Share   `json:"labelled"` // of the labelled ones
}

// Point is what a method does when it reports only scores from Score on.
type Point struct {
	Score     float64 `json:"score"`
	Pairs     int     `json:"pairs"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
}

// Example is a pair that a method got wrong.
type Example struct {
	A       string  `json:"a"` // ids
	B       string  `json:"b"`
	Score   float64 `json:"score"` // the method's; 0 when it did not report the pair
	Jaccard float64 `json:"jaccard"`
	TextA   string  `json:"text_a"` // the start of the texts
	TextB   string  `json:"text_b"`
	Rows    []Row   `json:"rows"` // the texts side by side: what differs, and what is next to it
}

// Result is one method's measurement.
type Result struct {
	Method     string    `json:"method"`
	Pairs      int       `json:"pairs"`     // reported
	Precision  Share     `json:"precision"` // true pairs of those reported
	Recall     Share     `json:"recall"`    // labelled pairs found; without labels, all true pairs
	F1         float64   `json:"f1"`
	Seconds    float64   `json:"seconds"` // from raw texts to pairs
	Bands      []Band    `json:"bands"`
	Groups     []Group   `json:"groups"`     // by length, script, category and edit
	Dissimilar int       `json:"dissimilar"` // reported pairs with J below 0.3
	Curve      []Point   `json:"curve"`      // from the strictest on
	Best       Point     `json:"best"`       // of the curve, by F1
	False      []Example `json:"false"`      // the most dissimilar pairs reported
	Missed     []Example `json:"missed"`     // the most similar true pairs not reported
}

// bounds of the similarity bands.
var bounds = []float64{0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.000001}

// curvePoints is the most points of a curve.
const curvePoints = 200

// F1 is the harmonic mean of precision and recall.
func F1(precision, recall float64) float64 {
	if precision+recall == 0 {
		return 0
	}
	return 2 * precision * recall / (precision + recall)
}

// compare makes a result of distinct pairs.
func (l *Lab) compare(found []Found) (*Result, error) {
	a, err := normalizer()
	if err != nil {
		return nil, err
	}
	w := a.NewWorkspace()
	r := &Result{}
	found = slices.DeleteFunc(slices.Clone(found), func(f Found) bool { return !l.counts(f.Pair) })
	reported := make(map[Pair]bool, len(found))
	for _, f := range found {
		reported[f.Pair] = true
	}

	wanted := 0 // pairs that recall is of
	labelled := len(l.corpus.Labelled) > 0
	var missed []Found
	for i := range len(bounds) - 1 {
		r.Bands = append(r.Bands, Band{Low: bounds[i], High: min(1, bounds[i+1])})
	}
	have := 0
	for p, t := range l.truth {
		if !l.counts(p) {
			continue
		}
		band := &r.Bands[bandOf(t.Jaccard)]
		hit := 0
		if reported[p] {
			hit = 1
		}
		band.All.Of, band.All.Have = band.All.Of+1, band.All.Have+hit
		if t.Labelled {
			band.Labelled.Of, band.Labelled.Have = band.Labelled.Of+1, band.Labelled.Have+hit
		}
		if t.Labelled || !labelled {
			wanted, have = wanted+1, have+hit
		}
		if hit == 0 {
			missed = append(missed, Found{p, t.Jaccard})
		}
	}
	for i := range r.Bands {
		b := &r.Bands[i]
		b.All, b.Labelled = NewShare(b.All.Have, b.All.Of), NewShare(b.Labelled.Have, b.Labelled.Of)
	}

	r.Pairs = len(found)
	var wrong []Found
	for _, f := range found {
		if _, ok := l.truth[f.Pair]; !ok {
			wrong = append(wrong, f)
		}
	}
	r.Precision, r.Recall = NewShare(len(found)-len(wrong), len(found)), NewShare(have, wanted)
	r.F1 = F1(r.Precision.Value, r.Recall.Value)
	r.groups(l, found, reported, labelled)
	r.curve(l, found, wanted, labelled)
	r.falsePairs(l, w, wrong)
	slices.SortFunc(missed, func(a, b Found) int { return cmp.Or(cmp.Compare(b.Score, a.Score), a.compare(b.Pair)) })
	for _, f := range missed[:min(len(missed), l.options.Examples)] {
		r.Missed = append(r.Missed, l.example(f.Pair, 0, f.Score))
	}
	return r, nil
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

func bandOf(j float64) int {
	for i := len(bounds) - 2; i > 0; i-- {
		if j >= bounds[i] {
			return i
		}
	}
	return 0
}

// curve fills in precision and recall for every score, thinned out.
func (r *Result) curve(l *Lab, found []Found, wanted int, labelled bool) {
	order := slices.Clone(found)
	slices.SortStableFunc(order, func(a, b Found) int { return cmp.Compare(b.Score, a.Score) })
	right, have := 0, 0
	var all []Point
	for i, f := range order {
		if t, ok := l.truth[f.Pair]; ok {
			right++
			if t.Labelled || !labelled {
				have++
			}
		}
		if i+1 < len(order) && order[i+1].Score == f.Score {
			continue
		}
		p := Point{Score: f.Score, Pairs: i + 1, Precision: float64(right) / float64(i+1)}
		if wanted > 0 {
			p.Recall = float64(have) / float64(wanted)
		}
		p.F1 = F1(p.Precision, p.Recall)
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

func (l *Lab) example(p Pair, score, jaccard float64) Example {
	a, b := &l.corpus.Documents[p.A], &l.corpus.Documents[p.B]
	rows := SideBySide(Diff([]byte(excerpt(a.Text, diffText)), []byte(excerpt(b.Text, diffText))), diffRows)
	return Example{
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
