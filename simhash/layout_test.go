package simhash

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/simhash/columns"
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
			key, _ := l.Key(i, Fingerprint{})
			got = append(got, prefixOf(key))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("k = %d: prefixes %q, want %s", c.k, got, c.want)
		}
	}
	l, err := NewLayout(64, 31)
	if err != nil {
		t.Fatal(err)
	}
	for table, want := range map[int]string{25: "11001Z", 26: "11010AA", 31: "11111AF"} {
		if key, _ := l.Key(table, Fingerprint{}); prefixOf(key) != want {
			t.Errorf("key %v of table %d, want prefix %s", key, table, want)
		}
	}
}

func prefixOf(k Key) string {
	before, _, _ := strings.Cut(k.String(), ":")
	return before
}

// The pairs of five segments are ten tables, whose keys are both segments.
func TestLayoutByKey(t *testing.T) {
	l, err := NewCombinations(64, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	l = l.ByKey(64)
	var got []string
	f := Fingerprint{Lo: 0b0000000000001_0000000000010_0000000000100_0000000001000_000000010000}
	for i := range l.Tables() {
		key, _ := l.Key(i, f)
		got = append(got, key.String()+" of "+strconv.Itoa(l.KeyBits(i)))
	}
	want := []string{
		"0000A:0002002 of 26", "0001B:0002004 of 26", "0010C:0002008 of 26", "0011D:0001010 of 25", "0100E:0004004 of 26",
		"0101F:0004008 of 26", "0110G:0002010 of 25", "0111H:0008008 of 26", "1000I:0004010 of 25", "1001J:0008010 of 25",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLayoutMistakes(t *testing.T) {
	for _, c := range []struct {
		bits, k int
		want    string
	}{
		{48, 3, "layout: bits 48: write 32, 64 or 128"},
		{64, -1, "write a distance from 0 to 31"},
		{64, 32, "write a distance from 0 to 31"},
	} {
		_, err := NewLayout(c.bits, c.k)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d bits, distance %d: error %v, want one with %q", c.bits, c.k, err, c.want)
		}
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
	k := rapid.IntRange(0, 31).Draw(t, "k")
	l, err := NewLayout(bits, k)
	switch {
	case k > 15 && bits <= 64 || k > 8:
	case rapid.Bool().Draw(t, "of a model"):
		l, err = ChooseLayout(bits, k, rapid.Uint64Range(0, 1<<33).Draw(t, "documents"))
	case rapid.Bool().Draw(t, "combinations"):
		l, err = NewCombinations(bits, k, rapid.IntRange(1, 3).Draw(t, "m"))
		if err == nil && rapid.Bool().Draw(t, "by key") {
			l = l.ByKey(rapid.IntRange(1, 64).Draw(t, "most"))
		}
	}
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

// Key and suffix give the fingerprint back, keys of different tables differ, and
// fingerprints within k share one.
func TestLayoutProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t)
		k := l.Distance()
		a := drawFingerprint(t, l.Bits(), "fingerprint")
		b := a
		for range rapid.IntRange(0, k+2).Draw(t, "flips") {
			b = flip(b, rapid.IntRange(0, l.Bits()-1).Draw(t, "bit"))
		}
		first := -1
		var last Key
		for i := range l.Tables() {
			key, suffix := l.Key(i, a)
			if l.Join(key, suffix) != a {
				t.Fatalf("table %d: %v and %v join to %v, want %v", i, key, suffix, l.Join(key, suffix), a)
			}
			if suffixBits := l.Bits() - l.KeyBits(i); suffixBits < 64 && (suffix.Hi != 0 || suffix.Lo>>suffixBits != 0) {
				t.Fatalf("table %d: suffix %v has more than %d bits", i, suffix, suffixBits)
			}
			if key.Table() != i || key.Value()>>l.KeyBits(i) != 0 {
				t.Fatalf("key %v is not of table %d", key, i)
			}
			if i > 0 && key <= last {
				t.Fatalf("key %v of table %d sorts before %v", key, i, last)
			}
			last = key
			_, digits, _ := strings.Cut(key.String(), ":")
			if v, err := strconv.ParseUint(digits, 16, 64); err != nil || v != key.Value() || len(digits) != (l.KeyBits(i)+3)/4 {
				t.Fatalf("key %v of value %x is printed with %q", uint64(key), key.Value(), digits)
			}
			if other, _ := l.Key(i, b); other == key && first < 0 {
				first = i
			}
		}
		diff := columns.Mask{Hi: a.Hi ^ b.Hi, Lo: a.Lo ^ b.Lo}
		table, key := l.First(diff)
		if d := Distance(a, b); d <= k && table < 0 {
			t.Fatalf("no common key at distance %d of k = %d", d, k)
		}
		if table >= 0 {
			if keyA, _ := l.Key(table, a); first < 0 || first > table || !l.Keys(table)[key].And(diff).IsZero() {
				t.Fatalf("first common key %v of table %d, %d: the first common table is %d", keyA, table, key, first)
			}
		}
	})
}

// With one segment a table and short keys, every bit is in exactly one key.
func TestLayoutCoversEveryBit(t *testing.T) {
	for _, bits := range []int{32, 64, 128} {
		for k := 3; k <= 31; k++ {
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
	l, err := NewLayout(128, 4)
	if err != nil {
		t.Fatal(err)
	}
	f := Fingerprint{Hi: 0x0123456789abcdef, Lo: 0xfedcba9876543210}
	allocs := testing.AllocsPerRun(100, func() {
		for i := range l.Tables() {
			key, suffix := l.Key(i, f)
			if l.Join(key, suffix) != f {
				t.Fatal("fingerprint changed")
			}
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations, want none", allocs)
	}
}

func BenchmarkLayoutKey(b *testing.B) {
	for _, c := range []struct {
		name    string
		bits, k int
	}{{"64-k3", 64, 3}, {"128-k7", 128, 7}} {
		b.Run(c.name, func(b *testing.B) {
			l, err := NewLayout(c.bits, c.k)
			if err != nil {
				b.Fatal(err)
			}
			f := Fingerprint{Lo: 12345}
			for b.Loop() {
				for i := range l.Tables() {
					key, suffix := l.Key(i, f)
					f.Lo += uint64(key) ^ suffix.Lo
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*l.Tables()), "ns/key")
		})
	}
}
