//go:build linux

package supervise

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
)

func locked(t *turn) bool {
	l, ok := t.queue.(*lock)
	return ok && l.Locked()
}

// One flow has the turn at a cluster until its workers have reported or it ends;
// of another cluster another has it; after some patience it is not waited for.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "queue")
		path := filepath.Join(dir, "one.lock")
		take := func(ctx context.Context, path string, patience time.Duration) (*turn, error) {
			return takeTurn(ctx, slog.New(slog.DiscardHandler), newLock(path, "a run"), 2, patience)
		}
		first, err := take(t.Context(), path, time.Hour)
		if err != nil || !locked(first) {
			t.Fatal(first, err)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("others may hold the turn: %v, %v", info, err)
		}
		other, err := take(t.Context(), filepath.Join(dir, "other.lock"), time.Hour)
		if err != nil || !locked(other) {
			t.Fatal(other, err)
		}
		other.end()
		began := time.Now()
		if late, err := take(t.Context(), path, 300*time.Millisecond); err != nil || locked(late) || time.Since(began) < 300*time.Millisecond {
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
		if second == nil || !locked(second) {
			t.Fatal("the second run did not get its turn")
		}
		second.end()
		second.end()
	})
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
	first, err := takeTurn(t.Context(), log, newLock(left, "a run"), 1, time.Hour)
	if err != nil || !locked(first) || said.Len() > 0 {
		t.Errorf("%v, %v: %s", first, err, &said)
	}
	first.end()
	second, err := takeTurn(t.Context(), log, newLock(filepath.Join(left, "queue", "x.lock"), "a run"), 1, time.Hour)
	if err != nil || locked(second) || said.Len() == 0 {
		t.Errorf("%v, %v: %s", second, err, &said)
	}
	second.look(make([]attempt.Progress, 3))
	second.end()
}

// testQueue is a queue in which a run has its turn at a time.
type testQueue struct {
	at     time.Time
	holder string
	stands int
}

func (o *testQueue) Try() (bool, string, error) { return !time.Now().Before(o.at), o.holder, nil }
func (o *testQueue) Stand()                     { o.stands++ }
func (o *testQueue) Close() error               { return nil }

// Who waits longer than a moment is told for whom, once; without a queue a run
// goes on, and it is told.
func TestTurnWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		log := slog.New(slog.NewTextHandler(&said, nil))
		o := &testQueue{at: time.Now().Add(time.Minute), holder: "the run of a since b"}
		got, err := takeTurn(t.Context(), log, o, 2, time.Hour)
		if err != nil || strings.Count(said.String(), `"waiting for the run of a since b"`) != 1 {
			t.Errorf("%v: %s", err, &said)
		}
		all := []attempt.Progress{{Stage: attempt.Driver}, {Stage: "deal"}, {Stage: "match"}}
		for range 3 {
			got.look(all)
		}
		if o.stands != 1 {
			t.Errorf("the turn was passed on %d times", o.stands)
		}
		said.Reset()
		if _, err := takeTurn(t.Context(), log, none{errors.New("no way")}, 2, time.Hour); err != nil || !strings.Contains(said.String(), "may take the same slots") || !strings.Contains(said.String(), "no way") {
			t.Errorf("%v: %s", err, &said)
		}
	})
}

// Two that lock a file know of each other.
func TestTurnOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	one, two := newLock(path, owner(".")), newLock(path, "two")
	if mine, _, err := one.Try(); !mine || err != nil {
		t.Fatal(mine, err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if mine, holder, err := two.Try(); mine || err != nil || !strings.HasPrefix(holder, "the run of ") || !strings.Contains(holder, fmt.Sprintf(" on %s (%s) since 20", host, here)) {
		t.Errorf("got %v, %q, %v", mine, holder, err)
	}
	one.Stand()
	if mine, holder, err := two.Try(); !mine || holder != "" || err != nil {
		t.Errorf("got %v, %q, %v", mine, holder, err)
	}
	if err := two.Close(); err != nil {
		t.Error(err)
	}
}

// A run that finds no slots says who has them, if that is known.
func TestRoomIsTaken(t *testing.T) {
	var taken atomic.Int64
	page := func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "Gleam<tr><td><code>x</code></td><td>y</td><td>127.0.0.1</td><td>45331</td><td>now</td><td>cpu_count:8</td><td>cpu_count:%d</td></tr>", taken.Load())
	}
	server := httptest.NewServer(http.HandlerFunc(page))
	defer server.Close()
	for _, c := range []struct {
		taken  int64
		holder string
		want   string
	}{
		{8, "the run of a since b", "needs 4 slots at once, all 8 are taken: wait for the run of a since b, or restart"},
		{6, "", "needs 4 slots at once, 6 of 8 are taken: wait for the other run, or restart"},
	} {
		taken.Store(c.taken)
		r := &Run{Execution: config.Execution{Master: server.Listener.Addr().String(), Stall: time.Millisecond}, Roster: new(Roster), turn: &turn{queue: &testQueue{holder: c.holder}}}
		if err := r.room(t.Context(), 4); !errors.Is(err, cluster.ErrNotReady) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
