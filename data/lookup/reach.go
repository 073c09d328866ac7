package lookup

// Reaches returns, for each table, in how many bits a looked-up value must be
// allowed to differ so that all tables together find every fingerprint within the
// distance; -1 for a table that need not be looked at. A fingerprint is cut into
// segments, and each table's key is a choice of so many of them, in lexicographic
// order: 1 of 4 segments gives 4 tables, 2 of 5 gives 10.
//
// However the differing bits fall, one table's segments have the fewest of them. That
// number is largest when the bits are spread evenly over the segments, and it is
// enough as the reach of every table. From there, Reaches lowers one table's reach
// after the other, as long as for every distribution of the differing bits over the
// segments some table still finds the fingerprint. If there are too many
// distributions to try (maxWays), every table keeps the first reach.
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

// maxWays bounds how many distributions Reaches tries. With more there are too many
// values to look up anyway.
const maxWays = 1 << 16

// choices appends to all every choice that extends have by so many of the segments
// from the number from on.
func choices(segments, chosen, from int, have []int, all *[][]int) {
	if chosen == 0 {
		*all = append(*all, append([]int{}, have...))
		return
	}
	for i := from; i+chosen <= segments; i++ {
		choices(segments, chosen-1, i+1, append(have, i), all)
	}
}

// ways is the number of ways to distribute so many bits over the segments; above
// maxWays it need not be exact.
func ways(segments, bits int) int {
	n := 1
	for i := 1; i < segments && n <= maxWays; i++ {
		n = n * (bits + i) / i
	}
	return n
}

// reached reports whether, however the left bits are distributed over the segments
// from segment on, some table's reach covers its share. in has the bits of each
// segment before.
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
