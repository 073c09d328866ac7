package mapper

import (
	"math/bits"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash/sketch"
)

// Rule says which documents are candidate pairs, and when they are the same. The
// embedded sketch.Rules hold the limits of the verdict.
type Rule struct {
	// Which documents are candidates; any one of these suffices. If Containment is
	// set, documents of similar samples are candidates too.
	K          int  // documents of normal length whose fingerprints are within this distance, ByLength within Farthest
	Bands      bool // documents whose sketches share a band
	ShortTexts bool // short texts that share a key

	// When candidates are the same.
	Verified bool // as Rules say; without, all of them are
	ByLength bool // with Verified: by Farthest alone, K being that of the shortest texts; sketches are not read
	sketch.Rules

	// Forms are the known forms of short texts, such as a headline with another city
	// each time. Two texts of one form that differ in its slot are not the same. May
	// be nil.
	Forms *sketch.Forms
}

// Candidate reports whether two documents are a candidate pair. It is the
// definition that every join and index has to agree with; they may miss pairs
// only by the bounds on hot keys, which Candidate does not know.
func (r *Rule) Candidate(a, b *data.View) bool {
	if r.near(a, b) {
		return true
	}
	for t := range Tables {
		if Tables[t].Brings(r, a, b) {
			return true
		}
	}
	return r.Verified && a.Equal(b)
}

// Estimates reports whether verdicts rest on the sketches' estimate of the texts'
// similarity.
func (r *Rule) Estimates() bool { return r.Verified && !r.ByLength }

// Sketched reports whether the rule uses any table besides those of segments.
func (r *Rule) Sketched() bool {
	return slices.ContainsFunc(Tables, func(t Table) bool { return t.Asked(r) })
}

// Farthest returns the largest distance at which a text of so many characters and
// another one are candidates by their fingerprints.
func (r *Rule) Farthest(characters uint32) int {
	if r.ByLength {
		return sketch.Piecewise(r.K, int(characters))
	}
	return r.K
}

// near reports whether two documents are candidates by their fingerprints.
func (r *Rule) near(a, b *data.View) bool {
	return a.Normal && b.Normal && Distance(a, b) <= r.Farthest(max(a.Length, b.Length))
}

func (r *Rule) isShort(v *data.View) bool { return r.ShortTexts && len(v.Letters) > 0 }

// banding reports whether two documents are candidates by their bands.
func (r *Rule) banding(a, b *data.View) bool { return r.Bands && firstBand(a, b) >= 0 }

// sampled reports whether two documents are candidates by their samples: one may
// contain the other, or, if their sketches are alike enough, be an edited version
// of it.
func (r *Rule) sampled(a, b *data.View) bool {
	return r.isSampled(a) && r.isSampled(b) &&
		sketch.AlikeSamples(a.Sample, b.Sample, int(a.Length), int(b.Length), r.ordered(a.Length, b.Length, differ(a, b)), 0, len(a.Sample))
}

// ordered reports whether verification compares the order of letters of two texts.
// X and y are their lengths in characters, differ the number of bits in which
// their sketches differ.
func (r *Rule) ordered(x, y uint32, differ int) bool {
	return r.Ordered(sketch.Estimate(differ), int(min(x, y)), int(max(x, y)))
}

// isSampled reports whether a document has a sample and the rule reads it.
func (r *Rule) isSampled(v *data.View) bool { return r.Containment > 0 && len(v.Sample) > 0 }

// byEdits reports whether two documents are short texts, which are compared by
// edits: letters inserted, deleted or replaced.
func (r *Rule) byEdits(a, b *data.View) bool { return r.isShort(a) && r.isShort(b) }

func (r *Rule) banded(v *data.View) bool { return r.Bands && v.Sketch != [data.SketchSize]byte{} }

