package supervise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
)

// patience is how long the cluster may be unready: once it
// answered, or an attempt was made, long enough for an agent, which asks for its master every
// 30 s.
func (r *Run) patience(attempt int, answered bool) time.Duration {
	const first, later = 4 * time.Second, 45 * time.Second
	if attempt == 1 && !answered {
		return first
	}
	return max(first, min(r.Stall, later))
}

// ready waits for the master and for agents that all answer.
func (r *Run) ready(ctx context.Context, attempt int) error {
	patience := r.patience(attempt, r.Checked.Any())
	before := r.agents
	for began := time.Now(); ; {
		agents, err := r.answering(ctx)
		r.agents = agents
		switch {
		case err == nil:
			if lost := missing(before, agents); len(lost) > 0 {
				r.Job.Log.Warn("agents are gone since the last attempt: the others go on", "stage", r.Stage, "agents", strings.Join(lost, ", "))
			}
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(began) > patience:
			return err
		}
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

// answering returns the master's agents, with an error unless all answer.
func (r *Run) answering(ctx context.Context) ([]cluster.Agent, error) {
	agents, err := cluster.Agents(ctx, r.Master)
	if err == nil {
		err = cluster.NoAgents(r.Master, agents)
	}
	for address, cause := range cluster.Silent(ctx, agents) {
		err = errors.Join(err, fmt.Errorf("%w: the agent at %s does not answer: restart it, or stop it for good: %w", cluster.ErrNotReady, address, cause))
	}
	return agents, err
}

// missing are the addresses of agents that were there before and are not now.
func missing(before, now []cluster.Agent) (lost []string) {
	for _, a := range before {
		if !slices.ContainsFunc(now, func(b cluster.Agent) bool { return b.Address == a.Address }) {
			lost = append(lost, a.Address)
		}
	}
	return lost
}

// room waits until so many slots are free.
func (r *Run) room(ctx context.Context, wanted int) error {
	for began := time.Now(); ; {
		total := cluster.Total(r.agents)
		slots, used := total.Slots, total.Used
		switch {
		case slots-used >= wanted:
			return nil
		case slots < wanted:
			return fmt.Errorf("%w: the flow needs %d slots at once, %d agents have %d: start more agents, or agents with more (--slots)", cluster.ErrNotReady, wanted, len(r.agents), slots)
		case time.Since(began) > r.Stall:
			return fmt.Errorf("%w: the flow needs %d slots at once, %d of %d are taken: wait for the other run, or restart the agents (scripts/cluster.sh restart)", cluster.ErrNotReady, wanted, used, slots)
		}
		if err := sleep(ctx, time.Second/2); err != nil {
			return err
		}
		agents, err := cluster.Agents(ctx, r.Master)
		switch {
		case err == nil:
			r.agents = agents
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(began) > r.Stall:
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
