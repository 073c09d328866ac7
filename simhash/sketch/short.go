package sketch

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/simhash"
)

// ShortMax is the most letters and digits of a short text, whose edits can be
// counted, and fewMax of one of few letters: a shingle says too little of it.
const (
	ShortMax = 160
	fewMax   = 40
)

// Short compares short texts by their letters, digits and marks, in normal form and
// in order.
//
// Two texts of few letters (at most fewMax) are the same if few edits make one of
// the other: at most a fifth of the longer one's characters, rounded down, are
// inserted, deleted or replaced. But in a short text another number or name makes
// another text. So the digits must be the same, no Chinese number may stand in the
// place of another, and neither may a word or a name. Texts of up to four characters
// must be equal, and so must texts of digits alone, which are numbers.
//
// Longer short texts are the same if they differ by slips alone (see alignment). They
// also have enough shingles: if these are alike, edits are not counted.
//
// A Short reuses its buffers, so only one goroutine may use it at a time.
type Short struct {
	segment   []byte
	alignment alignment
	words     wordAligner
}

// Letters returns the letters, digits and marks of text, which is in normal
// form, appended to dst.
func Letters(dst []rune, text []byte) []rune {
	dst = slices.Grow(dst, utf8.RuneCount(text))
	var letters [1024 + simhash.LetterRoom]uint32
	for len(text) > 0 {
		n, read := simhash.ReadLetters(letters[:], text)
		for _, c := range letters[:n] {
			dst = append(dst, rune(c-1))
		}
		text = text[read:]
	}
	return dst
}

// ShortText returns the letters, digits and marks of text, which is in normal
// form, appended to dst. ok is false for a text of none or of more than
// ShortMax of them: it is not short.
func ShortText(dst []rune, text []byte) (_ []rune, ok bool) {
	var letters [ShortMax + 1 + simhash.LetterRoom]uint32
	n, _ := simhash.ReadLetters(letters[:], text)
	if n == 0 || n > ShortMax {
		return dst, false
	}
	for _, c := range letters[:n] {
		dst = append(dst, rune(c-1))
	}
	return dst, true
}

// Few reports whether a short text, in UTF-8, has few letters. If both texts of a
// pair do, edits alone decide on it.
func Few(text []byte) bool {
	switch {
	case len(text) <= fewMax:
		return true
	case len(text) > utf8.UTFMax*fewMax:
		return false
	}
	n := len(text) // less the bytes that continue a character
	for ; len(text) >= 8; text = text[8:] {
		x := binary.LittleEndian.Uint64(text)
		n -= bits.OnesCount64(x & 0x8080808080808080 &^ (x << 1))
	}
	for _, c := range text {
		if c&0xc0 == 0x80 {
			n--
		}
	}
	return n <= fewMax
}

// mostEdits is the most edits between two short texts that are the same; length is
// that of the longer one in characters.
//
// Beyond fewMax it is chosen so that gramKeys misses no pair, for which some run of
// r = gramSize + gramWindow − 1 characters must be free of edits. E edits divide m
// characters into e + 1 runs without edits, together of m − e characters or more. If
// m − e > (e + 1)(r − 1), one of them has at least r characters. E ≤ (m − r) / r
// suffices.
func mostEdits(length int) int {
	const run = gramSize + gramWindow - 1
	if length > fewMax {
		return (length - run) / run
	}
	return length / 5
}

// Texts of more than fewMax characters are brought together by winnowing (Schleimer,
// Wilkerson, Aiken: Winnowing, SIGMOD 2003). A gram is gramSize characters. Of
// every gramWindow successive grams the one with the smallest hash is a key. If two
// texts share gramSize + gramWindow − 1 successive characters, they share a whole
// window of grams, and so its smallest one.
const (
	gramSize   = 5
	gramWindow = 3
)

