package data

// The small fixed-size records that the shuffle carries: never text, never
// string ids. A document is referred to by its number: its position among the
// run's matched documents in ascending order of id, so that the smaller number
// is the smaller id.

// Keyed is what the segment map emits: a fingerprint under one segment key.
type Keyed struct {
	Key    uint64 // table and segment value, simhash.Key
	Hi, Lo uint64 // the rest of the fingerprint's bits
	Doc    uint32 // document number
}

// Entry is one distinct fingerprint of a group with the documents that have
// it, ascending.
type Entry struct {
	Key    uint64
	Hi, Lo uint64
	Docs   []uint32
}

// Pair is two documents within the distance threshold, A < B. Compare reports
// representatives: of the documents that share a fingerprint the smallest
// stands for all, and is paired at distance 0 with each of the others.
type Pair struct {
	A, B     uint32
	Distance uint8
}
