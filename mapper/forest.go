package mapper

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/simhash/sketch"
)

// A forest divides the units of a hot key into parts of at most maxPart, by the
// rest of their sketches. Only units in one part are compared. It is an LSH forest
// (Bawa, Condie, Ganesan: LSH Forest: Self-Tuning Indexes for Similarity Search,
// WWW 2005).
//
// A forest has a tree for each band. A tree is a prefix tree over the 32-bit words
// of the sketches. It reads its own band first, then the bands after it, then the
// bits of the minima, 32 at a time:
//
//	tree 3:  band 4 → band 5 → … → band 3 → minima 1 to 32 → … → 225 to 256
//
// A branch with more than maxPart units is divided by the next word:
//
//	word 1    ┌─ 0017 ─┐ ┌────── 3a9c ──────┐ ┌─ 81f0 ─┐
//	word 2    │        │ ├ 02 ┬ 19 ┬── c4 ──┤ │        │
//	parts     [   1    ] [    2    ][ 3 ][4 ] [   5    ]
//
// Below the first word neighbouring branches that are small share a part, as 02
// and 19 do, since they agree on all words before. Units of different first words
// never do.
//
// So a unit costs at most maxPart comparisons a tree, however many share the key.
// The more alike two units are, the more likely some tree has both in one part.
// If more than maxPart units have the same sketch, no word divides them; each is
// then compared with the first of them only.
//
// The parts depend on nothing but the units. A forest is immutable and safe for
// concurrent use.
type forest struct {
	members []uint32 // the units, ascending
	trees   []tree
}

type tree struct {
	units *Units
	band  int
	order []uint32 // the units, sorted by the words in the tree's order
	ends  []int    // part i is order[ends[i-1]:ends[i]]
}

const treeWords = data.SketchSize / 4

// word returns the word of a sketch that the tree divides by at a depth.
func (t *tree) word(s *[data.SketchSize]byte, depth int) uint32 {
	if depth < sketch.Bands {
		return (*sketch.Sketch)(s).Band((t.band + depth) % sketch.Bands)
	}
	return binary.BigEndian.Uint32(s[4*(depth-sketch.Bands):])
}

// newForest returns the forest of the members, ascending, which share a value in
// the table. If the table is a band, no tree begins with it, as it divides nothing.
func newForest(units *Units, members []uint32, table int) *forest {
	type leaf struct {
		words uint64 // the first two
		unit  uint32
	}
	f, sorting := &forest{members: members}, make([]leaf, len(members))
	for band := range sketch.Bands {
		if band == table {
			continue
		}
		t := tree{units: units, band: band, order: make([]uint32, len(members))}
		for i, u := range members {
			s := &units.sketches[u]
			sorting[i] = leaf{uint64(t.word(s, 0))<<32 | uint64(t.word(s, 1)), u}
		}
		slices.SortFunc(sorting, func(a, b leaf) int {
			if a.words != b.words {
				return cmp.Compare(a.words, b.words)
			}
			return cmp.Or(t.compare(&units.sketches[a.unit], &units.sketches[b.unit]), cmp.Compare(a.unit, b.unit))
		})
		for i := range sorting {
			t.order[i] = sorting[i].unit
		}
		t.cut(0, len(members), 0)
		f.trees = append(f.trees, t)
	}
	return f
}

// cut divides order[from:to], whose units agree in all words above the depth, and
// appends the ends of its parts.
func (t *tree) cut(from, to, depth int) {
	if to-from <= maxPart || depth == treeWords {
		t.ends = append(t.ends, to)
		return
	}
	end := func(at int) {
		if at > from {
			t.ends, from = append(t.ends, at), at
		}
	}
	for branch := from; branch < to; {
		next := branch + 1
		for word := t.wordAt(branch, depth); next < to && t.wordAt(next, depth) == word; next++ {
		}
		if depth == 0 || next-from > maxPart {
			end(branch)
		}
		if next-branch > maxPart {
			t.cut(branch, next, depth+1)
			from = next
		}
		branch = next
	}
	end(to)
}

func (t *tree) wordAt(at, depth int) uint32 {
	return t.word(&t.units.sketches[t.order[at]], depth)
}

// part returns part i, and those of its units that are compared with the whole
// part: all of them, or the first if no word could divide the part.
func (t *tree) part(i int) (part, with []uint32) {
	from := 0
	if i > 0 {
		from = t.ends[i-1]
	}
	part = t.order[from:t.ends[i]]
	if len(part) > maxPart {
		return part, part[:1]
	}
	return part, part
}

// partners appends the units that a sketch from outside the forest is compared
// with: in each tree those of the parts on either side of the place where the
// sketch would be. A unit may be appended more than once.
func (f *forest) partners(dst []uint32, of *[data.SketchSize]byte) []uint32 {
	for i := range f.trees {
		t := &f.trees[i]
		at, _ := slices.BinarySearchFunc(t.order, of, func(u uint32, of *[data.SketchSize]byte) int {
			return t.compare(&t.units.sketches[u], of)
		})
		last := -1
		for place := max(at-1, 0); place <= min(at, len(t.order)-1); place++ {
			p, found := slices.BinarySearch(t.ends, place)
			if found {
				p++ // it begins there
			}
			if p != last && t.wordAt(place, 0) == t.word(of, 0) {
				_, with := t.part(p)
				dst = append(dst, with...)
			}
			last = p
		}
	}
	return dst
}

// compare compares two sketches in the order of the tree's words.
func (t *tree) compare(a, b *[data.SketchSize]byte) int {
	for depth := range treeWords {
		if c := cmp.Compare(t.word(a, depth), t.word(b, depth)); c != 0 {
			return c
		}
	}
	return 0
}

// pairs visits each pair of units that share a part, once. It stops at visit's
// first error and returns it. The members must be 0 to n−1.
func (f *forest) pairs(n int, visit func(a, b uint32) error) error {
	parts := make([][]uint32, len(f.trees)) // by tree, then unit: the unit's part
	for i := range f.trees {
		parts[i] = make([]uint32, n)
		met := func(a, b uint32) bool { // an earlier tree had both in one part
			return slices.ContainsFunc(parts[:i], func(part []uint32) bool { return part[a] == part[b] })
		}
		for p := range f.trees[i].ends {
			part, with := f.trees[i].part(p)
			for _, u := range part {
				parts[i][u] = uint32(p)
			}
			for j, a := range with {
				for _, b := range part[j+1:] {
					if met(a, b) {
						continue
					}
					if err := visit(min(a, b), max(a, b)); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}
