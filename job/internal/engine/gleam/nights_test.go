//go:build linux

package gleam

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/nightstest"
	"github.com/neardup/neardup/job/internal/rundir"
)

// joining has the cluster join earlier nights, and does the rest here.
type joining struct {
	*local.Engine
	cluster *Engine
}

func (e joining) History(ctx context.Context, job *engine.Job, documents *corpus.Night, l *library.Library, splits []library.Split, found *history.Matches) error {
	return e.cluster.History(ctx, job, documents, l, splits, found)
}

// Ten nights one after another give on a cluster what one comparison of all
// documents of all nights with each other does. Without
// NEARDUP_CLUSTER_LONG two whole nights are on the cluster, and of the others the
// join with the library.
func TestTenNights(t *testing.T) {
	needCluster(t)
	skipShort(t)
	t.Parallel()
	presets := []string{config.PresetBalanced}
	if long() {
		presets = append(presets, config.PresetClassic)
	}
	for _, preset := range presets {
		t.Run(preset, func(t *testing.T) {
			cfg, err := config.Default().WithPreset(preset)
			if err != nil {
				t.Fatal(err)
			}
			c := startCluster(t, 3, 4)
			dir := t.TempDir()
			nightstest.Check(t, cfg, dir, nightstest.Crawl(t, dir, 10, 50), func(n int, request job.Request) *job.Summary {
				request.Log = testLog(t)
				cluster := newEngine(t, Options{Master: c.master})
				request.Engine = cluster
				if !long() && n%5 != 4 {
					request.Engine = joining{local.New(2), cluster}
				}
				s, err := job.Run(t.Context(), request)
				if err != nil {
					t.Fatal(err)
				}
				c.left(request.Out)
				return s
			})
		})
	}
}

// nightly is a cluster of three agents to which something happens each night.
type nightly struct {
	*testing.T
	run    func(args ...string) *exec.Cmd // the command, where the cluster can be reached
	master string
	pid    func(agent int) int
	folder func(agent int) string
	again  func(agent int)               // starts one that was killed; nil: it is kept
	cut    func(agent int, state string) // takes it off the network, "down", or brings it back, "up"; nil: nobody can
	well   func(out string)              // waits until all are there and nothing of the run is left
}

// nightFaults are what happens to an agent in the middle of a night. strike
// returns how it is made well for the next one, nil if it came too late.
var nightFaults = []struct {
	name   string
	root   bool // only root can
	strike func(n *nightly, agent int) (mend func())
}{
	{"hangs", false, func(n *nightly, agent int) func() {
		pid := n.pid(agent)
		kill(pid, syscall.SIGSTOP)
		return func() { kill(pid, syscall.SIGCONT) }
	}},
	{"is killed", false, func(n *nightly, agent int) func() {
		kill(n.pid(agent), syscall.SIGKILL)
		return func() {
			if n.again != nil {
				n.again(agent)
			}
		}
	}},
	{"is cut off", true, func(n *nightly, agent int) func() {
		n.cut(agent, "down")
		return func() { n.cut(agent, "up") }
	}},
	{"its workers hang", false, func(n *nightly, agent int) func() {
		for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(time.Millisecond) {
			stopped := false
			for pid, args := range processes(n.folder(agent) + "/") {
				if strings.HasSuffix(args[0], "/program") && slices.Contains(args, attempt.ArgStage) {
					kill(pid, syscall.SIGSTOP)
					stopped = true
				}
			}
			if stopped {
				return func() {
					for pid := range processes(n.folder(agent) + "/") {
						kill(pid, syscall.SIGCONT)
					}
				}
			}
		}
		return nil
	}},
	{"its disk is full", true, func(n *nightly, agent int) func() {
		there := func(line string) { // each host may have mounts of its own
			args := []string{fmt.Sprintf("--mount=/proc/%d/ns/mnt", n.pid(agent)), "sh", "-c", line}
			if out, err := exec.Command("nsenter", args...).CombinedOutput(); err != nil {
				n.Errorf("%s: %v: %s", line, err, out)
			}
		}
		there("cd / && mount -t tmpfs -o size=4k none " + n.folder(agent) + " && { head -c 4096 /dev/zero >" + n.folder(agent) + "/.filler || :; }") // or the agent has filled it before
		return func() { there("umount -l " + n.folder(agent) + " && rm -rf " + n.folder(agent) + "/*") }
	}},
}

