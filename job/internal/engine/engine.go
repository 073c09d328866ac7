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

	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/version"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/template"
)

// Engine executes the stages whose work grows with the dump or with the library
// of earlier nights. All calls return when all is done, or at the first error,
// with nothing left running.
type Engine interface {
	// Each executes those tasks of a stage that has one for each split (see
	// Stage.Execute), and calls done with the record of each as it finishes, one
	// call at a time.
	Each(ctx context.Context, job *Job, stage Stage, tasks []int, done func(rundir.TaskRecord) error) error

	// Match joins the documents that emit keys, and calls emit with the pairs
	// that are the same, or whose texts have to decide, a batch at a time, in
	// any order: each once, one whose texts decide perhaps several times, and
	// but for the bounds on hot keys every pair of mapper.Rule. emit is safe
	// for concurrent use and keeps no batch.
	Match(ctx context.Context, job *Job, documents *Documents, emit func([]data.Pair) error) error

	// History joins this run's documents with those of earlier nights in the
	// splits of the library, which do not overlap, each split as RunDocuments.Join
	// does, and adds what is found to found, which is empty. The result does
	// not depend on the splits; it is undefined on error.
	History(ctx context.Context, job *Job, documents *RunDocuments, l *library.Library, splits []library.Split, found *history.Matches) error
}

// LeftOut is a host of an engine that a run went on without.
type LeftOut struct {
	Agent  string `json:"agent"`          // address
	Host   string `json:"host,omitempty"` // its name, if it is known
	Stage  string `json:"stage"`
	Reason string `json:"reason"`
}

// Job is one run as its engine sees it.
type Job struct {
	Config   config.Config
	Hash     string // of the configuration
	Dir      *rundir.Dir
	Manifest rundir.Manifest
	Splits   []data.Split
	Columns  data.ForeignColumns // of foreign fingerprint files
	Analyzer *simhash.Analyzer   // nil for a stage that does not analyze texts
	Log      *slog.Logger

	// Templates, if not nil, are what sites share and no text is judged by.
	Templates *template.Model

	// Advance is told of input bytes as they are read, of rows of fingerprint
	// files, or of the library's documents, for progress. It may be nil and is
	// called concurrently.
	Advance func(n int64)

	Pass Pass // of a stage of one task over its work

	Tables []rundir.TableCount // what Match did in each table, once it has returned

	fingerprinters sync.Pool

	readOnce sync.Once
	read     data.ReaderOptions

	referenceOnce sync.Once
	reference     *Reference
	referenceErr  error

	sampleOnce sync.Once
	sampling   *sampling
}

// readerOptions are how the input is read; all tasks of the process share the
// memory.
func (j *Job) readerOptions() data.ReaderOptions {
	j.readOnce.Do(func() { j.read = j.Config.ReaderOptions() })
	return j.read
}

// Fingerprinter returns a Fingerprinter with the job's analyzer; Release gives
// it back.
func (j *Job) Fingerprinter() *mapper.Fingerprinter {
	if f, ok := j.fingerprinters.Get().(*mapper.Fingerprinter); ok {
		return f
	}
	f := mapper.NewFingerprinter(j.Analyzer.NewWorkspace(), j.Config.Match.Sketched(), j.Templates)
	f.Samples = j.Config.Match.Containment > 0
	return f
}

// Release takes back a Fingerprinter.
func (j *Job) Release(f *mapper.Fingerprinter) { j.fingerprinters.Put(f) }

// Cleans reports whether the stage of writing writes a clean dump, for which it
// reads the input.
func (j *Job) Cleans() bool { return j.Manifest.Command == CommandRun && j.Config.Output.Clean }

// Tell tells Advance, if it is there.
func (j *Job) Tell(n int64) {
	if j.Advance != nil {
		j.Advance(n)
	}
}

// TableOptions says how the job's tables are written.
func (j *Job) TableOptions() parquet.Options {
	return parquet.Options{Version: version.Version, ConfigHash: j.Hash, Bits: j.Config.Features.Bits}
}

// Pass is told, for progress, that work begins to go over so many units, 0 if
// that is not known; what it returns is told of those that are done, and called
// concurrently. It may be nil.
type Pass func(total int64, unit string) (advance func(n int64))

// Begin calls the pass, if it is there.
func (p Pass) Begin(total int64, unit string) (advance func(n int64)) {
	if p == nil {
		return func(int64) {}
	}
	return p(total, unit)
}

// Parallel calls f for 0 to n-1 on workers goroutines, and returns the first
// error, which may be a panic's. Then, or when ctx ends, it calls f no more, and
// the context that f gets ends.
func Parallel(ctx context.Context, n, workers int, f func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(workers, 1))
	for i := range n {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return Guard(func() error { return f(ctx, i) })
		})
	}
	return group.Wait()
}

// A Panic is the error that Guard makes of a panic.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string { return fmt.Sprintf("panic: %v\n%s", p.Value, p.Stack) }

// Guard runs f and turns a panic into a *Panic, so that one document that breaks a
// library fails its task and not the process.
func Guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Panic{p, debug.Stack()}
		}
	}()
	return f()
}
