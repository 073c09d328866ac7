package shuffle

import (
	"sync"

	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
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
	keys := mapper.NewMap(layout, rule)
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

// AddGroup adds a group of n postings, unless it is empty.
func AddGroup(c *rundir.TableCount, n int64) {
	if n == 0 {
		return
	}
	c.Postings += n
	c.Groups++
	if n > 1 {
		c.Compared++
	}
	c.Largest = max(c.Largest, n)
}
