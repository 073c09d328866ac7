package simhash

import (
	"fmt"
	"math/bits"

	"github.com/neardup/neardup/simhash/columns"
	"github.com/neardup/neardup/simhash/hamming"
)

// maxKeyBits is the width of a key's value; a longer segment leaves its last
// bits in the suffix.
const maxKeyBits = 40

// Key is a segment key: a table and the value of that table's bits in a fingerprint.
// It is an integer, so a shuffle can carry and compare it as one. Keys sort by table,
// then value; keys of one layout are equal exactly if table and value are.
//
//	 4 bits   binary digits of the table's prefix, less 1
//	16 bits   table
//	 4 bits   hexadecimal digits of the value
//	40 bits   value
type Key uint64

func newKey(table, digits, hex int, value uint64) Key {
	return Key(uint64(digits-1)<<60 | uint64(table)<<44 | uint64(hex)<<40 | value)
}

// NewKey returns the key of a table that belongs to no layout, for a value of width
// bits, at most 40.
func NewKey(table, width int, value uint64) Key {
	return newKey(table, max(1, bits.Len(uint(table))), (width+3)/4, value)
}

// Table returns the number of the key's table, from 0 on.
func (k Key) Table() int { return int(k >> 44 & 0xffff) }

// Value returns the fingerprint's bits in the key's table.
func (k Key) Value() uint64 { return uint64(k) & (1<<maxKeyBits - 1) }

// In returns the key with another number for its table. Tables of several layouts
// may be numbered together.
func (k Key) In(table int) Key {
	return k&^(0xffff<<44) | Key(table)<<44
}

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

// Layout says which bits of a fingerprint make the key of which table. It is a
// hamming.Plan, which brings fingerprints within distance k together, with a name
// for each table. The plan's block of a table is the table's key. If the plan has
// further keys in a table, the final reduce divides by them what the table's key
// brought together.
//
// A table's name is its number in binary, in as many digits as the last table needs,
// and the same number as a letter: four tables are 00A, 01B, 10C and 11D. A Layout is
// immutable and safe for concurrent use.
type Layout struct {
	*hamming.Plan
	bits   int
	digits int // binary digits of a prefix
	tables []table
}

// table is where the bits of a key stand in a fingerprint.
type table struct {
	runs []run // from the most significant on
	bits int   // of the key
}

// run is a stretch of adjacent bits.
type run struct{ below, width uint }

// NewLayout returns the layout of k + 1 segments, with a table for each, for
// fingerprints of 32, 64 or 128 bits. The segments' widths differ by at most one bit.
// Two fingerprints within distance k share the key of at least one table, because k
// differing bits touch at most k of the k + 1 segments (Manku, Jain, Das Sarma:
// Detecting Near-Duplicates for Web Crawling, WWW 2007, section 3). 64 bits and k = 3
// give four tables of 16 bits. K is 0 to 31.
func NewLayout(width, k int) (*Layout, error) { return NewCombinations(width, k, 1) }

// NewCombinations returns the layout of m matched segments out of k + m. Each choice
// of m segments is a key, C(k + m, m) in all. Two fingerprints within k differ in at
// most k segments, so they agree on at least m, which is a key. 64 bits, k = 3 and
// m = 2 give five segments and ten keys of 25 to 26 bits. Keys that begin with the
// same segment are in one table.
func NewCombinations(width, k, m int) (*Layout, error) {
	if err := checkLayout(width, k); err != nil {
		return nil, err
	}
	plan, err := hamming.NewPlan(width, k, m)
	if err != nil {
		return nil, fmt.Errorf("layout: %w", err)
	}
	return layoutOf(width, plan, maxKeyBits), nil
}

// ChooseLayout returns the layout of the lowest modelled cost for n documents, by
// hamming.ChoosePlan. It is the same on every machine.
func ChooseLayout(width, k int, n uint64) (*Layout, error) {
	if err := checkLayout(width, k); err != nil {
		return nil, err
	}
	plan, err := hamming.ChoosePlan(width, k, int(min(n, 1<<40)))
	if err != nil {
		return nil, fmt.Errorf("layout: %w", err)
	}
	return layoutOf(width, plan, maxKeyBits), nil
}

func checkLayout(width, k int) error {
	if err := checkBits(width); err != nil {
		return fmt.Errorf("layout: %w", err)
	}
	if k < 0 || k > 31 {
		return fmt.Errorf("layout for distance %d: write a distance from 0 to 31", k)
	}
	return nil
}

// layoutOf returns the layout of a plan, with keys cut to at most most bits.
func layoutOf(width int, plan *hamming.Plan, most int) *Layout {
	l := &Layout{Plan: plan, bits: width, digits: max(1, bits.Len(uint(plan.Tables()-1))), tables: make([]table, plan.Tables())}
	for i := range l.tables {
		t, block := &l.tables[i], plan.Block(i)
		for b := width - 1; b >= 0 && t.bits < most; b-- {
			if block.And(columns.Bit(b)).IsZero() {
				continue
			}
			if n := len(t.runs); n > 0 && t.runs[n-1].below == uint(b)+1 {
				t.runs[n-1] = run{uint(b), t.runs[n-1].width + 1}
			} else {
				t.runs = append(t.runs, run{uint(b), 1})
			}
			t.bits++
		}
	}
	return l
}

// ByKey returns the layout in which each key has a table of its own, as a store needs
// that finds by one value. A key of more than most bits is cut to its first ones.
// 64 bits, k = 3 and m = 2 give ten tables of 25 to 26 bits, in the order of the
// segments that they are made of.
func (l *Layout) ByKey(most int) *Layout {
	return layoutOf(l.bits, l.Plan.ByKey(), min(most, maxKeyBits))
}

// Bits returns the width of the fingerprints.
func (l *Layout) Bits() int { return l.bits }

// KeyBits returns the number of bits, at most 40, in a key of the table.
func (l *Layout) KeyBits(table int) int { return l.tables[table].bits }

// Prefix returns the name of a table: 00A.
func (l *Layout) Prefix(table int) string { return prefix(table, l.digits) }

// Key returns the fingerprint's key in the table and the suffix: its other bits
// in their order, moved to the low end.
func (l *Layout) Key(table int, f Fingerprint) (key Key, suffix Fingerprint) {
	t := &l.tables[table]
	value, suffix := uint64(0), f
	for _, r := range t.runs {
		value = value<<r.width | f.shr(r.below).Lo&(1<<r.width-1)
		suffix = suffix.shr(r.below + r.width).shl(r.below).or(suffix.low(r.below))
	}
	return newKey(table, l.digits, (t.bits+3)/4, value), suffix
}

// Join returns the fingerprint that Key took apart into key and suffix.
func (l *Layout) Join(key Key, suffix Fingerprint) Fingerprint {
	runs, value := l.tables[key.Table()].runs, key.Value()
	for i := len(runs) - 1; i >= 0; i-- {
		r := runs[i]
		bits := Fingerprint{Lo: value & (1<<r.width - 1)}.shl(r.below)
		suffix = suffix.shr(r.below).shl(r.below + r.width).or(bits).or(suffix.low(r.below))
		value >>= r.width
	}
	return suffix
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
