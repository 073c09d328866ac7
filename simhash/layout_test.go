package simhash

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLayoutPrefixes(t *testing.T) {
	for _, c := range []struct {
		k    int
		want string
	}{
		{0, "0A"},
		{1, "0A 1B"},
		{2, "00A 01B 10C"},
		{3, "00A 01B 10C 11D"},
		{4, "000A 001B 010C 011D 100E"},
	} {
		l, err := NewLayout(64, c.k)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range l.Tables() {
			got = append(got, l.Prefix(i))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("k = %d: prefixes %q, want %s", c.k, got, c.want)
		}
	}
	l, err := NewLayout(64, 31)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Prefix(25) + " " + l.Prefix(26) + " " + l.Prefix(31); got != "11001Z 11010AA 11111AF" {
		t.Errorf("prefixes beyond Z: %s", got)
	}
}

func TestLayoutCombination(t *testing.T) {
	l, err := NewLayoutCombination(64, 5, 2)
	if err != nil {
		t.Fatal(err)
	}
	if l.Tables() != 10 || l.K() != 3 || l.Bits() != 64 {
		t.Errorf("%d tables for k = %d of %d bits, want 10, 3, 64", l.Tables(), l.K(), l.Bits())
	}
	for i := range l.Tables() {
		if b := l.KeyBits(i); b != 25 && b != 26 {
			t.Errorf("table %d has %d key bits, want 25 or 26", i, b)
		}
	}
}

func TestLayoutMistakes(t *testing.T) {
	for _, c := range []struct {
		bits, n, m int
		want       string
	}{
		{48, 4, 1, "layout: bits 48: write 32, 64 or 128"},
		{64, 4, 0, "write 1 or more matched segments"},
		{64, 4, 5, "serves distance -1"},
		{64, 40, 1, "serves distance 39"},
		{32, 40, 12, "write at most 32"},
		{64, 30, 15, "write fewer segments"},
	} {
		_, err := NewLayoutCombination(c.bits, c.n, c.m)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d bits, %d segments, %d matched: error %v, want one with %q", c.bits, c.n, c.m, err, c.want)
		}
	}
	if _, err := NewLayout(63, 3); !errors.Is(err, ErrBits) {
		t.Errorf("error %v is not ErrBits", err)
	}
}

func drawFingerprint(t *rapid.T, bits int, label string) Fingerprint {
	f := Fingerprint{Lo: rapid.Uint64().Draw(t, label)}
	switch bits {
	case 32:
		f.Lo &= 1<<32 - 1
	case 128:
		f.Hi = rapid.Uint64().Draw(t, label+" (upper half)")
	}
	return f
}

func drawLayout(t *rapid.T) *Layout {
	bits := rapid.SampledFrom([]int{32, 64, 128}).Draw(t, "bits")
	k := rapid.IntRange(0, 15).Draw(t, "k")
	m := 1
	if k <= 4 {
		m = rapid.IntRange(1, 4).Draw(t, "m")
	}
	l, err := NewLayoutCombination(bits, k+m, m)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func flip(f Fingerprint, bit int) Fingerprint {
	if bit >= 64 {
		f.Hi ^= 1 << (bit - 64)
	} else {
		f.Lo ^= 1 << bit
	}
	return f
}

// Key and rest give the fingerprint back, keys of different tables differ, and
// fingerprints within k share one.
func TestLayoutProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t)
		a := drawFingerprint(t, l.Bits(), "fingerprint")
		b := a
		for range rapid.IntRange(0, l.K()+2).Draw(t, "flips") {
			b = flip(b, rapid.IntRange(0, l.Bits()-1).Draw(t, "bit"))
		}
		first := -1
		var last Key
		for i := range l.Tables() {
			key, rest := l.Key(i, a)
			if l.Join(key, rest) != a {
				t.Fatalf("table %d: %v and %v join to %v, want %v", i, key, rest, l.Join(key, rest), a)
			}
			if restBits := l.Bits() - l.KeyBits(i); restBits < 64 && (rest.Hi != 0 || rest.Lo>>restBits != 0) {
				t.Fatalf("table %d: rest %v has more than %d bits", i, rest, restBits)
			}
			if key.Table() != i || key.Prefix() != l.Prefix(i) || key.Value()>>l.KeyBits(i) != 0 {
				t.Fatalf("key %v is not of table %d", key, i)
			}
			if i > 0 && key <= last {
				t.Fatalf("key %v of table %d sorts before %v", key, i, last)
			}
			last = key
			if read, err := ParseKey(key.String()); err != nil || read != key {
				t.Fatalf("key %v is read as %v, %v", key, read, err)
			}
			if other, _ := l.Key(i, b); other == key && first < 0 {
				first = i
			}
		}
		if got := l.FirstCommonTable(a, b); got != first {
			t.Fatalf("first common table %d, want %d", got, first)
		}
		if d := Distance(a, b); d <= l.K() && first < 0 {
			t.Fatalf("no common table at distance %d of k = %d", d, l.K())
		}
	})
}

// With one segment a table and short keys, every bit is in exactly one key.
func TestLayoutCoversEveryBit(t *testing.T) {
	for _, bits := range []int{32, 64, 128} {
		for k := 3; k <= 31; k++ {
			if k+1 > bits {
				continue
			}
			l, err := NewLayout(bits, k)
			if err != nil {
				t.Fatal(err)
			}
			var widths []int
			for i := range l.Tables() {
				widths = append(widths, l.KeyBits(i))
			}
			sum := 0
			for _, w := range widths {
				sum += w
			}
			if sum != bits || slices.Max(widths)-slices.Min(widths) > 1 {
				t.Errorf("%d bits, k = %d: segments of %v bits", bits, k, widths)
			}
		}
	}
}

func TestLayoutDoesNotAllocate(t *testing.T) {
	l, err := NewLayoutCombination(128, 6, 2)
	if err != nil {
		t.Fatal(err)
	}
	f := Fingerprint{Hi: 0x0123456789abcdef, Lo: 0xfedcba9876543210}
	allocs := testing.AllocsPerRun(100, func() {
		for i := range l.Tables() {
			key, rest := l.Key(i, f)
			if l.FirstCommonTable(l.Join(key, rest), f) != 0 {
				t.Fatal("fingerprint changed")
			}
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations, want none", allocs)
	}
}

func FuzzParseKey(f *testing.F) {
	for _, s := range []string{"00A:1f3c", "0A:0", "11010AA:ffffffffff", "00A:1F3C", "2A:1", ":", "A:1", "00B:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if key, err := ParseKey(s); err == nil && key.String() != s {
			t.Fatalf("%q is read as %v", s, key)
		}
	})
}

func BenchmarkLayoutKey(b *testing.B) {
	for _, c := range []struct {
		name       string
		bits, n, m int
	}{{"64-k3", 64, 4, 1}, {"64-C(5,2)", 64, 5, 2}, {"128-k7", 128, 8, 1}} {
		b.Run(c.name, func(b *testing.B) {
			l, err := NewLayoutCombination(c.bits, c.n, c.m)
			if err != nil {
				b.Fatal(err)
			}
			f := Fingerprint{Lo: 12345}
			for b.Loop() {
				for i := range l.Tables() {
					key, rest := l.Key(i, f)
					f.Lo += uint64(key) ^ rest.Lo
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*l.Tables()), "ns/key")
		})
	}
}
