package gleam

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/chrislusf/gleam/pb"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/job/rundir"
)

// Logs is the folder of the run directory with one log for each attempt: the
// driver's words and those of all workers, as gleam passes them on.
const Logs = "logs"

// run supervises the attempts at the flows of one stage.
type run struct {
	o       Options
	checked *checked
	job     *engine.Job
	stage   string
	agents  []Agent
	dir     attemptDir // of the attempt under way
	lost    string     // what an error says is missing
	kept    int64      // bytes or documents of what earlier attempts finished
	told    int64      // of them, told to Advance
}

// attempts prepares and executes a flow until accept takes its result. accept
// is called after a failed attempt too, with a nil result, to keep what was
// finished; its error is then of no account.
func (r *run) attempts(ctx context.Context, prepare func() (*spec, error), accept func(*spec, *result) error) error {
	last := ""
	for n := 1; ; n++ {
		err := r.attempt(ctx, n, prepare, accept)
		var caller *callerError
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &caller):
			return caller.err
		case errors.Is(err, ErrCluster):
			return fmt.Errorf("%w; what is finished is kept: the same command goes on from there", err)
		}
		var failure *Failure
		again := errors.As(err, &failure) && !failure.Lost && !failure.Died && failure.Stage+failure.Message == last
		if n == r.o.Attempts || again {
			return fmt.Errorf("%w after %d of %d attempts: %w; %s: see %s, then run the same command again: it goes on from what is finished",
				ErrFailed, n, r.o.Attempts, err, cmp.Or(r.lost, "no task was begun"), r.job.Dir.Path(Logs))
		}
		if last = ""; failure != nil {
			last = failure.Stage + failure.Message
		}
		r.job.Log.Warn("attempt failed, trying again", "stage", r.stage, "attempt", n, "of", r.o.Attempts, "error", err)
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

// named puts the stage before an error, for callers that do not say it.
func (r *run) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", r.stage, err)
}

