package eval

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/neardup/neardup/job/internal/parallel"
)

// limits say which sets are alike: of a Jaccard similarity |a∩b| / |a∪b| of
// jaccard > 0, or unless it is 0 of a containment |a∩b| / min(|a|, |b|) of
// containment, or more.
type limits struct{ jaccard, containment float64 }

// needed returns how many hashes sets of n ≤ m must share to be alike.
func (t limits) needed(n, m int) int {
	least := ceil(t.jaccard / (1 + t.jaccard) * float64(n+m))
	if t.containment > 0 {
		least = min(least, ceil(t.containment*float64(n)))
	}
	return least
}

// shortest returns how many hashes a partner of a set of n has at least that is
// no larger than it.
func (t limits) shortest(n int) int {
	if t.containment > 0 {
		return 1
	}
	return ceil(t.jaccard * float64(n))
}

// alike finds every pair of sets of hashes, each ascending, that are alike, and
// returns them with their Jaccard similarity as the score, in order of the
// pairs. It is exact: two sets that share s hashes have one in
// common among the rarest |a| − s + 1 of the one and |b| − s + 1 of the other
// (Bayardo, Ma, Srikant: Scaling Up All Pairs Similarity Search, WWW 2007), and
// where it stands in either bounds what can follow (Xiao, Wang, Lin, Yu:
// Efficient Similarity Joins for Near Duplicate Detection, WWW 2008).
func (l *Lab) alike(ctx context.Context, sets [][]uint64, t limits) ([]Found, error) {
	j, workers, pass := join{limits: t}, l.options.Workers, l.options.Pass
	var elements int64
	for i := range sets {
		if len(sets[i]) > 0 {
			j.order = append(j.order, int32(i))
			elements += int64(len(sets[i]))
		}
	}
	var ranks int
	var err error
	if j.sets, ranks, err = byRarity(ctx, sets, elements, pass); err != nil {
		return nil, err
	}
	j.index = make([][]posting, ranks)
	size := func(i int32) int { return len(sets[i]) }
	slices.SortFunc(j.order, func(a, b int32) int { return cmp.Or(cmp.Compare(size(a), size(b)), cmp.Compare(a, b)) })
	for place, i := range j.order {
		set := j.sets[i]
		for k, rank := range set.prefix(t.needed(set.n, set.n)) { // for partners of at least this size
			j.index[rank] = append(j.index[rank], posting{int32(place), int32(set.n - len(set.ranks) + k)})
		}
	}
	advance := pass.Begin(elements, "features compared") // a large set takes longer than a small one
	parts := make([][]Found, workers)
	err = parallel.Each(ctx, workers, workers, func(ctx context.Context, w int) error {
		count := make([]int32, len(j.order))
		for place := w; place < len(j.order) && ctx.Err() == nil; place += workers {
			parts[w] = j.partners(parts[w], place, count)
			advance(int64(size(j.order[place])))
		}
		return ctx.Err()
	})
	found := slices.Concat(parts...)
	slices.SortFunc(found, func(a, b Found) int { return a.compare(b.Pair) })
	return found, err
}

// join is what alike looks partners up in.
type join struct {
	limits
	sets  []rankedSet
	order []int32     // sets that have hashes, ascending by size
	index [][]posting // by rank, in order
}

// posting is a set that has a hash, by its place in the order, and the hash's
// place in the set by rarity.
type posting struct{ place, at int32 }