// Keys appends the keys of a short text, as ShortText gives it, to dst, distinct and
// ascending. Two short texts within mostEdits of each other share a key.
//
// For texts of few letters this is Pass-Join (Li, Deng, Wang, Feng, VLDB 2011): cut
// one text into e + 1 segments; e edits leave at least one segment unchanged, and
// shift it by at most e places. So the longer text looks for each segment near its
// place. Longer texts share a gram, see gramSize.
//
// A text of 11 characters has about 20 keys, one of 100 about 40. One of up to 32
// digits and nothing else has a single one.
func (s *Short) Keys(dst []uint64, text []rune) []uint64 {
	from := len(dst)
	switch {
	case len(text) > fewMax:
	case digitsAlone(text): // a number equals itself alone, and millions of numbers would share every segment
		dst = append(dst, s.key(text, 0, len(text), 0, 0, len(text)))
	default:
		dst = s.segmentKeys(dst, text)
	}
	if len(text)+mostEdits(fewMax+1) > fewMax { // a text within reach may have more than fewMax letters
		dst = s.gramKeys(dst, text)
	}
	slices.Sort(dst[from:])
	return dst[:from+len(slices.Compact(dst[from:]))]
}

// segmentKeys appends the keys that bring texts of few letters together: the text's
// own segments, for each length that a longer partner may have, and then, for each
// length that a shorter partner may have, all stretches where a segment of that
// partner may stand.
func (s *Short) segmentKeys(dst []uint64, text []rune) []uint64 {
	n := len(text)
	for longer := n; longer <= fewMax && longer-n <= mostEdits(longer); longer++ {
		edits := mostEdits(longer)
		if longer > n && edits == mostEdits(longer-1) && longer-1-n <= edits {
			continue // the same keys
		}
		for i := range edits + 1 {
			dst = append(dst, s.key(text, edits, n, i, n*i/(edits+1), n*(i+1)/(edits+1)))
		}
	}
	edits := mostEdits(n)
	for shorter := max(1, n-edits); shorter <= n; shorter++ {
		excess := n - shorter
		for i := range edits + 1 {
			at, end := shorter*i/(edits+1), shorter*(i+1)/(edits+1)
			for p := max(0, at-i, at+excess-(edits-i)); p <= min(at+i, at+excess+(edits-i)) && p+end-at <= n; p++ {
				dst = append(dst, s.key(text, edits, shorter, i, p, p+end-at))
			}
		}
	}
	return dst
}

// gramKeys appends the keys that bring longer texts together.
func (s *Short) gramKeys(dst []uint64, text []rune) []uint64 {
	var window [gramWindow]uint64
	for i := range len(text) - gramSize + 1 {
		window[i%gramWindow] = s.key(text, 0, 0, 0, i, i+gramSize) // no segment's: one for no edits has a length
		if i < gramWindow-1 {
			continue
		}
		if least := slices.Min(window[:]); len(dst) == 0 || dst[len(dst)-1] != least {
			dst = append(dst, least)
		}
	}
	return dst
}

// key is the key of text[from:to] as segment i of a text of length characters that
// is cut for that many edits.
func (s *Short) key(text []rune, edits, length, i, from, to int) uint64 {
	s.segment = append(s.segment[:0], byte(edits), byte(length), byte(i))
	for _, c := range text[from:to] {
		s.segment = binary.LittleEndian.AppendUint32(s.segment, uint32(c))
	}
	return xxh3.Hash(s.segment)
}

// An Outline summarises the characters of a short text without their order. It is
// enough to rule out that most pairs of short texts are the same. Its bytes, behind
// which others may follow:
//
//	1 byte    number of characters
//	8 bytes   a bit for each character that occurs, by its hash
//	32 bytes  only beyond fewMax characters: how many characters have each
//	          remainder modulo outlineCounts, at most maxCount
type Outline []byte

const (
	outlineFixed  = 9
	outlineCounts = 32
	maxCount      = 127 // leaves the top bit of each byte for the borrow in excess
)

