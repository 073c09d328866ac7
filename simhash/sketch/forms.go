package sketch

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
	"unicode"

	"github.com/zeebo/xxh3"
)

// Forms are the known forms of short texts: patterns that many texts share, such as
// 含有…字的古诗词, or a headline with another city, team or product each time. Two texts
// of one form that differ only in its slot are different texts, however few edits that
// takes.
//
// Forms are found by counting. A frame is a beginning and an end of a text; what stands
// between them is the slot, of at least one character. A frame is a form if formTexts
// distinct texts have it. All texts with nothing but digits in the slot count as one,
// because numbers replace each other in any text.
//
// The zero value and nil know no form. Any number of goroutines may read Forms at the
// same time.
type Forms struct {
	frames []uint64 // hashes, ascending
}

// formTexts is how many distinct texts make a frame a form. Two are not enough, since
// two wordings of one text also share a frame: of 262 pairs of wordings of one question
// none shares its frame with a third text.
const formTexts = 3

// In a text of n characters a slot has at most slotMost(n), so that the frame is most of
// the text. Of texts of more than fewMax characters only frames are counted whose end
// has a multiple of endStep characters; these are enough.
const endStep = 4

func slotMost(length int) int { return min(length/4+1, 16) }

// addedMost is how many added letters count as another wording: Apart does not try a
// wider slot for them.
const addedMost = 2

// Apart reports whether two short texts, as ShortText gives them, are of one form and
// differ only in its slot. The slot may be wider than what differs, as its two contents
// may share letters: 郑州 and 徐州, or 因为 and 因为当时. If less than half of the slot is
// edited, that is a slip and not another text; the same holds if the slots are numbers.
func (f *Forms) Apart(a, b []rune) bool {
	if f == nil || len(f.frames) == 0 {
		return false
	}
	head, tail := trimmed(a, b)
	x, y := a[head:len(a)-tail], b[head:len(b)-tail]
	longer, slot, step := max(len(a), len(b)), max(len(x), len(y)), 1
	if slot > fewMax || digitsAlone(x) && digitsAlone(y) {
		return false
	}
	if longer > fewMax {
		step = endStep
	}
	var begin, end [ShortMax + 1]uint64
	hashFrames(&begin, &end, a[:head], a[len(a)-tail:])
	most := 2 * editsOf(x, y)
	if len(x) == 0 || len(y) == 0 {
		most = slot
		if slot > addedMost {
			most = 2 * slot
		}
	}
	if slot == 0 || most < slot {
		return false
	}
	most = min(most, max(slot, slotMost(longer))) + step - 1 // of an end less is counted than the texts share
	for ; slot <= most; slot++ {
		for h := max(0, longer-slot-tail); h <= head && h <= longer-slot; h++ {
			if t := longer - slot - h; t%step == 0 && f.has(begin[h], end[t]) {
				return true
			}
		}
	}
	return false
}

// digitsAlone reports whether nothing but digits stands in a slot.
func digitsAlone(slot []rune) bool {
	return !slices.ContainsFunc(slot, func(r rune) bool { return !unicode.IsDigit(r) })
}

func (f *Forms) has(begin, end uint64) bool {
	_, found := slices.BinarySearch(f.frames, frameHash(begin, end))
	return found
}

// Len is the number of frames that are forms.
func (f *Forms) Len() int {
	if f == nil {
		return 0
	}
	return len(f.frames)
}

// hashFrames sets begin[i] to the hash of the first i characters of head, and
// end[i] to that of the last i of tail.
func hashFrames(begin, end *[ShortMax + 1]uint64, head, tail []rune) {
	const first, last = 0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f // odd, as FNV's prime: a polynomial modulo 2⁶⁴
	h := uint64(1)
	for i, c := range head {
		h = (h + uint64(c)) * first
		begin[i+1] = h
	}
	begin[0] = 1
	h = 1
	for i := range tail {
		h = (h + uint64(tail[len(tail)-1-i])) * last
		end[i+1] = h
	}
	end[0] = 1
}

