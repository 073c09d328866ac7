package charset

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// sampleSize is how many bytes, those of ASCII for the most part left out,
	// an encoding is told from.
	sampleSize = 2 << 10
	// sampleFrom is how far into a text the sample is taken.
	sampleFrom = 1 << 20
	// damage is the share of characters, one in so many, that may be no UTF-8
	// in a text that is taken for UTF-8.
	damage = 20
)

// A declared encoding is refuted if another explains the sample with so many
// bits less: a fixed number, and some for each of its bytes. A sample that
// costs no more than plainly bits a byte is in the encoding, whatever another
// would cost.
//
// UTF-16 is taken at half the cost of a character that no list has.
const (
	refuteFixed = 24 * bit
	refuteByte  = 5 * bit / 4
	plainly     = 45 * bit / 8
	plainlyWide = 13 * bit / 2
)

// candidates are the encodings and languages that are told from the bytes.
var candidates = sync.OnceValue(func() []*model {
	var all []*model
	for _, l := range languages {
		for _, name := range strings.Fields(l.encodings) {
			all = append(all, &model{enc: encodings[name], lang: l})
		}
	}
	return all
})

// declarable are, for each encoding, the languages that it may be declared
// for; of one that none of the languages is written in, any letters.
var declarable = sync.OnceValue(func() map[*Encoding][]*model {
	all := make(map[*Encoding][]*model)
	for _, m := range candidates() {
		all[m.enc] = append(all[m.enc], m)
	}
	for _, l := range languages {
		for _, name := range strings.Fields(l.foreign) {
			all[encodings[name]] = append(all[encodings[name]], &model{enc: encodings[name], lang: l})
		}
	}
	for _, e := range encodings {
		if e.kind == singleByte && all[e] == nil {
			all[e] = []*model{{enc: e, lang: &language{latin: true}}, {enc: e, lang: &language{}}}
		}
	}
	return all
})

// best returns the encoding that explains the sample of a text best.
func best(sample, text []byte) *Encoding {
	e, cost := cheapest(candidates(), sample)
	if w := wide(text, min(cost/len(sample), plainlyWide)); w != nil {
		return w
	}
	return e
}

// unlimited is more than any sample costs.
const unlimited = math.MaxInt32

func cheapest(models []*model, sample []byte) (e *Encoding, least int) {
	least = unlimited
	for _, m := range models {
		if c := m.cost(sample, least); c < least {
			e, least = m.enc, c
		}
	}
	return e, least
}

// refuted tells that a text is most certainly not in the encoding.
func refuted(e *Encoding, sample, text []byte) bool {
	least := unlimited
	for _, m := range declarable()[e] {
		if least = min(least, m.cost(sample, least)); least <= len(sample)*plainly {
			return false
		}
	}
	if limit := (least-refuteFixed)/len(sample) - refuteByte; wide(text, min(limit, plainlyWide)) != nil {
		return true
	}
	other, cost := cheapest(candidates(), sample)
	return other != e && least-cost > refuteFixed+refuteByte*len(sample)
}

// cost is what the sample costs. Once the cost is far beyond limit, it is
// something above limit.
func (m *model) cost(sample []byte, limit int) int {
	if m.enc.kind == doubleByte {
		return m.pairs(sample, limit)
	}
	bytes, beside, before, sum := m.costs(), &besideASCII, other, foreignCost
	if m.lang.latin {
		beside, sum = &latinBeside, 0
	}
	for i, c := range sample {
		b := bytes[c]
		sum += int(b.cost) + beside[before][b.class]
		before = b.class
		if i&0xff == 0xff && sum/(i+1) > limit/len(sample)*3/2 {
			return unlimited
		}
	}
	return sum
}

