package eval

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/sketch"
)

// FeaturePair is a feature of one of two documents, or of both.
type FeaturePair struct {
	Text string `json:"text"`
	A    int    `json:"a"` // its weight in the first document; 0: it is not there
	B    int    `json:"b"` // in the second
}

// Explanation says why two documents do or do not match.
type Explanation struct {
	Method       string         `json:"method"`
	A            Side           `json:"a"`
	B            Side           `json:"b"`
	Bits         int            `json:"bits"`       // of the fingerprints
	K            int            `json:"k"`          // the method's distance
	Distance     int            `json:"distance"`   // of the fingerprints
	Similarity   float64        `json:"similarity"` // of the fingerprints
	Segments     []string       `json:"segments"`   // keys of the segment tables in common
	Shared       []FeaturePair  `json:"shared"`     // features of both, those of the greatest common weight first
	OnlyA        []FeaturePair  `json:"only_a"`     // features of one alone, the greatest weight first
	OnlyB        []FeaturePair  `json:"only_b"`
	WeightShared float64        `json:"weight_shared"` // Σ min(a, b) / Σ max(a, b) of the features' weights
	Estimate     float64        `json:"estimate"`      // of the Jaccard similarity, by the sketches
	Error        float64        `json:"error"`         // its standard error
	Bands        int            `json:"bands"`         // of the sketch in common, of sketch.Bands
	Jaccard      float64        `json:"jaccard"`       // exact
	Containment  float64        `json:"containment"`   // exact, in the shorter one
	Candidate    bool           `json:"candidate"`     // the pair meets: by segment, band or as short texts
	Verdict      sketch.Verdict `json:"verdict"`
	Limit        float64        `json:"limit"` // similarity asked for; 0 for the distance alone and short texts

	textA, textB []byte
}

// Side is one of the two documents.
type Side struct {
	ID          string `json:"id"`
	Fingerprint string `json:"fingerprint"` // in hexadecimal digits
	Lane        string `json:"lane"`
	Features    int    `json:"features"` // distinct, that the fingerprint is made of
	Length      int    `json:"length"`   // characters of the normal form
	Shingles    int    `json:"shingles"` // distinct
}

// Rows lays the texts out side by side.
func (e *Explanation) Rows() []Row { return SideBySide(Diff(e.textA, e.textB), 0) }

// looked is what a run and its verdicts look at of a document.
type looked struct {
	row      data.FingerprintRow
	view     data.View
	text     []byte // without its site's template
	shingles []uint64
	features []simhash.Feature
}

func (x *looked) side(bits int) Side {
	fingerprint := simhash.Fingerprint{Hi: x.row.Hi, Lo: x.row.Lo}
	return Side{string(x.row.DocID), fingerprint.Hex(bits), x.row.Lane, int(x.row.Features), int(x.row.Length), len(x.shingles)}
}

// Explain compares two documents as a run of the method does.
func Explain(m *Neardup, a, b *Document) (_ *Explanation, err error) {
	rule, err := m.rule()
	if err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	templates, err := engine.Templates(m.Features)
	if err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	analyzer, release, err := engine.NewAnalyzer(m.Features)
	if err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	defer func() { err = errors.Join(err, release()) }()
	w := analyzer.NewWorkspace()
	fingerprinter := mapper.NewFingerprinter(w, true, templates)
	look := func(d *Document) (x looked) {
		doc := &data.Document{ID: []byte(d.ID), Title: d.Title, Text: d.Text}
		x.text = bytes.Clone(fingerprinter.Text(doc))
		fingerprinter.Fingerprint(doc, "", &x.row)
		mapper.View(&x.row, &x.view)
		x.shingles = sketch.Shingles(nil, w.Normal())
		x.features = w.Features(nil, d.Title, x.text)
		return x
	}
	x, y := look(a), look(b)
	bits, k := m.Features.Bits, m.Match.Distance
	ofA, ofB := simhash.Fingerprint{Hi: x.row.Hi, Lo: x.row.Lo}, simhash.Fingerprint{Hi: y.row.Hi, Lo: y.row.Lo}
	e := &Explanation{
		Method: m.Name(), Bits: bits, K: k, textA: x.text, textB: y.text,
		A: x.side(bits), B: y.side(bits),
		Distance:    simhash.Distance(ofA, ofB),
		Similarity:  simhash.Similarity(ofA, ofB, bits),
		Jaccard:     sketch.Jaccard(x.shingles, y.shingles),
		Containment: sketch.Containment(x.shingles, y.shingles),
		Segments:    []string{}, Shared: []FeaturePair{}, OnlyA: []FeaturePair{}, OnlyB: []FeaturePair{},
	}
	layout, err := simhash.NewLayout(bits, k)
	if err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	for t := range layout.Tables() {
		key, _ := layout.Key(t, ofA)
		if other, _ := layout.Key(t, ofB); key == other {
			e.Segments = append(e.Segments, key.String())
		}
	}
	e.features(x.features, y.features)
	e.sketches((*sketch.Sketch)(&x.view.Sketch), (*sketch.Sketch)(&y.view.Sketch))
	e.judge(m, rule, &x.view, &y.view)
	return e, nil
}

