package machine

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Budget is memory that several goroutines share, a data.Memory: who takes more
// than is left waits, in turn. It holds nothing itself.
type Budget struct {
	size int64
	left *semaphore.Weighted
}

// NewBudget returns a budget of so many bytes.
func NewBudget(size int64) *Budget {
	return &Budget{size: size, left: semaphore.NewWeighted(size)}
}

// Take waits until n bytes are left, or all of them if they are fewer, takes
// them, and returns how many.
func (b *Budget) Take(n int64) int64 {
	n = min(n, b.size)
	_ = b.left.Acquire(context.Background(), n) // which does not end, and there are so many
	return n
}

// Give gives back n bytes that were taken.
func (b *Budget) Give(n int64) { b.left.Release(n) }
