// Package plantedtest makes documents for the tests of engines: random ones, near
// copies, hot keys, equal ones, short texts and common passages.
package plantedtest

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/exactdup"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/simhash/sketch"
)

// Hot makes documents of hot keys beyond the bounds on them: very many of one
// fingerprint, two fingerprints of many, a hot band, and short texts that share
// a key. Of each a few are alike.
func Hot() (out []data.View) {
	r := rand.New(rand.NewPCG(4, 4))
	add := func(n int, like func(i int, v *data.View)) {
		for i := range n {
			v := data.View{Lo: r.Uint64(), Length: 1000, Normal: true}
			for b := range v.Sketch {
				v.Sketch[b] = byte(r.Uint32())
			}
			like(i, &v)
			if i%10 == 9 { // like one of those before, but for some bits
				v.Sketch = out[len(out)-1-r.IntN(9)].Sketch
				for range r.IntN(60) {
					bit := r.IntN(40 * 8)
					v.Sketch[bit/8] ^= 1 << (bit % 8)
				}
			}
			out = append(out, v)
		}
	}
	add(800, func(_ int, v *data.View) { v.Lo = 0x0123456789abcdef })
	add(200, func(i int, v *data.View) { v.Lo = 0xfedcba9876543210 ^ uint64(i%2) })
	add(700, func(_ int, v *data.View) { copy(v.Sketch[40:43], "hot") })
	add(700, func(_ int, v *data.View) {
		v.Letters = []byte("hotkey")
		for range 4 {
			v.Letters = append(v.Letters, byte('a'+r.IntN(26)))
		}
		v.Normal = false
	})
	add(400, func(i int, v *data.View) { // a hot sampled shingle, and one that few share
		v.Sample = sample(10, 20, uint32(1000+i/4))
	})
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// sample is a sample of keys in ascending order.
func sample(keys ...uint32) (s []byte) {
	for _, key := range keys {
		s = binary.LittleEndian.AppendUint32(s, key)
	}
	return s
}

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

// Lengths makes n documents of all lengths around those at which a rule by length
// changes: Prints, and copies of others with up to a dozen bits changed, most of them
// in length, too.
func Lengths(n, bits int) []data.View {
	r := rand.New(rand.NewPCG(3, uint64(bits)))
	out := Prints(n, bits)
	for i := range out {
		v := &out[i]
		if i > 10 && i%2 == 0 {
			*v = out[r.IntN(i)]
			for range r.IntN(13) {
				v.Lo ^= 1 << r.IntN(min(bits, 64))
			}
		}
		if v.Length == 0 || i%3 > 0 {
			v.Length = uint32(1 + r.IntN(800))
		}
	}
	return out
}

// Views makes n documents with Prints and sketches: of copies alike more or
// less, some of them of equal fingerprints, of hot bands, of short length,
// and short texts with their edits.
func Views(n, bits int) []data.View {
	r := rand.New(rand.NewPCG(2, uint64(bits)))
	out := Prints(n, bits)
	var last *data.View
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
			length := 4 + r.IntN(12)
			if r.IntN(3) == 0 { // not of few letters
				length = 50 + r.IntN(80)
			}
			letters := make([]rune, length)
			for j := range letters {
				letters[j] = rune('a' + r.IntN(26))
			}
			v.Letters = []byte(string(letters))
			if last != nil && r.IntN(2) == 0 {
				v.Letters, v.Sketch = append([]byte{}, last.Letters...), last.Sketch
				for range 1 + r.IntN(9) {
					v.Sketch[40+r.IntN(24)]++
				}
				for range r.IntN(3) {
					v.Letters[r.IntN(len(v.Letters))] = 'x'
				}
			}
			last = v
		}
		if !sketch.Few(v.Letters) || len(v.Letters) == 0 {
			v.Sample = passages(r, n)
		}
	}
	return out
}

// passages is the sample of a text that has some passages of one of n/8 others,
// and some of its own.
func passages(r *rand.Rand, n int) []byte {
	var keys []uint32
	first := uint32(r.IntN(n/8+1)) << 10
	for range 1 + r.IntN(12) {
		keys = append(keys, first+uint32(r.IntN(16)), r.Uint32()>>r.IntN(7))
	}
	slices.Sort(keys)
	return sample(slices.Compact(keys)...)
}

// Alike makes n documents as a crawl has them: of normal length, a fifth of
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

// Write writes what a run of so many splits has of the documents when the match
// begins: their views, and which of them others stand for. The last split has
// what is left over, and may be empty.
func Write(dir *rundir.Dir, cfg config.Config, splits int, documents []data.View) (*corpus.Documents, error) {
	per := len(documents)/splits + 1
	for task := range splits {
		from, to := min(task*per, len(documents)), min((task+1)*per, len(documents))
		if err := write(corpus.ViewPath(dir, task), method.ViewForm(cfg), from, documents[from:to]); err != nil {
			return nil, err
		}
		if err := os.RemoveAll(corpus.ExactPath(dir, task)); err != nil {
			return nil, err
		}
	}
	d, err := corpus.Open(dir, splits)
	if err != nil {
		return nil, err
	}
	if err := identicals(dir, cfg, d); err != nil {
		return nil, err
	}
	return corpus.Open(dir, splits)
}

// write writes the views of a split, whose first document is first.
func write(path string, form views.Form, first int, documents []data.View) (err error) {
	w, err := views.Create(path, form)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Abort()) }()
	for i := range documents {
		if err := w.Write(&views.Row{View: documents[i], ID: xxh3.Hash(ID(first + i)), Keep: math.NaN()}); err != nil {
			return err
		}
	}
	return w.Commit()
}

// ID is the id of a document.
func ID(doc int) []byte { return fmt.Appendf(nil, "%08d", doc) }

// identicals writes which documents others stand for.
func identicals(dir *rundir.Dir, cfg config.Config, d *corpus.Documents) error {
	find := corpus.Deduper{Documents: d, Rule: method.Rule(cfg.Match), Workers: 2, Memory: 1 << 30, IDs: func(_ context.Context, split int, yield func(id []byte) error) error {
		for doc := d.First(split); doc < d.First(split+1); doc++ {
			if err := yield(ID(int(doc))); err != nil {
				return err
			}
		}
		return nil
	}}
	var mu sync.Mutex
	var found []exactdup.Document
	err := find.Find(context.Background(), func(e exactdup.Document) error {
		mu.Lock()
		defer mu.Unlock()
		found = append(found, e)
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b exactdup.Document) int { return cmp.Compare(a.Doc, b.Doc) })
	for task := range d.Parts() {
		var records []byte
		for ; len(found) > 0 && found[0].Doc < d.First(task+1); found = found[1:] {
			records = exactdup.Append(records, found[0])
		}
		if err := state.Write(corpus.ExactPath(dir, task), exactdup.FileKind, records); err != nil {
			return err
		}
	}
	return nil
}

var _ = [1]struct{}{}[data.SketchSize-len(sketch.Sketch{})] // they agree
