// Package local executes a job's stages in this process, on all of its cores.
// It finds pairs either with the in-memory kernel or by the very shuffle that
// a cluster performs; both give the same pairs.
package local

import (
	"context"
	"errors"
	"sync"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/numbered"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/job/rundir"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/reducer"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/hamming"
)

// Engine is the embedded engine.
type Engine struct {
	workers int
}

// New returns an engine of that many workers, at least one.
func New(workers int) *Engine { return &Engine{workers: max(workers, 1)} }

var _ engine.Engine = (*Engine)(nil)

// Fingerprint executes as many tasks at once as there are workers. A task
// fingerprints on several goroutines too, so one large split also uses all
// cores.
func (e *Engine) Fingerprint(ctx context.Context, job *engine.Job, tasks []int, done func(rundir.TaskRecord) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(e.workers)
	var mu sync.Mutex
	for _, task := range tasks {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return engine.Guard(func() error {
				rec, err := engine.FingerprintTask(ctx, job, task, e.workers)
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				return done(rec)
			})
		})
	}
	return group.Wait()
}

// Earlier has all workers stream row groups of the library, whatever splits
// they are of.
func (e *Engine) Earlier(ctx context.Context, job *engine.Job, tonight *engine.Tonight, l *library.Library, splits []library.Split, found *reducer.Earliest) error {
	return tonight.Join(ctx, l, splits, e.workers, found, func(n int64) {
		if job.Advance != nil {
			job.Advance(n)
		}
	})
}

// Match finds the pairs: in memory where the fingerprints fit under the
// memory cap, else by way of the disk.
func (e *Engine) Match(ctx context.Context, job *engine.Job, documents *numbered.Folder, emit func([]data.Pair) error) error {
	if documents.Len() < 2 {
		return nil
	}
	if job.Config.Execution.Matcher == config.MatcherShuffle {
		return e.shuffle(ctx, job, documents, emit)
	}
	if job.Config.Match.Verified() {
		if err := e.further(ctx, job, documents, emit); err != nil {
			return err
		}
	}
	if job.Config.Features.Bits > 64 {
		return match(ctx, e, job, documents, emit, func(hi, lo uint64) hamming.Uint128 { return hamming.Uint128{Hi: hi, Lo: lo} })
	}
	return match(ctx, e, job, documents, emit, func(_, lo uint64) uint64 { return lo })
}

func match[F hamming.Fingerprint](ctx context.Context, e *Engine, job *engine.Job, documents *numbered.Folder, emit func([]data.Pair) error, pack func(hi, lo uint64) F) error {
	limit, err := job.Config.Execution.MemoryLimit()
	if err != nil {
		return err
	}
	if int64(documents.Len())*inMemory[F]() > limit {
		return spill(ctx, e.workers, limit, job, documents, emit, pack)
	}
	prints := make([]F, 0, documents.Len())
	var numbers []uint32 // by place, once places are no longer the numbers
	err = documents.Fingerprints(func(doc uint32, hi, lo uint64) {
		if int(doc) != len(prints) && numbers == nil {
			numbers = make([]uint32, len(prints), documents.Len())
			for i := range numbers {
				numbers[i] = uint32(i)
			}
		}
		if numbers != nil {
			numbers = append(numbers, doc)
		}
		prints = append(prints, pack(hi, lo))
	})
	if err != nil {
		return err
	}
	number := func(place uint32) uint32 {
		if numbers != nil {
			return numbers[place]
		}
		return place
	}
	plan, err := job.Config.Plan()
	if err != nil {
		return err
	}
	options := hamming.Options{Bits: job.Config.Features.Bits, Workers: e.workers, Plan: plan}
	set, err := hamming.Collapse(prints, options)
	if err != nil {
		return err
	}
	out := newBatches(emit, e.workers)
	for i := range set.Len() {
		mapper.Identical(set.Members(i), func(p data.Pair) { out.add(0, data.Pair{A: number(p.A), B: number(p.B)}) })
	}
	err = set.Pairs(ctx, job.Config.Match.Distance, options, func(worker int, i, j uint32, distance int) {
		a, b := number(set.Smallest(int(i))), number(set.Smallest(int(j)))
		out.add(worker, data.Pair{A: min(a, b), B: max(a, b), Distance: uint8(distance)})
	})
	if err != nil {
		return err
	}
	return out.flush()
}

