//go:build linux

// Package check looks, before the first flow, whether each agent can do its
// part: the program starts there as a worker does, and looks for what the flows
// need. Problems are reported before any work is done, with the host's name and
// the remedy. It changes nothing on the agents.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data/object"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/guard"
	"github.com/neardup/neardup/job/internal/rundir"
)

// Bounds of a check.
const (
	limit      = 30 * time.Second
	most       = 1000 // files looked at on each agent, spread evenly
	clockSkew  = 5    // seconds that are let pass
	minRunDisk = 64 << 20
)

// Spread returns the paths that a check looks at, each once where it follows
// itself, and evenly spread if they are very many.
func Spread(paths []string) []string {
	paths = slices.Compact(paths)
	if len(paths) <= most {
		return paths
	}
	out := make([]string, most)
	for i := range out {
		out[i] = paths[i*len(paths)/most]
	}
	return out
}

// Files returns what the agents must see of the paths, each as like says and as
// it is here and now.
func Files(paths []string, like attempt.File) (files []attempt.File, err error) {
	for _, path := range paths {
		info, err := object.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("input: %w: it was there when the run began: bring it back, then run the same command again: it goes on from what is finished", err)
		}
		like.Path, like.Size, like.ModTime, like.ETag = path, info.Size, info.ModTime, info.ETag
		files = append(files, like)
	}
	return files, nil
}

// Checked remembers the agents that passed, and in which scope.
type Checked struct {
	mu     sync.Mutex
	agents map[string]bool
	found  map[string]report // by address, the last of each agent that passed
}

// Any reports whether an agent ever passed.
func (c *Checked) Any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.found) > 0
}

// Forget has all agents checked again.
func (c *Checked) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.agents)
}

// Host is the name of an agent's host, "" if it is not known.
func (c *Checked) Host(address string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.found[address].Host
}

// Address is that of the agent with the folder on the host, "" if it is not
// known or there are several.
func (c *Checked) Address(host, folder string) (address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for a, rep := range c.found {
		if rep.Host == host && rep.Folder == folder {
			if address != "" {
				return ""
			}
			address = a
		}
	}
	return address
}

// Unfit is an agent that cannot do its part.
type Unfit struct{ Address, Host, Reason string }

// UnfitError says which agents cannot do their part. It wraps
// cluster.ErrNotReady.
type UnfitError struct {
	Agents []Unfit
	text   error
}

func (e *UnfitError) Error() string { return e.text.Error() }
func (e *UnfitError) Unwrap() error { return e.text }

// Agents checks those of the agents that have not passed before in the spec's
// scope, all at once; of so many in all. The error says what is wrong where: an
// UnfitError, one that wraps cluster.ErrNotReady, or a LostError when an agent
// died meanwhile.
func (c *Checked) Agents(ctx context.Context, dir attempt.Dir, s *attempt.Spec, all []cluster.Agent, log *slog.Logger) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := func(a cluster.Agent) string { return a.Address + " " + s.Scope }
	agents := slices.DeleteFunc(slices.Clone(all), func(a cluster.Agent) bool { return c.agents[key(a)] })
	if len(agents) == 0 {
		return nil
	}
	if free, err := attempt.FreeDisk(s.Run); err == nil && free < minRunDisk {
		return fmt.Errorf("%w: the disk of the run directory %s has %d MiB left: free some, or name another --out", cluster.ErrNotReady, s.Run, free>>20)
	}
	began := time.Now()
	reports, problems, died := askAll(ctx, dir, s, agents, disk(s, len(all)), log)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if c.agents == nil {
		c.agents, c.found = make(map[string]bool), make(map[string]report)
	}
	unfit := new(UnfitError)
	for i, a := range agents {
		if problems[i] != nil {
			unfit.Agents = append(unfit.Agents, Unfit{Address: a.Address, Host: reports[i].Host, Reason: problems[i].Error()})
			continue
		}
		c.agents[key(a)], c.found[a.Address] = true, reports[i]
	}
	switch err := joined(agents, reports, problems); {
	case err != nil && died: // the others go on, or are asked again
		return attempt.Lost("%v", err)
	case err != nil:
		unfit.text = fmt.Errorf("%w: %w", cluster.ErrNotReady, err)
		return unfit
	}
	warn(agents, reports, began, log)
	log.Debug("agents checked", "agents", len(agents), "seconds", time.Since(began).Seconds())
	return nil
}

