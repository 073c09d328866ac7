package inflate

import "math/bits"

// An entry of a table of codes. The table is indexed by the next bits of the stream; a
// code that is longer has a second part of the table, which its entry links to.
//
// The low 6 bits are how many bits the code takes together with the extra bits that
// follow it, and then 4 how many the code takes: of a code in a second part, what it
// takes there. From valueShift on stands the value: a literal, or what the extra bits are
// added to. Of a link it is where the second part starts, and the low bits are how many
// bits it is indexed by.
const (
	countMask  = 1<<6 - 1
	codeShift  = 6
	codeMask   = 1<<4 - 1
	valueShift = 16
	valueMask  = 1<<15 - 1

	literal    = 1 << 31
	special    = 1 << 15 // one of those that follow
	link       = 1 << 14
	endOfBlock = 1 << 13
	invalid    = 1 << 12
)

const (
	maxLiterals  = 286 // symbols of literals and lengths
	maxDistances = 30
	maxBits      = 15 // of a code

	literalBits  = 11 // that a table is indexed by
	distanceBits = 8
	lengthBits   = 7
)

// literals and distances are tables. Each second part has at least two codes, and 16 or
// 128 entries.
type (
	literals  [1<<literalBits + 288/2<<(maxBits-literalBits)]uint32
	distances [1<<distanceBits + 32/2<<(maxBits-distanceBits)]uint32
)

// What the symbols stand for: entries without the length of their code.
var (
	literalEntries  [288]uint32
	distanceEntries [32]uint32
	plainEntries    [len(order)]uint32

	fixedLiterals  = new(literals)
	fixedDistances = new(distances)
)

func init() {
	for i := range plainEntries {
		plainEntries[i] = uint32(i) << valueShift
	}
	for i := range 256 {
		literalEntries[i] = literal | uint32(i)<<valueShift
	}
	literalEntries[256] = special | endOfBlock
	for i, base := 0, uint32(3); i < 29; i++ {
		extra := max(0, i/4-1)
		if i == 28 {
			base, extra = longest, 0
		}
		literalEntries[257+i] = base<<valueShift | uint32(extra)
		base += 1 << extra
	}
	literalEntries[286], literalEntries[287] = special|invalid, special|invalid
	for i, base := 0, uint32(1); i < maxDistances; i++ {
		extra := max(0, i/2-1)
		distanceEntries[i] = base<<valueShift | uint32(extra)
		base += 1 << extra
	}
	distanceEntries[30], distanceEntries[31] = special|invalid, special|invalid

	var lengths [288]uint8
	for i := range lengths {
		switch {
		case i < 144:
			lengths[i] = 8
		case i < 256:
			lengths[i] = 9
		case i < 280:
			lengths[i] = 7
		default:
			lengths[i] = 8
		}
	}
	build(fixedLiterals[:], lengths[:], literalBits, literalEntries[:])
	for i := range 32 {
		lengths[i] = 5
	}
	build(fixedDistances[:], lengths[:32], distanceBits, distanceEntries[:])
}

// build fills a table that is indexed by so many bits from the lengths of the symbols'
// codes, and reports whether these are right: all bits of a code lead to a symbol, or
// there is one symbol only, whose code has one bit, or none. What leads to no symbol is
// an invalid entry.
func build(table []uint32, lengths []uint8, index uint, entries []uint32) bool {
	var count [maxBits + 1]int
	longestCode := uint(0)
	for _, n := range lengths {
		count[n]++
		longestCode = max(longestCode, uint(n))
	}
	first := table[:1<<index]
	var next [maxBits + 1]uint32
	code := uint32(0)
	for n := uint(1); n <= longestCode; n++ {
		code <<= 1
		next[n] = code
		code += uint32(count[n])
	}
	if complete := code == 1<<longestCode && longestCode > 0; !complete {
		if longestCode > 1 || longestCode == 1 && code != 1 {
			return false
		}
		for i := range first {
			first[i] = special | invalid
		}
	}
	if longestCode > index {
		clear(first) // where nothing stands yet there is no second part
	}
	parts, seconds := uint32(len(first)), longestCode-index
	for symbol, length := range lengths {
		n := uint(length)
		if n == 0 {
			continue
		}
		from := uint(bits.Reverse16(uint16(next[n])) >> (16 - n))
		next[n]++
		part := first
		if n > index {
			head := &first[from&(1<<index-1)]
			if *head == 0 {
				*head = special | link | parts<<valueShift | uint32(seconds)
				parts += 1 << seconds
			}
			part = table[*head>>valueShift&valueMask:][:1<<seconds]
			from >>= index
			n -= index
		}
		e := entries[symbol] + uint32(n)<<codeShift + uint32(n)
		for i := from; i < uint(len(part)); i += 1 << n {
			part[i] = e
		}
	}
	return true
}
