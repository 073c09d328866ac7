package mapper

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash"
)

func drawLayout(t *rapid.T) *simhash.Layout {
	bits := rapid.SampledFrom([]int{32, 64, 128}).Draw(t, "bits")
	layout, err := simhash.NewLayout(bits, rapid.IntRange(0, 8).Draw(t, "k"))
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

// drawFingerprint draws one of few values with few bits flipped, so that
// near-duplicates are frequent.
func drawFingerprint(t *rapid.T, bits int) simhash.Fingerprint {
	f := simhash.Fingerprint{Lo: rapid.SampledFrom([]uint64{0, ^uint64(0), 0x0123456789abcdef}).Draw(t, "base")}
	if bits == 128 {
		f.Hi = ^f.Lo
	}
	for range rapid.IntRange(0, 6).Draw(t, "flips") {
		if b := rapid.IntRange(0, bits-1).Draw(t, "bit"); b < 64 {
			f.Lo ^= 1 << b
		} else {
			f.Hi ^= 1 << (b - 64)
		}
	}
	if bits == 32 {
		f.Lo &= 1<<32 - 1
	}
	return f
}

func TestSegmentGivesTheFingerprintBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layout := drawLayout(t)
		f := drawFingerprint(t, layout.Bits())
		table := 0
		err := Segment(layout, f, 7, func(r data.Keyed) error {
			key := simhash.Key(r.Key)
			if key.Table() != table || r.Doc != 7 {
				t.Fatalf("record %d is of table %d, document %d", table, key.Table(), r.Doc)
			}
			if got := layout.Join(key, simhash.Fingerprint{Hi: r.Hi, Lo: r.Lo}); got != f {
				t.Fatalf("%v and its rest give %v, want %v", key, got, f)
			}
			table++
			return nil
		})
		if err != nil || table != layout.Tables() {
			t.Fatalf("%d records of %d tables, %v", table, layout.Tables(), err)
		}
	})
}

func TestSegmentStopsAtError(t *testing.T) {
	layout, err := simhash.NewLayout(64, 3)
	if err != nil {
		t.Fatal(err)
	}
	stop, calls := errors.New("stop"), 0
	err = Segment(layout, simhash.Fingerprint{}, 0, func(data.Keyed) error {
		calls++
		return stop
	})
	if !errors.Is(err, stop) || calls != 1 {
		t.Fatalf("got %v after %d calls", err, calls)
	}
}

func TestSaltAndShard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layout := drawLayout(t)
		f := drawFingerprint(t, layout.Bits())
		salts, shards := rapid.IntRange(1, 9).Draw(t, "salts"), rapid.IntRange(1, 9).Draw(t, "shards")
		a, b := SegmentTable(layout, 0, f, 1), SegmentTable(layout, 0, f, 2)
		if Salt(a, salts) != Salt(b, salts) || Shard(a, shards) != Shard(b, shards) {
			t.Fatal("two documents of one fingerprint do not meet")
		}
		if s := Salt(a, salts); s < 0 || s >= salts {
			t.Fatalf("salt %d of %d", s, salts)
		}
		if s := Shard(a, shards); s < 0 || s >= shards {
			t.Fatalf("shard %d of %d", s, shards)
		}
	})
}

// A hot key's distinct fingerprints spread over all salts: none takes more
// than twice its share.
func TestSaltSpreadsAHotKey(t *testing.T) {
	layout, err := simhash.NewLayout(64, 3)
	if err != nil {
		t.Fatal(err)
	}
	const salts, n = 8, 8000
	var load [salts]int
	for i := range uint64(n) {
		load[Salt(SegmentTable(layout, 0, simhash.Fingerprint{Lo: 0xffff<<48 | i}, 0), salts)]++
	}
	if most := slices.Max(load[:]); most > 2*n/salts {
		t.Fatalf("loads %v", load)
	}
}

func TestGroupEqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layout := drawLayout(t)
		k := layout.Tables() - 1
		prints := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) simhash.Fingerprint {
			return drawFingerprint(t, layout.Bits())
		}), 0, 40, rapid.ID).Draw(t, "fingerprints")

		// Every table's groups, each document its own entry and a twin.
		comparer := NewComparer(layout, k)
		var got []data.Pair
		for table := range layout.Tables() {
			groups := map[uint64][]data.Entry{}
			for i, f := range prints {
				r := SegmentTable(layout, table, f, 0)
				groups[r.Key] = append(groups[r.Key], data.Entry{Key: r.Key, Hi: r.Hi, Lo: r.Lo, Docs: []uint32{uint32(i), uint32(i + len(prints))}})
			}
			for _, g := range groups {
				if err := comparer.Group(g, func(p data.Pair) { got = append(got, p) }); err != nil {
					t.Fatal(err)
				}
			}
		}
		var want []data.Pair
		for i, f := range prints {
			want = append(want, data.Pair{A: uint32(i), B: uint32(i + len(prints))})
			for j := i + 1; j < len(prints); j++ {
				if d := simhash.Distance(f, prints[j]); d <= k {
					want = append(want, data.Pair{A: uint32(i), B: uint32(j), Distance: uint8(d)})
				}
			}
		}
		slices.SortFunc(got, comparePairs)
		slices.SortFunc(want, comparePairs)
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func comparePairs(a, b data.Pair) int {
	return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B))
}

func Example() {
	layout, err := simhash.NewLayout(64, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = Segment(layout, simhash.Fingerprint{Lo: 0x0123456789abcdef}, 5, func(r data.Keyed) error {
		fmt.Printf("%v %012x document %d\n", simhash.Key(r.Key), r.Lo, r.Doc)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 00A:0123 456789abcdef document 5
	// 01B:4567 012389abcdef document 5
	// 10C:89ab 01234567cdef document 5
	// 11D:cdef 0123456789ab document 5
	// <nil>
}
