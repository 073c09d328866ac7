package hamming

import (
	"context"
	"math/bits"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup/simhash/internal/huge"
)

// A join finds the pairs within k of a list of distinct fingerprints:
// table by table it brings them to buckets that fit a core's cache and then
// does to each bucket what [Joiner.Bucket] does.
type join[F Fingerprint] struct {
	ctx     context.Context
	plan    *Plan
	k       int // at most plan.k
	top     int // all values agree on the bits from here on
	workers int
	simd    bool
	done    func(tables int64)
	work    []F // as long as the list, or nil: allocated when needed
	emit    func(worker int) func(a, b *F, distance int)
}

// bucketTarget is the number of fingerprints a bucket should have: with the
// copy a key makes of them they stay in a core's second-level cache.
const bucketTarget = 32 << 10

// run joins values, which ascend and have slack.
func (j *join[F]) run(values []F) error {
	var working sync.WaitGroup
	idle := make(chan *comparer[F], j.workers) // those for which there is no bucket any more
	for w := range j.workers {
		idle <- &comparer[F]{ctx: j.ctx, k: j.k, simd: j.simd, emit: j.emit(w), working: &working, idle: idle}
	}
	for t := range j.plan.tables {
		list, bounds, free := j.route(values, t)
		sorted := &list[0] == &values[0]
		var next atomic.Int64
		for range j.workers {
			c := <-idle
			working.Go(func() {
				for b := next.Add(1); int(b) < len(bounds) && j.ctx.Err() == nil; b = next.Add(1) {
					j.bucket(c, t, list[bounds[b-1]:bounds[b]], sorted, free)
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

// bucket compares inside a bucket of table t.
func (j *join[F]) bucket(c *comparer[F], t int, values []F, sorted bool, free Uint128) {
	tb := &j.plan.tables[t]
	for key := tb.from; key < tb.to; key++ {
		f := scope{keys: j.plan.keys, from: key, to: key + 1}
		width := j.plan.keys[key].ones()
		if sorted && width <= j.top && j.plan.keys[key] == span(j.top-width, width) {
			c.ascending(values[:len(values):len(values)+slack], f, uint(j.top-width))
			continue
		}
		c.key(values, f, free, 0)
	}
}

// route brings values to the buckets of table t; fingerprints of one block
// value are in one bucket, in which all agree outside the free bits.
func (j *join[F]) route(values []F, t int) (list []F, bounds []int, free Uint128) {
	lead := min(bits.Len(uint(len(values)/bucketTarget)), 14)
	tb := &j.plan.tables[t]
	if lead == 0 || tb.width == 0 {
		return values, []int{0, len(values)}, everything
	}
	free = everything
	if tb.width <= lead && len(tb.pieces) == 1 {
		free = tb.block.not()
	}
	if j.leads(t, lead) {
		// Ascending values are in order of their leading block.
		order := min(lead, tb.width)
		size := 1 << order
		bounds := make([]int, size+1)
		bounds[size] = len(values)
		for b := 1; b < size; b++ {
			rest := values[bounds[b-1]:]
			bounds[b] = bounds[b-1] + sort.Search(len(rest), func(i int) bool {
				return lowBits(&rest[i], uint(j.top-order))&uint64(size-1) >= uint64(b)
			})
		}
		return values, bounds, free
	}
	if j.work == nil {
		j.work = huge.Slice[F](len(values))
	}
	by, _ := newSpread(tb.block, everything, lead, bucketHash)
	bounds = newPartition(values, 1<<lead, j.workers, bySpread[F](by)).scatter(j.work, nil, nil)
	return j.work[:len(values)], bounds, free
}

// leads says whether ascending fingerprints are in order of the buckets of
// table t: whether its block begins with the first bits of them, enough for
// lead bits or for the whole block.
func (j *join[F]) leads(t, lead int) bool {
	tb := &j.plan.tables[t]
	top := j.top
	for _, p := range tb.pieces {
		if p.shift+p.width == top {
			top = p.shift
		}
	}
	return j.top-top >= min(lead, tb.width)
}
