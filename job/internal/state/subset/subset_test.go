package subset

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestRenumbersInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(1, 5000).Draw(t, "n")
		docs := rapid.SliceOfN(rapid.Uint64Range(0, n-1), 0, 3000).Draw(t, "documents")
		s := New(n)
		added := 0
		for _, d := range docs {
			if s.Add(d) {
				added++
			}
		}
		s.Seal()
		want := slices.Compact(slices.Sorted(slices.Values(docs)))
		if s.Len() != len(want) || added != len(want) {
			t.Fatalf("%d members, %d of them were added, want %d", s.Len(), added, len(want))
		}
		for i, d := range want {
			if got := s.Member(uint32(i)); got != d {
				t.Fatalf("member %d is %d, want %d", i, got, d)
			}
		}
		for d := range n {
			place, is := slices.BinarySearch(want, d)
			if got, ok := s.Index(d); ok != is || ok && int(got) != place {
				t.Fatalf("index of %d is %d, %t; want %d, %t", d, got, ok, place, is)
			}
			if got := s.Rank(d); int(got) != place {
				t.Fatalf("%d members before %d, want %d", got, d, place)
			}
			if s.Has(d) != is {
				t.Fatalf("%d is a member: %t, want %t", d, s.Has(d), is)
			}
		}
		if got := s.Rank(n); int(got) != len(want) {
			t.Fatalf("%d members before the end, want %d", got, len(want))
		}
		for range 20 {
			first := rapid.Uint64Range(0, n).Draw(t, "first")
			last := rapid.Uint64Range(first, n).Draw(t, "last")
			is := slices.ContainsFunc(want, func(d uint64) bool { return first <= d && d < last })
			if got := s.Any(first, last); got != is {
				t.Fatalf("any of %d to %d: %t, want %t", first, last, got, is)
			}
		}
	})
}

func Example() {
	s := New(1_000_000)
	s.Add(700_000)
	s.Add(12)
	s.Seal()
	index, _ := s.Index(700_000)
	fmt.Println(s.Len(), "members:", index, "is document", s.Member(index))
	// Output: 2 members: 1 is document 700000
}