// AppendOutline appends the outline of a short text, in UTF-8, to dst.
func AppendOutline(dst, text []byte) []byte {
	var characters uint64
	var counts [outlineCounts]byte
	length := 0
	for len(text) > 0 {
		c, size := utf8.DecodeRune(text)
		text = text[size:]
		characters |= 1 << (uint32(c) * 0x9e3779b1 >> 26)
		n := &counts[c%outlineCounts]
		*n = min(*n+1, maxCount)
		length++
	}
	dst = binary.LittleEndian.AppendUint64(append(dst, byte(length)), characters)
	if length > fewMax {
		dst = append(dst, counts[:]...)
	}
	return dst
}

// Size is the number of bytes of the outline.
func (o Outline) Size() int {
	if o.Few() {
		return outlineFixed
	}
	return outlineFixed + outlineCounts
}

// Letters returns the number of characters, at most ShortMax.
func (o Outline) Letters() int { return int(o[0]) }

// Few reports whether the text has few letters.
func (o Outline) Few() bool { return o[0] <= fewMax }

// Characters returns a set of bits, one for the hash of each character that occurs.
// If two texts of at most n letters are the same, each has at most MostEdits(n) bits
// that the other lacks.
func (o Outline) Characters() uint64 { return binary.LittleEndian.Uint64(o[1:]) }

// MostEdits is an upper bound for the edits between two short texts that are the
// same, if both have at most length characters.
func MostEdits(length int) int {
	return max(mostEdits(min(length, fewMax)), mostEdits(length))
}

// Unlike reports whether two short texts are too many edits apart to be the same.
// True is certain; false says nothing. It rests on this: one edit removes at most
// one character and adds at most one.
func (o Outline) Unlike(p Outline) bool {
	m, n := int(o[0]), int(p[0])
	x, y := o.Characters(), p.Characters()
	most := mostEdits(max(m, n))
	return m-n > most || n-m > most || bits.OnesCount64(x&^y) > most || bits.OnesCount64(y&^x) > most ||
		!o.Few() && !p.Few() && (o.excess(p) > most || p.excess(o) > most)
}

// excess is a lower bound for how many characters o has that p lacks.
func (o Outline) excess(p Outline) (n int) {
	const top, ones = 0x8080808080808080, 0x0101010101010101
	for i := outlineFixed; i < outlineFixed+outlineCounts; i += 8 {
		x, y := binary.LittleEndian.Uint64(o[i:]), binary.LittleEndian.Uint64(p[i:])
		d := (x | top) - y                // each byte 128 more than the difference
		more := (d & top) >> 7 * maxCount // all but the top bit of the bytes in which o has no fewer
		n += int((d & more) * ones >> 56) // at most ShortMax: no byte overflows
	}
	return n
}

// Judge gives the verdict on two short texts, as ShortText gives them. If they are
// the same, it also returns how many edits they are apart.
func (s *Short) Judge(a, b []rune) (v Verdict, edits int) {
	longer := max(len(a), len(b))
	switch {
	case len(a) == 0 || len(b) == 0:
		return Verdict{Reason: ReasonNothing}, 0
	case slices.Equal(a, b):
		return Verdict{Same: true, Reason: ReasonShortEqual}, 0
	case longer > fewMax:
		v, e := s.alignment.slips(a, b)
		return v, e.Edits
	case digitsAlone(a) || digitsAlone(b):
		return Verdict{Reason: reasonShortNumber}, 0
	}
	if _, edits = s.alignment.fill(a, b, true, mostEdits(longer)); edits > mostEdits(longer) {
		return Verdict{Reason: ReasonShortUnlike}, 0
	}
	if !sameDigits(a, b) && !digitsLost(a, b, edits) || numberExchanged(a, b) {
		return Verdict{Reason: reasonShortNumber}, 0
	}
	if wordExchanged(a, b) || nameExchanged(a, b, edits) || opposed(a, b) || s.words.exchanged(a, b) {
		return Verdict{Reason: reasonShortWord}, 0
	}
	return Verdict{Same: true, Reason: ReasonShortAlike}, edits
}

