//go:build linux

package gleam

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/guard"
	"github.com/neardup/neardup/job/internal/engine/internal/plantedtest"
	"github.com/neardup/neardup/job/internal/stage"
)

// needRoot skips a long test that makes networks and mounts.
func needRoot(t *testing.T) {
	t.Helper()
	if !long() {
		t.Skip("NEARDUP_CLUSTER_LONG is not set")
	}
	onlyRoot(t)
}

func onlyRoot(t *testing.T) {
	t.Helper()
	needCluster(t)
	if os.Geteuid() != 0 {
		t.Skip("only root makes network namespaces and mounts")
	}
}

// try runs a command and skips the test where this machine forbids it.
func orSkip(t *testing.T, line string) {
	t.Helper()
	args := strings.Fields(line)
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Skipf("this machine does not let us: %s: %v: %s", line, err, out)
	}
}

// hosts are machines of their own as far as Linux lets one machine be several:
// each has its network and address, its host name and its processes.
type hosts struct {
	t    *testing.T
	net  string // the first three bytes of the addresses
	name string
	n    int
}

func makeHosts(t *testing.T, n int) *hosts {
	needRoot(t)
	h := connectHosts(t, n)
	guard.Elsewhere = true
	t.Cleanup(func() { guard.Elsewhere = false })
	return h
}

// connectHosts makes the networks of hosts, and removes them with the test.
func connectHosts(t *testing.T, n int) *hosts {
	onlyRoot(t)
	h := &hosts{t: t, name: fmt.Sprintf("nd%05x", rand.IntN(1<<20)), n: n}
	for taken := true; taken; { // by another test
		h.net = fmt.Sprintf("10.%d.%d", 200+rand.IntN(50), rand.IntN(250))
		out, err := exec.Command("ip", "-4", "-oneline", "address", "show", "to", h.net+".0/24").Output()
		if err != nil {
			t.Skip("this machine does not say its addresses: ", err)
		}
		taken = len(out) > 0
	}
	t.Cleanup(func() {
		for i := range n {
			_ = exec.Command("ip", "netns", "del", h.ns(i)).Run() // what was not made is not removed
		}
		_ = exec.Command("ip", "link", "del", h.name).Run()
	})
	orSkip(t, "ip link add "+h.name+" type bridge")
	orSkip(t, fmt.Sprintf("ip addr add %s.1/24 dev %s", h.net, h.name))
	orSkip(t, "ip link set "+h.name+" up")
	for i := range n {
		orSkip(t, "ip netns add "+h.ns(i))
		orSkip(t, fmt.Sprintf("ip link add %s type veth peer name eth0 netns %s", h.link(i), h.ns(i)))
		orSkip(t, fmt.Sprintf("ip link set %s master %s up", h.link(i), h.name))
		orSkip(t, fmt.Sprintf("ip -n %s addr add %s/24 dev eth0", h.ns(i), h.address(i)))
		orSkip(t, fmt.Sprintf("ip -n %s link set eth0 up", h.ns(i)))
		orSkip(t, fmt.Sprintf("ip -n %s link set lo up", h.ns(i)))
	}
	return h
}

func (h *hosts) ns(i int) string      { return fmt.Sprintf("%s-%d", h.name, i) }
func (h *hosts) link(i int) string    { return fmt.Sprintf("%sv%d", h.name, i) }
func (h *hosts) address(i int) string { return fmt.Sprintf("%s.%d", h.net, 10+i) }

// places are the hosts for agents; setup is what the shell of host i does
// first.
func (h *hosts) places(setup ...string) []place {
	places := make([]place, h.n)
	for i := range places {
		first := "hostname host" + fmt.Sprint(i)
		if i < len(setup) && setup[i] != "" {
			first += " && " + setup[i]
		}
		places[i] = place{host: h.address(i), under: []string{"ip", "netns", "exec", h.ns(i),
			"unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts", "sh", "-c", first + ` && exec "$@"`, "sh"}}
	}
	return places
}

// cut takes host i off the network, or brings it back.
func (h *hosts) cut(i int, state string) {
	if out, err := exec.Command("ip", "link", "set", h.link(i), state).CombinedOutput(); err != nil {
		h.t.Errorf("%v: %s", err, out)
	}
}

