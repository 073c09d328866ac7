//go:build linux

package attempt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/rundir"
)

// Failure says what went wrong where, in the words of the task that failed.
type Failure struct {
	Stage   string // of the flow; or start, driver, agent
	Task    int
	Split   string `json:",omitempty"` // what the task read
	Host    string `json:",omitempty"`
	Message string
	// Lost is true when the task itself did not fail: a part of its input
	// did not arrive, or arrived damaged.
	Lost bool `json:",omitempty"`
	// Died is true when the task's process was ended from outside.
	Died bool `json:",omitempty"`
	// What the submitting command decides on, as it decides on it where the task
	// runs in its own process: a column that is not there, rows not conserved.
	Missing      *data.NoColumn `json:",omitempty"`
	NotConserved bool           `json:",omitempty"`
}

// Of sets the failure's message and kind from err.
func (f *Failure) Of(err error) {
	f.Message = err.Error()
	f.Died = errors.As(err, new(*LostError))
	_ = errors.As(err, &f.Missing)
	f.NotConserved = errors.Is(err, rundir.ErrNotConserved)
}

func (f *Failure) Error() string {
	if f.Stage == "" {
		return f.Message
	}
	where := fmt.Sprintf("%s task %d", f.Stage, f.Task)
	if f.Split != "" {
		where += " (" + f.Split + ")"
	}
	if f.Host != "" {
		where += " on " + f.Host
	}
	return where + ": " + f.Message
}

// Unwrap returns those errors of the task on which callers decide.
func (f *Failure) Unwrap() (all []error) {
	if f.Missing != nil {
		all = append(all, f.Missing)
	}
	if f.NotConserved {
		all = append(all, rundir.ErrNotConserved)
	}
	return all
}

// Mistake returns an error with the task's message if the failure is a mistake in the
// command line, which no further attempt would fix; else nil.
func (f *Failure) Mistake() error {
	if f.Missing == nil {
		return nil
	}
	return &Failure{Message: f.Message, Missing: f.Missing}
}

// LostError is a failure of the cluster and not of a task. Another attempt may succeed.
type LostError struct{ text string }

// Lost returns a LostError.
func Lost(format string, args ...any) *LostError {
	return &LostError{fmt.Sprintf(format, args...)}
}

func (e *LostError) Error() string { return e.text }

// Note writes the failure into the attempt's folder, where the supervisor finds it even
// if no row gets through.
func (d Dir) Note(f *Failure) error {
	return rundir.WriteJSON(d.Path(failures, fmt.Sprintf("%s-%d.json", f.Stage, f.Task)), f)
}

// Noted returns the first failure that a worker noted, nil if there is none. It ignores
// lost rows, which are the consequence of another failure.
func (d Dir) Noted() *Failure {
	return firstFailure(d.Path(failures, "*.json"))
}

// NoteFull checks whether the disk of the agent's folder is full; if so, it notes that
// and returns true. A full disk explains lost rows, but is not a failure of its own:
// FullDisk returns it, Noted does not.
func (d Dir) NoteFull(host, folder string) bool {
	const least = 1 << 20
	free, err := FreeDisk(folder)
	if err != nil || free >= least {
		return false
	}
	f := Failure{Stage: "agent", Host: host, Message: fmt.Sprintf("the disk of the agent's folder %s is full: free some, or start the agent with another --dir", filepath.Dir(folder))}
	return rundir.WriteJSON(d.Path(fmt.Sprintf("full-%s-%d.json", host, os.Getpid())), f) == nil
}

// FullDisk returns what NoteFull noted, nil if nothing.
func (d Dir) FullDisk() *Failure {
	return firstFailure(d.Path("full-*.json"))
}

func firstFailure(pattern string) *Failure {
	paths, _ := filepath.Glob(pattern) // the pattern is a good one
	for _, path := range paths {
		f := new(Failure)
		if rundir.ReadJSON(path, f) == nil && !f.Lost {
			return f
		}
	}
	return nil
}
