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
// goes on with the bands after it, then with the minima, until no branch has more than
// maxPart units:
//
//	tree 3:  band 4 → band 5 → … → band 3 → minima 1 to 32 → … → 225 to 256
//
// A branch beyond the first word that is too small to be cut again forms a part
// together with its neighbours: they have all words before in common. The units of
// a part are compared. So a unit costs maxPart a tree, however many share the key,
// and the more alike two units are, the more trees have both in one part. What no
// word tells apart has one sketch: of these each is compared with the first.
//
// The parts depend on nothing but the units. A forest never changes, and is safe for
// concurrent use.
type forest struct {
	members []uint32 // the units, ascending
	trees   []tree
}

type tree struct {
	units *Units
	band  int
	order []uint32 // the units, in order of the words that the tree goes by
	ends  []int    // in order, of each part
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

// cut appends the ends of the parts of the units from there to there in the order,
// which agree in the words before the depth.
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

// part returns part i, and those of its units that are compared with all others of
// it.
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

// partners appends the units that are compared with a sketch of none of them, some
// more than once: those of the parts on either side of its place.
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

// pairs visits the pairs of units that are compared, each once, until visit returns
// an error. The units are 0 to n−1.
func (f *forest) pairs(n int, visit func(a, b uint32) error) error {
	parts := make([][]uint32, len(f.trees)) // of each tree, which each unit is in
	for i := range f.trees {
		parts[i] = make([]uint32, n)
		met := func(a, b uint32) bool { // in an earlier tree
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
