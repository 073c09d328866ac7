package reducer

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/neardup/neardup/data"
)

// compareKeyed orders records by key, remaining bits and document.
func compareKeyed(a, b data.Keyed) int {
	if c := compareBits(a.Key, a.Hi, a.Lo, b.Key, b.Hi, b.Lo); c != 0 {
		return c
	}
	return cmp.Compare(a.Doc, b.Doc)
}

// fewRecords are sorted by comparison.
const fewRecords = 128

// sortKeyed sorts records as compareKeyed says. Many records are dealt by
// their keys first, eight bits at a time and in place (McIlroy, Bostic and
// McIlroy, Engineering Radix Sort, 1993): keys are short, and what shares one
// fits into the processor's cache.
func sortKeyed(records []data.Keyed) {
	differ := uint64(0) // bits in which keys differ
	for _, r := range records {
		differ |= r.Key ^ records[0].Key
	}
	dealKeyed(records, differ)
}

// dealKeyed sorts records whose keys agree in all bits but those of differ.
func dealKeyed(records []data.Keyed, differ uint64) {
	if len(records) < fewRecords || differ == 0 {
		slices.SortFunc(records, compareKeyed)
		return
	}
	const places = 256
	shift := max(bits.Len64(differ)-8, 0)
	var end [places]int
	for i := range records {
		end[records[i].Key>>shift%places]++
	}
	var next [places]int
	sum := 0
	for i, n := range end {
		next[i] = sum
		sum += n
		end[i] = sum
	}
	for place := range places {
		for next[place] < end[place] {
			at := next[place]
			to := records[at].Key >> shift % places
			next[to]++
			if int(to) != place {
				records[at], records[next[to]-1] = records[next[to]-1], records[at]
			}
		}
	}
	below := differ & (1<<shift - 1)
	start := 0
	for _, e := range end {
		if e-start > 1 {
			dealKeyed(records[start:e], below)
		}
		start = e
	}
}
