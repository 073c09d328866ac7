package mapper

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/sketch"
)

// Further tables ride the shuffle behind those of the layout, under prefixes
// of their own: one for each band of the sketches, in which documents meet
// whose texts are alike though their fingerprints are not, and one for the
// keys of short texts.
const (
	TableShort    = sketch.Bands // its place among the further tables
	FurtherTables = sketch.Bands + 1
)

// shortKeyBits is the width of a short text's key; two keys that are cut to the
// same bits only make a pair meet in vain.
const shortKeyBits = 32

// Further is the second map for the further tables. It holds buffers that are
// used again, so one goroutine uses it at a time.
type Further struct {
	first      int // table
	bands      bool
	shortTexts bool
	short      sketch.Short
	letters    []rune
	keys       []uint64
	band       [1]uint64
}

// NewFurther returns the map of the further tables, of which first is the
// first, for documents that meet by their bands, as short texts, or both.
func NewFurther(first int, bands, shortTexts bool) *Further {
	return &Further{first: first, bands: bands, shortTexts: shortTexts}
}

// Values are what a document meets others by in further table t: a band, the
// keys of a short text, or nothing. They are distinct and ascending, and good
// until the next call.
func (f *Further) Values(t int, v *data.View) []uint64 {
	switch {
	case t < TableShort && f.banded(v):
		f.band[0] = uint64((*sketch.Sketch)(&v.Sketch).Band(t))
		return f.band[:]
	case t == TableShort && f.isShort(v):
		return f.shortKeys(v)
	}
	return nil
}

// Table is Tables for one table.
func (f *Further) Table(t int, v *data.View, doc uint32, emit func(data.Keyed) error) error {
	return f.Tables(t, t+1, v, doc, emit)
}

// Tables calls emit with the records of document doc in the further tables
// first to last − 1, one for each value. The rest of a record brings equal
// documents together, as the rest of a segment's record does: it is a hash of
// the view.
func (f *Further) Tables(first, last int, v *data.View, doc uint32, emit func(data.Keyed) error) error {
	if !f.banded(v) && !f.isShort(v) {
		return nil
	}
	rest := hashView(v)
	for t := first; t < last; t++ {
		for _, value := range f.Values(t, v) {
			if err := emit(data.Keyed{Key: uint64(FurtherKey(f.first, t, value)), Lo: rest >> furtherBits(t), Doc: doc}); err != nil {
				return err
			}
		}
	}
	return nil
}

// banded reports whether a document has bands to meet by.
func (f *Further) banded(v *data.View) bool { return f.bands && v.Sketch != [data.SketchSize]byte{} }

// isShort reports whether a document meets others as a short text.
func (f *Further) isShort(v *data.View) bool { return f.shortTexts && len(v.Letters) > 0 }

// shortKeys are the distinct keys of a short text, cut to shortKeyBits,
// ascending.
func (f *Further) shortKeys(v *data.View) []uint64 {
	f.letters = runes(f.letters[:0], v.Letters)
	f.keys = f.short.Keys(f.keys[:0], f.letters)
	for i := range f.keys {
		f.keys[i] >>= 64 - shortKeyBits
	}
	f.keys = slices.Compact(f.keys)
	return f.keys
}

func furtherBits(t int) int {
	if t < TableShort {
		return sketch.BandBits
	}
	return shortKeyBits
}

// hashView is the same for equal views.
func hashView(v *data.View) uint64 {
	h := v.Lo ^ mix(v.Hi+uint64(v.Length))
	for b := v.Sketch[:]; len(b) > 0; b = b[8:] {
		h = mix(h + binary.LittleEndian.Uint64(b))
	}
	return h
}

// FurtherKey is the key of a value in further table t.
func FurtherKey(first, t int, value uint64) simhash.Key {
	return simhash.NewKey(first+t, furtherBits(t), value)
}

