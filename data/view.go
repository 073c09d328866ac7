package data

import "encoding/binary"

// SketchSize is the number of bytes of a sketch, as simhash/sketch makes it.
const SketchSize = 64

// View is all that the verdict on a pair reads of a document: its signature, in other
// words. Documents with equal views get equal verdicts, so one of them can stand for
// all. A set of distinct views is a mapper.Units.
type View struct {
	Hi, Lo  uint64           // the fingerprint
	Sketch  [SketchSize]byte // zero for a text without letters and digits
	Length  uint32           // of the text's normal form in characters
	Normal  bool             // of normal length: the fingerprint is matched
	Letters []byte           // of a short text its letters and digits as UTF-8, else empty
	Sample  []byte           // of any but one of few letters some of its shingles, as simhash/sketch makes it
}

// ViewColumns says which parts of views something reads, beside the fingerprint.
type ViewColumns uint

// The parts of a View beside the fingerprint.
const (
	ReadSketch  ViewColumns = 1 << iota // sketch and length
	ReadLetters                         // letters
	ReadSample                          // sample
)

// Equal reports whether no verdict can tell v and w apart.
func (v *View) Equal(w *View) bool {
	return v.Lo == w.Lo && v.Hi == w.Hi && v.Length == w.Length && v.Normal == w.Normal &&
		v.Sketch == w.Sketch && string(v.Letters) == string(w.Letters) && string(v.Sample) == string(w.Sample)
}

// Append appends all that a verdict looks at to dst: two views append the same
// bytes if they are Equal, and only then.
func (v *View) Append(dst []byte) []byte {
	class := byte(0)
	if v.Normal {
		class = 1
	}
	dst = binary.LittleEndian.AppendUint64(append(dst, class), v.Lo)
	dst = binary.LittleEndian.AppendUint64(dst, v.Hi)
	dst = binary.LittleEndian.AppendUint32(dst, v.Length)
	dst = binary.LittleEndian.AppendUint16(append(dst, v.Sketch[:]...), uint16(len(v.Letters)))
	return append(append(dst, v.Letters...), v.Sample...)
}

// Unpack sets v to the view whose bytes Append appended. Its letters and its
// sample are part of b.
func (v *View) Unpack(b []byte) {
	v.Normal, v.Lo, v.Hi = b[0] == 1, binary.LittleEndian.Uint64(b[1:]), binary.LittleEndian.Uint64(b[9:])
	v.Length = binary.LittleEndian.Uint32(b[17:])
	v.Sketch = [SketchSize]byte(b[21:])
	letters := int(binary.LittleEndian.Uint16(b[21+SketchSize:]))
	b = b[23+SketchSize:]
	v.Letters, v.Sample = b[:letters:letters], b[letters:]
}
