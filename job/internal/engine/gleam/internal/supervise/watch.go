//go:build linux

package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/guard"
)

// errUntidy is returned for a driver that wrote its result but does not exit. Its
// result counts.
var errUntidy = errors.New("the driver does not end")

// watch waits for the driver's end and renews the lease meanwhile. It returns nil if
// the driver exited with 0, else an error: it exited otherwise, or the caller has
// to kill it, because of a worker's failure, the deadline, a stall or a silent worker.
func (r *Run) watch(ctx context.Context, ended <-chan error) error {
	tick := time.NewTicker(attempt.BeatEvery / 2)
	defer tick.Stop()
	began, renewed := time.Now(), time.Now()
	w := newWatch(r.Stall, began)
	var result time.Time // when the result was first seen
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			if err != nil {
				return attempt.Lost("the driver ended: %v", err)
			}
			return nil
		case now := <-tick.C:
			if now.Sub(renewed) > guard.LeaseRenewed {
				renewed = now
				if err := os.Chtimes(r.dir.Path(attempt.Lease), now, now); err != nil {
					return fmt.Errorf("lease: %w", err)
				}
			}
			if !attempt.Gone(r.dir.Path(attempt.ResultFile)) {
				if result.IsZero() {
					result = now
				}
				if now.Sub(result) > 5*time.Second {
					return errUntidy
				}
				continue
			}
			if f := r.dir.Noted(); f != nil {
				return f
			}
			if now.Sub(began) > r.Deadline {
				return attempt.Lost("not finished within the deadline of %v", r.Deadline)
			}
			all := r.dir.Progress()
			r.advance(all)
			r.turn.look(all)
			if err := w.see(all, now); err != nil {
				return err
			}
		}
	}
}

// watch detects a flow that makes no progress, and a worker that stopped reporting.
type watch struct {
	stall   time.Duration
	sum     int64
	cpu     int64
	moved   time.Time // when the sum last changed
	beats   map[string]int64
	changed map[string]time.Time // when a worker last reported
}

func newWatch(stall time.Duration, now time.Time) *watch {
	return &watch{stall: stall, moved: now, beats: make(map[string]int64), changed: make(map[string]time.Time)}
}

// reportTimeout is how long a worker may go without a report.
const reportTimeout = 20 * time.Second

// busy is the processor time that counts as progress when no counter moves: a
// sort, or the comparison of one large group.
const busy = 500 // milliseconds

func (w *watch) see(all []attempt.Progress, now time.Time) error {
	sum, cpu := int64(0), int64(0)
	for _, p := range all {
		sum += p.In + p.Out + p.Bytes
		cpu += p.CPU
		name := fmt.Sprintf("%s %d", p.Stage, p.Task)
		if w.beats[name] != p.Beat {
			w.beats[name], w.changed[name] = p.Beat, now
		} else if quiet := now.Sub(w.changed[name]); !p.Done && quiet > min(reportTimeout, w.stall) {
			return w.silent(p, all, now)
		}
	}
	if sum != w.sum || cpu > w.cpu+busy {
		w.sum, w.cpu, w.moved = sum, cpu, now
	}
	if still := now.Sub(w.moved); still > w.stall {
		return attempt.Lost("nothing moved for %v: %s", still.Round(time.Second), standing(all))
	}
	return nil
}

// unresponsiveError says that a worker stopped reporting. It identifies the worker's
// agent, by host and folder. The folder is "" if workers of other agents are
// falling silent too: then the cause is not this agent.
type unresponsiveError struct {
	*attempt.LostError
	host, folder string
}

func (e *unresponsiveError) Unwrap() error { return e.LostError }

// silent is the error for the worker p, which stopped reporting.
func (w *watch) silent(p attempt.Progress, all []attempt.Progress, now time.Time) error {
	quiet := func(p attempt.Progress) time.Duration {
		return now.Sub(w.changed[fmt.Sprintf("%s %d", p.Stage, p.Task)])
	}
	e := &unresponsiveError{host: p.Host, folder: p.Agent}
	e.LostError = attempt.Lost("%s task %d on %s (process %d) tells nothing for %v: it, its agent or its host is gone", p.Stage, p.Task, p.Host, p.PID, quiet(p).Round(time.Second))
	for _, q := range all {
		if !q.Done && (q.Host != p.Host || q.Agent != p.Agent) && quiet(q) > quiet(p)/2 {
			e.folder = ""
		}
	}
	return e
}

// standing names workers that are not done, for an error.
func standing(all []attempt.Progress) string {
	const limit = 5
	var names []string
	for _, p := range all {
		if !p.Done && p.Stage != attempt.Driver {
			names = append(names, fmt.Sprintf("%s task %d on %s", p.Stage, p.Task, p.Host))
		}
	}
	switch {
	case len(all) == 0:
		return "no worker has started"
	case len(names) == 0:
		return "all workers that started are done"
	}
	if len(names) > limit {
		names = append(names[:limit], fmt.Sprintf("and %d more", len(names)-limit))
	}
	return "waiting are " + strings.Join(names, ", ")
}
