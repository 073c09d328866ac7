package lookup

// Reaches says how far to look in each table to find every fingerprint within a
// distance: in how many bits a value may differ, -1 for a table that need not be
// looked at. The tables' values are all choices of so many of the segments that
// the fingerprint's bits are cut into, in lexicographic order: one of four gives
// four tables, two of five ten.
//
// Differing bits that are spread evenly leave the chosen segments with fewest of
// them the most: so far all tables together have to reach. Then each reaches less
// as long as there is another for every way in which the bits may fall.
func Reaches(segments, chosen, distance int) []int {
	least, more := distance/segments, distance%segments
	most := chosen*least + max(0, chosen-(segments-more))
	var tables [][]int
	choices(segments, chosen, 0, nil, &tables)
	reach := make([]int, len(tables))
	for i := range reach {
		reach[i] = most
	}
	if ways(segments, distance) > maxWays {
		return reach
	}
	in := make([]int, segments)
	for level := most; level >= 0; level-- {
		for i := len(tables) - 1; i >= 0; i-- {
			if reach[i] != level {
				continue
			}
			if reach[i]--; !reached(tables, reach, in, 0, distance) {
				reach[i]++
			}
		}
	}
	return reach
}

// maxWays bounds what Reaches tries: beyond it there are too many values to look
// up anyway.
const maxWays = 1 << 16

// choices appends all choices of so many segments, from one on.
func choices(segments, chosen, from int, have []int, all *[][]int) {
	if chosen == 0 {
		*all = append(*all, append([]int{}, have...))
		return
	}
	for i := from; i+chosen <= segments; i++ {
		choices(segments, chosen-1, i+1, append(have, i), all)
	}
}

// ways is how many there are to put bits into segments.
func ways(segments, bits int) int {
	n := 1
	for i := 1; i < segments && n <= maxWays; i++ {
		n = n * (bits + i) / i
	}
	return n
}

// reached reports whether, in whatever way the bits that are left fall into the
// segments from one on, a table reaches them.
func reached(tables [][]int, reach, in []int, segment, left int) bool {
	if segment == len(in)-1 {
		in[segment] = left
		for i, table := range tables {
			differ := 0
			for _, s := range table {
				differ += in[s]
			}
			if differ <= reach[i] {
				return true
			}
		}
		return false
	}
	for n := range left + 1 {
		in[segment] = n
		if !reached(tables, reach, in, segment+1, left-n) {
			return false
		}
	}
	return true
}
