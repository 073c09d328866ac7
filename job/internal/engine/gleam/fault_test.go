//go:build linux

package gleam

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/guard"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/supervise"
	"github.com/neardup/neardup/job/internal/engine/internal/plantedtest"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/state/texts"
)

// fault is something that goes wrong in a run, and how the run may end.
type fault struct {
	name string
	what string // what the worker at the point does; see injected
	// strike is what happens from outside while the worker, of that process
	// id, is held at the point; mend is what happens after it goes on.
	strike func(tr *trial, pid int)
	mend   func(*trial)
	after  func(*trial)       // once the run has ended
	want   func(error) string // "" if the end is one that may be; nil: the right result
	breaks bool               // the cluster is not the same afterwards
	stall  time.Duration      // default 6 s, in the short form a minute
	out    bool               // the agent of the fault may be left out, and no other; it must be where nothing of the flow is kept
}

// point is a moment in the life of a task: where a fault strikes.
type point struct {
	stage  string
	task   int
	moment moment
}

func (p point) String() string { return fmt.Sprintf("%s %d %s", p.stage, p.task, p.moment) }

// perSplit reports whether the point is in a flow of a task for each split.
func (p point) perSplit() bool { _, ok := outputsOf[p.stage]; return ok }

// joins reports whether the point is in the earlier flow.
func (p point) joins() bool { return p.stage == stageHistory }

var historyPoints = []point{{stageHistory, 0, early}, {stageHistory, 1, middle}, {stageHistory, 0, late}}

// splitPoints are those of the flows of a task for each split.
var splitPoints = []point{
	{stage.Fingerprint, 0, early}, {stage.Fingerprint, 1, middle}, {stage.Fingerprint, 0, late},
	{stage.Texts, 0, early}, {stage.Texts, 1, middle}, {stage.Texts, 0, late},
	{stage.Write, 0, early}, {stage.Write, 1, middle}, {stage.Write, 0, late},
}

// matchPoints are all points of the match flow, flowPoints one for each part
// of each flow's life.
var (
	matchPoints = []point{
		{cluster.Deal, 0, early},
		{stageSegment, 0, early}, {stageSegment, 1, middle}, {stageSegment, 0, late},
		{stagePartial, 1, early}, {stagePartial, 0, middle}, {stagePartial, 1, late},
		{stageFinal, 0, early}, {stageFinal, 1, middle}, {stageFinal, 0, late},
	}
	flowPoints = append(slices.Concat(splitPoints, historyPoints), point{stageSegment, 1, early}, point{stagePartial, 0, middle}, point{stageFinal, 1, late})
)

// agentOf is the number of the agent that a worker stands on.
func (tr *trial) agentOf(pid int) int {
	agent := guard.Parent(guard.Parent(pid))
	for i, a := range tr.c.agents {
		if a.Process.Pid == agent {
			return i
		}
	}
	tr.Errorf("process %d stands on no agent", pid)
	return 0
}

// taskFaults are what a task does.
var taskFaults = []fault{
	{name: "error", what: "error-once"},
	{name: "panic", what: "panic"},
	{name: "bad row", what: "garbage"},
	{name: "worker killed", strike: func(_ *trial, pid int) { kill(pid, syscall.SIGKILL) }},
}

// processFaults are what happens to the processes around the tasks.
var processFaults = []fault{
	{name: "executor killed", strike: func(_ *trial, pid int) { kill(guard.Parent(pid), syscall.SIGKILL) }},
	{name: "driver killed", strike: func(tr *trial, _ int) { tr.signal(tr.driver, syscall.SIGKILL) }},
	{name: "SIGTERM to the driver", strike: func(tr *trial, _ int) { tr.signal(tr.driver, syscall.SIGTERM) }},
	{name: "agent killed and started again", breaks: true,
		strike: func(tr *trial, pid int) { tr.agent = tr.agentOf(pid); tr.killAgent() },
		mend:   func(tr *trial) { tr.c.startAgent(tr.agent) }},
	{name: "agent killed for good", breaks: true, strike: func(tr *trial, pid int) { tr.agent = tr.agentOf(pid); tr.killAgent() }},
	{name: "agent stopped and continued", breaks: true,
		strike: func(tr *trial, pid int) {
			tr.agent = tr.agentOf(pid)
			kill(tr.c.agents[tr.agent].Process.Pid, syscall.SIGSTOP)
		},
		mend: func(tr *trial) {
			time.Sleep(8 * time.Second)
			kill(tr.c.agents[tr.agent].Process.Pid, syscall.SIGCONT)
		}},
	{name: "master killed and started again", breaks: true,
		strike: func(tr *trial, _ int) { tr.killMaster() },
		mend:   func(tr *trial) { tr.c.startMaster() }},
	{name: "agent stopped for good", breaks: true, out: true, strike: stopAgent},
	{name: "worker stopped", out: true, strike: stopWorker},
	{name: "cancelled", strike: func(tr *trial, _ int) { tr.cancel() }, want: func(err error) string {
		if !errors.Is(err, context.Canceled) {
			return fmt.Sprintf("%v is no cancellation", err)
		}
		return ""
	}},
}

