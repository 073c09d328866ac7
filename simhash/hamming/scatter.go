package hamming

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// each calls do(i) for every i below n on up to workers goroutines, which take
// the next i as they become free. start makes each goroutine's do.
func each(workers, n int, start func() func(i int)) {
	var next atomic.Int64
	run := func() {
		do := start()
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(i)
		}
	}
	var wg sync.WaitGroup
	for range min(workers, n) - 1 {
		wg.Go(run)
	}
	run()
	wg.Wait()
}

// A numbering writes the numbers of the buckets of values to to, which is no
// shorter.
type numbering[F Fingerprint] func(values []F, to []uint16)

// bySpread numbers by a spread of at most 16 bits.
func bySpread[F Fingerprint](s spread) numbering[F] {
	return func(values []F, to []uint16) { spreadNumbers(values, to, s) }
}

// spreadNumbers is a function of its own because the compiler does not inline
// number into the closure.
func spreadNumbers[F Fingerprint](values []F, to []uint16, s spread) {
	to = to[:len(values)]
	for i := range values {
		to[i] = uint16(number(&values[i], &s))
	}
}

// block values are numbered at a time: with their numbers they stay in a
// core's first-level cache.
const block = 2 << 10

// A partition counts how many of its values, in parts of about equal size, go
// to each bucket of a numbering.
type partition[F Fingerprint] struct {
	values  []F
	workers int
	buckets int
	by      numbering[F]
	counts  [][]uint32 // of each part by bucket; after bounds, where the bucket's next goes
}

func newPartition[F Fingerprint](values []F, buckets, workers int, by numbering[F]) *partition[F] {
	parts := 1
	if len(values) > 1<<16 && workers > 1 {
		parts = 4 * workers // so that a worker that is held up does little of it
	}
	p := &partition[F]{values: values, workers: workers, buckets: buckets, by: by, counts: make([][]uint32, parts)}
	each(workers, parts, func() func(int) {
		to := make([]uint16, block)
		return func(part int) {
			counts := make([]uint32, buckets)
			p.counts[part] = counts
			for lo, hi := p.span(part); lo < hi; lo += block {
				values := values[lo:min(lo+block, hi)]
				by(values, to)
				for _, b := range to[:len(values)] {
					counts[b]++
				}
			}
		}
	})
	return p
}

func (p *partition[F]) span(part int) (lo, hi int) {
	n := len(p.values)
	return n * part / len(p.counts), n * (part + 1) / len(p.counts)
}

// bounds returns where the buckets begin and end, and turns the counts into
// places.
func (p *partition[F]) bounds() []int {
	bounds := make([]int, p.buckets+1)
	at := uint32(0)
	for b := range p.buckets {
		bounds[b] = int(at)
		for _, c := range p.counts {
			at, c[b] = at+c[b], at
		}
	}
	bounds[p.buckets] = len(p.values)
	return bounds
}

// scatter brings the values to their buckets in out, those of a bucket in their
// order, and with each its name to the same place of named: its place in the
// values if names is nil. A nil named asks for no names. It returns where the
// buckets begin and end.
func (p *partition[F]) scatter(out []F, names, named []uint32) []int {
	bounds := p.bounds()
	each(p.workers, len(p.counts), func() func(int) {
		to := make([]uint16, block)
		return func(part int) {
			next := p.counts[part]
			for lo, hi := p.span(part); lo < hi; lo += block {
				values := p.values[lo:min(lo+block, hi)]
				to := to[:len(values)]
				p.by(values, to)
				for i, b := range to {
					at := next[b]
					next[b] = at + 1
					out[at] = values[i]
					switch {
					case named == nil:
					case names == nil:
						named[at] = uint32(lo + i)
					default:
						named[at] = names[lo+i]
					}
				}
			}
		}
	})
	return bounds
}

// bucketTarget is the number of fingerprints a bucket should have: with the
// copy a key makes of them they stay in a core's second-level cache.
const bucketTarget = 32 << 10

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
