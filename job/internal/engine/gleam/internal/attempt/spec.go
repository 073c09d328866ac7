//go:build linux

// Package attempt is one attempt at a flow as all its processes see it: a
// folder of the run directory with what is to be done (Spec), how far each
// worker is (Progress), what went wrong (Failure) and what came of it (Result).
// It also holds the arguments of those processes, and the program that they
// run. Supervisor, driver, workers and guards on all hosts talk to each other
// by these files alone.
//
// It starts nothing and ends nothing but its own process, and does not import
// gleam.
package attempt

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/rundir"
)

// Dir is the folder of one attempt.
type Dir string

// Scratch is the pattern of the attempts' folders in a run directory.
var Scratch = filepath.Join(rundir.Scratch, "gleam-*")

// What stands in the folder.
const (
	specFile   = "spec.json"
	workers    = "workers"
	failures   = "failures"
	Guards     = "guards"      // a file for each guard that runs
	Lease      = "lease"       // once it is removed the attempt is over
	Launcher   = Shipped       // what gleam ships
	ResultFile = "result.json" // the driver's last act
)

// Path is a path in the folder.
func (d Dir) Path(elem ...string) string {
	return filepath.Join(append([]string{string(d)}, elem...)...)
}

// Report is the file of the check on an agent.
func (d Dir) Report(agent string) string { return d.Path("check-" + agent + ".json") }

func (d Dir) logs() string { return d.Path("..", "..", rundir.Logs) }

// Log is a file of the run's logs.
func (d Dir) Log(name string) string { return filepath.Join(d.logs(), name) }

// Agent is an agent of the cluster.
type Agent struct {
	Address string
	Slots   int   // executors at once
	Used    int   // of them, taken
	Memory  int64 // bytes
}

// Step is one step of a flow: the tasks of one stage, each in a worker. The
// first step's workers are assigned tasks by the driver, each later step
// receives what the one before sends, the last sends to the driver.
type Step struct {
	Stage string
	Tasks int
}

// Spec is what one attempt executes. It stands in the attempt's folder, which
// the driver and all workers see.
type Spec struct {
	Attempt   uint64  // marks frames and files of this attempt
	Hash      uint32  // gleam's name for the flow
	Agents    []Agent // whose slots the flow may take
	Run       string  // run directory, absolute
	Work      string  // working directory of the command: relative paths start there
	Relative  bool    // there are such paths
	Binary    uint64  // checksum of the program
	Config    config.Config
	Execution config.Execution // Config leaves it out in JSON
	JobHash   string

	Steps    []Step
	Assigned [][]int         // to each task of the first step; nil: nothing, its number is enough
	OnDisk   bool            // the steps run one after the other, their rows on the agents' disks
	Rows     int64           // bytes that then lie there, in all
	Payload  json.RawMessage // what the stages are told besides

	Files []File `json:",omitempty"` // that the agents must see
	Scope string `json:",omitempty"` // of the check: an agent is checked once in each
}

// File is a file that the agents must see as the submitting host does.
type File struct {
	Path    string
	Size    int64
	ModTime time.Time
	ETag    string `json:",omitempty"`
	Any     bool   `json:",omitempty"` // it need only be readable: it may be replaced meanwhile
	Library bool   `json:",omitempty"`
}

// Write writes the spec, for Read.
func (d Dir) Write(s *Spec) error {
	for _, sub := range []string{d.Path(workers), d.Path(Guards), d.Path(failures), d.logs()} {
		if err := os.MkdirAll(sub, 0o777); err != nil {
			return fmt.Errorf("attempt: %w", err)
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("attempt: %w", err)
	}
	return data.WriteFileAtomic(d.Path(specFile), text)
}

// Read reads the attempt's spec.
func (d Dir) Read() (*Spec, error) {
	text, err := os.ReadFile(d.Path(specFile))
	if err != nil {
		return nil, fmt.Errorf("this host does not see the run directory: %w: mount it at the same path on all hosts", err)
	}
	s := new(Spec)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s: %w", d.Path(specFile), err)
	}
	s.Config.Execution = s.Execution
	return s, nil
}

// Same returns an error unless this program is the one that wrote the spec. The
// check of an agent asks once: each attempt's workers link or copy the same file.
func (s *Spec) Same() error {
	sum, err := ProgramSum()
	if err == nil && sum != s.Binary {
		err = errors.New("another build of the program runs here: restart the agent (scripts/cluster.sh restart)")
	}
	return err
}

// Enter changes to the folder that the spec's relative paths start from.
func (s *Spec) Enter() error {
	if !s.Relative {
		return nil
	}
	if err := os.Chdir(s.Work); err != nil {
		return fmt.Errorf("the input is named by relative paths, and this host does not see the folder that they start from: %w: mount it at the same path, or name the input by absolute paths", err)
	}
	return nil
}

// Result is what a driver found out, verified: a failure, or what the tasks of
// the last step counted of their input.
type Result struct {
	Failure *Failure `json:",omitempty"`
	Counted uint64
}
