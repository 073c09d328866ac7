//go:build linux

// Package supervise runs a flow until it has succeeded or its attempts are used up.
//
// One attempt:
//
//  1. wait until the master and enough agents answer (ready.go);
//  2. let the caller prepare the spec, for the agents that are there;
//  3. take a turn in the queue of runs, and wait for free slots (queue.go);
//  4. write the attempt's folder and check the agents (package check);
//  5. start the driver, in a process group of its own, and watch it: deadline,
//     progress, silent workers (drive.go, watch.go);
//  6. remove the lease, so that guards clear the flow away (package guard);
//  7. pass the result to the caller.
//
// An attempt succeeds only by the result file that the driver wrote and verified;
// gleam's own reports do not count. What a failed attempt finished is kept. Agents
// that do not answer, fail the check or fall silent are left out, as long as the
// others have the quorum of slots (roster.go).
//
// The package knows no stage: what a flow does, and what becomes of its result, is
// the caller's business.
package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/check"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/internal/rundir"
)

// ErrFailed is returned when the attempts are used up; the error says what was
// lost and what to do.
var ErrFailed = errors.New("the cluster did not finish the flow")

// Run supervises a stage of a job: one flow, or several one after the other.
type Run struct {
	config.Execution // the master's HOST:PORT, the number of attempts, and time limits

	Checked *check.Checked // shared by the runs of an engine
	Roster  *Roster        // shared by the runs of an engine
	Job     *engine.Job
	Stage   string
	// Advanced converts a worker's report to the job's unit of progress; nil: the
	// flow reports none.
	Advanced func(attempt.Progress) int64

	Lost string // what is missing, for the error of Do
	Kept int64  // progress of earlier attempts that was kept

	own      []string // temporary files of the command itself
	agents   []cluster.Agent
	dir      attempt.Dir // of the attempt under way
	turn     *turn       // of that attempt
	reported int64       // progress that the job was told of
}

// finalError marks an error after which no further attempt is made.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// Final marks an error that another attempt would not fix. Do returns it at once,
// without the mark.
func Final(err error) error {
	if err == nil {
		return nil
	}
	return finalError{err}
}

// Do makes attempts at a flow until accept returns nil for one.
//
// prepare completes an attempt's spec for the agents that take part: the steps and
// their payload. accept receives the driver's result. It is also called after a
// failed attempt, with a nil result, so that it can keep what was finished; if it
// then returns nil, nothing is missing and Do succeeds.
//
// Do gives up with ErrFailed after r.Attempts attempts, or earlier if the same
// failure came twice in a row and was no lost or killed worker's. An error that
// wraps cluster.ErrNotReady, or is Final, ends it at once.
func (r *Run) Do(ctx context.Context, prepare func(*attempt.Spec, []cluster.Agent) error, accept func(attempt.Dir, *attempt.Result) error) error {
	last := ""
	r.Roster.begin()
	var err error
	if r.own, err = r.Job.Dir.Temporaries(); err != nil {
		return err
	}
	for n := 1; ; n++ {
		err := r.attempt(ctx, n, prepare, accept)
		var final finalError
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &final):
			return final.error
		case errors.Is(err, errLeftOut):
			n--
			continue
		case errors.Is(err, cluster.ErrNotReady):
			return fmt.Errorf("%w; what is finished is kept: the same command goes on from there", err)
		}
		var failure *attempt.Failure
		if errors.As(err, &failure) {
			if mistake := failure.Mistake(); mistake != nil {
				return mistake
			}
		}
		again := failure != nil && !failure.Lost && !failure.Died && failure.Stage+failure.Message == last
		if n == r.Attempts || again {
			return fmt.Errorf("%w after %d of %d attempts: %w; %s: see %s, then run the same command again: it goes on from what is finished",
				ErrFailed, n, r.Attempts, err, cmp.Or(r.Lost, "no task was begun"), r.Job.Dir.Path(rundir.Logs))
		}
		if last = ""; failure != nil {
			last = failure.Stage + failure.Message
		}
		r.Roster.restarts.Add(1)
		r.Job.Log.Warn("attempt failed, trying again", "stage", r.Stage, "attempt", n, "of", r.Attempts, "error", err)
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

// attempt executes the flow once.
func (r *Run) attempt(ctx context.Context, n int, prepare func(*attempt.Spec, []cluster.Agent) error, accept func(attempt.Dir, *attempt.Result) error) (err error) {
	if err := r.ready(ctx, n); err != nil {
		return err
	}
	s, err := r.spec()
	if err != nil {
		return err
	}
	if err := prepare(s, r.agents); err != nil {
		return err
	}
	r.fit(s)
	if r.turn, err = r.takeTurn(ctx, cluster.Slots(s)); err != nil {
		return err
	}
	defer r.turn.end()
	if err := r.room(ctx, r.turn.wanted); err != nil {
		return err
	}
	s.Agents = r.agents
	r.dir = attempt.Dir(filepath.Join(s.Run, rundir.Scratch, fmt.Sprintf("gleam-%016x", s.Attempt)))
	defer func() { err = errors.Join(err, rundir.RemoveAll(string(r.dir))) }()
	if err := r.lay(s); err != nil {
		return err
	}
	if err := r.Checked.Agents(ctx, r.dir, s, r.agents, r.Job.Log); err != nil {
		return r.unfit(err)
	}
	res, err := r.drive(ctx, s)
	if err == nil {
		err = accept(r.dir, res)
		r.advance(nil)
		return err
	}
	r.suspect(err)
	if terr := r.Job.Dir.Tidy(r.own); terr != nil {
		r.Job.Log.Warn("files that killed workers left could not be removed", "error", terr)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	aerr := accept(r.dir, nil)
	r.advance(nil)
	if aerr == nil {
		r.Job.Log.Info("the flow failed after its last task: nothing is missing", "stage", r.Stage, "error", err)
		return nil
	}
	if errors.As(aerr, new(finalError)) {
		return aerr
	}
	return err
}

// spec returns the spec of a new attempt, without its steps.
func (r *Run) spec() (*attempt.Spec, error) {
	sum, err := attempt.ProgramSum()
	if err != nil {
		return nil, err
	}
	path, err := filepath.Abs(r.Job.Dir.Path())
	if err != nil {
		return nil, err
	}
	work, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	cfg := r.Job.Config
	s := &attempt.Spec{
		Attempt: rand.Uint64(), Hash: rand.Uint32(),
		Run: path, Work: work, Binary: sum,
		Config: cfg, Execution: cfg.Execution, JobHash: r.Job.Hash,
	}
	for _, named := range slices.Concat(cfg.Features.Files(), []string{cfg.Library.Path}, cfg.Against.Paths) {
		s.Relative = s.Relative || named != "" && !filepath.IsAbs(named)
	}
	return s, nil
}

// fit makes the steps run one after the other if the agents have too few slots to
// run all at once; otherwise gleam would wait for ever.
func (r *Run) fit(s *attempt.Spec) {
	if slots, wanted := cluster.Total(r.agents).Slots, cluster.Slots(s); wanted > slots {
		s.OnDisk = true
		r.Job.Log.Warn("too few slots to run all steps at once: they run one after the other, by way of the agents' disks", "slots", slots, "wanted", wanted)
	}
}

// lay writes the attempt's folder: spec, program, lease.
func (r *Run) lay(s *attempt.Spec) error {
	if err := r.dir.Write(s); err != nil {
		return err
	}
	if err := r.dir.WriteProgram(s.Binary); err != nil {
		return err
	}
	return data.WriteFileAtomic(r.dir.Path(attempt.Lease), nil)
}
