package reducer

import (
	"math/bits"
	"slices"

	"github.com/neardup/neardup/simhash/columns"
)

// Postings are postings of one table as columns, in any order: a value is key and
// suffix together, as mapper.KeyEmitter packs them. The zero Postings are empty.
type Postings[F columns.Fingerprint] struct {
	values []F
	docs   []uint64
	ends   []int // of each value's documents; nil while each has one
}

// Add adds a value and the documents that have it, ascending.
func (p *Postings[F]) Add(value F, docs ...uint64) {
	if p.ends == nil && len(docs) != 1 {
		p.ends = make([]int, len(p.values), len(p.values)+1)
		for i := range p.ends {
			p.ends[i] = i + 1
		}
	}
	p.values, p.docs = append(p.values, value), append(p.docs, docs...)
	if p.ends != nil {
		p.ends = append(p.ends, len(p.docs))
	}
}

// Len is the number of values that were added.
func (p *Postings[F]) Len() int { return len(p.values) }

// Documents is how many documents were added with them.
func (p *Postings[F]) Documents() int { return len(p.docs) }

func (p *Postings[F]) of(i uint32) []uint64 {
	if p.ends == nil {
		return p.docs[i : i+1]
	}
	from := 0
	if i > 0 {
		from = p.ends[i-1]
	}
	return p.docs[from:p.ends[i]]
}

// PostingLists are what a reduce leaves of postings: distinct values, ascending, each
// with the documents that have it.
type PostingLists[F columns.Fingerprint] struct {
	*columns.Lists[F]
	from *Postings[F]
}

// Documents appends the documents of list i to dst, ascending and each once.
func (e *PostingLists[F]) Documents(dst []uint64, i int) []uint64 {
	from := len(dst)
	members := e.Members(i)
	for _, name := range members {
		dst = append(dst, e.from.of(name)...)
	}
	if len(members) > 1 {
		slices.Sort(dst[from:])
		dst = dst[:from+len(slices.Compact(dst[from:]))] // a posting delivered twice counts once
	}
	return dst
}

// Partial is phase one of the salted reduce: the postings of one (salt, key)
// partition of a table, whose values have at most width bits, become one posting list
// for each distinct value. It sorts on workers goroutines. Postings are not to be
// added while the lists are read.
//
// The salt is taken from the suffix, so identical fingerprints are always in the
// same partition and collapse here, before they travel on.
func Partial[F columns.Fingerprint](p *Postings[F], width, workers int) (*PostingLists[F], error) {
	l, err := columns.Collapse(p.values, width, workers)
	return &PostingLists[F]{l, p}, err
}

// Final is phase two: what the salts' partial reduces delivered of a partition of
// a table's keys becomes one posting list for each distinct value, of which a Grouper
// gathers the groups of the keys.
func Final[F columns.Fingerprint](came *Postings[F], width, workers int) (*PostingLists[F], error) {
	return Partial(came, width, workers)
}

// Grouper gathers the groups of keys from the values of a partition that holds
// all of each key: see [columns.Grouper]. One goroutine uses it at a time.
type Grouper[F columns.Fingerprint] struct{ columns.Grouper[F] }

// ByValue sorts a column of postings of 32 bits of value above 32 of place by
// value, on workers goroutines, keeping the order of those that share one: what
// shares a value is a group. It uses work, which is as long, and returns the other
// of its two columns second.
func ByValue(postings, work []uint64, workers int) (sorted, spare []uint64) {
	vary := columns.Varying(postings)
	lead := min(12, bits.Len(uint(len(postings)/sortPartition)), bits.Len64(vary.Lo>>valueShift))
	if lead == 0 {
		return byValue(postings, work)
	}
	top := vary.Len()
	by, _ := columns.NewSpread(columns.Span(top-lead, lead), columns.Everything, lead, columns.DealHash)
	bounds := columns.Deal(postings, by, lead, workers, work, nil, nil)
	columns.Each(workers, len(bounds)-1, func(int) func(int) {
		return func(p int) {
			from, to := bounds[p], bounds[p+1]
			if got, _ := byValue(work[from:to], postings[from:to]); to > from && &got[0] != &work[from] {
				copy(work[from:to], got)
			}
		}
	})
	return work, postings
}

const (
	valueShift    = 32
	sortPartition = 24 << 10 // postings that sort within a core's cache
)

// byValue is ByValue by up to four passes of a radix sort: those of a byte that
// is the same everywhere are left out.
func byValue(from, to []uint64) (sorted, spare []uint64) {
	for shift := valueShift; shift < 64; shift += 8 {
		var at [257]int
		for _, r := range from {
			at[int(byte(r>>shift))+1]++
		}
		if slices.Contains(at[1:], len(from)) {
			continue
		}
		for i := range 256 {
			at[i+1] += at[i]
		}
		for _, r := range from {
			b := byte(r >> shift)
			to[at[b]] = r
			at[b]++
		}
		from, to = to, from
	}
	return from, to
}
