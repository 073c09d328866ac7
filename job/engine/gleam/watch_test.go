package gleam

import (
	"strings"
	"testing"
	"time"
)

func TestWatch(t *testing.T) {
	start := time.Unix(0, 0)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	for _, c := range []struct {
		name string
		tell func(second int) Progress
		want string
	}{
		{"rows move", func(s int) Progress { return Progress{Stage: "partial", In: int64(s), Beat: int64(s)} }, ""},
		{"a sort", func(s int) Progress { return Progress{Stage: "partial", CPU: int64(s) * 900, Beat: int64(s)} }, ""},
		{"waits", func(s int) Progress {
			return Progress{Stage: "partial", Task: 3, Host: "h", CPU: int64(s), Beat: int64(s)}
		}, "nothing moved for 31s: waiting are partial task 3 on h"},
		{"silent", func(s int) Progress {
			return Progress{Stage: "final", Task: 2, Host: "h", PID: 9, In: int64(min(s, 5)), Beat: int64(min(s, 5))}
		},
			"final task 2 on h (process 9) tells nothing for 21s"},
		{"done", func(s int) Progress { return Progress{Stage: "final", In: int64(min(s, 5)), Beat: 5, Done: true} }, "all workers that started are done"},
	} {
		w := newWatch(30*time.Second, start)
		var err error
		for s := 1; s < 100 && err == nil; s++ {
			err = w.see([]Progress{c.tell(s)}, at(s))
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// A cluster that never answered is given up soon; one that did is waited for.
func TestPatience(t *testing.T) {
	for _, c := range []struct {
		attempt int
		seen    bool
		stall   time.Duration
		want    time.Duration
	}{
		{1, false, time.Minute, 4 * time.Second},
		{2, false, time.Minute, 45 * time.Second},
		{1, true, time.Minute, 45 * time.Second},
		{1, true, 6 * time.Second, 6 * time.Second},
		{3, true, time.Second, 4 * time.Second},
	} {
		r := &run{o: Options{Stall: c.stall}, checked: &checked{agents: map[string]bool{}}}
		if c.seen {
			r.checked.agents["10.0.0.11:45331"] = true
		}
		if got := r.patience(c.attempt); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

func TestLanes(t *testing.T) {
	three := []Agent{{Slots: 8}, {Slots: 8}, {Slots: 8}}
	for _, c := range []struct {
		agents                        []Agent
		workers, tasks, lanes, shares int
	}{
		{three, 0, 100, 6, 2},
		{three, 0, 4, 4, 1},
		{three, 0, 1, 2, 1},
		{three, 12, 100, 12, 4},
		{three, 99, 100, 23, 7},
		{[]Agent{{Slots: 1}}, 0, 9, 2, 2},
	} {
		if lanes, shares := lanes(c.agents, c.workers, c.tasks); lanes != c.lanes || shares != c.shares {
			t.Errorf("%+v: got %d lanes, %d of a host", c, lanes, shares)
		}
	}
}
