package data

// SketchSize is the number of bytes of a sketch, as simhash/sketch makes it.
const SketchSize = 64

// View is what the verdict on a pair looks at of a document.
type View struct {
	Hi, Lo  uint64           // the fingerprint
	Sketch  [SketchSize]byte // zero for a text without letters and digits
	Length  uint32           // of the text's normal form in characters
	Normal  bool             // of the normal lane: the fingerprint is matched
	Letters []byte           // of a short text its letters and digits as UTF-8, else empty
}

// Equal reports whether no verdict can tell v and w apart.
func (v *View) Equal(w *View) bool {
	return v.Lo == w.Lo && v.Hi == w.Hi && v.Length == w.Length && v.Normal == w.Normal &&
		v.Sketch == w.Sketch && string(v.Letters) == string(w.Letters)
}
