package mapper

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash/sketch"
)

// A forest tells the units of a key that too many of them have apart by the rest of
// their sketches: LSH forest (Bawa, Condie, Ganesan: LSH Forest: Self-Tuning Indexes
// for Similarity Search, WWW 2005). Each of its trees begins with another band and
// goes on with the bands after it, then with the minima, as far as it takes to come
// to a part of at most maxPart units:
//
//	tree 3:  band 4 → band 5 → … → band 3 → minima 1 to 32 → … → 225 to 256
//
// Units of a part are compared. So a unit costs maxPart a tree, however many share
// the key, and the more alike two units are, the more trees have both in one part.
// What no word tells apart has one sketch: of these each is compared with the first.
//
// The parts depend on nothing but the units. A forest never changes, and is safe for
// concurrent use.
type forest struct {
	units *Units
	trees []tree
}

type tree struct {
	band  int
	order []uint32 // the units, in order of the words that the tree goes by
}

const treeWords = data.SketchSize / 4

// word is the word of a sketch that the tree goes by at a depth.
func (t *tree) word(s *[data.SketchSize]byte, depth int) uint32 {
	if depth < sketch.Bands {
		return (*sketch.Sketch)(s).Band((t.band + depth) % sketch.Bands)
	}
	return binary.BigEndian.Uint32(s[4*(depth-sketch.Bands):])
}

// newForest returns the forest of the units, ascending, that share a value in the
// table: if that is a band, no tree begins with it.
func newForest(units *Units, members []uint32, table int) *forest {
	type leaf struct {
		words uint64 // the first two
		unit  uint32
	}
	f, sorting := &forest{units: units}, make([]leaf, len(members))
	for band := range sketch.Bands {
		if band == table {
			continue
		}
		t := tree{band, make([]uint32, len(members))}
		for i, u := range members {
			s := &units.sketches[u]
			sorting[i] = leaf{uint64(t.word(s, 0))<<32 | uint64(t.word(s, 1)), u}
		}
		slices.SortFunc(sorting, func(a, b leaf) int {
			if a.words != b.words {
				return cmp.Compare(a.words, b.words)
			}
			x, y := &units.sketches[a.unit], &units.sketches[b.unit]
			for depth := 2; depth < treeWords; depth++ {
				if c := cmp.Compare(t.word(x, depth), t.word(y, depth)); c != 0 {
					return c
				}
			}
			return cmp.Compare(a.unit, b.unit)
		})
		for i := range sorting {
			t.order[i] = sorting[i].unit
		}
		f.trees = append(f.trees, t)
	}
	return f
}

// part returns from where to where in the tree's order the part is that a sketch
// belongs to. It has maxPart units at most, unless all are of that sketch.
func (f *forest) part(t *tree, of *[data.SketchSize]byte) (from, to int) {
	to = len(t.order)
	for depth := 0; to-from > maxPart && depth < treeWords; depth++ {
		want := t.word(of, depth)
		at := func(u, want uint32) int { return cmp.Compare(t.word(&f.units.sketches[u], depth), want) }
		first, _ := slices.BinarySearchFunc(t.order[from:to], want, at)
		last := to - from
		if want+1 > 0 {
			last, _ = slices.BinarySearchFunc(t.order[from:to], want+1, at)
		}
		from, to = from+first, from+last
	}
	return from, to
}

// split visits the parts of the tree's units from there to there, which agree in the
// words before the depth.
func (t *tree) split(units *Units, from, to, depth int, visit func(from, to int) error) error {
	if to-from <= maxPart || depth == treeWords {
		return visit(from, to)
	}
	for end := from; from < to; from = end {
		word := t.word(&units.sketches[t.order[from]], depth)
		for end++; end < to && t.word(&units.sketches[t.order[end]], depth) == word; end++ {
		}
		if err := t.split(units, from, end, depth+1, visit); err != nil {
			return err
		}
	}
	return nil
}

// partners appends the units that are compared with a sketch of another unit, some
// of them more than once.
func (f *forest) partners(dst []uint32, of *[data.SketchSize]byte) []uint32 {
	for i := range f.trees {
		t := &f.trees[i]
		from, to := f.part(t, of)
		if to-from > maxPart {
			to = from + 1
		}
		dst = append(dst, t.order[from:to]...)
	}
	return dst
}

// pairs visits the pairs of units that are compared, each once, until visit returns
// an error. The units are 0 to n−1.
func (f *forest) pairs(n int, visit func(a, b uint32) error) error {
	parts := make([][]uint32, len(f.trees)) // of each tree, where each unit's part begins
	for i := range f.trees {
		t := &f.trees[i]
		parts[i] = make([]uint32, n)
		met := func(a, b uint32) bool { // in an earlier tree
			return slices.ContainsFunc(parts[:i], func(part []uint32) bool { return part[a] == part[b] })
		}
		err := t.split(f.units, 0, n, 0, func(from, to int) error {
			part := t.order[from:to]
			for _, u := range part {
				parts[i][u] = uint32(from)
			}
			firsts := part
			if len(part) > maxPart {
				firsts = part[:1]
			}
			for j, a := range firsts {
				for _, b := range part[j+1:] {
					if met(a, b) {
						continue
					}
					if err := visit(min(a, b), max(a, b)); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
