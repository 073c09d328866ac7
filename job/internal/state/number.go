package state

import (
	"encoding/binary"
	"math"

	"github.com/neardup/neardup/data"
)

// NumberBytes is the width of a document's number in records: enough for 10¹²
// documents.
const NumberBytes = 5

// AppendNumber appends a document's number to dst, most significant byte first,
// so that records of numbers sort as the numbers do.
func AppendNumber(dst []byte, doc uint64) []byte {
	return append(dst, byte(doc>>32), byte(doc>>24), byte(doc>>16), byte(doc>>8), byte(doc))
}

// Number decodes the document's number at the start of b.
func Number(b []byte) uint64 {
	_ = b[4]
	return uint64(b[0])<<32 | uint64(b[1])<<24 | uint64(b[2])<<16 | uint64(b[3])<<8 | uint64(b[4])
}

// FindingBytes is the width, in records, of what was found of a pair.
const FindingBytes = 1 + 1 + 2 + 4 + 4

// AppendFinding appends what was found of a pair to dst: distance, reason,
// figure, Jaccard similarity and containment, little-endian.
func AppendFinding(dst []byte, distance uint8, e data.Evidence, o data.Overlap) []byte {
	dst = binary.LittleEndian.AppendUint16(append(dst, distance, byte(e.Reason)), e.Figure)
	dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(o.Jaccard))
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(o.Containment))
}

// Finding decodes what AppendFinding wrote at the start of b.
func Finding(b []byte) (distance uint8, e data.Evidence, o data.Overlap) {
	_ = b[FindingBytes-1]
	e = data.Evidence{Reason: data.Reason(b[1]), Figure: binary.LittleEndian.Uint16(b[2:])}
	o = data.Overlap{Jaccard: math.Float32frombits(binary.LittleEndian.Uint32(b[4:])), Containment: math.Float32frombits(binary.LittleEndian.Uint32(b[8:]))}
	return b[0], e, o
}
