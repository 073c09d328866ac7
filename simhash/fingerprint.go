package simhash

import (
	"fmt"
	"math/bits"
)

// Fingerprint is the SimHash of a document. 32 and 64 bits stand in Lo with
// Hi zero; Hi is the more significant half of 128.
type Fingerprint struct{ Hi, Lo uint64 }

// Distance returns the Hamming distance of two fingerprints: the number of
// bits, 0 to 128, in which they differ.
func Distance(a, b Fingerprint) int {
	return bits.OnesCount64(a.Lo^b.Lo) + bits.OnesCount64(a.Hi^b.Hi)
}

// Similarity returns 1 − h/bits for two fingerprints of that many bits at
// Hamming distance h: 1 for identical ones, about 0.5 for unrelated ones.
func Similarity(a, b Fingerprint, bits int) float64 {
	return 1 - float64(Distance(a, b))/float64(bits)
}

// Hex returns the fingerprint of that many bits as bits/4 hexadecimal digits,
// the most significant first.
func (f Fingerprint) Hex(bits int) string {
	switch bits {
	case 128:
		return fmt.Sprintf("%016x%016x", f.Hi, f.Lo)
	case 32:
		return fmt.Sprintf("%08x", f.Lo)
	default:
		return fmt.Sprintf("%016x", f.Lo)
	}
}

// checkBits returns an error when bits is not a width of a fingerprint.
func checkBits(bits int) error {
	if bits != 32 && bits != 64 && bits != 128 {
		return fmt.Errorf("bits %d: write 32, 64 or 128", bits)
	}
	return nil
}

// Length classes say how a document is matched, by its number of features. Only
// normal documents are matched by fingerprint: with few features a fingerprint says
// too little, and all documents without any have the fingerprint zero.
const (
	LengthNormal   = "normal"   // at least Options.MinFeatures features
	laneShort      = "short"    // fewer
	laneEmpty      = "empty"    // none
	LengthTemplate = "template" // none besides its site's boilerplate; set by the caller, which removes boilerplate first
)
