package machine_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/machine"
)

var _ data.Memory = (*machine.Budget)(nil)

// TestBudget is never overdrawn, whoever asks for how much.
func TestBudget(t *testing.T) {
	const size = 100
	b := machine.NewBudget(size)
	var taken, most atomic.Int64
	var done sync.WaitGroup
	for i := range 200 {
		done.Go(func() {
			n := b.Take(int64(i))
			now := taken.Add(n)
			for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
			}
			taken.Add(-n)
			b.Give(n)
		})
	}
	done.Wait()
	if most.Load() != size || b.Take(size+1) != size {
		t.Errorf("%d of %d were taken at once, or not given back", most.Load(), size)
	}
}
