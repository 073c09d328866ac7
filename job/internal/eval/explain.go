package eval

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/sketch"
	"github.com/neardup/neardup/simhash/template"
)

// featurePair is a feature of one of two documents, or of both.
type featurePair struct {
	Text string `json:"text"`
	A    int    `json:"a"` // its weight in the first document; 0: it is not there
	B    int    `json:"b"` // in the second
}

// explanation says why two documents do or do not match.
type explanation struct {
	Method       string         `json:"method"`
	A            side           `json:"a"`
	B            side           `json:"b"`
	Bits         int            `json:"bits"`       // of the fingerprints
	K            int            `json:"k"`          // the method's distance
	Distance     int            `json:"distance"`   // of the fingerprints
	Similarity   float64        `json:"similarity"` // of the fingerprints
	Segments     []string       `json:"segments"`   // keys of the segment tables in common
	Shared       []featurePair  `json:"shared"`     // features of both, those of the greatest common weight first
	OnlyA        []featurePair  `json:"only_a"`     // features of one alone, the greatest weight first
	OnlyB        []featurePair  `json:"only_b"`
	WeightShared float64        `json:"weight_shared"` // Σ min(a, b) / Σ max(a, b) of the features' weights
	Estimate     float64        `json:"estimate"`      // of the Jaccard similarity, by the sketches
	Error        float64        `json:"error"`         // its standard error
	Signatures   float64        `json:"signatures"`    // the same by the signatures, if these decide; else 0
	Bands        int            `json:"bands"`         // of the sketch in common, of sketch.Bands
	Sampled      [2]int         `json:"sampled"`       // passages in common, of those that the two samples can have in common
	Jaccard      float64        `json:"jaccard"`       // exact
	Containment  float64        `json:"containment"`   // exact, in the shorter one
	Candidate    bool           `json:"candidate"`     // the pair meets: by segment, band or as short texts
	Verdict      sketch.Verdict `json:"verdict"`
	Limit        float64        `json:"limit"`  // similarity asked for; 0 for the distance alone and short texts
	Edited       sketch.Edited  `json:"edited"` // how the letters differ in order, if that decided

	textA, textB []byte
	leftA, leftB []string // what is left out of them
}

// side is one of the two documents.
type side struct {
	ID          string `json:"id"`
	Title       string `json:"title,omitempty"`
	Night       string `json:"night,omitempty"` // an earlier one that it is of
	Fingerprint string `json:"fingerprint"`     // in hexadecimal digits
	LengthClass string `json:"length_class"`
	Features    int    `json:"features"` // distinct, that the fingerprint is made of
	Length      int    `json:"length"`   // characters of the normal form
	Shingles    int    `json:"shingles"` // distinct
	Template    int    `json:"template"` // characters that pages of its site share, which are not compared
	Headline    int    `json:"headline"` // characters of title and summary before the body of short news, which are not either
}

// print says which document it is.
func (s *side) print(b *strings.Builder, l message.Language, name string) {
	text := s.ID
	if s.Night != "" {
		text = l.Text("%s of night %s", s.ID, s.Night)
	}
	if s.Title != "" {
		text += ": " + s.Title
	}
	show.Field(b, name, "%s", text)
}

// Rows lays the texts out side by side, and behind them what is left out of
// them.
func (e *explanation) Rows() []show.Row {
	rows := show.SideBySide(show.Diff(e.textA, e.textB), 0)
	for i := range max(len(e.leftA), len(e.leftB)) {
		var row show.Row
		if i < len(e.leftA) {
			row.First = []show.Piece{{Op: show.Left, Text: e.leftA[i]}}
		}
		if i < len(e.leftB) {
			row.Second = []show.Piece{{Op: show.Left, Text: e.leftB[i]}}
		}
		rows = append(rows, row)
	}
	return rows
}

// Explain compares two documents as a run of the method does.
func Explain(m *Neardup, a, b *Document) (*explanation, error) {
	x, err := newExplainer(m)
	if err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	return x.explain(a, b), x.release()
}