// sameDigits reports whether two texts have the same digits in the same order.
func sameDigits(a, b []rune) bool {
	for {
		for len(a) > 0 && !unicode.IsDigit(a[0]) {
			a = a[1:]
		}
		for len(b) > 0 && !unicode.IsDigit(b[0]) {
			b = b[1:]
		}
		switch {
		case len(a) == 0 || len(b) == 0:
			return len(a) == len(b)
		case a[0] != b[0]:
			return false
		}
		a, b = a[1:], b[1:]
	}
}

// digitsLost reports whether digits of two texts of few letters differ only by slips.
// The texts are that many edits apart; digitsLost asks whether as few edits will do
// that neither insert nor delete a digit, and replace one only by an ideograph that
// has nothing to do with numbers, or such an ideograph by a digit.
func digitsLost(a, b []rune, edits int) bool {
	lost := func(c rune) bool {
		return unicode.Is(unicode.Han, c) && !isNumeral(c) && !strings.ContainsRune("两几多数半双单首零", c)
	}
	replaces := func(i, j int) bool {
		return (!unicode.IsDigit(a[i]) || lost(b[j])) && (!unicode.IsDigit(b[j]) || lost(a[i]))
	}
	return fewestEdits(a, b, unicode.IsDigit, replaces) == edits
}

// nameExchanged reports whether one name stands in the place of another. The texts,
// of few letters, are that many edits apart; nameExchanged asks whether as few edits
// will do that replace no letter of a name by one of another name, and no letter by
// one that it excludes. A name here is a Latin word of at most nameMax letters beside
// an ideograph.
func nameExchanged(a, b []rune, edits int) bool {
	inA, inB := latinNames(a), latinNames(b)
	replaces := func(i, j int) bool {
		return (!inA[i] || !inB[j]) && excluding[a[i]]&excluding[b[j]] == 0
	}
	return fewestEdits(a, b, func(rune) bool { return false }, replaces) > edits
}

const nameMax = 4

// latinNames says which letters of a text belong to Latin words of at most nameMax
// letters beside an ideograph: abbreviations, as a rule. A text in a Latin script
// alone is one long word here, since spaces are not letters.
func latinNames(text []rune) (in [fewMax]bool) {
	for from := 0; from < len(text); {
		to := from
		for to < len(text) && unicode.Is(unicode.Latin, text[to]) {
			to++
		}
		beside := from > 0 && unicode.Is(unicode.Han, text[from-1]) || to < len(text) && unicode.Is(unicode.Han, text[to])
		for i := from; i < to; i++ {
			in[i] = beside && to-from <= nameMax
		}
		from = to + 1
	}
	return in
}

// excluding has, for a letter, a bit for each set that it belongs to of letters that
// exclude one another, as 男 and 女 do: one in the place of another changes what the
// text says.
var excluding = func() map[rune]uint64 {
	sets := map[rune]uint64{}
	for i, set := range []string{
		"男女", "父母", "爸妈", "哥弟姐妹", "东南西北", "上中下", "前后", "左右", "内外", "大小", "高低", "多少", "新旧", "有无", "真假",
		"开闭", "进出", "升降", "涨跌", "增减", "买卖", "输赢", "生死", "胜负平", "冠亚季", "金银铜", "春夏秋冬", "早晚", "昨今明", "年月周日",
		"一二两三四五六七八九十百千万亿", "甲乙丙丁戊己庚辛壬癸", "鼠牛虎兔龙蛇马羊猴鸡狗猪", "红橙黄绿青蓝紫黑白", "山河湖江海",
		"中美英法德俄日韩泰印",   // as countries are called
		"足篮排乒羽网曲垒棒手水冰", // as ball games are
	} {
		for _, c := range set {
			sets[c] |= 1 << i
		}
	}
	return sets
}()

// opposed reports whether a has a letter that b lacks, and b one that a lacks, which
// exclude each other, wherever they stand: 秋招怎么样了 and 春招得怎么样了.
func opposed(a, b []rune) bool {
	return lacking(a, b)&lacking(b, a) != 0
}

