package mapper

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawn is n numbers, as shingles are: ascending and distinct.
func drawn(r *rand.Rand, n int) []uint64 {
	all := make([]uint64, n)
	for i := range all {
		all[i] = r.Uint64()
	}
	slices.Sort(all)
	return all
}

func joined(parts ...[]uint64) []uint64 {
	all := slices.Concat(parts...)
	slices.Sort(all)
	return slices.Compact(all)
}

// A note that many unlike pages have is no text's own. A story is, however many versions
// of one page have it.
func TestOwn(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	note, story, report := drawn(r, 200), drawn(r, 110), drawn(r, 400)
	versions := func(n int) (pages [][]uint64) {
		for range n {
			pages = append(pages, joined(note, story, report, drawn(r, 100)))
		}
		return pages
	}
	unlike := func(n int, part []uint64) (pages [][]uint64) {
		for range n {
			pages = append(pages, joined(part, drawn(r, 300)))
		}
		return pages
	}
	for _, c := range []struct {
		name   string
		text   []uint64
		others [][]uint64
		page   []uint64
		want   bool
	}{
		{"no other page", note, nil, joined(note, report), true},
		{"another page", note, nil, report, false},
		{"versions of one page", note, versions(50), joined(note, report), true},
		{"copies", note, slices.Repeat([][]uint64{joined(note, story[:restLeast-1])}, 50), joined(note, report), true},
		{"few unlike pages", note, unlike(OwnPages-1, note), joined(note, report), true},
		{"many unlike pages", note, unlike(OwnPages, note), joined(note, report), false},
		{"a note and a longer story", joined(note[:50], story), unlike(OwnPages, note[:50]), joined(note, story, report), true},
		{"the story is not there", joined(note[:50], story), unlike(OwnPages, note[:50]), joined(note, report), false},
		{"a note and a shorter story", joined(note, story), unlike(OwnPages, note), joined(note, story, report), false},
	} {
		var own Own
		own.Reset(drawn(r, 30)) // what was there before is forgotten
		own.Add(drawn(r, 100))
		own.Reset(c.text)
		for _, page := range c.others {
			own.Add(page)
		}
		if got := own.Within(c.page, 0.8); got != c.want {
			t.Errorf("%s: within %t, want %t", c.name, got, c.want)
		}
	}
}

// Own counts what sets of shingles say, by brute force.
func TestOwnAgainstBruteForce(t *testing.T) {
	shingles := func(least int) *rapid.Generator[[]uint64] {
		return rapid.Custom(func(t *rapid.T) []uint64 {
			return joined(rapid.SliceOfN(rapid.Uint64Range(0, 300), least, 250).Draw(t, "shingles"))
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		text, pages, page := shingles(1).Draw(t, "text"), rapid.SliceOfN(shingles(0), 0, 40).Draw(t, "pages"), shingles(0).Draw(t, "page")
		limit := rapid.Float64Range(0, 1).Draw(t, "limit")
		var own Own
		own.Reset(text)
		of := map[uint64]int{}
		var rests [][]uint64
		common := func(a, b []uint64) (n int) {
			for _, s := range a {
				if slices.Contains(b, s) {
					n++
				}
			}
			return n
		}
		for _, p := range pages {
			own.Add(p)
			rest := slices.DeleteFunc(slices.Clone(p), func(s uint64) bool { return slices.Contains(text, s) })
			alike := func(other []uint64) bool {
				return float64(common(rest, other)) >= restAlike*float64(min(len(rest), len(other)))
			}
			if len(rest) < restLeast || len(rests) == restsMost || slices.ContainsFunc(rests, alike) {
				continue
			}
			rests = append(rests, rest)
			for _, s := range p {
				of[s]++
			}
		}
		left := slices.DeleteFunc(slices.Clone(text), func(s uint64) bool { return of[s] >= OwnPages })
		want := float64(len(left)) >= ownLeast*float64(len(text)) && float64(common(left, page)) >= limit*float64(len(left))
		if got := own.Shared(); !got && len(left) < len(text) {
			t.Fatalf("shared %t, and %d of %d shingles are not the text's own", got, len(text)-len(left), len(text))
		}
		if got := own.Within(page, limit); got != want {
			t.Fatalf("within %t, want %t", got, want)
		}
	})
}
