package model

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// Node is one slot of the double array. A node whose children start at base b
// keeps the child for character code c in slot b+c, and that slot's Check is c.
// No two nodes share a base, so Check alone tells a child from a stranger.
//
//	bits  0–15  Check: the code that leads here; noCheck in free slots
//	bits 16–39  Base: where the children start; 0 if there are none
//	bits 40–63  Weight: index into the table of log weights
//
// The root has base 0: slot c < Codes is the node of the one-character prefix c.
// Those slots carry noCheck, so that the children of a leaf, looked up at
// base 0, are never found and a walk needs no test for leaves.
type Node uint64

const (
	noCheck = 0xffff
	// MaxCodes bounds the number of character codes: a code must fit in Check
	// and differ from noCheck.
	MaxCodes = noCheck
	maxSlots = 1 << 24

	// Free is the content of an unused slot.
	Free = Node(noCheck)
)

// The first entries of every weight table.
const (
	WeightNone  = 0 // no word ends here; log weight -Inf
	WeightKnown = 1 // a word of the idf or stop word list only; log weight -Inf
	WeightFirst = 2 // first real log weight
)

// NewNode packs the three fields.
func NewNode(check uint16, base, weight uint32) Node {
	return Node(check) | Node(base)<<16 | Node(weight)<<40
}

// Check returns the character code that leads to this slot.
func (n Node) Check() uint16 { return uint16(n) }

// Base returns the slot the children's codes are added to, 0 for a leaf.
func (n Node) Base() uint32 { return uint32(n>>16) & (maxSlots - 1) }

// Weight returns the index of the log weight of the word that ends here.
func (n Node) Weight() uint32 { return uint32(n >> 40) }

// WithWeight returns n with another weight index.
func (n Node) WithWeight(weight uint32) Node { return n&(1<<40-1) | Node(weight)<<40 }

// Entry is one word for Pack.
type Entry struct {
	Key    []uint16 // character codes, not empty
	Weight uint32   // index into the weight table, not WeightNone
}

// Pack lays the entries out as a double array over codes character codes and
// returns it with the slot in which each entry ends. Keys must be distinct.
// The array is long enough that base+code is inside it for any node and code.
func Pack(entries []Entry, codes int) ([]Node, []uint32, error) {
	if codes >= MaxCodes {
		return nil, nil, fmt.Errorf("%d distinct characters, at most %d are possible", codes, MaxCodes-1)
	}
	t := grow(entries)
	bases := t.place(codes)
	size := codes
	for _, b := range bases {
		size = max(size, int(b)+codes)
	}
	if size > maxSlots {
		return nil, nil, errors.New("dictionary is too large for a double array of 24-bit slots")
	}
	nodes := make([]Node, size)
	for i := range nodes {
		nodes[i] = Free
	}
	slots := make([]uint32, len(t.code)) // by tree node
	ends := make([]uint32, len(entries))
	for parent := range t.code {
		first := int(t.child[parent])
		for i := first; i < first+int(t.children[parent]); i++ {
			slot := bases[parent] + uint32(t.code[i])
			slots[i] = slot
			check := t.code[i]
			if parent == 0 {
				check = noCheck
			}
			weight := uint32(WeightNone)
			if e := t.entry[i]; e >= 0 {
				weight = entries[e].Weight
				ends[e] = slot
			}
			nodes[slot] = NewNode(check, bases[i], weight)
		}
	}
	return nodes, ends, nil
}

// tree is a plain trie in breadth-first order, node 0 the root; the children
// of a node are neighbours.
type tree struct {
	code     []uint16
	child    []uint32 // first child
	children []uint32 // number of children
	entry    []int32  // the entry that ends here, -1 for none
}

func grow(entries []Entry) *tree {
	order := make([]int32, len(entries))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return slices.Compare(entries[a].Key, entries[b].Key) })

	t := &tree{}
	type span struct{ lo, hi, depth int32 } // the entries below a node
	var spans []span
	add := func(code uint16, s span) {
		e := int32(-1)
		if s.lo < s.hi && len(entries[order[s.lo]].Key) == int(s.depth) {
			e = order[s.lo]
			s.lo++
		}
		t.code = append(t.code, code)
		t.child = append(t.child, 0)
		t.children = append(t.children, 0)
		t.entry = append(t.entry, e)
		spans = append(spans, s)
	}
	add(0, span{0, int32(len(entries)), 0})
	for n := 0; n < len(spans); n++ {
		s := spans[n]
		t.child[n] = uint32(len(spans))
		for lo := s.lo; lo < s.hi; {
			code := entries[order[lo]].Key[s.depth]
			hi := lo + 1
			for hi < s.hi && entries[order[hi]].Key[s.depth] == code {
				hi++
			}
			add(code, span{lo, hi, s.depth + 1})
			t.children[n]++
			lo = hi
		}
	}
	return t
}

// place chooses a base for every inner node: first fit, the largest families
// first, 64 candidate bases at a time.
func (t *tree) place(codes int) []uint32 {
	var inner []uint32
	for n := 1; n < len(t.code); n++ {
		if t.children[n] > 0 {
			inner = append(inner, uint32(n))
		}
	}
	slices.SortStableFunc(inner, func(a, b uint32) int { return cmp.Compare(t.children[b], t.children[a]) })

	bases := make([]uint32, len(t.code))
	var taken, used bitmap // slots that hold a node; bases that have an owner
	for c := range codes {
		taken.set(uint32(c))
	}
	used.set(0)
	start, size := uint32(codes), uint32(0) // first slot to try, family size it was chosen for
	for _, n := range inner {
		if t.children[n] != size {
			size = t.children[n]
			start = taken.firstFree(uint32(codes))
		}
		family := t.code[t.child[n] : t.child[n]+t.children[n]]
		low := uint32(family[0])
		b, tried := uint32(0), uint32(0)
		from := max(start, low+1) - low
		for b = from; ; b += 64 {
			busy := used.window(b)
			for _, c := range family {
				if busy |= taken.window(b + uint32(c)); busy == ^uint64(0) {
					break
				}
			}
			tried++
			if busy != ^uint64(0) {
				b += uint32(bits.TrailingZeros64(^busy))
				break
			}
		}
		// Families of one size fail in the same places: after a long search
		// the next one starts near where this one ended.
		if tried > 16 {
			start = b + low - min(b+low, 64*8)
			start = max(start, uint32(codes))
		}
		bases[n] = b
		used.set(b)
		for _, c := range family {
			taken.set(b + uint32(c))
		}
	}
	return bases
}

// bitmap is a growing set of small numbers.
type bitmap []uint64

func (m *bitmap) set(i uint32) {
	for int(i/64) >= len(*m) {
		*m = append(*m, make([]uint64, len(*m)+64)...)
	}
	(*m)[i/64] |= 1 << (i % 64)
}

// window returns the membership of i, i+1, … i+63.
func (m bitmap) window(i uint32) uint64 {
	w, s := int(i/64), i%64
	var lo, hi uint64
	if w < len(m) {
		lo = m[w]
	}
	if w+1 < len(m) {
		hi = m[w+1]
	}
	return lo>>s | hi<<(64-s)
}

func (m bitmap) firstFree(from uint32) uint32 {
	for i := from; ; i += 64 {
		if busy := m.window(i); busy != ^uint64(0) {
			return i + uint32(bits.TrailingZeros64(^busy))
		}
	}
}
