//go:build linux

package gleam

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/netns"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
)

// proxiedHosts are three hosts of a cluster as scripts/cluster.sh starts it: each has
// a network namespace and a proxy, the first one also the master.
type proxiedHosts struct {
	*testing.T
	*hosts
	kept   // the master's side
	dir    string
	binary string
	local  string // the run directory of a run on this machine
}

// proxyPorts are those of the proxies, of the hosts in order.
var proxyPorts = [][]int{{45326, 45331}, {45331}, {45331}}

// startProxied starts them. In the place of ssh is a program that enters the host's
// network, and a home folder of its own.
func startProxied(t *testing.T) *proxiedHosts {
	onlyRoot(t)
	if testing.Short() {
		t.Skip("it builds the command, and makes networks")
	}
	g := &proxiedHosts{T: t, hosts: connectHosts(t, 3), dir: t.TempDir(), binary: buildCommand(t)}
	g.kept = kept{T: t, state: filepath.Join(g.dir, "state")}
	g.local = filepath.Join(g.dir, "local")
	if out, err := exec.Command(g.binary, "run", g.sample(), "--out", g.local, "--pairs").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file, bin := filepath.Join(g.dir, "hosts.txt"), filepath.Join(g.dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		// A process that is started meanwhile would hold the file open, and a
		// program that is open for writing cannot be started.
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // they are programs
			t.Fatal(err)
		}
	}
	lines, ssh := "", "#!/bin/bash\nwhile [[ $1 == -* ]]; do [[ $1 == -o ]] && shift || exec </dev/null; shift; done\nhost=${1#*@}\nshift\n[[ ! -e "+g.down("$host")+" ]] || exit 255\ncase $host in\n"
	for i := range g.n {
		home := filepath.Join(g.dir, fmt.Sprintf("home-%d", i))
		if err := os.Mkdir(home, 0o700); err != nil {
			t.Fatal(err)
		}
		lines += fmt.Sprintf("root@%s # a host\n", g.address(i))
		ssh += fmt.Sprintf("%s) cd %s && HOME=$PWD exec %s bash -c \"$*\" ;;\n", g.address(i), home, g.on(i))
		write(g.on(i), fmt.Sprintf("#!/bin/sh\nexec ip netns exec %s unshare --uts sh -c 'hostname host%d; exec \"$@\"' sh \"$@\"\n", g.ns(i), i))
	}
	write(file, lines)
	write(filepath.Join(bin, "ssh"), ssh+"esac\n")
	g.environ = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "AWS_SECRET_ACCESS_KEY=it's a secret of " + g.name}
	t.Cleanup(func() {
		if out, err := g.script("down"); err != nil {
			t.Errorf("down: %v: %s", err, out)
		}
		for pid, args := range processes(g.dir) {
			t.Errorf("left behind: %q", args)
			kill(pid, syscall.SIGKILL)
		}
	})
	if out, err := g.up("--hosts", file, "--address", g.address(0), "--slots", "4"); err != nil || !strings.Contains(out, "knows 3 of 3 agents") {
		t.Fatalf("up: %v: %s", err, out)
	}
	var err error
	if g.namespace, _, err = netns.Find(g.state); err != nil {
		t.Fatal(err)
	}
	return g
}