// lastingFaults do not go away: the run fails, and says why.
var lastingFaults = []fault{
	{name: "error each time", what: "error", want: failed("task", "made to fail", "attempts", "run the same command again")},
	{name: "master and an agent killed", breaks: true, strike: func(tr *trial, pid int) {
		tr.killMaster()
		tr.agent = tr.agentOf(pid)
		tr.killAgent()
	}, want: rightOr("the master at", "start it")},
}

// moreFaults are tried in one place each.
var moreFaults = []struct {
	fault
	point
}{
	{fault{name: "error", what: "error-once"}, point{cluster.Deal, 0, early}},
	{fault{name: "stray line", what: "print"}, point{stagePartial, 0, early}},
	{fault{name: "exit with 3", what: "exit"}, point{stageFinal, 0, early}},
	{fault{name: "exit with 3", what: "exit"}, point{stage.Fingerprint, 0, middle}},
	{fault{name: "worker dies by itself", what: "die"}, point{stageSegment, 1, early}},
	{fault{name: "master killed and started again, and an error", breaks: true, stall: 40 * time.Second, what: "error-once",
		mend: func(tr *trial) {
			tr.killMaster()
			tr.c.startMaster()
		}}, point{stagePartial, 0, early}},
}

// trial is one run with a fault in it.
type trial struct {
	*testing.T
	c      *testCluster
	run    string
	cancel context.CancelFunc
	agent  int // that was struck
}

func (tr *trial) driver(args []string) bool {
	line := strings.Join(args, " ")
	return strings.Contains(line, attempt.ArgDir+tr.run) && !strings.Contains(line, attempt.ArgStage) && !strings.Contains(line, attempt.ArgGuard)
}

func (tr *trial) signal(fits func(args []string) bool, sig syscall.Signal) {
	for pid, args := range processes(tr.run) {
		if fits(args) {
			kill(pid, sig)
			return
		}
	}
	tr.Error("nobody to strike")
}

func (tr *trial) killAgent() {
	a := tr.c.agents[tr.agent]
	kill(a.Process.Pid, syscall.SIGKILL)
	_ = a.Wait() // it was killed
}

// leftOut checks that no other agent was left out than the fault's.
func (tr *trial) leftOut(out []engine.LeftOut, p point) {
	for _, l := range out {
		if l.Agent != tr.c.address(tr.agent) || l.Reason == "" || l.Host == "" {
			tr.Errorf("left out was %+v, want %s", l, tr.c.address(tr.agent))
		}
	}
	if len(out) == 0 && p.stage == stagePartial {
		tr.Error("no agent was left out")
	}
}

// attempts is how many drivers of a stage's flow have a log.
func (tr *trial) attempts(stage string) int {
	logs, err := filepath.Glob(filepath.Join(tr.run, rundir.Logs, stage+"-"+strings.Repeat("[0-9a-f]", 16)+".log"))
	if err != nil {
		tr.Error(err)
	}
	return len(logs)
}

// stopAgent has the worker's agent hang.
func stopAgent(tr *trial, pid int) {
	tr.agent = tr.agentOf(pid)
	kill(tr.c.agents[tr.agent].Process.Pid, syscall.SIGSTOP)
}

// stopWorker has the worker itself hang.
func stopWorker(tr *trial, pid int) {
	tr.agent = tr.agentOf(pid)
	kill(pid, syscall.SIGSTOP)
}

func (tr *trial) killMaster() {
	kill(tr.c.masterP.Process.Pid, syscall.SIGKILL)
	_ = tr.c.masterP.Wait() // it was killed
}

