//go:build linux

package gleam

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/nightstest"
	"github.com/neardup/neardup/job/internal/rundir"
)

// Nights with a library are killed at any time, every third one here and the
// others on a cluster: the command, what a run has started, or a server of the
// cluster. The same commands end with the bytes and the library of undisturbed
// ones. The long form has fifty kills that came in time, at the least.
func TestKills(t *testing.T) {
	n := &killedNights{kept: startKept(t), binary: buildCommand(t), dir: t.TempDir(), kills: map[string]int{}}
	count, least := 3, 3
	if long() {
		count, least = 15, 50
	}
	if err := os.Mkdir(n.temporary(), 0o700); err != nil {
		t.Fatal(err)
	}
	names := nightstest.Crawl(t, n.dir, count, 60)
	here, there := n.undisturbed("here", names, false), n.undisturbed("there", names[:1], true)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d; an undisturbed night takes %v here, %v on the cluster", seed, here, there)
	r := rand.New(rand.NewPCG(seed, 5))
	for i, night := range names {
		if i%3 == 2 {
			n.disturb(r, night, false, here)
		} else {
			n.disturb(r, night, true, there)
		}
	}
	sum := 0
	for _, kills := range n.kills {
		sum += kills
	}
	t.Logf("%d kills came in time: %v", sum, n.kills)
	if sum < least {
		t.Errorf("want %d", least)
	}
	for _, night := range names {
		for _, folder := range []string{rundir.Fingerprints, rundir.Matches, rundir.Clusters, rundir.Removed, rundir.Drift, rundir.Growth, rundir.Clean} {
			if want := filepath.Join(n.out("here", night), folder); !attempt.Gone(want) || folder == rundir.Clean {
				sameTree(t, want, filepath.Join(n.out("killed", night), folder))
			}
		}
	}
	if got, want := libraryRows(t, n.library()), libraryRows(t, n.library()+"-here"); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("the library has %d documents after kills, %d undisturbed", len(got), len(want))
	}
	if left, err := os.ReadDir(n.temporary()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for began := time.Now(); len(processes(n.out("killed", ""))) > 0; time.Sleep(time.Second / 10) {
		if time.Since(began) > patience {
			t.Fatalf("left behind: %v", processes(n.out("killed", "")))
		}
	}
}

type killedNights struct {
	*kept
	binary, dir string
	kills       map[string]int // that came in time, by what was killed
}

func (n *killedNights) out(kind, night string) string {
	return filepath.Join(n.dir, kind+"-"+night)
}

// library is the same in all runs: files name it.
func (n *killedNights) library() string { return filepath.Join(n.dir, "library") }

func (n *killedNights) temporary() string { return filepath.Join(n.dir, "temporary") }

func (n *killedNights) start(kind, night string, cluster bool) (*exec.Cmd, *bytes.Buffer) {
	n.Helper()
	cmd := exec.Command(n.binary, "run", filepath.Join(n.dir, night+".jsonl"), "--out", n.out(kind, night), "--library", n.library(), "--night", night)
	if cluster {
		cmd.Args = append(cmd.Args, "--engine", "gleam", "--master", n.state, "--set", "execution.stall=20s")
	}
	cmd.Env = append(os.Environ(), "TMPDIR="+n.temporary())
	said := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		n.Fatal(err)
	}
	return cmd, said
}

// undisturbed returns how long the longest of the nights takes.
func (n *killedNights) undisturbed(kind string, names []string, cluster bool) (longest time.Duration) {
	n.Helper()
	for _, night := range names {
		began := time.Now()
		cmd, said := n.start(kind, night, cluster)
		if err := cmd.Wait(); err != nil {
			n.Fatalf("%v: %s", err, said)
		}
		longest = max(longest, time.Since(began))
	}
	if err := os.Rename(n.library(), n.library()+"-"+kind); err != nil {
		n.Fatal(err)
	}
	return longest
}

// disturb has a night come to its end, and processes be killed each time that it
// is begun or goes on.
func (n *killedNights) disturb(r *rand.Rand, night string, cluster bool, whole time.Duration) {
	n.Helper()
	for try := range 50 {
		cmd, said := n.start("killed", night, cluster)
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		n.blows(r, cmd.Process.Pid, ended, n.out("killed", night), cluster, whole, try)
		err := <-ended
		code := cmd.ProcessState.ExitCode()
		if code == -1 && cluster {
			n.kills["a command, on the cluster"]++
		} else if code == -1 {
			n.kills["a command, on this machine"]++
		}
		if err == nil {
			return
		}
		if code != -1 && (code != 1 || !strings.Contains(said.String(), "goes on from")) {
			n.Fatalf("night %s: exit code %d: %s", night, code, said)
		}
	}
	n.Fatal("the night does not get on")
}

// blows kills one process after the other of what a run is or needs, until the
// command is the one, or ends. After some tries there is only one: a run may end.
func (n *killedNights) blows(r *rand.Rand, command int, ended chan error, run string, cluster bool, whole time.Duration, try int) {
	within := whole / 2
	if try > 5 {
		within *= time.Duration(try)
	}
	for {
		select {
		case err := <-ended:
			ended <- err
			return
		case <-time.After(time.Duration(r.Int64N(int64(within)))):
		}
		what, pid := "", command
		if cluster {
			what, pid = n.victim(r, command, run)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err == nil && pid != command {
			n.kills[what]++ // the command's own are counted by how it ended
		}
		if pid == command || try > 5 {
			return
		}
	}
}

// victim chooses a process: the command, one that its run has started, a server,
// or what keeps one.
func (n *killedNights) victim(r *rand.Rand, command int, run string) (what string, pid int) {
	switch r.IntN(4) {
	case 0:
		name := []string{"agent-0", "agent-1", "agent-2", "master", "netns", "outside", "watch"}[r.IntN(7)]
		return "a server: " + strings.TrimRight(name, "-012"), n.pid(name)
	case 2:
		name := []string{"agent-0", "agent-1", "agent-2", "master", "netns", "outside", "watch"}[r.IntN(7)]
		return "a supervisor", n.number(name + ".supervisor")
	case 1:
		for pid := range processes(run) {
			if pid != command {
				return "a driver, executor, worker or guard", pid
			}
		}
	}
	return "", command
}
