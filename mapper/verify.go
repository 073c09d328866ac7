package mapper

import (
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash/sketch"
)

// Rule says which documents are candidate pairs, and when they are the same.
// The zero Rules compare nothing but fingerprints.
type Rule struct {
	K          int  // documents of normal length within this distance are candidates
	Bands      bool // so are those whose sketches share a band
	ShortTexts bool // and short texts that share a key; so are, if Containment is asked for, those of like samples
	Verified   bool // candidates are judged by Rules; else all of them are the same
	ByLength   bool // if Verified: by sketch.Piecewise alone, with K for the shortest; sketches are not looked at
	sketch.Rules

	Forms *sketch.Forms // of short texts of one form that differ in its slot none are the same; may be nil
}

// Candidate reports whether two documents are a candidate pair: the one rule
// that every index and every join finds the pairs of. It says nothing of the
// bounds on hot keys.
func (r *Rule) Candidate(a, b *data.View) bool {
	if r.near(a, b) {
		return true
	}
	for t := range Tables {
		if Tables[t].Brings(r, a, b) { // of short texts, few edits leave them a key in common
			return true
		}
	}
	return r.Verified && a.Equal(b)
}

// Estimates reports whether verdicts rest on an estimate of the texts' similarity.
func (r *Rule) Estimates() bool { return r.Verified && !r.ByLength }

// Sketched reports whether there are other tables than those of segments.
func (r *Rule) Sketched() bool {
	return slices.ContainsFunc(Tables, func(t Table) bool { return t.Asked(r) })
}

// near reports whether two documents are candidates by their fingerprints.
func (r *Rule) near(a, b *data.View) bool {
	return a.Normal && b.Normal && Distance(a, b) <= r.K
}

func (r *Rule) isShort(v *data.View) bool { return r.ShortTexts && len(v.Letters) > 0 }

// banding reports whether two documents are candidates by their bands.
func (r *Rule) banding(a, b *data.View) bool { return r.Bands && firstBand(a, b) >= 0 }

// sampled reports whether two documents are candidates by their samples: for one
// may contain the other, or as their sketches say that one may be the other,
// edited.
func (r *Rule) sampled(a, b *data.View) bool {
	return r.isSampled(a) && r.isSampled(b) &&
		sketch.AlikeSamples(a.Sample, b.Sample, int(a.Length), int(b.Length), r.ordered(a.Length, b.Length, differ(a, b)), 0, len(a.Sample))
}

// ordered reports whether two texts of those lengths, whose sketches differ in so
// many bits, are asked for the order of their letters.
func (r *Rule) ordered(x, y uint32, differ int) bool {
	return r.Ordered(sketch.Estimate(differ), int(min(x, y)), int(max(x, y)))
}

// isSampled reports whether a document has a sample that is looked at.
func (r *Rule) isSampled(v *data.View) bool { return r.Containment > 0 && len(v.Sample) > 0 }

// byEdits reports whether two short texts are compared, by their edits.
func (r *Rule) byEdits(a, b *data.View) bool { return r.isShort(a) && r.isShort(b) }

func (r *Rule) banded(v *data.View) bool { return r.Bands && v.Sketch != [data.SketchSize]byte{} }

// Verifier gives the verdict on candidate pairs. It holds buffers that are used
// again, so one goroutine uses it at a time.
type Verifier struct {
	rule   Rule
	differ int // bits of the sketches beyond which the verdict is no
	short  sketch.Short
	a, b   []rune

	mine, others *KeyEmitter // of the two documents at hand
	sampled      sampledCounter
	owned        []ownedPair // some pairs of short texts; nil before the first
}

// An ownedPair is a pair of short texts with the key that reports it, none if
// they are not the same. Pages of one form share dozens of keys, and are judged
// once.
type ownedPair struct{ a, b, key uint64 }

const (
	noKey     = 1<<64 - 1
	mostOwned = 1 << 16 // a power of two
)

// ownedAt is where a pair is remembered.
func (v *Verifier) ownedAt(c *Candidate) *ownedPair {
	if v.owned == nil {
		v.owned = make([]ownedPair, mostOwned)
	}
	return &v.owned[mix(c.A^mix(c.B))%mostOwned]
}

// NewVerifier returns a Verifier by the rule.
func NewVerifier(rule Rule) *Verifier {
	return &Verifier{rule: rule, differ: sketch.MostDiffer(rule.Least()), mine: NewKeyEmitter(nil, rule), others: NewKeyEmitter(nil, rule)}
}