// PackFurther puts the value and the rest of a further table's record into 64
// bits, as many as a fingerprint has; UnpackFurther takes them out again.
func PackFurther(first int, r data.Keyed) uint64 {
	key := simhash.Key(r.Key)
	return key.Value()<<(64-furtherBits(key.Table()-first)) | r.Lo
}

// UnpackFurther is the inverse of PackFurther for table, further or not.
func UnpackFurther(first, table int, packed uint64) (r data.Keyed) {
	width := furtherBits(table - first)
	return data.Keyed{Key: uint64(FurtherKey(first, table-first, packed>>(64-width))), Lo: packed << width >> width}
}

// Bounds on what is compared where very many documents that are not the same
// share what they meet by: pages of one template, hot bands. Without them such
// a crowd would cost the square of its size, and as many pairs.
const (
	// MaxGroup is the most units of a group that are all compared with each
	// other; of a larger group each is compared with the groupWindow next in
	// order of their sketches.
	MaxGroup    = 512
	groupWindow = 64

	// MaxNear is the most pairs of units of two fingerprints that are all
	// compared; of more, the nearUnits of the smallest documents on either
	// side are.
	MaxNear   = 4096
	nearUnits = 16
)

// Confirmer is the third map where pairs are verified: it finds and confirms
// the pairs of a group of documents that met. It holds buffers that are used
// again, so one goroutine uses it at a time.
//
// Documents that no verdict can tell apart are a unit: the smallest stands for
// it, is paired with each of the others, and with the smallest of other units.
type Confirmer struct {
	k       int
	further *Further
	verify  *Verifier
	view    func(doc uint32, v *data.View) error
	views   []data.View
	spare   []data.View
}

// NewConfirmer returns a Confirmer for documents that met at distance k or in
// one of the further tables; view reads a document's view into v, using v's
// letters again.
func NewConfirmer(k int, further *Further, rules sketch.Rules, view func(doc uint32, v *data.View) error) *Confirmer {
	return &Confirmer{k: k, further: further, verify: NewVerifier(rules), view: view}
}

// unit is documents with equal views, ascending.
type unit struct {
	docs []uint32
	view *data.View
}

// units groups documents, ascending, by their views, in order of the sketches.
func (c *Confirmer) units(docs []uint32, views *[]data.View) ([]unit, error) {
	for len(*views) < len(docs) {
		*views = append(*views, data.View{})
	}
	units := make([]unit, 0, len(docs))
	for i, doc := range docs {
		v := &(*views)[i]
		if err := c.view(doc, v); err != nil {
			return nil, err
		}
		units = append(units, unit{docs: docs[i : i+1 : i+1], view: v})
	}
	if len(units) < 2 {
		return units, nil
	}
	slices.SortFunc(units, func(a, b unit) int { return cmp.Or(compareViews(a.view, b.view), cmp.Compare(a.docs[0], b.docs[0])) })
	out := units[:1]
	for _, u := range units[1:] {
		if last := &out[len(out)-1]; last.view.Equal(u.view) {
			last.docs = append(last.docs, u.docs...)
			continue
		}
		out = append(out, u)
	}
	return out, nil
}

func compareViews(a, b *data.View) int {
	if c := bytes.Compare(a.Sketch[:], b.Sketch[:]); c != 0 {
		return c
	}
	normal := func(v *data.View) int {
		if v.Normal {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.Hi, b.Hi), cmp.Compare(a.Lo, b.Lo), cmp.Compare(a.Length, b.Length),
		cmp.Compare(normal(a), normal(b)), bytes.Compare(a.Letters, b.Letters))
}