// askAll runs the check on all agents at once; died is true if one did meanwhile.
func askAll(ctx context.Context, dir attempt.Dir, s *attempt.Spec, agents []cluster.Agent, need int64, log *slog.Logger) (reports []report, problems []error, died bool) {
	reports, problems = make([]report, len(agents)), make([]error, len(agents))
	var dead atomic.Bool
	group := errgroup.Group{}
	group.SetLimit(64)
	for i, a := range agents {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, limit+5*time.Second)
			defer cancel()
			for range 2 { // what killed the check once need not do so again
				reports[i], problems[i] = ask(ctx, dir, s, a, need, log)
				if problems[i] == nil || reports[i].Host != "" || errors.As(problems[i], new(*attempt.Failure)) {
					break // it came to an end
				}
				if cluster.Probe(ctx, a.Address) != nil {
					dead.Store(true)
					break
				}
			}
			return nil
		})
	}
	_ = group.Wait() // problems has them
	return reports, problems, dead.Load()
}

// warn warns of what does not keep the agents from working.
func warn(agents []cluster.Agent, reports []report, began time.Time, log *slog.Logger) {
	programs := make(map[uint64][]string)
	for i, rep := range reports {
		name := fmt.Sprintf("%s (%s)", agents[i].Address, rep.Host)
		programs[rep.Gleam] = append(programs[rep.Gleam], name)
		early, late := began.Sub(rep.Time).Seconds(), time.Until(rep.Time).Seconds()
		if skew := max(early, late); skew > clockSkew {
			log.Warn("the clock of an agent's host differs from this one's: set both by NTP, or times in logs and status mislead", "agent", name, "seconds", int(skew))
		}
	}
	if len(programs) > 1 {
		log.Warn("agents run different builds of gleam: restart them from one build (scripts/cluster.sh restart)", "builds", fmt.Sprint(programs))
	}
}

// joined joins the agents' problems, each once, with the agents that have it.
func joined(agents []cluster.Agent, reports []report, problems []error) error {
	const most = 5 // problems, and agents named with one
	type problem struct {
		cause  error
		agents []string
	}
	var all []problem
	for i, cause := range problems {
		if cause == nil {
			continue
		}
		name := agents[i].Address
		if reports[i].Host != "" {
			name += " (" + reports[i].Host + ")"
		}
		at := slices.IndexFunc(all, func(p problem) bool { return p.cause.Error() == cause.Error() })
		if at < 0 {
			at, all = len(all), append(all, problem{cause: cause})
		}
		all[at].agents = append(all[at].agents, name)
	}
	var errs []error
	for i, p := range all {
		if i == most {
			errs = append(errs, fmt.Errorf("and %d more problems", len(all)-most))
			break
		}
		which, more := "the agent at ", ""
		if n := len(p.agents); n > 1 {
			which = "the agents at "
			if n > most {
				p.agents, more = p.agents[:most], fmt.Sprintf(" and %d more", n-most)
			}
		}
		errs = append(errs, fmt.Errorf("%s%s%s: %w", which, strings.Join(p.agents, ", "), more, p.cause))
	}
	return errors.Join(errs...)
}

// ask runs the check on one agent, whose disk needs so many bytes.
func ask(ctx context.Context, dir attempt.Dir, s *attempt.Spec, a cluster.Agent, need int64, log *slog.Logger) (rep report, err error) {
	said, err := cluster.Execute(ctx, a.Address, dir.Path(attempt.Launcher), []string{attempt.ArgDir + string(dir), attempt.ArgCheck + a.Address}, limit, func(hash uint32, cause error) {
		log.Debug("check's folder not removed", "agent", a.Address, "error", errors.Join(cause, guard.ClearHere(hash)))
	})
	if errors.Is(err, cluster.ErrShip) {
		return rep, fmt.Errorf("%w: see its log, and whether its disk is full", err)
	}
	if rerr := rundir.ReadJSON(dir.Report(a.Address), &rep); rerr != nil {
		if f := dir.Noted(); f != nil {
			return rep, f
		}
		return rep, fmt.Errorf("the program does not run there, or does not see the run directory %s: mount it at the same path, for writing: %w: %s", s.Run, cmp.Or(err, rerr), reason(said))
	}
	if rep.Free < need {
		rep.Problems = append(rep.Problems, fmt.Sprintf("the disk of its folder %s has %d MiB left, %d MiB are needed: free some, or start the agent with another --dir", rep.Folder, rep.Free>>20, need>>20))
	}
	if len(rep.Problems) > 0 {
		return rep, errors.New(strings.Join(rep.Problems, "; "))
	}
	return rep, nil
}

// reason is the line of what a process said that says why it failed.
func reason(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	for _, line := range lines {
		if strings.Contains(line, "level=ERROR") || strings.HasPrefix(line, "the agent in ") {
			return line
		}
	}
	return lines[len(lines)-1]
}

// disk is how many bytes a flow writes on the disk of one agent of so many: the
// program, and the rows when the steps run one after the other.
func disk(s *attempt.Spec, agents int) int64 {
	need := int64(1 << 20)
	if s.OnDisk {
		need += s.Rows * 2 / int64(max(agents, 1)) // they may be spread unevenly
	}
	return need
}