// explainer compares documents as a run of a method does.
type explainer struct {
	method        *Neardup
	layout        *simhash.Layout
	rule          mapper.Rule
	workspace     *simhash.Workspace
	fingerprinter *mapper.Fingerprinter
	templates     *template.Model
	release       func() error
}

func newExplainer(m *Neardup) (*explainer, error) {
	layout, err := simhash.NewLayout(m.Features.Bits, m.Match.Distance)
	if err != nil {
		return nil, err
	}
	templates, err := method.Templates(m.Features)
	if err != nil {
		return nil, err
	}
	rule := method.Rule(m.Match)
	if m.Run != "" {
		if rule, err = method.RuleOf(m.Run, m.Match); err != nil {
			return nil, err
		}
	}
	analyzer, release, err := method.NewAnalyzer(m.Features)
	if err != nil {
		return nil, err
	}
	w := analyzer.NewWorkspace()
	f := mapper.NewFingerprinter(w, true, templates)
	f.Samples, f.Signatures = true, true
	return &explainer{m, layout, rule, w, f, templates, release}, nil
}

// looked is what a run and its verdicts look at of a document.
type looked struct {
	side
	text        []byte   // what is compared
	left        []string // pieces that are not: of its site's template, and of its headline
	fingerprint simhash.Fingerprint
	view        data.View
	settle      mapper.Text
	signed      mapper.Signed
	features    []simhash.Feature
}

func (x *explainer) look(d *Document) *looked {
	doc := &data.Document{ID: []byte(d.ID), Title: d.Title, Text: d.Text}
	l := &looked{text: bytes.Clone(x.fingerprinter.Text(doc))}
	for line := range strings.Lines(string(d.Headline)) {
		l.left = append(l.left, strings.TrimSpace(line))
	}
	x.templates.Each(template.Site(doc.ID), d.Text, func(piece []byte, shared bool) {
		if text := strings.TrimSpace(string(piece)); shared && text != "" {
			l.left = append(l.left, text)
		}
	})
	var row data.FingerprintRow
	x.fingerprinter.Fingerprint(doc, "", &row)
	mapper.View(&row, &l.view)
	l.fingerprint = simhash.Fingerprint{Hi: row.Hi, Lo: row.Lo}
	l.settle.Set(x.workspace.Normal())
	if l.signed.Length = int(row.Length); len(row.Signature) > 0 {
		signature := sketch.Signature(row.Signature)
		l.signed.Signature = &signature
	}
	l.features = x.workspace.Features(nil, d.Title, l.text)
	l.side = side{
		ID: d.ID, Title: string(d.Title), Night: d.Night, Fingerprint: l.fingerprint.Hex(x.method.Features.Bits), LengthClass: row.LengthClass,
		Features: int(row.Features), Length: int(row.Length), Shingles: len(l.settle.Shingles), Template: int(row.Template), Headline: utf8.RuneCount(bytes.TrimSpace(d.Headline)),
	}
	return l
}

func (x *explainer) explain(first, second *Document) *explanation {
	a, b := x.look(first), x.look(second)
	bits := x.method.Features.Bits
	jaccard, containment := sketch.Overlap(a.settle.Shingles, b.settle.Shingles)
	e := &explanation{
		Method: x.method.Name(), Bits: bits, K: x.method.Match.Distance, textA: a.text, textB: b.text, leftA: a.left, leftB: b.left, A: a.side, B: b.side,
		Distance:    simhash.Distance(a.fingerprint, b.fingerprint),
		Similarity:  simhash.Similarity(a.fingerprint, b.fingerprint, bits),
		Jaccard:     jaccard,
		Containment: containment,
		Segments:    []string{}, Shared: []featurePair{}, OnlyA: []featurePair{}, OnlyB: []featurePair{},
	}
	for t := range x.layout.Tables() {
		key, _ := x.layout.Key(t, a.fingerprint)
		if other, _ := x.layout.Key(t, b.fingerprint); key == other {
			e.Segments = append(e.Segments, key.String())
		}
	}
	e.features(a.features, b.features)
	e.sketches((*sketch.Sketch)(&a.view.Sketch), (*sketch.Sketch)(&b.view.Sketch))
	e.Sampled[0], e.Sampled[1] = sketch.SharedSample(a.view.Sample, b.view.Sample, a.Length, b.Length)
	e.judge(x, a, b)
	return e
}

