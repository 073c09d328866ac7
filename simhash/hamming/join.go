package hamming

import (
	"context"
	"math/bits"
	"sort"
	"sync"
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
	work    []F // as long as the list, or nil: allocated when needed
	emit    func(worker int) func(a, b *F, distance int)
}

// bucketTarget is the number of fingerprints a bucket should have: with the
// copy a key makes of them they stay in a core's second-level cache.
const bucketTarget = 32 << 10

// run joins values, which ascend.
func (j *join[F]) run(values []F) error {
	p := newPool[F](j.ctx)
	joiners := make([]*comparer[F], j.workers)
	for w := range joiners {
		joiners[w] = &comparer[F]{k: j.k, simd: j.simd, emit: j.emit(w), pool: p}
	}
	for t := range j.plan.tables {
		list, bounds := j.route(values, t)
		p.reset(len(bounds) - 1)
		var wg sync.WaitGroup
		run := func(c *comparer[F]) {
			for {
				next, ok := p.take()
				if !ok {
					return
				}
				if next.values == nil {
					next.values = list[bounds[next.bucket]:bounds[next.bucket+1]]
					tb := &j.plan.tables[t]
					for key := tb.from; key < tb.to; key++ {
						c.key(next.values, frame{keys: j.plan.keys, from: key, to: key + 1}, 0)
					}
				} else {
					c.split(next.values, next.frame, 0)
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
	}
	return nil
}

// route brings values to the buckets of table t; fingerprints of one block
// value are in one bucket.
func (j *join[F]) route(values []F, t int) ([]F, []int) {
	tb := &j.plan.tables[t]
	lead := min(tb.width, bits.Len(uint(len(values)/bucketTarget)), 14)
	if lead == 0 {
		return values, []int{0, len(values)}
	}
	size := 1 << lead
	if top := tb.pieces[0]; top.shift+top.width == j.plan.bits && top.width >= lead {
		// Ascending values are in order of their leading block.
		bounds := make([]int, size+1)
		bounds[size] = len(values)
		for b := 1; b < size; b++ {
			rest := values[bounds[b-1]:]
			bounds[b] = bounds[b-1] + sort.Search(len(rest), func(i int) bool {
				return lowBits(&rest[i], uint(j.plan.bits-lead)) >= uint64(b)
			})
		}
		return values, bounds
	}
	if j.work == nil {
		j.work = makeLarge[F](len(values))
	}
	shift := uint(64 - lead)
	counts := make([][]int, j.workers)
	each(j.workers, j.workers, func() func(int) {
		return func(w int) {
			c := make([]int, size)
			mask := tb.block
			lo, hi := len(values)*w/j.workers, len(values)*(w+1)/j.workers
			for i := lo; i < hi; i++ {
				c[route(&values[i], &mask, shift)]++
			}
			counts[w] = c
		}
	})
	bounds := make([]int, size+1)
	at := 0
	for b := range size {
		bounds[b] = at
		for w := range counts {
			at, counts[w][b] = at+counts[w][b], at
		}
	}
	bounds[size] = at
	each(j.workers, j.workers, func() func(int) {
		return func(w int) {
			c := counts[w]
			mask := tb.block
			lo, hi := len(values)*w/j.workers, len(values)*(w+1)/j.workers
			for i := lo; i < hi; i++ {
				b := route(&values[i], &mask, shift)
				j.work[c[b]] = values[i]
				c[b]++
			}
		}
	})
	return j.work[:len(values)], bounds
}

// A task is a bucket by number, or a group a worker had no time for.
type task[F Fingerprint] struct {
	bucket int
	values []F // nil: the bucket
	frame  frame
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
func (p *pool[F]) offer(values []F, f frame) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting <= len(p.groups) {
		return false
	}
	p.groups = append(p.groups, task[F]{values: append([]F(nil), values...), frame: f})
	p.changed.Signal()
	return true
}
