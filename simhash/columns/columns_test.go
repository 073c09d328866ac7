package columns

import (
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// planted returns n random fingerprints, a tenth of them copies of others with
// 0 to flips bits flipped.
func planted(seed uint64, n, bits, flips int) []uint64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	fps := make([]uint64, n)
	for i := range fps {
		if i > 0 && rng.IntN(10) == 0 {
			fps[i] = fps[rng.IntN(i)]
			for range rng.IntN(flips + 1) {
				fps[i] ^= 1 << rng.IntN(bits)
			}
			continue
		}
		fps[i] = rng.Uint64() >> (64 - bits)
	}
	return fps
}

// sized is the size of a set that is compared with all of itself: in the short
// form, with which the race detector runs, a quarter.
func sized(n int) int {
	if testing.Short() {
		return n / 4
	}
	return n
}

func TestCollapse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fps := rapid.SliceOfN(rapid.Uint64Range(0, 300), 0, 400).Draw(t, "fps")
		bits := rapid.IntRange(9, 64).Draw(t, "bits")
		l, err := Collapse(fps, bits, rapid.IntRange(1, 4).Draw(t, "workers"))
		if err != nil {
			t.Fatal(err)
		}
		want := map[uint64][]uint32{}
		for i, f := range fps {
			want[f] = append(want[f], uint32(i))
		}
		if l.Len() != len(want) || len(l.names) != len(fps) {
			t.Fatalf("%d distinct of %d documents", l.Len(), len(l.names))
		}
		for i := range l.Len() {
			v := l.values[i]
			if i > 0 && v <= l.values[i-1] {
				t.Fatal("values do not ascend")
			}
			if !slices.Equal(l.Members(i), want[v]) {
				t.Fatalf("members of %d: %v, want %v", v, l.Members(i), want[v])
			}
			if at := l.index(&v); at != i {
				t.Fatalf("index of %d: %d", v, at)
			}
		}
	})
}

// One pass in memory and a sort of many buckets give the order a plain sort
// gives, evenly spread or not.
func TestCollapseLarge(t *testing.T) {
	even := planted(4, sized(200_000), 64, 1)
	crowded := make([]uint64, len(even))
	for i, f := range even {
		crowded[i] = f>>44 | uint64(i%2)<<63
	}
	hot := make([]uint64, 2*len(even)) // most in one bucket, which is cut, and in few values
	for i := range hot {
		hot[i] = even[i/2]
		if i%16 != 0 {
			hot[i] = hot[i]>>30 | 0xabcd<<48
		}
		if i%7 == 0 {
			hot[i] = 0xabcd<<48 | 42
		}
	}
	prefixed := make([]uint64, len(even))
	for i := range even {
		prefixed[i] = even[i]>>20 | 0xbcd<<52
	}
	for _, fps := range [][]uint64{even, crowded, hot, prefixed} {
		l, err := Collapse(fps, 64, 3)
		if err != nil {
			t.Fatal(err)
		}
		order := make([]uint32, len(fps))
		for i := range order {
			order[i] = uint32(i)
		}
		sort.SliceStable(order, func(a, b int) bool { return fps[order[a]] < fps[order[b]] })
		if !slices.Equal(order, l.names) {
			t.Fatal("documents are not in order of (fingerprint, number)")
		}
		for i := range l.Len() {
			if at := l.index(&l.values[i]); at != i {
				t.Fatalf("index of value %d: %d", i, at)
			}
		}
	}
}

// As many as take many buckets.
func TestCollapseLines(t *testing.T) {
	if testing.Short() {
		t.Skip("2.2 M fingerprints take seconds: skipped with -short")
	}
	fps := planted(5, 2_200_000, 64, 1)
	for _, workers := range []int{1, 3} {
		l, err := Collapse(fps, 64, workers)
		if err != nil {
			t.Fatal(err)
		}
		seen := make([]bool, len(fps))
		for i := range l.Len() {
			if i > 0 && l.values[i] <= l.values[i-1] {
				t.Fatalf("value %d does not ascend", i)
			}
			for n, doc := range l.Members(i) {
				if fps[doc] != l.values[i] || seen[doc] || n > 0 && doc < l.Members(i)[n-1] {
					t.Fatalf("value %d has member %d", i, doc)
				}
				seen[doc] = true
			}
		}
		if slices.Contains(seen, false) {
			t.Fatal("not all documents are members")
		}
	}
}

func TestCollapseMistakes(t *testing.T) {
	for _, c := range []struct {
		err  func() error
		want string
	}{
		{func() error { _, err := Collapse([]uint64{1}, 65, 1); return err }, "values of 65 bits: write 1 to 64"},
		{func() error { _, err := Collapse([]uint64{1, 1 << 32}, 32, 1); return err }, "more than 32 bits"},
		{func() error { _, err := Collapse([]Uint128{{Hi: 1 << 32}}, 96, 1); return err }, "more than 96 bits"},
	} {
		if err := c.err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// What shares a key is in one partition, and in one group, side by side; nothing
// is lost, whatever the key.
func TestPartitionsAndGroups(t *testing.T) {
	n := sized(400_000)
	for _, crowd := range []int{0, 2} { // in one of so many a key that all of them share
		values := planted(3, n, 64, 3)
		for i := range values {
			if crowd > 0 && i%crowd == 0 {
				values[i] |= 0xffff << 48
			}
		}
		for _, key := range []Mask{Span(48, 16), Span(0, 20), Span(5, 3).Or(Span(40, 9)), Everything, {}} {
			var work []uint64
			var grouper Grouper[uint64]
			dealt, bounds, free := Partitions(values, key, 3, &work)
			where, got := map[uint64][2]int{}, []uint64{}
			for p, end := range bounds[1:] {
				part := dealt[bounds[p]:end]
				for i := range part {
					if !Diff(&part[0], &part[i]).And(free.Not()).IsZero() {
						t.Fatalf("key %v: values of partition %d differ outside the free bits", key, p)
					}
				}
				grouped, ends := grouper.Group(part, key, free, 16)
				if cap(grouped) < len(grouped)+Slack {
					t.Fatalf("key %v: no room behind %d values", key, len(grouped))
				}
				from := uint32(0)
				for g, end := range ends {
					for _, v := range grouped[from:end] {
						at, ok := where[Masked(v, key)]
						if here := [2]int{p, g}; !ok {
							where[Masked(v, key)] = here
						} else if at != here {
							t.Fatalf("key %v: %x stands in %v and %v", key, Masked(v, key), at, here)
						}
					}
					from = end
				}
				got = append(got, grouped...)
			}
			want := slices.Clone(values)
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Fatalf("key %v: other values came out", key)
			}
		}
	}
}
