package parallel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/neardup/neardup/job/internal/parallel"
)

func Example() {
	squares := make([]int, 5)
	err := parallel.Each(context.Background(), len(squares), 2, func(_ context.Context, i int) error {
		squares[i] = i * i
		return nil
	})
	fmt.Println(squares, err)
	// Output: [0 1 4 9 16] <nil>
}

// The first error ends the rest: parts that run see a context that is done, and
// no more of them start.
func TestEachStops(t *testing.T) {
	broken := errors.New("broken")
	var started atomic.Int64
	err := parallel.Each(t.Context(), 1000, 2, func(ctx context.Context, i int) error {
		started.Add(1)
		if i == 0 {
			return broken
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, broken) || started.Load() > 3 {
		t.Errorf("%v after %d parts, want the first error after the first few", err, started.Load())
	}
}

func TestGuard(t *testing.T) {
	err := parallel.Guard(func() error { panic("boom") })
	if err == nil || !strings.Contains(err.Error(), "panic: boom") || !strings.Contains(err.Error(), "parallel_test.go") {
		t.Fatalf("got %v, want the panic with its stack", err)
	}
}
