package eval

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/neardup/neardup/simhash/sketch"
)

// alike finds every pair of sets of hashes, each ascending, whose Jaccard
// similarity is at least t > 0, and calls visit with it as the score, in order
// of the pairs. It is exact: of sets with J ≥ t, the prefixes of their rarest
// n − ⌈t·n⌉ + 1 hashes have one in common (Bayardo, Ma, Srikant: Scaling Up
// All Pairs Similarity Search, WWW 2007), and where it stands in either bounds
// what can follow (Xiao, Wang, Lin, Yu: Efficient Similarity Joins for Near
// Duplicate Detection, WWW 2008).
func alike(ctx context.Context, sets [][]uint64, t float64, visit func(Found)) error {
	rank := rarity(sets)
	order := make([]int32, 0, len(sets)) // ascending by size
	for i := range sets {
		if len(sets[i]) > 0 {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(len(sets[a]), len(sets[b])), cmp.Compare(a, b))
	})

	type posting struct{ set, at int32 } // at: the hash's place in the set by rarity
	index := make([][]posting, len(rank.shared))
	low := make([]int32, len(rank.shared)) // postings of index before are of too short sets
	count := make([]int32, len(sets))      // prefix hashes in common with the set at hand; −1: too few can follow
	var prefix []uint64
	var candidates []int32
	var found []Found
	for _, i := range order {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n := len(sets[i])
		shortest := ceil(t * float64(n))
		var alone int
		prefix, alone = rank.prefix(prefix[:0], sets[i], n-shortest+1)
		indexed := n - ceil(2*t/(1+t)*float64(n)) + 1 // of partners of at least this size
		candidates = candidates[:0]
		for k, p := range prefix {
			list, left := index[uint32(p)], n-alone-k-1
			from := low[uint32(p)]
			for int(from) < len(list) && len(sets[list[from].set]) < shortest {
				from++
			}
			low[uint32(p)] = from
			for _, e := range list[from:] {
				c := count[e.set]
				if c < 0 {
					continue
				}
				if c == 0 {
					candidates = append(candidates, e.set)
				}
				m := len(sets[e.set])
				if int(c)+1+min(left, m-int(e.at)-1) < ceil(t/(1+t)*float64(n+m)) {
					count[e.set] = -1
				} else {
					count[e.set]++
				}
			}
			if alone+k < indexed {
				index[uint32(p)] = append(list, posting{i, int32(alone + k)})
			}
		}
		for _, j := range candidates {
			if count[j] > 0 && possible(sets[i], sets[j], t) {
				if s := sketch.Jaccard(sets[i], sets[j]); s >= t {
					found = append(found, Found{Pair: pairOf(i, j), Score: s})
				}
			}
			count[j] = 0
		}
	}
	slices.SortFunc(found, func(a, b Found) int { return a.compare(b.Pair) })
	for _, f := range found {
		visit(f)
	}
	return nil
}

// possible reports whether two ascending sets can reach Jaccard t: it compares
// as long as enough elements are left for that.
func possible(a, b []uint64, t float64) bool {
	spare := len(a) + len(b) - 2*ceil(t/(1+t)*float64(len(a)+len(b))) // elements that need no partner
	for len(a) > 0 && len(b) > 0 {
		switch x, y := a[0], b[0]; {
		case x == y:
			a, b = a[1:], b[1:]
			continue
		case x < y:
			a = a[1:]
		default:
			b = b[1:]
		}
		if spare--; spare < 0 {
			return false
		}
	}
	return true
}

// ceil rounds up, but for what floating point adds.
func ceil(x float64) int { return int(math.Ceil(x - 1e-9)) }

// ranking orders hashes by the number of sets that have them.
type ranking struct {
	shared []uint64 // hashes of at least two sets, ascending
	sets   []uint32 // how many
}

func rarity(sets [][]uint64) *ranking {
	total := 0
	for _, s := range sets {
		total += len(s)
	}
	all := make([]uint64, 0, total)
	for _, s := range sets {
		all = append(all, s...)
	}
	slices.Sort(all)
	r := &ranking{}
	for i := 0; i < len(all); {
		j := i + 1
		for j < len(all) && all[j] == all[i] {
			j++
		}
		if j-i > 1 {
			r.shared, r.sets = append(r.shared, all[i]), append(r.sets, uint32(j-i))
		}
		i = j
	}
	return r
}

// prefix appends those of the n rarest hashes of a set that another set has
// too, the rarest first, as number of sets and place in shared. Before them
// come the alone hashes that no other set has.
func (r *ranking) prefix(dst []uint64, set []uint64, n int) (_ []uint64, alone int) {
	from := len(dst)
	for _, h := range set {
		if i, ok := slices.BinarySearch(r.shared, h); ok {
			dst = append(dst, uint64(r.sets[i])<<32|uint64(i))
		} else {
			alone++
		}
	}
	slices.Sort(dst[from:])
	return dst[:from+max(0, min(n-alone, len(dst)-from))], alone
}
