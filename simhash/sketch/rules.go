package sketch

// Rules say from which similarity on two documents that met as candidates
// are the same. The shorter a text, the more of it is what all texts of its
// kind share, so short ones have to be more alike.
type Rules struct {
	LongFrom    int     // characters of the shorter document from which on it is long
	Short, Long float64 // the least Jaccard similarity of shingles, 0 to 1
	Border      float64 // an estimate less than this from the limit leaves the pair open for the texts to settle, and so does an Ordered one; 0: none is open

	// Containment is the share of the smaller set of shingles that the other
	// has too, from which on one of two texts that are not the same contains
	// the other, 0 to 1; 0: it is not asked for.
	Containment float64
}

// Balanced returns rules that decide on sketches alone. They are meant for
// candidates at distance 3 or less or with a band in common.
func Balanced() Rules { return Rules{LongFrom: 800, Short: 0.60, Long: 0.46} }

// Thorough returns rules that have the texts settle what is within about three
// standard errors of the limit, and find texts that differ by slips, are
// revisions or contain others. They are meant for candidates at distance 12 or
// less or with a band in common.
func Thorough() Rules {
	return Rules{LongFrom: 800, Short: 0.50, Long: 0.50, Border: 0.14, Containment: 0.80}
}

// Scattered edits take more shingles away than letters: of texts with a tenth of
// their letters edited J is 0.42. So texts below the limit are asked for the
// order of their letters: whether they differ by slips alone, down to slipsBelow
// under it, and if both are long whether one is a revision of the other, down to
// revisedBelow.
const (
	slipsBelow   = 0.25
	revisedBelow = 0.12
)

// estimatedBelow is how much below the limit the estimate decides on long texts
// that are gone: there Balanced has its limit.
const estimatedBelow = 0.04

// The limit of the distance by the length of the texts, in characters: PieceLong bits
// from PiecesFrom on, and up to PieceShort below. A news product's text (2018) and
// that on mass text similarity (2013) give both ends; the even steps are ours.
const (
	PiecesFrom = 500
	PieceLong  = 3
	PieceShort = 10
)

// Piecewise is the largest distance of two fingerprints the longer of whose texts has
// so many characters, where that of the shortest texts is most: PieceShort, usually.
func Piecewise(most, characters int) int {
	long := min(PieceLong, most)
	return most - (most-long)*min(characters, PiecesFrom)/PiecesFrom
}

// Reasons of a Verdict.
const (
	reasonSketchAlike  = "sketches alike"  // the estimate reaches the limit
	reasonSketchUnlike = "sketches unlike" // it does not
	ReasonTextsAlike   = "texts alike"     // the texts' similarity reaches the limit
	ReasonTextsUnlike  = "texts unlike"    // it does not
	ReasonTextsSlips   = "texts alike but for slips"
	ReasonTextsOrder   = "texts alike in order"
	ReasonOpen         = "texts wanted" // the estimate is too near the limit
	ReasonShortEqual   = "short, equal" // short texts of the same letters and digits
	ReasonShortAlike   = "short, few edits"
	ReasonShortUnlike  = "short, too many edits"
	reasonShortNumber  = "short, other numbers"
	reasonShortWord    = "short, another word"             // one word stands where the other text has another
	ReasonShortForm    = "short, another slot of one form" // many texts share the words around what differs
	ReasonNothing      = "nothing to compare"              // one of the texts has neither letter nor digit
	ReasonLengthNear   = "within the distance for their length"
	ReasonLengthFar    = "beyond the distance for their length"
)

// Verdict is whether two documents are the same, and why.
type Verdict struct {
	Same   bool   `json:"same"`
	Open   bool   `json:"-"` // Same is what was known so far; Settle says what the texts say
	Reason string `json:"reason"`
}

// Limit returns the least similarity for a pair whose shorter document has
// that many characters in normal form.
func (r Rules) Limit(length int) float64 {
	if length >= r.LongFrom {
		return r.Long
	}
	return r.Short
}

// EstimateLimit returns the least estimate for a pair whose texts would have to
// decide but are gone.
func (r Rules) EstimateLimit(length int) float64 {
	if r.Border > 0 && length >= r.LongFrom {
		return r.Long - estimatedBelow
	}
	return r.Limit(length)
}

// Least returns the estimate from which on any pair is open or the same.
func (r Rules) Least() float64 {
	least := min(r.Short, r.Long)
	if r.Border > 0 {
		least -= max(r.Border, slipsBelow)
	}
	return max(least, 0)
}

// Ordered reports whether the texts of a pair that is not the same by its
// estimated similarity are asked for the order of their letters: shorter and
// longer are the texts' lengths.
func (r Rules) Ordered(estimate float64, shorter, longer int) bool {
	return r.Border > 0 && withinHalf(shorter, longer) && estimate >= r.Limit(shorter)-slipsBelow
}

// Judge gives the verdict by the estimated similarity of a pair whose shorter
// document has length characters in normal form (simhash.Result.Length).
func (r Rules) Judge(estimate float64, length int) Verdict {
	limit := r.Limit(length)
	v := Verdict{Same: estimate >= limit}
	switch {
	case r.Border > 0 && estimate > limit-r.Border && estimate < limit+r.Border:
		v.Open, v.Reason = true, ReasonOpen
	case v.Same:
		v.Reason = reasonSketchAlike
	default:
		v.Reason = reasonSketchUnlike
	}
	return v
}

// Settle gives the verdict on an open pair by the Jaccard similarity of its
// texts' shingles and, where that leaves it open, by the order of their Letters: how
// they differ, if these say yes. It works in s.
func (r Rules) Settle(s *Short, a, b []rune, jaccard float64, length int) (Verdict, Edited) {
	limit := r.Limit(length)
	switch {
	case jaccard >= limit:
		return Verdict{Same: true, Reason: ReasonTextsAlike}, Edited{}
	case r.Border <= 0 || jaccard < limit-slipsBelow:
		return Verdict{Reason: ReasonTextsUnlike}, Edited{}
	}
	align := &s.alignment
	if v, e := align.slips(a, b); v.Same {
		return Verdict{Same: true, Reason: ReasonTextsSlips}, e
	}
	if length >= r.LongFrom && jaccard >= limit-revisedBelow {
		if ok, e := align.revised(a, b); ok {
			return Verdict{Same: true, Reason: ReasonTextsOrder}, e
		}
	}
	return Verdict{Reason: ReasonTextsUnlike}, Edited{}
}
