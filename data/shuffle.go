package data

// The small records that the join carries: never text, never string ids. A
// document is referred to by its number: the first row of its split plus its
// row in it, so that the smaller number is the earlier document of the input.

// Keyed is what the map emits: a document under one key.
type Keyed struct {
	Key    uint64 // table and value, simhash.Key
	Hi, Lo uint64 // the rest, which tells the documents of a group apart
	Doc    uint64 // document number
}

// Entry is one distinct rest of a group with the documents that have it,
// ascending.
type Entry struct {
	Key    uint64
	Hi, Lo uint64
	Docs   []uint64
}

// Pair is two documents that the join found to be the same, or whose texts
// have yet to tell: A < B.
type Pair struct {
	A, B     uint64
	Distance uint8
	Evidence Evidence
}

// Evidence is what the verdict on a pair rests on beside the distance, in three
// bytes.
type Evidence struct {
	Reason Reason
	Figure uint16 // of sketches the bits that differ; of short texts the edits in the upper byte, the longer one's length in the lower
}

// Reason says in one byte why a pair is what it is.
type Reason uint8

// The reasons that a pair can have. They stand in files of the run's state.
const (
	ByDistance Reason = iota // the fingerprints alone decide
	BySketches               // the estimate reaches the limit
	ByEstimate               // it does, by less than the texts may take from it, but they are gone
	Open                     // the estimate is so near the limit that the texts decide
	ByTexts                  // the texts' similarity reaches the limit
	ByEquality               // short texts of the same letters and digits
	ByEdits                  // short texts of few edits
	NotTheSame               // none of these
)

var reasons = [...]string{
	ByDistance: "distance", BySketches: "sketches alike", ByEstimate: "sketches near the limit", Open: "texts wanted",
	ByTexts: "texts alike", ByEquality: "short, equal", ByEdits: "short, few edits", NotTheSame: "not the same",
}

// String returns the words that the matches table has for the reason.
func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return "unknown"
}