// attempt executes the flow once.
func (r *run) attempt(ctx context.Context, n int, prepare func() (*spec, error), accept func(*spec, *result) error) (err error) {
	if err := r.ready(ctx, n); err != nil {
		return err
	}
	s, err := prepare()
	if err != nil {
		return err
	}
	if err := r.room(ctx, s.slots()); err != nil {
		return err
	}
	r.dir = attemptDir(r.job.Dir.Path(rundir.Scratch, fmt.Sprintf("gleam-%016x", s.Attempt)))
	defer func() { err = errors.Join(err, os.RemoveAll(string(r.dir))) }()
	if s.Files, err = s.seenFiles(); err != nil {
		return &callerError{err}
	}
	if err := r.lay(s); err != nil {
		return err
	}
	if err := r.check(ctx, s); err != nil {
		return err
	}
	res, err := r.drive(ctx, s)
	if err != nil {
		if terr := r.job.Dir.Tidy(); terr != nil {
			r.job.Log.Warn("files that killed workers left could not be removed", "error", terr)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		aerr := accept(s, nil)
		r.advance(nil)
		if aerr == nil {
			r.job.Log.Info("the flow failed after its last task: nothing is missing", "stage", r.stage, "error", err)
			return nil
		} else if errors.As(aerr, new(*callerError)) {
			return aerr
		}
		return err
	}
	err = accept(s, res)
	r.advance(nil)
	return err
}

// spec begins the description of an attempt.
func (r *run) spec(ctx context.Context) (*spec, error) {
	sum, err := binarySum()
	if err != nil {
		return nil, err
	}
	path, err := filepath.Abs(r.job.Dir.Path())
	if err != nil {
		return nil, err
	}
	work, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	s := &spec{
		Attempt: rand.Uint64(), Hash: rand.Uint32(), Master: r.o.Master,
		Run: path, Work: work, Binary: sum,
		Config: r.job.Config, Execution: r.job.Config.Execution, JobHash: r.job.Hash,
	}
	s.Execution.Shards, s.Execution.Salts = max(s.Execution.Shards, 1), max(s.Execution.Salts, 1)
	if path := r.job.Config.Library.Path; path != "" {
		s.Relative = !filepath.IsAbs(path)
	}
	for _, named := range r.job.Config.Features.Files() {
		s.Relative = s.Relative || !filepath.IsAbs(named)
	}
	return s, ctx.Err()
}

// lay writes the attempt's folder.
func (r *run) lay(s *spec) error {
	path, err := filepath.Abs(string(r.dir))
	if err != nil {
		return err
	}
	r.dir = attemptDir(path)
	for _, sub := range []string{r.dir.workers(), r.dir.guards(), r.dir.failures(), r.job.Dir.Path(Logs)} {
		if err := os.MkdirAll(sub, 0o755); err != nil {
			return fmt.Errorf("attempt: %w", err)
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("attempt: %w", err)
	}
	if err := data.WriteFileAtomic(r.dir.spec(), text); err != nil {
		return err
	}
	if err := r.layProgram(s); err != nil {
		return err
	}
	return data.WriteFileAtomic(r.dir.lease(), nil)
}

// layProgram puts the program into the run directory, once for all attempts,
// and the launcher of this attempt, which brings it to the agents.
func (r *run) layProgram(s *spec) (err error) {
	program := filepath.Join(filepath.Dir(string(r.dir)), fmt.Sprintf("program-%016x", s.Binary))
	if gone(program) {
		from, err := os.Open(executable)
		if err != nil {
			return fmt.Errorf("program: %w", err)
		}
		defer func() { err = errors.Join(err, from.Close()) }()
		to, err := data.CreateAtomic(program)
		if err != nil {
			return err
		}
		if _, err := io.Copy(to, from); err != nil {
			return errors.Join(fmt.Errorf("program: %w", err), to.Abort())
		}
		if err := to.Commit(); err != nil {
			return err
		}
	}
	// Each time: who was ended before may not have come to it.
	if err := os.Chmod(program, 0o755); err != nil { //nolint:gosec // agents on this file system link it
		return fmt.Errorf("program: %w", err)
	}
	if err := data.WriteFileAtomic(r.dir.launcher(), launcher(program, r.dir)); err != nil {
		return err
	}
	return os.Chmod(r.dir.launcher(), 0o755) //nolint:gosec // agents start it
}

// patience is how long the cluster may not be ready: once it was, or was tried,
// long enough for an agent, which asks for its master every 30 s.
func (r *run) patience(attempt int) time.Duration {
	const first, later = 4 * time.Second, 45 * time.Second
	if attempt == 1 && !r.checked.any() {
		return first
	}
	return max(first, min(r.o.Stall, later))
}

// ready waits for the master and for agents that all answer.
func (r *run) ready(ctx context.Context, attempt int) error {
	patience := r.patience(attempt)
	before := r.agents
	for began := time.Now(); ; {
		agents, err := Agents(ctx, r.o.Master)
		if err == nil && len(agents) == 0 {
			err = fmt.Errorf("%w: the master at %s has no agents: start some (scripts/cluster.sh up)", ErrCluster, r.o.Master)
		}
		if err == nil {
			for address, cause := range silent(ctx, agents) {
				err = errors.Join(err, fmt.Errorf("%w: the agent at %s does not answer: restart it, or stop it for good: %w", ErrCluster, address, cause))
			}
		}
		r.agents = agents
		switch {
		case err == nil:
			if lost := missing(before, agents); len(lost) > 0 {
				r.job.Log.Warn("agents are gone since the last attempt: the others go on", "stage", r.stage, "agents", strings.Join(lost, ", "))
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

// missing are the addresses of agents that were there before and are not now.
func missing(before, now []Agent) (lost []string) {
	for _, a := range before {
		if !slices.ContainsFunc(now, func(b Agent) bool { return b.Address == a.Address }) {
			lost = append(lost, a.Address)
		}
	}
	return lost
}

// room waits until so many slots are free.
func (r *run) room(ctx context.Context, wanted int) error {
	for began := time.Now(); ; {
		slots, used := 0, 0
		for _, a := range r.agents {
			slots, used = slots+a.Slots, used+max(a.Used, 0)
		}
		switch {
		case slots-used >= wanted:
			return nil
		case slots < wanted:
			return fmt.Errorf("%w: the flow needs %d slots at once, %d agents have %d: start more agents, or agents with more (--slots)", ErrCluster, wanted, len(r.agents), slots)
		case time.Since(began) > r.o.Stall:
			return fmt.Errorf("%w: the flow needs %d slots at once, %d of %d are taken: wait for the other run, or restart the agents (scripts/cluster.sh restart)", ErrCluster, wanted, used, slots)
		}
		if err := sleep(ctx, time.Second/2); err != nil {
			return err
		}
		agents, err := Agents(ctx, r.o.Master)
		switch {
		case err == nil:
			r.agents = agents
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(began) > r.o.Stall:
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

// drive runs the driver in a process group of its own, watches it, and leaves
// nothing of the flow behind, however it ends.
func (r *run) drive(ctx context.Context, s *spec) (res *result, err error) {
	logPath := r.job.Dir.Path(Logs, fmt.Sprintf("%s-%016x.log", r.stage, s.Attempt))
	log, err := os.Create(logPath)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	cmd := exec.Command(executable, argDir+string(r.dir), fmt.Sprintf("%s%x", argID, s.Attempt))
	cmd.Args[0] = os.Args[0]
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("driver: %w", err)
	}
	r.job.Log.Debug("attempt started", "stage", r.stage, "agents", len(r.agents), "slots", s.slots(), "log", logPath)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	cause := r.watch(ctx, s, ended)
	if cause != nil {
		if kerr := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); kerr != nil && !errors.Is(kerr, syscall.ESRCH) {
			r.job.Log.Warn("the driver's process group could not be ended", "error", kerr)
		}
	}
	r.clear(s, cause != nil)
	r.advance(readProgress(r.dir.workers()))
	res = new(result)
	switch rerr := rundir.ReadJSON(r.dir.result(), res); {
	case rerr == nil && res.Failure == nil && (cause == nil || errors.Is(cause, errUntidy)):
		return res, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case rerr == nil && res.Failure != nil:
		cause = res.Failure
	}
	if f := readFailure(r.dir.failures()); f != nil {
		return nil, f
	}
	if f := fullDisk(r.dir); f != nil {
		return nil, f
	}
	if cause == nil {
		cause = &lostError{"the driver ended without a result"}
	}
	var failure *Failure
	if errors.As(cause, &failure) {
		return nil, cause
	}
	return nil, fmt.Errorf("%w%s", cause, lastWords(logPath))
}

// readFailure returns a failure that a worker noted: the first that is not
// the mere loss of rows, which follows from others.
func readFailure(folder string) *Failure {
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil
	}
	for _, path := range paths {
		f := new(Failure)
		if rundir.ReadJSON(path, f) == nil && !f.Lost {
			return f
		}
	}
	return nil
}

// errUntidy is returned for a driver whose result is there, but that does not
// end.
var errUntidy = errors.New("the driver does not end")

// watch returns when the driver ended, nil for an end in good order, or when
// it has to be ended.
func (r *run) watch(ctx context.Context, s *spec, ended <-chan error) error {
	tick := time.NewTicker(beatEvery / 2)
	defer tick.Stop()
	began, renewed := time.Now(), time.Now()
	w := newWatch(r.o.Stall, began)
	var result time.Time // when the result was there first
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			if err != nil {
				return &lostError{fmt.Sprintf("the driver ended: %v", err)}
			}
			return nil
		case now := <-tick.C:
			if now.Sub(renewed) > leaseRenewed {
				renewed = now
				if err := os.Chtimes(r.dir.lease(), now, now); err != nil {
					return fmt.Errorf("lease: %w", err)
				}
			}
			if !gone(r.dir.result()) {
				if result.IsZero() {
					result = now
				}
				if now.Sub(result) > 5*time.Second {
					return errUntidy
				}
				continue
			}
			if f := readFailure(r.dir.failures()); f != nil {
				return f
			}
			if now.Sub(began) > r.o.Deadline {
				return &lostError{fmt.Sprintf("not finished within the deadline of %v", r.o.Deadline)}
			}
			all := readProgress(r.dir.workers())
			r.advance(all)
			if err := w.see(all, now); err != nil {
				return err
			}
		}
	}
}

// advance tells the job of input bytes and documents that were read: of tasks
// that are finished, and of those under way. What a failed attempt read and
// another reads again is told once.
func (r *run) advance(all []Progress) {
	if r.job.Advance == nil {
		return
	}
	sum := r.kept
	for _, p := range all {
		switch p.Stage {
		case engine.StageFingerprint:
			sum += p.Bytes
		case engine.StageEarlier:
			sum += p.In
		}
	}
	if sum > r.told {
		r.job.Advance(sum - r.told)
		r.told = sum
	}
}

// watch notices a flow that stands still and a worker that fell silent.
type watch struct {
	stall   time.Duration
	sum     int64
	cpu     int64
	moved   time.Time // when the sum last changed
	beats   map[string]int64
	changed map[string]time.Time // when a worker last told something
}

func newWatch(stall time.Duration, now time.Time) *watch {
	return &watch{stall: stall, moved: now, beats: make(map[string]int64), changed: make(map[string]time.Time)}
}

// silence is how long a worker may tell nothing.
const silence = 20 * time.Second

// busy is the processor time that counts as progress when no counter moves: a
// sort, or the comparison of one large group.
const busy = 500 // milliseconds

func (w *watch) see(all []Progress, now time.Time) error {
	sum, cpu := int64(0), int64(0)
	for _, p := range all {
		sum += p.In + p.Out + p.Bytes
		cpu += p.CPU
		name := fmt.Sprintf("%s %d", p.Stage, p.Task)
		if w.beats[name] != p.Beat {
			w.beats[name], w.changed[name] = p.Beat, now
		} else if quiet := now.Sub(w.changed[name]); !p.Done && quiet > min(silence, w.stall) {
			return &lostError{fmt.Sprintf("%s task %d on %s (process %d) tells nothing for %v: it, its agent or its host is gone", p.Stage, p.Task, p.Host, p.PID, quiet.Round(time.Second))}
		}
	}
	if sum != w.sum || cpu > w.cpu+busy {
		w.sum, w.cpu, w.moved = sum, cpu, now
	}
	if still := now.Sub(w.moved); still > w.stall {
		return &lostError{fmt.Sprintf("nothing moved for %v: %s", still.Round(time.Second), standing(all))}
	}
	return nil
}

// standing names the workers that are not done.
func standing(all []Progress) string {
	const limit = 5
	var names []string
	for _, p := range all {
		if !p.Done && p.Stage != stageDriver.String() {
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

// readProgress reads what the workers of an attempt last told.
func readProgress(folder string) (all []Progress) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		var p Progress
		if err == nil && json.Unmarshal(text, &p) == nil {
			all = append(all, p)
		}
	}
	return all
}

// clear ends what is left of the flow: the guards see that the lease is gone
// and kill the executors, and agents drop the rows they hold.
func (r *run) clear(s *spec, failed bool) {
	if err := os.Remove(r.dir.lease()); err != nil && !errors.Is(err, os.ErrNotExist) {
		r.job.Log.Warn("the lease could not be removed", "error", err)
	}
	const patience = 12 * time.Second
	for began := time.Now(); time.Since(began) < patience; time.Sleep(guardEvery / 4) {
		if left, err := os.ReadDir(r.dir.guards()); err != nil || len(left) == 0 {
			break
		}
	}
	r.clearHere(s.Hash)
	if !failed {
		r.balance(readProgress(r.dir.workers()))
		return
	}
	// Where no guard stood yet, executors wait for rows that do not come:
	// ending their channels ends them.
	again := s.OnDisk // a reader that waits makes the file of a deleted channel anew
	for began := time.Now(); time.Since(began) < patience; time.Sleep(time.Second) {
		r.clearHere(s.Hash)
		used := 0
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		agents, err := Agents(ctx, r.o.Master)
		if err != nil {
			agents = r.agents // the master is gone; they are not
		}
		for _, a := range agents {
			if probe(ctx, a.Address) == nil {
				used += a.Used
				r.endChannels(ctx, s, a)
			}
		}
		cancel()
		r.job.Log.Debug("channels ended", "stage", r.stage, "slots taken", used)
		if err == nil && used == 0 {
			if !again {
				return
			}
			again = false
		}
	}
}

// balance logs how evenly each stage's work was spread.
func (r *run) balance(all []Progress) {
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
		r.job.Log.Debug("stage done", "stage", name, "tasks", l.tasks, "records in", l.in, "most of one task", l.most, "slowest task's processor time", time.Duration(l.slowest)*time.Millisecond)
	}
}

// elsewhere is true in tests whose agents stand for other hosts.
var elsewhere bool

// clearHere ends what is left of the flow on this very host: agents here need
// no guard.
func (r *run) clearHere(hash uint32) {
	if elsewhere {
		return
	}
	if err := clearFlow(strconv.FormatUint(uint64(hash), 10)); err != nil {
		r.job.Log.Warn("processes of the flow are left", "stage", r.stage, "error", err)
	}
}

// endChannels makes an agent drop all that it holds of the flow. Ending a
// channel makes its file anew where rows go by way of the disk: it is deleted
// afterwards.
func (r *run) endChannels(ctx context.Context, s *spec, a Agent) {
	err := withAgent(a.Address, func(client pb.GleamAgentClient) error {
		for _, d := range s.build(nil).Datasets {
			for _, shard := range d.Shards {
				if err := endChannel(ctx, a.Address, shard.Name(), d.GetIsOnDiskIO()); err != nil {
					r.job.Log.Debug("channel not ended", "agent", a.Address, "channel", shard.Name(), "error", err)
				}
				if d.GetIsOnDiskIO() {
					if _, err := client.Delete(ctx, &pb.DeleteDatasetShardRequest{Name: shard.Name()}); err != nil {
						return err
					}
				}
			}
		}
		_, err := client.Cleanup(ctx, &pb.CleanupRequest{FlowHashCode: s.Hash})
		return err
	})
	if err != nil {
		r.job.Log.Debug("flow's folder not removed", "agent", a.Address, "error", err)
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
