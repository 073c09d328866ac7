package jieba

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/simhash/jieba/internal/model"
)

// withoutCompact returns jieba's own dictionary d as it is where there is no assembly.
func withoutCompact(t *testing.T, d *Dictionary) *Dictionary {
	m, err := model.Decode(embedded)
	if err != nil {
		t.Fatal(err)
	}
	plain := *d
	plain.nodes, plain.compact = m.Nodes, nil
	return &plain
}

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
	if d.compact == nil {
		t.Fatal("jieba's own dictionary has no compact trie")
	}
	plain, fast := withoutCompact(t, d).NewCutter(true), d.NewCutter(true)
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

// The compact trie says of each slot what the trie says.
func TestCompact(t *testing.T) {
	d, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	nodes := withoutCompact(t, d).nodes
	c := newCompact(nodes, d.costs, len(d.runes))
	for slot, node := range nodes {
		small := c.nodes[slot]
		if c.checks[slot] != node.Check() || small.Base() != node.Base() || small.Value() != node.Value() || c.costs[small.Check()] != d.costs[node.Value()] {
			t.Fatalf("slot %d: check %d and node %x, want those of %x", slot, c.checks[slot], small, node)
		}
	}
	costs := []float64{math.Inf(1)}
	for len(costs) <= math.MaxUint16 {
		costs = append(costs, float64(len(costs)))
	}
	if newCompact(nodes[:1], costs[1:], 1) == nil || newCompact(nodes[:1], costs, 1) != nil {
		t.Error("as many costs as an index tells apart are not the limit")
	}
}

// A dictionary of too many different costs is cut in Go, into the same words.
func TestWithoutCompact(t *testing.T) {
	d, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	other := withoutCompact(t, d)
	text := []byte("我来到北京清华大学，他来到了网易杭研大厦。小明硕士毕业于中国科学院计算所 iPhone 4S")
	want, got := d.NewCutter(true).Cut(nil, text), other.NewCutter(true).Cut(nil, text)
	if !slices.Equal(got, want) {
		t.Errorf("cut into %v, want %v", got, want)
	}
	for id := 0; id < d.Len(); id += 101 {
		word := []byte(d.Word(int32(id)))
		with, _ := d.Lookup(word)
		if without, _ := other.Lookup(word); with != int32(id) || without != with {
			t.Fatalf("%s is word %d, and %d without the compact trie, want %d", word, with, without, id)
		}
		_, with2 := d.Lookup(append(word, "龘龘"...))
		if _, without := other.Lookup(append(word, "龘龘"...)); with2 || without {
			t.Fatalf("%s龘龘 is a word", word)
		}
	}
}
