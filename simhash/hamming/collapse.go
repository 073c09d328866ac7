package hamming

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/neardup/neardup/simhash/internal/huge"
)

// A Set holds fingerprints with the identical ones collapsed: the distinct
// values in ascending order and, for each, the documents that have it (its
// members). It is immutable and safe for concurrent use.
type Set[F Fingerprint] struct {
	bits   int
	values []F      // with slack
	docs   []uint32 // document numbers in order of (value, number)
	starts []uint32 // the members of value i are docs[starts[i]:starts[i+1]]; nil: docs[i] alone

	top int // all values agree on the bits from here on
	dir directory
	hot map[int]directory // of places of dir with many values, by place

	spare atomic.Pointer[[]F] // memory the sort no longer needs; the first join takes it
}

// Collapse builds the Set of fps, in which the index is the document number.
// It fails if there are more than 2³² − 1, or if a fingerprint has more
// than opt.Bits bits.
func Collapse[F Fingerprint](fps []F, opt Options) (*Set[F], error) {
	width, err := width[F](opt)
	if err != nil {
		return nil, err
	}
	n := len(fps)
	if uint64(n) > maxDocuments {
		return nil, fmt.Errorf("hamming: %d fingerprints: write at most 2³² − 1", n)
	}
	s := &Set[F]{bits: width}
	workers := opt.workers()

	// One pass through memory brings the fingerprints to buckets of about
	// sortBucket by their leading bits; the buckets are sorted in cache.
	s.top = min(width, prefixEnd(fps, workers))
	lead := min(s.top, max(0, min(12, bits.Len(uint(n/sortBucket)))))
	work := huge.Slice[F](n + slack)[:n]
	s.docs = huge.Slice[uint32](n)
	bounds := intoBuckets(fps, s.top, lead, workers, work, s.docs)

	first := make([]uint32, len(bounds)) // distinct values before each bucket
	each(workers, len(bounds)-1, func() func(int) {
		var st sorter[F]
		return func(b int) {
			lo, hi := bounds[b], bounds[b+1]
			first[b+1] = uint32(st.sort(work[lo:hi], s.docs[lo:hi]))
		}
	})
	for b, end := range bounds[1:] {
		first[b+1] += first[b]
		if end > bounds[b] && word(&work[end-1]).length() > width {
			return nil, fmt.Errorf("hamming: a fingerprint has more than %d bits: %w", width, errBits)
		}
	}
	s.take(work, bounds, first, lead, workers)
	s.findHot(workers)
	return s, nil
}

// take makes the values, their members and the directory of work, which is in
// order in its buckets; first has the distinct values before each bucket.
func (s *Set[F]) take(work []F, bounds []int, first []uint32, lead, workers int) {
	n, m := len(work), int(first[len(first)-1])
	dirBits := min(s.top, max(lead, bits.Len(uint(m))-3))
	s.dir = newDirectory(s.top, dirBits)
	if m == n {
		s.values = work
	} else {
		s.values = huge.Slice[F](m + slack)[:m]
		s.starts = huge.Slice[uint32](m + 1)
		s.starts[m] = uint32(n)
		s.spare.Store(&work)
	}
	each(workers, len(bounds)-1, func() func(int) {
		return func(b int) {
			lo, hi := bounds[b], bounds[b+1]
			if lo == hi {
				return
			}
			next := 0 // from here on dir is to be filled
			if lo > 0 {
				next = place(&s.dir, &work[lo-1]) + 1
			}
			first, last := first[b], first[b+1]
			if s.starts != nil {
				at := 0
				values, starts := s.values[first:last], s.starts[first:last]
				for i := lo; i < hi; i++ {
					if i == lo || work[i] != work[i-1] {
						values[at], starts[at] = work[i], uint32(i)
						at++
					}
				}
			}
			fill(&s.dir, s.values, first, last, next)
		}
	})
	end := 0
	if n > 0 {
		end = place(&s.dir, &s.values[m-1]) + 1
	}
	for i := range s.dir.at[end:] {
		s.dir.at[end+i] = uint32(m)
	}
}

