package data

import "math"

// The small records that the join carries: never text, never string ids. A
// document is referred to by its number: the first row of its split plus its
// row in it, so that the smaller number is the earlier document of the input.

// Posting is what the map emits: a document under one key.
type Posting struct {
	Key    uint64 // table and value, simhash.Key
	Hi, Lo uint64 // the suffix, which tells the documents of a group apart
	Doc    uint64 // document number
}

// Pair is two documents that the join found to be the same, or whose texts
// have yet to tell, or one of which contains the other: A < B.
type Pair struct {
	A, B     uint64
	Distance uint8
	Evidence Evidence
}

// Evidence is what the verdict on a pair rests on beside the distance, in three
// bytes.
type Evidence struct {
	Reason Reason
	Figure uint16 // of sketches the bits that differ; of signatures the estimate in thousandths; of short texts the edits in the upper byte, the longer one's length in the lower
}

// Overlap is how much two texts have in common, exactly: the Jaccard similarity
// of their shingles, and the share of the fewer that the other has too.
type Overlap struct {
	Jaccard, Containment float32 // NaN where the texts were not consulted
}

// UnknownOverlap is that of texts that were not consulted.
func UnknownOverlap() Overlap { return Overlap{float32(math.NaN()), float32(math.NaN())} }

// Reason says in one byte why a pair is what it is.
type Reason uint8

// The reasons that a pair can have. They stand in files of the run's state.
const (
	ByDistance   Reason = iota // the fingerprints alone decide
	BySketches                 // the estimate reaches the limit
	ByEstimate                 // it does, by less than the texts may take from it, but they are gone
	Undecided                  // the estimate is so near the limit that signatures or the texts decide
	ByTexts                    // the texts' similarity reaches the limit
	ByEquality                 // short texts of the same letters and digits
	ByEdits                    // short texts of few edits
	BySlips                    // the texts differ by slips alone
	ByOrder                    // they are nearly as alike as the limit asks, and their letters agree in order
	Contains                   // not the same, but the first text has nearly all of the second
	Contained                  // the second has nearly all of the first
	NotTheSame                 // none of these
	BySignatures               // the signatures' estimate reaches the limit
)

var reasons = [...]string{
	ByDistance: "distance", BySketches: "sketches alike", ByEstimate: "sketches near the limit", Undecided: "texts wanted",
	ByTexts: "texts alike", ByEquality: "short, equal", ByEdits: "short, few edits",
	BySlips: "texts alike but for slips", ByOrder: "texts alike in order", Contains: "contains", Contained: "contained", NotTheSame: "not the same",
	BySignatures: "signatures alike",
}

// Same reports whether a pair of that reason is the same.
func (r Reason) Same() bool { return r != Undecided && r < Contains || r == BySignatures }

// Reverse is the reason with the two documents exchanged.
func (r Reason) Reverse() Reason {
	switch r {
	case Contains:
		return Contained
	case Contained:
		return Contains
	}
	return r
}

// String returns the words that the matches table has for the reason.
func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return "unknown"
}
