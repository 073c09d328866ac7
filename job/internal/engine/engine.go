// Package engine defines [Engine], the interface of what executes a run, and what
// every engine and the tasks that it executes have in common.
//
// A run has two kinds of work that grow with the dump. A stage with a task for
// each split is a [Stage]; Engine.Each executes its tasks. A join compares
// documents of different splits: Engine.Match those of this run with each
// other, Engine.History those of this run with the library. An engine decides
// where and when this work runs, never what it does: tasks are functions of the
// packages of their stages, and the steps of the joins are in mapper and reducer.
//
// Engines are in packages below this one: local is this process, gleam is
// worker processes on a cluster.
package engine

import (
	"context"
	"log/slog"
	"runtime"
	"sync"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/version"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/template"
)

// Engine executes the stages whose work grows with the dump or with the library.
// Each method returns when all work is done, or at the first error; in both
// cases nothing of it is still running.
type Engine interface {
	// Each executes the given tasks of a stage that has a task for each split
	// (see Stage.Execute). It calls done with the record of each finished task,
	// never concurrently. An error of done ends the call.
	Each(ctx context.Context, job *Job, stage Stage, tasks []int, done func(rundir.TaskRecord) error) error

	// Match joins the documents that emit keys. It calls emit with batches of
	// verified pairs, in any order: pairs that are the same, once each, and
	// pairs that only the texts can decide (undecided), possibly more than once.
	// It finds every pair of mapper.Rule, except where the bounds on hot keys
	// cut a group.
	//
	// Match may call emit concurrently. It reuses the batch afterwards, so emit
	// must not retain it.
	Match(ctx context.Context, job *Job, documents *corpus.Documents, emit func([]data.Pair) error) error

	// History joins this run's documents with the library's, split by split, as
	// corpus.Night.Join does, and adds the matches to found. The splits must not
	// overlap, and found must be empty. The result does not depend on how the
	// library is split. After an error found is undefined.
	History(ctx context.Context, job *Job, documents *corpus.Night, l *library.Library, splits []library.Split, found *history.Matches) error
}

// LeftOut is a host that an engine excluded while the run went on.
type LeftOut struct {
	Agent  string `json:"agent"`          // address
	Host   string `json:"host,omitempty"` // its name, if it is known
	Stage  string `json:"stage"`
	Reason string `json:"reason"`
}

// Job is a run as its engine and its tasks see it.
type Job struct {
	Config   config.Config
	Hash     string // hash of the configuration
	Dir      *rundir.Dir
	Manifest rundir.Manifest
	Splits   []data.Split
	Columns  data.ForeignColumns // how to read fingerprint files of other programs
	Analyzer *simhash.Analyzer   // nil for a stage that does not analyze texts
	Log      *slog.Logger

	// Templates is the boilerplate that the pages of each site share, which
	// fingerprints leave out. It may be nil.
	Templates *template.Model

	// Advance reports progress: bytes of the input, rows of fingerprint files,
	// or documents of the library, as they are read. It may be nil. Tasks call
	// it concurrently.
	Advance func(n int64)

	Pass parallel.Pass // progress of a stage of one task

	Tables []rundir.TableCount // what the join did in each table; set by Match

	fingerprinters sync.Pool
	turnsOnce      sync.Once
	turns          chan *mapper.Fingerprinter // what the next calls of Fingerprint work with; nil: to be made

	readOnce sync.Once
	read     data.ReaderOptions

	shared sync.Map // of func() (any, error), by name
}

// ReaderOptions returns the options for reading the input. It makes them once:
// all tasks of the process share what they point to.
func (j *Job) ReaderOptions() data.ReaderOptions {
	j.readOnce.Do(func() { j.read = j.Config.ReaderOptions() })
	return j.read
}

// Shared returns what the tasks of a stage share in this process. The first call for a
// name makes it. Safe for concurrent use.
func (j *Job) Shared(name string, first func() (any, error)) (any, error) {
	once, _ := j.shared.LoadOrStore(name, sync.OnceValues(first))
	return once.(func() (any, error))() //nolint:forcetypeassert // nothing else is stored
}

