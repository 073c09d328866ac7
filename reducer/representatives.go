package reducer

import (
	"cmp"
	"math/bits"
	"slices"
	"sync/atomic"
)

// Candidate is what a keep rule knows of a document.
type Candidate struct {
	Doc   uint32
	Value float64 // what the rule compares, higher is better: a length, a rank, a negated date; NaN: unknown
	Pairs uint32  // number of documents that it forms a pair with
}

// Compare orders candidates, the better one first: the higher value, then the
// smaller document. Unknown values come last.
func (c Candidate) Compare(other Candidate) int {
	return cmp.Or(cmp.Compare(other.Value, c.Value), cmp.Compare(c.Doc, other.Doc)) // NaN is less than any number
}

// Before reports whether a keep rule considers the candidate before another. The
// one with clearly more pairs comes first, since a document that stays for many
// leaves fewer to stay; otherwise Compare decides. "Clearly more" compares the
// binary lengths of the two numbers. A comparison by ratio would not be
// transitive; this makes the order total.
func (c Candidate) Before(other Candidate) bool {
	return cmp.Or(cmp.Compare(bits.Len32(other.Pairs), bits.Len32(c.Pairs)), c.Compare(other)) < 0
}

// Representatives chooses which documents stay and which go. Going through the
// documents in a given order, a document stays unless it forms a pair with one
// that already stays. So no two documents that stay are a pair, and each one that
// goes is a pair with one that stays: nothing goes because of a mere chain of
// pairs. The choice depends on the order and the pairs alone, not on how the pairs
// arrive. It takes four bytes a document.
//
// In graph terms this is the lexicographically first maximal independent set. The
// sequential algorithm asks for one document's pairs at a time, but the pairs need
// not fit into memory. So Choose passes over all pairs in rounds, as in Blelloch,
// Fineman, Shun (Greedy sequential maximal independent set and matching are
// parallel on average, 2012). In a round each undecided document that comes before
// all its undecided partners stays, and its partners go:
//
//	pairs    1─2  2─3  3─4  4─5      order 1, 2, 3, 4, 5
//	round 1  1 stays, 2 goes         (3 comes after 2, 4 after 3, 5 after 4)
//	round 2  3 stays, 4 goes         (2 is decided, so 3 comes first)
//	round 3  5 stays
//
// As soon as the pairs between undecided documents fit into memory, the sequential
// algorithm decides the rest. Mostly that takes one pass or three.
type Representatives struct {
	before func(a, b uint32) bool
	// state[doc] is stays, goes or, while the document is undecided, the last round
	// in which it came after an undecided partner.
	state []atomic.Uint32
	round uint32
}

const (
	stays = ^uint32(0)
	goes  = stays - 1
)

// NewRepresentatives returns the choice among documents 0 to n-1, all undecided.
// Before reports whether document a is considered before b; it must be a total
// order, and safe for concurrent use.
func NewRepresentatives(n int, before func(a, b uint32) bool) *Representatives {
	return &Representatives{before: before, state: make([]atomic.Uint32, n)}
}

// Exclude makes a document go before Choose is called. No other document then
// stays or goes because of it.
func (k *Representatives) Exclude(doc uint32) { k.state[doc].Store(goes) }

// Stays reports whether a document stays, once Choose has returned.
func (k *Representatives) Stays(doc uint32) bool { return k.state[doc].Load() == stays }

func (k *Representatives) undecided(doc uint32) bool { return k.state[doc].Load() < goes }

// Choose decides on all documents. Pass must call yield with every pair; it may
// repeat pairs and call from several goroutines. Choose calls pass as often as it
// needs, and returns its first error. It holds up to most pairs in memory, at 8
// bytes each, and up to twice as much again while it decides the last ones.
func (k *Representatives) Choose(most int, pass func(yield func(a, b uint32)) error) error {
	for k.round = 1; ; k.round++ {
		held, n := make([][2]uint32, most), atomic.Int64{}
		err := pass(func(a, b uint32) {
			if a != b && k.undecided(a) && k.undecided(b) {
				k.rank(a, b)
				if i := n.Add(1) - 1; i < int64(len(held)) {
					held[i] = [2]uint32{a, b}
				}
			}
		})
		if err != nil {
			return err
		}
		k.crown()
		if n := n.Load(); n <= int64(len(held)) {
			k.finish(held[:n])
			return nil
		}
		if err := pass(k.settle); err != nil {
			return err
		}
	}
}

// rank notes which of two undecided documents comes after the other in this round.
func (k *Representatives) rank(a, b uint32) {
	if k.before(a, b) {
		a = b
	}
	k.state[a].Store(k.round)
}

// crown makes all undecided documents stay that came after no other in this round.
func (k *Representatives) crown() {
	for i := range k.state {
		if s := k.state[i].Load(); s < k.round {
			k.state[i].Store(stays)
		}
	}
}

// settle makes a document of a pair go if the other one stays.
func (k *Representatives) settle(a, b uint32) {
	if k.Stays(a) && k.undecided(b) {
		k.state[b].Store(goes)
	}
	if k.Stays(b) && k.undecided(a) {
		k.state[a].Store(goes)
	}
}

// finish decides on the remaining pairs' documents by the sequential algorithm.
func (k *Representatives) finish(pairs [][2]uint32) {
	for _, p := range pairs {
		k.settle(p[0], p[1])
	}
	pairs = slices.DeleteFunc(pairs, func(p [2]uint32) bool { return !k.undecided(p[0]) || !k.undecided(p[1]) })
	var nodes []uint32
	for _, p := range pairs {
		nodes = append(nodes, p[0], p[1])
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	place := func(doc uint32) int {
		i, _ := slices.BinarySearch(nodes, doc)
		return i
	}
	// Adjacency in one array: node i's are neighbours[first[i]:first[i+1]].
	first := make([]int, len(nodes)+1)
	for _, p := range pairs {
		first[place(p[0])+1]++
		first[place(p[1])+1]++
	}
	for i := range nodes {
		first[i+1] += first[i]
	}
	neighbours, fill := make([]uint32, 2*len(pairs)), slices.Clone(first)
	for _, p := range pairs {
		a, b := place(p[0]), place(p[1])
		neighbours[fill[a]], neighbours[fill[b]] = p[1], p[0]
		fill[a]++
		fill[b]++
	}
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case k.before(nodes[a], nodes[b]):
			return -1
		case a == b:
			return 0
		}
		return 1
	})
	for _, i := range order {
		if k.undecided(nodes[i]) {
			k.state[nodes[i]].Store(stays)
			for _, other := range neighbours[first[i]:first[i+1]] {
				k.state[other].Store(goes)
			}
		}
	}
	k.round = goes // no undecided document has an undecided partner any more: all of them stay
	k.crown()
}

// Representative returns the first of the candidates by Compare: the document that
// stays of a group of equal ones. It panics if there are no candidates.
func Representative(candidates []Candidate) Candidate {
	return slices.MinFunc(candidates, Candidate.Compare)
}
