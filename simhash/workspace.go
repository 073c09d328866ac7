package simhash

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/simhash/jieba"
)

// maxRun is the most bytes of one run that a Cutter is given: a longer run
// without any separator is cut there.
const maxRun = 1 << 20

// Result is what a document's text becomes.
type Result struct {
	Fingerprint Fingerprint
	Features    int  // distinct features that the fingerprint is made of
	Length      int  // characters of the text's normal form, without the title
	Lane        Lane // how the document is judged by its features
}

// Feature is one distinct feature of a document.
type Feature struct {
	Text   string      // in normal form
	Hash   Fingerprint // of Options.Bits; 32-bit fingerprints take the lower half of 64
	Count  int         // how often it occurs; once in the title counts TitleWeight times
	Weight int         // what it adds to or takes from each bit
}

// Workspace makes fingerprints, one at a time, with buffers that it keeps:
// once they have grown it allocates nothing. One goroutine uses it at a time;
// it retains no text it was given.
type Workspace struct {
	a       *Analyzer
	cutter  Cutter
	scratch scratch
	text    []byte // normal form of the title, then of the text
	words   []jieba.Word
	terms   []term
	hashes  []uint64 // of the terms that are used
	highs   []uint64
	weights []uint32
	picks   []pick
	seen    []uint64  // by word id: epoch, and index into terms
	table   hashTable // of words without id, and of n-grams
	epoch   uint32

	explain bool // keep where each term occurs
	spots   [][2]int
	order   []int32
}

// term is one distinct feature while a document is read.
type term struct {
	hash, high uint64 // of a word without id
	count      uint32
	id         int32 // −1 for none
	skip       bool
}

// NewWorkspace returns a workspace of the analyzer. It holds some 8 bytes a
// word of the lexicon.
func (a *Analyzer) NewWorkspace() *Workspace {
	w := &Workspace{a: a}
	if a.segmenter.NewCutter != nil {
		w.cutter = a.segmenter.NewCutter()
		w.seen = make([]uint64, len(a.words))
	}
	w.table.slots = make([]hashSlot, 1<<10)
	return w
}

// Fingerprint returns the fingerprint of a document with that title, which
// may be empty, and text. A document without any feature has the fingerprint
// zero and is in LaneEmpty.
func (w *Workspace) Fingerprint(title, text []byte) Result {
	var r Result
	titleEnd := w.read(title, text)
	r.Length = characters(w.text[titleEnd:])
	if w.a.options.Kind == KindNGrams {
		r.Fingerprint, r.Features = w.sumGrams(titleEnd)
	} else {
		w.countWords(titleEnd)
		w.weigh()
		r.Fingerprint, r.Features = w.sum(), len(w.weights)
	}
	switch {
	case r.Features == 0:
		r.Fingerprint, r.Lane = Fingerprint{}, LaneEmpty
	case r.Features < w.a.options.MinFeatures:
		r.Lane = LaneShort
	}
	return r
}

// Features appends the document's distinct features to dst, those of the
// greatest weight first, equal ones in order of their text. It is meant for
// explanations and for training a stop list, and allocates.
func (w *Workspace) Features(dst []Feature, title, text []byte) []Feature {
	titleEnd := w.read(title, text)
	n := len(dst)
	if w.a.options.Kind == KindNGrams {
		dst = w.gramFeatures(dst, titleEnd)
	} else {
		w.explain = true
		w.countWords(titleEnd)
		w.weigh()
		w.explain = false
		for i, at := range w.order {
			spot := w.spots[at]
			f := Feature{
				Text:   string(w.text[spot[0]:spot[1]]),
				Hash:   Fingerprint{Lo: w.hashes[i]},
				Count:  int(w.terms[at].count),
				Weight: int(w.weights[i]),
			}
			if w.a.options.Bits == 128 {
				f.Hash.Hi = w.highs[i]
			}
			dst = append(dst, f)
		}
	}
	slices.SortFunc(dst[n:], func(a, b Feature) int {
		if c := cmp.Compare(b.Weight, a.Weight); c != 0 {
			return c
		}
		return strings.Compare(a.Text, b.Text)
	})
	return dst
}

// Normalize appends the text's normal form, in which features are found, to
// dst: valid UTF-8, NFKC, lower case, no NUL and no invisible characters.
func (w *Workspace) Normalize(dst, text []byte) []byte {
	return w.a.forms.append(dst, text, &w.scratch)
}