// up starts what does not run.
func (g *proxiedHosts) up(options ...string) (string, error) {
	args := []string{filepath.Join(root, "scripts", "cluster.sh"), "up", "--state", g.state}
	cmd := exec.Command(g.on(0), append(args, options...)...)
	cmd.Env = append(os.Environ(), g.environ...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// down is a file; while it is there the host cannot be reached over ssh.
func (g *proxiedHosts) down(address string) string { return filepath.Join(g.dir, "down-"+address) }

func (g *proxiedHosts) sample() string {
	path, err := filepath.Abs(filepath.Join(root, "data", "sample"))
	if err != nil {
		g.Fatal(err)
	}
	return path
}

// on is a program that starts others on host i.
func (g *proxiedHosts) on(i int) string { return filepath.Join(g.dir, "bin", fmt.Sprintf("on-%d", i)) }

// host is what host i has of the cluster beside the master.
func (g *proxiedHosts) host(i int) kept {
	return kept{T: g.T, state: filepath.Join(g.dir, fmt.Sprintf("home-%d", i), ".local", "state", "neardup", "agent")}
}

// proxyOf is the side of host i whose proxy has the port.
func (g *proxiedHosts) proxyOf(i, port int) kept {
	if port == proxyPorts[0][0] {
		return g.kept
	}
	return g.host(i)
}

// start starts a run on the cluster.
func (g *proxiedHosts) start(run string) (*exec.Cmd, *bytes.Buffer) {
	said := new(bytes.Buffer)
	return g.submit(0, run, said), said
}

// submit starts a run from host i.
func (g *proxiedHosts) submit(i int, run string, said io.Writer) *exec.Cmd {
	state := g.state
	if i > 0 {
		state = g.host(i).state
	}
	cmd := exec.Command(g.on(i), g.binary, "run", g.sample(), "--out", run, "--pairs", "--engine", "gleam", "--master", state, "--set", "execution.stall=45s")
	cmd.Stdout, cmd.Stderr = said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		g.Fatal(err)
	}
	return cmd
}

// equal compares a run with the local one, byte by byte.
func (g *proxiedHosts) equal(run string) {
	g.Helper()
	for _, folder := range rundir.Outputs {
		if attempt.Gone(filepath.Join(g.local, folder)) && attempt.Gone(filepath.Join(run, folder)) {
			continue
		}
		if out, err := exec.Command("diff", "-r", filepath.Join(g.local, folder), filepath.Join(run, folder)).CombinedOutput(); err != nil {
			g.Errorf("%s differs: %s", folder, out)
		}
	}
}

// listening are the ports of host i at which something listens, outside the
// namespaces.
func (g *proxiedHosts) listening(i int) (ports []int) {
	g.Helper()
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		text, err := exec.Command(g.on(i), "cat", "/proc/net/"+table).Output()
		if err != nil {
			g.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			_, digits, ok := strings.Cut(f[1], ":")
			port, err := strconv.ParseInt(digits, 16, 32)
			if ok && err == nil && (f[3] == "0A" || strings.HasPrefix(table, "udp")) {
				ports = append(ports, int(port))
			}
		}
	}
	slices.Sort(ports)
	return ports
}

// refused is what a proxy says it did not let in.
func (k *kept) refused() (n int) {
	k.Helper()
	text, err := os.ReadFile(filepath.Join(k.state, "proxy.prom"))
	if err != nil {
		k.Error(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); strings.HasPrefix(line, "neardup_proxy_refused") {
			one, err := strconv.Atoi(f[1])
			if err != nil {
				k.Error(err)
			}
			n += one
		}
	}
	return n
}

// pids are the cluster's servers on all hosts.
func (g *proxiedHosts) pids() (all []int) {
	all = append(all, g.pid("master"), g.pid("netns"), g.pid("outside"))
	for i := range g.n {
		h := g.host(i)
		all = append(all, h.pid("agent-0"), h.pid("netns"), h.pid("outside"))
	}
	return all
}

// attack throws at each proxy what n others would, from the network, and wants
// each counted, and nothing dead or grown.
func (g *proxiedHosts) attack(n int) {
	g.Helper()
	before := g.pids()
	for i, ports := range proxyPorts {
		for _, port := range ports {
			proxy := g.proxyOf(i, port)
			address := fmt.Sprintf("%s:%d", g.address(i), port)
			old, thrown := proxy.refused(), g.throwAll(address, n)
			for began := time.Now(); proxy.refused() < old+thrown && time.Since(began) < patience/4; time.Sleep(50 * time.Millisecond) {
			}
			if got := proxy.refused() - old; got != thrown {
				g.Errorf("%s: %d were refused, of %d", address, got, thrown)
			}
			if mib := proxy.resident("outside"); mib > 100 {
				g.Errorf("the proxy %s has grown to %d MiB", address, mib)
			}
		}
	}
	if after := g.pids(); !slices.Equal(before, after) {
		g.Errorf("servers ended: processes %v, now %v", before, after)
	}
}