// Near confirms the documents of fingerprint a with those of fingerprint b, all
// of the normal lane, their fingerprints within k of each other. It calls emit
// with the pairs that are the same or open.
func (c *Confirmer) Near(a, b []uint32, emit func(data.Pair)) error {
	// More than MaxNear documents need not be looked at to find that many.
	x, err := c.units(a[:min(len(a), MaxNear+1)], &c.views)
	if err != nil {
		return err
	}
	y, err := c.units(b[:min(len(b), MaxNear+1)], &c.spare)
	if err != nil {
		return err
	}
	if len(x)*len(y) > MaxNear {
		x, y = smallest(x, nearUnits), smallest(y, nearUnits)
	}
	for i := range x {
		for j := range y {
			c.confirm(&x[i], &y[j], emit)
		}
	}
	return nil
}

// smallest returns the n units of the smallest documents.
func smallest(units []unit, n int) []unit {
	slices.SortFunc(units, func(a, b unit) int { return cmp.Compare(a.docs[0], b.docs[0]) })
	return units[:min(len(units), n)]
}

// Identical confirms the documents, ascending, that share a fingerprint and are
// of the normal lane: each unit's smallest with its others, the units with each
// other.
func (c *Confirmer) Identical(docs []uint32, emit func(data.Pair)) error {
	units, err := c.units(docs, &c.views)
	if err != nil {
		return err
	}
	for i := range units {
		c.unit(&units[i], emit)
	}
	c.pairs(units, func(a, b *unit) { c.confirm(a, b, emit) })
	return nil
}

// Group is Further for a group as the final reduce gives it.
func (c *Confirmer) Group(entries []data.Entry, emit func(data.Pair)) error {
	if len(entries) == 0 {
		return nil
	}
	docs := entries[0].Docs
	if len(entries) > 1 {
		docs = nil
		for _, e := range entries {
			docs = append(docs, e.Docs...)
		}
		slices.Sort(docs)
	}
	return c.Further(simhash.Key(entries[0].Key), docs, emit)
}

// Further confirms the documents, ascending, that share key in a further
// table, but for the pairs of the normal lane within k, which meet by their
// segments. A pair that meets under several keys is confirmed under the first
// of them alone; so are units of the other lanes.
func (c *Confirmer) Further(key simhash.Key, docs []uint32, emit func(data.Pair)) error {
	if len(docs) < 2 {
		return nil
	}
	units, err := c.units(docs, &c.views)
	if err != nil {
		return err
	}
	t := key.Table() - c.further.first
	for i := range units {
		if u := &units[i]; len(u.docs) > 1 && !u.view.Normal && c.first(u.view, t, key) {
			c.unit(u, emit)
		}
	}
	c.pairs(units, func(a, b *unit) {
		if a.view.Normal && b.view.Normal && distance(a.view, b.view) <= c.k {
			return
		}
		bothShort := c.further.isShort(a.view) && c.further.isShort(b.view)
		if bothShort != (t == TableShort) {
			return
		}
		if !bothShort && FirstBand(a.view, b.view) == t {
			c.confirm(a, b, emit)
		}
		if bothShort {
			if verdict, _ := c.verify.Judge(a.view, b.view); verdict.Same && c.firstShortKey(a.view, b.view) == key.Value() {
				c.emit(a, b, emit)
			}
		}
	})
	return nil
}

// first reports whether key is the first under which a document meets others.
func (c *Confirmer) first(v *data.View, t int, key simhash.Key) bool {
	if c.further.banded(v) {
		return t == 0
	}
	return t == TableShort && c.further.shortKeys(v)[0] == key.Value()
}

// pairs calls visit with the pairs of units, of a large group with some.
func (c *Confirmer) pairs(units []unit, visit func(a, b *unit)) {
	window := len(units)
	if window > MaxGroup {
		window = groupWindow
	}
	for i := range units {
		for j := i + 1; j < len(units) && j <= i+window; j++ {
			visit(&units[i], &units[j])
		}
	}
}

// unit emits the pairs of a unit's documents, unless there is nothing to tell
// that they are the same.
func (c *Confirmer) unit(u *unit, emit func(data.Pair)) {
	if len(u.docs) < 2 {
		return
	}
	if verdict, _ := c.verify.Judge(u.view, u.view); verdict.Same {
		Identical(u.docs, emit)
	}
}