// intoBuckets brings fps to values, and their places to docs, by their lead
// leading bits, those below top, or by finer cuts where many share those. It returns
// where the buckets begin and end.
func intoBuckets[F Fingerprint](fps []F, top, lead, workers int, values []F, docs []uint32) []int {
	buckets := 1 << lead
	shift, mask := uint(top-lead), uint64(buckets-1)
	by := func(fps []F, to []uint16) {
		for i := range fps {
			to[i] = uint16(lowBits(&fps[i], shift) & mask)
		}
	}
	if c := newCut(fps, top, lead); c != nil {
		buckets = c.buckets
		by = func(fps []F, to []uint16) { numbers(c, fps, to) }
	}
	return newPartition(fps, buckets, workers, by).scatter(values, nil, docs)
}

// A directory of ascending values that agree beyond mask: at[v>>shift&mask] is
// the index of the first value that has those bits or higher ones.
type directory struct {
	shift uint
	mask  uint64
	at    []uint32
}

// newDirectory returns a directory by the width bits below top, yet to be
// filled.
func newDirectory(top, width int) directory {
	return directory{uint(top - width), 1<<width - 1, huge.Slice[uint32](1<<width + 1)}
}

func place[F Fingerprint](d *directory, p *F) int {
	return int(lowBits(p, d.shift) & d.mask)
}

// fill enters values[from:to], from place next on.
func fill[F Fingerprint](d *directory, values []F, from, to uint32, next int) int {
	for i := from; i < to; i++ {
		for end := place(d, &values[i]); next <= end; next++ {
			d.at[next] = i
		}
	}
	return next
}

// hotMin is how many values a place of the directory needs for one of its own.
const hotMin = 256

// findHot makes directories for the places that many values share.
func (s *Set[F]) findHot(workers int) {
	const chunk = 1 << 16
	places := len(s.dir.at) - 1
	s.hot = map[int]directory{}
	var mu sync.Mutex
	each(workers, (places+chunk-1)/chunk, func() func(int) {
		return func(c int) {
			for p := c * chunk; p < min((c+1)*chunk, places); p++ {
				lo, hi := s.dir.at[p], s.dir.at[p+1]
				if hi-lo < hotMin {
					continue
				}
				top := diff(&s.values[lo], &s.values[hi-1]).length()
				d := newDirectory(top, min(top, bits.Len32(hi-lo)-3))
				next := fill(&d, s.values, lo, hi, 0)
				for i := range d.at[next:] {
					d.at[next+i] = hi
				}
				mu.Lock()
				s.hot[p] = d
				mu.Unlock()
			}
		}
	})
}

// prefixEnd returns the bit from which on all fingerprints agree, 128 if that
// does not look worth knowing.
func prefixEnd[F Fingerprint](fps []F, workers int) int {
	const sample = 64
	if len(fps) < sortBucket {
		return 128
	}
	vary := new(Uint128)
	for i := range sample {
		*vary = vary.or(diff(&fps[0], &fps[len(fps)/sample*i]))
	}
	if vary.length() >= 8*int(unsafe.Sizeof(fps[0]))-1 {
		return 128
	}
	var mu sync.Mutex
	const parts = 64
	each(workers, parts, func() func(int) {
		return func(p int) {
			var own Uint128
			for i := len(fps) * p / parts; i < len(fps)*(p+1)/parts; i++ {
				own = own.or(diff(&fps[0], &fps[i]))
			}
			mu.Lock()
			*vary = vary.or(own)
			mu.Unlock()
		}
	})
	return vary.length()
}

// A cut deals fingerprints to buckets in their order: by the lead bits below
// top, and those of digits that many share by further bits.
type cut struct {
	shift, lead uint // of the 64 bits below top
	down        uint // to those 64 bits
	digits      []cutDigit
	buckets     int
}

// Of what is in a digit, v goes to bucket first + (v-from)>>shift, but not
// beyond last.
type cutDigit struct {
	from        uint64
	first, last uint32
	shift       uint8
}