// TestHosts runs on several hosts, one of which is cut off in the middle of
// the run: for a while, or for good.
func TestHosts(t *testing.T) {
	h := makeHosts(t, 3)
	c := startClusterAt(t, h.net+".1", h.places(), 4)
	matchEqualsLocal(t, c, variant{64, 3, 20_000})
	splitStagesEqualLocal(t, c)
	runs := newFaultRuns(t)
	for _, p := range []point{{stage.Fingerprint, 1, middle}, {stageSegment, 0, early}, {stagePartial, 0, middle}, {stageFinal, 1, late}} {
		t.Run(p.String()+"/cut off and back", func(t *testing.T) {
			c.wait(3)
			runs.try(t, c, fault{
				strike: func(*trial, int) { h.cut(1, "down") },
				mend: func(*trial) {
					time.Sleep(9 * time.Second)
					h.cut(1, "up")
				},
			}, p)
		})
		t.Run(p.String()+"/cut off for good", func(t *testing.T) {
			c.wait(3)
			runs.try(t, c, fault{
				out:    true,
				strike: func(tr *trial, _ int) { tr.agent = 1; h.cut(1, "down") },
				after:  func(*trial) { h.cut(1, "up") },
			}, p)
			c.wait(3)
			runs.try(t, c, fault{what: "print"}, p) // and it goes on
		})
	}
}

// lose drops that share of the packets that come to host i, at random, until
// the function that it returns is called.
func (h *hosts) lose(t *testing.T, i int, share float64) (end func()) {
	t.Helper()
	tables := "ip netns exec " + h.ns(i) + " iptables "
	orSkip(t, tables+fmt.Sprintf("-A INPUT -i eth0 -m statistic --mode random --probability %g -j DROP", share))
	return func() {
		out, err := exec.Command("ip", strings.Fields(tables + "-vnxL INPUT")[1:]...).CombinedOutput()
		lost := regexp.MustCompile(`(?m)^ *([1-9]\d*) .*DROP`).FindSubmatch(out)
		if err != nil || lost == nil {
			t.Errorf("%s: no packet was lost: %v: %s", h.ns(i), err, out)
		} else {
			t.Logf("%s: %s packets lost", h.ns(i), lost[1])
		}
		orSkip(t, tables+"-F INPUT")
	}
}

// TestLoss runs on several hosts whose network loses packets, and with one
// link that is slow.
func TestLoss(t *testing.T) {
	h := makeHosts(t, 3)
	c := startClusterAt(t, h.net+".1", h.places(), 4)
	runs := newFaultRuns(t)
	for _, share := range []float64{0.01, 0.05} {
		t.Run(fmt.Sprintf("%g of the packets", share), func(t *testing.T) {
			for i := range h.n {
				defer h.lose(t, i, share)()
			}
			matchEqualsLocal(t, c, variant{64, 3, 100_000})
			splitStagesEqualLocal(t, c)
		})
	}
	// So many that connections break.
	for _, p := range []point{{stage.Fingerprint, 1, middle}, {stageSegment, 0, early}, {stagePartial, 0, middle}} {
		t.Run(p.String()+"/nearly all packets of a host, for a while", func(t *testing.T) {
			c.wait(3)
			var end func()
			runs.try(t, c, fault{
				stall:  20 * time.Second,
				strike: func(tr *trial, _ int) { end = h.lose(tr.T, 1, 0.7) },
				mend: func(*trial) {
					time.Sleep(15 * time.Second)
					end()
				},
				want: rightOr("does not answer", c.address(1)),
			}, p)
		})
	}
	t.Run("a slow link", func(t *testing.T) {
		c.wait(3)
		orSkip(t, "tc qdisc add dev "+h.link(1)+" root tbf rate 2mbit burst 32kbit latency 50ms") // and it drops what waits longer
		matchEqualsLocal(t, c, variant{64, 3, 20_000})
		splitStagesEqualLocal(t, c)
	})
}

// TestClock has an agent whose host's clock is an hour off: it is warned of,
// and the run is right.
func TestClock(t *testing.T) {
	needCluster(t)
	if !long() {
		t.Skip("NEARDUP_CLUSTER_LONG is not set")
	}
	places := []place{{}, {under: []string{"env", clockOff + "=-1h"}}}
	c := startClusterAt(t, "127.0.0.1", places, 4)
	var said bytes.Buffer
	dir := openRun(t)
	job := matchJob(t, dir, config.Default())
	job.Log = slog.New(slog.NewTextHandler(&said, nil))
	documents := writeViews(t, dir, job.Config, plantedtest.Views(100, 64))
	err := newEngine(t, Options{Master: c.master}).Match(t.Context(), job, documents, func([]data.Pair) error { return nil })
	if err != nil {
		t.Error(err)
	}
	for words, want := range map[string]bool{c.address(1) + " (": true, "set both by NTP": true, c.address(0): false} {
		if strings.Contains(said.String(), words) != want {
			t.Errorf("%q: want %v in %s", words, want, &said)
		}
	}
	c.left(dir.Path())
}

