package gleam

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/numbered"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/job/engine/local"
	"github.com/neardup/neardup/job/rundir"
)

// fault is something that goes wrong in a run, and how the run may end.
type fault struct {
	name   string
	inject string             // what a worker does; see injected
	strike func(*trial)       // what happens from outside, once a worker of the stage runs
	when   string             // stage whose worker is waited for; default partial
	mend   func(*trial)       // afterwards
	want   func(error) string // "" if the end is one that may be; nil: the right result
}

// trial is one run with a fault in it.
type trial struct {
	*testing.T
	c      *cluster
	run    string
	cancel context.CancelFunc
}

// stall is short, but where the agents have to find a new master: they look
// for it every 30 s.
func (tr *trial) stall() time.Duration {
	if strings.Contains(tr.Name(), "again") {
		return 40 * time.Second
	}
	return 6 * time.Second
}

// pids waits for processes of the run that fit and returns them.
func (tr *trial) pids(fits func(args []string) bool) (pids []int) {
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(10 * time.Millisecond) {
		for pid, args := range processes("") {
			if len(args) > 1 && fits(args) {
				pids = append(pids, pid)
			}
		}
		if len(pids) > 0 {
			slices.Sort(pids)
			return pids
		}
	}
	return nil
}

func (tr *trial) worker(stage string) func([]string) bool {
	return func(args []string) bool {
		line := strings.Join(args, " ")
		return strings.Contains(line, tr.run) && strings.Contains(line, argStage+" "+stage)
	}
}

func (tr *trial) driver(args []string) bool {
	line := strings.Join(args, " ")
	return strings.Contains(line, argDir+tr.run) && !strings.Contains(line, argStage) && !strings.Contains(line, argGuard)
}

func (tr *trial) executor(args []string) bool {
	return args[1] == "execute" && strings.Contains(strings.Join(args, " "), tr.c.dir)
}

func (tr *trial) strikeAt(fits func([]string) bool, sig syscall.Signal) {
	pids := tr.pids(fits)
	if len(pids) == 0 {
		tr.Log("nobody to strike: the run was faster")
		return
	}
	kill(pids[len(pids)/2], sig)
}

func failed(words ...string) func(error) string {
	return func(err error) string {
		if err == nil {
			return "no error"
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				return fmt.Sprintf("%q is not in %q", w, err)
			}
		}
		return ""
	}
}

// quickFaults end in a few seconds each.
var quickFaults = []fault{
	{name: "mapper error", inject: "segment 1 error", want: failed("segment task 1", "made to fail", "attempts", "run the same command again")},
	{name: "panic in final", inject: "final 0 panic"},
	{name: "worker killed", inject: "segment 0 sleep", when: "segment", strike: func(tr *trial) { tr.strikeAt(tr.worker("segment"), syscall.SIGKILL) }, mend: func(tr *trial) { _ = os.Remove(tr.run + "/fault") }},
	{name: "driver killed", inject: "partial 0 sleep", strike: func(tr *trial) { tr.strikeAt(tr.driver, syscall.SIGKILL) }, mend: func(tr *trial) { _ = os.Remove(tr.run + "/fault") }},
}

