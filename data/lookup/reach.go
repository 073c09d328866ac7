package lookup

import "iter"

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

// Values is how many values of a width differ in at most reach bits from one.
func Values(width, reach int) int {
	n, sum := 1, 1
	for i := 1; i <= min(reach, width); i++ {
		n = n * (width - i + 1) / i
		sum += n
	}
	return sum
}

// Around yields the values of a width that differ in at most reach bits from
// one, itself first.
func Around(value uint32, width, reach int) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for n := 0; n <= min(reach, width); n++ {
			// All masks of n bits, each the next larger number of as many.
			for mask := uint64(1)<<n - 1; mask>>width == 0; {
				if !yield(value ^ uint32(mask)) {
					return
				}
				if mask == 0 {
					break
				}
				low := mask & -mask
				up := mask + low
				mask = up | (mask^up)/low>>2
			}
		}
	}
}
