// Package engine says what executes the stages of a job, and holds the tasks
// that every engine executes: an engine decides where and when a task runs,
// never what it does. The stage functions are in mapper and reducer.
package engine

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/numbered"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/rundir"
	"github.com/neardup/neardup/job/version"
	"github.com/neardup/neardup/simhash"
)

// Engine executes the two stages whose work grows with the dump. Both calls
// return when all is done, or at the first error, with nothing left running.
type Engine interface {
	// Fingerprint executes the given fingerprint tasks, each as
	// FingerprintTask does, and calls done for each as it finishes, one call
	// at a time.
	Fingerprint(ctx context.Context, job *Job, tasks []int, done func(rundir.TaskRecord) error) error

	// Match calls emit with every pair of representatives within distance k
	// of each other (see data.Pair), each once, a batch at a time, in any
	// order. emit is safe for concurrent use and keeps no batch.
	Match(ctx context.Context, job *Job, documents *numbered.Folder, emit func([]data.Pair) error) error
}

// Job is one run as its engine sees it.
type Job struct {
	Config   config.Config
	Hash     string // of the configuration
	Dir      *rundir.Dir
	Splits   []data.Split
	Analyzer *simhash.Analyzer // nil for a job that only matches
	Log      *slog.Logger

	// Advance is told of input bytes as they are read, for progress. It may
	// be nil and is called concurrently.
	Advance func(bytes int64)

	workspaces sync.Pool
}

// Workspace returns a workspace of the job's analyzer; Release gives it back.
func (j *Job) Workspace() *simhash.Workspace {
	if w, ok := j.workspaces.Get().(*simhash.Workspace); ok {
		return w
	}
	return j.Analyzer.NewWorkspace()
}

// Release takes back a workspace.
func (j *Job) Release(w *simhash.Workspace) { j.workspaces.Put(w) }

func (j *Job) advance(bytes int64) {
	if j.Advance != nil {
		j.Advance(bytes)
	}
}

// TableOptions says how the job's tables are written.
func (j *Job) TableOptions() parquet.Options {
	return parquet.Options{Version: version.Version, ConfigHash: j.Hash, Bits: j.Config.Features.Bits}
}

// Guard runs f and turns a panic into an error with its stack, so that one
// document that breaks a library fails its task and not the process.
func Guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
