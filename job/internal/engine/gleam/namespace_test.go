//go:build linux

package gleam

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/netns"
)

// kept is a cluster of three agents as scripts/cluster.sh starts and keeps it.
type kept struct {
	*testing.T
	state     string
	environ   []string // of the scripts, beside this process's
	namespace *netns.Namespace
	ports     []int // of the servers: master and agents, and each with 10000 added
}

func (k *kept) script(args ...string) (string, error) {
	k.Helper()
	return script(k.T, k.state, k.environ, args...)
}

func startKept(t *testing.T) *kept {
	needCluster(t)
	if testing.Short() {
		t.Skip("servers take seconds to come back")
	}
	orSkip(t, "unshare --net true")
	t.Parallel()
	k := &kept{T: t, state: t.TempDir()}
	t.Cleanup(func() {
		if out, err := k.script("down"); err != nil {
			t.Errorf("down: %v: %s", err, out)
		}
		if left := processes(k.state); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	if out, err := k.script("up", "--agents", "3", "--slots", "4", "--alarm", "printf %s >"+filepath.Join(k.state, "told")); err != nil {
		t.Fatalf("up: %v: %s", err, out)
	}
	var err error
	if k.namespace, _, err = netns.Find(k.state); err != nil {
		t.Fatal(err)
	}
	for _, port := range []int{45326, 45331, 45332, 45333} {
		k.ports = append(k.ports, port, port+10_000)
	}
	return k
}

// well waits until all servers are there. It gives up after the limit, and not
// before it has looked as often as a free machine can within it: of a busy one
// the servers are as slow as the looks.
func (k *kept) well(limit time.Duration) {
	k.Helper()
	const look = time.Second / 4 // with the pause behind it, on a free machine
	out, began := "", time.Now()
	for looks := 1; looks <= int(limit/look) || time.Since(began) < limit; looks++ {
		out, _ = k.script("status") // its words say more: it may tell of servers that ended
		if strings.Contains(out, "knows 3 of 3 agents") && !strings.Contains(out, "missing") && !strings.Contains(out, "does not answer") {
			k.Logf("all is well after %v and %d looks", time.Since(began).Round(time.Second/10), looks)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	k.Fatalf("not all is well after %v: %s\n%s", time.Since(began).Round(time.Second/10), out, k.ended())
}

// ended is what the supervisors say of servers that ended.
func (k *kept) ended() string {
	out, err := exec.Command("sh", "-c", "grep -h ' ended: ' "+k.state+"/*.log").Output()
	if err != nil {
		k.Error(err)
	}
	return string(out)
}

// pid is that of a server.
func (k *kept) pid(name string) int {
	k.Helper()
	return k.number(name + ".pid")
}

// number is the one that a file of the state folder begins with.
func (k *kept) number(file string) (pid int) {
	k.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(k.state, file))
		if err == nil {
			_, err = fmt.Sscan(string(text), &pid)
		}
		if err == nil {
			return pid
		}
		if time.Since(began) > patience/4 { // it is written anew when the server is
			k.Fatal(err)
		}
	}
}

// killSupervisor kills what keeps a server: it has another soon, and runs on.
func (k *kept) killSupervisor(name string) {
	k.Helper()
	server, supervisor := k.pid(name), k.number(name+".supervisor")
	kill(supervisor, syscall.SIGKILL)
	for began := time.Now(); k.number(name+".supervisor") == supervisor; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > patience/2 {
			k.Fatalf("nothing keeps the %s", name)
		}
	}
	if now := k.pid(name); now != server {
		k.Errorf("the %s was process %d when its supervisor was killed, now %d", name, server, now)
	}
}

// upAgain calls up, as cron does, on a cluster that runs: nothing changes. Where
// what keeps servers was killed, and the watch over that too, in the same moment,
// it brings them back, and the servers run on.
func (k *kept) upAgain() {
	k.Helper()
	servers := []string{"master", "netns", "outside", "watch", "agent-0", "agent-1", "agent-2"}
	pids := func(kind string) (pids []int) {
		for _, name := range servers {
			pids = append(pids, k.number(name+kind))
		}
		return pids
	}
	up := func() {
		if out, err := k.script("up"); err != nil || !strings.Contains(out, "knows 3 of 3 agents") || strings.Contains(out, "missing") {
			k.Fatalf("up: %v: %s", err, out)
		}
	}
	running, supervisors := pids(".pid"), pids(".supervisor")
	up()
	if !slices.Equal(pids(".pid"), running) || !slices.Equal(pids(".supervisor"), supervisors) {
		k.Errorf("processes %v, kept by %v, are %v, %v after an up", running, supervisors, pids(".pid"), pids(".supervisor"))
	}
	for i, name := range servers {
		if name == "watch" {
			kill(running[i], syscall.SIGKILL)
		}
		kill(supervisors[i], syscall.SIGKILL)
	}
	time.Sleep(3 * time.Second) // a watch would have seen it
	if out, err := k.script("status"); err == nil || strings.Count(out, "nothing starts it again") != len(servers) || strings.Count(out, " is missing") != 1 {
		k.Errorf("status without supervisors and watch: %v: %s", err, out)
	}
	up()
	for i, name := range servers {
		if now := k.pid(name); (now == running[i]) != (name != "watch") || k.number(name+".supervisor") == supervisors[i] {
			k.Errorf("the %s was process %d, kept by %d, now %d, kept by %d", name, running[i], supervisors[i], now, k.number(name+".supervisor"))
		}
	}
}

// alarm strikes until there is an alarm with the words: one of five ends in a row
// is one.
func (k *kept) alarm(words string, strike func()) {
	k.Helper()
	var log, told []byte
	for range 5 {
		strike()
		log, _ = os.ReadFile(filepath.Join(k.state, "alarms.log"))
		told, _ = os.ReadFile(filepath.Join(k.state, "told"))
		if strings.Contains(string(log), words) && strings.Contains(string(told), words) {
			return
		}
	}
	k.Errorf("no alarm%s: %s; %s", words, log, told)
}

// resident is the memory in use by a server, in MiB.
func (k *kept) resident(name string) (mib int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", k.pid(name))) // it may just have ended
	if _, rest, ok := strings.Cut(string(text), "VmRSS:"); ok {
		_, _ = fmt.Sscan(rest, &mib)
	}
	return mib >> 10
}

// run runs on the cluster. The command does it: an engine in this process would
// take all of the process into the namespace, and other tests with it.
func (k *kept) run() {
	k.Helper()
	cmd, said := submit(k.T, buildCommand(k.T), "--master", k.state, "--out", filepath.Join(k.TempDir(), "run"), filepath.Join(root, "data", "sample", "pages-01.jsonl"))
	if err := cmd.Wait(); err != nil {
		k.Errorf("%v: %s", err, said)
	}
}

// throw sends bytes to a port inside, as only the cluster's user can, and
// returns the connection.
func (k *kept) throw(port int, text []byte) net.Conn {
	ctx, cancel := context.WithTimeout(k.Context(), patience/12)
	defer cancel()
	conn, err := k.namespace.Dial(ctx, fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil // it just ended
	}
	_, _ = conn.Write(text) // it may end now
	return conn
}

// A user who is not root has a network namespace too, and what keeps it up comes back: the
// supervisor that enters it later may not do there what the first one did.
func TestUsersNamespace(t *testing.T) {
	onlyRoot(t)
	skipShort(t)
	user := []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}
	orSkip(t, strings.Join(user, " ")+" unshare --user --map-current-user --keep-caps --net true")
	dir, err := os.MkdirTemp("", "neardup-user-*") // t.TempDir's is root's alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	gleam, err := gleamBinary()
	if err != nil {
		t.Fatal(err)
	}
	// The user has no folder for go: its stand-in has what it would build.
	script := "#!/bin/sh\ncase $4 in *netns) cp " + dir + "/netns \"$3\" ;; *) cp " + dir + "/gleam \"$3\" ;; esac\n"
	for _, c := range [][]string{
		{"go", "build", "-o", dir + "/netns", "./netns"}, {"cp", gleam, dir + "/gleam"}, {"cp", filepath.Join(root, "scripts", "cluster.sh"), dir},
		{"sh", "-c", "printf %s '" + script + "' >" + dir + "/go"}, {"chmod", "-R", "755", dir}, {"chown", "-R", "65534:65534", dir},
	} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", c, err, out)
		}
	}
	k := &kept{T: t, state: filepath.Join(dir, "state")}
	call := func(args ...string) string {
		cmd := exec.Command(user[0], slices.Concat(user[1:], []string{filepath.Join(dir, "cluster.sh")}, args, []string{"--state", k.state})...)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + dir + ":/usr/bin:/bin"}
		out, _ := cmd.CombinedOutput() // its words are looked at
		return string(out)
	}
	t.Cleanup(func() {
		if call("down"); len(processes(k.state)) > 0 {
			t.Errorf("left behind: %v", processes(k.state))
		}
	})
	if out := call("up", "--agents", "1", "--slots", "4"); !strings.Contains(out, "knows 1 of 1 agent") {
		t.Fatalf("up: %s", out)
	}
	k.killSupervisor("netns")
	for range 2 {
		old := k.pid("netns")
		kill(old, syscall.SIGKILL)
		for began := time.Now(); k.pid("netns") == old || !strings.Contains(call("status"), "netns runs"); time.Sleep(time.Second) {
			if time.Since(began) > patience/4 {
				t.Fatalf("the relay does not come back: %s", k.ended())
			}
		}
	}
	if out := call("status"); !strings.Contains(out, "knows 1 of 1 agent") {
		t.Errorf("status: %s", out)
	}
}

