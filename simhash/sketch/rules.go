package sketch

// Rules say from which similarity on two documents that met as candidates
// are the same. The shorter a text, the more of it is what all texts of its
// kind share, so short ones have to be more alike.
type Rules struct {
	LongFrom    int     // characters of the shorter document from which on it is long
	Short, Long float64 // the least Jaccard similarity of shingles, 0 to 1
	Border      float64 // an estimate less than this from the limit leaves the pair open for the texts to settle; 0: none is open

	// Containment is the share of the smaller set of shingles that the other
	// has too, from which on one of two texts that are not the same contains
	// the other, 0 to 1; 0: it is not asked for.
	Containment float64
}

// Balanced returns rules that decide on sketches alone. They are meant for
// candidates at distance 3 or less or with a band in common.
func Balanced() Rules { return Rules{LongFrom: 800, Short: 0.60, Long: 0.46} }

// Thorough returns rules that have the texts settle what is within about three
// standard errors of the limit, and find texts that contain others. They are meant for candidates at distance 12
// or less or with a band in common.
func Thorough() Rules {
	return Rules{LongFrom: 800, Short: 0.50, Long: 0.46, Border: 0.14, Containment: 0.80}
}

// Reasons of a Verdict.
const (
	reasonSketchAlike  = "sketches alike"  // the estimate reaches the limit
	reasonSketchUnlike = "sketches unlike" // it does not
	reasonTextsAlike   = "texts alike"     // the texts' similarity reaches the limit
	reasonTextsUnlike  = "texts unlike"    // it does not
	ReasonOpen         = "texts wanted"    // the estimate is too near the limit
	ReasonShortEqual   = "short, equal"    // short texts of the same letters and digits
	ReasonShortAlike   = "short, few edits"
	ReasonShortUnlike  = "short, too many edits"
	ReasonShortNumber  = "short, other numbers"
	ReasonShortWord    = "short, another word" // one word stands where the other text has another
	ReasonNothing      = "nothing to compare"  // one of the texts has neither letter nor digit
)

// Verdict is whether two documents are the same, and why.
type Verdict struct {
	Same   bool   `json:"same"`
	Open   bool   `json:"-"` // Same is what the estimate says; Settle says what the texts say
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
// texts' shingles.
func (r Rules) Settle(jaccard float64, length int) Verdict {
	if jaccard >= r.Limit(length) {
		return Verdict{Same: true, Reason: reasonTextsAlike}
	}
	return Verdict{Reason: reasonTextsUnlike}
}