// idBits is how much of a word that holds a frame's hash says of its texts.
const idBits = 16

// frameHash is the hash of a frame, whose last idBits are 0.
func frameHash(begin, end uint64) uint64 {
	x := begin ^ bits.RotateLeft64(end, 32)
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	return x &^ (1<<idBits - 1)
}

// What a word of the table says of a frame's texts: which text has it, or
// that it is among the shared ones.
const (
	sharedFrame = 1<<idBits - 1 - iota
	digitsSlot  // the text of all slots that are digits
	textIDs     // texts have ids from 1 to below this
)

// FormCounter counts the frames of short texts, to find the forms. It looks at a
// stretch of texts at a time, and keeps the frames that two texts of a stretch
// share, sharedMost of them at most. Texts that come again count once. One
// goroutine uses it at a time.
//
// A text has a hundred frames, and hardly one that another text has. But with a
// frame two texts share its beginning and its end, and of these a text has few: so
// those of a stretch are counted first, and then the frames that have both in common
// with others.
type FormCounter struct {
	texts       []rune   // of the stretch
	until       []uint32 // where each ends
	counted     int      // beginnings and ends
	once, again []uint64 // a bit for each hash of those that there are, and that there are again

	begin, end [ShortMax + 1]uint64 // of the text at hand

	table  []uint64 // frames of the stretch by their hashes, each with the id of its text; 0: none
	used   int
	shared map[uint64]formIDs
	limit  uint64 // shared frames of a greater hash are dropped
	most   int    // shared frames
}

// formIDs are the first formTexts texts of a frame; 0 stands for none.
type formIDs [formTexts]uint16

const (
	stretchBitmap = 23      // bits of a hash: 1 MiB
	stretchCounts = 2 << 20 // beginnings and ends of a stretch
	countStep     = 3       // one of so many is counted
	tableLeast    = 1 << 12 // words
	tableMost     = 1 << 20
	sharedMost    = 1 << 17 // of a split
	mergedMost    = 1 << 21 // of all
)

// NewFormCounter returns a counter that has seen nothing.
func NewFormCounter() *FormCounter {
	return &FormCounter{shared: map[uint64]formIDs{}, limit: 1<<64 - 1, most: sharedMost}
}

// Add counts the frames of a short text, whose letters, as ShortText gives them,
// are in UTF-8.
func (c *FormCounter) Add(text []byte) {
	from := len(c.texts)
	for _, r := range string(text) {
		c.texts = append(c.texts, r)
	}
	n := len(c.texts) - from
	if n == 0 || n > ShortMax {
		c.texts = c.texts[:from]
		return
	}
	if c.once == nil {
		c.once, c.again = make([]uint64, 1<<stretchBitmap/64), make([]uint64, 1<<stretchBitmap/64)
	}
	c.until = append(c.until, uint32(len(c.texts)))
	hashFrames(&c.begin, &c.end, c.texts[from:], c.texts[from:])
	for i := countStep; i < n; i += countStep {
		c.see(c.begin[i])
		c.see(c.end[i])
	}
	if c.counted += 2 * n / countStep; c.counted >= stretchCounts {
		c.endStretch()
	}
}

func (c *FormCounter) see(hash uint64) {
	hash >>= 64 - stretchBitmap
	bit := uint64(1) << (hash % 64)
	c.again[hash/64] |= c.once[hash/64] & bit
	c.once[hash/64] |= bit
}

// sharedUntil returns up to where a text's beginnings, or ends, may be those of
// others too.
func (c *FormCounter) sharedUntil(hashes *[ShortMax + 1]uint64, n int) int {
	for i := countStep; i < n; i += countStep {
		if hash := hashes[i] >> (64 - stretchBitmap); c.again[hash/64]>>(hash%64)&1 == 0 {
			return i - 1
		}
	}
	return n - 1
}

