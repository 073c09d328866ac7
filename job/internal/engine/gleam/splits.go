//go:build linux

package gleam

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/object"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/check"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/supervise"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/wire"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
)

// The flow of a stage with a task for each split has one step: each worker
// executes the tasks that it was assigned, one after the other, and sends each
// one's record to the driver. What a task wrote into the run directory is its
// result.

// splitPayload is what the workers are told.
type splitPayload struct {
	Manifest rundir.Manifest
	Columns  data.ForeignColumns
	Threads  int // share of a host's cores: a worker takes 1/Threads of them
}

// sampledHere is how many bytes of a sample each core of this host reads before a flow
// is worth its start, its check of the agents and its end: some two seconds.
const sampledHere = 96 << 20

// Each deals the tasks to workers on the agents, large splits first. A task that
// finished in an attempt that failed is not run again. A small sample it reads in this
// process.
func (e *Engine) Each(ctx context.Context, job *engine.Job, stage engine.Stage, tasks []int, done func(rundir.TaskRecord) error) error {
	cores := runtime.GOMAXPROCS(0)
	if stage.Sampled != nil && stage.Sampled(job) <= e.sampledHere*int64(cores) {
		return local.New(cores).Each(ctx, job, stage, tasks, done)
	}
	return e.splits(ctx, job, splitFlow{
		stage: stage.Name, missing: slices.Clone(tasks), undone: "splits not done",
		advanced: func(p attempt.Progress) int64 { return p.Bytes },
		prepare: func(s *attempt.Spec, agents []cluster.Agent, missing []int) (payload any, err error) {
			s.Assigned = deal(missing, lanes(agents, job.Config.Execution.Workers, len(missing)), func(t int) int64 { return splitSize(job.Splits[t]) })
			for _, split := range job.Splits {
				s.Relative = s.Relative || !filepath.IsAbs(split.Path) && !object.Is(split.Path)
			}
			read := slices.DeleteFunc(slices.Clone(missing), func(t int) bool { return !stage.Reads(job, t) })
			s.Files, err = inputFiles(s.Config, job.Splits, read)
			return splitPayload{Manifest: job.Manifest, Columns: job.Columns, Threads: share(agents, len(s.Assigned))}, err
		},
		finished: func(missing []int) (left []int, bytes int64, err error) {
			for i, t := range missing {
				rec, ok, err := job.Dir.Record(stage.Name, t)
				if err == nil && ok {
					err = rec.Conserved()
				}
				if err != nil {
					return append(left, missing[i:]...), bytes, err
				}
				if !ok {
					left = append(left, t)
					continue
				}
				if err := done(rec); err != nil {
					return nil, bytes, supervise.Final(err)
				}
				bytes += rec.Bytes
			}
			return left, bytes, nil
		},
	})
}

// inputFiles are those that the tasks read, and what else the flow needs. The
// files of finished tasks may be gone.
func inputFiles(cfg config.Config, splits []data.Split, tasks []int) ([]attempt.File, error) {
	var paths []string
	for _, task := range slices.Sorted(slices.Values(tasks)) {
		paths = append(paths, splits[task].Path) // a file's splits follow each other
	}
	return filesOf(cfg, append(check.Spread(paths), cfg.Features.Files()...))
}

// lanes is how many workers fingerprint at once. An agent has several slots for
// each core (see operations.md); a quarter of them fingerprints.
func lanes(agents []cluster.Agent, workers, tasks int) int {
	slots := cluster.Total(agents).Slots
	n := workers
	if n == 0 {
		n = max(len(agents), slots/4)
	}
	return max(min(n, tasks, slots-1), cluster.MinTasks)
}

// share is how many of so many workers share a host.
func share(agents []cluster.Agent, lanes int) int { return max(1, lanes/max(1, len(agents))) }

// splitSize is how many bytes of its file a split has, at least 1.
func splitSize(s data.Split) int64 {
	if s.Start == 0 && s.End < 0 || s.End < s.Start {
		return max(s.Size, 1)
	}
	return max(s.End-s.Start, 1)
}

// executing is the work of a stage whose workers execute the tasks that they
// were assigned, if any, and report each.
func executing(execute func(w *worker, ctx context.Context, tasks []int) error) func(ctx context.Context, w *worker, tasks []int) error {
	return func(ctx context.Context, w *worker, tasks []int) error {
		w.open()
		if len(tasks) > 0 {
			if err := execute(w, ctx, tasks); err != nil {
				return err
			}
		}
		return w.end(0)
	}
}

// executeTasks executes tasks of splits.
func (w *worker) executeTasks(ctx context.Context, stage engine.Stage, tasks []int) (err error) {
	told, err := payload[splitPayload](w.spec)
	if err != nil {
		return err
	}
	dir, err := rundir.Attach(w.spec.Run)
	if err != nil {
		return err
	}
	job := &engine.Job{Config: w.spec.Config, Hash: w.spec.JobHash, Dir: dir, Manifest: told.Manifest, Splits: told.Manifest.Splits, Columns: told.Columns, Log: w.log,
		Advance: func(n int64) { w.Bytes.Add(n) }}
	if (stage.Analyzes || stage.Normalizes) && told.Manifest.Command == rundir.CommandRun { // of a match the texts are gone
		analyzing := method.NewAnalyzer
		if !stage.Analyzes {
			analyzing = method.NewNormalizer
		}
		analyzer, release, err := analyzing(w.spec.Config.Features)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, release()) }()
		job.Analyzer = analyzer
		if job.Templates, err = method.TemplatesOf(w.spec.Run, w.spec.Config.Features); err != nil {
			return err
		}
	}
	threads := max(1, runtime.GOMAXPROCS(0)/max(1, told.Threads))
	for _, task := range tasks {
		if task >= len(job.Splits) {
			return fmt.Errorf("%w: task %d of %d", wire.ErrFrame, task, len(job.Splits))
		}
		w.split = job.Splits[task].Path
		rec, err := stage.Execute(ctx, job, task, threads)
		if err != nil {
			return err
		}
		if err := w.report(rec); err != nil {
			return err
		}
	}
	w.split = ""
	return nil
}

// report sends the record of a finished task to the driver, at once.
func (w *worker) report(rec rundir.TaskRecord) error {
	text, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	if err := w.send.Put(0, append(w.send.Record(0), text...)); err != nil {
		return err
	}
	return w.send.Flush()
}