// read normalises title and text into w.text and returns where the title
// ends.
func (w *Workspace) read(title, text []byte) int {
	w.text = w.text[:0]
	if w.a.options.TitleWeight > 0 {
		w.text = w.a.forms.append(w.text, title, &w.scratch)
	}
	end := len(w.text)
	w.text = w.a.forms.append(w.text, text, &w.scratch)
	return end
}

// characters counts the characters of valid UTF-8: the bytes that do not
// continue one.
func characters(text []byte) int {
	n := len(text)
	for ; len(text) >= 8; text = text[8:] {
		x := binary.LittleEndian.Uint64(text)
		n -= bits.OnesCount64(x & highs8 &^ (x << 1))
	}
	for _, c := range text {
		if c&0xc0 == 0x80 {
			n--
		}
	}
	return n
}

// nextEpoch forgets what was counted.
func (w *Workspace) nextEpoch() {
	w.epoch++
	if w.epoch == 0 { // wrapped: stamps of old documents would match again
		clear(w.seen)
		clear(w.table.slots)
		w.epoch = 1
	}
}

// countWords fills w.terms from w.text, of which the title is the start.
func (w *Workspace) countWords(titleEnd int) {
	w.terms, w.spots = w.terms[:0], w.spots[:0]
	w.nextEpoch()
	if titleEnd > 0 {
		w.countPart(0, titleEnd, uint32(w.a.options.TitleWeight))
	}
	w.countPart(titleEnd, len(w.text), 1)
}

// countPart counts the features of w.text[i:end] times over.
func (w *Workspace) countPart(i, end int, times uint32) {
	text := w.text[:end]
	for {
		s := nextSpan(w.a.classes, text, i)
		switch s.class {
		case classHan:
			w.countHan(text, s.start, s.end, times)
		case classWord:
			w.countText(text, s.start, s.end, times)
		case classDense:
			w.countPairs(text, s.start, s.end, times)
		default:
			return
		}
		i = s.end
	}
}

func (w *Workspace) countHan(text []byte, start, end int, times uint32) {
	for start < end {
		stop := min(end, start+maxRun)
		for stop < end && !utf8.RuneStart(text[stop]) {
			stop--
		}
		w.words = w.cutter.Cut(w.words[:0], text[start:stop])
		for _, word := range w.words {
			id := word.ID
			if id < 0 {
				w.countText(text, start+int(word.Start), start+int(word.End), times)
				continue
			}
			if s := w.seen[id]; uint32(s>>32) == w.epoch {
				w.terms[uint32(s)].count += times
				continue
			}
			w.seen[id] = uint64(w.epoch)<<32 | uint64(len(w.terms))
			w.terms = append(w.terms, term{id: id, count: times})
			if w.explain {
				w.spots = append(w.spots, [2]int{start + int(word.Start), start + int(word.End)})
			}
		}
		start = stop
	}
}

// countPairs counts the overlapping pairs of characters of a run, or the
// character of a run of one.
func (w *Workspace) countPairs(text []byte, start, end int, times uint32) {
	_, size := decode(text[start:end])
	second := start + size
	if second == end {
		w.countText(text, start, end, times)
		return
	}
	for second < end {
		_, size = decode(text[second:end])
		w.countText(text, start, second+size, times)
		start, second = second, second+size
	}
}

// countText counts a feature that has no id.
func (w *Workspace) countText(text []byte, start, end int, times uint32) {
	h := w.a.hash(text[start:end])
	slot := w.table.find(h.Lo, w.epoch)
	if slot.epoch == w.epoch {
		w.terms[slot.index].count += times
		return
	}
	*slot = hashSlot{hash: h.Lo, epoch: w.epoch, index: uint32(len(w.terms))}
	t := term{hash: h.Lo, high: h.Hi, id: -1, count: times}
	if len(w.a.stop) > 0 {
		_, t.skip = w.a.stop[h.Lo]
	}
	w.terms = append(w.terms, t)
	if w.explain {
		w.spots = append(w.spots, [2]int{start, end})
	}
	w.table.added(w.epoch)
}

// pick is a term on its way through the ranking.
type pick struct {
	score      uint64 // tf × idf
	hash, high uint64
	weight     uint32
	term       int32
}

