package reducer

import (
	"math/bits"
	"slices"

	"github.com/neardup/neardup/simhash/columns"
)

// Postings are postings of one table as columns, in any order. A value is key and
// suffix together, as mapper.KeyEmitter packs them. The zero value is empty.
type Postings[F columns.Fingerprint] struct {
	values []F
	docs   []uint64
	ends   []int // where each value's documents end in docs; nil while each has one
}

// Add adds a value and the documents that have it, which ascend.
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

// Grow makes room for n more values of one document each.
func (p *Postings[F]) Grow(n int) {
	p.values, p.docs = slices.Grow(p.values, n), slices.Grow(p.docs, n)
}

// Len is the number of values that were added.
func (p *Postings[F]) Len() int { return len(p.values) }

// Documents is the number of documents that were added, in all.
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

// PostingLists is the result of a reduce: the distinct values, ascending, each with
// the documents that have it. It refers to the Postings that it was made of.
type PostingLists[F columns.Fingerprint] struct {
	*columns.Lists[F]
	from *Postings[F]
}

// Documents appends the documents of list i to dst, ascending and each once, even
// if a posting was delivered twice.
func (e *PostingLists[F]) Documents(dst []uint64, i int) []uint64 {
	from := len(dst)
	dst = e.gather(dst, i)
	return dst[:from+len(e.ascending(i, dst[from:]))]
}

// gather appends the documents of list i as they came.
func (e *PostingLists[F]) gather(dst []uint64, i int) []uint64 {
	if e.from.ends == nil {
		for _, name := range e.Members(i) {
			dst = append(dst, e.from.docs[name])
		}
		return dst
	}
	for _, name := range e.Members(i) {
		dst = append(dst, e.from.of(name)...)
	}
	return dst
}

// ascending sorts what gather appended for list i. A posting delivered twice counts
// once.
func (e *PostingLists[F]) ascending(i int, docs []uint64) []uint64 {
	if len(e.Members(i)) == 1 {
		return docs
	}
	slices.Sort(docs)
	return slices.Compact(docs)
}

// Each calls visit with each list and its documents, as Documents returns them. It
// gathers those of many lists at a time, so that cache misses overlap. docs is reused.
func (e *PostingLists[F]) Each(visit func(i int, docs []uint64) error) error {
	var docs []uint64
	var ends [256]int
	for first := 0; first < e.Len(); first += len(ends) {
		lists := ends[:min(len(ends), e.Len()-first)]
		docs = docs[:0]
		for i := range lists {
			docs = e.gather(docs, first+i)
			lists[i] = len(docs)
		}
		from := 0
		for i, end := range lists {
			if err := visit(first+i, e.ascending(first+i, docs[from:end])); err != nil {
				return err
			}
			from = end
		}
	}
	return nil
}

// Partial is phase one of the salted reduce. It turns the postings of one (salt,
// key) partition of a table into one posting list for each distinct value. It
// sorts on workers goroutines; 0 stands for GOMAXPROCS. It fails if a value has
// more than width bits, or if there are more than 2³² − 1 values. Nothing may be
// added to p while the lists are in use.
//
// The salt is computed from the suffix, so identical fingerprints are always in
// the same partition and become one list here, before they travel on.
func Partial[F columns.Fingerprint](p *Postings[F], width, workers int) (*PostingLists[F], error) {
	l, err := columns.Collapse(p.values, width, workers)
	return &PostingLists[F]{l, p}, err
}

// Final is phase two. It merges what the partial reduces of all salts delivered for
// one partition of a table's keys: one posting list for each distinct value. A
// [Grouper] then gathers the groups of the keys from these. The arguments and
// errors are those of [Partial].
func Final[F columns.Fingerprint](came *Postings[F], width, workers int) (*PostingLists[F], error) {
	return Partial(came, width, workers)
}

// Grouper gathers the groups of keys from the values of a partition, which holds
// all values of each of its keys: see [columns.Grouper]. Only one goroutine may
// use it at a time.
type Grouper[F columns.Fingerprint] struct{ columns.Grouper[F] }

// ByValue sorts a column of postings by value, on workers goroutines. A posting has
// its value in the upper 32 bits, the document's place in the lower; equal values
// keep their order. So the postings of a group become adjacent. Work is a buffer
// of the same length. The result is in one of the two slices; ByValue returns the
// other as spare.
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

// byValue is ByValue on one goroutine: a radix sort of four passes, one for each
// byte of the value, without those whose byte is the same in all postings.
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