// Candidate is a candidate pair: two documents and where they share a key.
type Candidate struct {
	A, B  uint64 // numbers, A < B
	Table int    // SegmentTables, a band, ShortTexts or Samples
	Key   uint64 // the value; of segments 0

	Distance uint8 // of a candidate by SegmentTables
}

// Pair is the verdict on a candidate pair, whose views are a and b. Of the
// tables and keys that two documents share the first alone reports them: ok is
// false for the others, as it is for documents that are not the same. A pair
// whose texts have to decide is data.Undecided; one of the table Samples always is,
// and each candidate of it reports it: any key that the two share may be hot. A
// Verifier's candidates are of one set of documents.
func (v *Verifier) Pair(c *Candidate, a, b *data.View) (p data.Pair, ok bool) {
	if v.rule.Verified && !v.isFirstSharedTable(c, a, b) {
		return p, false
	}
	if c.Table == ShortTexts {
		if o := v.ownedAt(c); o.a == c.A && o.b == c.B && o.key != c.Key {
			return p, false
		}
	}
	p.A, p.B, p.Distance = c.A, c.B, uint8(Distance(a, b))
	p.Evidence = v.Judge(a, b)
	reason := p.Evidence.Reason
	switch c.Table {
	case ShortTexts:
		key := uint64(noKey)
		if reason != data.NotTheSame && reason != data.Undecided {
			key = v.firstValue(c.Table, a, b)
		}
		*v.ownedAt(c) = ownedPair{c.A, c.B, key}
		return p, key == c.Key
	case Samples:
		return p, reason == data.Undecided // else two short texts, which share a key
	}
	return p, reason != data.NotTheSame && (c.Table < ShortTexts || v.firstValue(c.Table, a, b) == c.Key)
}

// isFirstSharedTable reports whether the candidate's table is the one that reports the pair, as far as that
// can be told before its verdict. One that is certainly not the same belongs to
// the samples: if anything, one text contains the other.
func (v *Verifier) isFirstSharedTable(c *Candidate, a, b *data.View) bool {
	r := &v.rule
	if r.ByLength {
		return c.Table == SegmentTables
	}
	alike := few(a, b) || differ(a, b) <= v.most(a, b)
	if c.Table == SegmentTables {
		return alike
	}
	t := &Tables[c.Table]
	if t.Unlike {
		return (!alike || !v.met(a, b)) && t.Brings(r, a, b)
	}
	return alike && !r.near(a, b) && t.FirstShared(r, c.Table, a, b)
}

// Unlike reports whether two units that are a candidate pair by that table, which
// is not Samples, are certainly none of that table's pairs, by their sketches or the
// outlines of their letters alone: most candidates are not.
func (v *Verifier) Unlike(u *Units, table int, a, b uint32) bool {
	if v.rule.ByLength {
		return false
	}
	return unlike(v.differ, table, u.shortText(a), u.shortText(b), (*sketch.Sketch)(&u.sketches[a]), (*sketch.Sketch)(&u.sketches[b]))
}

// unlike is Unlike of two documents of those sketches and, if they are short texts,
// outlines. Differ is that of a Verifier.
func unlike(differ, table int, x, y sketch.Outline, a, b *sketch.Sketch) bool {
	bothShort := len(x) > 0 && len(y) > 0
	if bothShort && x.Few() && y.Few() {
		return x.Unlike(y)
	}
	apart := sketch.Differ(a, b)
	if apart > differ && (apart > slipsDiffer || !bothShort) {
		return true
	}
	return table == ShortTexts && x.Unlike(y) // by other tables it may be one that shingles decide on
}

// most is in how many bits the sketches of two documents that are not few differ
// at most if they are the same.
func (v *Verifier) most(a, b *data.View) int {
	if v.rule.byEdits(a, b) {
		return max(v.differ, slipsDiffer)
	}
	return v.differ
}

// slipsDiffer is in how many bits the sketches of texts that are the same but
// for slips differ at most. A seventh of the characters leaves texts about as alike
// as that; pages of one form, which share some keys, mostly are less.
var slipsDiffer = sketch.MostDiffer(0.25)

// few reports whether two documents are judged by their edits alone, in whatever
// way they became candidates: both have few letters.
func few(a, b *data.View) bool {
	return len(a.Letters) > 0 && len(b.Letters) > 0 && sketch.Few(a.Letters) && sketch.Few(b.Letters)
}

// differ is in how many bits the sketches of two documents differ: in all if
// one has none.
func differ(a, b *data.View) int {
	return sketch.Differ((*sketch.Sketch)(&a.Sketch), (*sketch.Sketch)(&b.Sketch))
}

