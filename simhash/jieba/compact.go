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
//
// Words of one cost are neighbours but for the user's, so a cost is looked for only
// where it is not that of the word before.
func newCompact(nodes []model.Node, costs []float64, roots int) *compact {
	descending := func(a, b float64) int { return cmp.Compare(b, a) }
	var distinct []float64
	for value, cost := range costs {
		if value == 0 || cost != costs[value-1] {
			distinct = append(distinct, cost)
		}
	}
	slices.SortFunc(distinct, descending)
	distinct = slices.Compact(distinct)
	if len(distinct) > math.MaxUint16 {
		return nil
	}
	index := make([]uint16, len(costs)) // into distinct, by value
	at := 0
	for value, cost := range costs {
		if value == 0 || cost != costs[value-1] {
			at, _ = slices.BinarySearchFunc(distinct, cost, descending)
		}
		index[value] = uint16(at)
	}
	c := &compact{large.Make[uint16](len(nodes)), large.Make[model.Node](len(nodes)), make([]uint32, roots), distinct}
	for slot, node := range nodes {
		c.checks[slot], c.nodes[slot] = node.Check(), node.WithCheck(index[node.Value()])
	}
	for code := range c.roots {
		c.roots[code] = nodes[code].Base()
	}
	return c
}
