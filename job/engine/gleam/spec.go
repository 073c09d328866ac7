package gleam

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/numbered"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/rundir"
)

// stageID is a step of a flow, as frames carry it.
type stageID byte

const (
	stageDriver stageID = iota + 1
	stageDeal
	stageFingerprint
	stageSegment
	stagePartial
	stageFinal
	stageEarlier
	stageCheck // before a flow: it passes no rows
)

var stageNames = []string{stageDriver: "driver", stageDeal: "deal", stageFingerprint: "fingerprint", stageSegment: "segment", stagePartial: "partial", stageFinal: "final", stageEarlier: "earlier", stageCheck: "check"}

func (s stageID) String() string {
	if s >= stageDriver && int(s) < len(stageNames) {
		return stageNames[s]
	}
	return fmt.Sprintf("stage %d", byte(s))
}

// stageOf is the inverse of String.
func stageOf(name string) (stageID, bool) {
	for s, n := range stageNames {
		if n == name && n != "" {
			return stageID(s), true
		}
	}
	return 0, false
}

// spec is what one attempt at a flow executes. It stands in the attempt's
// folder, which the driver and all workers see.
type spec struct {
	Attempt   uint64 // marks frames and files of this attempt
	Hash      uint32 // gleam's name for the flow
	Master    string
	Run       string // run directory, absolute
	Work      string // working directory of the command: relative paths start there
	Relative  bool   // there are such paths
	Binary    uint64 // checksum of the program
	Config    config.Config
	Execution config.Execution
	JobHash   string

	Files []checkFile `json:",omitempty"` // that the agents must see; of an attempt with a check

	Plan
	Fingerprint *fingerprintSpec `json:",omitempty"`
	Match       *matchSpec       `json:",omitempty"`
	Earlier     *earlierSpec     `json:",omitempty"`
}

// fingerprintSpec is the fingerprint flow's part.
type fingerprintSpec struct {
	Splits  []data.Split
	Lanes   [][]int // tasks, by the worker that executes them one by one
	Threads int     // share of a host's cores: a worker takes 1/Threads of them
}

// matchSpec is the match flow's part: the tables from First to Last-1.
type matchSpec struct {
	Documents   int
	First, Last int
	References  uint64 // of documents, under the keys of those tables
}

// attemptDir is the folder of one attempt.
type attemptDir string

func (d attemptDir) spec() string     { return filepath.Join(string(d), "spec.json") }
func (d attemptDir) lease() string    { return filepath.Join(string(d), "lease") }
func (d attemptDir) launcher() string { return filepath.Join(string(d), shipped) }
func (d attemptDir) result() string   { return filepath.Join(string(d), "result.json") }
func (d attemptDir) pairs() string    { return filepath.Join(string(d), "pairs") }
func (d attemptDir) guards() string   { return filepath.Join(string(d), "guards") }
func (d attemptDir) workers() string  { return filepath.Join(string(d), "workers") }
func (d attemptDir) failures() string { return filepath.Join(string(d), "failures") }
func (d attemptDir) report(agent string) string {
	return filepath.Join(string(d), "check-"+agent+".json")
}
func (d attemptDir) started(s stageID, task int) string {
	return filepath.Join(d.workers(), fmt.Sprintf("%s-%d.started", s, task))
}
func (d attemptDir) progress(s stageID, task int) string {
	return filepath.Join(d.workers(), fmt.Sprintf("%s-%d.json", s, task))
}

// openDocuments opens the run's numbered documents.
func (s *spec) openDocuments() (*numbered.Folder, error) {
	return numbered.Open(filepath.Join(s.Run, rundir.State, "documents"))
}

// readSpec reads the attempt's spec and checks that this program is the one
// that wrote it.
func readSpec(dir attemptDir) (*spec, error) {
	text, err := os.ReadFile(dir.spec())
	if err != nil {
		return nil, fmt.Errorf("this host does not see the run directory: %w: mount it at the same path on all hosts", err)
	}
	s := new(spec)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s: %w", dir.spec(), err)
	}
	s.Config.Execution = s.Execution
	sum, err := binarySum()
	if err != nil {
		return nil, err
	}
	if sum != s.Binary {
		return nil, fmt.Errorf("another build of the program runs here: restart the agent (scripts/cluster.sh restart)")
	}
	return s, nil
}

// executable is the running program, which stays the same when another takes
// its place on the disk.
const executable = "/proc/self/exe"

// binarySum is the checksum of the running program.
func binarySum() (uint64, error) {
	sum, err := fileSum(executable)
	if err != nil {
		return 0, fmt.Errorf("program: %w", err)
	}
	return sum, nil
}

// Failure says what went wrong where, in the words of the task that failed.
type Failure struct {
	Stage   string // of the flow: start, deal, fingerprint, segment, partial, final, earlier, driver
	Task    int
	Split   string `json:",omitempty"` // what the task read
	Host    string `json:",omitempty"`
	Message string
	// Lost is true when the task itself did not fail: a part of its input
	// did not arrive, or arrived damaged.
	Lost bool `json:",omitempty"`
	// Died is true when the task's process was ended from outside.
	Died bool `json:",omitempty"`
}

func (f *Failure) Error() string {
	where := fmt.Sprintf("%s task %d", f.Stage, f.Task)
	if f.Split != "" {
		where += " (" + f.Split + ")"
	}
	if f.Host != "" {
		where += " on " + f.Host
	}
	return where + ": " + f.Message
}

// result is what a driver found out, verified.
type result struct {
	Failure *Failure `json:",omitempty"`
	Records []rundir.TaskRecord
	Pairs   uint64 // in the attempt's pairs file
	Sum     uint64 // XXH3-64 of that file
}