// Verifier gives the verdict on candidate pairs. It reuses its buffers, so only
// one goroutine may use it at a time.
type Verifier struct {
	rule   Rule
	differ int // if sketches differ in more bits, they alone rule the pair out
	short  sketch.Short
	a, b   []rune

	mine, others *KeyEmitter // of the two documents at hand
	sampled      sampledCounter
	owned        []ownedPair // a cache of pairs of short texts; nil before the first
}

// An ownedPair remembers of a pair of short texts which key reports it: noKey if
// they are not the same. Pages of one form share dozens of keys; with the cache
// most such pairs are judged once and not for each key.
type ownedPair struct{ a, b, key uint64 }

const (
	noKey     = 1<<64 - 1
	mostOwned = 1 << 16 // a power of two
)

// ownedAt returns the cache's slot for a pair, which another pair may occupy.
func (v *Verifier) ownedAt(c *Candidate) *ownedPair {
	if v.owned == nil {
		v.owned = make([]ownedPair, mostOwned)
	}
	return &v.owned[mix(c.A^mix(c.B))%mostOwned]
}

// NewVerifier returns a Verifier that judges by the rule.
func NewVerifier(rule Rule) *Verifier {
	return &Verifier{rule: rule, differ: sketch.MostDiffer(rule.Least()), mine: NewKeyEmitter(nil, rule), others: NewKeyEmitter(nil, rule)}
}

// Candidate is a candidate pair: two documents, and the table and value that they
// share.
type Candidate struct {
	A, B  uint64 // document numbers, A < B
	Table int    // a place in Tables, or SegmentTables
	Key   uint64 // the shared value; 0 for segments

	Distance uint8 // of the fingerprints; set only with SegmentTables
}

// Pair gives the verdict on a candidate pair, whose views are a and b. Ok is false
// if the documents are not the same. It is also false if the candidate is not the
// one that reports the pair: of all tables and values that two documents share,
// only the first does.
//
// If the texts or signatures have to decide, the reason is data.Undecided. Pairs of the table
// Samples always are, and every value they share reports them: a rule by the
// first value would lose the pair if that value is hot and not compared.
//
// All candidates given to one Verifier must number documents of the same set,
// since it remembers pairs by their numbers.
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
		return p, reason == data.Undecided // if decided they are short texts, whose own table reports them
	}
	return p, reason != data.NotTheSame && (c.Table < ShortTexts || v.firstValue(c.Table, a, b) == c.Key)
}

// isFirstSharedTable reports whether the candidate's table is the one that reports
// the pair, as far as that can be told before the verdict. A pair that the
// sketches rule out is left to the table Samples: at most one text contains the
// other.
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

// Unlike reports whether sketches or outlines alone rule out a candidate pair of
// two units in that table, which must not be Samples. True is certain: the verdict
// would be no. False says nothing. Most candidates that are not the same are ruled
// out here, without a verdict.
func (v *Verifier) Unlike(u *Units, table int, a, b uint32) bool {
	if v.rule.ByLength {
		return false
	}
	differ := v.differ
	if v.rule.Containment > 0 {
		differ = max(differ, slipsDiffer) // if edits do not make two short texts the same, one may still contain the other
	}
	return unlike(differ, table, u.shortText(a), u.shortText(b), (*sketch.Sketch)(&u.sketches[a]), (*sketch.Sketch)(&u.sketches[b]))
}

// unlike is Unlike for two documents with sketches a and b and outlines x and y,
// which are empty unless the text is short. If the sketches differ in more than
// differ bits, the pair is the same by its edits or not at all.
func unlike(differ, table int, x, y sketch.Outline, a, b *sketch.Sketch) bool {
	bothShort := len(x) > 0 && len(y) > 0
	if bothShort && x.Few() && y.Few() {
		return x.Unlike(y)
	}
	apart := sketch.Differ(a, b)
	if apart > differ {
		return !bothShort || apart > slipsDiffer || x.Unlike(y)
	}
	return table == ShortTexts && x.Unlike(y) // in another table the shingles may decide, whatever the outlines say
}

