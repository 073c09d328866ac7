package hamming

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"
)

// A join finds the pairs within k of a list of distinct fingerprints:
// table by table it brings them to buckets that fit a core's cache and then
// does to each bucket what [Joiner.Bucket] does.
type join[F Fingerprint] struct {
	ctx     context.Context
	plan    *Plan
	k       int // at most plan.k
	workers int
	simd    bool
	done    func(tables int64)
	work    []F // of route
	emit    func(worker int) func(a, b *F, distance int)
}

// bucketTarget is the number of fingerprints a bucket should have: with the
// copy a key makes of them they stay in a core's second-level cache.
const bucketTarget = 32 << 10

// run joins values.
func (j *join[F]) run(values []F) error {
	var working sync.WaitGroup
	idle := make(chan *comparer[F], j.workers) // those for which there is no bucket any more
	for w := range j.workers {
		idle <- &comparer[F]{ctx: j.ctx, k: j.k, simd: j.simd, emit: j.emit(w), working: &working, idle: idle}
	}
	for t := range j.plan.tables {
		list, bounds, free := route(values, &j.plan.tables[t], j.workers, &j.work)
		var next atomic.Int64
		for range j.workers {
			c := <-idle
			working.Go(func() {
				for b := next.Add(1); int(b) < len(bounds) && j.ctx.Err() == nil; b = next.Add(1) {
					c.bucket(j.plan, t, list[bounds[b-1]:bounds[b]], free)
				}
				idle <- c
			})
		}
		working.Wait()
		if err := j.ctx.Err(); err != nil {
			return err
		}
		j.done(1)
	}
	return nil
}

// route brings values to the buckets of a table; fingerprints of one block value
// are in one bucket, in which all agree outside the free bits. It takes work,
// which it makes where there is none.
func route[F Fingerprint](values []F, tb *table, workers int, work *[]F) (list []F, bounds []int, free Uint128) {
	lead := min(bits.Len(uint(len(values)/bucketTarget)), 14)
	if lead == 0 || tb.block.isZero() {
		return values, []int{0, len(values)}, everything
	}
	if cap(*work) < len(values) {
		*work = make([]F, len(values))
	}
	list = (*work)[:len(values)]
	by, _ := newSpread(tb.block, everything, lead, bucketHash)
	if free = everything; by.mul != bucketHash { // a number for each value of the block
		free = tb.block.not()
	}
	bounds = newPartition(values, 1<<lead, workers, bySpread[F](by)).scatter(list, nil, nil)
	return list, bounds, free
}
