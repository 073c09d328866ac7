package simhash

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Limits of a layout.
const (
	MaxKeyBits = 40   // a key's value; a longer segment leaves its last bits in the rest
	MaxTables  = 4096 // of one layout
)

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
// so many bits, at most MaxKeyBits.
func NewKey(table, width int, value uint64) Key {
	return newKey(table, max(1, bits.Len(uint(table))), (width+3)/4, value)
}

// Table returns the number of the key's table, from 0 on.
func (k Key) Table() int { return int(k >> 44 & 0xffff) }

// Value returns the fingerprint's bits in the key's table.
func (k Key) Value() uint64 { return uint64(k) & (1<<MaxKeyBits - 1) }

// Prefix returns the key's table prefix, such as 00A.
func (k Key) Prefix() string { return prefix(k.Table(), int(k>>60)+1) }

// String returns prefix and value, the latter in hexadecimal: 00A:1f3c.
func (k Key) String() string {
	value := strconv.FormatUint(k.Value(), 16)
	if n := int(k>>40&0xf) - len(value); n > 0 {
		value = strings.Repeat("0", n) + value
	}
	return k.Prefix() + ":" + value
}

// ParseKey reads what Key.String writes.
func ParseKey(s string) (Key, error) {
	bad := fmt.Errorf("key %q: write table prefix and hexadecimal value, like 00A:1f3c", s)
	before, after, ok := strings.Cut(s, ":")
	if !ok || len(after) == 0 || len(after) > MaxKeyBits/4 {
		return 0, bad
	}
	digits := len(before) - len(strings.TrimLeft(before, "01"))
	if digits == 0 || digits > 12 {
		return 0, bad
	}
	table, err := strconv.ParseUint(before[:digits], 2, 16)
	if err != nil {
		return 0, bad
	}
	value, err := strconv.ParseUint(after, 16, 64)
	if err != nil {
		return 0, bad
	}
	k := newKey(int(table), digits, len(after), value)
	if k.String() != s {
		return 0, bad
	}
	return k, nil
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
// cuts the fingerprint into n segments, the first the most significant, equal
// but for one bit, and has a table for every choice of m of them: since k
// differing bits spoil at most k segments, two fingerprints within
// k = n − m of each other share the key of at least one table (Manku, Jain,
// Das Sarma: Detecting Near-Duplicates for Web Crawling, WWW 2007, section 3).
//
// A table's prefix is its number in binary, in as many digits as the last
// table needs, and a letter that says the same to the eye: four tables are
// 00A, 01B, 10C and 11D. A Layout is immutable; its methods do not allocate
// unless they return a string.
type Layout struct {
	bits, n, m int
	digits     int // binary digits of a prefix
	tables     []table
}

type table struct {
	mask Fingerprint // the key's bits in place
	bits int         // how many
	hex  int         // hexadecimal digits that write them
	key  []run       // the key's bits, most significant first
	rest []run       // all others, most significant first
}

// run is a series of adjacent bits inside one half of the fingerprint.
type run struct {
	high  bool  // in Hi
	shift uint8 // of its lowest bit
	width uint8 // 1 to 64
}

func (r run) mask() uint64 { return ^uint64(0) >> (64 - r.width) }

func (r run) of(f Fingerprint) uint64 {
	half := f.Lo
	if r.high {
		half = f.Hi
	}
	return half >> (r.shift & 63) & r.mask()
}

// NewLayout returns the layout of k + 1 tables of one segment each, for
// fingerprints of 32, 64 or 128 bits: 64 bits and k = 3 give four tables of
// 16 bits. k is 0 to 31, and less than bits.
func NewLayout(bits, k int) (*Layout, error) {
	return NewLayoutCombination(bits, k+1, 1)
}

// NewLayoutCombination returns the layout of n segments of which a table
// matches m: it serves k = n − m with C(n, m) tables of about m/n of the bits.
// 64 bits, n = 5 and m = 2 serve k = 3 with 10 tables of 25 or 26 bits. k is 0
// to 31, n at most bits, and the tables at most MaxTables.
func NewLayoutCombination(bits, n, m int) (*Layout, error) {
	if err := checkBits(bits); err != nil {
		return nil, fmt.Errorf("layout: %w", err)
	}
	switch k := n - m; {
	case m < 1 || k < 0 || k > 31:
		return nil, fmt.Errorf("layout of %d segments, %d matched: serves distance %d; write 1 or more matched segments and distance 0 to 31", n, m, k)
	case n > bits:
		return nil, fmt.Errorf("layout of %d segments: write at most %d, the fingerprint's bits", n, bits)
	}
	count := 1
	for i := 1; i <= n-m; i++ {
		// C(m+i, i) from C(m+i−1, i−1): the product is always divisible.
		if count = count * (m + i) / i; count > MaxTables {
			return nil, fmt.Errorf("layout of %d segments, %d matched: has more than %d tables; write fewer segments", n, m, MaxTables)
		}
	}
	l := &Layout{bits: bits, n: n, m: m, digits: max(1, bitLen(count-1)), tables: make([]table, 0, count)}
	chosen := make([]int, m)
	for i := range chosen {
		chosen[i] = i
	}
	for {
		l.tables = append(l.tables, l.newTable(chosen))
		// The next choice in lexicographic order.
		i := m - 1
		for i >= 0 && chosen[i] == n-m+i {
			i--
		}
		if i < 0 {
			return l, nil
		}
		chosen[i]++
		for j := i + 1; j < m; j++ {
			chosen[j] = chosen[j-1] + 1
		}
	}
}

func bitLen(n int) int { return bits.Len(uint(n)) }

// newTable returns the table that matches the chosen segments.
func (l *Layout) newTable(chosen []int) table {
	var t table
	inKey := make([]bool, l.bits) // by position from the most significant bit on
	for _, s := range chosen {
		// Segment s starts where s of the n equal shares end: the first
		// bits % n segments are one bit longer.
		start := s*(l.bits/l.n) + min(s, l.bits%l.n)
		end := (s+1)*(l.bits/l.n) + min(s+1, l.bits%l.n)
		for p := start; p < end && t.bits < MaxKeyBits; p++ {
			inKey[p] = true
			t.bits++
		}
	}
	t.hex = (t.bits + 3) / 4
	for p := 0; p < l.bits; {
		end := p + 1
		for end < l.bits && inKey[end] == inKey[p] && (l.bits-end)%64 != 0 {
			end++
		}
		lowest := l.bits - end
		r := run{high: lowest >= 64, shift: uint8(lowest % 64), width: uint8(end - p)}
		if inKey[p] {
			t.key = append(t.key, r)
			if r.high {
				t.mask.Hi |= r.mask() << r.shift
			} else {
				t.mask.Lo |= r.mask() << r.shift
			}
		} else {
			t.rest = append(t.rest, r)
		}
		p = end
	}
	return t
}

// Bits returns the width of the fingerprints.
func (l *Layout) Bits() int { return l.bits }

// K returns the distance served: fingerprints within it share a key.
func (l *Layout) K() int { return l.n - l.m }

// Tables returns the number of tables.
func (l *Layout) Tables() int { return len(l.tables) }

// KeyBits returns the number of bits, at most MaxKeyBits, in a key of the
// table.
func (l *Layout) KeyBits(table int) int { return l.tables[table].bits }

// Prefix returns the table's prefix, such as 00A.
func (l *Layout) Prefix(table int) string { return prefix(table, l.digits) }

// Key returns the fingerprint's key in the table and the rest: its other bits
// in their order, moved to the low end.
func (l *Layout) Key(table int, f Fingerprint) (key Key, rest Fingerprint) {
	t := &l.tables[table]
	value := uint64(0)
	for _, r := range t.key {
		value = value<<(r.width&63) | r.of(f)
	}
	for _, r := range t.rest {
		// A width of 64 moves all of Lo up.
		if r.width == 64 {
			rest.Hi = rest.Lo
			rest.Lo = r.of(f)
			continue
		}
		rest.Hi = rest.Hi<<r.width | rest.Lo>>(64-r.width)
		rest.Lo = rest.Lo<<r.width | r.of(f)
	}
	return newKey(table, l.digits, t.hex, value), rest
}

// Join returns the fingerprint that Key took apart. Its table is the key's.
func (l *Layout) Join(key Key, rest Fingerprint) Fingerprint {
	var f Fingerprint
	t := &l.tables[key.Table()]
	value := key.Value()
	put := func(r run, v uint64) {
		if v = v & r.mask() << (r.shift & 63); r.high {
			f.Hi |= v
		} else {
			f.Lo |= v
		}
	}
	for i := len(t.key) - 1; i >= 0; i-- {
		put(t.key[i], value)
		value >>= t.key[i].width & 63
	}
	for i := len(t.rest) - 1; i >= 0; i-- {
		r := t.rest[i]
		put(r, rest.Lo)
		if r.width == 64 {
			rest = Fingerprint{Lo: rest.Hi}
			continue
		}
		rest.Lo = rest.Lo>>r.width | rest.Hi<<(64-r.width)
		rest.Hi >>= r.width
	}
	return f
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
