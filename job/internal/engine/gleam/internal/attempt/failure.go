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

// Of has the failure say what err does.
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

// Unwrap returns what the task's error was, of that which is decided on.
func (f *Failure) Unwrap() (all []error) {
	if f.Missing != nil {
		all = append(all, f.Missing)
	}
	if f.NotConserved {
		all = append(all, rundir.ErrNotConserved)
	}
	return all
}

// Mistake returns the failure in the task's own words if it is a mistake of the
// command line, which no other attempt and no other host mends; else nil.
func (f *Failure) Mistake() error {
	if f.Missing == nil {
		return nil
	}
	return &Failure{Message: f.Message, Missing: f.Missing}
}

// LostError is a failure of the cluster, not of a task: another attempt may go
// well.
type LostError struct{ text string }

// Lost returns a LostError.
func Lost(format string, args ...any) *LostError {
	return &LostError{fmt.Sprintf(format, args...)}
}

func (e *LostError) Error() string { return e.text }

// Note notes the failure where the supervisor sees it even when no row moves.
func (d Dir) Note(f *Failure) error {
	return rundir.WriteJSON(d.Path(failures, fmt.Sprintf("%s-%d.json", f.Stage, f.Task)), f)
}

// Noted returns a failure that a worker noted: the first that is not the mere
// loss of rows, which follows from others. It is nil without one.
func (d Dir) Noted() *Failure {
	return firstFailure(d.Path(failures, "*.json"))
}

// NoteFull notes that the disk of the agent's folder is full if it is, and
// reports whether it did. That is a reason for rows that were lost, not a
// failure of its own: FullDisk returns it, Noted does not.
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
