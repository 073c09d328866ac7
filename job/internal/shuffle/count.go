package shuffle

import (
	"sync"

	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/columns"
)

// Count counts what the join does in one table. Its method Add is safe for
// concurrent use, and does nothing on nil.
type Count struct {
	rundir.TableCount
	mu sync.Mutex
}

// NewCounts returns a zero count for each table: first those of the tiers' segments,
// then those of mapper.Tables.
func NewCounts(tiers mapper.Tiers, rule mapper.Rule) (counts []*Count) {
	keys := mapper.NewKeyEmitter(tiers, rule)
	for t := range tiers.Tables() + len(mapper.Tables) {
		counts = append(counts, &Count{TableCount: rundir.TableCount{Table: keys.TableName(t)}})
	}
	return counts
}

// Counted returns the counts of the tables that have postings.
func Counted(counts []*Count) (of []rundir.TableCount) {
	for _, c := range counts {
		if c.Postings > 0 {
			of = append(of, c.TableCount)
		}
	}
	return of
}

// Add adds another count to c. Sizes of the largest group do not add up: the
// maximum stays.
func (c *Count) Add(other rundir.TableCount) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.TableCount = c.Plus(other)
}

// AddDocuments adds to c a group of n documents that share a value in a table of
// mapper.Tables. No partial reduce merges postings there, so each counts as a
// posting list.
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

// Keys counts, for each key of a segment table, its postings and its posting
// lists: the sizes of its group before and after the partial reduce. It has
// counts for keyBits bits. Longer keys are hashed to that many, so several may
// share a count. Not safe for concurrent use.
type Keys[F columns.Fingerprint] struct {
	number columns.Spread
	counts []keyCount
}

type keyCount struct{ postings, lists int64 }

// keyBits is the width of a key at distance 3. So many counts fit into a core's
// cache.
const keyBits = 16

// NewKeys returns zero counts for a table of the layout.
func NewKeys[F columns.Fingerprint](layout *simhash.Layout, table int) *Keys[F] {
	number, width := columns.NewSpread(layout.Block(table), columns.Everything, keyBits, columns.DealHash)
	return &Keys[F]{number, make([]keyCount, 1<<width)}
}

// Add adds the posting list of fingerprint f, which documents documents have.
func (k *Keys[F]) Add(f *F, documents int) {
	c := &k.counts[columns.Number(f, &k.number)]
	c.postings += int64(documents)
	c.lists++
}

// AddKeys adds to c the sum of the given counts of one table. No posting list may
// be in more than one of them.
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
