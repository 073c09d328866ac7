//go:build linux

package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/check"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
)

// patience is how long to wait for an unready cluster. It is short before the first
// attempt if the cluster has never answered: probably it is not running. Later it
// is long enough for an agent to find its master again, which it looks for every
// 30 s.
func (r *Run) patience(attempt int, answered bool) time.Duration {
	const first, later = 4 * time.Second, 45 * time.Second
	if attempt == 1 && !answered {
		return first
	}
	return max(first, min(r.Stall, later))
}

// ready waits until the master and all its agents answer, and sets r.agents. After
// patience it goes on without the agents that do not answer, if the others have the
// quorum. It does not wait if all silent agents were left out before.
func (r *Run) ready(ctx context.Context, attempt int) error {
	patience := r.patience(attempt, r.Checked.Any())
	told := false
	for began := time.Now(); ; {
		agents, silent, err := r.answering(ctx)
		waited := time.Since(began)
		if err == nil {
			err = r.Roster.enough(agents, r.Quorum)
		}
		switch {
		case err == nil && (waited > patience || r.Roster.doubted(silent)):
			r.agents = agents
			r.lost(silent)
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case waited > patience:
			return errors.Join(err, unresponsiveAgents(silent))
		case !told && waited > 2*time.Second:
			told = true
			r.Job.Log.Warn("waiting for the cluster", "stage", r.Stage, "at most", patience, "error", errors.Join(err, unresponsiveAgents(silent)))
		}
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

// answering probes the master's agents, but for those left out. It returns those
// that answer, and the errors of the others by address.
func (r *Run) answering(ctx context.Context) (agents []cluster.Agent, silent map[string]error, err error) {
	if agents, err = r.listed(ctx); err != nil {
		return nil, nil, err
	}
	silent = cluster.Unresponsive(ctx, agents)
	return slices.DeleteFunc(agents, func(a cluster.Agent) bool { return silent[a.Address] != nil }), silent, nil
}

// listed returns the master's agents, but for those left out.
func (r *Run) listed(ctx context.Context) ([]cluster.Agent, error) {
	agents, err := cluster.Agents(ctx, r.Master)
	if err == nil {
		err = cluster.NoAgents(r.Master, agents)
	}
	return r.Roster.present(agents), err
}

// unresponsiveAgents is the error of agents that do not answer.
func unresponsiveAgents(silent map[string]error) (err error) {
	for _, address := range slices.Sorted(maps.Keys(silent)) {
		err = errors.Join(err, fmt.Errorf("%w: the agent at %s does not answer: restart it, or stop it for good: %w", cluster.ErrNotReady, address, silent[address]))
	}
	return err
}

// lost records the agents that the flow goes on without. Those that do not answer
// are left out. Those that the master no longer lists may come back later.
func (r *Run) lost(silent map[string]error) {
	for address, cause := range silent {
		r.leaveOut(check.Unfit{Address: address, Reason: "it does not answer: " + cause.Error()})
	}
	for _, address := range r.Roster.lost(r.agents) {
		r.note(check.Unfit{Address: address, Reason: "it is gone: it ended, or its master lost it"})
	}
}

// leaveOut excludes an agent from the flow and records why.
func (r *Run) leaveOut(a check.Unfit) {
	r.Roster.leaveOut(a.Address)
	r.note(a)
}

// note logs and records an agent that the flow goes on without.
func (r *Run) note(a check.Unfit) {
	if a.Host == "" {
		a.Host = r.Checked.Host(a.Address)
	}
	const most = 300 // bytes of a reason: errors may be of many lines
	a.Reason = strings.ReplaceAll(a.Reason, "\n", "; ")
	a.Reason = strings.ToValidUTF8(a.Reason[:min(len(a.Reason), most)], "")
	r.Roster.note(engine.LeftOut{Agent: a.Address, Host: a.Host, Stage: r.Stage, Reason: a.Reason})
	r.Job.Log.Warn("the run goes on without an agent", "stage", r.Stage, "agent", a.Address, "host", a.Host, "reason", a.Reason)
}

// unfit handles the error of the agents' check. It leaves out the agents that failed
// and returns errLeftOut; or err itself if the others would not have the quorum.
func (r *Run) unfit(err error) error {
	found, ok := errors.AsType[*check.UnfitError](err)
	if !ok || !r.spare(found.Agents...) {
		return err
	}
	return errLeftOut
}

// spare leaves out the agents if the others have the quorum, and reports whether it
// did.
func (r *Run) spare(agents ...check.Unfit) bool {
	left := slices.DeleteFunc(slices.Clone(r.agents), func(a cluster.Agent) bool {
		return slices.ContainsFunc(agents, func(u check.Unfit) bool { return u.Address == a.Address })
	})
	if r.Roster.enough(left, r.Quorum) != nil {
		return false
	}
	for _, a := range agents {
		r.leaveOut(a)
	}
	return true
}

// suspect draws the conclusions of a failed attempt: all agents are checked again
// before the next one, and an agent whose worker fell silent is left out.
func (r *Run) suspect(err error) {
	r.Checked.Forget()
	if silent, ok := errors.AsType[*unresponsiveError](err); ok {
		if address := r.Checked.Address(silent.host, silent.folder); address != "" {
			r.spare(check.Unfit{Address: address, Host: silent.host, Reason: silent.Error()})
		}
	}
}

// room waits until so many slots are free, at most r.Stall. If the master does not
// answer, it waits for that as ready does.
func (r *Run) room(ctx context.Context, wanted int) error {
	for began := time.Now(); ; {
		agents, err := r.listed(ctx)
		if err == nil {
			r.agents = agents
		} else if err := r.ready(ctx, 2); err != nil {
			return err
		}
		total := cluster.Total(r.agents)
		slots, used := total.Slots, total.Used
		switch {
		case slots-used >= wanted:
			return nil
		case slots < wanted:
			return fmt.Errorf("%w: the flow needs %d slots at once, %d agents have %d: start more agents, or agents with more (--slots)", cluster.ErrNotReady, wanted, len(r.agents), slots)
		case time.Since(began) > r.Stall:
			taken := fmt.Sprintf("%d of %d are", used, slots)
			if used >= slots {
				taken = fmt.Sprintf("all %d are", slots)
			}
			return fmt.Errorf("%w: the flow needs %d slots at once, %s taken: wait for %s, or restart the agents (scripts/cluster.sh restart)", cluster.ErrNotReady, wanted, taken, cmp.Or(r.turn.others(), "the other run"))
		}
		if err := sleep(ctx, time.Second/2); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