func (e *explanation) sketches(x, y *sketch.Sketch) {
	e.Estimate = sketch.Estimate(sketch.Differ(x, y))
	e.Error = sketch.StandardError(e.Estimate)
	for i := range sketch.Bands {
		if *x != (sketch.Sketch{}) && *y != (sketch.Sketch{}) && x.Band(i) == y.Band(i) {
			e.Bands++
		}
	}
}

// Reasons of a verdict that only a whole method gives.
const (
	reasonNear        = "within the distance"
	reasonFar         = "beyond the distance"
	reasonLengthClass = "too few features"
	reasonMeet        = "neither segment nor band in common, nor enough passages"
)

// judge fills in the verdict, and why the pair is no candidate if it is none.
func (e *explanation) judge(by *explainer, a, b *looked) {
	m, x, y := by.method, &a.view, &b.view
	verify := mapper.NewVerifier(by.rule)
	if e.Candidate = by.rule.Candidate(x, y); e.Candidate {
		e.Verdict, _ = verify.Verdict(x, y)
	}
	short := m.Match.ShortTexts && len(x.Letters) > 0 && len(y.Letters) > 0
	switch rules, length := m.Match.Rules(), min(e.A.Length, e.B.Length); {
	case e.Candidate && by.rule.ByLength: // the verdict says it all
	case e.Candidate && !m.Match.Verified():
		e.Verdict = sketch.Verdict{Same: true, Reason: reasonNear}
	case short && !e.Verdict.Open:
		e.Candidate = e.Verdict.Same
	case e.Candidate:
		e.Limit = rules.Limit(length)
		if e.Verdict.Open {
			e.settle(m, verify, a, b)
		}
	case e.A.Shingles == 0 || e.B.Shingles == 0:
		e.Verdict = sketch.Verdict{Reason: sketch.ReasonNothing}
	case m.Match.Bands:
		e.Verdict = sketch.Verdict{Reason: reasonMeet}
	case e.Distance <= m.Match.Distance:
		e.Verdict = sketch.Verdict{Reason: reasonLengthClass}
	default:
		e.Verdict = sketch.Verdict{Reason: reasonFar}
	}
}

// settle fills in the verdict on a pair that the sketches leave undecided.
func (e *explanation) settle(m *Neardup, verify *mapper.Verifier, a, b *looked) {
	var reason data.Reason
	unlike := sketch.ReasonTextsUnlike
	if m.Match.Signs() {
		evidence := verify.Judge(&a.view, &b.view)
		reason, unlike = verify.SettleSigned(evidence, a.signed, b.signed).Reason, sketch.ReasonUnsigned
		if a.signed.Signature != nil && b.signed.Signature != nil {
			e.Signatures = a.signed.Signature.Jaccard(b.signed.Signature)
		}
	} else {
		reason, _, e.Edited = verify.Settle(&a.settle, &b.settle)
	}
	e.Verdict = sketch.Verdict{Same: reason.Same(), Reason: reason.String()}
	if reason == data.NotTheSame {
		e.Verdict.Reason = unlike
	}
}

func (e *explanation) features(a, b []simhash.Feature) {
	other := make(map[string]int, len(b))
	for _, f := range b {
		other[f.Text] = f.Weight
	}
	least, most := 0, 0
	for _, f := range a {
		weight := other[f.Text]
		p := featurePair{Text: f.Text, A: f.Weight, B: weight}
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
			e.OnlyB = append(e.OnlyB, featurePair{Text: f.Text, B: f.Weight})
			most += f.Weight
		}
	}
	slices.SortStableFunc(e.Shared, func(p, q featurePair) int { return min(q.A, q.B) - min(p.A, p.B) })
	if most > 0 {
		e.WeightShared = float64(least) / float64(most)
	}
}