var longFaults = []fault{
	{name: "error once in partial", inject: "partial 1 error-once"},
	{name: "error in deal", inject: "deal 0 error-once"},
	{name: "panic in segment", inject: "segment 0 panic"},
	{name: "bad row from segment", inject: "segment 0 garbage"},
	{name: "bad row from partial", inject: "partial 1 garbage"},
	{name: "bad row from final", inject: "final 1 garbage"},
	{name: "stray line", inject: "partial 0 print"},
	{name: "worker dies", inject: "segment 1 die"},
	{name: "worker exits with 3", inject: "final 0 exit"},
	{name: "partial killed", inject: "partial 0 sleep", strike: func(tr *trial) { tr.strikeAt(tr.worker("partial"), syscall.SIGKILL) }, mend: func(tr *trial) { _ = os.Remove(tr.run + "/fault") }},
	{name: "final killed", inject: "final 0 sleep", when: "final", strike: func(tr *trial) { tr.strikeAt(tr.worker("final"), syscall.SIGKILL) }, mend: func(tr *trial) { _ = os.Remove(tr.run + "/fault") }},
	{name: "executor killed", inject: "partial 0 sleep", strike: func(tr *trial) { tr.strikeAt(tr.executor, syscall.SIGKILL) }, mend: func(tr *trial) { _ = os.Remove(tr.run + "/fault") }},
	{name: "agent killed", inject: "partial 0 sleep", strike: func(tr *trial) { kill(tr.c.agents[1].Process.Pid, syscall.SIGKILL) }, mend: func(tr *trial) {
		_ = os.Remove(tr.run + "/fault")
		_ = tr.c.agents[1].Wait()
		tr.c.startAgent(1)
	}},
	{name: "agent killed for good", inject: "partial 0 sleep", strike: func(tr *trial) {
		kill(tr.c.agents[2].Process.Pid, syscall.SIGKILL)
		_ = tr.c.agents[2].Wait()
		_ = os.Remove(tr.run + "/fault")
	}},
	{name: "agent stopped", inject: "partial 0 sleep", strike: func(tr *trial) { kill(tr.c.agents[0].Process.Pid, syscall.SIGSTOP) }, mend: func(tr *trial) {
		_ = os.Remove(tr.run + "/fault")
		time.Sleep(8 * time.Second)
		kill(tr.c.agents[0].Process.Pid, syscall.SIGCONT)
	}},
	{name: "agent stopped for good", inject: "partial 0 sleep", strike: func(tr *trial) { kill(tr.c.agents[0].Process.Pid, syscall.SIGSTOP) },
		want: failed("does not answer", "restart it")},
	{name: "master killed", inject: "partial 0 nap", strike: func(tr *trial) { kill(tr.c.masterP.Process.Pid, syscall.SIGKILL) }, mend: func(tr *trial) { _ = tr.c.masterP.Wait() }},
	{name: "master killed and started again", inject: "partial 0 error-once", when: "segment", strike: func(tr *trial) { kill(tr.c.masterP.Process.Pid, syscall.SIGKILL) }, mend: func(tr *trial) {
		_ = tr.c.masterP.Wait()
		tr.c.startMaster()
	}},
	{name: "master and an agent killed", inject: "partial 0 sleep", strike: func(tr *trial) {
		kill(tr.c.masterP.Process.Pid, syscall.SIGKILL)
		kill(tr.c.agents[0].Process.Pid, syscall.SIGKILL)
	}, want: failed("the master at", "start it")},
	{name: "SIGTERM to the driver", inject: "partial 0 sleep", strike: func(tr *trial) { tr.strikeAt(tr.driver, syscall.SIGTERM) }, mend: func(tr *trial) { _ = os.Remove(tr.run + "/fault") }},
	{name: "cancelled", inject: "partial 0 sleep", strike: func(tr *trial) { tr.cancel() }, want: func(err error) string {
		if !errors.Is(err, context.Canceled) {
			return fmt.Sprintf("%v is no cancellation", err)
		}
		return ""
	}},
}

const faultDocuments = 5_000

func TestFaults(t *testing.T) {
	needCluster(t)
	faults := quickFaults
	if long() {
		faults = append(slices.Clone(quickFaults), longFaults...)
	}
	v := variant{64, 3, faultDocuments, 4, 2}
	dir := openRun(t)
	want, err := findPairs(t, local.New(2), dir, v.config(), numberedFolder(t, dir, v.bits, prints(v.n, v.bits)))
	if err != nil {
		t.Fatal(err)
	}
	parent := t
	var c *cluster
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			if c == nil {
				c = startCluster(parent, 3, 4)
			}
			c.t = t
			began := time.Now()
			tryFault(t, c, f, v.config(), want)
			t.Logf("ended after %v", time.Since(began).Round(time.Second/10))
			if t.Failed() || strings.Contains(f.name, "agent") || strings.Contains(f.name, "master") {
				c.stop()
				c = nil
			}
		})
	}
}