// A FormFilter tells which short texts may share a frame with a text that it knows, so
// that few of very many texts have to be counted. The zero value knows no text. Only
// one goroutine may use it at a time.
type FormFilter struct {
	seen       []uint64 // a bit for each hash of a beginning or an end
	begin, end [ShortMax + 1]uint64
	runes      []rune
}

// filterBits is how many bits of a hash the filter goes by. It takes 4 MiB, which ten
// million titles fill by half.
const filterBits = 25

// hash sets begin and end to the hashes of a text, and returns its length; 0 for one that
// is not short.
func (f *FormFilter) hash(text []byte) int {
	f.runes = f.runes[:0]
	for _, r := range string(text) {
		f.runes = append(f.runes, r)
	}
	if len(f.runes) > ShortMax {
		return 0
	}
	hashFrames(&f.begin, &f.end, f.runes, f.runes)
	return len(f.runes)
}

// Add makes a text known, as FormCounter.Add takes it.
func (f *FormFilter) Add(text []byte) {
	if f.seen == nil {
		f.seen = make([]uint64, 1<<filterBits/64)
	}
	n := f.hash(text)
	for i := countStep; i < n; i += countStep {
		for _, h := range [...]uint64{f.begin[i], f.end[i]} {
			h >>= 64 - filterBits
			f.seen[h/64] |= 1 << (h % 64)
		}
	}
}

// Knows reports whether any text was added.
func (f *FormFilter) Knows() bool { return f.seen != nil }

// Near reports whether a text may share a frame with one that is known: of a frame,
// the longer of beginning and end is half of what stands around the largest slot.
func (f *FormFilter) Near(text []byte) bool {
	if f.seen == nil {
		return false
	}
	n := f.hash(text)
	i := (n - slotMost(n) + 1) / 2 / countStep * countStep
	if i == 0 {
		return n > 1
	}
	has := func(h uint64) bool { h >>= 64 - filterBits; return f.seen[h/64]>>(h%64)&1 != 0 }
	return has(f.begin[i]) || has(f.end[i])
}

// endStretch counts the frames of the stretch's texts.
func (c *FormCounter) endStretch() {
	at := uint32(0)
	for _, to := range c.until {
		c.frames(c.texts[at:to])
		at = to
	}
	c.texts, c.until, c.counted, c.used = c.texts[:0], c.until[:0], 0, 0
	clear(c.once)
	clear(c.again)
	clear(c.table)
}

// frames counts those of a text whose beginning and end others have too.
func (c *FormCounter) frames(text []rune) {
	n := len(text)
	hashFrames(&c.begin, &c.end, text, text)
	heads, tails := c.sharedUntil(&c.begin, n), c.sharedUntil(&c.end, n)
	most, step := slotMost(n), 1
	if n > fewMax {
		step = endStep
	}
	if heads+tails < n-most {
		return
	}
	id := 1 + xxh3.Hash(binary.LittleEndian.AppendUint64(nil, c.end[n]))%(textIDs-1)
	var words [ShortMax + 1]uint8 // characters up to there that are no digits
	for i, r := range text {
		words[i+1] = words[i]
		if !unicode.IsDigit(r) {
			words[i+1]++
		}
	}
	for tail := 0; tail <= tails; tail += step {
		for head := max(0, n-tail-most); head <= min(heads, n-tail-1); head++ {
			in := id
			if words[n-tail] == words[head] {
				in = digitsSlot
			}
			c.count(frameHash(c.begin[head], c.end[tail]), in)
		}
	}
}

