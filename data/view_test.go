package data_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/neardup/neardup/data"
)

func TestReasonsHaveDifferentWords(t *testing.T) {
	words := map[string]data.Reason{}
	for r := data.ByDistance; r <= data.BySignatures; r++ {
		if other, taken := words[r.String()]; taken || r.String() == "" {
			t.Errorf("%d and %d are both %q", r, other, r)
		}
		words[r.String()] = r
	}
	if got := (data.BySignatures + 1).String(); got != "unknown" {
		t.Errorf("a reason that there is not is %q", got)
	}
}

func TestEqualLooksAtEveryField(t *testing.T) {
	v := data.View{Hi: 1, Lo: 2, Sketch: [data.SketchSize]byte{3}, Length: 4, Normal: true, Letters: []byte("abc"), Sample: []byte("defg")}
	for name, change := range map[string]func(*data.View){
		"hi": func(v *data.View) { v.Hi++ }, "lo": func(v *data.View) { v.Lo++ }, "length": func(v *data.View) { v.Length++ },
		"length_class": func(v *data.View) { v.Normal = false }, "sketch": func(v *data.View) { v.Sketch[63] = 1 }, "letters": func(v *data.View) { v.Letters = []byte("abd") },
		"sample": func(v *data.View) { v.Sample = nil }, "where they are divided": func(v *data.View) { v.Letters, v.Sample = []byte("abcd"), []byte("efg") },
	} {
		w := v
		change(&w)
		if v.Equal(&w) || w.Equal(&v) || bytes.Equal(v.Append(nil), w.Append(nil)) {
			t.Errorf("views of different %s are equal", name)
		}
		var back data.View
		if back.Unpack(w.Append([]byte{})); !back.Equal(&w) {
			t.Errorf("%+v, packed and unpacked, is %+v", w, back)
		}
	}
	w := v
	w.Letters = slices.Clone(v.Letters)
	if !v.Equal(&w) {
		t.Error("a view is not equal to its copy")
	}
}