// explainedFeatures is how many features of a kind the text shows.
const explainedFeatures = 12

// WriteHTML writes the explanation as one page that needs nothing else.
func (e *explanation) WriteHTML(w io.Writer, l message.Language) error {
	return write(w, "explain.html", l, e)
}

// outcome says whether the two are the same.
func (e *explanation) outcome(l message.Language) string {
	if e.Verdict.Same {
		return l.Text("the same")
	}
	return l.Text("not the same")
}

// long says how long the text is.
func (s *side) long(l message.Language) string {
	return l.Text("%s (%s, %s)", s.LengthClass, l.Count(int64(s.Features), "feature"), l.Count(int64(s.Length), "character"))
}

// WriteText writes the explanation, without the texts, for a person to read.
func (e *explanation) WriteText(w io.Writer, l message.Language) error {
	var b strings.Builder
	row := func(name, text string) { show.Field(&b, name, "%s", text) }
	e.A.print(&b, l, l.Text("first"))
	e.B.print(&b, l, l.Text("second"))
	row(l.Text("verdict"), l.Text("%s: %s", e.outcome(l), l.Name(e.Verdict.Reason)))
	row(l.Text("distance"), l.Text("%d of %d bits (k = %d), similarity %.4f", e.Distance, e.Bits, e.K, e.Similarity))
	row(l.Text("fingerprints"), e.A.Fingerprint+" "+e.B.Fingerprint)
	row(l.Text("segments"), l.Text("%d in common %s", len(e.Segments), strings.Join(e.Segments, " ")))
	row(l.Text("length class"), e.A.long(l)+l.Text(", ")+e.B.long(l))
	if e.A.Template+e.B.Template > 0 {
		row(l.Text("left out"), l.Text("%d and %d characters, which pages of their sites share", e.A.Template, e.B.Template))
	}
	if e.A.Headline+e.B.Headline > 0 {
		row(l.Text("left out"), l.Text("%d and %d characters of title and summary", e.A.Headline, e.B.Headline))
	}
	sketches := l.Text("J ≈ %.3f ± %.3f, %d of %d bands in common, %d of %d passages", e.Estimate, e.Error, e.Bands, sketch.Bands, e.Sampled[0], e.Sampled[1])
	if e.Signatures > 0 {
		sketches += l.Text(", by signatures %.3f", e.Signatures)
	}
	if e.Limit > 0 {
		sketches += l.Text(", limit %.2f", e.Limit)
	}
	row(l.Text("sketches"), sketches)
	row(l.Text("texts"), l.Text("J = %.3f, containment %.3f (%d and %d shingles)", e.Jaccard, e.Containment, e.A.Shingles, e.B.Shingles))
	if e.Edited.Edits > 0 {
		row(l.Text("letters"), l.Text("%s in %s, of %s", l.Count(int64(e.Edited.Edits), "edit"), l.Count(int64(e.Edited.Pieces), "piece"), l.Count(int64(e.Edited.Digits), "digit")))
	}
	row(l.Text("features"), l.Text("%d shared, %d and %d alone, weight in common %.3f", len(e.Shared), len(e.OnlyA), len(e.OnlyB), e.WeightShared))
	for _, list := range []struct {
		name  string
		pairs []featurePair
	}{{l.Text("shared"), e.Shared}, {l.Text("only first"), e.OnlyA}, {l.Text("only second"), e.OnlyB}} {
		var features []string
		for _, p := range list.pairs[:min(len(list.pairs), explainedFeatures)] {
			features = append(features, fmt.Sprintf("%s %d/%d", p.Text, p.A, p.B))
		}
		row("  "+list.name, strings.Join(features, " "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