// count takes in that a text has a frame.
func (c *FormCounter) count(frame, id uint64) {
	if 4*c.used >= 3*len(c.table) {
		c.grow()
	}
	mask := uint64(len(c.table) - 1)
	for i := frame >> idBits & mask; ; i = (i + 1) & mask {
		word := c.table[i]
		if word == 0 {
			c.table[i] = frame | id
			c.used++
			return
		}
		if word&^(1<<idBits-1) != frame {
			continue
		}
		switch had := word & (1<<idBits - 1); had {
		case id:
		case sharedFrame:
			c.share(frame, uint16(id))
		default:
			c.table[i] = frame | sharedFrame
			c.share(frame, uint16(had))
			c.share(frame, uint16(id))
		}
		return
	}
}

// grow makes room for more frames, or forgets those that no other text has so far.
func (c *FormCounter) grow() {
	was := c.table
	if len(was) == tableMost {
		clear(was)
		c.used = 0
		return
	}
	c.table = make([]uint64, max(tableLeast, 4*len(was)))
	mask := uint64(len(c.table) - 1)
	for _, word := range was {
		if word == 0 {
			continue
		}
		i := word >> idBits & mask
		for c.table[i] != 0 {
			i = (i + 1) & mask
		}
		c.table[i] = word
	}
}

// share takes in a text of a frame that another has too.
func (c *FormCounter) share(frame uint64, id uint16) {
	ids, known := c.shared[frame]
	if frame > c.limit {
		return
	}
	for i, had := range ids {
		if had == id {
			return
		}
		if had == 0 {
			ids[i] = id
			c.shared[frame] = ids
			break
		}
	}
	for !known && len(c.shared) > c.most {
		c.limit >>= 1
		for f := range c.shared {
			if f > c.limit {
				delete(c.shared, f)
			}
		}
	}
}

// formBytes are those of a shared frame: its hash and its texts' ids, little-endian.
const formBytes = 8 + 2*formTexts

// AppendBinary appends the frames that texts share, ascending. Equal texts in
// equal order make equal bytes.
func (c *FormCounter) AppendBinary(dst []byte) ([]byte, error) {
	c.endStretch()
	frames := make([]uint64, 0, len(c.shared))
	for f := range c.shared {
		frames = append(frames, f)
	}
	slices.Sort(frames)
	for _, f := range frames {
		dst = binary.LittleEndian.AppendUint64(dst, f)
		for _, id := range c.shared[f] {
			dst = binary.LittleEndian.AppendUint16(dst, id)
		}
	}
	return dst, nil
}

var errForms = errors.New("sketch: damaged forms")

// Merge adds what another counter found, as AppendBinary wrote it.
func (c *FormCounter) Merge(b []byte) error {
	if len(b)%formBytes != 0 {
		return errForms
	}
	c.most = mergedMost
	for ; len(b) > 0; b = b[formBytes:] {
		frame := binary.LittleEndian.Uint64(b)
		for i := range formTexts {
			if id := binary.LittleEndian.Uint16(b[8+2*i:]); id != 0 {
				c.share(frame, id)
			}
		}
	}
	return nil
}

// Forms returns the frames that are forms.
func (c *FormCounter) Forms() *Forms {
	c.endStretch()
	f := &Forms{}
	for frame, ids := range c.shared {
		if ids[formTexts-1] != 0 {
			f.frames = append(f.frames, frame)
		}
	}
	slices.Sort(f.frames)
	return f
}

// MarshalBinary returns the hashes of the forms' frames, ascending, little-endian.
func (f *Forms) MarshalBinary() ([]byte, error) {
	dst := make([]byte, 0, 8*len(f.frames))
	for _, frame := range f.frames {
		dst = binary.LittleEndian.AppendUint64(dst, frame)
	}
	return dst, nil
}

// UnmarshalBinary makes f the forms that MarshalBinary wrote. On an error f
// stays as it was.
func (f *Forms) UnmarshalBinary(b []byte) error {
	if len(b)%8 != 0 {
		return errForms
	}
	frames := make([]uint64, len(b)/8)
	for i := range frames {
		frames[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	if !slices.IsSorted(frames) {
		return errForms
	}
	f.frames = frames
	return nil
}