// TestChecks starts runs that cannot go well, and wants them to say so at
// once: which host, what, and what to do.
func TestChecks(t *testing.T) {
	h := makeHosts(t, 3)
	for _, f := range []struct{ name, hide, want string }{
		{"input not mounted", "mount -t tmpfs none INPUT", "(host1): it cannot read the input: stat INPUT/part-0.jsonl: no such file or directory: mount it at the same path"},
		{"another input", "mount -t tmpfs none INPUT && for i in 0 1 2 3 4; do echo x >INPUT/part-$i.jsonl; done", "(host1): INPUT/part-0.jsonl is another file there: 2 bytes"},
		{"run directory not mounted", "mount -t tmpfs none RUN", "ADDRESS: the program does not run there, or does not see the run directory RUN: mount it at the same path"},
		{"run directory read-only", "mount --bind RUN RUN && mount -o remount,bind,ro RUN", "mount the run directory for writing"},
		{"agent's disk full", "mount -t tmpfs -o size=4m none AGENT", "on host1: the agent in AGENT cannot copy the program from the run directory: No space left on device"},
	} {
		t.Run(f.name, func(t *testing.T) {
			dir, input, agent := openRun(t), t.TempDir(), t.TempDir()
			splits := dump(t, input)
			address := ""
			fill := func(s string) string {
				return strings.NewReplacer("INPUT", input, "RUN", dir.Path(), "AGENT", agent, "ADDRESS", address).Replace(s)
			}
			places := h.places("", fill(f.hide))
			places[1].dir = agent
			c := startClusterAt(t, h.net+".1", places, 4)
			address = c.address(1)
			began := time.Now()
			records, err := fingerprintRun(t, newEngine(t, Options{Master: c.master, Stall: 20 * time.Second, Quorum: 1}), dir, splits)
			if wrong := failed("cluster not ready", fill(f.want))(err); wrong != "" {
				t.Error(wrong)
			}
			if took := time.Since(began); took > patience/2 {
				t.Errorf("it took %v", took)
			}
			for _, rec := range records {
				if rec.Stage != "" {
					t.Errorf("work was done: %+v", rec)
				}
			}
			t.Logf("after %v: %v", time.Since(began).Round(time.Second/10), err)
			c.left(dir.Path())
		})
	}
}

// TestFullDisk fills the disk of one agent, before a flow and in its middle.
func TestFullDisk(t *testing.T) {
	needRoot(t)
	disk := func(t *testing.T) string {
		path := t.TempDir()
		orSkip(t, "mount -t tmpfs -o size=256m none "+path)
		t.Cleanup(func() {
			if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		return path
	}
	fillUp := func(t *testing.T, path string) {
		f, err := os.Create(filepath.Join(path, ".filler"))
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		for block := make([]byte, 1<<16); err == nil; {
			_, err = f.Write(block)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Error(err)
		}
	}
	empty := func(t *testing.T, path string) {
		if err := os.Remove(filepath.Join(path, ".filler")); err != nil {
			t.Error(err)
		}
	}
	t.Run("before", func(t *testing.T) {
		path := disk(t)
		fillUp(t, path)
		c := startClusterAt(t, "127.0.0.1", []place{{}, {dir: path}, {}}, 4)
		dir := openRun(t)
		job := matchJob(t, dir, config.Default())
		documents := writeViews(t, dir, job.Config, plantedtest.Views(faultDocuments, 64))
		err := newEngine(t, Options{Master: c.master, Stall: 6 * time.Second, Quorum: 1}).Match(context.Background(), job, documents, nil)
		if wrong := failed(c.address(1), "disk")(err); wrong != "" {
			t.Error(wrong)
		}
		t.Log(err)
		empty(t, path)
		c.left(dir.Path())
	})
	// With slots for all steps at once no row is written to a disk; with too
	// few each is.
	for _, slots := range []int{4, 1} {
		for _, p := range []point{{stage.Fingerprint, 1, middle}, {stageSegment, 0, early}, {stageSegment, 0, late}, {stagePartial, 0, middle}, {stageFinal, 1, late}} {
			t.Run(fmt.Sprintf("%d slots/%s", slots, p), func(t *testing.T) {
				path := disk(t)
				c := startClusterAt(t, "127.0.0.1", []place{{}, {dir: path}, {}}, slots)
				newFaultRuns(t).try(t, c, fault{
					stall:  20 * time.Second,
					strike: func(tr *trial, _ int) { fillUp(tr.T, path) },
					after:  func(tr *trial) { empty(tr.T, path) },
					want:   rightOr("disk", path),
				}, p)
			})
		}
	}
}
