package hamming

import (
	"context"
	"fmt"
	"sync"
	"unsafe"
)

// A Joiner is reusable workspace for joins whose data someone else moves: a
// bucket of a table at a time ([Joiner.Bucket]) or a group that shares a
// segment key ([Joiner.Within]). It must not be used concurrently.
type Joiner[F Fingerprint] struct {
	c    comparer[F]
	work []F // of route
}

// NewJoiner returns a Joiner.
func NewJoiner[F Fingerprint]() *Joiner[F] {
	return &Joiner[F]{c: comparer[F]{ctx: context.Background(), simd: haveSIMD}}
}

// Bucket visits the pairs within plan.Distance of values that belong to table
// t: those whose first table with a common key is t. The values must be
// distinct, and values with equal blocks of table t (see [Block]) must come in
// the same bucket. Then all buckets of all tables together visit every pair
// within the distance exactly once.
func (j *Joiner[F]) Bucket(plan *Plan, t int, values []F, visit func(a, b F, distance int)) error {
	if t < 0 || t >= len(plan.tables) {
		return fmt.Errorf("hamming: table %d of plan %v: %w", t, plan, errPlan)
	}
	j.c.k = plan.k
	if plan.k == 0 {
		return nil
	}
	j.c.emit = func(a, b *F, distance int) { visit(*a, *b, distance) }
	list, bounds, free := route(values, &plan.tables[t], 1, &j.work)
	for b, end := range bounds[1:] {
		j.c.bucket(plan, t, list[bounds[b]:end], free)
	}
	return nil
}

// directMax is the size up to which a group is compared without any preparation.
const directMax = 32

// Within visits every pair of a group within distance k, exactly once, by
// their indices a < b in group, which may have any order. The values must be
// distinct. Bits that all of them share, such as a common segment, cost
// nothing: a group of g is split by the bits that vary in it and costs about
// g, not g*g, unless its values are so alike that most pairs are to be visited.
func (j *Joiner[F]) Within(group []F, k int, visit func(a, b, distance int)) error {
	if err := checkDistance(8*int(unsafe.Sizeof(*new(F))), k); err != nil {
		return err
	}
	if k == 0 || len(group) < 2 {
		return nil
	}
	if len(group) <= directMax {
		for a := range group {
			for b := a + 1; b < len(group); b++ {
				if d := distance(&group[a], &group[b]); d <= k {
					visit(a, b, d)
				}
			}
		}
		return nil
	}
	at := sync.OnceValue(func() map[F]int { // most groups have no pairs
		at := make(map[F]int, len(group))
		for i, v := range group {
			at[v] = i
		}
		return at
	})
	j.c.k = k
	j.c.emit = func(p, q *F, distance int) {
		a, b := at()[*p], at()[*q]
		visit(min(a, b), max(a, b), distance)
	}
	f := scope{keys: []Uint128{{}}, to: 1}
	if len(group) < largeGroup {
		j.c.all(group, &f, 0)
		return nil
	}
	j.c.split(group, f, 0)
	return nil
}
