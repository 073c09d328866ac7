package reducer

import (
	"cmp"
	"math/bits"
	"slices"
	"sync/atomic"
)

// Candidate is a document as a keep rule sees it.
type Candidate struct {
	Doc   uint32
	Value float64 // the highest stays: a length or a rank, an early date with its sign turned; NaN: none
	Pairs uint32  // documents that it is a pair of
}

// Compare orders candidates, the one that stays first: that of the higher value,
// those without one last, ties to the smaller document.
func (c Candidate) Compare(other Candidate) int {
	return cmp.Or(cmp.Compare(other.Value, c.Value), cmp.Compare(c.Doc, other.Doc)) // NaN is less than any number
}

// Before reports whether a keep rule considers the candidate before another: if
// it is a pair of about twice as many documents or more, so that few stay; else
// as Compare has them. Powers of two are compared, so the order is a total one.
func (c Candidate) Before(other Candidate) bool {
	return cmp.Or(cmp.Compare(bits.Len32(other.Pairs), bits.Len32(c.Pairs)), c.Compare(other)) < 0
}

// Representatives chooses which documents stay, of those that pairs connect: in the order
// of Candidate.Before each stays unless it is a pair of one that does. So no two
// that stay are a pair, and each that goes is a pair of one that stays, which no
// chain of pairs can undo. The choice depends on the candidates and the pairs
// alone, not on the order in which either come. Four bytes a document.
//
// It is the first maximal independent set in that order. Going through documents
// one by one asks for each one's pairs, which need not fit into memory. Instead
// the pairs are passed over in rounds, as in Blelloch, Fineman, Shun (Greedy
// sequential maximal independent set and matching are parallel on average,
// 2012): who comes before all those of its pairs that are undecided stays, and
// all of its pairs go. Once the pairs between undecided documents fit, the rest is
// done in memory; mostly that is so after one pass or three.
type Representatives struct {
	before func(a, b uint32) bool
	// state[doc] is stays, goes, or, of one that is undecided, the last round in
	// which it was behind another.
	state []atomic.Uint32
	round uint32
}

const (
	stays = ^uint32(0)
	goes  = stays - 1
)

// NewRepresentatives chooses among documents 0 to n-1. before is a total order: whether
// document a is considered before b.
func NewRepresentatives(n int, before func(a, b uint32) bool) *Representatives {
	return &Representatives{before: before, state: make([]atomic.Uint32, n)}
}

// Exclude has a document go before any choice: none stays or goes for it.
func (k *Representatives) Exclude(doc uint32) { k.state[doc].Store(goes) }

// Stays reports whether a document stays, once Choose has returned.
func (k *Representatives) Stays(doc uint32) bool { return k.state[doc].Load() == stays }

func (k *Representatives) undecided(doc uint32) bool { return k.state[doc].Load() < goes }

// Choose decides on all documents. pass calls yield with each pair, some number of
// times and from several goroutines if it likes; Choose calls it as often as it
// needs. Up to most pairs of undecided documents are held in memory, at 8 bytes
// each, and while the last are decided up to twice as much again for those.
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

// rank notes which of two undecided documents is behind the other.
func (k *Representatives) rank(a, b uint32) {
	if k.before(a, b) {
		a = b
	}
	k.state[a].Store(k.round)
}

// crown has those stay that are behind no other.
func (k *Representatives) crown() {
	for i := range k.state {
		if s := k.state[i].Load(); s < k.round {
			k.state[i].Store(stays)
		}
	}
}

// settle has the document of a pair go whose other stays.
func (k *Representatives) settle(a, b uint32) {
	if k.Stays(a) && k.undecided(b) {
		k.state[b].Store(goes)
	}
	if k.Stays(b) && k.undecided(a) {
		k.state[a].Store(goes)
	}
}

// finish decides on the documents of the pairs that are left, one after the other.
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
	// Neighbours in one array: those of node i are at first[i] to first[i+1].
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
	k.round = goes // of those that are undecided none is behind another any more
	k.crown()
}

// Representative returns the candidate that stays of documents that are the same: the
// first by Compare, whatever their order. Candidates must not be empty.
func Representative(candidates []Candidate) Candidate {
	return slices.MinFunc(candidates, Candidate.Compare)
}