// nightlyOpen is a cluster without a network namespace; for root, each agent has a network
// of its own.
func nightlyOpen(t *testing.T) *nightly {
	places, host := make([]place, 3), "127.0.0.1"
	n := &nightly{T: t}
	if os.Geteuid() == 0 {
		h := connectHosts(t, 3)
		host, n.cut = h.net+".1", h.cut
		for i := range places {
			places[i] = place{host: h.address(i), under: []string{"nsenter", "--net=/var/run/netns/" + h.ns(i)}}
		}
	}
	t.Parallel()
	c := startClusterAt(t, host, places, 4)
	n.master = c.master
	n.run = func(args ...string) *exec.Cmd { return exec.Command(buildCommand(t), args...) }
	n.pid = func(agent int) int { return c.agents[agent].Process.Pid }
	n.folder = func(agent int) string { return c.places[agent].dir }
	n.again = func(agent int) {
		_ = c.agents[agent].Wait() // it was killed
		c.startAgent(agent)
	}
	n.well = func(out string) {
		c.swept = true
		c.wait(3)
		c.left(out)
	}
	return n
}

// nightlyNamespace is a cluster as scripts/cluster.sh keeps it on one machine.
func nightlyNamespace(t *testing.T) *nightly {
	if _, err := exec.LookPath("iptables"); err != nil && long() {
		t.Skip("an agent of a network namespace is cut off by iptables, which is not installed")
	}
	k := startKept(t)
	n := k.nightly(func(agent int) (*kept, string) { return k, fmt.Sprintf("agent-%d", agent) })
	n.run = func(args ...string) *exec.Cmd { return exec.Command(buildCommand(t), args...) }
	n.cut = func(agent int, state string) {
		supervisor, err := os.ReadFile(filepath.Join(k.state, "netns.supervisor"))
		if err != nil {
			t.Error(err)
		}
		pid, _, _ := strings.Cut(string(supervisor), " ")
		do := map[string]string{"down": "-A", "up": "-D"}[state]
		for _, port := range []int{45331 + agent, 55331 + agent} {
			for _, end := range []string{"--dport", "--sport"} {
				args := []string{"--net=/proc/" + pid + "/ns/net", "iptables", do, "INPUT", "-p", "tcp", end, fmt.Sprint(port), "-j", "DROP"}
				if out, err := exec.Command("nsenter", args...).CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			}
		}
	}
	return n
}

// nightlyProxies is a cluster of three hosts with a network namespace and a proxy each.
func nightlyProxies(t *testing.T) *nightly {
	g := startProxied(t)
	n := g.nightly(func(agent int) (*kept, string) {
		h := g.host(agent)
		return &h, "agent-0"
	})
	n.run = func(args ...string) *exec.Cmd {
		return exec.Command(g.on(0), append([]string{g.binary}, args...)...)
	}
	n.cut = g.cut
	return n
}

// nightly is what all clusters that scripts/cluster.sh keeps have in common; of
// gives an agent's state folder and name.
func (k *kept) nightly(of func(agent int) (*kept, string)) *nightly {
	return &nightly{T: k.T, master: k.state,
		pid: func(agent int) int {
			host, name := of(agent)
			return host.pid(name)
		},
		folder: func(agent int) string {
			host, name := of(agent)
			return filepath.Join(host.state, name)
		},
		well: func(out string) {
			for began := time.Now(); ; time.Sleep(time.Second / 10) {
				k.well(patience)
				status, _ := k.script("status") // it may tell of servers that ended
				left := processes(out)
				if strings.Count(status, " 0 taken") == 3 && len(left) == 0 {
					return
				}
				if time.Since(began) > patience {
					k.Fatalf("left behind: %v; %s", left, status)
				}
			}
		},
	}
}