// newCut returns how to deal the fingerprints, which agree on the bits from top
// on, if dealing them by the lead bits below top alone would make giant
// buckets; else nil.
func newCut[F Fingerprint](fps []F, top, lead int) *cut {
	const size = 4096
	n := len(fps)
	if lead == 0 || n < 8*sortBucket {
		return nil
	}
	c := &cut{lead: uint(lead), down: uint(max(0, top-64))}
	width := uint(min(top, 64))
	c.shift = width - c.lead
	in := make([][]uint64, 1<<lead)
	giant := 0
	for i := range size {
		v := lowBits(&fps[n/size*i], c.down) & (^uint64(0) >> (64 - width))
		d := v >> c.shift
		in[d] = append(in[d], v)
		giant = max(giant, len(in[d]))
	}
	if giant*n/size <= 8*sortBucket {
		return nil
	}
	c.digits = make([]cutDigit, len(in))
	at := uint32(0)
	for d, values := range in {
		digit := &c.digits[d]
		*digit = cutDigit{from: uint64(d) << c.shift, first: at, last: at, shift: uint8(c.shift)}
		if parts := len(values) * n / size / sortBucket; parts > 2 {
			// Steps of a power of two, from where most of it is.
			slices.Sort(values)
			few := len(values) / 64
			from, to := values[few], values[len(values)-1-few]
			digit.from = from
			digit.shift = uint8(max(0, bits.Len64(to-from)-bits.Len(uint(parts))))
			digit.last += uint32((to-from)>>digit.shift) + 2
			digit.first++
			at = digit.last
		}
		at++
	}
	c.buckets = int(at)
	if c.buckets > 1<<16 {
		return nil
	}
	return c
}

// numbers is the numbering by a cut.
func numbers[F Fingerprint](c *cut, fps []F, to []uint16) {
	mask := uint64(1)<<(c.shift+c.lead) - 1
	if c.shift+c.lead == 64 {
		mask = ^uint64(0)
	}
	for i := range fps {
		v := lowBits(&fps[i], c.down) & mask
		d := &c.digits[v>>c.shift]
		b := d.first + uint32(min((v-d.from)>>d.shift, uint64(d.last-d.first)))
		if v < d.from {
			b = d.first - 1
		}
		to[i] = uint16(b)
	}
}

// sortBucket fingerprints with their documents sort within a core's cache.
const sortBucket = 24 << 10

// lowBits returns the low 64 bits of a fingerprint shifted right, by no more
// than its width.
func lowBits[F Fingerprint](p *F, shift uint) uint64 {
	if unsafe.Sizeof(*p) == 8 {
		return *(*uint64)(unsafe.Pointer(p)) >> shift
	}
	return word(p).shr(int(shift)).Lo
}

// Len returns the number of distinct fingerprints.
func (s *Set[F]) Len() int { return len(s.values) }

// Value returns the i-th smallest distinct fingerprint.
func (s *Set[F]) Value(i int) F { return s.values[i] }

// Members returns the documents that have fingerprint i, ascending. The caller
// must not change them.
func (s *Set[F]) Members(i int) []uint32 {
	if s.starts == nil {
		return s.docs[i : i+1 : i+1]
	}
	return s.docs[s.starts[i]:s.starts[i+1]:s.starts[i+1]]
}

// Smallest returns the smallest document that has fingerprint i.
func (s *Set[F]) Smallest(i int) uint32 {
	if s.starts == nil {
		return s.docs[i]
	}
	return s.docs[s.starts[i]]
}

// index returns the index of *fp, which is in the set.
func (s *Set[F]) index(fp *F) int {
	p := place(&s.dir, fp)
	lo, hi := int(s.dir.at[p]), int(s.dir.at[p+1])
	if hi-lo >= hotMin {
		d := s.hot[p]
		p = place(&d, fp)
		lo, hi = int(d.at[p]), int(d.at[p+1])
	}
	for hi-lo > 8 {
		mid := int(uint(lo+hi) / 2)
		if less(&s.values[mid], fp) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	for lo < hi && less(&s.values[lo], fp) {
		lo++
	}
	return lo
}

// A finder holds values of a set whose indices are yet to be looked up: done
// together, the look-ups wait for memory at the same time, not one after the
// other.
type finder[F Fingerprint] struct {
	n      int
	values [findBatch]F
	at     [findBatch]uint32 // their indices, after find
	first  [findBatch]F
}

const findBatch = 256

// find looks the values up in their set.
func (f *finder[F]) find(s *Set[F]) {
	values := f.values[:f.n]
	for i := range values {
		f.at[i] = s.dir.at[place(&s.dir, &values[i])]
	}
	for i := range values {
		f.first[i] = s.values[f.at[i]]
	}
	for i := range values {
		if f.first[i] != values[i] {
			f.at[i] = uint32(s.index(&values[i]))
		}
	}
	f.n = 0
}
