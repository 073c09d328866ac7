package hamming

import (
	"fmt"
	"math/bits"
	"unsafe"
)

// A Set holds fingerprints with the identical ones collapsed: the distinct
// values in ascending order and, for each, the documents that have it (its
// members). It is immutable and safe for concurrent use.
type Set[F Fingerprint] struct {
	bits   int
	values []F
	docs   []uint32 // document numbers in order of (value, number)
	starts []uint32 // the members of value i are docs[starts[i]:starts[i+1]]; nil: docs[i] alone
	dir    directory
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
	s := &Set[F]{bits: width, values: make([]F, n), docs: make([]uint32, n)}
	workers := opt.workers()

	// One pass through memory brings the fingerprints to buckets of about
	// sortBucket by their leading bits; the buckets are sorted in cache.
	lead := min(width, 12, bits.Len(uint(n/sortBucket)))
	leading := directory{shift: uint(width - lead), mask: 1<<lead - 1}
	bounds := newPartition(fps, 1<<lead, workers, func(fps []F, to []uint16) {
		for i := range fps {
			to[i] = uint16(place(&leading, &fps[i]))
		}
	}).scatter(s.values, nil, s.docs)
	first := make([]uint32, len(bounds)) // distinct values before each bucket
	each(workers, len(bounds)-1, func() func(int) {
		var st sorter[F]
		return func(b int) {
			lo, hi := bounds[b], bounds[b+1]
			first[b+1] = uint32(st.sort(s.values[lo:hi], s.docs[lo:hi]))
		}
	})
	for b, end := range bounds[1:] {
		first[b+1] += first[b]
		if end > bounds[b] && word(&s.values[end-1]).length() > width {
			return nil, fmt.Errorf("hamming: a fingerprint has more than %d bits: %w", width, errBits)
		}
	}
	if int(first[len(bounds)-1]) < n {
		s.compact(bounds, first, workers)
	}
	s.direct(workers)
	return s, nil
}

// compact leaves each value once. The values are in order in their buckets;
// first has how many distinct ones come before each.
func (s *Set[F]) compact(bounds []int, first []uint32, workers int) {
	sorted, m := s.values, int(first[len(first)-1])
	s.values, s.starts = make([]F, m), make([]uint32, m+1)
	s.starts[m] = uint32(len(sorted))
	each(workers, len(bounds)-1, func() func(int) {
		return func(b int) {
			at := first[b]
			for i := bounds[b]; i < bounds[b+1]; i++ {
				if i == bounds[b] || sorted[i] != sorted[i-1] {
					s.values[at], s.starts[at] = sorted[i], uint32(i)
					at++
				}
			}
		}
	})
}

// A directory of ascending values that agree beyond mask: at[v>>shift&mask] is
// the index of the first value that has those bits or higher ones.
type directory struct {
	shift uint
	mask  uint64
	at    []uint32
}

func place[F Fingerprint](d *directory, p *F) int {
	return int(lowBits(p, d.shift) & d.mask)
}

// direct makes the directory, by the leading bits of those in which not all
// values agree.
func (s *Set[F]) direct(workers int) {
	m, top := len(s.values), 0
	if m > 0 {
		top = diff(&s.values[0], &s.values[m-1]).length()
	}
	width := min(top, max(0, bits.Len(uint(m))-3))
	s.dir = directory{uint(top - width), 1<<width - 1, make([]uint32, 1<<width+1)}
	const chunk = 1 << 16
	each(workers, m/chunk+1, func() func(int) {
		return func(c int) {
			next := 0 // from here on at is to be filled
			if c > 0 {
				next = place(&s.dir, &s.values[c*chunk-1]) + 1
			}
			for i := c * chunk; i < min((c+1)*chunk, m); i++ {
				for end := place(&s.dir, &s.values[i]); next <= end; next++ {
					s.dir.at[next] = uint32(i)
				}
			}
			if (c+1)*chunk > m {
				for i := range s.dir.at[next:] {
					s.dir.at[next+i] = uint32(m)
				}
			}
		}
	})
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

// Members returns the documents that have fingerprint i, ascending. The caller
// must not change them.
func (s *Set[F]) Members(i int) []uint32 {
	if s.starts == nil {
		return s.docs[i : i+1 : i+1]
	}
	return s.docs[s.starts[i]:s.starts[i+1]:s.starts[i+1]]
}

// index returns the index of *fp, which is in the set.
func (s *Set[F]) index(fp *F) int {
	p := place(&s.dir, fp)
	lo, hi := int(s.dir.at[p]), int(s.dir.at[p+1])
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
