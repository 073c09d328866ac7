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
	han     []byte // its runs of ideographs, a line each
	words   []jieba.Word

	known []known   // the features that have an id
	seen  []uint64  // by id: epoch, and index into known
	other []other   // the features that have none
	table hashTable // of other
	epoch uint32    // of this document
	set   hashSet   // of n-grams

	picks   []pick
	hashes  []uint64 // of the features that are used
	highs   []uint64
	weights []uint32

	explain bool // keep what follows
	texts   []string
	order   []int32 // of hashes and weights: index into known, or into other, from the end of known on
}

// known is a distinct feature that has an id, while a document is read.
type known struct {
	id    int32
	count uint32
}

// other is a distinct feature that has none.
type other struct {
	hash, high uint64
	count      uint32
	skip       bool
}

// NewWorkspace returns a workspace of the analyzer. It holds some 8 bytes a
// word of the lexicon.
func (a *Analyzer) NewWorkspace() *Workspace {
	w := &Workspace{a: a}
	if a.segmenter.NewCutter != nil {
		w.cutter = a.segmenter.NewCutter()
		w.seen = make([]uint64, len(a.hashes))
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
		w.explain, w.texts = true, w.texts[:0]
		w.countWords(titleEnd)
		w.weigh()
		w.explain = false
		for i, at := range w.order {
			f := Feature{Hash: Fingerprint{Lo: w.hashes[i]}, Weight: int(w.weights[i])}
			if w.a.options.Bits == 128 {
				f.Hash.Hi = w.highs[i]
			}
			if at < int32(len(w.known)) {
				k := w.known[at]
				f.Text, f.Count = w.a.segmenter.Lexicon.Word(k.id), int(k.count)
			} else {
				at -= int32(len(w.known))
				f.Text, f.Count = w.texts[at], int(w.other[at].count)
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

// countWords fills w.known and w.other from w.text, of which the title is the
// start.
func (w *Workspace) countWords(titleEnd int) {
	w.known, w.other = w.known[:0], w.other[:0]
	w.nextEpoch()
	if titleEnd > 0 {
		w.countPart(w.text[:titleEnd], uint32(w.a.options.TitleWeight))
	}
	w.countPart(w.text[titleEnd:], 1)
}

// countPart counts the features of text times over.
func (w *Workspace) countPart(text []byte, times uint32) {
	w.han = w.han[:0]
	for i := 0; i < len(text); {
		s := nextSpan(w.a.classes, text, i)
		run := text[s.start:s.end]
		switch s.class {
		case classHan:
			if len(w.han)+len(run) >= maxRun {
				w.countHan(times)
			}
			for len(run) > maxRun {
				w.han = append(w.han, cutAt(run, maxRun)...)
				run = run[len(w.han):]
				w.countHan(times)
			}
			w.han = append(append(w.han, run...), '\n')
		case classWord:
			w.countText(run, times)
		case classDense:
			w.countPairs(run, times)
		}
		i = s.end
	}
	w.countHan(times)
}

// cutAt returns the longest prefix of whole characters that has at most n
// bytes.
func cutAt(text []byte, n int) []byte {
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// countHan counts the words of w.han, and empties it. The segmenter is given
// all runs at once: it is quicker with long texts.
func (w *Workspace) countHan(times uint32) {
	if len(w.han) == 0 {
		return
	}
	w.words = w.cutter.Cut(w.words[:0], w.han)
	stamp := uint64(w.epoch) << 32
	for _, word := range w.words {
		id := word.ID
		switch {
		case word.End-word.Start == 1: // the end of a run
		case id < 0:
			w.countText(w.han[word.Start:word.End], times)
		case w.seen[id]&^(1<<32-1) == stamp:
			w.known[uint32(w.seen[id])].count += times
		default:
			w.seen[id] = stamp | uint64(len(w.known))
			w.known = append(w.known, known{id, times})
		}
	}
	w.han = w.han[:0]
}

// countPairs counts the overlapping pairs of characters of a run, or the
// character of a run of one.
func (w *Workspace) countPairs(run []byte, times uint32) {
	_, first := decode(run)
	if first == len(run) {
		w.countText(run, times)
		return
	}
	for first < len(run) {
		_, second := decode(run[first:])
		w.countText(run[:first+second], times)
		run, first = run[first:], second
	}
}

// countText counts a feature that has no id.
func (w *Workspace) countText(text []byte, times uint32) {
	h := w.a.hash(text)
	slot := w.table.find(h.Lo, w.epoch)
	if slot.epoch == w.epoch {
		w.other[slot.index].count += times
		return
	}
	*slot = hashSlot{hash: h.Lo, epoch: w.epoch, index: uint32(len(w.other))}
	o := other{hash: h.Lo, high: h.Hi, count: times}
	if len(w.a.stop) > 0 {
		_, o.skip = w.a.stop[h.Lo]
	}
	w.other = append(w.other, o)
	if w.explain {
		w.texts = append(w.texts, string(text))
	}
	w.table.added(w.epoch)
}

// pick is a feature on its way through the ranking.
type pick struct {
	score      uint64 // tf × idf
	hash, high uint64
	weight     uint32
	at         int32 // as in order
}

// weigh is the weigh step: it fills hashes, highs and weights with the
// features that are used, and order with their places.
func (w *Workspace) weigh() {
	a := w.a
	w.hashes, w.highs, w.weights, w.order, w.picks = w.hashes[:0], w.highs[:0], w.weights[:0], w.order[:0], w.picks[:0]
	for i, k := range w.known {
		p := pick{hash: a.hashes[k.id], at: int32(i)}
		idf := a.meanIDF
		if a.needInfo {
			info := a.infos[k.id]
			if info.skip() {
				continue
			}
			idf = info.idf()
		}
		if a.highs != nil {
			p.high = a.highs[k.id]
		}
		w.weighOne(&p, k.count, idf)
	}
	for i, o := range w.other {
		if !o.skip {
			w.weighOne(&pick{hash: o.hash, high: o.high, at: int32(len(w.known) + i)}, o.count, a.meanIDF)
		}
	}
	if a.ranks {
		w.rank()
		for i := range w.picks {
			w.take(&w.picks[i])
		}
	}
}

// weighOne weighs one feature, and takes it or leaves it to the ranking.
func (w *Workspace) weighOne(p *pick, count, idf uint32) {
	weight := uint64(count)
	switch w.a.weight {
	case weightUnit:
		weight = 1
	case weightTFIDF:
		weight *= uint64(idf)
	case weightSqrtTFIDF:
		weight = uint64(math.Round(math.Sqrt(float64(count)) * float64(idf)))
	}
	p.weight = uint32(min(weight, maxWeight))
	if w.a.ranks {
		p.score = uint64(count) * uint64(idf)
		w.picks = append(w.picks, *p)
		return
	}
	w.take(p)
}

func (w *Workspace) take(p *pick) {
	w.hashes = append(w.hashes, p.hash)
	w.weights = append(w.weights, p.weight)
	if w.a.highs != nil {
		w.highs = append(w.highs, p.high)
	}
	if w.explain {
		w.order = append(w.order, p.at)
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
