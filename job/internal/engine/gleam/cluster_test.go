//go:build linux

package gleam

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/check"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/guard"
	"github.com/neardup/neardup/job/internal/rundir"
)

// TestMain makes the test binary what the engine's program is: the driver,
// the workers and the guards are this binary too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], attempt.Prefix) {
		inject = injected
		if off, err := time.ParseDuration(os.Getenv(clockOff)); err == nil {
			check.Clock = func() time.Time { return time.Now().Add(off) }
		}
	}
	if code, ours := Main(os.Args[1:], splitStages, os.Stdin, os.Stderr); ours {
		os.Exit(code)
	}
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		// These tests wait for other processes most of the time.
		if err := parallel.Value.Set(fmt.Sprint(4 * runtime.GOMAXPROCS(0))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	state, err := os.MkdirTemp("", "neardup-state-*") // what runs keep of clusters that are no more
	if err == nil {
		err = os.Setenv("XDG_STATE_HOME", state)
	}
	code := 1
	if err == nil {
		code = m.Run()
		err = os.RemoveAll(state)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if command.folder != "" {
		if err := os.RemoveAll(command.folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

// clockOff names a variable of an agent's environment: how far its host's
// clock is off.
const clockOff = "NEARDUP_TEST_CLOCK"

// testCluster is a real gleam master with real agents on loopback.
type testCluster struct {
	t       testing.TB
	dir     string
	binary  string
	master  string
	slots   int
	masterP *exec.Cmd
	agents  []*exec.Cmd
	places  []place
	swept   bool // what was killed or hung may leave folders that the next check sweeps: they are swept now
}

// place is where an agent stands.
type place struct {
	host  string   // address
	port  int      // default a free one
	dir   string   // default one of the cluster's folder
	under []string // what starts it, like ip netns exec
}

// gleamBinary builds the pinned module's command; the build cache keeps it.
// Its path is what go writes to stdout: stderr may name the modules that it
// downloads.
var gleamBinary = sync.OnceValues(func() (string, error) {
	var stderr strings.Builder
	cmd := exec.Command("go", "tool", "-n", "github.com/chrislusf/gleam/distributed/gleam")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go tool: %w: %s", err, &stderr)
	}
	return strings.TrimSpace(string(out)), nil
})

// patience is how long a test waits for what a free machine does in a second:
// only a test that fails waits so long.
const patience = 2 * time.Minute

// needCluster skips a test where a cluster cannot be trusted.
func needCluster(t testing.TB) {
	t.Helper()
	if raceDetector {
		t.Skip("gleam's own code has data races, for which the detector would end our drivers: cluster tests run without it")
	}
}

// skipShort skips a test in the short form, which has one agent's cluster for
// the flows and one for a joined split: enough to see that a change works at all.
func skipShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts a cluster")
	}
}

func startCluster(t testing.TB, agents, slots int) *testCluster {
	t.Helper()
	return startClusterAt(t, "127.0.0.1", make([]place, agents), slots)
}

func newEngine(t testing.TB, o Options) *Engine {
	t.Helper()
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	e.historyRows, e.sampledHere = 1, -1 // libraries and samples of tests are small
	if cluster.Namespace != nil {        // this process is in it, and no other test runs
		t.Cleanup(func() { cluster.Namespace = nil })
	}
	return e
}

// startClusterAt starts a master at a host, and an agent at each place.
func startClusterAt(t testing.TB, host string, places []place, slots int) *testCluster {
	t.Helper()
	needCluster(t)
	binary, err := gleamBinary()
	if err != nil {
		t.Fatal(err)
	}
	c := &testCluster{t: t, dir: t.TempDir(), binary: binary, slots: slots, places: places, agents: make([]*exec.Cmd, len(places))}
	c.master = fmt.Sprintf("%s:%d", host, freePort(t))
	t.Cleanup(c.stop)
	c.startMaster()
	for i := range places {
		p := &c.places[i]
		p.host, p.port, p.dir = cmp.Or(p.host, host), cmp.Or(p.port, freePort(t)), cmp.Or(p.dir, filepath.Join(c.dir, fmt.Sprintf("agent-%d", i)))
		c.startAgent(i)
	}
	c.wait(len(places))
	return c
}

func (c *testCluster) startMaster() {
	c.masterP = c.start("master", nil, "master", "--address="+c.master, "--logDirectory="+c.dir)
	for began := time.Now(); time.Since(began) < patience; time.Sleep(20 * time.Millisecond) {
		if _, err := cluster.Agents(context.Background(), c.master); err == nil { // an agent that comes too early sleeps 30 s
			return
		}
	}
	c.t.Fatal("the master does not answer")
}

func (c *testCluster) startAgent(i int) {
	p := c.places[i]
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		c.t.Fatal(err)
	}
	c.agents[i] = c.start(fmt.Sprintf("agent-%d", i), p.under, "agent", "--host="+p.host, fmt.Sprintf("--port=%d", p.port), "--dir="+p.dir,
		"--master="+c.master, fmt.Sprintf("--executor.max=%d", c.slots), "--memory=4096")
}

// address is an agent's.
func (c *testCluster) address(i int) string {
	return fmt.Sprintf("%s:%d", c.places[i].host, c.places[i].port)
}

