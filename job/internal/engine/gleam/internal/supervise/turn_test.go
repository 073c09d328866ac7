//go:build linux

package supervise

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
)

// One flow has the turn at a cluster until its workers have reported or it ends;
// of another cluster another has it; after some patience it is not waited for.
func TestTurn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "turns")
	path := filepath.Join(dir, "one.lock")
	take := func(ctx context.Context, path string, patience time.Duration) (*turn, error) {
		return takeTurn(ctx, slog.New(slog.DiscardHandler), path, 2, patience)
	}
	first, err := take(t.Context(), path, time.Hour)
	if err != nil || !first.lock.Locked() {
		t.Fatal(first, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("others may hold the turn: %v, %v", info, err)
	}
	other, err := take(t.Context(), filepath.Join(dir, "other.lock"), time.Hour)
	if err != nil || !other.lock.Locked() {
		t.Fatal(other, err)
	}
	other.end()
	began := time.Now()
	if late, err := take(t.Context(), path, 300*time.Millisecond); err != nil || late.lock.Locked() || time.Since(began) < 300*time.Millisecond {
		t.Errorf("two have the turn, or it was not waited for: %v, %v", late, err)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := take(short, path, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	next := make(chan *turn)
	go func() {
		second, _ := take(t.Context(), path, time.Hour) // nil with an error
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
	if second == nil || !second.lock.Locked() {
		t.Fatal("the second run did not get its turn")
	}
	second.end()
	second.end()
}

// A file that was left says nothing; where there can be none, a flow goes on
// without a turn, and it is told.
func TestTurnFiles(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, "left.lock")
	if err := os.WriteFile(left, []byte("process 1\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	first, err := takeTurn(t.Context(), log, left, 1, time.Hour)
	if err != nil || !first.lock.Locked() || said.Len() > 0 {
		t.Errorf("%v, %v: %s", first, err, &said)
	}
	first.end()
	second, err := takeTurn(t.Context(), log, filepath.Join(left, "turns", "x.lock"), 1, time.Hour)
	if err != nil || second.lock.Locked() || said.Len() == 0 {
		t.Errorf("%v, %v: %s", second, err, &said)
	}
	second.look(make([]attempt.Progress, 3))
	second.end()
}