// Nobody but its user reaches a cluster's servers.
func TestNamespace(t *testing.T) {
	k := startKept(t)
	listening := make(map[string]bool) // inodes of sockets outside the namespace
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		text, err := os.ReadFile("/proc/net/" + table)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			if f := strings.Fields(line); len(f) > 9 {
				listening["socket:["+f[9]+"]"] = true
			}
		}
	}
	seen := 0
	for pid, args := range processes(k.state) {
		seen++
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // the pattern is a good one
		for _, f := range files {
			if to, err := os.Readlink(f); err == nil && listening[to] {
				t.Errorf("%q has a socket that others reach", args)
			}
		}
	}
	if seen < 6 {
		t.Errorf("only %d processes", seen)
	}
	if os.Geteuid() == 0 {
		supervisor, err := os.ReadFile(filepath.Join(k.state, "netns.supervisor"))
		if err != nil {
			t.Fatal(err)
		}
		pid, _, _ := strings.Cut(string(supervisor), " ")
		for _, line := range []string{
			"nsenter --net=/proc/" + pid + "/ns/net true",
			"ls " + k.state,
			"cat " + filepath.Join(k.state, "address"),
			"test -e " + filepath.Join(k.state, "in.sock"),
			"kill " + pid,
		} {
			args := strings.Fields(line)
			cmd := exec.Command(args[0], args[1:]...)
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Errorf("another user may %s: %s", line, out)
			}
		}
	}
	k.run()
}

