//go:build linux

package supervise

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/guard"
	"github.com/neardup/neardup/job/internal/rundir"
)

// drive runs the driver in a process group of its own, watches it, and leaves
// nothing of the flow behind, however it ends.
func (r *Run) drive(ctx context.Context, s *attempt.Spec) (res *attempt.Result, err error) {
	logPath := r.dir.Log(fmt.Sprintf("%s-%016x.log", r.Stage, s.Attempt))
	log, err := os.Create(logPath)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	cmd, err := r.command(s)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("driver: %w", err)
	}
	r.Job.Log.Debug("attempt started", "stage", r.Stage, "agents", len(r.agents), "slots", cluster.Slots(s), "log", logPath)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	cause := r.watch(ctx, ended)
	if cause != nil {
		if kerr := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); kerr != nil && !errors.Is(kerr, syscall.ESRCH) {
			r.Job.Log.Warn("the driver's process group could not be killed", "error", kerr)
		}
	}
	r.clear(s, cause != nil)
	r.advance(r.dir.Progress())
	res = new(attempt.Result)
	rerr := rundir.ReadJSON(r.dir.Path(attempt.ResultFile), res)
	if rerr == nil && res.Failure == nil && (cause == nil || errors.Is(cause, errUntidy)) {
		return res, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if rerr == nil && res.Failure != nil {
		cause = res.Failure
	}
	return nil, r.why(cause, logPath)
}

// command is the driver's: it speaks to the cluster's servers itself, so it
// starts inside their namespace.
func (r *Run) command(s *attempt.Spec) (*exec.Cmd, error) {
	args := attempt.DriverArgs(r.dir, s.Attempt)
	if cluster.Namespace == nil {
		cmd := exec.Command(attempt.Executable, args...)
		cmd.Args[0] = os.Args[0]
		return cmd, nil
	}
	// A process in there may not look at the program of one out here.
	line, err := cluster.Namespace.Command(r.dir.Program(s.Binary), args...)
	if err != nil {
		return nil, attempt.Lost("driver: %v", err)
	}
	return exec.Command(line[0], line[1:]...), nil //nolint:gosec // our own program
}

// why returns the best known reason for a driver without a result.
func (r *Run) why(cause error, logPath string) error {
	if f := r.dir.Noted(); f != nil {
		return f
	}
	if f := r.dir.FullDisk(); f != nil {
		return f
	}
	if cause == nil {
		cause = attempt.Lost("the driver ended without a result")
	}
	if errors.As(cause, new(*attempt.Failure)) {
		return cause
	}
	return fmt.Errorf("%w%s", cause, lastWords(logPath))
}

// advance tells the job of its progress: what was kept, and what is under way.
// Work that a failed attempt did and another repeats counts once.
func (r *Run) advance(all []attempt.Progress) {
	if r.Job.Advance == nil || r.Advanced == nil {
		return
	}
	sum := r.Kept
	for _, p := range all {
		sum += r.Advanced(p)
	}
	if sum > r.reported {
		r.Job.Advance(sum - r.reported)
		r.reported = sum
	}
}

// clear removes what is left of the flow: the guards see that the lease is gone
// and kill the executors, and agents drop the rows they hold.
func (r *Run) clear(s *attempt.Spec, failed bool) {
	if err := os.Remove(r.dir.Path(attempt.Lease)); err != nil && !errors.Is(err, os.ErrNotExist) {
		r.Job.Log.Warn("the lease could not be removed", "error", err)
	}
	const patience = 12 * time.Second
	for began := time.Now(); time.Since(began) < patience; time.Sleep(guard.Every / 4) {
		if left, err := os.ReadDir(r.dir.Path(attempt.Guards)); err != nil || len(left) == 0 {
			break
		}
	}
	r.clearHere(s.Hash)
	if !failed {
		r.balance(r.dir.Progress())
		return
	}
	// Where no guard stood yet, executors wait for rows that do not come:
	// ending their channels ends them.
	again := s.OnDisk // a reader that waits makes the file of a deleted channel anew
	for began := time.Now(); time.Since(began) < patience; time.Sleep(time.Second) {
		r.clearHere(s.Hash)
		used, err := r.drop(s, patience)
		r.Job.Log.Debug("channels ended", "stage", r.Stage, "slots taken", used)
		if err == nil && used == 0 {
			if !again {
				return
			}
			again = false
		}
	}
}

// drop has all agents that answer drop what they hold of the flow, and returns
// how many of their slots are taken; an error if the master does not answer.
func (r *Run) drop(s *attempt.Spec, limit time.Duration) (used int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	agents, err := cluster.Agents(ctx, r.Master)
	if err != nil {
		agents = r.agents // the master is gone; they are not
	}
	for _, a := range agents {
		if cluster.Probe(ctx, a.Address) != nil {
			continue
		}
		used += a.Used
		if err := cluster.Drop(ctx, s, a.Address); err != nil {
			r.Job.Log.Debug("flow not dropped", "agent", a.Address, "error", err)
		}
	}
	return used, err
}

func (r *Run) clearHere(hash uint32) {
	if err := guard.ClearHere(hash); err != nil {
		r.Job.Log.Warn("processes of the flow are left", "stage", r.Stage, "error", err)
	}
}

// balance logs how evenly each stage's work was spread.
func (r *Run) balance(all []attempt.Progress) {
	type load struct {
		tasks             int
		in, most, slowest int64
	}
	stages := make(map[string]*load)
	for _, p := range all {
		l := stages[p.Stage]
		if l == nil {
			l = new(load)
			stages[p.Stage] = l
		}
		l.tasks++
		l.in += p.In
		l.most = max(l.most, p.In)
		l.slowest = max(l.slowest, p.CPU)
	}
	for _, name := range slices.Sorted(maps.Keys(stages)) {
		l := stages[name]
		r.Job.Log.Debug("stage done", "stage", name, "tasks", l.tasks, "records in", l.in, "most of one task", l.most, "slowest task's processor time", time.Duration(l.slowest)*time.Millisecond)
	}
}

// lastWords are the last lines of an attempt's log, for the error.
func lastWords(path string) string {
	const lines, width = 3, 300
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	var last []string
	for _, line := range bytes.Split(bytes.TrimSpace(text), []byte{'\n'}) {
		if len(line) > 0 {
			last = append(last, string(line[:min(len(line), width)]))
		}
	}
	if len(last) > lines {
		last = last[len(last)-lines:]
	}
	if len(last) == 0 {
		return ""
	}
	return "; the log ends with: " + strings.Join(last, " | ")
}
