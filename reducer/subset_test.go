package reducer

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSubsetRenumbersInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3000).Draw(t, "n")
		docs := rapid.SliceOfN(rapid.Uint32Range(0, uint32(n)-1), 0, 400).Draw(t, "documents")
		s := NewSubset(n)
		for _, d := range docs {
			s.Add(d)
		}
		s.Seal()
		want := slices.Compact(slices.Sorted(slices.Values(docs)))
		if got := s.Members(); !slices.Equal(got, want) || s.Len() != len(want) {
			t.Fatalf("members %v, want %v", got, want)
		}
		for d := range uint32(n) {
			place, is := slices.BinarySearch(want, d)
			if got, ok := s.Index(d); ok != is || ok && int(got) != place {
				t.Fatalf("index of %d is %d, %t; want %d, %t", d, got, ok, place, is)
			}
		}
	})
}
