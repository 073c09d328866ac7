package shuffle

import (
	"sync"

	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/columns"
)

// Count counts what the join does in one table. Add may be called concurrently,
// and on nil.
type Count struct {
	rundir.TableCount
	mu sync.Mutex
}

// NewCounts are the counts of all tables, those of the layout's segments and of
// mapper.Tables.
func NewCounts(layout *simhash.Layout, rule mapper.Rule) (counts []*Count) {
	keys := mapper.NewKeyEmitter(layout, rule)
	for t := range layout.Tables() + len(mapper.Tables) {
		counts = append(counts, &Count{TableCount: rundir.TableCount{Table: keys.TableName(t)}})
	}
	return counts
}

// Counted are the counts of the tables that have postings.
func Counted(counts []*Count) (of []rundir.TableCount) {
	for _, c := range counts {
		if c.Postings > 0 {
			of = append(of, c.TableCount)
		}
	}
	return of
}

// Add adds what another count has.
func (c *Count) Add(other rundir.TableCount) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.TableCount = c.Plus(other)
}

// AddDocuments adds a group of n documents that share a value in a table of
// mapper.Tables, where each posting is a list of its own.
func AddDocuments(c *rundir.TableCount, n int64) {
	if n == 0 {
		return
	}
	c.Postings += n
	c.PostingLists += n
	c.Keys++
	if n > 1 {
		c.Compared++
	}
	c.Largest = max(c.Largest, n)
	c.LargestMapped = max(c.LargestMapped, n)
}

// Keys counts what a table of segments has under each of its keys, before the
// partial reduces and after them. Keys of more than keyBits bits are counted by a
// hash, several together. One goroutine uses it at a time.
type Keys[F columns.Fingerprint] struct {
	number columns.Spread
	counts []keyCount
}

type keyCount struct{ postings, lists int64 }

// keyBits are those of a key at distance 3; so many counts lie in a core's cache.
const keyBits = 16

// NewKeys returns the counts of a table of the layout.
func NewKeys[F columns.Fingerprint](layout *simhash.Layout, table int) *Keys[F] {
	number, width := columns.NewSpread(layout.Block(table), columns.Everything, keyBits, columns.DealHash)
	return &Keys[F]{number, make([]keyCount, 1<<width)}
}

// Add adds a posting list: a fingerprint and how many documents have it.
func (k *Keys[F]) Add(f *F, documents int) {
	c := &k.counts[columns.Number(f, &k.number)]
	c.postings += int64(documents)
	c.lists++
}

// AddKeys adds the counts of a table, each of other posting lists.
func AddKeys[F columns.Fingerprint](c *Count, of ...*Keys[F]) {
	var did rundir.TableCount
	for number := range of[0].counts {
		var sum keyCount
		for _, k := range of {
			sum.postings += k.counts[number].postings
			sum.lists += k.counts[number].lists
		}
		if sum.lists > 0 {
			did.Keys++
		}
		did.Postings += sum.postings
		did.PostingLists += sum.lists
		did.LargestMapped = max(did.LargestMapped, sum.postings)
		did.Largest = max(did.Largest, sum.lists)
	}
	c.Add(did)
}