// TestSoak runs with a random fault each, on one cluster after the other; the
// number of runs is the value of NEARDUP_CLUSTER_SOAK.
func TestSoak(t *testing.T) {
	runs, err := strconv.Atoi(os.Getenv("NEARDUP_CLUSTER_SOAK"))
	if err != nil {
		t.Skip("NEARDUP_CLUSTER_SOAK is not a number of runs")
	}
	v := variant{64, 3, faultDocuments, 4, 2}
	dir := openRun(t)
	want, err := findPairs(t, local.New(2), dir, v.config(), numberedFolder(t, dir, v.bits, prints(v.n, v.bits)))
	if err != nil {
		t.Fatal(err)
	}
	faults := append(slices.Clone(quickFaults), longFaults...)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range runs {
		f := faults[r.IntN(len(faults))]
		t.Run(fmt.Sprintf("%d %s", i, f.name), func(t *testing.T) {
			tryFault(t, startCluster(t, 3, 4), f, v.config(), want)
		})
	}
}

// TestFewSlots runs flows that have fewer slots than tasks.
func TestFewSlots(t *testing.T) {
	if !long() {
		t.Skip("NEARDUP_CLUSTER_LONG is not set")
	}
	v := variant{64, 3, faultDocuments, 4, 2}
	for _, slots := range []int{1, 2, 5, 7} {
		t.Run(fmt.Sprint(slots), func(t *testing.T) { matchEqualsLocal(t, startCluster(t, 1, slots), v) })
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
	if err := os.Remove(bad); err != nil {
		t.Fatal(err)
	}
	e := New(Options{Master: c.master, Stall: 20 * time.Second})
	records, err := fingerprintRun(t, e, dir, splits)
	if err == nil || !strings.Contains(err.Error(), bad) || !errors.Is(err, ErrFailed) {
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
	if err := os.WriteFile(bad, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := fingerprintRun(t, e, dir, splits); err != nil {
		t.Fatal(err)
	}
	c.left(dir.Path())
}

func tryFault(t *testing.T, c *cluster, f fault, cfg config.Config, want []data.Pair) {
	dir := openRun(t)
	documents := numberedFolder(t, dir, cfg.Features.Bits, prints(faultDocuments, cfg.Features.Bits))
	if f.inject != "" {
		if err := os.WriteFile(dir.Path("fault"), []byte(f.inject), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tr := &trial{T: t, c: c, run: dir.Path(), cancel: cancel}
	var background sync.WaitGroup
	if f.strike != nil {
		when := f.when
		if when == "" {
			when = stagePartial.String()
		}
		background.Go(func() {
			tr.pids(tr.worker(when))
			time.Sleep(300 * time.Millisecond)
			f.strike(tr)
			if f.mend != nil {
				f.mend(tr)
			}
		})
	}
	pairs, err := pairsWithin(ctx, t, New(Options{Master: c.master, Stall: tr.stall(), Deadline: time.Minute}), dir, cfg, documents)
	background.Wait()
	switch {
	case f.want != nil && f.want(err) != "":
		t.Errorf("a wrong end: %s", f.want(err))
	case f.want == nil && err != nil:
		t.Errorf("no result: %v", err)
	case err == nil && !slices.Equal(pairs, want):
		t.Errorf("got %d pairs, want %d", len(pairs), len(want))
	case err != nil && len(pairs) > 0:
		t.Errorf("%d pairs were passed on in a run that failed: %v", len(pairs), err)
	}
	if err != nil {
		t.Logf("honest error: %v", err)
	}
	for _, a := range c.agents {
		kill(a.Process.Pid, syscall.SIGCONT)
	}
	c.left(dir.Path())
}

// pairsWithin is findPairs with a context.
func pairsWithin(ctx context.Context, t *testing.T, e *Engine, dir *rundir.Dir, cfg config.Config, documents *numbered.Folder) (pairs []data.Pair, err error) {
	var mu sync.Mutex
	job := &engine.Job{Config: cfg, Dir: dir, Log: testLog(t)}
	err = e.Match(ctx, job, documents, func(batch []data.Pair) error {
		mu.Lock()
		defer mu.Unlock()
		pairs = append(pairs, batch...)
		return nil
	})
	slices.SortFunc(pairs, comparePairs)
	return pairs, err
}