func (e *Explanation) sketches(x, y *sketch.Sketch) {
	e.Estimate = sketch.Estimate(x, y)
	e.Error = sketch.StandardError(e.Estimate)
	for i := range sketch.Bands {
		if !x.IsZero() && !y.IsZero() && x.Band(i) == y.Band(i) {
			e.Bands++
		}
	}
}

// Reasons of a verdict that only a whole method gives.
const (
	ReasonNear = "within the distance"
	ReasonFar  = "beyond the distance"
	ReasonLane = "too few features"
	ReasonMeet = "neither segment nor band in common"
)

// judge fills in the verdict, and why the pair is no candidate if it is none.
func (e *Explanation) judge(m *Neardup, rule *mapper.Confirmer, x, y *data.View) {
	e.Candidate, e.Verdict = rule.Judge(x, y)
	short := m.Match.ShortTexts && len(x.Letters) > 0 && len(y.Letters) > 0
	switch rules, length := m.Match.Rules(), min(e.A.Length, e.B.Length); {
	case e.Candidate && !m.Match.Verified():
		e.Verdict = sketch.Verdict{Same: true, Reason: ReasonNear}
	case short:
		e.Candidate = e.Verdict.Same
	case e.Candidate:
		e.Limit = rules.Limit(length)
		if e.Verdict.Open {
			e.Verdict = rules.Settle(e.Jaccard, length)
		}
	case e.A.Shingles == 0 || e.B.Shingles == 0:
		e.Verdict = sketch.Verdict{Reason: sketch.ReasonNothing}
	case m.Match.Bands:
		e.Verdict = sketch.Verdict{Reason: ReasonMeet}
	case e.Distance <= m.Match.Distance:
		e.Verdict = sketch.Verdict{Reason: ReasonLane}
	default:
		e.Verdict = sketch.Verdict{Reason: ReasonFar}
	}
}

func (e *Explanation) features(a, b []simhash.Feature) {
	other := make(map[string]int, len(b))
	for _, f := range b {
		other[f.Text] = f.Weight
	}
	least, most := 0, 0
	for _, f := range a {
		weight := other[f.Text]
		p := FeaturePair{Text: f.Text, A: f.Weight, B: weight}
		least, most = least+min(p.A, p.B), most+max(p.A, p.B)
		if weight > 0 {
			e.Shared = append(e.Shared, p)
			delete(other, f.Text)
		} else {
			e.OnlyA = append(e.OnlyA, p)
		}
	}
	for _, f := range b {
		if _, alone := other[f.Text]; alone {
			e.OnlyB = append(e.OnlyB, FeaturePair{Text: f.Text, B: f.Weight})
			most += f.Weight
		}
	}
	slices.SortStableFunc(e.Shared, func(p, q FeaturePair) int { return min(q.A, q.B) - min(p.A, p.B) })
	if most > 0 {
		e.WeightShared = float64(least) / float64(most)
	}
}

// explainedFeatures is how many features of a kind the text shows.
const explainedFeatures = 12

// WriteHTML writes the explanation as one page that needs nothing else.
func (e *Explanation) WriteHTML(w io.Writer) error {
	return pages.ExecuteTemplate(w, "explain.html", e)
}

// WriteText writes the explanation, without the texts, for a person to read.
func (e *Explanation) WriteText(w io.Writer) error {
	var b strings.Builder
	same := "not the same"
	if e.Verdict.Same {
		same = "the same"
	}
	fmt.Fprintf(&b, "verdict      %s: %s\n", same, e.Verdict.Reason)
	fmt.Fprintf(&b, "distance     %d of %d bits (k = %d), similarity %.4f\n", e.Distance, e.Bits, e.K, e.Similarity)
	fmt.Fprintf(&b, "fingerprints %s %s\n", e.A.Fingerprint, e.B.Fingerprint)
	fmt.Fprintf(&b, "segments     %d in common %s\n", len(e.Segments), strings.Join(e.Segments, " "))
	fmt.Fprintf(&b, "lanes        %s (%d features, %d characters), %s (%d features, %d characters)\n",
		e.A.Lane, e.A.Features, e.A.Length, e.B.Lane, e.B.Features, e.B.Length)
	fmt.Fprintf(&b, "sketches     J ≈ %.3f ± %.3f, %d of %d bands in common", e.Estimate, e.Error, e.Bands, sketch.Bands)
	if e.Limit > 0 {
		fmt.Fprintf(&b, ", limit %.2f", e.Limit)
	}
	fmt.Fprintf(&b, "\ntexts        J = %.3f, containment %.3f (%d and %d shingles)\n", e.Jaccard, e.Containment, e.A.Shingles, e.B.Shingles)
	fmt.Fprintf(&b, "features     %d shared, %d and %d alone, weight in common %.3f\n", len(e.Shared), len(e.OnlyA), len(e.OnlyB), e.WeightShared)
	for _, list := range []struct {
		name  string
		pairs []FeaturePair
	}{{"  shared    ", e.Shared}, {"  only first ", e.OnlyA}, {"  only second", e.OnlyB}} {
		fmt.Fprintf(&b, "%s", list.name)
		for _, p := range list.pairs[:min(len(list.pairs), explainedFeatures)] {
			fmt.Fprintf(&b, " %s %d/%d", p.Text, p.A, p.B)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
