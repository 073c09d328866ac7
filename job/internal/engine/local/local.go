// Package local is the engine that executes a job in this process, on all its
// cores.
//
// A join runs in memory if its documents fit under the memory cap. Otherwise it
// spills to disk: it deals records into buckets that do fit, and works on one
// bucket at a time in each worker (see spiller). Both ways find the same pairs.
package local

import (
	"context"
	"errors"
	"sync"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/shuffle"
	"github.com/neardup/neardup/simhash/columns"
)

// Engine is the local engine. It is safe for concurrent use.
type Engine struct {
	workers int
}

// New returns an engine that uses max(workers, 1) goroutines for a stage or join.
func New(workers int) *Engine { return &Engine{workers: max(workers, 1)} }

var _ engine.Engine = (*Engine)(nil)

// Each implements [engine.Engine]. It executes as many tasks at once as there
// are workers. Each task may itself use that many goroutines, so that a single
// large split uses all cores too.
func (e *Engine) Each(ctx context.Context, job *engine.Job, stage engine.Stage, tasks []int, done func(rundir.TaskRecord) error) error {
	var mu sync.Mutex
	return parallel.Each(ctx, len(tasks), e.workers, func(ctx context.Context, i int) error {
		rec, err := stage.Execute(ctx, job, tasks[i], e.workers)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		return done(rec)
	})
}

// History implements [engine.Engine]. All workers share the row groups of all
// splits.
func (e *Engine) History(ctx context.Context, job *engine.Job, documents *corpus.Night, l *library.Library, splits []library.Split, found *history.Matches) error {
	return documents.Join(ctx, l, splits, e.workers, found, job.Tell)
}

// Match implements [engine.Engine]. It joins in memory if the documents fit under
// the memory cap, else on disk.
func (e *Engine) Match(ctx context.Context, job *engine.Job, documents *corpus.Documents, emit func([]data.Pair) error) error {
	rule, err := method.RuleOf(job.Dir.Path(), job.Config.Match)
	if err != nil {
		return err
	}
	tiers, bits := rule.Tiers(), job.Config.Features.Bits
	sizes, err := documents.Sizes(ctx, tiers, e.workers)
	if err != nil {
		return err
	}
	if err := tiers.Choose(bits, sizes); err != nil {
		return err
	}
	j := &join{job: job, documents: documents, rule: rule, tiers: tiers, bits: bits, workers: e.workers, limit: job.Config.Execution.MemoryLimit(), out: newBatches(emit, e.workers)}
	j.counts = shuffle.NewCounts(tiers, rule)
	if bits > 64 {
		err = match[columns.Uint128](ctx, j)
	} else {
		err = match[uint64](ctx, j)
	}
	job.Tables = shuffle.Counted(j.counts)
	return err
}

// batches collects pairs, separately for each worker, and passes them to emit in
// batches.
type batches struct {
	emit  func([]data.Pair) error
	pairs [][]data.Pair
	errs  []error
}

const batchPairs = 4096

func newBatches(emit func([]data.Pair) error, workers int) *batches {
	return &batches{emit: emit, pairs: make([][]data.Pair, workers), errs: make([]error, workers)}
}

// add adds a pair of a worker. Different workers may call it concurrently, one
// worker may not. flush returns the errors of emit; after one, the worker's
// further pairs are discarded.
func (b *batches) add(worker int, p data.Pair) {
	b.pairs[worker] = append(b.pairs[worker], p)
	if len(b.pairs[worker]) >= batchPairs {
		b.send(worker)
	}
}

func (b *batches) send(worker int) {
	if b.errs[worker] == nil {
		b.errs[worker] = b.emit(b.pairs[worker])
	}
	b.pairs[worker] = b.pairs[worker][:0]
}

// flush emits what is left, and returns the errors of all workers.
func (b *batches) flush() error {
	for w := range b.pairs {
		b.send(w)
	}
	return errors.Join(b.errs...)
}