func failed(words ...string) func(error) string {
	return func(err error) string {
		if err == nil {
			return "no error"
		}
		return rightOr(words...)(err)
	}
}

// rightOr is an end with a result, or with an error of these words: a fault
// may come too late to do harm.
func rightOr(words ...string) func(error) string {
	return func(err error) string {
		for _, w := range words {
			if err != nil && !strings.Contains(err.Error(), w) {
				return fmt.Sprintf("%q is not in %q", w, err)
			}
		}
		return ""
	}
}

const faultDocuments = 5_000

// faultRuns makes runs that have a fault in them, and knows the right results.
type faultRuns struct {
	manifest rundir.Manifest
	dir      *rundir.Dir                    // of the run without a fault
	records  map[string][]rundir.TaskRecord // of it, by stage
	pairs    []data.Pair
	history  *historyInput
	found    string
}

// outputsOf are the folders that the tasks of a stage write into.
var outputsOf = map[string][]string{
	stage.Fingerprint: {rundir.Fingerprints, rundir.Quarantine, rundir.Texts, filepath.Join(rundir.State, corpus.ViewsFolder)},
	stage.Texts:       {filepath.Join(rundir.State, texts.ShinglesFolder)},
	stage.Write:       {rundir.Matches, rundir.Clusters, rundir.Pairs, rundir.Removed, rundir.Clean},
}

// newFaultRuns makes a whole run of the thorough preset, a match and a join.
func newFaultRuns(t *testing.T) *faultRuns {
	out := filepath.Join(t.TempDir(), "run")
	cfg := presetConfig(t, config.PresetThorough, 64)
	cfg.Input.SplitBytes, cfg.Match.AllPairs = 100<<10, true
	cfg.Features.StripBoilerplate = false // documents are fingerprinted in an empty run
	cfg.Execution.KeepState = true
	if _, err := job.Run(t.Context(), job.Request{Command: job.CommandRun, Inputs: []string{crawl(t)}, Out: out, Config: cfg, Engine: local.New(2), Log: testLog(t)}); err != nil {
		t.Fatal(err)
	}
	r := &faultRuns{records: map[string][]rundir.TaskRecord{}}
	var err error
	if r.dir, err = rundir.Attach(out); err != nil {
		t.Fatal(err)
	}
	if err := rundir.ReadJSON(r.dir.Path(rundir.ManifestFile), &r.manifest); err != nil {
		t.Fatal(err)
	}
	for stage := range outputsOf {
		rows := int64(0)
		for task := range r.manifest.Splits {
			rec, done, err := r.dir.Record(stage, task)
			if err != nil || !done {
				t.Fatalf("%s task %d: %v", stage, task, err)
			}
			rows += rec.RowsOut
			rec.Seconds = 0
			r.records[stage] = append(r.records[stage], rec)
		}
		if rows < 10 {
			t.Fatalf("%s: %d rows: the test shows nothing", stage, rows)
		}
	}
	dir := openRun(t)
	documents := writeViews(t, dir, config.Default(), plantedtest.Views(faultDocuments, 64))
	if r.pairs, err = findPairs(t.Context(), t, local.New(2), dir, config.Default(), documents); err != nil {
		t.Fatal(err)
	}
	r.history = newHistoryInput(t, config.Default(), faultDocuments, faultDocuments/8)
	if r.found, err = r.history.join(t.Context(), t, local.New(2), openRun(t), r.history.splits); err != nil {
		t.Fatal(err)
	}
	return r
}

// newFingerprintRuns knows the results of the fingerprint flow alone.
func newFingerprintRuns(t *testing.T, splits []data.Split) *faultRuns {
	r := &faultRuns{manifest: manifestOf(t, config.Default(), splits), dir: openRun(t)}
	records, err := fingerprintRun(t, local.New(2), r.dir, splits)
	if err != nil {
		t.Fatal(err)
	}
	r.records = map[string][]rundir.TaskRecord{stage.Fingerprint: records}
	return r
}

