//go:build linux

package gleam

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/job/internal/stage"
)

// TestLeftOut has one agent of three hang in each way, and wants the run to end
// right without it, and to name it. The short form has those that need no root.
func TestLeftOut(t *testing.T) {
	needCluster(t)
	if testing.Short() {
		t.Skip("each fault takes a stall")
	}
	t.Parallel()
	stall := 35 * time.Second // gleam has an agent that lost its master look for it after 30 s
	if long() {
		stall = 8 * time.Second
	}
	runs := newFaultRuns(t)
	for _, f := range []fault{
		{name: "agent stopped", strike: stopAgent},
		{name: "worker stopped", strike: stopWorker},
		{name: "agent killed", strike: func(tr *trial, pid int) { tr.agent = tr.agentOf(pid); tr.killAgent() }},
		{name: "agent's disk full", strike: fullFolder, after: emptyFolder},
	} {
		f.stall, f.out = stall, true
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			if f.after != nil && (os.Geteuid() != 0 || !long()) {
				t.Skip("only root mounts, and only with NEARDUP_CLUSTER_LONG")
			}
			runs.try(t, startCluster(t, 3, 4), f, point{stagePartial, 0, middle})
		})
	}
	if !long() {
		return
	}
	t.Run("below the quorum", func(t *testing.T) {
		f := fault{stall: stall, strike: stopAgent, want: failed("cluster not ready", "does not answer", "execution.quorum")}
		runs.try(t, startCluster(t, 2, 6), f, point{stagePartial, 0, middle})
	})
	t.Run("fingerprint, worker stopped", func(t *testing.T) {
		runs.try(t, startCluster(t, 3, 4), fault{stall: stall, out: true, strike: stopWorker}, point{stage.Fingerprint, 1, middle})
	})
}

// fullFolder has nothing more be written into the folder of the worker's agent,
// and kills the worker, as the lack of room would.
func fullFolder(tr *trial, pid int) {
	tr.agent = tr.agentOf(pid)
	path := tr.c.places[tr.agent].dir
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=4k", "none", path).CombinedOutput(); err != nil {
		tr.Fatalf("mount: %v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(path, ".filler"), make([]byte, 4096), 0o600); err != nil {
		tr.Error(err)
	}
	kill(pid, syscall.SIGKILL)
}

// emptyFolder takes the full disk away, and what it hid.
func emptyFolder(tr *trial) {
	path := tr.c.places[tr.agent].dir
	if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil {
		tr.Error(err)
	}
	left, _ := filepath.Glob(filepath.Join(path, "*")) // the pattern is a good one
	for _, folder := range left {
		if err := os.RemoveAll(folder); err != nil {
			tr.Error(err)
		}
	}
}
