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

// Take waits until n bytes are left, and takes them; false if there are never so
// many.
func (b *Budget) Take(n int64) bool {
	return n <= b.size && b.left.Acquire(context.Background(), n) == nil
}

// Give gives back n bytes that were taken.
func (b *Budget) Give(n int64) { b.left.Release(n) }

// Use runs f with n bytes taken, or all there are if that is less.
func (b *Budget) Use(n int64, f func()) {
	n = min(n, b.size)
	b.Take(n)
	defer b.Give(n)
	f()
}