// most is the largest number of bits in which the sketches of two documents may
// differ if they are the same. It does not hold for pairs that are few.
func (v *Verifier) most(a, b *data.View) int {
	if v.rule.byEdits(a, b) {
		return max(v.differ, slipsDiffer)
	}
	return v.differ
}

// slipsDiffer is the most bits in which the sketches of two short texts may differ
// if edits are to decide on them. It stands for a similarity of 0.25, which is
// about what remains when a seventh of the characters is edited. Most pages of one
// form, which share keys, are less alike.
var slipsDiffer = sketch.MostDiffer(0.25)

// few reports whether both documents have so few letters that edits alone decide,
// whichever table made them candidates.
func few(a, b *data.View) bool {
	return len(a.Letters) > 0 && len(b.Letters) > 0 && sketch.Few(a.Letters) && sketch.Few(b.Letters)
}

// differ is the number of bits in which the sketches of two documents differ: all
// of them if one document has no sketch.
func differ(a, b *data.View) int {
	return sketch.Differ((*sketch.Sketch)(&a.Sketch), (*sketch.Sketch)(&b.Sketch))
}

// Judge returns the verdict on two candidates as its evidence: reason and figure.
func (v *Verifier) Judge(a, b *data.View) data.Evidence {
	_, e := v.Verdict(a, b)
	return e
}

// Verdict is Judge with the reason in words, also for documents that are not the
// same. Two texts of few letters are judged by their edits. All others are judged
// by their sketches; if both are short texts, edits may also say yes.
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

// byLength gives the verdict by the distance alone, whose limit depends on the
// length of the longer text.
func (v *Verifier) byLength(a, b *data.View) (sketch.Verdict, data.Evidence) {
	if Distance(a, b) > v.rule.Farthest(max(a.Length, b.Length)) {
		return sketch.Verdict{Reason: sketch.ReasonLengthFar}, data.Evidence{Reason: data.NotTheSame}
	}
	return sketch.Verdict{Same: true, Reason: sketch.ReasonLengthNear}, data.Evidence{Reason: data.ByDistance}
}

// asksTexts reports whether the texts have to decide although the sketches gave a
// clear answer. If that is no, one text may still contain the other or be an
// edited version of it. If it is yes, the texts confirm pairs that only the
// samples brought together.
func (v *Verifier) asksTexts(same bool, a, b *data.View) bool {
	r := &v.rule
	if !same {
		return r.sampled(a, b) || !r.byEdits(a, b) && r.ordered(a.Length, b.Length, differ(a, b))
	}
	return !v.met(a, b) && !a.Equal(b) && r.sampled(a, b)
}

// met reports whether two documents are candidates by fingerprint or band. Others
// are candidates only by a short text's keys, which are for few edits, or by their
// samples.
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

// thousandths is the unit of the figure of signatures.
const thousandths = 1000

// EstimatedJaccard returns the similarity, 0 to 1, that the evidence stands for:
// the sketches' or signatures' estimate of the Jaccard similarity or, if edits
// decided, the share of the longer text's letters that were not edited.
func EstimatedJaccard(e data.Evidence) float64 {
	switch e.Reason {
	case data.ByEquality, data.ByEdits:
		return 1 - float64(e.Figure>>8)/float64(e.Figure&0xff)
	case data.BySignatures:
		return float64(e.Figure) / thousandths
	}
	return sketch.Estimate(int(e.Figure))
}

// Text is what Settle reads of the text of a document.
type Text struct {
	Length   int      // in characters, in normal form
	Shingles []uint64 // as sketch.Shingles gives them
	Letters  []rune   // as sketch.Letters gives them
	Left     float64  // share of the page, 0 to 1, that was removed as boilerplate
}

// A small text does not count as contained in another: a column's note, a footer or
// an entry of a list stands in many pages. To count, a text has at least ownLetters
// letters, and at least ownShare of its page is not boilerplate.
const (
	ownLetters = 100
	ownShare   = 0.2
)

// isOwn reports whether the text is large enough to count as contained in another.
func (t *Text) isOwn() bool { return len(t.Letters) >= ownLetters && t.Left <= 1-ownShare }

