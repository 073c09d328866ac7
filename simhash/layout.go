package simhash

import (
	"fmt"
	"math/bits"
)

// maxKeyBits is the width of a key's value; a longer segment leaves its last
// bits in the rest.
const maxKeyBits = 40

// Key is a segment key: a table and the value of that table's bits in a
// fingerprint. It is an integer, so that a shuffle carries and compares it as
// one; keys sort by table, then value, and keys of one layout are equal
// exactly if table and value are.
//
// From the most significant bit on: 4 bits one less than the binary digits of
// the table's prefix, 16 bits table, 4 bits hexadecimal digits of the value,
// 40 bits value.
type Key uint64

func newKey(table, digits, hex int, value uint64) Key {
	return Key(uint64(digits-1)<<60 | uint64(table)<<44 | uint64(hex)<<40 | value)
}

// NewKey returns the key of a table beyond those of a layout, for a value of
// so many bits, at most 40.
func NewKey(table, width int, value uint64) Key {
	return newKey(table, max(1, bits.Len(uint(table))), (width+3)/4, value)
}

// Table returns the number of the key's table, from 0 on.
func (k Key) Table() int { return int(k >> 44 & 0xffff) }

// Value returns the fingerprint's bits in the key's table.
func (k Key) Value() uint64 { return uint64(k) & (1<<maxKeyBits - 1) }

// String returns prefix and value, the latter in hexadecimal: 00A:1f3c.
func (k Key) String() string {
	return fmt.Sprintf("%s:%0*x", prefix(k.Table(), int(k>>60)+1), int(k>>40&0xf), k.Value())
}

// prefix names a table: its number in binary, then its letter, as a
// spreadsheet letters its columns (A to Z, AA, AB, …).
func prefix(table, digits int) string {
	letters := ""
	for n := table + 1; n > 0; n = (n - 1) / 26 {
		letters = string(rune('A'+(n-1)%26)) + letters
	}
	return fmt.Sprintf("%0*b%s", digits, table, letters)
}

// Layout says which bits of a fingerprint make the key in which table. It
// cuts the fingerprint into k + 1 segments, the first the most significant,
// equal but for one bit, and has a table for each: since k differing bits
// spoil at most k segments, two fingerprints within k of each other share the
// key of at least one table (Manku, Jain, Das Sarma: Detecting Near-Duplicates
// for Web Crawling, WWW 2007, section 3).
//
// A table's prefix is its number in binary, in as many digits as the last
// table needs, and a letter that says the same to the eye: four tables are
// 00A, 01B, 10C and 11D. A Layout is immutable; its methods do not allocate.
type Layout struct {
	bits   int
	digits int // binary digits of a prefix
	tables []table
}

type table struct {
	mask  Fingerprint // the key's bits in place
	bits  int         // how many
	below uint        // how many bits are less significant than the key's
}

// NewLayout returns the layout of k + 1 tables for fingerprints of 32, 64 or
// 128 bits: 64 bits and k = 3 give four tables of 16 bits. k is 0 to 31.
func NewLayout(width, k int) (*Layout, error) {
	if err := checkBits(width); err != nil {
		return nil, fmt.Errorf("layout: %w", err)
	}
	if k < 0 || k > 31 {
		return nil, fmt.Errorf("layout for distance %d: write a distance from 0 to 31", k)
	}
	l := &Layout{bits: width, digits: max(1, bits.Len(uint(k))), tables: make([]table, k+1)}
	n := k + 1
	start := 0
	for s := range l.tables {
		// The first width % n segments are one bit longer.
		end := (s+1)*(width/n) + min(s+1, width%n)
		key := min(end-start, maxKeyBits)
		below := uint(width - start - key)
		l.tables[s] = table{mask: Fingerprint{Lo: 1<<key - 1}.shl(below), bits: key, below: below}
		start = end
	}
	return l, nil
}

// Bits returns the width of the fingerprints.
func (l *Layout) Bits() int { return l.bits }

// Tables returns the number of tables, k + 1.
func (l *Layout) Tables() int { return len(l.tables) }

// KeyBits returns the number of bits, at most 40, in a key of the table.
func (l *Layout) KeyBits(table int) int { return l.tables[table].bits }

// Key returns the fingerprint's key in the table and the rest: its other bits
// in their order, moved to the low end.
func (l *Layout) Key(table int, f Fingerprint) (key Key, rest Fingerprint) {
	t := &l.tables[table]
	width := uint(t.bits)
	value := f.shr(t.below).Lo & (1<<width - 1)
	rest = f.shr(t.below + width).shl(t.below).or(f.low(t.below))
	return newKey(table, l.digits, (t.bits+3)/4, value), rest
}

// Join returns the fingerprint that Key took apart. Its table is the key's.
func (l *Layout) Join(key Key, rest Fingerprint) Fingerprint {
	t := &l.tables[key.Table()]
	above := rest.shr(t.below).shl(t.below + uint(t.bits))
	return above.or(Fingerprint{Lo: key.Value()}.shl(t.below)).or(rest.low(t.below))
}

// A shift by 64 or more leaves nothing of a word, so no branch asks for it.

func (f Fingerprint) shr(n uint) Fingerprint {
	return Fingerprint{f.Hi >> n, f.Lo>>n | f.Hi<<(64-n) | f.Hi>>(n-64)}
}

func (f Fingerprint) shl(n uint) Fingerprint {
	return Fingerprint{f.Hi<<n | f.Lo>>(64-n) | f.Lo<<(n-64), f.Lo << n}
}

func (f Fingerprint) or(g Fingerprint) Fingerprint { return Fingerprint{f.Hi | g.Hi, f.Lo | g.Lo} }

// low returns the n least significant bits.
func (f Fingerprint) low(n uint) Fingerprint {
	all := Fingerprint{^uint64(0), ^uint64(0)}.shl(n)
	return Fingerprint{f.Hi &^ all.Hi, f.Lo &^ all.Lo}
}

// FirstCommonTable returns the first table in which both fingerprints have
// the same key, or −1 when there is none: a pair that meets in several tables
// is reported in this one alone.
func (l *Layout) FirstCommonTable(a, b Fingerprint) int {
	hi, lo := a.Hi^b.Hi, a.Lo^b.Lo
	for i := range l.tables {
		if t := &l.tables[i]; hi&t.mask.Hi|lo&t.mask.Lo == 0 {
			return i
		}
	}
	return -1
}