// weigh is the weigh step: it fills hashes, highs and weights with the terms
// that are used, and order with their numbers.
func (w *Workspace) weigh() {
	a := w.a
	wide := a.options.Bits == 128
	ranks := a.options.Top > 0 || a.options.Weight == WeightLevels
	w.hashes, w.highs, w.weights, w.order, w.picks = w.hashes[:0], w.highs[:0], w.weights[:0], w.order[:0], w.picks[:0]
	for i := range w.terms {
		t := &w.terms[i]
		p := pick{hash: t.hash, high: t.high, term: int32(i)}
		idf, skip := a.meanIDF, t.skip
		if t.id >= 0 {
			info := &a.words[t.id]
			p.hash, idf, skip = info.hash, info.idf, info.skip
			if wide {
				p.high = a.high[t.id]
			}
		}
		if skip {
			continue
		}
		weight := uint64(t.count)
		switch a.weight {
		case weightUnit:
			weight = 1
		case weightTFIDF:
			weight *= uint64(idf)
		case weightSqrtTFIDF:
			weight = uint64(math.Round(math.Sqrt(float64(t.count)) * float64(idf)))
		}
		p.weight = uint32(min(weight, maxWeight))
		if ranks {
			p.score = uint64(t.count) * uint64(idf)
			w.picks = append(w.picks, p)
		} else {
			w.take(&p, wide)
		}
	}
	if !ranks {
		return
	}
	w.rank()
	for i := range w.picks {
		w.take(&w.picks[i], wide)
	}
}

func (w *Workspace) take(p *pick, wide bool) {
	w.hashes = append(w.hashes, p.hash)
	w.weights = append(w.weights, p.weight)
	if wide {
		w.highs = append(w.highs, p.high)
	}
	if w.explain {
		w.order = append(w.order, p.term)
	}
}

// rank leaves the Top picks of the highest score, equal scores in order of
// their hash, and turns weights into levels if those are asked for: with n
// picks, of which h score higher than this one, the level is 5 − ⌊5h/n⌋. Equal
// scores are of one level.
func (w *Workspace) rank() {
	slices.SortFunc(w.picks, func(a, b pick) int {
		if c := cmp.Compare(b.score, a.score); c != 0 {
			return c
		}
		return cmp.Compare(a.hash, b.hash)
	})
	if top := w.a.options.Top; top > 0 && len(w.picks) > top {
		w.picks = w.picks[:top]
	}
	if w.a.weight != weightLevels {
		return
	}
	higher := 0
	for i := range w.picks {
		if w.picks[i].score != w.picks[higher].score {
			higher = i
		}
		w.picks[i].weight = uint32(5 - 5*higher/len(w.picks))
	}
}

// sum makes the fingerprint of hashes, highs and weights: the steps sum and
// sign.
func (w *Workspace) sum() Fingerprint {
	total := uint64(0)
	for _, weight := range w.weights {
		total += uint64(weight)
	}
	var f Fingerprint
	var sums bitSums
	sums.add(w.hashes, w.weights)
	f.Lo = sums.signs(total)
	switch w.a.options.Bits {
	case 32:
		f.Lo &= 1<<32 - 1
	case 128:
		sums = bitSums{}
		sums.add(w.highs, w.weights)
		f.Hi = sums.signs(total)
	}
	return f
}

// hashTable finds the index of a hash seen in this document: open addressing
// with linear probing, emptied by counting up the epoch.
type hashTable struct {
	slots []hashSlot // a power of two
	used  int
	last  uint32 // epoch that used is of
}

type hashSlot struct {
	hash  uint64
	epoch uint32
	index uint32
}

// find returns the slot of hash, or the empty one (of another epoch) where it
// belongs.
func (t *hashTable) find(hash uint64, epoch uint32) *hashSlot {
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if s := &t.slots[i]; s.epoch != epoch || s.hash == hash {
			return s
		}
	}
}

// added is called after a slot was filled; it keeps half of them empty.
func (t *hashTable) added(epoch uint32) {
	if t.last != epoch {
		t.last, t.used = epoch, 0
	}
	if t.used++; 2*t.used > len(t.slots) {
		old := t.slots
		t.slots = make([]hashSlot, 2*len(old))
		for _, s := range old {
			if s.epoch == epoch {
				*t.find(s.hash, epoch) = s
			}
		}
	}
}
