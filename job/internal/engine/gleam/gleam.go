//go:build linux

// Package gleam executes a job's stages on a gleam cluster: the very stage
// functions of mapper and reducer, in worker processes that gleam starts on
// its agents. gleam itself reports no failure and loses rows with exit code
// 0; this package trusts none of its reports. Rows travel in checksummed
// frames, every task accounts to every other for what it sent, and nothing is
// passed on before the account of the whole flow is closed (internal/wire).
// Each flow runs under a supervisor, in a process group of its own, with a
// deadline and a watch over its progress; what fails is tried again, and what
// gleam leaves behind is removed (internal/supervise, internal/guard).
//
// Here are the flows and what their workers do: stage.go, and a file for each
// flow. It never starts or stops a master or an agent.
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

	historyRows int64 // see the constant
}

// New returns an engine; zero values stand for the defaults. The error wraps
// cluster.ErrNotReady.
func New(o Options) (_ *Engine, err error) {
	usual := config.Default().Execution
	o.Attempts, o.Stall, o.Deadline, o.Quorum = cmp.Or(o.Attempts, usual.Attempts), cmp.Or(o.Stall, usual.Stall), cmp.Or(o.Deadline, usual.Deadline), cmp.Or(o.Quorum, usual.Quorum)
	if o.Master, err = cluster.Enter(cmp.Or(o.Master, usual.Master)); err != nil {
		return nil, err
	}
	return &Engine{o: o, historyRows: historyRows}, nil
}

var _ engine.Engine = (*Engine)(nil)

// run begins to supervise a stage of the job.
func (e *Engine) run(job *engine.Job, stage string) *supervise.Run {
	return &supervise.Run{Execution: e.o, Checked: &e.checked, Roster: &e.roster, Job: job, Stage: stage}
}

// LeftOut returns the agents that the run went on without.
func (e *Engine) LeftOut() []engine.LeftOut { return e.roster.LeftOut() }

// Restarts is how many flows were tried again.
func (e *Engine) Restarts() int64 { return e.roster.Restarts() }

// splitFlow is a flow of one step whose tasks leave their results in the run
// directory: what is finished is not run again, in this run or when it goes on.
type splitFlow struct {
	stage    string
	missing  []int  // tasks
	undone   string // what they are called, for errors
	advanced func(attempt.Progress) int64
	// prepare assigns the missing tasks to workers, names the files that they
	// read, and returns what they are told.
	prepare func(s *attempt.Spec, agents []cluster.Agent, missing []int) (payload any, err error)
	// finished returns which tasks are still missing, and the progress that the
	// others made.
	finished func(missing []int) (left []int, progress int64, err error)
}

// splits brings a split flow to its end.
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

// named puts the stage before an error, for callers that do not say it. A mistake
// of the command line is the same wherever it shows.
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

// filesOf returns what the agents must see of the paths, and of the library, if
// there is one: its manifest, which may change before it is read.
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

// Status returns what the workers of the flow under way in the run directory
// at path last reported, in order of step and task: from any host that sees the
// directory, and without a lock. It is empty when no flow runs.
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
