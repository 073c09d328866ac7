package simhash

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/simhash/internal/large"
	"github.com/neardup/neardup/simhash/jieba"
)

// maxRun is the most bytes of one run that is cut at once: a longer run
// without any separator is cut there.
const maxRun = 1 << 20

// Result is the fingerprint of a document, with what it was made of.
type Result struct {
	Fingerprint Fingerprint
	Features    int    // distinct features that the fingerprint is made of
	Length      int    // characters of the text's normal form, without the title
	LengthClass string // normal, short or empty: how the document is judged by its features
}

// Feature is one distinct feature of a document.
type Feature struct {
	Text   string      // in normal form
	Hash   Fingerprint // of Options.Bits; 32-bit fingerprints take the lower half of 64
	Count  int         // how often it occurs; once in the title counts TitleWeight times
	Weight int         // what it adds to or takes from each bit
}

// Workspace makes fingerprints, one at a time. It reuses its buffers: once they have
// grown it allocates nothing. Only one goroutine may use it at a time. It does not
// retain the texts it is given.
type Workspace struct {
	a       *Analyzer
	scratch scratch
	text    []byte // normal form of the title, then of the text
	title   int    // where the title ends in it

	// The runs of ideographs, one after the other with a separator after
	// each: as text for Extra.Cut, else as character codes.
	coder *jieba.Cutter // nil: Extra.Cut cuts
	han   []byte
	codes []uint16 // the first is a separator
	at    []int32  // by code: where it is in the part of text that is read
	coded int      // how many

	others []int32 // where runs of other characters are
	other  int     // how many
	words  []jieba.Word

	// The distinct features of the document, n of them. The slices are longer,
	// for those that a step may add.
	n      int
	hashes []uint64
	highs  []uint64 // nil but for 128 bits; known for the features without id
	counts []uint32
	ids    []int32 // -1 for none

	seen  []sighting // by word id
	table hashTable  // of the features without id
	epoch uint32     // of this document, below maxEpoch

	grams Grams
	mixed []uint64 // the hashes of n-grams
	set   hashSet  // of n-grams

	picks []pick
	used  used
	known [quarters]int // features that were known at the end of each quarter of the text

	explain bool // keep what follows
	texts   map[int32]string
	order   []int32 // of used: which feature
}

// sighting says where in a document's features a word with id is.
type sighting struct {
	hash  uint64
	stamp uint32 // 2·epoch + 1 of the last document that has the word; or unmet, skip
	index uint32
}

const (
	keep     = 1 // the bit of a sighting's stamp that stays
	unmet    = 0 // the stamp of a word that no document had
	skip     = 2 // the stamp of a word that does not count
	maxEpoch = 1<<31 - 1
)

// used are the features a fingerprint is made of.
type used struct {
	hashes, highs []uint64
	weights       []uint32
}

// NewWorkspace returns a workspace of the analyzer. From its first Fingerprint of
// kind words on it holds some 16 bytes a word of the lexicon.
func (a *Analyzer) NewWorkspace() *Workspace {
	w := &Workspace{a: a}
	if a.dictionary != nil {
		if a.cut == nil {
			w.coder = a.dictionary.NewCutter(a.options.HMM)
		}
	}
	w.table.slots = make([]hashSlot, 1<<10)
	return w
}

// Fingerprint returns the fingerprint of a document with that title, which may be
// empty, and text. A document without any feature, or with fewer than
// Options.IgnoreBelow, has the fingerprint zero and the length class empty.
func (w *Workspace) Fingerprint(title, text []byte) Result {
	r := Result{LengthClass: LengthNormal}
	titleEnd := w.read(title, text)
	r.Length = characters(w.text[titleEnd:])
	if w.a.options.Kind == KindNGrams {
		r.Fingerprint, r.Features = w.sumGrams(titleEnd, r.Length)
	} else {
		w.countWords(titleEnd)
		u := w.weigh()
		r.Fingerprint, r.Features = w.sum(u), len(u.hashes)
	}
	switch {
	case r.Features < w.a.options.IgnoreBelow: // a text that nothing is to be made of
		r.Fingerprint, r.LengthClass, w.text = Fingerprint{}, laneEmpty, w.text[:w.title]
	case r.Features == 0:
		r.Fingerprint, r.LengthClass = Fingerprint{}, laneEmpty
	case r.Features < w.a.options.MinFeatures:
		r.LengthClass = laneShort
	}
	return r
}