// Fingerprinter returns a Fingerprinter with the job's analyzer, which one
// goroutine may use until it calls Release. Safe for concurrent use.
func (j *Job) Fingerprinter() *mapper.Fingerprinter {
	if f, ok := j.fingerprinters.Get().(*mapper.Fingerprinter); ok {
		return f
	}
	return j.newFingerprinter()
}

func (j *Job) newFingerprinter() *mapper.Fingerprinter {
	f := mapper.NewFingerprinter(j.Analyzer.NewWorkspace(), j.Config.Match.Sketched(), j.Templates)
	f.Samples, f.Signatures = j.Config.Match.Containment > 0, j.Config.Match.Signs()
	return f
}

// withMemory calls work, which needs a Fingerprinter for a text of n bytes. If the
// text is large, it first waits for the memory that the text takes, and afterwards
// drops the Fingerprinter, which has grown with the text; the one to go on with is
// returned.
func (j *Job) withMemory(n int, f *mapper.Fingerprinter, work func()) *mapper.Fingerprinter {
	need := data.MemoryOf(n)
	if need == 0 {
		work()
		return f
	}
	pages := j.ReaderOptions().Pages
	taken := data.Take(pages, need)
	defer data.Give(pages, taken)
	work()
	return j.newFingerprinter()
}

// Release returns a Fingerprinter to the job's pool.
func (j *Job) Release(f *mapper.Fingerprinter) { j.fingerprinters.Put(f) }

// Fingerprint fingerprints documents of a split, each as the row of the same index. It may
// wait: no more calls are at work than there are cores, and large texts wait for memory.
// Safe for concurrent use.
//
// Each of the tasks that run at once has a goroutine for each core. If all of these had
// a Fingerprinter of 8 MB of their own, memory would grow with the square of the cores.
func (j *Job) Fingerprint(split data.Split, docs []data.Document, rows []data.FingerprintRow) {
	j.turnsOnce.Do(func() {
		j.turns = make(chan *mapper.Fingerprinter, runtime.GOMAXPROCS(0))
		for range cap(j.turns) {
			j.turns <- nil
		}
	})
	f := <-j.turns
	if f == nil {
		f = j.Fingerprinter()
	}
	defer func() { j.turns <- f }()
	for i := range docs {
		doc := &docs[i]
		f = j.withMemory(len(doc.Text), f, func() { f.Fingerprint(doc, split.PathOf(doc.File), &rows[i]) })
	}
}

// Fingerprinted lets go of what Fingerprint works with, after its last call.
func (j *Job) Fingerprinted() {
	for range cap(j.turns) {
		if f := <-j.turns; f != nil {
			j.Release(f)
		}
		j.turns <- nil
	}
	runtime.GC() // most of what the stage held is garbage, on top of which the next would be let grow
}

// Texts returns, for one goroutine, a function that calls use with what a verdict
// reads of a document's text; use must not retain it. The caller must call release in
// the end.
func (j *Job) Texts() (of func(doc *data.Document, use func(*mapper.Text) error) error, release func()) {
	f, workspace := j.Fingerprinter(), j.Analyzer.NewWorkspace()
	var normal []byte
	var text mapper.Text
	of = func(doc *data.Document, use func(*mapper.Text) error) (err error) {
		f = j.withMemory(len(doc.Text), f, func() {
			own := f.Text(doc)
			normal = workspace.Normalize(normal[:0], own)
			text.Set(normal)
			if whole := len(doc.Compared()); whole > 0 {
				text.Left = max(0, 1-float64(len(own))/float64(whole))
			}
			err = use(&text)
			if data.MemoryOf(len(doc.Text)) > 0 {
				normal, text, workspace = nil, mapper.Text{}, j.Analyzer.NewWorkspace() // they have grown with it
			}
		})
		return err
	}
	return of, func() { j.Release(f) }
}

// Cleans reports whether the stage write writes a clean dump, for which it has to
// read the input again.
func (j *Job) Cleans() bool { return j.Manifest.Command == rundir.CommandRun && j.Config.Output.Clean }

// Tell calls Advance with n, unless Advance is nil.
func (j *Job) Tell(n int64) {
	if j.Advance != nil {
		j.Advance(n)
	}
}

// TableOptions returns the options with which the job's Parquet tables are
// written.
func (j *Job) TableOptions() parquet.Options {
	return parquet.Options{Version: version.Version, ConfigHash: j.Hash, Bits: j.Config.Features.Bits}
}