// strikeOf is what happens to a cluster.
type strikeOf struct {
	name   string
	strike func()
}

// strikes has all be well soon after each of them.
func (k *kept) strikes(all []strikeOf) {
	k.Helper()
	for _, c := range all {
		k.Log(c.name)
		c.strike()
		time.Sleep(time.Second)
		k.well(30 * time.Second)
	}
}

// ill checks that status tells of the ends that there were.
func (k *kept) ill() {
	k.Helper()
	if out, err := k.script("status"); err == nil {
		k.Errorf("status says that all is well after so many ends: %s", out)
	}
}

// What keeps servers is kept too: the servers run on meanwhile.
func TestSupervisorsAreKept(t *testing.T) {
	k := startKept(t)
	k.upAgain()
	// A watch waits longer after each end; a new one begins again with a second.
	watch := strikeOf{"the watch is killed", func() { kill(k.pid("watch"), syscall.SIGKILL) }}
	k.strikes([]strikeOf{
		{"what keeps an agent is killed", func() { k.killSupervisor("agent-1") }},
		{"what keeps the master is killed", func() { k.killSupervisor("master") }},
		watch,
		{"what keeps the namespace is killed", func() { k.killSupervisor("netns") }},
		{"what keeps the way out is killed", func() { k.killSupervisor("outside") }},
		{"what keeps the watch over supervisors is killed", func() { k.killSupervisor("watch") }},
		watch,
		{"an agent is killed", func() { kill(k.pid("agent-2"), syscall.SIGKILL) }},
	})
	k.alarm(" times within an hour, at last the supervisor of agent-2: ", func() { k.killSupervisor("agent-2") })
	k.ill()
	k.run()
}

