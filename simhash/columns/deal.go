package columns

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// Each calls do(i) for every i below n on up to workers goroutines, and returns
// when all are done. A goroutine takes the next i when it is free. Start is called
// once on each goroutine and makes its do, with workspace of its own; worker
// numbers the goroutines from 0.
func Each(workers, n int, start func(worker int) func(i int)) {
	var next atomic.Int64
	run := func(worker int) {
		do := start(worker)
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(i)
		}
	}
	var wg sync.WaitGroup
	for w := range min(workers, n) - 1 {
		wg.Go(func() { run(w + 1) })
	}
	run(0)
	wg.Wait()
}

// A numbering sets to[i] to the number of the partition of values[i].
type numbering[F Fingerprint] func(values []F, to []uint16)

// bySpread numbers by a spread of at most 16 bits.
func bySpread[F Fingerprint](s Spread) numbering[F] {
	return func(values []F, to []uint16) { spreadNumbers(values, to, s) }
}

// spreadNumbers is a function of its own because the compiler does not inline
// Number into the closure.
func spreadNumbers[F Fingerprint](values []F, to []uint16, s Spread) {
	to = to[:len(values)]
	for i := range values {
		to[i] = uint16(Number(&values[i], &s))
	}
}

// block is how many values are numbered at a time: with their numbers they stay in
// a core's first-level cache.
const block = 2 << 10

// A dealer brings values to partitions in two passes over parts of about equal
// size. The first counts, for each part, how many values go to each partition.
// Prefix sums of the counts then give each part its own places in each partition.
// So in the second pass all parts write at the same time without locks, and values
// of a partition keep their order.
type dealer[F Fingerprint] struct {
	values     []F
	workers    int
	partitions int
	by         numbering[F]
	counts     [][]uint32 // by part and partition: first the count, after bounds the next place
}

func newDealer[F Fingerprint](values []F, partitions, workers int, by numbering[F]) *dealer[F] {
	parts := 1
	if len(values) > 1<<16 && workers > 1 {
		parts = 4 * workers // so that a worker that is held up does little of it
	}
	p := &dealer[F]{values: values, workers: workers, partitions: partitions, by: by, counts: make([][]uint32, parts)}
	Each(workers, parts, func(int) func(int) {
		to := make([]uint16, block)
		return func(part int) {
			counts := make([]uint32, partitions)
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

func (p *dealer[F]) span(part int) (lo, hi int) {
	n := len(p.values)
	return n * part / len(p.counts), n * (part + 1) / len(p.counts)
}

// bounds turns the counts into places and returns where the partitions begin and
// end.
func (p *dealer[F]) bounds() []int {
	bounds := make([]int, p.partitions+1)
	at := uint32(0)
	for b := range p.partitions {
		bounds[b] = int(at)
		for _, c := range p.counts {
			at, c[b] = at+c[b], at
		}
	}
	bounds[p.partitions] = len(p.values)
	return bounds
}

// scatter writes the values to out, partition by partition. It writes the name of
// each to the same place of named: names[i] for value i or, if names is nil, i. If
// named is nil it writes no names. It returns where the partitions begin and end.
func (p *dealer[F]) scatter(out []F, names, named []uint32) []int {
	bounds := p.bounds()
	Each(p.workers, len(p.counts), func(int) func(int) {
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

// Deal brings values to the partitions of a spread of width bits, at most 16, on
// workers goroutines. It writes them to out, which is as long as values: partition
// p is out[bounds[p]:bounds[p+1]], its values in their order. It writes the name of
// each value to the same place of named: names[i] for value i or, if names is nil,
// i. If named is nil it writes no names.
func Deal[F Fingerprint](values []F, by Spread, width, workers int, out []F, names, named []uint32) (bounds []int) {
	return newDealer(values, 1<<width, workers, bySpread[F](by)).scatter(out, names, named)
}

// PartitionTarget is the number of values that a partition should have: with
// the copy that grouping makes of them they stay in a core's second-level cache.
const PartitionTarget = 32 << 10

// Partitions brings values to partitions by the bits of key; values that agree on
// them are in one partition. Partition p is dealt[bounds[p]:bounds[p+1]], and its
// values agree in the bits outside free. Dealt is in *work, which Partitions
// replaces if it is too small. So few values that one partition holds them are not
// copied: dealt is then values itself.
func Partitions[F Fingerprint](values []F, key Mask, workers int, work *[]F) (dealt []F, bounds []int, free Mask) {
	width := min(bits.Len(uint(len(values)/PartitionTarget)), 14)
	if width == 0 || key.IsZero() {
		return values, []int{0, len(values)}, Everything
	}
	if cap(*work) < len(values) {
		*work = make([]F, len(values))
	}
	dealt = (*work)[:len(values)]
	by, width := NewSpread(key, Everything, width, DealHash)
	if free = Everything; by.Mul != DealHash { // a partition for each value of the key
		free = key.Not()
	}
	return dealt, Deal(values, by, width, workers, dealt, nil, nil), free
}

// Slack is how many elements a Grouper's column has behind its values. Comparisons
// that work on several values at once may read them; what they hold has no effect.
const Slack = 16

// A Grouper brings together values that share a key. It is reusable workspace;
// only one goroutine may use it at a time.
type Grouper[F Fingerprint] struct {
	values []F
	ends   []uint32
}

// Group returns the values in an order in which those that agree on key are
// adjacent, and where each group ends: group g is grouped[ends[g-1]:ends[g]]. All
// values must agree in the bits outside free. Groups are not made smaller than
// about target values, so one may hold several keys. The result is valid until the
// next call and has Slack elements behind it.
func (g *Grouper[F]) Group(values []F, key, free Mask, target int) (grouped []F, ends []uint32) {
	n := len(values)
	if cap(g.values) < n+Slack {
		g.values = make([]F, n+n/8+Slack)
	}
	g.values = g.values[:n+Slack]
	grouped = g.values[:n:cap(g.values)]
	width := min(key.Ones(), bits.Len(uint(n/target)))
	if width == 0 {
		copy(grouped, values)
		g.ends = append(g.ends[:0], uint32(n))
		return grouped, g.ends
	}
	by, width := NewSpread(key, free, width, GroupHash)
	if cap(g.ends) < 1<<width {
		g.ends = make([]uint32, 1<<width)
	}
	g.ends = g.ends[:1<<width]
	ends = g.ends
	clear(ends)
	for i := range values {
		ends[Number(&values[i], &by)]++
	}
	at := uint32(0)
	for i, size := range ends {
		ends[i] = at
		at += size
	}
	for i := range values {
		to := Number(&values[i], &by)
		grouped[ends[to]] = values[i]
		ends[to]++
	}
	return grouped, ends
}