// Judge is the verdict on two candidates and what it rests on.
func (v *Verifier) Judge(a, b *data.View) data.Evidence {
	_, e := v.Verdict(a, b)
	return e
}

// Verdict is Judge with its reason in words, which tells why documents are not
// the same, too: two short texts are judged by their edits, all others, and
// those that have shingles enough, by their sketches.
func (v *Verifier) Verdict(a, b *data.View) (sketch.Verdict, data.Evidence) {
	verdict, e := v.verdict(a, b)
	if e.Reason != data.NotTheSame && v.rule.Forms.Len() > 0 && v.rule.byEdits(a, b) {
		v.a, v.b = runes(v.a[:0], a.Letters), runes(v.b[:0], b.Letters)
		if v.rule.Forms.Apart(v.a, v.b) {
			return sketch.Verdict{Reason: sketch.ReasonShortForm}, data.Evidence{Reason: data.NotTheSame}
		}
	}
	return verdict, e
}

func (v *Verifier) verdict(a, b *data.View) (sketch.Verdict, data.Evidence) {
	e := data.Evidence{Reason: data.NotTheSame}
	if !v.rule.Verified {
		e.Reason = data.ByDistance
		return sketch.Verdict{Same: true, Reason: e.Reason.String()}, e
	}
	if v.rule.ByLength {
		return v.byLength(a, b)
	}
	if few(a, b) {
		return v.edits(a, b)
	}
	e.Figure = uint16(differ(a, b))
	verdict := v.rule.Judge(EstimatedJaccard(e), shorter(a, b))
	if v.rule.byEdits(a, b) {
		met := v.met(a, b)
		if met && verdict.Same && !verdict.Open {
			e.Reason = data.BySketches
			return verdict, e
		}
		if int(e.Figure) <= slipsDiffer {
			if slips, evidence := v.edits(a, b); slips.Same {
				return slips, evidence
			}
		}
		if !met {
			verdict = sketch.Verdict{Reason: sketch.ReasonShortUnlike}
		}
	}
	if !verdict.Open && v.asksTexts(verdict.Same, a, b) {
		verdict.Open, verdict.Reason = true, sketch.ReasonOpen
	}
	switch {
	case verdict.Open:
		e.Reason = data.Undecided
	case verdict.Same:
		e.Reason = data.BySketches
	}
	return verdict, e
}

// byLength is the verdict by the distance and the longer text.
func (v *Verifier) byLength(a, b *data.View) (sketch.Verdict, data.Evidence) {
	if Distance(a, b) > sketch.Piecewise(v.rule.K, int(max(a.Length, b.Length))) {
		return sketch.Verdict{Reason: sketch.ReasonLengthFar}, data.Evidence{Reason: data.NotTheSame}
	}
	return sketch.Verdict{Same: true, Reason: sketch.ReasonLengthNear}, data.Evidence{Reason: data.ByDistance}
}

// asksTexts reports whether texts decide on a pair on which the sketches are
// sure: whether of one that is not the same one contains the other, or is it,
// edited, and on every pair that the samples alone bring together.
func (v *Verifier) asksTexts(same bool, a, b *data.View) bool {
	r := &v.rule
	if !same {
		return r.sampled(a, b) || !r.byEdits(a, b) && r.ordered(a.Length, b.Length, differ(a, b))
	}
	return !v.met(a, b) && !a.Equal(b) && r.sampled(a, b)
}

// met reports whether two documents are candidates by their fingerprints or
// bands, not by a short text's keys alone, which are for few edits, or samples.
func (v *Verifier) met(a, b *data.View) bool {
	return v.rule.near(a, b) || v.rule.banding(a, b)
}

// edits is the verdict on two short texts by their edits.
func (v *Verifier) edits(a, b *data.View) (sketch.Verdict, data.Evidence) {
	e := data.Evidence{Reason: data.NotTheSame}
	v.a, v.b = runes(v.a[:0], a.Letters), runes(v.b[:0], b.Letters)
	verdict, edits := v.short.Judge(v.a, v.b)
	if verdict.Same {
		e.Figure = uint16(edits)<<8 | uint16(max(len(v.a), len(v.b)))
	}
	switch verdict.Reason {
	case sketch.ReasonShortEqual:
		e.Reason = data.ByEquality
	case sketch.ReasonShortAlike:
		e.Reason = data.ByEdits
	}
	return verdict, e
}

