// Package parallel calls a function for many parts of some work, on some
// goroutines, and tells how far it is ([Pass]). A part that panics fails with an
// error; it does not end the process.
package parallel

import (
	"context"
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"
)

// Each calls f(ctx, i) for i from 0 to n-1 on workers goroutines, and waits
// for all calls. After the first error, or when ctx ends, it starts no further
// calls and cancels the context of those that run. It returns the first error; a
// panic of f counts as one (see [Guard]).
func Each(ctx context.Context, n, workers int, f func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(workers, 1))
	for i := range n {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return Guard(func() error { return f(ctx, i) })
		})
	}
	return group.Wait()
}

// A Panic is the error into which Guard turns a panic.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string { return fmt.Sprintf("panic: %v\n%s", p.Value, p.Stack) }

// Guard calls f, and turns a panic of f into a *Panic with its stack. So a
// document that makes a library panic fails its task and not the process.
func Guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Panic{p, debug.Stack()}
		}
	}()
	return f()
}
