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
	if b.Take(size + 1) {
		t.Error("more than there is was taken")
	}
	var taken, most atomic.Int64
	var done sync.WaitGroup
	for i := range 200 {
		done.Go(func() {
			n := int64(i)
			b.Use(n, func() {
				now := taken.Add(min(n, size))
				for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
				}
				taken.Add(-min(n, size))
			})
		})
	}
	done.Wait()
	if most.Load() > size || most.Load() < size/2 || !b.Take(size) {
		t.Errorf("%d of %d were taken at once, or not given back", most.Load(), size)
	}
}
