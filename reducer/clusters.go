package reducer

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// Components joins documents into connected components. It is a lock-free
// union-find in which the larger of two roots always becomes the child of the
// smaller. So the root of a component is its smallest document, whatever the order
// of the pairs. It takes four bytes a document.
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

// Root returns the smallest document that doc is connected to so far. It shortens
// the path on its way: each node it passes is linked to its grandparent. Safe for
// concurrent use.
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

// AddContained joins components by pairs of documents one of which contains the
// other. Call N(c) the set of c itself and of all components that such pairs link
// c with. AddContained joins two linked components c and d if N(c) = N(d). So
// everything that it joins is linked pair by pair.
//
// The versions of a page with and without its menus all contain one another, so
// they become one component. A digest of two or more stories joins none of them:
// N of a story is that story and the digest, N of the digest has all stories. A
// digest of a single story does join it, since nothing tells it from a longer
// version of the story.
//
// Not safe for concurrent use.
func (c *Components) AddContained(pairs [][2]uint32) {
	// links holds a pair (c, d) for each component c and each d in N(c).
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
