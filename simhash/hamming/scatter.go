package hamming

import (
	"sync"
	"sync/atomic"
	"unsafe"
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
	lines := p.buckets > 1 && streams(out) && (named == nil || streams(named))
	each(p.workers, len(p.counts), func() func(int) {
		to := make([]uint16, block)
		var own []uint32
		if named != nil && names == nil {
			own = make([]uint32, block)
		}
		return func(part int) {
			next := p.counts[part]
			w := sink[F]{out: out, named: named, next: next}
			if lines {
				w.lines = newLineWriter(out, next)
				if named != nil {
					w.namedLines = newLineWriter(named, next)
				}
			}
			for lo, hi := p.span(part); lo < hi; lo += block {
				end := min(lo+block, hi)
				values, to := p.values[lo:end], to[:end-lo]
				p.by(values, to)
				switch {
				case named == nil:
					w.put(values, to)
				case names != nil:
					w.putNamed(values, names[lo:end], to)
				default:
					for i := range to {
						own[i] = uint32(lo + i)
					}
					w.putNamed(values, own[:len(to)], to)
				}
			}
			if lines {
				w.lines.close(next)
			}
			if w.namedLines != nil {
				w.namedLines.close(next)
			}
		}
	})
	return bounds
}

// A sink is what a part of a partition is scattered to.
type sink[F Fingerprint] struct {
	out        []F
	named      []uint32
	next       []uint32       // by bucket: where its next goes
	lines      *lineWriter[F] // nil: out and named are written directly
	namedLines *lineWriter[uint32]
}

func (w *sink[F]) put(values []F, to []uint16) {
	out, next, lines := w.out, w.next, w.lines
	to = to[:len(values)]
	if lines == nil {
		for i, b := range to {
			at := next[b]
			next[b] = at + 1
			out[at] = values[i]
		}
		return
	}
	for i, b := range to {
		at := next[b]
		next[b] = at + 1
		if lines.put(uint64(b), at, values[i]) {
			lines.write(uint64(b), at)
		}
	}
}

// putNamed writes values and names to the buckets to.
func (w *sink[F]) putNamed(values []F, names []uint32, to []uint16) {
	out, named, next, lines, namedLines := w.out, w.named, w.next, w.lines, w.namedLines
	to, names = to[:len(values)], names[:len(values)]
	if lines == nil {
		for i, b := range to {
			at := next[b]
			next[b] = at + 1
			out[at], named[at] = values[i], names[i]
		}
		return
	}
	for i, b := range to {
		at := next[b]
		next[b] = at + 1
		if lines.put(uint64(b), at, values[i]) {
			lines.write(uint64(b), at)
		}
		if namedLines.put(uint64(b), at, names[i]) {
			namedLines.write(uint64(b), at)
		}
	}
}

// A lineWriter writes to many places of a large slice, one element after the
// other at each. Elements wait in a line of each place until it is full and
// goes to memory as a whole, past the caches: a plain store would first read
// the line it changes, and each place would hold on to a line of the cache.
type lineWriter[T any] struct {
	out   []T
	lines []T            // a cache line of each place
	base  unsafe.Pointer // of lines
	first []uint32       // of each place, where it begins
}

const cacheLine = 64

// streamMin is the size in bytes from which a slice is written by lines; less
// stays in the cache.
const streamMin = 8 << 20

// newLineWriter returns a lineWriter to out that begins at the places at.
func newLineWriter[T any](out []T, at []uint32) *lineWriter[T] {
	per := cacheLine / int(unsafe.Sizeof(*new(T)))
	lines := make([]T, (len(at)+1)*per)
	skip := int(-uintptr(unsafe.Pointer(&lines[0])) & (cacheLine - 1) / unsafe.Sizeof(*new(T)))
	lines = lines[skip : skip+len(at)*per]
	return &lineWriter[T]{out, lines, unsafe.Pointer(&lines[0]), append([]uint32(nil), at...)}
}

// put adds x to place b, where it becomes element at of out. If it reports
// true, the line has to be written.
func (w *lineWriter[T]) put(b uint64, at uint32, x T) bool {
	one := unsafe.Sizeof(x)
	*(*T)(unsafe.Add(w.base, uintptr(b)*cacheLine+uintptr(at)*one&(cacheLine-1))) = x
	return uintptr(at+1)*one&(cacheLine-1) == 0
}

// write writes the line of place b, whose last element is at.
func (w *lineWriter[T]) write(b uint64, at uint32) {
	per := uint32(cacheLine / unsafe.Sizeof(*new(T)))
	if begin := at - (per - 1); begin >= w.first[b] {
		stream(unsafe.Pointer(&w.out[begin]), unsafe.Add(w.base, b*cacheLine))
		return
	}
	w.flush(b, at+1)
}

// flush writes what waits at place b, which ends before at.
func (w *lineWriter[T]) flush(b uint64, at uint32) {
	per := uint32(cacheLine / unsafe.Sizeof(*new(T)))
	line := w.lines[b*uint64(per) : (b+1)*uint64(per)]
	from := max((at-1)&^(per-1), w.first[b])
	for i := from; i < at; i++ {
		w.out[i] = line[i&(per-1)]
	}
}

// close writes all that waits; at are the ends of the places.
func (w *lineWriter[T]) close(at []uint32) {
	for b, end := range at {
		if end > w.first[b] {
			w.flush(uint64(b), end)
		}
	}
	streamed()
}

// streams says whether out can be written by lines.
func streams[T any](out []T) bool {
	return haveStream && uintptr(len(out))*unsafe.Sizeof(*new(T)) >= streamMin &&
		uintptr(unsafe.Pointer(&out[0]))%cacheLine == 0
}