// throwAll throws what ends gleam's servers, and n random frames, and tries to
// get in with another key and with none. It returns how many that were.
func (g *proxiedHosts) throwAll(address string, n int) (thrown int) {
	g.Helper()
	texts := [][]byte{{2, 0, 0, 0, 0xff, 0xff}, {0xff, 0xff, 0xff, 0xff, 1, 2}, []byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), {}}
	for i := range n {
		text := make([]byte, 4+i%200)
		if _, err := rand.Read(text); err != nil {
			g.Fatal(err)
		}
		texts = append(texts, text)
	}
	for _, text := range texts {
		conn, err := net.DialTimeout("tcp", address, 10*time.Second)
		if err != nil {
			g.Fatal(err)
		}
		_, _ = conn.Write(text) // it may be closed already
		if c, ok := conn.(*net.TCPConn); ok {
			_ = c.CloseWrite()
		}
		if back, _ := io.ReadAll(conn); len(back) > 7 { // an alert of TLS
			g.Errorf("%.10q: %s answers %q", text, address, back)
		}
		_ = conn.Close()
	}
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		g.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	certificate, err := x509.CreateCertificate(nil, template, template, public, key)
	if err != nil {
		g.Fatal(err)
	}
	for _, certificates := range [][]tls.Certificate{nil, {{Certificate: [][]byte{certificate}, PrivateKey: key}}} {
		conn, err := tls.Dial("tcp", address, &tls.Config{Certificates: certificates, InsecureSkipVerify: true}) //nolint:gosec // an attacker's
		if err == nil {
			_, _ = io.WriteString(conn, address+"\n") // it may be closed already
			if back, err := io.ReadAll(conn); err == nil || len(back) > 0 {
				g.Errorf("%s answers %q", address, back)
			}
			_ = conn.Close()
		}
	}
	return len(texts) + 2
}

// Of each host only the proxies can be reached, and they let in nobody but the
// cluster's hosts; a run on them has the bytes of a local one.
func TestProxies(t *testing.T) {
	t.Parallel()
	g := startProxied(t)
	for i, want := range proxyPorts {
		if got := g.listening(i); !slices.Equal(got, want) {
			t.Errorf("host %d listens at ports %v, want %v", i, got, want)
		}
	}
	handedOn(t, g.environ)
	token, err := os.ReadFile(filepath.Join(g.state, "token"))
	if told := processes(string(token)); err != nil || len(token) != 64 || len(told) > 0 {
		t.Errorf("a token of %d letters (%v) can be read in the arguments of %v", len(token), err, told)
	}
	n := 30
	if long() {
		n = 10_000
	}
	g.attack(n)
	t.Run("local users", g.nobody)
	hit := g.host(1)
	kill(hit.pid("outside"), syscall.SIGKILL)
	time.Sleep(time.Second)
	g.well(patience)
	run := filepath.Join(g.dir, "run")
	cmd, said := g.start(run)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	g.equal(run)
	t.Run("queue", g.queue)
	hit.killSupervisor("agent-0")
	t.Run("certificate", g.certified)
}

