package gunzip

import "math/bits"

// An entry of a table says what the bits that lead to it mean:
//
//	bits 0–7    how many bits it uses, extra bits of a length or distance included
//	bits 8–11   how many of them are the code, of two literals the first one's
//	bits 12–13  how many literals it is
//	bit 14      it is exceptional
//	bit 15      it is a literal, or two
//	bits 16–31  the literals, the first in the lower byte; or the least length or distance
//
// An exceptional entry with a value stands for longer codes: the table goes on
// at the value, by as many bits as bits 8–11 say. Another one is the end of a
// block, or, if bit 12 is set, invalid: no symbol has the code.
type entry uint32

const (
	bitsMask    = 0xff
	codeShift   = 8
	codeMask    = 0xf
	countShift  = 12
	exceptional = 1 << 14
	literal     = 1 << 15
	valueShift  = 16

	invalid = entry(exceptional | 1<<countShift)
)

func (e entry) invalid() bool { return e&invalid == invalid }

// value is the length or distance of an entry that the bits b lead to.
func (e entry) value(b uint64) int {
	extra := b & (1<<(e&bitsMask) - 1) >> (e >> codeShift & codeMask)
	return int(e>>valueShift) + int(extra)
}

const (
	maxCode      = 15 // bits
	lengthBits   = maxCode + 5
	distanceBits = maxCode + 13
	maxLit       = 288 // symbols, with two that only the fixed code has
	maxDist      = 32  // the same

	// Codes of up to so many bits are looked up at once. For longer ones with
	// the same beginning, of which there are two or more, the table goes on.
	litBits  = 11
	distBits = 9

	litMask  = 1<<litBits - 1
	distMask = 1<<distBits - 1 //nolint:unused // of unpack

	literals = 10 // that are unpacked without a look at how much room there is
)

type (
	litTable  [1<<litBits + maxLit/2<<(maxCode-litBits)]entry
	distTable [1<<distBits + maxDist/2<<(maxCode-distBits)]entry
)

func (t *litTable) entry(b uint64) entry  { return find(t[:], litBits, b) }
func (t *distTable) entry(b uint64) entry { return find(t[:], distBits, b) }

// find returns the entry of the code that b starts with.
func find(t []entry, width uint, b uint64) entry {
	e := t[b&(1<<width-1)]
	if e&exceptional != 0 && e>>valueShift != 0 {
		further := b >> width & (1<<(e>>codeShift&codeMask) - 1)
		e = t[uint64(e>>valueShift)+further]
	}
	return e
}

// What the symbols mean, RFC 1951 section 3.2.5.
var litEntries, distEntries = func() (lit [maxLit]entry, dist [maxDist]entry) {
	for c := range 256 {
		lit[c] = literal | 1<<countShift | entry(c)<<valueShift
	}
	lit[256] = exceptional
	length := 3
	for i := range 28 {
		extra := max(0, i/4-1)
		lit[257+i] = entry(length)<<valueShift | entry(extra)
		length += 1 << extra
	}
	lit[285] = longest << valueShift
	distance := 1
	for i := range 30 {
		extra := max(0, i/2-1)
		dist[i] = entry(distance)<<valueShift | entry(extra)
		distance += 1 << extra
	}
	lit[286], lit[287], dist[30], dist[31] = invalid, invalid, invalid, invalid
	return lit, dist
}()

// build makes the table of the symbols whose codes have the lengths, RFC 1951
// section 3.2.2; false if those are too many codes, or too few. There may be
// too few if there is one, of one bit, or none.
func build(t []entry, width uint, symbols []entry, lengths []uint8) bool {
	var count, next, from [maxCode + 2]uint32
	for _, l := range lengths {
		count[l]++
	}
	used := uint32(len(lengths)) - count[0]
	count[0] = 0
	most := uint(0) // bits of a code
	for l := uint(1); l <= maxCode; l++ {
		next[l] = (next[l-1] + count[l-1]) << 1
		from[l+1] = from[l] + count[l]
		if count[l] > 0 {
			most = l
		}
		if next[l]+count[l] > 1<<l {
			return false
		}
	}
	if next[most]+count[most] < 1<<most {
		if used > 1 || most > 1 {
			return false
		}
		for i := range t[:1<<width] {
			t[i] = invalid + entry(most)
		}
	}
	var ordered [maxLit]uint16 // by the lengths of their codes
	for symbol, l := range lengths {
		if l > 0 {
			ordered[from[l]] = uint16(symbol)
			from[l]++
		}
	}
	b := builder{t: t, width: width, further: max(most, width) - width, end: 1 << width}
	for _, symbol := range ordered[:used] {
		l := uint(lengths[symbol])
		e := symbols[symbol] + entry(l)<<codeShift + entry(l)
		b.enter(bits.Reverse32(next[l])>>(32-l), l, e)
		next[l]++
	}
	return true
}

