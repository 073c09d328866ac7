//go:build linux

// Package gleam executes a job's stages on a gleam cluster. Worker processes, which
// gleam starts on its agents, run the same task functions of mapper and reducer as
// the local engine.
//
// gleam can lose rows and still exit with code 0, so this package trusts none of its
// reports:
//
//   - Rows travel in checksummed frames. Every task tells each task that it sends
//     to how much it sent, and the receiver compares that with what arrived. A
//     result counts only if all of these agree (internal/wire).
//   - Each flow runs in a driver, a process group of its own, under a supervisor
//     with a deadline and a watch over its progress. A flow that fails is tried
//     again (internal/supervise).
//   - On each agent a guard kills the processes that gleam leaves behind
//     (internal/guard).
//
// The processes of one attempt at a flow:
//
//	command ──starts, watches, kills──► driver ──gleam──► agents
//	   │ reads progress, result           ▲                 │ start
//	   ▼                                  │ frames          ▼
//	attempt's folder ◄──progress, failures┴───────────── workers ◄── guard, one a flow
//	                                                                 and agent
//
// This package has the flows and what their workers do: stage.go lists the steps,
// and each flow has a file. It never starts or stops a master or an agent.
package gleam

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/check"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/supervise"
)

// Options says where the cluster is and how patient the engine is. The master
// is HOST:PORT, or the state folder of a cluster with a network namespace.
type Options = config.Execution

// Engine is the engine on a gleam cluster. The program that uses it calls
// Main first.
type Engine struct {
	o       Options
	checked check.Checked
	roster  supervise.Roster

	historyRows, sampledHere int64 // see the constants
}

// New returns an engine; zero options stand for the defaults. The error wraps
// cluster.ErrNotReady: the master was named by the state folder of a cluster that
// is not up.
func New(o Options) (_ *Engine, err error) {
	usual := config.Default().Execution
	o.Attempts, o.Stall, o.Deadline, o.Quorum = cmp.Or(o.Attempts, usual.Attempts), cmp.Or(o.Stall, usual.Stall), cmp.Or(o.Deadline, usual.Deadline), cmp.Or(o.Quorum, usual.Quorum)
	if o.Master, err = cluster.Enter(cmp.Or(o.Master, usual.Master)); err != nil {
		return nil, err
	}
	return &Engine{o: o, historyRows: historyRows, sampledHere: sampledHere}, nil
}

var _ engine.Engine = (*Engine)(nil)

// run returns the supervisor of a stage of the job.
func (e *Engine) run(job *engine.Job, stage string) *supervise.Run {
	return &supervise.Run{Execution: e.o, Checked: &e.checked, Roster: &e.roster, Job: job, Stage: stage}
}

// LeftOut returns the agents that the run went on without.
func (e *Engine) LeftOut() []engine.LeftOut { return e.roster.LeftOut() }

// Restarts is how many flows were tried again.
func (e *Engine) Restarts() int64 { return e.roster.Restarts() }

// splitFlow is a flow of one step whose tasks leave their results in the run
// directory. A finished task is never run again, neither by a further attempt nor
// by a run that resumes.
type splitFlow struct {
	stage    string
	missing  []int  // tasks
	undone   string // how an error counts missing tasks: "splits not done"
	advanced func(attempt.Progress) int64
	// prepare assigns the missing tasks to workers, in s, names the files that they
	// read, and returns the workers' payload.
	prepare func(s *attempt.Spec, agents []cluster.Agent, missing []int) (payload any, err error)
	// finished returns the tasks that are still missing, and the progress of the
	// others.
	finished func(missing []int) (left []int, progress int64, err error)
}

// splits runs a split flow until no task is missing, or the attempts are used up.
func (e *Engine) splits(ctx context.Context, job *engine.Job, f splitFlow) error {
	all := len(f.missing)
	r := e.run(job, f.stage)
	r.Advanced = f.advanced
	return named(f.stage, r.Do(ctx, func(s *attempt.Spec, agents []cluster.Agent) error {
		payload, err := f.prepare(s, agents, f.missing)
		if err != nil {
			return supervise.Final(err)
		}
		s.Steps = []attempt.Step{{Stage: f.stage, Tasks: len(s.Assigned)}}
		return setPayload(s, payload)
	}, func(attempt.Dir, *attempt.Result) (err error) {
		var progress int64
		f.missing, progress, err = f.finished(f.missing)
		if err != nil {
			return err
		}
		r.Kept += progress
		undone := fmt.Sprintf("%s: %d of %d", f.undone, len(f.missing), all)
		r.Lost = undone + "; the others are kept"
		if len(f.missing) > 0 {
			return attempt.Lost("%s", undone)
		}
		return nil
	}))
}

// named puts the stage's name before an error. A NoColumn is left as it is: it is a
// mistake of the command line, and the stage that found it does not matter.
func named(stage string, err error) error {
	if err == nil || errors.As(err, new(*data.NoColumn)) {
		return err
	}
	return fmt.Errorf("%s: %w", stage, err)
}

// deal gives each lane its tasks: the largest task that is left to the lane
// with the least to do. size is a task's, at least 1.
func deal(tasks []int, n int, size func(task int) int64) [][]int {
	order := slices.Clone(tasks)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size(b), size(a)) })
	out := make([][]int, n)
	load := make([]int64, n)
	for _, t := range order {
		least := slices.Index(load, slices.Min(load))
		out[least] = append(out[least], t)
		load[least] += size(t)
	}
	return out
}

// filesOf describes the files that every agent must see: those at the paths, exactly
// as they are here, and the library's manifest if there is one. The manifest only
// has to be readable, since it may change before a worker reads it.
func filesOf(cfg config.Config, paths []string) ([]attempt.File, error) {
	files, err := check.Files(paths, attempt.File{})
	path := filepath.Join(cfg.Library.Path, library.ManifestFile)
	if err != nil || cfg.Library.Path == "" || attempt.Gone(path) {
		return files, err
	}
	more, err := check.Files([]string{path}, attempt.File{Any: true, Library: true})
	return append(files, more...), err
}

// Progress is what a worker last reported.
type Progress = attempt.Progress

// Status returns the last reports of the workers whose flow is running in the run
// directory at path, in order of step and task; none if no flow runs. It takes no
// lock and works on any host that sees the directory.
func Status(path string) ([]Progress, error) {
	folders, err := filepath.Glob(filepath.Join(path, attempt.Scratch))
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	var all []Progress
	for _, f := range folders {
		order := []string{attempt.Driver, cluster.Deal}
		if s, err := attempt.Dir(f).Read(); err == nil { // else the flow has just ended
			for _, step := range s.Steps {
				order = append(order, step.Stage)
			}
		}
		flow := attempt.Dir(f).Progress()
		slices.SortFunc(flow, func(a, b Progress) int {
			return cmp.Or(cmp.Compare(slices.Index(order, a.Stage), slices.Index(order, b.Stage)), cmp.Compare(a.Task, b.Task))
		})
		all = append(all, flow...)
	}
	return all, nil
}