// What ends a server ends it for seconds; what is sent to its ports, however
// much, neither keeps it down nor makes it grow.
func TestKept(t *testing.T) {
	k := startKept(t)
	log := filepath.Join(k.state, "outside.log")
	if err := os.Truncate(log, 17<<20); err != nil {
		t.Fatal(err)
	}
	k.strikes([]strikeOf{
		{"six bytes", func() { k.throw(45331, []byte{2, 0, 0, 0, 0xff, 0xff}) }},
		{"a negative length", func() { k.throw(45332, []byte{0xff, 0xff, 0xff, 0xff, 1, 2}) }},
		{"an agent is killed", func() { kill(k.pid("agent-2"), syscall.SIGKILL) }},
		{"the namespace's relay is killed", func() { kill(k.pid("netns"), syscall.SIGKILL) }},
		{"the namespace's relay and its supervisor are killed", func() {
			kill(k.number("netns.supervisor"), syscall.SIGKILL)
			kill(k.pid("netns"), syscall.SIGKILL)
		}},
	})
	var held []net.Conn
	for range 4 {
		held = append(held, k.throw(45333, []byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")))
	}
	time.Sleep(time.Second)
	t.Logf("GET / four times to an agent: %d MiB", k.resident("agent-2"))
	for _, conn := range held {
		if conn != nil {
			_ = conn.Close()
		}
	}
	n := 500
	if long() {
		n = 10_000
	}
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	thrown := 0
	began := time.Now()
	for range n {
		for _, port := range k.ports {
			text := make([]byte, 4+r.IntN(200))
			for i := range text {
				text[i] = byte(r.Uint32())
			}
			if r.IntN(2) == 0 { // a frame whose length is right
				binary.LittleEndian.PutUint32(text, uint32(len(text)-4))
			}
			if conn := k.throw(port, text); conn != nil {
				thrown++
				_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
				_, _ = io.Copy(io.Discard, conn) // it ends, or not
				_ = conn.Close()
			}
		}
	}
	t.Logf("seed %d: %d of %d frames arrived in %v", seed, thrown, n*len(k.ports), time.Since(began).Round(time.Second/10))
	if thrown < n/2 {
		t.Error("hardly any frame arrived: the test shows nothing")
	}
	k.well(time.Minute)
	for _, name := range []string{"master", "agent-0", "agent-1", "agent-2", "netns"} {
		mib := k.resident(name)
		t.Logf("%s: %d MiB", name, mib)
		if mib > 200 {
			t.Errorf("%s has grown to %d MiB", name, mib)
		}
	}
	k.alarm(" times within an hour, at last agent-0: ", func() {
		kill(k.pid("agent-0"), syscall.SIGKILL)
		time.Sleep(time.Second)
		k.well(30 * time.Second)
	})
	for began := time.Now(); ; time.Sleep(time.Second / 10) {
		info, err := os.Stat(log)
		if err == nil && info.Size() < 1<<20 && !attempt.Gone(log+".1") {
			break
		}
		if time.Since(began) > patience {
			t.Errorf("the log is not rotated: %v, %v", info, err)
			break
		}
	}
	k.ill()
	k.run()
}