// queue has runs of two hosts, each with a lock folder of its own, wait for a third
// one: they say for whom, and have their turns when it is gone.
func (g *proxiedHosts) queue(t *testing.T) {
	first, err := g.namespace.Queue(t.Context(), fmt.Sprintf("%s:%d", g.address(0), proxyPorts[0][0]), "somebody on host9")
	if err != nil {
		t.Fatal(err)
	}
	var runs []*exec.Cmd
	var folders []string
	said := func(i int) string {
		text, err := os.ReadFile(folders[i] + ".log")
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	for i := range 2 {
		folders = append(folders, filepath.Join(t.TempDir(), "run"))
		log, err := os.Create(folders[i] + ".log")
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		runs = append(runs, g.submit(i, folders[i], log))
	}
	for i := range runs {
		for began := time.Now(); !strings.Contains(said(i), "waiting for the run of somebody on host9 since "); time.Sleep(50 * time.Millisecond) {
			if time.Since(began) > patience/4 {
				t.Errorf("the run of host %d does not wait: %s", i, said(i))
				break
			}
		}
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	for i, cmd := range runs {
		if err := cmd.Wait(); err != nil {
			t.Errorf("host %d: %v: %s", i, err, said(i))
		}
		g.equal(folders[i])
	}
}

// certified gives the proxies of the running cluster an operator's certificate, and
// one of them, then, that of another CA.
func (g *proxiedHosts) certified(t *testing.T) {
	issue := func(name string) (options []string) {
		dir := filepath.Join(g.dir, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		const request = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 "
		orSkip(t, fmt.Sprintf(request+"-subj /CN=%s -keyout %[2]s/ca.key -out %[2]s/ca.pem", name, dir))
		orSkip(t, fmt.Sprintf(request+"-subj /CN=host -CA %[1]s/ca.pem -CAkey %[1]s/ca.key -keyout %[1]s/key.pem -out %[1]s/cert.pem", dir))
		return []string{"--certificate", dir + "/cert.pem", "--key", dir + "/key.pem", "--ca", dir + "/ca.pem"}
	}
	given, other := issue("operator"), issue("another")
	again := append([]string{"--hosts", filepath.Join(g.dir, "hosts.txt"), "--address", g.address(0), "--slots", "4"}, given...)
	if out, err := g.up(again...); err != nil || !strings.Contains(out, "the proxy's certificate here holds until") {
		t.Fatalf("up with a certificate: %v: %s", err, out)
	}
	// agents waits until so many agents answer; renewed files count within 10 s.
	agents := func(answer int) string {
		time.Sleep(11 * time.Second)
		for began := time.Now(); ; time.Sleep(time.Second) {
			out, _ := exec.Command(g.on(0), g.binary, "-gleam.agents="+g.state).CombinedOutput() // its words are looked at
			if strings.Count(string(out), " answers ") == answer || time.Since(began) > patience/4 {
				return string(out)
			}
		}
	}
	if said := agents(3); strings.Count(said, " answers ") != 3 {
		t.Errorf("with a certificate: %s", said)
	}
	g.attack(3)
	h := g.host(1)
	if err := os.WriteFile(filepath.Join(h.state, "certificate"), []byte(other[1]+"\n"+other[3]+"\n"+other[5]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := h.refused()
	if said := agents(2); strings.Count(said, " answers ") != 2 || strings.Count(said, g.address(1)+":45331 ") != 1 || strings.Count(said, " silent ") != 1 {
		t.Errorf("a host with a certificate of another CA: %s", said)
	}
	for began := time.Now(); h.refused() == old && time.Since(began) < patience/4; time.Sleep(50 * time.Millisecond) {
	}
	if h.refused() == old {
		t.Error("its proxy counted nothing")
	}
	if err := os.Remove(given[1]); err != nil {
		t.Fatal(err)
	}
	if out, err := g.up(again...); err == nil || !strings.Contains(out, given[1]+": no such file") || !strings.Contains(out, "its proxy would not open") {
		t.Errorf("up without the certificate's file: %v: %s", err, out)
	}
}

// nobody is another user of a host of the cluster: he gets as little as the
// network does.
func (g *proxiedHosts) nobody(t *testing.T) {
	h := g.host(1)
	supervisor, err := os.ReadFile(filepath.Join(h.state, "netns.supervisor"))
	if err != nil {
		t.Fatal(err)
	}
	pid, _, _ := strings.Cut(string(supervisor), " ")
	agent, old := h.pid("agent-0"), h.refused()
	greets := func(address string, port int) string { // nine bytes are gleam's greeting
		return fmt.Sprintf("exec 3<>/dev/tcp/%s/%d; printf '\\2\\0\\0\\0\\377\\377' >&3; [[ $(timeout 3 head -c 9 <&3 | wc -c) == 9 ]]", address, port)
	}
	port := proxyPorts[1][0]
	for _, what := range []string{
		"nsenter --net=/proc/" + pid + "/ns/net true", "ls " + h.state, "cat " + filepath.Join(h.state, "token"), "kill " + pid,
		greets(g.address(1), port), greets(g.address(1), port+10_000), greets("127.0.0.1", port), greets(g.address(0), port),
	} {
		if out, err := exec.Command(g.on(1), "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "timeout", "20", "bash", "-c", what).CombinedOutput(); err == nil {
			t.Errorf("another user may %s: %s", what, out)
		}
	}
	for began := time.Now(); h.refused() == old && time.Since(began) < patience/4; time.Sleep(50 * time.Millisecond) {
	}
	if h.refused() != old+1 || h.pid("agent-0") != agent {
		t.Errorf("%d were refused, want 1; the agent is process %d, was %d", h.refused()-old, h.pid("agent-0"), agent)
	}
}

// A night goes on without a host that is down when the cluster is started, and
// has it again when it is back; without two of three nothing is started.
func TestHostDown(t *testing.T) {
	needRoot(t)
	g := startProxied(t)
	if out, err := g.script("down"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lose := func(i int) {
		g.cut(i, "down")
		if err := os.WriteFile(g.down(g.address(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	missing := "the agent of root@" + g.address(2) + " is missing"
	lose(1)
	lose(2)
	if out, err := g.up(); err == nil || !strings.Contains(out, "2 of 3 hosts are missing") || strings.Count(out, "stopped what was started") != 2 {
		t.Errorf("up with one host of three: %v: %s", err, out)
	}
	for _, folder := range []string{g.state, g.host(0).state} {
		if left := processes(folder + "/"); len(left) > 0 {
			t.Errorf("up failed and left %v", left)
		}
	}
	back := func(i int) {
		g.cut(i, "up")
		if err := os.Remove(g.down(g.address(i))); err != nil {
			t.Error(err)
		}
	}
	back(1)
	if out, err := g.up(); err != nil || strings.Count(out, missing) != 1 || !strings.Contains(out, "knows 2 of 3 agents") {
		t.Fatalf("up with two hosts of three: %v: %s", err, out)
	}
	if out, err := g.script("status"); err == nil || !strings.Contains(out, missing) || strings.Count(out, "is missing") != 1 {
		t.Errorf("status: %v: %s", err, out)
	}
	run := filepath.Join(g.dir, "run")
	cmd, said := g.start(run)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	g.equal(run)
	back(2)
	if out, err := g.up(); err != nil || strings.Contains(out, "missing") || !strings.Contains(out, "knows 3 of 3 agents") {
		t.Errorf("up with all hosts: %v: %s", err, out)
	}
}

// While runs are under way, proxies and relays are killed, hosts cut off, and the
// proxies thrown at.
func TestProxyFaults(t *testing.T) {
	needRoot(t)
	g := startProxied(t)
	for _, f := range []struct {
		name   string
		stage  string
		strike func()
		after  func()
	}{
		{"a proxy is killed", stagePartial, func() { h := g.host(1); kill(h.pid("outside"), syscall.SIGKILL) }, nil},
		{"a relay is killed", stage.Fingerprint, func() { h := g.host(2); kill(h.pid("netns"), syscall.SIGKILL) }, nil},
		{"the master's proxy is killed", stageSegment, func() { kill(g.pid("outside"), syscall.SIGKILL) }, nil},
		{"others attack", stageSegment, func() { g.attack(1000) }, nil},
		{"cut off and back", stagePartial, func() {
			g.cut(1, "down")
			time.Sleep(9 * time.Second)
			g.cut(1, "up")
		}, nil},
		{"cut off for good", stageSegment, func() { g.cut(2, "down") }, func() { g.cut(2, "up") }},
	} {
		t.Run(f.name, func(t *testing.T) {
			g.well(patience)
			run := filepath.Join(t.TempDir(), "run")
			cmd, said, took := strike(t, func() (*exec.Cmd, *bytes.Buffer) { return g.start(run) }, run, f.stage, func(int) { f.strike() })
			t.Logf("it ended after %v", took.Round(time.Second/10))
			if f.after != nil {
				f.after()
				if !strings.Contains(said.String(), g.address(2)) {
					t.Errorf("it does not say who was left out: %s", said)
				}
			}
			if code := cmd.ProcessState.ExitCode(); code != 0 {
				t.Fatalf("exit code %d: %s", code, said)
			}
			g.equal(run)
		})
	}
}
