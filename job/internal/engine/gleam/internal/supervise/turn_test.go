//go:build linux

package supervise

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
)

// One flow has the turn at a cluster until its workers have reported or it ends;
// of another cluster another has it; after some patience it is not waited for.
func TestTurn(t *testing.T) {
	const master = "turn.test:1"
	first, err := takeTurn(t.Context(), master, 2, 0)
	if err != nil || first.l == nil {
		t.Fatal(first, err)
	}
	other, err := takeTurn(t.Context(), "turn.test:2", 2, 0)
	if err != nil || other.l == nil {
		t.Fatal(other, err)
	}
	other.end()
	if late, err := takeTurn(t.Context(), master, 2, 0); err != nil || late.l != nil {
		t.Errorf("two have the turn: %v, %v", late, err)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := takeTurn(short, master, 2, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	next := make(chan *turn)
	go func() {
		second, _ := takeTurn(t.Context(), master, 2, time.Hour) // nil with an error
		next <- second
	}()
	for _, all := range [][]attempt.Progress{nil, {{Stage: attempt.Driver}, {Stage: "deal"}}, {{Stage: attempt.Driver}, {Stage: "deal"}, {Stage: "match"}}} {
		select {
		case <-next:
			t.Fatalf("the turn ended before %v", all)
		case <-time.After(200 * time.Millisecond):
		}
		first.look(all)
	}
	second := <-next
	if second == nil || second.l == nil {
		t.Fatal("the second run did not get its turn")
	}
	second.end()
	second.end()
}