// partners appends the pairs of the set at a place with those before it. count,
// which is all zeroes before and after, has an element for each place.
func (j *join) partners(found []Found, place int, count []int32) []Found {
	i := j.order[place]
	set := j.sets[i]
	alone := set.n - len(set.ranks)
	shortest := j.shortest(set.n)
	var candidates []int32
	for k, rank := range set.prefix(j.needed(shortest, set.n)) {
		list := j.index[rank]
		from, _ := slices.BinarySearchFunc(list, shortest, func(p posting, n int) int { return cmp.Compare(j.sets[j.order[p.place]].n, n) })
		for _, p := range list[from:] {
			if int(p.place) >= place {
				break
			}
			if count[p.place] == 0 {
				candidates = append(candidates, p.place)
			}
			n := j.sets[j.order[p.place]].n
			switch most := int(count[p.place]) + 1 + min(set.n-alone-k, n-int(p.at)) - 1; {
			case count[p.place] < 0:
			case most < j.needed(n, set.n):
				count[p.place] = -1 // too few can follow
			default:
				count[p.place]++
			}
		}
	}
	for _, c := range candidates {
		if other := j.sets[j.order[c]]; count[c] > 0 {
			least := j.needed(other.n, set.n)
			if both := overlap(set.ranks, other.ranks, least); both >= least {
				found = append(found, Found{Pair: pairOf(i, j.order[c]), Score: float64(both) / float64(set.n+other.n-both)})
			}
		}
		count[c] = 0
	}
	return found
}

// ceil rounds up, but for what floating point adds.
func ceil(x float64) int { return int(math.Ceil(x - 1e-9)) }

// overlap returns how many elements two ascending sets share, 0 if those are
// certainly fewer than least.
func overlap(a, b []uint32, least int) (n int) {
	spare := len(a) + len(b) - 2*least // elements that need no partner
	for len(a) > 0 && len(b) > 0 && spare >= 0 {
		switch x, y := a[0], b[0]; {
		case x == y:
			n++
			a, b = a[1:], b[1:]
		case x < y:
			a = a[1:]
			spare--
		default:
			b = b[1:]
			spare--
		}
	}
	if spare < 0 {
		return 0
	}
	return n
}

// rankedSet is a set of n hashes: the ranks of those that another set has too,
// ascending. The others are the rarest of all.
type rankedSet struct {
	n     int
	ranks []uint32
}

// prefix returns the ranks among the set's n − same + 1 rarest hashes.
func (s rankedSet) prefix(same int) []uint32 {
	return s.ranks[:max(0, len(s.ranks)-same+1)]
}

// byRarity ranks the hashes of several sets, each ascending: the fewer have one,
// the lower its rank. ranks is how many there are.
func byRarity(ctx context.Context, sets [][]uint64, elements int64, pass parallel.Pass) (ranked []rankedSet, ranks int, err error) {
	const bits = 6 // of a hash: those that begin alike are counted together
	type hash struct {
		value uint64
		sets  int
	}
	var common []hash
	var some []uint64
	counted := make([]int, len(sets)) // of each set's hashes
	advance := pass.Begin(elements, "features counted")
	for first := range uint64(1 << bits) {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		some = some[:0]
		for i, set := range sets {
			from := counted[i]
			for counted[i] < len(set) && set[counted[i]]>>(64-bits) == first {
				counted[i]++
			}
			some = append(some, set[from:counted[i]]...)
		}
		slices.Sort(some)
		for rest := some; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n] == rest[0] {
				n++
			}
			if n > 1 {
				common = append(common, hash{rest[0], n})
			}
			rest = rest[n:]
		}
		advance(int64(len(some)))
	}
	advance = pass.Begin(elements, "features ranked")
	slices.SortFunc(common, func(a, b hash) int { return cmp.Or(cmp.Compare(a.sets, b.sets), cmp.Compare(a.value, b.value)) })
	rank := make(map[uint64]uint32, len(common))
	for i, h := range common {
		rank[h.value] = uint32(i)
	}
	ranked = make([]rankedSet, len(sets))
	for i, set := range sets {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		ranked[i].n = len(set)
		for _, h := range set {
			if r, ok := rank[h]; ok {
				ranked[i].ranks = append(ranked[i].ranks, r)
			}
		}
		slices.Sort(ranked[i].ranks)
		advance(int64(len(set)))
	}
	return ranked, len(common), nil
}
