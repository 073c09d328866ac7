package jieba

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The assembly finds the words that the Go code finds, and at the same cost to
// the last bit.
func TestFastIsSolve(t *testing.T) {
	if !hasFast {
		t.Skip("no assembly on this machine")
	}
	d, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	plain, fast := d.NewCutter(true), d.NewCutter(true)
	parts := []string{"，", "。", " ", "\n", "a1", "\x00", "㐂", "的", "一", "不", "国"}
	for id := 0; id < d.Len(); id += 37 {
		parts = append(parts, d.Word(int32(id)))
	}
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 100).Draw(t, "text"), ""))
		plain.Cut(nil, text)
		for codes := range slices.Chunk(slices.Clone(plain.codes), chunk) {
			plain.look(codes)
			plain.solve(codes)
			fast.fast(codes)
			for i := range codes {
				if plain.words[i] != fast.words[i] || plain.best[i] != fast.best[i] {
					t.Fatalf("character %d of %q: word %x at cost %v, want %x at %v",
						i, text, fast.words[i], fast.best[i], plain.words[i], plain.best[i])
				}
			}
		}
	})
}
