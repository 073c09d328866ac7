package cluster

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/simhash/sketch"
)

// Of texts of any length, more than fit a word, each yields just those that outlines
// do not tell apart from another one.
func TestShortsAreNotUnlike(t *testing.T) {
	met, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SliceOfN(rapid.RuneFrom([]rune("天地玄黄宇宙洪荒日月盈昃辰宿列张abcdef0123")), 1, sketch.ShortMax).Draw(t, "letters")
		text := func(i int) sketch.Outline {
			of := slices.Clone(base)
			for range rapid.IntRange(0, len(of)/3).Draw(t, "edits") {
				switch at := rapid.IntRange(0, len(of)-1).Draw(t, "at"); {
				case i%3 == 0 && len(of) > 1:
					of = slices.Delete(of, at, at+1)
				case i%3 == 1 && len(of) < sketch.ShortMax:
					of = slices.Insert(of, at, rune('一'+i+at))
				default:
					of[at] = rune('一' + i + at)
				}
			}
			return sketch.AppendOutline(nil, []byte(string(of)))
		}
		texts := make([]shortSample, rapid.SampledFrom([]int{1, 63, 64, 65, 200}).Draw(t, "texts"))
		for i := range texts {
			texts[i] = shortSample{text(i), i}
		}
		other := text(len(texts))
		var want, got []int
		for _, s := range texts {
			if !s.outline.Unlike(other) {
				want = append(want, s.at)
			}
		}
		newShorts(slices.Clone(texts)).each(other, func(at int) { got = append(got, at) })
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("texts %v, want %v", got, want)
		}
		met, all = met+len(want), all+len(texts)
	})
	if met == 0 || met == all {
		t.Fatalf("%d of %d: the test shows nothing", met, all)
	}
}
