// Package planted makes documents for the tests of engines: random ones, near
// copies, hot keys, equal ones and short texts.
package planted

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/numbered"
	"github.com/neardup/neardup/simhash/sketch"
)

// Prints makes n fingerprints: random ones, near copies, and a hot segment key
// that a third of them share.
func Prints(n, bits int) []data.View {
	r := rand.New(rand.NewPCG(1, uint64(bits)))
	out := make([]data.View, n)
	for i := range out {
		v := data.View{Lo: r.Uint64(), Normal: true}
		if bits == 128 {
			v.Hi = r.Uint64()
		}
		switch {
		case i > 10 && i%5 == 0: // within 3 of another
			v = out[r.IntN(i)]
			for range r.IntN(4) {
				v.Lo ^= 1 << r.IntN(min(bits, 64))
			}
		case i%3 == 0: // the same first and last segment
			v.Lo = 0xdead<<48 | v.Lo&0x0000ffffffff0000 | 0xbeef
		}
		if bits == 32 {
			v.Lo &= 1<<32 - 1
		}
		out[i] = v
	}
	return out
}

// Views makes n documents with Prints and sketches: of copies alike more or
// less, some of them of equal fingerprints, of hot bands, of the short lane,
// and short texts with their edits.
func Views(n, bits int) []data.View {
	r := rand.New(rand.NewPCG(2, uint64(bits)))
	out := Prints(n, bits)
	var last []byte
	for i := range out {
		v := &out[i]
		v.Length = uint32(30 + r.IntN(2000))
		for b := range v.Sketch {
			v.Sketch[b] = byte(r.Uint32())
		}
		if i > 10 && r.IntN(3) == 0 { // like an earlier one
			of := out[r.IntN(i)]
			v.Sketch, v.Length = of.Sketch, of.Length
			for range r.IntN(120) {
				bit := r.IntN(40 * 8)
				v.Sketch[bit/8] ^= 1 << (bit % 8)
			}
			for range r.IntN(10) { // bands that they do not share
				v.Sketch[40+r.IntN(24)]++
			}
			if r.IntN(4) == 0 {
				v.Hi, v.Lo = of.Hi, of.Lo
			}
			if r.IntN(8) == 0 {
				*v = of
			}
		}
		if i%7 == 0 { // a hot band
			copy(v.Sketch[40:43], "hot")
		}
		v.Normal = v.Normal && i%11 != 0
		if i%13 == 0 {
			letters := make([]rune, 4+r.IntN(12))
			for j := range letters {
				letters[j] = rune('a' + r.IntN(26))
			}
			v.Letters = []byte(string(letters))
			if last != nil && r.IntN(2) == 0 {
				v.Letters = append([]byte{}, last...)
				for range r.IntN(3) {
					v.Letters[r.IntN(len(v.Letters))] = 'x'
				}
			}
			last = v.Letters
		}
	}
	return out
}

// Alike makes n documents as a crawl has them: of the normal lane, a fifth of
// them like an earlier one, and none of them in a crowd.
func Alike(n int) []data.View {
	r := rand.New(rand.NewPCG(3, 3))
	out := make([]data.View, n)
	for i := range out {
		v := &out[i]
		*v = data.View{Lo: r.Uint64(), Length: uint32(800 + r.IntN(2000)), Normal: true}
		for b := 0; b < len(v.Sketch); b += 8 {
			binary.LittleEndian.PutUint64(v.Sketch[b:], r.Uint64())
		}
		if i%5 != 4 {
			continue
		}
		of := out[r.IntN(i)]
		v.Lo = of.Lo ^ 1<<r.IntN(64) ^ 1<<r.IntN(64)
		v.Sketch = of.Sketch
		for range r.IntN(40) {
			bit := r.IntN(40 * 8)
			v.Sketch[bit/8] ^= 1 << (bit % 8)
		}
		for range r.IntN(4) { // bands that they do not share
			v.Sketch[40+r.IntN(24)]++
		}
	}
	return out
}

// Write stores documents under their numbers in folder dir and opens it.
func Write(dir string, form numbered.Form, views []data.View) (*numbered.Folder, error) {
	w, err := numbered.Create(filepath.Clean(dir), form)
	if err != nil {
		return nil, err
	}
	for i, v := range views {
		if err := w.Add(numbered.Document{ID: fmt.Appendf(nil, "%08d", i), Hi: v.Hi, Lo: v.Lo, View: v}); err != nil {
			return nil, err
		}
	}
	if err := w.Commit(); err != nil {
		return nil, err
	}
	return numbered.Open(dir)
}

var _ = [1]struct{}{}[sketch.Size-data.SketchSize] // they agree
