//go:build linux

package attempt

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/neardup/neardup/job/internal/machine"
)

// Driver stands for the driver where a stage's name is expected.
const Driver = "driver"

// Progress is a worker's last report, which it writes to a file in the attempt's
// folder.
type Progress struct {
	Stage string
	Task  int
	Host  string
	Agent string `json:",omitempty"` // folder of the worker's agent
	PID   int
	In    int64 // records received
	Out   int64 // records sent
	Bytes int64 // of input files, by the fingerprint stage
	CPU   int64 // milliseconds of processor time
	Beat  int64 // counts the reports
	Done  bool
}

// BeatEvery is how often a worker reports its progress.
const BeatEvery = time.Second

// Reporter reports the progress of one task.
type Reporter struct {
	Dir   Dir
	Stage string
	Task  int
	Host  string
	Agent string // folder of the agent

	In, Out, Bytes atomic.Int64
	Done           atomic.Bool
}

func (r *Reporter) path(suffix string) string {
	return r.Dir.Path(workers, fmt.Sprintf("%s-%d%s", r.Stage, r.Task, suffix))
}

// Begin registers the task. For a second process of the same task it returns a
// LostError: gleam started it because the first died in the middle of the stream.
func (r *Reporter) Begin() error {
	f, err := os.OpenFile(r.path(".started"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrExist) {
		return Lost("the worker's process died and was started again")
	}
	if err != nil {
		return fmt.Errorf("this host cannot write into the run directory: %w", err)
	}
	return f.Close()
}

// Beat reports the progress every BeatEvery until stop is closed. It kills this process
// when its parent has died or the attempt's lease is gone.
func (r *Reporter) Beat(parent int, stop <-chan struct{}) {
	tick := time.NewTicker(BeatEvery)
	defer tick.Stop()
	for n := int64(1); ; n++ {
		r.write(n)
		select {
		case <-stop:
			r.write(n + 1)
			return
		case <-tick.C:
		}
		if os.Getppid() != parent || Gone(r.Dir.Path(Lease)) {
			if r.Stage == Driver {
				_ = os.Remove(r.Dir.Path(Lease)) // the guards need not wait
			}
			KillSelf()
		}
	}
}

// write writes the file. Errors are ignored: the next beat writes it again.
func (r *Reporter) write(n int64) {
	text, err := json.Marshal(Progress{Stage: r.Stage, Task: r.Task, Host: r.Host, Agent: r.Agent, PID: os.Getpid(), CPU: machine.ProcessorTime().Milliseconds(), Beat: n,
		In: r.In.Load(), Out: r.Out.Load(), Bytes: r.Bytes.Load(), Done: r.Done.Load()})
	if err != nil {
		return
	}
	path := r.path(".json")
	if os.WriteFile(path+".tmp", text, 0o644) == nil {
		_ = os.Rename(path+".tmp", path)
	}
}

// Progress reads what the workers of the attempt last reported.
func (d Dir) Progress() (all []Progress) {
	paths, _ := filepath.Glob(d.Path(workers, "*.json")) // the pattern is a good one
	for _, path := range paths {
		text, err := os.ReadFile(path)
		var p Progress
		if err == nil && json.Unmarshal(text, &p) == nil {
			all = append(all, p)
		}
	}
	return all
}

// KillSelf kills this process at once. It is for a process whose output nobody will
// read any more.
func KillSelf() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}