// Features appends the document's distinct features to dst, in order of falling
// weight, then of text. It allocates: it is meant for explanations and for training a
// stop list.
func (w *Workspace) Features(dst []Feature, title, text []byte) []Feature {
	titleEnd := w.read(title, text)
	n := len(dst)
	if w.a.options.Kind == KindNGrams {
		dst = w.gramFeatures(dst, titleEnd)
	} else {
		w.explain, w.texts = true, map[int32]string{}
		w.countWords(titleEnd)
		u := w.weigh()
		w.explain = false
		for i, at := range w.order {
			f := Feature{Hash: Fingerprint{Lo: u.hashes[i]}, Count: int(w.counts[at]), Weight: int(u.weights[i])}
			if w.a.options.Bits == 128 {
				f.Hash.Hi = u.highs[i]
			}
			if id := w.ids[at]; id >= 0 {
				f.Text = w.a.dictionary.Word(id)
			} else {
				f.Text = w.texts[at]
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
// dst: valid UTF-8, NFKC, lower case, no NUL, no invisible characters, no HTML
// entities and no line numbers. Its normal form is itself.
func (w *Workspace) Normalize(dst, text []byte) []byte {
	return w.a.forms.normal(dst, text, &w.scratch)
}

// Normal returns the normal form, as Normalize makes it, of the text (without
// the title) that w was last given, so that more can be made of it without
// normalising again: of one that Options.IgnoreBelow passes over, nothing. It is
// nil before the first document, is valid until w is used again, and is not to be
// changed.
func (w *Workspace) Normal() []byte { return w.text[w.title:len(w.text):len(w.text)] }

// read normalises title and text into w.text and returns where the title
// ends.
func (w *Workspace) read(title, text []byte) int {
	w.text = w.text[:0]
	if w.a.options.TitleWeight > 0 {
		w.text = w.a.forms.normal(w.text, title, &w.scratch)
	}
	w.title = len(w.text)
	w.text = w.a.forms.normal(w.text, text, &w.scratch)
	return w.title
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

func (w *Workspace) nextEpoch() {
	w.n = 0
	w.epoch++
	if w.seen == nil || w.epoch >= maxEpoch { // stamps of old documents would match again
		w.seen = large.Make[sighting](len(w.a.infos))
		clear(w.table.slots)
		w.epoch = 1
	}
}

// meet makes a word of the lexicon that no document has had ready to be counted.
func (w *Workspace) meet(id int32) {
	w.seen[id] = sighting{hash: w.a.wordHash(id).Lo, stamp: keep}
	if w.a.infos[id].skip() || w.coder != nil && id == w.a.separator {
		w.seen[id].stamp = skip
	}
}

// room makes room for that many features more.
func (w *Workspace) room(n int) {
	if n += w.n; n <= len(w.hashes) {
		return
	}
	n += n / 2
	w.hashes = append(make([]uint64, 0, n), w.hashes[:w.n]...)[:n]
	w.counts = append(make([]uint32, 0, n), w.counts[:w.n]...)[:n]
	w.ids = append(make([]int32, 0, n), w.ids[:w.n]...)[:n]
	if w.a.options.Bits == 128 {
		w.highs = append(make([]uint64, 0, n), w.highs[:w.n]...)[:n]
	}
}

// countWords fills the features from w.text, of which the title is the start.
func (w *Workspace) countWords(titleEnd int) {
	w.nextEpoch()
	if titleEnd > 0 {
		w.countPart(w.text[:titleEnd], uint32(w.a.options.TitleWeight))
	}
	text := w.text[titleEnd:]
	if w.a.weight != weightPosition {
		w.countPart(text, 1)
		return
	}
	from := 0
	for q := range quarters {
		to := max(from, pause(w.a.classes, text, len(text)*(q+1)/quarters))
		w.countPart(text[from:to], 1)
		w.known[q], from = w.n, to
	}
}

// quarters are the parts of a text that WeightPosition tells apart.
const quarters = 4

// position is the factor of WeightPosition for a feature, by its index: features
// are numbered as they come.
func (w *Workspace) position(index int32) uint64 {
	for q, n := range w.known {
		if int(index) < n {
			return uint64(quarters - q)
		}
	}
	return 1
}

// countPart counts the features of text times over.
func (w *Workspace) countPart(text []byte, times uint32) {
	if w.coder != nil {
		w.countCoded(text, times)
		return
	}
	for i := 0; i < len(text); {
		s := nextSpan(w.a.classes, text, i)
		if s.class != classHan {
			w.countSpan(text, s, times)
			i = s.end
			continue
		}
		run := text[s.start:s.end]
		if len(w.han)+len(run) >= maxRun {
			w.countHan(times)
		}
		for len(run) > maxRun {
			w.han = append(w.han, cutAt(run, maxRun)...)
			run = run[len(w.han):]
			w.countHan(times)
		}
		w.han = append(append(w.han, run...), '\n')
		i = s.end
	}
	w.countHan(times)
}

// countSpan counts the features of a run that is not of ideographs.
func (w *Workspace) countSpan(text []byte, s span, times uint32) {
	switch run := text[s.start:s.end]; s.class {
	case classWord:
		w.countText(run, times)
	case classDense:
		w.countPairs(run, times)
	}
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
	if len(w.han) > 0 {
		w.words = w.a.cut(w.words[:0], w.han)
		w.countCut(w.han, times)
		w.han = w.han[:0]
	}
}

// maxCodes is how many codes are read before they are cut, but for a run of
// more.
const maxCodes = 1 << 14

// countCoded is countPart where the dictionary cuts.
func (w *Workspace) countCoded(text []byte, times uint32) {
	w.startCodes(len(text))
	end := 0 // of the last run of another class
	for i := 0; i < len(text); {
		i = w.readCodes(text, i, times)
		end = w.countOthers(text, end, times)
		w.countCodes(text, i, times)
	}
}

// startCodes makes room for the codes of a text of that many bytes. A run of
// one ideograph, 3 bytes, and what separates it, 1 byte, have two codes.
func (w *Workspace) startCodes(size int) {
	if n := min(size/2, maxCodes+maxRun/3) + 2*wide; n > len(w.codes) {
		w.codes, w.at, w.others = make([]uint16, n), make([]int32, n), make([]int32, n)
	}
	w.codes[0], w.coded = w.a.separatorCode, 1
}

// readCodes reads the text from i on, some maxCodes of its characters as codes
// for the segmenter and the rest as one separator between them. Of the rest,
// which are of other classes, it counts ASCII words, and notes in w.others
// where other runs start, or some character in the midst of one. It returns
// how far it came.
func (w *Workspace) readCodes(text []byte, i int, times uint32) int {
	limit := w.coded + maxCodes
	for w.other = 0; i < len(text) && w.coded < limit && w.other < limit; {
		stop := len(text)
		if hasWide {
			r := codeReader{
				text: &text[0], i: i, end: len(text),
				cells: &w.a.cells[0], separator: w.a.separatorCode,
				codes: &w.codes[0], at: &w.at[0], others: &w.others[0],
				n: w.coded, m: w.other, limit: limit,
			}
			codeWide(&r)
			w.coded, w.other = r.n, r.m
			i, stop = r.i, r.i+1 // what it does not read
		}
		i = w.readCells(text, i, stop, limit, times)
	}
	return i
}

// wide is how many characters codeWide reads, and may write, at a time.
const wide = 16

// A codeReader is what codeWide works on: the fields are those of a Workspace
// and the parameters of readCells.
type codeReader struct {
	text       *byte
	i, end     int
	cells      *uint16
	codes      *uint16
	at, others *int32
	n, m       int
	limit      int
	separator  uint16
}

// readCells is readCodes in Go, up to stop and further while there is ASCII. A
// character that separates is read like an ideograph; after another one it is
// overwritten.
func (w *Workspace) readCells(text []byte, i, stop, limit int, times uint32) int {
	cells, codes, n, separator := w.a.cells, w.codes, w.coded, w.a.separatorCode
	at, others := w.at[:len(codes)], w.others
	last, other := codes[n-1], false
	for i < len(text) && (i < stop || text[i] < utf8.RuneSelf) && n < limit && w.other < limit {
		cell, size := uint16(0), 3
		if c := text[i]; c < utf8.RuneSelf {
			if cell, size = cells[c], 1; cell == cellOther {
				for i+size < len(text) && text[i+size] < utf8.RuneSelf && cells[text[i+size]] == cellOther {
					size++
				}
				if word := text[i : i+size]; w.bounds(text, i-1) && w.bounds(text, i+size) {
					w.countText(word, times)
					cell = separator
				}
			}
		} else if c>>4 == 0xe && i+2 < len(text) {
			cell = cells[uint16(c)<<12|uint16(text[i+1]&0x3f)<<6|uint16(text[i+2]&0x3f)]
		} else {
			cell, size = w.a.cell(text[i:])
		}
		if cell == cellOther {
			if cell = separator; !other {
				others[w.other] = int32(i)
				w.other++
			}
			other = true
		} else {
			other = false
		}
		codes[n], at[n] = cell, int32(i)
		n += int((uint32((cell^separator)|(last^separator)) + 1<<16 - 1) >> 16) // 0 if both separate
		i += size
		last = cell
	}
	w.coded = n
	return i
}

// bounds reports whether a run of ASCII letters and digits ends at text[i] for
// certain: no such character, no apostrophe and no mark goes on with it there.
func (w *Workspace) bounds(text []byte, i int) bool {
	if uint(i) >= uint(len(text)) {
		return true
	}
	c := text[i]
	return c < utf8.RuneSelf && c != '\'' && w.a.cells[c] != cellOther
}

// countOthers counts the features of the runs that w.others notes, those
// before end left out, and returns where the last of them ends.
func (w *Workspace) countOthers(text []byte, end int, times uint32) int {
	for _, at := range w.others[:w.other] {
		for i := int(at); i >= end && i < len(text); i = end {
			if word := asciiWord(w.a.classes, text[i:]); word > 0 {
				w.countText(text[i:i+word], times)
				end = i + word
				break
			}
			s := nextSpan(w.a.classes, text, i)
			if s.start > i || s.class == classHan {
				break
			}
			w.countSpan(text, s, times)
			end = s.end
		}
	}
	return end
}

// asciiWord returns the length of the run of ASCII letters and digits that text
// starts with, 0 if it is none or may go on with another character.
func asciiWord(t *classTable, text []byte) int {
	n := 0
	for n < len(text) && text[n] < utf8.RuneSelf && t.low[text[n]] == classWord {
		n++
	}
	if n < len(text) && (text[n] >= utf8.RuneSelf || text[n] == '\'') {
		return 0
	}
	return n
}

// countCodes counts the words of w.codes, which end at end: of a text that
// goes on there only those up to the last separator. The rest stays.
func (w *Workspace) countCodes(text []byte, end int, times uint32) {
	from, n, separator := 1, w.coded, w.a.separatorCode
	w.at[n] = int32(end)
	if end-int(w.at[1]) > maxRun {
		start := 1 // of the run
		for k := 1; k < n; k++ {
			if w.codes[k] == separator {
				start = k + 1
			} else if w.at[k+1]-w.at[start] > maxRun {
				w.countCodesOf(text, from, k, times)
				from, start = k, k
			}
		}
	}
	to := n
	for end < len(text) && to > from && w.codes[to-1] != separator {
		to--
	}
	w.countCodesOf(text, from, to, times)
	w.coded = 1 + copy(w.codes[1:], w.codes[to:n])
	copy(w.at[1:], w.at[to:n])
}

// countCodesOf counts the words of w.codes[from:to].
func (w *Workspace) countCodesOf(text []byte, from, to int, times uint32) {
	if from < to {
		w.words = w.coder.CutCodes(w.words[:0], w.codes[from:to], w.at[from:])
		w.countCut(text, times)
	}
}

// countCut counts w.words, which are words of text.
func (w *Workspace) countCut(text []byte, times uint32) {
	w.room(len(w.words) + 1)
	for words := range slices.Chunk(w.words, touched) {
		w.touch(words)
		w.n = countKnown(words, w.seen, w.epoch<<1|keep, times, w.hashes, w.counts, w.ids, w.n)
	}
	for _, word := range w.words {
		// Of one byte are only the separators.
		if word.ID < 0 && word.End-word.Start > 1 {
			w.countText(text[word.Start:word.End], times)
		}
	}
}

// touched is how many words' sightings are read ahead: 4 KiB of them.
const touched = 64

// touch meets words that no document had, and has the sightings of all in the near
// cache then. They lie anywhere in some megabytes, and here no sighting waits for what
// is done with the one before.
func (w *Workspace) touch(words []jieba.Word) {
	seen := w.seen
	for i := range words {
		if id := max(words[i].ID, 0); seen[id].stamp == unmet {
			w.meet(id)
		}
	}
}

// countKnown counts the words that have an id among the n features that are
// known so far, and returns how many are known then. Whether a word was seen
// before, or is skipped, is not to be foreseen, so no branch asks: a feature
// is written every time, and only sometimes kept.
func countKnown(words []jieba.Word, seen []sighting, current, times uint32, hashes []uint64, counts []uint32, ids []int32, n int) int {
	counts, ids = counts[:len(hashes)], ids[:len(hashes)]
	for i := range words {
		id := words[i].ID
		if id < 0 {
			continue
		}
		s := &seen[id]
		stamp := s.stamp
		old := int(uint64(stamp^current)-1) >> 63 // −1 if it was seen, else 0
		at := n ^ (n^int(s.index))&old
		hashes[at], ids[at] = s.hash, id
		counts[at] = counts[at]&uint32(old) + times
		s.index, s.stamp = uint32(at), stamp^(stamp^current)&-(stamp&keep)
		n += int(stamp&keep) &^ old
	}
	return n
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

// skipped is the index of a feature that does not count.
const skipped = 1<<32 - 1

// countText counts a feature that has no id.
func (w *Workspace) countText(text []byte, times uint32) {
	h := w.a.hash(text)
	slot := w.table.find(h.Lo, w.epoch)
	if slot.epoch == w.epoch {
		if slot.index != skipped {
			w.counts[slot.index] += times
		}
		return
	}
	*slot = hashSlot{hash: h.Lo, epoch: w.epoch, index: skipped}
	if !w.a.stop.has(h.Lo) {
		w.room(1)
		n := w.n
		slot.index = uint32(n)
		w.hashes[n], w.counts[n], w.ids[n] = h.Lo, times, -1
		if w.highs != nil {
			w.highs[n] = h.Hi
		}
		if w.explain {
			w.texts[int32(n)] = string(text)
		}
		w.n++
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

// weigh is the weigh step: it returns the features that are used, and puts
// into order which they are.
func (w *Workspace) weigh() used {
	a := w.a
	if a.highs != nil {
		for i, id := range w.ids[:w.n] {
			if id >= 0 {
				w.highs[i] = a.highs[id]
			}
		}
	}
	if a.weight == weightTF && !a.ranks && !w.explain && len(w.text) < maxWeight/100 {
		u := used{hashes: w.hashes[:w.n], weights: w.counts[:w.n]}
		if a.highs != nil {
			u.highs = w.highs[:w.n]
		}
		return u
	}
	u := &w.used
	u.hashes, u.highs, u.weights, w.order, w.picks = u.hashes[:0], u.highs[:0], u.weights[:0], w.order[:0], w.picks[:0]
	for i, id := range w.ids[:w.n] {
		p := pick{hash: w.hashes[i], at: int32(i)}
		idf := a.meanIDF
		if id >= 0 {
			idf = a.infos[id].idf()
		} else if known, ok := a.otherIDF[p.hash]; ok {
			idf = known
		}
		if a.highs != nil {
			p.high = w.highs[i]
		}
		w.weighOne(&p, w.counts[i], idf)
	}
	if a.ranks {
		w.rank()
		for i := range w.picks {
			w.take(&w.picks[i])
		}
	}
	return *u
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
	case weightPosition:
		weight *= w.position(p.at)
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
	u := &w.used
	u.hashes = append(u.hashes, p.hash)
	u.weights = append(u.weights, p.weight)
	if w.a.highs != nil {
		u.highs = append(u.highs, p.high)
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

// sum makes the fingerprint: the steps sum and sign.
func (w *Workspace) sum(u used) Fingerprint {
	total := uint64(0)
	for _, weight := range u.weights {
		total += uint64(weight)
	}
	var f Fingerprint
	var sums bitSums
	sums.add(u.hashes, u.weights)
	f.Lo = sums.signs(total)
	switch w.a.options.Bits {
	case 32:
		f.Lo &= 1<<32 - 1
	case 128:
		sums = bitSums{}
		sums.add(u.highs, u.weights)
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

// stopSet is the hashes of stop words. Most words are none, and for most of those
// a bit says so: 8 KiB of them stay in the near cache, the table does not.
type stopSet struct {
	table hashTable
	bits  [1 << 10]uint64 // by the lowest bits of the hash
}

func (s *stopSet) bit(hash uint64) (word *uint64, mask uint64) {
	return &s.bits[hash/64%uint64(len(s.bits))], 1 << (hash % 64)
}

func (s *stopSet) add(hash uint64) {
	if s.table.slots == nil {
		s.table.slots = make([]hashSlot, 1<<10)
	}
	if slot := s.table.find(hash, 1); slot.epoch != 1 {
		*slot = hashSlot{hash: hash, epoch: 1}
		s.table.added(1)
		word, mask := s.bit(hash)
		*word |= mask
	}
}

func (s *stopSet) has(hash uint64) bool {
	word, mask := s.bit(hash)
	return *word&mask != 0 && s.table.find(hash, 1).epoch == 1
}