// begun is a run directory in which the stages before that one are done.
func (r *faultRuns) begun(t *testing.T, name string) *rundir.Dir {
	t.Helper()
	if name != stage.Texts && name != stage.Write {
		return openRun(t)
	}
	path := filepath.Join(t.TempDir(), "run")
	if err := os.CopyFS(path, os.DirFS(r.dir.Path())); err != nil {
		t.Fatal(err)
	}
	for _, folder := range outputsOf[name] {
		if err := os.RemoveAll(filepath.Join(path, folder)); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := rundir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	})
	for task := range r.manifest.Splits {
		if err := os.Remove(dir.RecordPath(name, task)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// deadlineOf bounds a run with the fault in it, all attempts included: of each
// so much as nothing may move, and what the cluster then needs.
func deadlineOf(f fault) time.Duration { return 3*stallOf(f) + 2*time.Minute }

// stallOf is how long nothing may move in a run with the fault in it. The
// short form runs anywhere: on a machine that is busy with other things a
// flow's processes take their time to start.
func stallOf(f fault) time.Duration {
	if !long() {
		return cmp.Or(f.stall, time.Minute)
	}
	return cmp.Or(f.stall, 6*time.Second)
}

// try runs the point's flow with the fault in it and checks how it ends and
// what it leaves behind.
func (r *faultRuns) try(t *testing.T, c *testCluster, f fault, p point) {
	began := time.Now()
	dir := r.begun(t, p.stage)
	what := f.what
	if f.strike != nil {
		what = "hold"
	}
	if err := os.WriteFile(dir.Path("fault"), fmt.Appendf(nil, "%s %s", p, what), 0o644); err != nil {
		t.Fatal(err)
	}
	own, err := data.CreateAtomic(dir.Path("own")) // as the command may have one, all the while
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.t = t
	tr := &trial{T: t, c: c, run: dir.Path(), cancel: cancel}
	ended := make(chan struct{})
	var outside sync.WaitGroup
	outside.Go(func() { tr.fromOutside(f, ended) })

	stall := stallOf(f)
	e := newEngine(t, Options{Master: c.master, Stall: stall, Deadline: 10 * stall})
	var wrong string
	switch {
	case p.perSplit():
		wrong, err = r.each(ctx, t, e, dir, p.stage)
	case p.joins():
		wrong, err = r.join(ctx, t, e, dir)
	default:
		wrong, err = r.match(ctx, t, e, dir)
	}
	close(ended)
	outside.Wait()
	if err := own.Commit(); err != nil {
		t.Errorf("what the command itself was writing: %v", err)
	}
	if f.after != nil {
		f.after(tr)
	}
	if attempt.Gone(dir.Path("fault.at")) {
		t.Errorf("no task came to %s", p)
	}
	switch {
	// What tasks of these flows finished is kept: an attempt may have nothing
	// left for the one that fails, and one that fails after its last split may
	// leave nothing missing.
	case f.what == "error" && err == nil && (p.perSplit() || p.joins()) && (p.task > 0 || p.moment == late):
	case f.want != nil && f.want(err) != "":
		t.Errorf("a wrong end: %s", f.want(err))
	case f.want == nil && err != nil:
		t.Errorf("no result: %v", err)
	}
	if wrong != "" {
		t.Errorf("%s (error %v)", wrong, err)
	}
	if f.out {
		tr.leftOut(e.LeftOut(), p)
		// Of a flow that fails after its last split nothing is missing.
		if p.perSplit() || p.joins() {
			if again := tr.attempts(p.stage) - 1; e.Restarts() != int64(again) {
				t.Errorf("a flow was tried again %d times, and %d are counted", again, e.Restarts())
			}
		} else if e.Restarts() == 0 {
			t.Error("a flow was tried again, and is not counted")
		}
	}
	if took := time.Since(began); took > deadlineOf(f) {
		t.Errorf("it took %v", took)
	}
	for _, a := range c.agents {
		kill(a.Process.Pid, syscall.SIGCONT)
	}
	c.left(dir.Path())
	t.Logf("ended after %v", time.Since(began).Round(time.Second/10))
}

// fromOutside waits until a worker comes to the point and does what the fault
// is.
func (tr *trial) fromOutside(f fault, ended <-chan struct{}) {
	var text []byte
	for {
		var err error
		if text, err = os.ReadFile(filepath.Join(tr.run, "fault.at")); err == nil {
			break
		}
		select {
		case <-ended:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
	if f.strike != nil {
		pid, err := strconv.Atoi(string(text))
		if err != nil {
			tr.Error(err)
			return
		}
		f.strike(tr, pid)
		if err := os.WriteFile(filepath.Join(tr.run, "fault.go"), nil, 0o644); err != nil {
			tr.Error(err)
		}
	}
	if f.mend != nil {
		f.mend(tr)
	}
}

// match runs the match flow and says what is wrong with the result.
func (r *faultRuns) match(ctx context.Context, t *testing.T, e *Engine, dir *rundir.Dir) (wrong string, err error) {
	pairs, err := findPairs(ctx, t, e, dir, config.Default(), writeViews(t, dir, config.Default(), plantedtest.Views(faultDocuments, 64)))
	switch {
	case err == nil && !slices.Equal(pairs, r.pairs):
		return fmt.Sprintf("got %d pairs, want %d", len(pairs), len(r.pairs)), nil
	case err != nil && len(pairs) > 0:
		return fmt.Sprintf("%d pairs were passed on in a run that failed", len(pairs)), err
	}
	return "", err
}

// join runs the earlier flow and says what is wrong with the result.
func (r *faultRuns) join(ctx context.Context, t *testing.T, e *Engine, dir *rundir.Dir) (wrong string, err error) {
	found, err := r.history.join(ctx, t, e, dir, r.history.splits)
	if err == nil && found != r.found {
		return firstDifference(found, r.found), nil
	}
	return "", err
}

// each runs the flow of a stage of a task for each split, and says what is wrong
// with the result: what is finished must be right even in a run that failed.
func (r *faultRuns) each(ctx context.Context, t *testing.T, e *Engine, dir *rundir.Dir, stage string) (wrong string, err error) {
	records, err := eachTask(ctx, t, e, dir, stage, r.manifest)
	for i, rec := range records {
		if rec.Stage == "" && err != nil {
			continue
		}
		if got, want := recordText(t, rec), recordText(t, r.records[stage][i]); got != want {
			return fmt.Sprintf("got %s, want %s", got, want), err
		}
	}
	for _, folder := range outputsOf[stage] {
		if err == nil {
			sameFiles(t, r.dir, dir, folder)
		}
	}
	return "", err
}

// TestFaults tries each fault at several moments of each flow with
// NEARDUP_CLUSTER_LONG, else one of each kind, and in the short form a fault of
// a task and one of a process.
func TestFaults(t *testing.T) {
	needCluster(t)
	skipShort(t)
	t.Parallel()
	type try struct {
		fault
		point
	}
	tries := []try{
		{taskFaults[1], splitPoints[1]},
		{taskFaults[3], splitPoints[3]},
		{taskFaults[3], splitPoints[7]},
		{taskFaults[3], matchPoints[1]},
		{taskFaults[3], historyPoints[1]},
		{processFaults[1], historyPoints[2]},
	}
	if long() {
		tries = nil
		all := slices.Concat(splitPoints, historyPoints, matchPoints)
		for _, f := range taskFaults {
			for _, p := range all {
				tries = append(tries, try{f, p})
			}
		}
		for _, f := range processFaults {
			for _, p := range flowPoints {
				tries = append(tries, try{f, p})
			}
		}
		for _, f := range processFaults {
			if !strings.HasPrefix(f.name, "driver") && !strings.HasSuffix(f.name, "driver") { // there is none yet
				f.stall = 40 * time.Second // the agents look for their master every 30 s
				tries = append(tries, try{f, point{stageCheck, 0, early}})
			}
		}
		for _, f := range lastingFaults {
			tries = append(tries, try{f, splitPoints[1]}, try{f, splitPoints[7]}, try{f, historyPoints[1]}, try{f, point{stagePartial, 0, middle}})
		}
		for _, f := range moreFaults {
			tries = append(tries, try(f))
		}
	}
	runs := newFaultRuns(t)
	outer := t
	var c *testCluster
	for _, f := range tries {
		t.Run(fmt.Sprintf("%s/%s", f.point, f.name), func(t *testing.T) {
			if c == nil {
				c = startCluster(outer, 3, 4)
			}
			runs.try(t, c, f.fault, f.point)
			if t.Failed() || f.breaks {
				c.stop()
				c = nil
			}
		})
	}
}

// TestFaultsOnDisk tries faults where there are too few slots, so that the
// steps run one after the other.
func TestFaultsOnDisk(t *testing.T) {
	if !long() {
		t.Skip("NEARDUP_CLUSTER_LONG is not set")
	}
	runs := newFaultRuns(t)
	for _, f := range slices.Concat(taskFaults, processFaults) {
		if strings.Contains(f.name, "for good") { // the only agent
			continue
		}
		// A master learns of a free slot within 10 s, and only then the next
		// step starts.
		f.stall = max(f.stall, 20*time.Second)
		f.out = false // the only agent stays in
		for _, p := range flowPoints {
			if p.joins() {
				p.task = 0 // one worker an agent
			}
			t.Run(fmt.Sprintf("%s/%s", p, f.name), func(t *testing.T) {
				runs.try(t, startCluster(t, 1, 2), f, p)
			})
		}
	}
}

// TestSoak runs with a random fault each, on one cluster after the other. The
// value of NEARDUP_CLUSTER_SOAK is the number of runs and, after a comma, a
// seed.
func TestSoak(t *testing.T) {
	number, from, _ := strings.Cut(os.Getenv("NEARDUP_CLUSTER_SOAK"), ",")
	runs, err := strconv.Atoi(number)
	if err != nil {
		t.Skip("NEARDUP_CLUSTER_SOAK is not a number of runs")
	}
	seed, err := strconv.ParseUint(from, 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	right := newFaultRuns(t)
	r := rand.New(rand.NewPCG(seed, 0))
	faults := slices.Concat(taskFaults, processFaults, lastingFaults)
	points := slices.Concat(splitPoints, splitPoints, historyPoints, historyPoints, historyPoints, matchPoints)
	for i := range runs {
		f, p := faults[r.IntN(len(faults))], points[r.IntN(len(points))]
		if f.strike != nil { // at any time after the point
			delay, strike := time.Duration(r.IntN(800))*time.Millisecond, f.strike
			f.strike = func(tr *trial, pid int) {
				time.Sleep(delay)
				strike(tr, pid)
			}
		}
		t.Run(fmt.Sprintf("%d/%s/%s", i, p, f.name), func(t *testing.T) { right.try(t, startCluster(t, 3, 4), f, p) })
	}
}

// TestFewSlots runs flows that have fewer slots than tasks.
func TestFewSlots(t *testing.T) {
	if !long() {
		t.Skip("NEARDUP_CLUSTER_LONG is not set")
	}
	v := variant{64, 3, faultDocuments}
	for _, slots := range []int{1, 2, 5, 7} {
		t.Run(fmt.Sprint(slots), func(t *testing.T) {
			c := startCluster(t, 1, slots)
			matchEqualsLocal(t, c, v)
			splitStagesEqualLocal(t, c)
		})
	}
}

// TestFinishedSplitsAreKept fails one split for good: the others are
// finished, and a second run goes on with that one alone.
func TestFinishedSplitsAreKept(t *testing.T) {
	if !long() {
		t.Skip("NEARDUP_CLUSTER_LONG is not set")
	}
	c := startCluster(t, 3, 4)
	dir := openRun(t)
	input := t.TempDir()
	splits := dump(t, input)
	bad := splits[len(splits)-1].Path
	text, err := os.ReadFile(bad)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(bad), os.Mkdir(bad, 0o755)); err != nil { // it opens, and cannot be read
		t.Fatal(err)
	}
	e := newEngine(t, Options{Master: c.master, Stall: 20 * time.Second})
	records, err := fingerprintRun(t, e, dir, splits)
	if err == nil || !strings.Contains(err.Error(), bad) || !errors.Is(err, supervise.ErrFailed) {
		t.Fatalf("got %v, want an error that names %s", err, bad)
	}
	kept := 0
	for _, rec := range records {
		if rec.Stage != "" {
			kept++
		}
	}
	if kept == 0 {
		t.Error("no split was kept")
	}
	t.Logf("%d of %d splits are kept: %v", kept, len(splits), err)
	if err := errors.Join(os.Remove(bad), os.WriteFile(bad, text, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := fingerprintRun(t, e, dir, splits); err != nil {
		t.Fatal(err)
	}
	c.left(dir.Path())
}

// temporaries lists the files without a final name in a run directory.
func temporaries(run string) (found []string) {
	_ = filepath.WalkDir(run, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && data.IsTemporary(path) {
			found = append(found, path)
		}
		return nil
	})
	return found
}
