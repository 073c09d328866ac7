//go:build linux

package gleam

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
)

// root is the repository.
const root = "../../../.."

// command is the command itself, built once.
var command struct {
	once   sync.Once
	folder string // TestMain removes it
	err    error
}

// buildCommand builds the command itself.
func buildCommand(t *testing.T) string {
	t.Helper()
	command.once.Do(func() {
		if command.folder, command.err = os.MkdirTemp("", "neardup-command-*"); command.err != nil {
			return
		}
		out, err := exec.Command("go", "build", "-o", command.folder, "github.com/neardup/neardup/job/neardup").CombinedOutput()
		if err != nil {
			command.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	if command.err != nil {
		t.Fatal(command.err)
	}
	return filepath.Join(command.folder, "neardup")
}

// blow is a signal to a run.
type blow struct {
	sig   syscall.Signal
	stage string // a worker of which has begun
	code  int
}

func (b blow) String() string { return fmt.Sprintf("%v in %s", b.sig, b.stage) }

// TestCommand sends signals to the real command, as scripts/submit.sh starts
// it, in either flow: it ends as it promises and leaves nothing running, and
// the same command again ends with the bytes of a run on this machine.
func TestCommand(t *testing.T) {
	needCluster(t)
	if testing.Short() {
		t.Skip("it builds the command")
	}
	t.Parallel()
	sample, err := filepath.Abs(filepath.Join(root, "data", "sample"))
	if err != nil {
		t.Fatal(err)
	}
	here := filepath.Join(t.TempDir(), "local")
	if out, err := exec.Command(buildCommand(t), "run", sample, "--out", here, "--preset", config.PresetThorough, "--pairs").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	blows := []blow{{syscall.SIGINT, stage.Fingerprint, 130}, {syscall.SIGKILL, stage.Texts, -1}, {syscall.SIGTERM, stagePartial, 130}, {syscall.SIGKILL, stage.Write, -1}}
	if long() {
		blows = []blow{
			{syscall.SIGINT, cluster.Deal, 130}, {syscall.SIGTERM, cluster.Deal, 130}, {syscall.SIGKILL, stage.Fingerprint, -1},
			{syscall.SIGINT, stage.Fingerprint, 130}, {syscall.SIGTERM, stage.Fingerprint, 130},
			{syscall.SIGINT, stageSegment, 130}, {syscall.SIGTERM, stageSegment, 130}, {syscall.SIGKILL, stagePartial, -1},
			{syscall.SIGKILL, stageSegment, -1}, {syscall.SIGINT, stageFinal, 130}, {syscall.SIGTERM, stageFinal, 130}, {syscall.SIGKILL, stageFinal, -1},
			{syscall.SIGINT, stage.Texts, 130}, {syscall.SIGTERM, stage.Texts, 130}, {syscall.SIGKILL, stage.Texts, -1},
			{syscall.SIGINT, stage.Write, 130}, {syscall.SIGTERM, stage.Write, 130}, {syscall.SIGKILL, stage.Write, -1},
		}
	}
	for some := range slices.Chunk(blows, 2) { // each run gets over more than one
		t.Run(fmt.Sprint(some), func(t *testing.T) {
			t.Parallel()
			survives(t, sample, here, some)
		})
	}
}

// survives strikes a run over the sample and has it end like the one on this
// machine.
func survives(t *testing.T, sample, here string, blows []blow) {
	c, there := startCluster(t, 3, 4), filepath.Join(t.TempDir(), "cluster")
	start := func() (*exec.Cmd, *bytes.Buffer) {
		return submit(t, buildCommand(t), "--master", c.master, "--out", there, "--preset", config.PresetThorough, "--pairs", sample)
	}
	for _, b := range blows {
		cmd, said, took := strike(t, start, there, b.stage, signal(b.sig))
		t.Logf("%v: exit code %d after %v", b, cmd.ProcessState.ExitCode(), took.Round(time.Second/10))
		if code := cmd.ProcessState.ExitCode(); code != b.code {
			t.Errorf("%v: exit code %d, want %d: %s", b, code, b.code, said)
		}
		if b.code == 130 && !strings.Contains(said.String(), "the same command goes on") {
			t.Errorf("%v: it says %s", b, said)
		}
		if b.sig == syscall.SIGKILL { // it cannot remove its own files; the next run does
			for began := time.Now(); c.remains("") != ""; time.Sleep(time.Second / 10) {
				if time.Since(began) > patience {
					t.Fatalf("left behind: %s", c.remains(""))
				}
			}
			continue
		}
		c.left(there)
	}
	cmd, said := start()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	c.left(there)
	for _, folder := range rundir.Outputs {
		if out, err := exec.Command("diff", "-r", filepath.Join(here, folder), filepath.Join(there, folder)).CombinedOutput(); err != nil {
			if !attempt.Gone(filepath.Join(here, folder)) || !attempt.Gone(filepath.Join(there, folder)) {
				t.Errorf("%s differs: %s", folder, out)
			}
		}
	}
}

// TestMistakeOnCluster types columns that are not there: what a worker finds, a
// cluster's run says as a run on this machine does, with the same exit code, and
// once.
func TestMistakeOnCluster(t *testing.T) {
	needCluster(t)
	if testing.Short() {
		t.Skip("it builds the command")
	}
	t.Parallel()
	c, dir := startCluster(t, 2, 4), t.TempDir()
	foreign := filepath.Join(dir, "foreign.csv")
	if err := os.WriteFile(foreign, []byte("编号,正文\na,1\n"), 0o644); err != nil { //nolint:gosec // workers read it
		t.Fatal(err)
	}
	for i, args := range [][]string{
		{"match", foreign},
		{"match", foreign, "--id-column", "编号"},
		{"match", foreign, "--id-column", "id"},
		{"run", foreign},
	} {
		var said [2]string
		for j, engine := range [][]string{nil, {"--engine", "gleam", "--master", c.master}} {
			out := filepath.Join(dir, fmt.Sprint("out-", i, j))
			cmd := exec.Command(buildCommand(t), append(append(args, "--out", out), engine...)...)
			text, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != 2 {
				t.Errorf("%v %v: exit code %d", args, engine, code)
			}
			said[j] = string(regexp.MustCompile(`(?m)^.* msg=progress .*\n`).ReplaceAll(text, nil)) // of a slow machine
		}
		if !strings.Contains(said[0], "there are: 编号, 正文: name ") || said[1] != said[0] {
			t.Errorf("%v: on a cluster it says %son this machine %s", args, said[1], said[0])
		}
	}
}

// submit starts submit.sh with the program, and returns what it says.
func submit(t *testing.T, binary string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	said := new(bytes.Buffer)
	cmd := exec.Command(filepath.Join(root, "scripts", "submit.sh"), append([]string{"--binary", binary}, args...)...)
	cmd.Stdout, cmd.Stderr = said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a terminal's foreground group
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, said
}

// strike starts a command and has blow strike its process group once it has a
// worker of the stage; it returns the command, what it said and how long it
// took to end.
func strike(t *testing.T, start func() (*exec.Cmd, *bytes.Buffer), run string, stage string, blow func(group int)) (*exec.Cmd, *bytes.Buffer, time.Duration) {
	t.Helper()
	pattern := filepath.Join(run, rundir.Scratch, "gleam-*", "workers", stage+"-*.started")
	old, err := filepath.Glob(pattern) // of a run that was killed
	if err != nil {
		t.Fatal(err)
	}
	cmd, said := start()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	deadline := time.After(patience)
	for struck := false; !struck; {
		began, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			t.Fatalf("it ended before a worker of %s began: %v: %s", stage, err, said)
		case <-deadline:
			kill(-cmd.Process.Pid, syscall.SIGKILL)
			t.Fatalf("no worker of %s: %s", stage, said)
		case <-time.After(5 * time.Millisecond):
			struck = slices.ContainsFunc(began, func(path string) bool { return !slices.Contains(old, path) })
		}
	}
	blow(cmd.Process.Pid)
	at := time.Now()
	<-ended
	return cmd, said, time.Since(at)
}

// signal is the blow that sends a signal.
func signal(sig syscall.Signal) func(group int) {
	return func(group int) { kill(-group, sig) }
}

// TestProgramReplaced puts another program in the running one's place, as an
// upgrade in the middle of a night does: the run ends with the one that it
// began with.
func TestProgramReplaced(t *testing.T) {
	needCluster(t)
	if !long() {
		t.Skip("NEARDUP_CLUSTER_LONG is not set")
	}
	text, err := os.ReadFile(buildCommand(t))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	program, run := filepath.Join(folder, "neardup"), filepath.Join(folder, "run")
	put := func(text []byte) {
		if err := os.WriteFile(program+".new", text, 0o755); err != nil { //nolint:gosec // it is a program
			t.Fatal(err)
		}
		if err := os.Rename(program+".new", program); err != nil {
			t.Fatal(err)
		}
	}
	put(text)
	c := startCluster(t, 2, 4)
	start := func() (*exec.Cmd, *bytes.Buffer) {
		return submit(t, program, "--master", c.master, "--out", run, filepath.Join(root, "data", "sample"))
	}
	cmd, said, _ := strike(t, start, run, stage.Fingerprint, func(int) { put([]byte("#!/bin/sh\nexit 9\n")) })
	if code := cmd.ProcessState.ExitCode(); code != 0 || strings.Contains(said.String(), "exit status 9") {
		t.Errorf("exit code %d: %s", code, said)
	}
	c.left(run)
}
