//go:build linux

package gleam

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	ossignal "os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/internal/plantedtest"
)

// script runs scripts/cluster.sh with a state folder, "" for the default, and
// what else the environment is to hold.
func script(t *testing.T, state string, environ []string, args ...string) (string, error) {
	t.Helper()
	if state != "" {
		args = append(args, "--state", state)
	}
	cmd := exec.Command(filepath.Join(root, "scripts", "cluster.sh"), args...)
	cmd.Env = append(os.Environ(), environ...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestScript starts and stops a cluster on this machine as the scripts do.
func TestScript(t *testing.T) {
	needCluster(t)
	if !long() {
		t.Skip("NEARDUP_CLUSTER_LONG is not set")
	}
	state := t.TempDir()
	cycle(t, state, nil, []string{"--agents", "3", "--slots", "4"}, state)
}

// TestScriptDefaults starts, restarts and stops a cluster without any option.
func TestScriptDefaults(t *testing.T) {
	needCluster(t)
	if !long() {
		t.Skip("NEARDUP_CLUSTER_LONG is not set")
	}
	state := t.TempDir()
	environ := []string{"XDG_STATE_HOME=" + state}
	t.Cleanup(func() {
		if out, err := script(t, "", environ, "down"); err != nil {
			t.Errorf("down: %v: %s", err, out)
		}
	})
	for _, command := range []string{"up", "restart"} {
		if out, err := script(t, "", environ, command); err != nil || !strings.Contains(out, "knows 3 of 3 agents") {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
	text, err := os.ReadFile(filepath.Join(state, "neardup", "cluster", "agent-1.pid"))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		t.Fatal(err)
	}
	kill(pid, syscall.SIGSTOP)
	out, err := script(t, "", environ, "status")
	kill(pid, syscall.SIGCONT)
	if err == nil || !strings.Contains(out, "45332: ") || strings.Count(out, "does not answer") != 1 {
		t.Errorf("status with an agent that is stopped: %v: %s", err, out)
	}
}

// The scripts need no HOME.
func TestScriptsWithoutHome(t *testing.T) {
	skipShort(t)
	t.Parallel() // it builds the command
	dir, dumps := t.TempDir(), t.TempDir()
	for _, c := range []struct{ args, want string }{
		{"cluster.sh status --state " + dir, "no cluster runs here"},
		{"hbase.sh status --state " + dir + " --cache " + dir, "no server runs"},
		{"nightly.sh --dumps " + dumps + " --runs " + filepath.Join(dir, "runs"), "nothing more to do"},
		{"submit.sh --out " + filepath.Join(dir, "out") + " --master 127.0.0.1:1 x", "the master at 127.0.0.1:1 does not answer"},
	} {
		args := strings.Fields(c.args)
		cmd := exec.Command(filepath.Join(root, "scripts", args[0]), args[1:]...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), c.want) { // some fail, for what they say
			t.Errorf("%s: %s", c.args, out)
		}
	}
}

// TestProxy has a proxy in the environment that leads nowhere: a cluster's
// servers are asked without it. (Nobody asks a proxy for loopback.)
func TestProxy(t *testing.T) {
	h := makeHosts(t, 1)
	binary, state, master := buildCommand(t), t.TempDir(), fmt.Sprintf("%s.1:%d", h.net, freePort(t))
	address, port, _ := strings.Cut(master, ":")
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, "http://127.0.0.1:9")
	}
	t.Cleanup(func() {
		if out, err := script(t, state, nil, "down"); err != nil {
			t.Errorf("down: %v: %s", err, out)
		}
	})
	if out, err := script(t, state, nil, "up", "--agents", "2", "--open", "--address", address, "--port", port); err != nil || !strings.Contains(out, "knows 2 of 2 agents") {
		t.Fatalf("up: %v: %s", err, out)
	}
	cmd, said := submit(t, binary, "--master", master, "--out", filepath.Join(t.TempDir(), "run"), filepath.Join(root, "data", "sample", "pages-01.jsonl"))
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

// TestSubmit submits a program that only tells what it was asked to do: the
// master is the command line's, else the one of the settings.
func TestSubmit(t *testing.T) {
	program := filepath.Join(t.TempDir(), "a program")
	if err := os.WriteFile(program, []byte(`#!/bin/sh
printf '[%s]' "$@" >&2
[ "$1" != config ] || echo 10.0.0.5:45326
case $* in *--no-such*) exit 2 ;; esac
case $1 in *=10.0.0.9:*) exit 1 ;; esac
`), 0o755); err != nil { //nolint:gosec // it is started
		t.Fatal(err)
	}
	const run = "[run][--engine][gleam][--master][10.0.0.5:45326][--out][a run]"
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--out", "a run", "--config", "a file", "x y"}, 0, "[config][execution.master][--config][a file][-gleam.agents=10.0.0.5:45326]" + run + "[--config][a file][x y]"},
		{[]string{"--master=10.0.0.5:45326", "--out=a run", "x"}, 0, "[-gleam.agents=10.0.0.5:45326]" + run + "[x]"},
		{[]string{"--out", "a run", "--config=a file", "--no-such", "x"}, 2, "[config][execution.master][--config][a file][-gleam.agents=10.0.0.5:45326]" + run + "[--config][a file][--no-such][x]"},
		{[]string{"--out", "a run", "x"}, 0, "[config][execution.master][-gleam.agents=10.0.0.5:45326]" + run + "[x]"},
		{[]string{"--set=a=b", "--out", "a run", "x"}, 0, "[config][execution.master][--set][a=b][-gleam.agents=10.0.0.5:45326]" + run + "[--set][a=b][x]"},
		{[]string{"--master", "10.0.0.9:1", "--out", "a run", "x"}, 1, "[-gleam.agents=10.0.0.9:1]"},
		{[]string{"--master", "10.0.0.9", "--out", "a run", "x"}, 2, "submit.sh: master 10.0.0.9: write HOST:PORT, or the cluster's state folder\n"},
		{[]string{"x"}, 2, "submit.sh: name the run directory: --out DIR; see scripts/submit.sh --help\n"},
		{[]string{"--out", "a run"}, 2, "submit.sh: name an input; see scripts/submit.sh --help\n"},
	} {
		cmd, said := submit(t, program, c.args...)
		_ = cmd.Wait() // its code is looked at
		if code := cmd.ProcessState.ExitCode(); code != c.code || said.String() != c.want {
			t.Errorf("%q: exit code %d, want %d; it says %s, want %s", c.args, code, c.code, said, c.want)
		}
	}
}