// builder enters codes into a table, in their order.
type builder struct {
	t       []entry
	width   uint
	further uint   // bits that the table goes on by
	end     uint32 // of the table
}

// enter enters a code of l bits, the first of them the lowest.
func (b *builder) enter(code uint32, l uint, e entry) {
	if l <= b.width {
		for i := code; i < 1<<b.width; i += 1 << l {
			b.t[i] = e
		}
		return
	}
	start := &b.t[code&(1<<b.width-1)]
	code >>= b.width
	if code == 0 { // the first with this beginning
		*start = exceptional | entry(b.end)<<valueShift | entry(b.further)<<codeShift | entry(b.width)
		b.end += 1 << b.further
	}
	from := uint32(*start >> valueShift)
	for i := code; i < 1<<b.further; i += 1 << (l - b.width) {
		b.t[from+i] = e
	}
}

// pair has an entry of one literal, where the bits behind it are a literal's
// too, stand for both: of Chinese text the first bytes of characters have
// short codes.
func (t *litTable) pair() {
	for i := 1<<litBits - 1; i >= 0; i-- { // what is looked at is not paired yet
		e := t[i]
		if e&literal == 0 {
			continue
		}
		second := t[i>>(e&bitsMask)]
		if used := e&bitsMask + second&bitsMask; second&literal != 0 && used <= litBits {
			t[i] = e&^bitsMask + used + 1<<countShift + second>>valueShift<<(valueShift+8)
		}
	}
}

// order is how the lengths of the codes for lengths come, RFC 1951 section
// 3.2.7.
var order = [...]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// lengthSymbols are the symbols of the code for lengths.
var lengthSymbols = func() (s [len(order)]entry) {
	for i := range s {
		s[i] = entry(i) << valueShift
	}
	return s
}()

// dynamic reads the codes of a block, RFC 1951 section 3.2.7.
func (z *Reader) dynamic() {
	const (
		width   = 7 // of the code for lengths
		litMost = 286
		most    = 30
	)
	lit, dist, n := int(z.take(5))+257, int(z.take(5))+1, int(z.take(4))+4
	if lit > litMost || dist > most {
		z.corrupt()
		return
	}
	var lengths [litMost + most]uint8
	for _, symbol := range order[:n] {
		lengths[symbol] = uint8(z.take(3))
	}
	var t [1 << width]entry
	if !build(t[:], width, lengthSymbols[:], lengths[:len(order)]) {
		z.corrupt()
		return
	}
	clear(lengths[:len(order)])
	for i := 0; i < lit+dist && z.err == nil; {
		z.get(width)
		e := find(t[:], width, z.bits)
		if z.use(uint(e&bitsMask)) && e.invalid() {
			z.corrupt()
		}
		symbol := uint8(e >> valueShift)
		repeat := 1
		switch symbol {
		case 16:
			if i == 0 {
				z.corrupt()
				return
			}
			symbol, repeat = lengths[i-1], 3+int(z.take(2))
		case 17:
			symbol, repeat = 0, 3+int(z.take(3))
		case 18:
			symbol, repeat = 0, 11+int(z.take(7))
		}
		if i+repeat > lit+dist {
			z.corrupt()
			return
		}
		for ; repeat > 0; repeat-- {
			lengths[i] = symbol
			i++
		}
	}
	z.codes(lengths[:lit], lengths[lit:lit+dist])
}

// fixed makes the codes that need not be said, RFC 1951 section 3.2.6.
func (z *Reader) fixed() {
	var lit [maxLit]uint8
	for symbol := range lit {
		switch {
		case symbol < 144:
			lit[symbol] = 8
		case symbol < 256:
			lit[symbol] = 9
		case symbol < 280:
			lit[symbol] = 7
		default:
			lit[symbol] = 8
		}
	}
	var dist [maxDist]uint8
	for symbol := range dist {
		dist[symbol] = 5
	}
	z.codes(lit[:], dist[:])
}

// codes starts a block with codes of the lengths.
func (z *Reader) codes(lit, dist []uint8) {
	if z.err != nil {
		return
	}
	if !build(z.lit[:], litBits, litEntries[:], lit) || !build(z.dist[:], distBits, distEntries[:], dist) {
		z.corrupt()
		return
	}
	z.lit.pair()
	z.coded = true
}