// lacking returns the sets of which a has some letter more often than b.
func lacking(a, b []rune) (sets uint64) {
	count := func(text []rune, c rune) (n int) {
		for _, d := range text {
			if d == c {
				n++
			}
		}
		return n
	}
	for _, c := range a {
		if of := excluding[c]; of != 0 && count(a, c) > count(b, c) {
			sets |= of
		}
	}
	return sets
}

// fewestEdits returns the fewest characters that have to be inserted, deleted or
// replaced to make b of a, which are texts of few letters. Characters for which keeps
// is true may not be inserted or deleted, and b[j] may replace a different a[i] only
// if replaces(i, j). If that is impossible, the result is far greater than the number
// of characters.
func fewestEdits(a, b []rune, keeps func(rune) bool, replaces func(i, j int) bool) int {
	const barred = 4 * fewMax
	cost := func(may bool) int {
		if may {
			return 1
		}
		return barred
	}
	var row [fewMax + 1]int
	for j, d := range b {
		row[j+1] = row[j] + cost(!keeps(d))
	}
	for i, c := range a {
		corner, deleted := row[0], cost(!keeps(c))
		row[0] += deleted
		for j, d := range b {
			n := corner
			if c != d {
				n += cost(replaces(i, j))
			}
			corner, row[j+1] = row[j+1], min(n, row[j]+cost(!keeps(d)), row[j+1]+deleted)
		}
	}
	return row[len(b)]
}

// numberExchanged reports whether two texts have equally many Chinese numbers, not
// all of which are equal. If one text has more, that may be a slip, because most of
// these characters occur in words that are not numbers.
func numberExchanged(a, b []rune) bool {
	exchanged := false
	for {
		var x, y []rune
		x, a = cutNumber(a)
		y, b = cutNumber(b)
		if len(x) == 0 || len(y) == 0 {
			return exchanged && len(x) == len(y)
		}
		exchanged = exchanged || !slices.Equal(x, y)
	}
}

func isNumeral(c rune) bool { return strings.ContainsRune("〇一二三四五六七八九十百", c) }

// cutNumber returns the first run of Chinese numerals of a text, and what is
// behind it.
func cutNumber(text []rune) (number, rest []rune) {
	from := slices.IndexFunc(text, isNumeral)
	if from < 0 {
		return nil, nil
	}
	to := from
	for to < len(text) && isNumeral(text[to]) {
		to++
	}
	return text[from:to], text[to:]
}

// wordExchanged reports whether two texts of few letters differ in one place only,
// and have different words there: stretches of at least two characters each with no
// character in common, or Latin words most of which is edited.
func wordExchanged(a, b []rune) bool {
	isLatin := func(c rune) bool { return unicode.Is(unicode.Latin, c) }
	head, tail := trimmed(a, b)
	x, y := a[head:len(a)-tail], b[head:len(b)-tail]
	if len(x) == 0 || len(y) == 0 {
		return false
	}
	if len(x) > 1 && len(y) > 1 && !slices.ContainsFunc(x, func(c rune) bool { return slices.Contains(y, c) }) {
		return true
	}
	for head > 0 && isLatin(a[head-1]) {
		head--
	}
	for tail > 0 && isLatin(a[len(a)-tail]) {
		tail--
	}
	x, y = a[head:len(a)-tail], b[head:len(b)-tail]
	if !slices.ContainsFunc(slices.Concat(x, y), func(c rune) bool { return !isLatin(c) }) && len(x) < len(a) && len(y) < len(b) {
		return 2*editsOf(x, y) > max(len(x), len(y))
	}
	return false
}

// trimmed returns how many characters two texts have in common at their beginnings,
// and then at their ends.
func trimmed(a, b []rune) (head, tail int) {
	shorter := min(len(a), len(b))
	for head < shorter && a[head] == b[head] {
		head++
	}
	for tail < shorter-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head, tail
}

// editsOf returns the Levenshtein distance of a and b, which are of few letters.
func editsOf(a, b []rune) int {
	return fewestEdits(a, b, func(rune) bool { return false }, func(int, int) bool { return true })
}