// confirm emits the pair of units unless they are unlike.
func (c *Confirmer) confirm(a, b *unit, emit func(data.Pair)) {
	if verdict, _ := c.verify.Judge(a.view, b.view); verdict.Same || verdict.Open {
		c.emit(a, b, emit)
	}
}

// emit pairs the units' smallest. At distance 0 every document is paired with
// the other unit's smallest: it may be smaller than its own unit's, and so the
// better match.
func (c *Confirmer) emit(a, b *unit, emit func(data.Pair)) {
	h := uint8(distance(a.view, b.view))
	put := func(x, y uint32) { emit(data.Pair{A: min(x, y), B: max(x, y), Distance: h}) }
	put(a.docs[0], b.docs[0])
	if h > 0 {
		return
	}
	for _, x := range a.docs[1:] {
		put(x, b.docs[0])
	}
	for _, y := range b.docs[1:] {
		put(a.docs[0], y)
	}
}

// Verdict is the verdict on two documents that met.
func (c *Confirmer) Verdict(a, b uint32) (sketch.Verdict, float64, error) {
	x, y, err := c.pair(a, b)
	if err != nil {
		return sketch.Verdict{}, 0, err
	}
	verdict, estimate := c.verify.Judge(x, y)
	return verdict, estimate, nil
}

// Settle is the verdict on two documents whose verdict was open, by the
// Jaccard similarity of their texts' shingles.
func (c *Confirmer) Settle(a, b uint32, jaccard float64) (sketch.Verdict, error) {
	x, y, err := c.pair(a, b)
	if err != nil {
		return sketch.Verdict{}, err
	}
	return c.verify.Settle(jaccard, x, y), nil
}

// Unit reports whether two documents are of one unit.
func (c *Confirmer) Unit(a, b uint32) (bool, error) {
	x, y, err := c.pair(a, b)
	return err == nil && x.Equal(y), err
}

func (c *Confirmer) pair(a, b uint32) (x, y *data.View, err error) {
	for len(c.views) < 2 {
		c.views = append(c.views, data.View{})
	}
	x, y = &c.views[0], &c.views[1]
	if err := c.view(a, x); err != nil {
		return nil, nil, err
	}
	return x, y, c.view(b, y)
}

// Judge says whether two documents meet, in any table, and the verdict on
// them: the obvious form of what all tables together find.
func (c *Confirmer) Judge(a, b *data.View) (met bool, verdict sketch.Verdict) {
	bothShort := c.further.isShort(a) && c.further.isShort(b)
	switch {
	case a.Normal && b.Normal && distance(a, b) <= c.k, bothShort:
	case !c.further.bands || FirstBand(a, b) < 0:
		return false, verdict
	}
	verdict, _ = c.verify.Judge(a, b)
	return true, verdict
}

// FirstBand is the first band that two documents share, −1 if they share none.
func FirstBand(a, b *data.View) int {
	if a.Sketch == [data.SketchSize]byte{} || b.Sketch == [data.SketchSize]byte{} {
		return -1
	}
	x, y := (*sketch.Sketch)(&a.Sketch), (*sketch.Sketch)(&b.Sketch)
	for i := range sketch.Bands {
		if x.Band(i) == y.Band(i) {
			return i
		}
	}
	return -1
}

// firstShortKey is the smallest key that two short texts share.
func (c *Confirmer) firstShortKey(a, b *data.View) uint64 {
	x := slices.Clone(c.further.shortKeys(a))
	y := c.further.shortKeys(b)
	for len(x) > 0 && len(y) > 0 {
		switch {
		case x[0] == y[0]:
			return x[0]
		case x[0] < y[0]:
			x = x[1:]
		default:
			y = y[1:]
		}
	}
	return 1 << shortKeyBits
}
