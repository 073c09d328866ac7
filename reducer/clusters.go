package reducer

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// Components joins documents into connected components: a lock-free
// union-find in which a larger root always hangs below a smaller one, so that
// a component's root is its smallest document, whatever the order of the
// pairs. Four bytes a document.
type Components struct {
	parent []atomic.Uint32
}

// NewComponents returns documents 0 to n-1, each alone.
func NewComponents(n int) *Components {
	c := &Components{parent: make([]atomic.Uint32, n)}
	for i := range c.parent {
		c.parent[i].Store(uint32(i))
	}
	return c
}

// Add connects two documents. Safe for concurrent use.
func (c *Components) Add(a, b uint32) {
	for {
		a, b = c.Root(a), c.Root(b)
		if a == b {
			return
		}
		if a > b {
			a, b = b, a
		}
		if c.parent[b].CompareAndSwap(b, a) {
			return
		}
	}
}

// Root returns the smallest document connected to doc so far, and shortens
// the path to it.
func (c *Components) Root(doc uint32) uint32 {
	for {
		up := c.parent[doc].Load()
		if up == doc {
			return doc
		}
		top := c.parent[up].Load()
		if top != up {
			c.parent[doc].CompareAndSwap(up, top)
		}
		doc = up
	}
}

// AddContained joins components by pairs of documents of which one contains
// the other: those whose pairs lead to exactly each other. So all parts of
// what it joins contain one another, pair by pair: the versions of a page with
// and without its menus become one. A digest joins none of its stories if there
// are two or more: each of them leads to the digest alone, the digest to all of
// them. With a single one it is told from a longer version by nothing. Not safe
// for concurrent use.
func (c *Components) AddContained(pairs [][2]uint32) {
	// From each component to itself and to those that its pairs lead to.
	var links [][2]uint32
	for _, p := range pairs {
		if a, b := c.Root(p[0]), c.Root(p[1]); a != b {
			links = append(links, [2]uint32{a, b}, [2]uint32{b, a}, [2]uint32{a, a}, [2]uint32{b, b})
		}
	}
	slices.SortFunc(links, func(a, b [2]uint32) int { return slices.Compare(a[:], b[:]) })
	links = slices.Compact(links)
	byRoot := func(l [2]uint32, root uint32) int { return cmp.Compare(l[0], root) }
	to := func(root uint32) [][2]uint32 {
		first, _ := slices.BinarySearchFunc(links, root, byRoot)
		after, _ := slices.BinarySearchFunc(links, root+1, byRoot)
		return links[first:after]
	}
	var joined [][2]uint32
	for i := 0; i < len(links); {
		from := to(links[i][0])
		for _, l := range from {
			if l[0] < l[1] && slices.EqualFunc(from, to(l[1]), func(a, b [2]uint32) bool { return a[1] == b[1] }) {
				joined = append(joined, l)
			}
		}
		i += len(from)
	}
	for _, p := range joined {
		c.Add(p[0], p[1])
	}
}

// Centred cuts one component into clusters around centres: the node with the
// largest weight (ties to the smaller document) takes all of its neighbours,
// the heaviest of the rest takes its free neighbours, and so on until none is
// left. In a cluster every node is thus within the match distance of the
// centre, which a chain of near-likes is not. nodes are the component's
// representatives, ascending; weights says how many documents each stands
// for; edges are all pairs of matches among them. The result gives each node's centre,
// aligned with nodes.
func Centred(nodes []uint32, weights []int, edges [][2]uint32) []uint32 {
	place := func(doc uint32) int {
		i, _ := slices.BinarySearch(nodes, doc)
		return i
	}
	// Neighbours in one array: those of node i are at first[i] to first[i+1].
	first := make([]int, len(nodes)+1)
	for _, p := range edges {
		first[place(p[0])+1]++
		first[place(p[1])+1]++
	}
	for i := range nodes {
		first[i+1] += first[i]
	}
	neighbours := make([]uint32, 2*len(edges))
	fill := slices.Clone(first)
	for _, p := range edges {
		a, b := place(p[0]), place(p[1])
		neighbours[fill[a]], neighbours[fill[b]] = uint32(b), uint32(a)
		fill[a]++
		fill[b]++
	}

	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })

	centres := make([]uint32, len(nodes))
	taken := make([]bool, len(nodes))
	for _, c := range order {
		if taken[c] {
			continue
		}
		taken[c], centres[c] = true, nodes[c]
		for _, n := range neighbours[first[c]:first[c+1]] {
			if !taken[n] {
				taken[n], centres[n] = true, nodes[c]
			}
		}
	}
	return centres
}

// Candidate is a document as a keep rule sees it.
type Candidate struct {
	Doc   uint32
	Value float64 // the highest stays: a length or a rank, an early date with its sign turned; NaN: none
}

// Keeper returns the candidate that stays: the one of the highest value, those
// without one last, ties to the smaller document; the order of the candidates
// does not matter. Candidates must not be empty.
func Keeper(candidates []Candidate) Candidate {
	return slices.MaxFunc(candidates, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(b.Doc, a.Doc)) // NaN is less than any number
	})
}