// Set fills in t from a text in normal form, reusing the slices of t.
func (t *Text) Set(text []byte) {
	t.Length, t.Left = utf8.RuneCount(text), 0
	t.Letters = sketch.Letters(t.Letters[:0], text)
	t.Shingles = sketch.Shingles(slices.Grow(t.Shingles[:0], len(t.Letters)), text) // one begins at each letter at most
}

// Settle gives the verdict on an undecided pair by its texts. It returns the
// reason, the overlap of their shingles and, if the order of their letters decided,
// how these differ. Contains means that x contains y, Contained the reverse.
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

// settled maps a verdict's words to the reason of a pair whose texts are the same.
var settled = map[string]data.Reason{
	sketch.ReasonTextsAlike: data.ByTexts, sketch.ReasonTextsSlips: data.BySlips, sketch.ReasonTextsOrder: data.ByOrder,
}

// Signed is what SettleSigned reads of a document.
type Signed struct {
	Length    int               // of the text in characters, in normal form
	Signature *sketch.Signature // nil if the document has none
}

// SettleSigned gives the verdict on an undecided pair by its signatures. Evidence e
// is that of the sketches, which decide if a document has no signature.
func (v *Verifier) SettleSigned(e data.Evidence, x, y Signed) data.Evidence {
	length := min(x.Length, y.Length)
	if x.Signature == nil || y.Signature == nil {
		return v.estimated(e, length)
	}
	jaccard := x.Signature.Jaccard(y.Signature)
	if jaccard < v.rule.Limit(length) {
		return data.Evidence{Reason: data.NotTheSame}
	}
	return data.Evidence{Reason: data.BySignatures, Figure: uint16(jaccard * thousandths)}
}

// Estimated is Judge for candidates whose texts are no longer available, nor their
// signatures. An undecided pair is then decided by the estimate.
func (v *Verifier) Estimated(a, b *data.View) data.Evidence {
	e := v.Judge(a, b)
	if e.Reason != data.Undecided {
		return e
	}
	return v.estimated(e, shorter(a, b))
}

// estimated decides an undecided pair by the estimate of its sketches.
func (v *Verifier) estimated(e data.Evidence, length int) data.Evidence {
	e.Reason = data.ByEstimate
	if EstimatedJaccard(e) < v.rule.EstimateLimit(length) {
		e.Reason = data.NotTheSame
	}
	return e
}

func shorter(a, b *data.View) int { return int(min(a.Length, b.Length)) }

// runes appends the characters of text to dst. Those of three bytes, ideographs above
// all, are decoded here: a call for each took a quarter of the time of verdicts on
// short texts.
func runes(dst []rune, text []byte) []rune {
	for len(text) > 0 {
		if len(text) >= 3 && text[0]&0xf0 == 0xe0 && text[1]&0xc0 == 0x80 && text[2]&0xc0 == 0x80 {
			c := rune(text[0]&0x0f)<<12 | rune(text[1]&0x3f)<<6 | rune(text[2]&0x3f)
			if c >= 0x800 && !utf16.IsSurrogate(c) {
				dst, text = append(dst, c), text[3:]
				continue
			}
		}
		c, size := utf8.DecodeRune(text)
		dst, text = append(dst, c), text[size:]
	}
	return dst
}

// Distance is the Hamming distance of two documents' fingerprints.
func Distance(a, b *data.View) int {
	return bits.OnesCount64(a.Hi^b.Hi) + bits.OnesCount64(a.Lo^b.Lo)
}

// firstBand returns the first band that two documents share, or −1 if there is
// none.
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

// firstValue returns the smallest value that two documents share in a table.
func (v *Verifier) firstValue(t int, a, b *data.View) uint64 {
	return firstCommon(v.mine.Values(t, a), v.others.Values(t, b))
}

// firstCommon returns the smallest number that is in both lists, which ascend, or 0
// if there is none.
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
