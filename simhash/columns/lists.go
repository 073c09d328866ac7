package columns

import (
	"fmt"
	"math/bits"
	"runtime"
)

// most is the largest number of values that Lists hold.
const most = 1<<32 - 1

// Lists hold distinct values in ascending order and, for each, its posting list:
// the names of what has the value. They are immutable and safe for concurrent use.
type Lists[F Fingerprint] struct {
	values []F
	names  []uint32 // in order of (value, name)
	starts []uint32 // the names of value i are names[starts[i]:starts[i+1]]; nil: names[i] alone
	dir    directory
}

// Collapse returns the Lists of values, each named by its place. It works on
// workers goroutines; 0 stands for GOMAXPROCS. It fails if there are more than
// 2³² − 1 values, or if one has more than width bits.
func Collapse[F Fingerprint](values []F, width, workers int) (*Lists[F], error) {
	n := len(values)
	if uint64(n) > most {
		return nil, fmt.Errorf("columns: %d values: write at most 2³² − 1", n)
	}
	if width < 1 || width > Width[F]() {
		return nil, fmt.Errorf("columns: values of %d bits: write 1 to %d", width, Width[F]())
	}
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	l := &Lists[F]{values: make([]F, n), names: make([]uint32, n)}

	// One pass through memory brings the values to partitions of about
	// sortBucket by their leading bits; these are sorted in cache.
	lead := min(width, 12, bits.Len(uint(n/sortBucket)))
	leading := directory{shift: uint(width - lead), mask: 1<<lead - 1}
	bounds := newDealer(values, 1<<lead, workers, func(values []F, to []uint16) {
		for i := range values {
			to[i] = uint16(place(&leading, &values[i]))
		}
	}).scatter(l.values, nil, l.names)
	first := make([]uint32, len(bounds)) // distinct values before each partition
	Each(workers, len(bounds)-1, func(int) func(int) {
		var st sorter[F]
		return func(b int) {
			lo, hi := bounds[b], bounds[b+1]
			first[b+1] = uint32(st.sort(l.values[lo:hi], l.names[lo:hi]))
		}
	})
	for b, end := range bounds[1:] {
		first[b+1] += first[b]
		if end > bounds[b] {
			if err := Check(&l.values[end-1], width); err != nil {
				return nil, err
			}
		}
	}
	if int(first[len(bounds)-1]) < n {
		l.compact(bounds, first, workers)
	}
	l.direct(workers)
	return l, nil
}

// NewLists returns the Lists of values that are distinct and ascend. The names of
// value i are names[starts[i]:starts[i+1]]. The result keeps all three slices.
func NewLists[F Fingerprint](values []F, names, starts []uint32) *Lists[F] {
	l := &Lists[F]{values: values, names: names, starts: starts}
	l.direct(1)
	return l
}

// compact removes repeated values. The values are sorted; first has, for each
// bucket, how many distinct ones come before it.
func (l *Lists[F]) compact(bounds []int, first []uint32, workers int) {
	sorted, m := l.values, int(first[len(first)-1])
	l.values, l.starts = make([]F, m), make([]uint32, m+1)
	l.starts[m] = uint32(len(sorted))
	Each(workers, len(bounds)-1, func(int) func(int) {
		return func(b int) {
			at := first[b]
			for i := bounds[b]; i < bounds[b+1]; i++ {
				if i == bounds[b] || sorted[i] != sorted[i-1] {
					l.values[at], l.starts[at] = sorted[i], uint32(i)
					at++
				}
			}
		}
	})
}

// A directory narrows a search in ascending values to those of the same leading
// bits: at[v>>shift&mask] is the index of the first value that has those bits or
// higher ones. All values agree in the bits above the mask.
type directory struct {
	shift uint
	mask  uint64
	at    []uint32
}

func place[F Fingerprint](d *directory, p *F) int {
	return int(Shifted(p, d.shift) & d.mask)
}

// direct makes the directory. It goes by the leading ones of the bits that vary.
func (l *Lists[F]) direct(workers int) {
	m, top := len(l.values), 0
	if m > 0 {
		top = Diff(&l.values[0], &l.values[m-1]).Len()
	}
	width := min(top, max(0, bits.Len(uint(m))-3))
	l.dir = directory{uint(top - width), 1<<width - 1, make([]uint32, 1<<width+1)}
	const chunk = 1 << 16
	Each(workers, m/chunk+1, func(int) func(int) {
		return func(c int) {
			next := 0 // from here on at is to be filled
			if c > 0 {
				next = place(&l.dir, &l.values[c*chunk-1]) + 1
			}
			for i := c * chunk; i < min((c+1)*chunk, m); i++ {
				for end := place(&l.dir, &l.values[i]); next <= end; next++ {
					l.dir.at[next] = uint32(i)
				}
			}
			if (c+1)*chunk > m {
				for i := range l.dir.at[next:] {
					l.dir.at[next+i] = uint32(m)
				}
			}
		}
	})
}

// sortBucket is how many fingerprints, with their names, are sorted within a core's
// cache.
const sortBucket = 24 << 10

// Len is the number of distinct values.
func (l *Lists[F]) Len() int { return len(l.values) }

// Bytes is the memory that the lists take.
func (l *Lists[F]) Bytes() int {
	return Width[F]()/8*cap(l.values) + 4*(cap(l.names)+cap(l.starts)+cap(l.dir.at))
}

// Values are the distinct values, ascending. The caller must not change them.
func (l *Lists[F]) Values() []F { return l.values }

// Members is the posting list of value i: the names that have it, ascending. The
// caller must not change it.
func (l *Lists[F]) Members(i int) []uint32 {
	if l.starts == nil {
		return l.names[i : i+1 : i+1]
	}
	return l.names[l.starts[i]:l.starts[i+1]:l.starts[i+1]]
}

// index returns the index of *p, which must be one of the values.
func (l *Lists[F]) index(p *F) int {
	at := place(&l.dir, p)
	lo, hi := int(l.dir.at[at]), int(l.dir.at[at+1])
	for hi-lo > 8 {
		mid := int(uint(lo+hi) / 2)
		if Less(&l.values[mid], p) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	for lo < hi && Less(&l.values[lo], p) {
		lo++
	}
	return lo
}

// FindBatch is the most values that Find looks up at once.
const FindBatch = 256

// Find sets at[i] to the index of values[i]. There may be at most FindBatch values,
// and all of them must be in the lists. Looking many up together lets their reads
// of memory overlap.
func (l *Lists[F]) Find(values []F, at []uint32) {
	var first [FindBatch]F
	for i := range values {
		at[i] = l.dir.at[place(&l.dir, &values[i])]
	}
	for i := range values {
		first[i] = l.values[at[i]]
	}
	for i := range values {
		if first[i] != values[i] {
			at[i] = uint32(l.index(&values[i]))
		}
	}
}
