package hamming

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Pairs calls visit for every unordered pair of distinct fingerprints whose
// distance is 1 to k, exactly once, with their indices i < j, in no particular
// order. Workers, numbered from 0, call visit at the same time, but never
// twice at once with the same number. When ctx is cancelled, Pairs soon
// returns its error, some of the pairs having been visited.
func (s *Set[F]) Pairs(ctx context.Context, k int, opt Options, visit func(worker int, i, j uint32, distance int)) error {
	plan, err := s.plan(k, opt.plan, joiningBy(opt.simd()))
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil || k == 0 || len(s.values) < 2 {
		return err
	}
	done := func(int64) {}
	if opt.Pass != nil {
		done = opt.Pass(int64(len(plan.tables)))
	}
	batches := make([]*batch[F], opt.workers())
	comparers := make([]*comparer[F], len(batches))
	for w := range batches {
		batches[w] = &batch[F]{set: s, visit: func(x, y uint32, distance int) { visit(w, x, y, distance) }}
		comparers[w] = &comparer[F]{ctx: ctx, k: k, simd: opt.simd(), emit: batches[w].add}
	}
	var work []F
	for t := range plan.tables {
		list, bounds, free := route(s.values, &plan.tables[t], len(batches), &work)
		var started atomic.Int64
		each(len(batches), len(bounds)-1, func() func(int) {
			c := comparers[started.Add(1)-1]
			return func(b int) {
				if ctx.Err() == nil {
					c.bucket(plan, t, list[bounds[b]:bounds[b+1]], free)
				}
			}
		})
		done(1)
	}
	for _, b := range batches {
		b.flush()
	}
	return ctx.Err()
}

// A batch holds pairs of fingerprints whose indices are yet to be looked up.
type batch[F Fingerprint] struct {
	set       *Set[F]
	visit     func(i, j uint32, distance int)
	found     finder[F] // two a pair
	distances [findBatch / 2]uint8
}

func (b *batch[F]) add(x, y *F, distance int) {
	if b.found.n == findBatch {
		b.flush()
	}
	n := b.found.n
	b.found.values[n], b.found.values[n+1], b.distances[n/2] = *x, *y, uint8(distance)
	b.found.n += 2
}

func (b *batch[F]) flush() {
	n := b.found.n
	b.found.find(b.set)
	for i := 0; i < n; i += 2 {
		x, y := b.found.at[i], b.found.at[i+1]
		b.visit(min(x, y), max(x, y), int(b.distances[i/2]))
	}
}

// plan checks k and the plan that was asked for; if that is nil, it chooses
// one by the model.
func (s *Set[F]) plan(k int, asked *Plan, m *model) (*Plan, error) {
	if err := checkDistance(s.bits, k); err != nil {
		return nil, err
	}
	if asked == nil {
		return choosePlan(s.bits, k, len(s.values), m), nil
	}
	if asked.k < k || asked.bits != s.bits {
		return nil, fmt.Errorf("hamming: plan %v for %d bits and distance %d: %w", asked, s.bits, k, errPlan)
	}
	return asked, nil
}