// Nights with a library, in each of which something happens to an agent, end
// with the bytes of nights without a cluster.
func TestNightsWithFaults(t *testing.T) {
	needCluster(t)
	if testing.Short() {
		t.Skip("each night takes a stall or two")
	}
	t.Parallel()
	t.Run("proxies", func(t *testing.T) {
		needRoot(t)
		t.Parallel()
		nightsWithFaults(nightlyProxies(t))
	})
	t.Run("netns", func(t *testing.T) {
		needRoot(t)
		nightsWithFaults(nightlyNamespace(t))
	})
	t.Run("open", func(t *testing.T) { nightsWithFaults(nightlyOpen(t)) })
}

func nightsWithFaults(n *nightly) {
	nightCount, stall := 2, "20s" // of a machine that is busy with other things
	if long() {
		nightCount, stall = 10, "10s"
	}
	dir := n.TempDir()
	library := filepath.Join(dir, "library") // files name it
	seed := uint64(time.Now().UnixNano())
	n.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	for i, night := range nightstest.Crawl(n, dir, nightCount, 60) {
		run := func(name string, more ...string) (said string) {
			_ = os.Rename(filepath.Join(dir, "library-"+name), library) // there is none in the first night
			cmd := n.run(append([]string{"run", filepath.Join(dir, night+".jsonl"), "--out", filepath.Join(dir, name+"-"+night), "--library", library, "--night", night}, more...)...)
			text, err := cmd.CombinedOutput()
			if err != nil {
				n.Fatalf("%s, night %s: %v: %s", name, night, err, text)
			}
			if err := os.Rename(library, filepath.Join(dir, "library-"+name)); err != nil {
				n.Error(err)
			}
			return string(text)
		}
		run("local")
		f := nightFaults[i%len(nightFaults)]
		if f.root && os.Geteuid() != 0 {
			n.Logf("night %s: only root can make that an agent %s", night, f.name)
			f = nightFaults[0]
		}
		agent := 1 + r.IntN(2)                                  // the first of several hosts has the master, and the command
		delay := time.Duration(r.IntN(2000)) * time.Millisecond // a night takes 3 s
		out := filepath.Join(dir, "gleam-"+night)
		mend := make(chan func(), 1)
		ended := make(chan struct{})
		go func() {
			for begun := []string(nil); len(begun) == 0; time.Sleep(5 * time.Millisecond) {
				begun, _ = filepath.Glob(filepath.Join(out, attempt.Scratch)) // the pattern is a good one
				select {
				case <-ended:
					mend <- nil
					return
				default:
				}
			}
			time.Sleep(delay)
			select {
			case <-ended:
				mend <- nil
			default:
				mend <- f.strike(n, agent)
			}
		}()
		began := time.Now()
		said := run("gleam", "--engine", "gleam", "--master", n.master, "--set", "execution.stall="+stall)
		close(ended)
		var left []string
		for line := range strings.Lines(said) {
			if strings.Contains(line, "goes on without") || strings.Contains(line, "trying again") {
				left = append(left, fmt.Sprintf("%.200s", strings.TrimSpace(line)))
			}
		}
		n.Logf("night %s, agent %d %s after %v: done in %v; %q", night, agent, f.name, delay, time.Since(began).Round(time.Second/10), left)
		if mend := <-mend; mend != nil {
			mend()
		} else {
			n.Errorf("night %s: the agent %s too late: it shows nothing", night, f.name)
		}
		n.well(out)
		for _, folder := range []string{rundir.Fingerprints, rundir.Matches, rundir.Clusters, rundir.Removed, rundir.Clean} {
			sameTree(n.T, filepath.Join(dir, "local-"+night, folder), filepath.Join(out, folder))
		}
	}
}

// sameTree compares all files below two folders.
func sameTree(t *testing.T, a, b string) {
	t.Helper()
	if out, err := exec.Command("diff", "-r", a, b).CombinedOutput(); err != nil {
		t.Errorf("%s and %s: %v: %.300s", a, b, err, out)
	}
}
