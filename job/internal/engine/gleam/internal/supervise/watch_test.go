//go:build linux

package supervise

import (
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
)

func TestWatch(t *testing.T) {
	start := time.Unix(0, 0)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	for _, c := range []struct {
		name string
		tell func(second int) attempt.Progress
		want string
	}{
		{"rows move", func(s int) attempt.Progress { return attempt.Progress{Stage: "partial", In: int64(s), Beat: int64(s)} }, ""},
		{"a sort", func(s int) attempt.Progress {
			return attempt.Progress{Stage: "partial", CPU: int64(s) * 900, Beat: int64(s)}
		}, ""},
		{"waits", func(s int) attempt.Progress {
			return attempt.Progress{Stage: "partial", Task: 3, Host: "h", CPU: int64(s), Beat: int64(s)}
		}, "nothing moved for 31s: waiting are partial task 3 on h"},
		{"silent", func(s int) attempt.Progress {
			return attempt.Progress{Stage: "final", Task: 2, Host: "h", PID: 9, In: int64(min(s, 5)), Beat: int64(min(s, 5))}
		},
			"final task 2 on h (process 9) tells nothing for 21s"},
		{"done", func(s int) attempt.Progress {
			return attempt.Progress{Stage: "final", In: int64(min(s, 5)), Beat: 5, Done: true}
		}, "all workers that started are done"},
	} {
		w := newWatch(30*time.Second, start)
		var err error
		for s := 1; s < 100 && err == nil; s++ {
			err = w.see([]attempt.Progress{c.tell(s)}, at(s))
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
		r := &Run{Execution: config.Execution{Stall: c.stall}}
		if got := r.patience(c.attempt, c.seen); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}