// pairs is cost in a double-byte encoding.
func (m *model) pairs(sample []byte, limit int) int {
	t, cost, sum := m.enc.tableOf(), m.lang.costs(), 0
	if m.lang != chinese {
		sum = foreignCost
	}
	for i := 0; i < len(sample) && sum <= limit; {
		c := sample[i]
		if c < utf8.RuneSelf {
			sum += asciiCost
			i++
			continue
		}
		if r := t.single[c]; r != 0 {
			sum += int(cost[r])
			i++
			continue
		}
		if i+1 == len(sample) {
			sum += asciiCost // cut
			break
		}
		if r := t.pairs[c-0x80][sample[i+1]]; r != 0 {
			sum += int(cost[r])
			i += 2
			continue
		}
		if rest := sample[i:]; m.enc.name == "gb18030" && len(rest) >= 4 && isDigit(rest[1]) && rest[2] >= 0x81 && isDigit(rest[3]) {
			sum += 2 * strangeCost // of four bytes
			i += 4
			continue
		}
		sum += invalidCost
		i++
	}
	return sum
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// notASCII are the bits of eight bytes that those of ASCII have not.
const notASCII = 0x8080808080808080

// ASCIIPrefix is the number of bytes in front of the first that is not ASCII.
func ASCIIPrefix(b []byte) int {
	i := 0
	for i+8 <= len(b) && binary.LittleEndian.Uint64(b[i:])&notASCII == 0 {
		i += 8
	}
	for i < len(b) && b[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// sample appends to dst the stretches of b that are not ASCII, each with the
// byte before it and two behind it: markup is ASCII and says nothing. No
// character is cut: of two bytes of ASCII the second starts one.
func sample(dst, b []byte) []byte {
	b = b[:min(len(b), sampleFrom)]
	for i := 0; i < len(b) && len(dst) < sampleSize; {
		if i += ASCIIPrefix(b[i:]); i == len(b) {
			break
		}
		if i > 0 {
			dst = append(dst, b[i-1])
		}
		for ; i < len(b) && len(dst) < sampleSize; i++ {
			if i+1 < len(b) && b[i] < utf8.RuneSelf && b[i+1] < utf8.RuneSelf {
				dst = append(dst, b[i], b[i+1])
				i += 2
				break
			}
			dst = append(dst, b[i])
		}
	}
	return dst
}

// mostlyUTF8 tells a text that is UTF-8 but for a few damaged places: fewer
// than one in 20 of its characters beyond ASCII.
func mostlyUTF8(b []byte) bool {
	good, bad := 0, 0
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			if bad++; bad > 100 && bad > good {
				return false
			}
		} else {
			good++
		}
		i += n
	}
	return bad*damage < good
}

// escapes tells ISO-2022-JP, which is valid UTF-8, by its escape sequences.
func escapes(b []byte) bool {
	return bytes.Contains(b, []byte("\x1b$B")) || bytes.Contains(b, []byte("\x1b$@"))
}

// fewTildes is how many characters of HZ a text has at least.
const fewTildes = 8

// tildes tells HZ, which is ASCII: pairs of bytes between ~{ and ~}. Those of
// Chinese are for the most part punctuation and the frequent half of its
// characters, whose first bytes are below those of small letters.
func tildes(b []byte) bool {
	pairs, frequent := 0, 0
	for len(b) > 0 && pairs < sampleSize {
		i := bytes.Index(b, []byte("~{"))
		if i < 0 {
			break
		}
		b = b[i+2:]
		run := b
		for len(run) >= 2 && run[0] > ' ' && run[0] < 0x78 && run[1] > ' ' && run[1] < 0x7f {
			if run[0] < 0x58 {
				frequent++
			}
			pairs++
			run = run[2:]
		}
		if len(run) > 0 && run[0] != '~' && run[0] != '\n' { // a line ends the pairs too
			return false
		}
		b = run
	}
	return pairs >= fewTildes && frequent*10 >= pairs*8
}

// wide32 returns the UTF-32 that a text with zero bytes and without a byte
// order mark is in; nil when it is in none. No character is beyond 0x10ffff.
func wide32(b []byte) *Encoding {
	little, big := 0, 0
	for i := 0; i+4 <= len(b); i += 4 {
		if b[i+3] == 0 && b[i+2] <= 0x10 && (b[i+2] == 0 || b[i] != 0) {
			little++
		}
		if b[i] == 0 && b[i+1] <= 0x10 && (b[i+1] == 0 || b[i+3] != 0) {
			big++
		}
	}
	n := len(b) / 4
	switch {
	case n < 4:
	case little == n && big*2 < n:
		return encodings["utf-32le"]
	case big == n && little*2 < n:
		return encodings["utf-32be"]
	}
	return nil
}

// wideASCII returns the UTF-16 or UTF-32 that a text with zero bytes is in, those of its
// ASCII. It looks at texts that are UTF-8 too: letters of ASCII in UTF-16 are
// letters and zero bytes of it, Cyrillic ones are letters and 0x04.
func wideASCII(b []byte) *Encoding {
	b = b[:min(len(b), sampleSize)]
	if bytes.IndexByte(b, 0) < 0 {
		return nil
	}
	if e := wide32(b); e != nil {
		return e
	}
	controls := 0
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' {
			controls++
		}
	}
	if 5*controls < 2*len(b) && utf8.Valid(whole(b)) {
		return nil
	}
	return wide(b, plainlyWide)
}

// wide returns the UTF-16 that a text without a byte order mark is in; nil
// when it is hardly in any. It costs no more than limit a byte.
func wide(b []byte, limit int) *Encoding {
	b = b[:min(len(b), sampleSize)&^1]
	if len(b) == 0 {
		return nil
	}
	little, big := wideCost(binary.LittleEndian, b), wideCost(binary.BigEndian, b)
	switch {
	case min(little, big) > limit*len(b):
		return nil
	case little <= big:
		return encodings["utf-16le"]
	}
	return encodings["utf-16be"]
}

// wideCost is the cost of a text in UTF-16, as that of a model.
func wideCost(order binary.ByteOrder, b []byte) int {
	zh, ja, ko := chinese.costs(), japanese.costs(), korean.costs()
	sum := 0
	for i := 0; i < len(b); i += 2 {
		r := rune(order.Uint16(b[i:]))
		switch {
		case r >= ' ' && r < 0x7f, r == '\t', r == '\n', r == '\r':
			sum += asciiCost
		case r < 0xa0 || r >= 0xfff0:
			sum += 2 * invalidCost
		case utf16.IsSurrogate(r):
			if i+4 <= len(b) && utf16.DecodeRune(r, rune(order.Uint16(b[i+2:]))) == utf8.RuneError {
				sum += 2 * invalidCost
			} else {
				sum += 2 * strangeCost
				i += 2
			}
		case r < 0x2000 && unicode.In(r, unicode.L, unicode.M):
			sum += 9 * bit
		default:
			sum += int(min(zh[r], ja[r], ko[r]))
		}
	}
	return sum
}
