package lookup

// Reaches says how far to look in each of so many tables, whose values are the
// fingerprint's bits, each bit in one of them, to find every fingerprint within
// a distance: in how many bits a value may differ, -1 for a table that need
// not be looked at.
//
// Of d = n·r + a differing bits, a < n, either one of the first a + 1 tables
// has at most r, or one of the others at most r − 1: else there would be
// (a + 1)(r + 1) + (n − a − 1)r = d + 1 of them.
func Reaches(tables, distance int) []int {
	r, a := distance/tables, distance%tables
	reach := make([]int, tables)
	for i := range reach {
		reach[i] = r
		if i > a {
			reach[i]--
		}
	}
	return reach
}