func (c *testCluster) start(name string, under []string, args ...string) *exec.Cmd {
	log, err := os.OpenFile(filepath.Join(c.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close()
	line := slices.Concat(under, []string{c.binary}, args)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return cmd
}

// tellLogs logs how the log of each server ends.
func (c *testCluster) tellLogs() {
	logs, _ := filepath.Glob(filepath.Join(c.dir, "*.log")) // the pattern is a good one
	for _, path := range logs {
		text, err := os.ReadFile(path)
		c.t.Logf("%s, %v: %s", filepath.Base(path), err, text[max(0, len(text)-2000):])
	}
}

// wait returns once the master knows so many agents.
func (c *testCluster) wait(agents int) {
	c.t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		known, err := cluster.Agents(context.Background(), c.master)
		if err == nil && len(known) == agents {
			return
		}
		if time.Since(began) > patience { // an agent whose master was away looks for it every 30 s
			c.t.Fatalf("master knows %v (%v), want %d agents", known, err, agents)
		}
	}
}

func (c *testCluster) stop() {
	if c.t.Failed() {
		c.tellLogs()
	}
	for _, cmd := range append(c.agents, c.masterP) {
		if cmd != nil && cmd.ProcessState == nil {
			kill(cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait() // it was killed
		}
	}
}

// kill sends a signal to a process, or with a negative number to a group. A
// process that is not known, 0, is not this one's own group.
func kill(pid int, sig syscall.Signal) {
	if pid > 1 || pid < -1 {
		_ = syscall.Kill(pid, sig) // it may have ended
	}
}

// ports are those that were given to servers: one that starts has not taken
// its own yet.
var (
	portsMutex sync.Mutex
	ports      = make(map[int]bool)
)

// freePort finds a port that is free, and free 10000 above it, both below
// those that connections are given.
func freePort(t testing.TB) int {
	t.Helper()
	portsMutex.Lock()
	defer portsMutex.Unlock()
	for range 100 {
		port := 10_240 + rand.IntN(12_000)
		if !ports[port] && !ports[port-10_000] && !ports[port+10_000] && isFree(port) && isFree(port+10_000) {
			ports[port] = true
			return port
		}
	}
	t.Fatal("no free ports")
	return 0
}

func isFree(port int) bool {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// process lists what runs with the text in its arguments: pid by arguments.
func processes(text string) map[int][]string {
	found := make(map[int][]string)
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err == nil && strings.Contains(string(line), text) {
			found[pid] = strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
		}
	}
	return found
}

// logged checks that the agents' words stand in the run directory. How many
// of them depends on which agent the tasks were given to.
func (c *testCluster) logged(run string) {
	c.t.Helper()
	logs, err := filepath.Glob(filepath.Join(run, rundir.Logs, "*-agent-*.log"))
	if err != nil || len(logs) == 0 {
		c.t.Errorf("no agent's log in %s: %v", run, err)
	}
	for _, path := range logs {
		text, err := os.ReadFile(path)
		said := func(words string) bool { return strings.Contains(string(text), words) }
		if err != nil || !said(" finished ") && !said("deleting ") && !said("cleaning up ") {
			c.t.Errorf("%s: %v: %.200s", path, err, text)
		}
	}
}

// left checks that nothing of the runs is left: no executor, worker, driver or
// guard, no file in the agents' folders, no slot taken, no attempt, no
// temporary file. Without a run directory it looks at the agents alone.
func (c *testCluster) left(run string) {
	c.t.Helper()
	var what string
	for began := time.Now(); time.Since(began) < patience; time.Sleep(100 * time.Millisecond) {
		what = c.remains(run)
		if what == "" {
			return
		}
	}
	c.t.Errorf("left behind: %s", what)
	for i := range c.agents { // one may have ended by itself
		text, err := os.ReadFile(filepath.Join(c.dir, fmt.Sprintf("agent-%d.log", i)))
		c.t.Logf("agent %d logged last: %s (%v)", i, text[max(0, len(text)-4096):], err)
	}
}

func (c *testCluster) remains(run string) string {
	for pid, args := range processes("gleam-") {
		if run != "" && strings.Contains(strings.Join(args, " "), run) {
			return fmt.Sprintf("process %d: %q", pid, args)
		}
	}
	for pid, args := range processes(c.dir) {
		if len(args) > 1 && args[1] != "agent" && args[1] != "master" && !slices.Contains(args, "agent") {
			return fmt.Sprintf("process %d: %q", pid, args)
		}
	}
	for _, p := range c.places {
		if c.swept {
			if err := guard.Sweep(p.dir, 0); err != nil {
				return err.Error()
			}
		}
		if files, _ := filepath.Glob(filepath.Join(p.dir, "*")); len(files) > 0 {
			within, _ := filepath.Glob(filepath.Join(p.dir, "*", "*"))
			return fmt.Sprintf("files %q", append(files, within...))
		}
	}
	if run != "" {
		attempts, _ := filepath.Glob(filepath.Join(run, "tmp", "gleam-*"))
		if len(attempts) > 0 {
			return fmt.Sprintf("attempts %q", attempts)
		}
		if files := temporaries(run); len(files) > 0 {
			return fmt.Sprintf("temporary files %q", files)
		}
	}
	agents, err := cluster.Agents(context.Background(), c.master)
	if err == nil {
		for _, a := range agents {
			if a.Used != 0 {
				return fmt.Sprintf("slots: %+v", a)
			}
		}
	}
	return ""
}
