package eval

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/simhash/sketch"
)

// footer is what many pages of onePlace end with.
const footer = "\n本站版权所有，未经授权不得转载。\n请加入成为月费订户，长期支持我们的工作。\n"

// onePlace is 75 pages with a footer, some of them but little else, and pages
// without one; some stand in others, are cut, or are there twice.
func onePlace() *Corpus {
	r := rand.New(rand.NewPCG(41, 42))
	c := &Corpus{}
	for i := range 75 {
		text := prose(r, 1+r.IntN(12))
		switch {
		case i%9 == 0:
			text = ""
		case i%9 == 1 && i > 9:
			text = string(c.Documents[i-2].Text)
		case i%9 == 2:
			text = cut(string(c.Documents[i-1].Text), 150)
		}
		c.add(fmt.Sprint("page", i), strings.TrimSuffix(text, footer)+footer)
	}
	for i := range 20 {
		c.add(fmt.Sprint("other", i), prose(r, 3)+string(c.Documents[3*i].Text)[:30]+prose(r, 4))
	}
	return c
}

// The pairs of every definition against each pair by itself.
func TestTruthAgainstAllPairs(t *testing.T) {
	c, err := Plant(onePlace(), Planting{Edits: atStrength(0.6, "drop", "truncate", "page", "menus"), Count: 40, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, c, Options{Half: AllPairs, Beside: TruthAll})
	w := mustNormalizer(t).NewWorkspace()
	lines, pages := make([][]string, len(c.Documents)), map[string]int{}
	for i, d := range c.Documents {
		for line := range strings.SplitSeq(string(w.Normalize(nil, d.Text)), "\n") {
			if line = strings.TrimSpace(line); line != "" {
				if !slices.Contains(lines[i], line) {
					pages[line]++
				}
				lines[i] = append(lines[i], line)
			}
		}
	}
	own := func(i int32) []uint64 {
		set := sketch.Shingles(nil, []byte(strings.Join(slices.DeleteFunc(slices.Clone(lines[i]), func(line string) bool { return pages[line] >= 60 }), "\n")))
		if len(set) == 0 {
			return l.shingles(w, i)
		}
		return set
	}
	counts := map[Definition]int{}
	for a := range int32(len(c.Documents)) {
		for b := a + 1; b < int32(len(c.Documents)); b++ {
			p := Pair{a, b}
			var want Definition
			if slices.Contains(c.Labelled, p) {
				want |= TruthLabel
			}
			x, y := l.shingles(w, a), l.shingles(w, b)
			if jaccardOf(x, y) >= 0.5 {
				want |= TruthJaccard
			}
			if containmentOf(x, y) >= 0.8 {
				want |= TruthContainment
			}
			if x, y := own(a), own(b); jaccardOf(x, y) >= 0.5 || containmentOf(x, y) >= 0.8 {
				want |= TruthOwn
			}
			if got := l.truth[p]; got.by != want || want != 0 && got.jaccard != jaccardOf(x, y) {
				t.Errorf("%s and %s: %+v, want %b", c.Documents[a].ID, c.Documents[b].ID, got, want)
			}
			counts[want]++
		}
	}
	for _, d := range []Definition{TruthContainment, TruthOwn | TruthContainment, TruthJaccard | TruthOwn | TruthContainment} {
		if counts[d] == 0 {
			t.Errorf("no pair is right by %b alone: the pages show nothing, %v", d, counts)
		}
	}
}

// What is reported as contained is judged where containment is asked for.
func TestContained(t *testing.T) {
	l := newLab(t, onePlace(), Options{Half: AllPairs, Beside: TruthAll})
	var found []Found
	same, contained, wrong := 0, 0, 0
	for p, truth := range l.truth {
		switch {
		case truth.by&TruthJaccard != 0:
			found = append(found, Found{Pair: p, Score: truth.jaccard})
			if truth.by&TruthContainment != 0 {
				same++
			}
		case truth.by&TruthContainment != 0:
			found = append(found, Found{Pair: p, Score: truth.jaccard, Contained: true})
			contained++
		}
	}
	for i := range int32(5) {
		if p := (Pair{i + 1, 90 + i}); l.truth[p].by == 0 {
			found = append(found, Found{Pair: p, Contained: true})
			wrong++
		}
	}
	r, err := l.Measure(t.Context(), known{"known", found})
	if err != nil {
		t.Fatal(err)
	}
	c := r.Contained
	if all := same + contained; c.Same != NewShare(same, all) || c.Contained != NewShare(contained, all) || c.Right != NewShare(contained, contained+wrong) || contained < 5 || wrong == 0 {
		t.Errorf("%+v, want %d the same, %d contained, %d wrong", c, same, contained, wrong)
	}
	if r.Precision.Value != 1 || r.Recall.Value != 1 || r.Pairs != len(found)-contained-wrong {
		t.Errorf("by similarity: %+v", r.Figures)
	}
	for _, d := range r.Definitions {
		if d.Truth == "containment" && (d.Recall.Value != 1 || d.Precision.Of != len(found)) {
			t.Errorf("by containment: %+v", d)
		}
	}
	if r.Clusters.F1 != 1 {
		t.Errorf("clusters: %+v", r.Clusters)
	}
}

// A method without a limit of its own is at its best one, for every definition.
func TestTunedIsAtItsBest(t *testing.T) {
	l := newLab(t, planted(t, 0.3), Options{Half: AllPairs, Beside: TruthAll})
	found, err := minHash().Find(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Measure(t.Context(), minHash())
	if err != nil {
		t.Fatal(err)
	}
	lowest := slices.MinFunc(found, func(a, b Found) int { return int(1e6 * (a.Score - b.Score)) })
	if lowest.Score < 0.2 || lowest.Score > 0.3 || r.Pairs >= len(found) {
		t.Errorf("%d of %d pairs from %v on", r.Pairs, len(found), lowest.Score)
	}
	for limit := 0.2; limit < 0.95; limit += 0.05 {
		at, err := l.Measure(t.Context(), known{"known", slices.DeleteFunc(slices.Clone(found), func(f Found) bool { return f.Score < limit })})
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range at.Definitions {
			if best := r.Definitions[i]; d.F1 > best.F1 || best.F1 != best.Best.F1 {
				t.Errorf("%s: F1 %.4f at %.2f, %.4f at its best", d.Truth, d.F1, limit, best.F1)
			}
		}
	}
}

// Clusters against the closure of pairs, counted pair by pair.
func TestClustersAgainstClosure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 9
		pair := rapid.Custom(func(t *rapid.T) Pair {
			a := rapid.Int32Range(0, n-2).Draw(t, "a")
			return Pair{a, rapid.Int32Range(a+1, n-1).Draw(t, "b")}
		})
		pairs, right := rapid.SliceOfN(pair, 0, 8).Draw(t, "pairs"), rapid.SliceOfN(pair, 0, 8).Draw(t, "right")
		l := &Lab{corpus: &Corpus{Documents: make([]Document, n)}, truth: map[Pair]truePair{}}
		var found []Found
		for _, p := range pairs {
			found = append(found, Found{Pair: p})
		}
		for _, p := range right {
			l.truth[p] = truePair{by: TruthJaccard}
		}
		closed := func(pairs []Pair) (in [n][n]bool) {
			for i := range n {
				in[i][i] = true
			}
			for _, p := range pairs {
				in[p.A][p.B], in[p.B][p.A] = true, true
			}
			for k := range n {
				for i := range n {
					for j := range n {
						in[i][j] = in[i][j] || in[i][k] && in[k][j]
					}
				}
			}
			return in
		}
		ours, truth := closed(pairs), closed(right)
		both, reported, wanted := 0, 0, 0
		for i := range n {
			for j := range i {
				if ours[i][j] {
					reported++
				}
				if truth[i][j] {
					wanted++
				}
				if ours[i][j] && truth[i][j] {
					both++
				}
			}
		}
		purity := func(ours, truth [n][n]bool) Share {
			of, have := 0, 0
			for i := range n {
				size, most, first := 0, 0, true
				for j := range n {
					if !ours[i][j] {
						continue
					}
					first = first && j >= i
					part := 0
					for k := range n {
						if ours[i][k] && truth[j][k] {
							part++
						}
					}
					size, most = size+1, max(most, part)
				}
				if first && size > 1 {
					of, have = of+size, have+most
				}
			}
			return NewShare(have, of)
		}
		got := l.clusters(found, criterion{right: TruthJaccard})
		if got.Precision != NewShare(both, reported) || got.Recall != NewShare(both, wanted) || got.Purity != purity(ours, truth) || got.InversePurity != purity(truth, ours) {
			t.Fatalf("%v and %v: %+v", pairs, right, got)
		}
	})
}

func jaccardOf(a, b []uint64) float64 {
	jaccard, _ := sketch.Overlap(a, b)
	return jaccard
}

func containmentOf(a, b []uint64) float64 {
	_, containment := sketch.Overlap(a, b)
	return containment
}
