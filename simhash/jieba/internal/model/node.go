package model

import (
	"cmp"
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
//	bits 40–63  Value: ID+1 of the word that ends here; 0 if none does
//
// The root has base 0: slot c is the node of the one-character prefix c. Those
// slots carry noCheck, so that children of a leaf, looked up at base 0, are
// never found and a walk needs no test for leaves.
type Node uint64

const (
	noCheck = 0xffff
	// MaxCodes is the greatest number of character codes: a code must fit in
	// Check and differ from noCheck.
	MaxCodes = noCheck
	// MaxSlots is the greatest size of a double array.
	MaxSlots = 1 << 24
	// MaxWords is the greatest number of words.
	MaxWords = MaxSlots - 1

	baseAt, valueAt = 16, 40

	// Free is the content of an unused slot.
	Free = Node(noCheck)
)

func newNode(check uint16, base, value uint32) Node {
	return Node(check) | Node(base)<<baseAt | Node(value)<<valueAt
}

// Check returns the character code that leads to this slot.
func (n Node) Check() uint16 { return uint16(n) }

// Base returns the slot the children's codes are added to, 0 for a leaf.
func (n Node) Base() uint32 { return uint32(n>>baseAt) & (MaxSlots - 1) }

// Value returns 1 + the ID of the word that ends here, 0 if none does.
func (n Node) Value() uint32 { return uint32(n >> valueAt) }

// WithValue returns n with another value.
func (n Node) WithValue(value uint32) Node {
	return n&(1<<valueAt-1) | Node(value)<<valueAt
}

// WithCheck returns n with another check.
func (n Node) WithCheck(check uint16) Node { return n&^noCheck | Node(check) }

// Pack lays words, given as character codes below codes, out as a double array.
// It returns the array, in which the value of words[i] is i+1, and the slots in
// which the words end. Words must be distinct and not empty. The array is long
// enough that base+code is inside it for any node and code.
func Pack(words [][]uint16, codes int) ([]Node, []uint32, error) {
	if codes >= MaxCodes {
		return nil, nil, fmt.Errorf("%d distinct characters, at most %d are possible", codes, MaxCodes-1)
	}
	if len(words) > MaxWords {
		return nil, nil, fmt.Errorf("%d words, at most %d are possible", len(words), MaxWords)
	}
	t := grow(words)
	bases := t.place(codes)
	size := codes + codes
	for _, b := range bases {
		size = max(size, int(b)+codes)
	}
	if size > MaxSlots {
		return nil, nil, fmt.Errorf("words of %d different beginnings need %d slots, at most %d are possible", len(t.code), size, MaxSlots)
	}
	nodes := make([]Node, size)
	for i := range nodes {
		nodes[i] = Free
	}
	slots := make([]uint32, len(t.code)) // by tree node
	ends := make([]uint32, len(words))
	for parent := range t.code {
		first := int(t.child[parent])
		for i := first; i < first+int(t.children[parent]); i++ {
			code := t.code[i]
			slot := bases[parent] + uint32(code)
			slots[i] = slot
			check, value := code, uint32(0)
			if parent == 0 {
				check = noCheck
			}
			if w := t.word[i]; w >= 0 {
				value = uint32(w + 1)
				ends[w] = slot
			}
			nodes[slot] = newNode(check, bases[i], value)
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
	word     []int32  // the word that ends here, -1 for none
}

func grow(words [][]uint16) *tree {
	order := make([]int32, len(words))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return slices.Compare(words[a], words[b]) })

	t := &tree{}
	type span struct{ lo, hi, depth int32 } // the words below a node
	var spans []span
	add := func(code uint16, s span) {
		w := int32(-1)
		if s.lo < s.hi && len(words[order[s.lo]]) == int(s.depth) {
			w = order[s.lo]
			s.lo++
		}
		t.code = append(t.code, code)
		t.child = append(t.child, 0)
		t.children = append(t.children, 0)
		t.word = append(t.word, w)
		spans = append(spans, s)
	}
	add(0, span{0, int32(len(words)), 0})
	for n := 0; n < len(spans); n++ {
		s := spans[n]
		t.child[n] = uint32(len(spans))
		for lo := s.lo; lo < s.hi; {
			code := words[order[lo]][s.depth]
			hi := lo + 1
			for hi < s.hi && words[order[hi]][s.depth] == code {
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
