package hamming

import (
	"context"
	"math/bits"
	"sort"
	"sync"

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
	p := newPool[F](j.ctx)
	joiners := make([]*comparer[F], j.workers)
	for w := range joiners {
		joiners[w] = &comparer[F]{k: j.k, simd: j.simd, emit: j.emit(w), pool: p}
	}
	for t := range j.plan.tables {
		list, bounds, free := j.route(values, t)
		sorted := &list[0] == &values[0]
		p.reset(len(bounds) - 1)
		var wg sync.WaitGroup
		run := func(c *comparer[F]) {
			for {
				next, ok := p.take()
				if !ok {
					return
				}
				if next.values == nil {
					tb := &j.plan.tables[t]
					lo, hi := bounds[next.bucket], bounds[next.bucket+1]
					for key := tb.from; key < tb.to; key++ {
						f := scope{keys: j.plan.keys, from: key, to: key + 1}
						width := j.plan.keys[key].ones()
						if sorted && width <= j.top && j.plan.keys[key] == span(j.top-width, width) {
							width = min(width, bits.Len(uint(len(values)/c.groupTarget())))
							c.ascending(list[lo:hi:hi+slack], f, uint(j.top-width))
							continue
						}
						c.key(list[lo:hi], f, free, 0)
					}
				} else {
					c.split(next.values, next.scope, 0)
				}
				p.done()
			}
		}
		for _, c := range joiners[1:] {
			wg.Go(func() { run(c) })
		}
		run(joiners[0])
		wg.Wait()
		if err := j.ctx.Err(); err != nil {
			return err
		}
		j.done(1)
	}
	return nil
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

// A task is a bucket by number, or a group a worker had no time for.
type task[F Fingerprint] struct {
	bucket int
	values []F // nil: the bucket
	scope  scope
}

// A pool hands tasks to workers: first the groups that other workers put
// back, then the next bucket.
type pool[F Fingerprint] struct {
	ctx     context.Context
	mu      sync.Mutex
	changed sync.Cond
	groups  []task[F]
	next    int // bucket
	buckets int
	running int
	waiting int
}

func newPool[F Fingerprint](ctx context.Context) *pool[F] {
	p := &pool[F]{ctx: ctx}
	p.changed.L = &p.mu
	return p
}

func (p *pool[F]) reset(buckets int) { p.next, p.buckets = 0, buckets }

// take waits for a task; false means that none will come.
func (p *pool[F]) take() (task[F], bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if p.ctx.Err() != nil {
			p.groups = nil
			p.changed.Broadcast()
			return task[F]{}, false
		}
		if n := len(p.groups); n > 0 {
			t := p.groups[n-1]
			p.groups = p.groups[:n-1]
			p.running++
			return t, true
		}
		if p.next < p.buckets {
			p.next++
			p.running++
			return task[F]{bucket: p.next - 1}, true
		}
		if p.running == 0 {
			p.changed.Broadcast()
			return task[F]{}, false
		}
		p.waiting++
		p.changed.Wait()
		p.waiting--
	}
}

func (p *pool[F]) done() {
	p.mu.Lock()
	p.running--
	if p.running == 0 {
		p.changed.Broadcast()
	}
	p.mu.Unlock()
}

// offer gives a group away if a worker waits for one.
func (p *pool[F]) offer(values []F, f scope) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting <= len(p.groups) {
		return false
	}
	p.groups = append(p.groups, task[F]{values: append([]F(nil), values...), scope: f})
	p.changed.Signal()
	return true
}