// nightlies are the dumps and runs of scripts/nightly.sh, which is called as
// cron does, in a bare environment, with a program that only tells what it was
// asked to do, and what stands in the night.
type nightlies struct{ folder, dumps, runs string }

func newNightlies(t *testing.T) nightlies {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "a night")
	n := nightlies{folder, filepath.Join(folder, "dumps"), filepath.Join(folder, "runs")}
	if err := os.MkdirAll(n.dumps, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "program"), []byte(`#!/bin/sh
printf '[%s]' "$@"
case $1 in -gleam.*) exit ;; esac
while [ "$1" != --out ]; do shift; done
mkdir -p "$2"
for last; do :; done
if [ -e "$last/hold" ]; then
  trap 'exit 130' TERM
  : >"$last/held"
  while :; do sleep 0.05; done
fi
[ ! -e "$last/bad" ] || exit 4
cat "$last"/*.jsonl >"$2/taken"
: >"$2/_SUCCESS"
`), 0o755); err != nil { //nolint:gosec // it is started
		t.Fatal(err)
	}
	t.Cleanup(func() { // cron's folder is not the script's to write in
		if got := listing(t, folder); got != "dumps program runs" {
			t.Errorf("the folder it is called in holds %s", got)
		}
	})
	return n
}

// start calls the script; what it says goes to out.
func (n nightlies) start(t *testing.T, out *bytes.Buffer, options ...string) *exec.Cmd {
	t.Helper()
	script, err := filepath.Abs(filepath.Join(root, "scripts", "nightly.sh"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(script, append([]string{"--dumps", n.dumps, "--runs", n.runs, "--binary", filepath.Join(n.folder, "program")}, options...)...)
	cmd.Env, cmd.Dir = []string{"HOME=" + n.folder, "PATH=/usr/bin:/bin"}, n.folder
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// night calls the script and checks its exit code and something that it says.
func (n nightlies) night(t *testing.T, code int, says string, options ...string) {
	t.Helper()
	var out bytes.Buffer
	cmd := n.start(t, &out, options...)
	_ = cmd.Wait() // its code is looked at
	if got := cmd.ProcessState.ExitCode(); got != code || !strings.Contains(out.String(), says) {
		t.Errorf("exit code %d, want %d and %q: %s", got, code, says, &out)
	}
}

// dump writes a file of a night, which may be there.
func (n nightlies) dump(t *testing.T, night, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(n.dumps, night), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(n.dumps, night, file), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// entries lists the folder of runs.
func (n nightlies) entries(t *testing.T) string { return listing(t, n.runs) }

// listing lists a folder.
func listing(t *testing.T, folder string) string {
	t.Helper()
	found, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range found {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// said reads a file of the folder of runs.
func (n nightlies) said(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(n.runs, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestNightly(t *testing.T) {
	n := newNightlies(t)
	now := []string{"--still", "0"}
	n.night(t, 0, "nothing more to do", now...)
	n.dump(t, "2026-11-18", "bad", "12345")
	n.dump(t, "2026-11-18", "a.jsonl", "a")
	for range 4 {
		n.night(t, 4, "2026-11-18 ended with 4:", "--still", "0", "--logs", "3")
	}
	if want := ".nightly.lock 2026-11-18 2026-11-18.log 2026-11-18.log.1 2026-11-18.log.2 nights.tsv"; n.entries(t) != want {
		t.Errorf("there are %s, want %s", n.entries(t), want)
	}
	n.dump(t, "2026-11-19", "a.jsonl", "123456")
	n.night(t, 4, "2026-11-18 ended with 4:", now...) // and the next one waits
	if err := os.Rename(filepath.Join(n.dumps, "2026-11-18"), filepath.Join(n.dumps, ".2026-11-18")); err != nil {
		t.Fatal(err)
	}
	n.night(t, 0, "2026-11-19, log ", append(now, "--config", "a file.yaml", "--", "--set", "features.title_weight=2")...)
	if want := fmt.Sprintf("[run][--out][%s/2026-11-19][--config][a file.yaml][--set][features.title_weight=2][%s/2026-11-19]", n.runs, n.dumps); n.said(t, "2026-11-19.log") != want {
		t.Errorf("the program was told %s, want %s", n.said(t, "2026-11-19.log"), want)
	}
	n.dump(t, "2026-11-17", "a.jsonl", "late")
	n.night(t, 0, "nothing more to do after 2026-11-19", now...)
	n.dump(t, "2026-11-20", "a.jsonl", "12345")
	n.dump(t, "2026-11-20", "_SUCCESS", "")
	n.dump(t, "2026-11-21", "a.jsonl", "1234567")
	n.night(t, 0, "removed "+n.runs+"/2026-11-20", "--still", "0", "--keep", "1", "--master", "10.0.0.5:45326")
	if want := fmt.Sprintf("[-gleam.agents=10.0.0.5:45326][run][--engine][gleam][--master][10.0.0.5:45326][--out][%s/2026-11-21][%s/2026-11-21]", n.runs, n.dumps); n.said(t, "2026-11-21.log") != want {
		t.Errorf("the program was told %s, want %s", n.said(t, "2026-11-21.log"), want)
	}
	if want := "2026-11-19\t6\t1\n2026-11-20\t5\t1\n2026-11-21\t7\t1\n"; n.said(t, "nights.tsv") != want {
		t.Errorf("the record is %q, want %q", n.said(t, "nights.tsv"), want)
	}
	if want := ".nightly.lock 2026-11-18 2026-11-18.log 2026-11-18.log.1 2026-11-18.log.2 2026-11-18.log.3 2026-11-21 2026-11-21.log nights.tsv"; n.entries(t) != want { // what is not finished stays
		t.Errorf("there are %s, want %s", n.entries(t), want)
	}
}

// TestNightlySmall has nights that are too small, and one that was done by a
// call that could not record it.
func TestNightlySmall(t *testing.T) {
	n := newNightlies(t)
	for i, text := range []string{"1234", "123456", "12345678", "1234567890"} {
		n.dump(t, fmt.Sprintf("2026-11-1%d", i), "a.jsonl", text)
		n.dump(t, fmt.Sprintf("2026-11-1%d", i), "b.jsonl", "")
	}
	n.night(t, 0, "after 2026-11-13", "--from", "2026-11-11", "--still", "0")
	if err := os.Truncate(filepath.Join(n.runs, "nights.tsv"), int64(len("2026-11-11\t6\t2\n2026-11-12\t8\t2\n"))); err != nil {
		t.Fatal(err)
	}
	n.dump(t, "2026-11-20", "a.jsonl", "123")
	n.night(t, 65, "2026-11-20 has 3 bytes in 1 file, the nights before it had 8 bytes in 2 files: ", "--still", "0")
	n.dump(t, "2026-11-21", "a.jsonl", "12345678")
	n.night(t, 65, "--force-small 2026-11-20", "--still", "0", "--force-small", "2026-11-21")
	n.night(t, 65, "--force-small 2026-11-20", "--still", "0", "--least", "38") // of the bytes
	n.dump(t, "2026-11-20", "a.jsonl", "1234")                                  // half of the bytes and of the files
	n.night(t, 0, "after 2026-11-21", "--still", "0")
	n.dump(t, "2026-11-22", "a.jsonl", "1")
	n.night(t, 0, "after 2026-11-22", "--still", "0", "--force-small", "2026-11-22")
	if want := "2026-11-11\t6\t2\n2026-11-12\t8\t2\n2026-11-13\t10\t2\n2026-11-20\t4\t1\n2026-11-21\t8\t1\n2026-11-22\t1\t1\n"; n.said(t, "nights.tsv") != want {
		t.Errorf("the record is %q, want %q", n.said(t, "nights.tsv"), want)
	}
}

// TestNightlyReady has a night that is complete when a file says so.
func TestNightlyReady(t *testing.T) {
	n := newNightlies(t)
	list := fmt.Sprintf("%x  a.jsonl\n%x  b.jsonl\n", sha256.Sum256([]byte("a")), sha256.Sum256([]byte("bb")))
	n.dump(t, "2026-11-20", "MANIFEST", list)
	n.dump(t, "2026-11-20", "a.jsonl", "a")
	n.night(t, 75, "2026-11-20 is not complete after 0 minutes", "--manifest", "MANIFEST", "--wait", "0")
	n.dump(t, "2026-11-20", "b.jsonl", "b")
	n.night(t, 75, "2026-11-20 is not complete", "--manifest", "MANIFEST", "--wait", "0")
	n.dump(t, "2026-11-20", "b.jsonl", "bb")
	n.night(t, 0, "after 2026-11-20", "--manifest", "MANIFEST", "--wait", "0")
	n.dump(t, "2026-11-21", "a.jsonl", "aaa")
	n.dump(t, "2026-11-21", "b.jsonl", "b")
	n.night(t, 75, "2026-11-21 is not complete", "--ready", "_SUCCESS", "--wait", "0", "--least", "0")
	n.dump(t, "2026-11-21", "_SUCCESS", "")
	n.night(t, 0, "after 2026-11-21", "--ready", "_SUCCESS", "--wait", "0", "--least", "0")
}

// TestNightlySignals has a second call while a night runs, and SIGTERM while it
// runs and while a night is waited for.
func TestNightlySignals(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits")
	}
	n := newNightlies(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		if ossignal.Ignored(sig) {
			t.Logf("%v is ignored by what started these tests, as by nohup, and so by the script", sig)
			continue
		}
		n.dump(t, "2026-11-21", "hold", "")
		_ = os.Remove(filepath.Join(n.dumps, "2026-11-21", "held")) // of the first one
		var out bytes.Buffer
		cmd := n.start(t, &out, "--still", "0")
		for began := time.Now(); attempt.Gone(filepath.Join(n.dumps, "2026-11-21", "held")); time.Sleep(5 * time.Millisecond) {
			if time.Since(began) > patience {
				kill(cmd.Process.Pid, syscall.SIGKILL)
				t.Fatalf("the program was not started: %s", &out)
			}
		}
		n.night(t, 75, "another night still runs")
		kill(cmd.Process.Pid, sig)
		_ = cmd.Wait() // its code is looked at
		if code := cmd.ProcessState.ExitCode(); code != 130 {
			t.Errorf("%v: exit code %d, want the program's, 130: %s", sig, code, &out)
		}
	}
	// Of a file of 256 GiB without a byte the checksum takes minutes.
	n.dump(t, "2026-11-21", "SHA256SUMS", strings.Repeat("0", 64)+"  large\n")
	n.dump(t, "2026-11-21", "large", "")
	if err := os.Truncate(filepath.Join(n.dumps, "2026-11-21", "large"), 256<<30); err != nil {
		t.Fatal(err)
	}
	for mark, name := range map[string]string{"--ready": "never", "--manifest": "SHA256SUMS"} {
		record := filepath.Join(n.runs, "nights.tsv") // it is made once signals are heard
		if err := os.Remove(record); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		var out bytes.Buffer
		cmd := n.start(t, &out, mark, name)
		for began := time.Now(); attempt.Gone(record) && time.Since(began) < patience; time.Sleep(5 * time.Millisecond) {
		}
		time.Sleep(500 * time.Millisecond) // it waits by then, or soon
		kill(cmd.Process.Pid, syscall.SIGTERM)
		began := time.Now()
		_ = cmd.Wait() // its code is looked at
		if code := cmd.ProcessState.ExitCode(); code != 130 || time.Since(began) > 20*time.Second {
			t.Errorf("SIGTERM while it waits, %s: exit code %d after %v, want 130: %s", mark, code, time.Since(began), &out)
		}
	}
}

// TestNightlyInterleavings copies three nights, piece by piece, the times of
// writing set back as by rsync, while cron calls at any moment: none is taken
// too early, each is taken in the end. Half of them end with a mark.
func TestNightlyInterleavings(t *testing.T) {
	t.Parallel()
	rounds := 20
	if testing.Short() {
		rounds = 1
	}
	for seed := range rounds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			interleave(t, rand.New(rand.NewPCG(uint64(seed), 1)), seed%2 == 0) //nolint:gosec // not for secrets
		})
	}
}

func interleave(t *testing.T, rnd *rand.Rand, marked bool) {
	const still = 2 * time.Second
	n := newNightlies(t)
	options := []string{"--wait", "0", "--still", fmt.Sprint(still.Minutes()), "--least", "0"}
	if marked {
		options = append(options, "--ready", ".done")
	}
	whole, written, stalled := map[string]string{}, map[string]time.Time{}, map[string]bool{}
	call := func() {
		var out bytes.Buffer
		cmd := n.start(t, &out, options...)
		_ = cmd.Wait() // its code is looked at
		if code := cmd.ProcessState.ExitCode(); code != 0 && code != 75 {
			t.Errorf("exit code %d: %s", code, &out)
		}
		for night, text := range whole {
			taken, err := os.ReadFile(filepath.Join(n.runs, night, "taken"))
			switch {
			case err != nil || string(taken) == text || stalled[night]:
			case !marked && time.Since(written[night]) > still:
				// A machine that is so busy that the copying stands still is no fault of the script.
				stalled[night] = true
			default:
				t.Errorf("of %s %q was taken, in the end it has %q", night, taken, text)
			}
		}
	}
	for i := range 3 {
		night := fmt.Sprintf("2026-11-2%d", i)
		var pieces []string
		for range 2 + rnd.IntN(4) {
			pieces = append(pieces, strings.Repeat(fmt.Sprint(rnd.IntN(10)), 1+rnd.IntN(9)))
		}
		whole[night] = strings.Join(pieces, "")
		for j, piece := range pieces {
			file := fmt.Sprintf("%d.jsonl", j)
			for _, part := range []string{piece[:rnd.IntN(len(piece))], piece} {
				if rnd.IntN(3) == 0 {
					call()
				} else {
					time.Sleep(time.Duration(rnd.IntN(100)) * time.Millisecond)
				}
				written[night] = time.Now()
				n.dump(t, night, file, part)
				if err := os.Chtimes(filepath.Join(n.dumps, night, file), time.Time{}, time.Now().Add(-time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if marked {
			n.dump(t, night, ".done", "")
		}
	}
	for began := time.Now(); time.Since(began) < patience; time.Sleep(100 * time.Millisecond) {
		if call(); strings.Count(n.entries(t), "2026-11-2") == 2*len(whole) {
			break
		}
	}
	for night := range whole {
		if attempt.Gone(filepath.Join(n.runs, night, "_SUCCESS")) {
			t.Errorf("%s was not taken", night)
		}
	}
}

// TestScriptOverSSH does the same on three hosts, over ssh with keys of its
// own.
func TestScriptOverSSH(t *testing.T) {
	h := makeHosts(t, 3)
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		t.Skip("there is no sshd")
	}
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	for _, name := range []string{"key", "host"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	// The hosts' home folders are their own; the rest of the disk is shared.
	for i := range h.n {
		home := filepath.Join(dir, fmt.Sprintf("home-%d", i))
		if err := os.Mkdir(home, 0o700); err != nil {
			t.Fatal(err)
		}
		conf := write(fmt.Sprintf("sshd-%d", i), strings.Join([]string{
			"HostKey " + filepath.Join(dir, "host"), "AuthorizedKeysFile " + write("authorized", string(public), 0o600),
			"LogLevel ERROR", "StrictModes no", "PidFile none", "UsePAM no", "PasswordAuthentication no", "PermitRootLogin yes", ""}, "\n"), 0o600)
		p := h.places()[i]
		line := append(p.under, "sh", "-c", `mkdir -p /run/sshd && mount --bind "$1" ~ && exec "$2" -D -e -f "$3"`, "sh", home, sshd, conf)
		cmd := exec.Command(line[0], line[1:]...)
		cmd.Stderr = t.Output()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
		})
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		t.Skip("there is no ssh")
	}
	write("bin/ssh", fmt.Sprintf("#!/bin/sh\nexec %s -i %s -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o BatchMode=yes -F %s \"$@\"\n", ssh, key, write("config", "Host alias\nHostName "+h.address(0)+"\nUser root\n", 0o600)), 0o755)
	environ := []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "AWS_SECRET_ACCESS_KEY=it's a secret of " + h.name}
	var lines []string
	for i := range h.n {
		lines = append(lines, "root@"+h.address(i))
	}
	lines[0] = "alias" // that only ssh's configuration knows
	file := write("hosts.txt", "# the hosts\n"+strings.Join(lines, "\n")+" # the last one\n", 0o600)
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if out, err := exec.Command(filepath.Join(bin, "ssh"), lines[h.n-1], "true").CombinedOutput(); err == nil {
			break
		} else if time.Since(began) > patience {
			t.Fatalf("%v: %s", err, out)
		}
	}
	state := t.TempDir()
	cycle(t, state, environ, []string{"--hosts", file, "--address", h.net + ".1", "--slots", "4", "--port", fmt.Sprint(freePort(t))}, state)
	for i := range h.n {
		if found := processes(filepath.Join(dir, fmt.Sprintf("home-%d", i))); len(found) > 0 {
			for pid, args := range found {
				if !strings.Contains(strings.Join(args, " "), "sshd") {
					t.Errorf("process %d: %q", pid, args)
				}
			}
		}
	}
}

// handedOn checks that an agent knows the environment's secret, and that no
// process tells it in its arguments.
func handedOn(t *testing.T, environ []string) {
	t.Helper()
	at := slices.IndexFunc(environ, func(v string) bool { return strings.HasPrefix(v, "AWS_SECRET_ACCESS_KEY=") })
	if at < 0 {
		return
	}
	_, secret, _ := strings.Cut(environ[at], "=")
	knows := 0
	for pid, args := range processes("gleam\x00agent") {
		if args[1] != "agent" {
			continue // what keeps one
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && strings.Contains(string(text), environ[at]+"\x00") {
			knows++
		}
	}
	if knows != 3 {
		t.Errorf("%d agents were handed the store's key, want 3", knows)
	}
	if told := processes(secret); len(told) > 0 {
		t.Errorf("it can be read in the arguments of %v", told)
	}
}

// cycle brings a cluster up, twice, runs on it, restarts it and takes it down.
func cycle(t *testing.T, state string, environ, options []string, master string) {
	t.Cleanup(func() {
		if _, err := script(t, state, environ, "down"); err != nil {
			t.Log(err)
		}
	})
	up := append([]string{"up"}, options...)
	for range 2 { // what runs stays
		if out, err := script(t, state, environ, up...); err != nil || !strings.Contains(out, "knows 3 of 3 agents") {
			t.Fatalf("up: %v: %s", err, out)
		}
	}
	handedOn(t, environ)
	run := func() {
		dir, cfg := openRun(t), variant{64, 3, faultDocuments}.config()
		documents := writeViews(t, dir, cfg, plantedtest.Prints(faultDocuments, 64))
		if _, err := findPairs(t.Context(), t, newEngine(t, Options{Master: master, Stall: 20 * time.Second}), dir, cfg, documents); err != nil {
			t.Error(err)
		}
	}
	run()
	if out, err := script(t, state, environ, "restart"); err != nil || !strings.Contains(out, "knows 3 of 3 agents") {
		t.Fatalf("restart: %v: %s", err, out)
	}
	run()
	if out, err := script(t, state, environ, "down"); err != nil {
		t.Fatalf("down: %v: %s", err, out)
	}
	if out, err := script(t, state, environ, "status"); err == nil {
		t.Errorf("status after down: %s", out)
	}
	if out, err := script(t, state, nil, up[0], "--open", "--address", "8.8.8.8"); err == nil || !strings.Contains(out, "not a private address") {
		t.Errorf("a public address: %v: %s", err, out)
	}
}
