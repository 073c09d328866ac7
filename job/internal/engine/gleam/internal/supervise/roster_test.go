//go:build linux

package supervise

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/check"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
)

func TestRoster(t *testing.T) {
	three := []cluster.Agent{{Address: "a:1", Slots: 4}, {Address: "b:1", Slots: 4}, {Address: "c:1", Slots: 4}}
	var r Roster
	if in := r.present(three); !slices.Equal(in, three) {
		t.Errorf("present are %v", in)
	}
	if lost := r.lost(three); len(lost) > 0 {
		t.Errorf("lost %v before the first attempt", lost)
	}
	for n, want := range []bool{false, false, true, true} {
		if err := r.enough(three[:n], 0.66); (err == nil) != want || err != nil && !errors.Is(err, cluster.ErrNotReady) {
			t.Errorf("%d of 3 agents: %v", n, err)
		}
	}
	if r.enough(three[:2], 1) == nil || r.enough(three, 1) != nil {
		t.Error("a quorum of all is not kept")
	}
	silent := map[string]error{"b:1": cluster.ErrNotReady}
	if !r.doubted(nil) || r.doubted(silent) {
		t.Error("an agent is doubted that was never left out")
	}
	// Left out once an agent comes back with the next flow, twice it does not.
	for strike := 1; strike <= 2; strike++ {
		r.leaveOut("b:1")
		if in := r.present(three); len(in) != 2 {
			t.Errorf("strike %d: present are %v", strike, in)
		}
		if lost := r.lost([]cluster.Agent{three[0], three[2]}); len(lost) > 0 {
			t.Errorf("strike %d: lost %v, which was left out", strike, lost)
		}
		r.begin()
		if in := r.present(three); (len(in) == 3) != (strike == 1) {
			t.Errorf("strike %d, next flow: present are %v", strike, in)
		}
	}
	if !r.doubted(silent) {
		t.Error("an agent that was left out is waited for")
	}
	if lost := r.lost(three[:1]); !slices.Equal(lost, []string{"c:1"}) {
		t.Errorf("lost %v", lost)
	}
}

// A master that dies while slots are waited for is noticed within the patience
// for it, not only after a stall.
func TestRoomWithoutMaster(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes the patience")
	}
	r := &Run{Execution: config.Execution{Master: "127.0.0.1:1", Stall: 5 * time.Second, Quorum: 1}, Checked: new(check.Checked), Roster: new(Roster),
		Job: &engine.Job{Log: slog.New(slog.DiscardHandler)}, agents: []cluster.Agent{{Address: "a:1", Slots: 4, Used: 4}}}
	began := time.Now()
	if err := r.room(t.Context(), 2); !errors.Is(err, cluster.ErrNotReady) || !strings.Contains(err.Error(), "the master at 127.0.0.1:1 does not answer") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
}
