package page

// compact makes room in a page of very many blocks or elements, between two
// blocks: neighbours in like siblings, such as the entries of a menu or the
// cells of a table, become one block of as many lines, and closed elements
// without a block are forgotten. Where that does not make room for a quarter
// more, the page is full. The time is linear in what there is.
func (s *scanner) compact() {
	blocks, nodes := len(s.blocks), len(s.nodes)
	s.dense = true
	s.mergeBlocks()
	s.dropNodes()
	s.full = s.full || len(s.blocks)*4 > s.limit*3 || len(s.nodes)*4 > maxNodes*3
	if len(s.blocks) == blocks && len(s.nodes) == nodes {
		s.full = true
	}
}

// alike reports whether two blocks that follow each other stand in one element,
// or in siblings of one name and class, and both in links or both not.
func (s *scanner) alike(a, b *block) bool {
	m, n := &s.nodes[a.node], &s.nodes[b.node]
	return (a.node == b.node || m.parent == n.parent && m.sign == n.sign) && m.hidden == n.hidden && (a.linked*2 > a.mass) == (b.linked*2 > b.mass)
}

// mergeBlocks merges blocks that are alike.
func (s *scanner) mergeBlocks() {
	s.moved = s.moved[:0] // by block: where it is now
	kept := 0
	for i := range s.blocks {
		b := s.blocks[i]
		if kept > 0 && s.alike(&s.blocks[kept-1], &b) {
			a := &s.blocks[kept-1]
			a.end, a.mass, a.linked, a.spaces, a.inline = b.end, a.mass+b.mass, a.linked+b.linked, a.spaces+b.spaces+1, a.inline|b.inline
			a.lines += b.lines + 1
		} else {
			s.blocks[kept] = b
			kept++
		}
		s.moved = append(s.moved, int32(kept-1))
	}
	s.moved = append(s.moved, int32(kept))
	s.blocks = s.blocks[:kept]
	for i := range s.nodes {
		n := &s.nodes[i]
		n.first, n.end = s.moved[n.first], s.moved[n.end]
	}
}

// dropNodes forgets the closed elements that no block stands in.
func (s *scanner) dropNodes() {
	s.moved = append(s.moved[:0], make([]int32, len(s.nodes))...) // by node: 1 for those that stay, then where it is now
	stay := func(at int32) {
		for ; at >= 0 && s.moved[at] == 0; at = s.nodes[at].parent {
			s.moved[at] = 1
		}
	}
	for _, at := range s.stack {
		stay(at)
	}
	for i := range s.blocks {
		stay(s.blocks[i].node)
	}
	kept := int32(0)
	for i := range s.nodes {
		if s.moved[i] == 0 {
			continue
		}
		n := s.nodes[i]
		if n.parent >= 0 {
			n.parent = s.moved[n.parent] // which stands before it
		}
		s.nodes[kept] = n
		s.moved[i] = kept
		kept++
	}
	s.nodes = s.nodes[:kept]
	for i, at := range s.stack {
		s.stack[i] = s.moved[at]
	}
	for i := range s.blocks {
		s.blocks[i].node = s.moved[s.blocks[i].node]
	}
}
