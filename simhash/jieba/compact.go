package jieba

import (
	"cmp"
	"math"
	"slices"

	"github.com/neardup/neardup/simhash/internal/large"
	"github.com/neardup/neardup/simhash/jieba/internal/model"
)

// compact is the trie as solveFast reads it. Most pairs of characters start no
// word, and the trie is larger than a processor's near cache. So the checks stand
// by themselves, in a quarter of the memory, and a node is read only where its
// check is right. Its own check makes room for an index into the costs: jieba's
// 350,000 words have 5,000 different ones.
type compact struct {
	checks []uint16     // by slot
	nodes  []model.Node // by slot, with the index of the cost in the bits of the check
	roots  []uint32     // by code: where the children of a first character start
	costs  []float64    // in descending order; the first, Inf, is that of slot 0
}

// newCompact returns the trie of nodes, whose words have costs by their value and
// whose first characters have codes below roots. It is nil if more costs differ
// than an index tells apart: then look and solve cut.
func newCompact(nodes []model.Node, costs []float64, roots int) *compact {
	descending := func(a, b float64) int { return cmp.Compare(b, a) }
	distinct := slices.Compact(slices.SortedFunc(slices.Values(costs), descending))
	if len(distinct) > math.MaxUint16 {
		return nil
	}
	c := &compact{large.Make[uint16](len(nodes)), large.Make[model.Node](len(nodes)), make([]uint32, roots), distinct}
	for slot, node := range nodes {
		i, _ := slices.BinarySearchFunc(distinct, costs[node.Value()], descending)
		c.checks[slot], c.nodes[slot] = node.Check(), node.WithCheck(uint16(i))
	}
	for code := range c.roots {
		c.roots[code] = nodes[code].Base()
	}
	return c
}