// inMemory is what the in-memory join takes for a document, in bytes, all
// distinct: measured, see job/docs/benchmarks.
func inMemory[F hamming.Fingerprint]() int64 { return 7 * int64(unsafe.Sizeof(*new(F))) }

// batches collects pairs by worker, so that emit is called seldom.
type batches struct {
	emit  func([]data.Pair) error
	pairs [][]data.Pair
	errs  []error
}

const batchPairs = 4096

func newBatches(emit func([]data.Pair) error, workers int) *batches {
	return &batches{emit: emit, pairs: make([][]data.Pair, workers), errs: make([]error, workers)}
}

// add takes a pair from a worker; calls for one worker come one after the
// other. An error is kept for flush.
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

// flush sends what is left and returns the first error.
func (b *batches) flush() error {
	for w := range b.pairs {
		b.send(w)
	}
	return errors.Join(b.errs...)
}

// shuffle takes one table after the other through the stages of a cluster:
// segment, partial reduce by (salt, key), final reduce by key, compare.
func (e *Engine) shuffle(ctx context.Context, job *engine.Job, documents *numbered.Folder, emit func([]data.Pair) error) error {
	layout, err := simhash.NewLayout(job.Config.Features.Bits, job.Config.Match.Distance)
	if err != nil {
		return err
	}
	for table := range layout.Tables() {
		segments := func(put func(data.Keyed)) error {
			return documents.Fingerprints(func(doc uint32, hi, lo uint64) {
				put(mapper.SegmentTable(layout, table, simhash.Fingerprint{Hi: hi, Lo: lo}, doc))
			})
		}
		err := e.shuffleTable(ctx, job, segments, emit, func() (compare, error) {
			return mapper.NewComparer(layout, job.Config.Match.Distance).Group, nil
		})
		if err != nil {
			return err
		}
	}
	if !job.Config.Match.Verified() {
		return nil
	}
	further := mapper.NewFurther(layout.Tables(), job.Config.Match.Bands, job.Config.Match.ShortTexts)
	for t := range mapper.FurtherTables {
		records := func(put func(data.Keyed)) error {
			return documents.Views(0, documents.Len(), func(doc uint32, v *data.View) {
				_ = further.Table(t, v, doc, func(r data.Keyed) error { put(r); return nil })
			})
		}
		err := e.shuffleTable(ctx, job, records, emit, func() (compare, error) {
			confirm, err := engine.NewConfirmer(job.Config, documents)
			if err != nil {
				return nil, err
			}
			return confirm.Group, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// compare finds the pairs of a group.
type compare func(group []data.Entry, emit func(data.Pair)) error

// shuffleTable takes the records of one table through the stages.
func (e *Engine) shuffleTable(ctx context.Context, job *engine.Job, records func(put func(data.Keyed)) error, emit func([]data.Pair) error, newCompare func() (compare, error)) error {
	salts, shards := job.Config.Execution.Salts, job.Config.Execution.Shards
	mapped := make([][]data.Keyed, shards*salts)
	err := records(func(r data.Keyed) {
		p := mapper.Shard(r, shards)*salts + mapper.Salt(r, salts)
		mapped[p] = append(mapped[p], r)
	})
	if err != nil {
		return err
	}
	reduced := make([][]data.Entry, len(mapped))
	err = e.each(ctx, len(mapped), func(p int) error {
		reduced[p] = reducer.Partial(mapped[p])
		mapped[p] = nil
		return nil
	})
	if err != nil {
		return err
	}
	return e.each(ctx, shards, func(shard int) error {
		compare, err := newCompare()
		if err != nil {
			return err
		}
		out := newBatches(emit, 1)
		parts := make([]reducer.Part, salts)
		for salt := range parts {
			parts[salt] = reducer.PartOf(reduced[shard*salts+salt])
		}
		err = reducer.Final(parts, func(group []data.Entry) error {
			return compare(group, func(p data.Pair) { out.add(0, p) })
		})
		return errors.Join(err, out.flush())
	})
}

// each calls f for 0 to n-1 on the engine's workers.
func (e *Engine) each(ctx context.Context, n int, f func(i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(e.workers)
	for i := range n {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return engine.Guard(func() error { return f(i) })
		})
	}
	return group.Wait()
}
