package sketch

// Rules say how similar two candidates must be to count as the same. Of a short text
// a larger part is what all texts of its kind share, so short texts have to be more
// alike.
type Rules struct {
	LongFrom    int     // a pair is long if the shorter text has at least so many characters
	Short, Long float64 // the least Jaccard similarity of shingles, 0 to 1, for short and for long pairs

	// Border is how near to the limit an estimate has to be for the texts to decide;
	// they also decide on pairs that are Ordered. 0: the sketches always decide.
	Border float64

	// Signatures says that signatures decide in the place of the texts. They tell
	// nothing of the order of letters, so no pair is Ordered.
	Signatures bool

	// Containment is the least containment, 0 to 1, of two texts that are not the
	// same for one to count as containing the other: the share of the smaller set
	// of shingles that the larger one has too. 0: containment is not looked for.
	Containment float64
}

// Balanced returns rules by which signatures decide on estimates within about two
// standard errors of the limit, and the sketches on all others. They are meant for
// candidates that are within distance 3 or share a band.
func Balanced() Rules {
	return Rules{LongFrom: 800, Short: 0.55, Long: 0.47, Border: 0.12, Signatures: true}
}

// Thorough returns rules by which the texts decide on estimates within about three
// standard errors of the limit. They also find texts that differ by slips, are
// revisions, or contain others. They are meant for candidates that are within
// distance 12 or share a band.
func Thorough() Rules {
	return Rules{LongFrom: 800, Short: 0.50, Long: 0.50, Border: 0.14, Containment: 0.80}
}

// An edit spoils each shingle that it is in. With a tenth of the letters edited,
// scattered, 0.9⁵ = 0.59 of the shingles stay, and J is 0.59 / (2 − 0.59) = 0.42,
// though the texts are the same to a reader. Below the limit the letters
// are therefore compared in order. Down to slipsBelow under the limit that shows
// whether texts differ by slips alone; down to revisedBelow, if both are long,
// whether one is a revision of the other.
const (
	slipsBelow   = 0.25
	revisedBelow = 0.12
)

// If the estimate decides on texts that are no longer available, the limit of long
// texts is lowered by estimatedBelow, to 0.46. If it decides in the place of
// signatures, the limits are 0.46 for long texts and 0.60 for others: more wrong pairs
// reach a limit by an estimate with twice the error, most of all among short texts,
// which share more with all texts of their kind.
const (
	estimatedBelow = 0.04
	unsignedBelow  = 0.01
	unsignedAbove  = 0.05
)

// The limit of the distance by the length of the texts, in characters: PieceLong bits
// from PiecesFrom on, and up to PieceShort below. A news product's text (2018) and
// that on mass text similarity (2013) give both ends; the even steps are ours.
const (
	PiecesFrom = 500
	PieceLong  = 3
	PieceShort = 10
)

// Piecewise returns the largest distance at which two fingerprints match, for a
// pair whose longer text has that many characters. It falls in even steps from
// most, for the shortest texts, to PieceLong at PiecesFrom characters. Most is
// PieceShort, usually.
func Piecewise(most, characters int) int {
	long := min(PieceLong, most)
	return most - (most-long)*min(characters, PiecesFrom)/PiecesFrom
}

// Reasons of a Verdict.
const (
	reasonSketchAlike  = "sketches alike"    // the estimate reaches the limit
	reasonSketchUnlike = "sketches unlike"   // it does not
	ReasonSigned       = "signatures alike"  // the signatures' estimate reaches the limit
	ReasonUnsigned     = "signatures unlike" // it does not
	ReasonTextsAlike   = "texts alike"       // the texts' similarity reaches the limit
	ReasonTextsUnlike  = "texts unlike"      // it does not
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
	Open   bool   `json:"-"` // the texts have to decide, by Settle, or signatures; Same is the sketches' answer
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

// EstimateLimit returns the least estimate for a pair on which texts or signatures
// should decide but are not available.
func (r Rules) EstimateLimit(length int) float64 {
	switch long := length >= r.LongFrom; {
	case r.Border <= 0:
	case r.Signatures && long:
		return r.Long - unsignedBelow
	case r.Signatures:
		return r.Short + unsignedAbove
	case long:
		return r.Long - estimatedBelow
	}
	return r.Limit(length)
}

// Least returns the lowest estimate at which a pair, of whatever length, may be the
// same or open.
func (r Rules) Least() float64 {
	least := min(r.Short, r.Long)
	switch {
	case r.Border > 0 && r.Signatures:
		least -= r.Border
	case r.Border > 0:
		least -= max(r.Border, slipsBelow)
	}
	return max(least, 0)
}

// Ordered reports whether the letters of two texts that are not the same by their
// estimate are compared in order. Shorter and longer are the texts' lengths in
// characters.
func (r Rules) Ordered(estimate float64, shorter, longer int) bool {
	return r.Border > 0 && !r.Signatures && withinHalf(shorter, longer) && estimate >= r.Limit(shorter)-slipsBelow
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

// Settle gives the verdict on an open pair. It goes by the Jaccard similarity of the
// texts' shingles and, if that is below the limit but not far, by a and b, their
// Letters in order. If the letters say yes, it also returns how they differ. Length
// is that of the shorter text. Settle works in the buffers of s.
func (r Rules) Settle(s *Short, a, b []rune, jaccard float64, length int) (Verdict, Edited) {
	limit := r.Limit(length)
	switch {
	case jaccard >= limit:
		return Verdict{Same: true, Reason: ReasonTextsAlike}, Edited{}
	case r.Border <= 0 || r.Signatures || jaccard < limit-slipsBelow:
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