// EstimatedJaccard is the estimated Jaccard similarity, 0 to 1, that the evidence says: the share of a
// short text's characters that stay, else the estimate by the sketches.
func EstimatedJaccard(e data.Evidence) float64 {
	switch e.Reason {
	case data.ByEquality, data.ByEdits:
		return 1 - float64(e.Figure>>8)/float64(e.Figure&0xff)
	}
	return sketch.Estimate(int(e.Figure))
}

// Text is what an undecided pair is settled by.
type Text struct {
	Length   int      // in characters, in normal form
	Shingles []uint64 // as sketch.Shingles gives them
	Letters  []rune   // as sketch.Letters gives them
	Left     float64  // share of the page that was left out before, as what its site's pages share
}

// A text that says little of its own is contained in no other: a column's note, a
// footer, a list's entry stands in many pages. It has ownLetters letters at least, and
// is ownShare of its page.
const (
	ownLetters = 100
	ownShare   = 0.2
)

// isOwn reports whether the text says enough of its own to be contained in another.
func (t *Text) isOwn() bool { return len(t.Letters) >= ownLetters && t.Left <= 1-ownShare }

// Set makes t that of a text in normal form. It uses what t holds again.
func (t *Text) Set(text []byte) {
	t.Length, t.Left = utf8.RuneCount(text), 0
	t.Shingles = sketch.Shingles(t.Shingles[:0], text)
	t.Letters = sketch.Letters(t.Letters[:0], text)
}

// Settle is the verdict on an undecided pair by its texts with what their shingles
// have in common and, if their letters decided, how these differ.
func (v *Verifier) Settle(x, y *Text) (data.Reason, data.Overlap, sketch.Edited) {
	jaccard, containment := sketch.Overlap(x.Shingles, y.Shingles)
	o := data.Overlap{Jaccard: float32(jaccard), Containment: float32(containment)}
	length := min(x.Length, y.Length)
	verdict, edited := v.rule.Settle(&v.short, x.Letters, y.Letters, jaccard, length)
	switch limit := v.rule.Containment; {
	case verdict.Same:
		return settled[verdict.Reason], o, edited
	case limit == 0 || containment < limit:
		return data.NotTheSame, o, edited
	case len(x.Shingles) >= len(y.Shingles) && y.isOwn():
		return data.Contains, o, edited
	case len(x.Shingles) < len(y.Shingles) && x.isOwn():
		return data.Contained, o, edited
	}
	return data.NotTheSame, o, edited
}

// settled are the reasons for which texts say that a pair is the same.
var settled = map[string]data.Reason{
	sketch.ReasonTextsAlike: data.ByTexts, sketch.ReasonTextsSlips: data.BySlips, sketch.ReasonTextsOrder: data.ByOrder,
}

// Estimated is Judge of two candidates whose texts are gone: if the pair is open,
// what the estimate says.
func (v *Verifier) Estimated(a, b *data.View) data.Evidence {
	e := v.Judge(a, b)
	if e.Reason != data.Undecided {
		return e
	}
	e.Reason = data.NotTheSame
	if EstimatedJaccard(e) >= v.rule.EstimateLimit(shorter(a, b)) {
		e.Reason = data.ByEstimate
	}
	return e
}

func shorter(a, b *data.View) int { return int(min(a.Length, b.Length)) }

func runes(dst []rune, text []byte) []rune {
	for len(text) > 0 {
		c, size := utf8.DecodeRune(text)
		dst, text = append(dst, c), text[size:]
	}
	return dst
}

// Distance is the Hamming distance of two documents' fingerprints.
func Distance(a, b *data.View) int {
	return bits.OnesCount64(a.Hi^b.Hi) + bits.OnesCount64(a.Lo^b.Lo)
}

// firstBand is the first band that two documents share, −1 if they share none.
func firstBand(a, b *data.View) int {
	if a.Sketch == [data.SketchSize]byte{} || b.Sketch == [data.SketchSize]byte{} {
		return -1
	}
	x, y := (*sketch.Sketch)(&a.Sketch), (*sketch.Sketch)(&b.Sketch)
	for i := range sketch.Bands {
		if x.Band(i) == y.Band(i) {
			return i
		}
	}
	return -1
}

// firstValue is the smallest value that two documents share in a table.
func (v *Verifier) firstValue(t int, a, b *data.View) uint64 {
	return firstCommon(v.mine.Values(t, a), v.others.Values(t, b))
}

// firstCommon is the smallest number of both, which ascend and share one; 0 if
// they do not.
func firstCommon(a, b []uint64) uint64 {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			return a[0]
		}
	}
	return 0
}
