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
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/job/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/engine/gleam/internal/check"
	"github.com/neardup/neardup/job/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/engine/gleam/internal/supervise"
	"github.com/neardup/neardup/job/engine/gleam/internal/wire"
	"github.com/neardup/neardup/job/rundir"
)

// The fingerprint flow has one step: each worker executes the tasks that it was
// assigned, one after the other, and sends each one's record to the driver. What
// a task wrote into the run directory is its result.

// fingerprintPayload is what the workers are told.
type fingerprintPayload struct {
	Splits  []data.Split
	Threads int // share of a host's cores: a worker takes 1/Threads of them
}

// Fingerprint deals the tasks to workers on the agents, large splits first. A
// task that finished in an attempt that failed is not run again.
func (e *Engine) Fingerprint(ctx context.Context, job *engine.Job, tasks []int, done func(rundir.TaskRecord) error) error {
	for _, t := range tasks {
		if job.Splits[t].Path == "-" {
			return errors.New("the agents cannot read standard input: write it to a file that all hosts see, or use --engine local")
		}
	}
	return e.splits(ctx, job, splitFlow{
		stage: stageFingerprint, missing: slices.Clone(tasks), undone: "splits are not fingerprinted",
		advanced: func(p attempt.Progress) int64 { return p.Bytes },
		assign: func(agents []cluster.Agent, missing []int) [][]int {
			return deal(missing, lanes(agents, job.Config.Execution.Workers, len(missing)), func(t int) int64 { return splitSize(job.Splits[t]) })
		},
		prepare: func(s *attempt.Spec, agents []cluster.Agent) (payload any, err error) {
			for _, split := range job.Splits {
				s.Relative = s.Relative || !filepath.IsAbs(split.Path) && !object.Is(split.Path)
			}
			s.Files, err = inputFiles(s.Config, job.Splits, slices.Concat(s.Assigned...))
			return fingerprintPayload{Splits: job.Splits, Threads: share(agents, len(s.Assigned))}, err
		},
		finished: func(missing []int) (left []int, bytes int64, err error) {
			for i, t := range missing {
				rec, ok, err := job.Dir.Record(engine.StageFingerprint, t)
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
		if path := splits[task].Path; len(paths) == 0 || paths[len(paths)-1] != path { // a file's splits follow each other
			paths = append(paths, path)
		}
	}
	paths = append(check.Spread(paths), cfg.Features.UserWords...)
	if cfg.Features.StopList != "" {
		paths = append(paths, cfg.Features.StopList)
	}
	return filesOf(cfg, paths)
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

// fingerprint is the stage.
func fingerprint(ctx context.Context, w *worker, tasks []int) error {
	w.open()
	if len(tasks) > 0 {
		if err := w.fingerprintTasks(ctx, tasks); err != nil {
			return err
		}
	}
	return w.end(0)
}

func (w *worker) fingerprintTasks(ctx context.Context, tasks []int) (err error) {
	told, err := payload[fingerprintPayload](w.spec)
	if err != nil {
		return err
	}
	dir, err := rundir.Attach(w.spec.Run)
	if err != nil {
		return err
	}
	analyzer, release, err := engine.NewAnalyzer(w.spec.Config.Features)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	templates, err := engine.Templates(w.spec.Config.Features)
	if err != nil {
		return err
	}
	job := &engine.Job{Templates: templates, Config: w.spec.Config, Hash: w.spec.JobHash, Dir: dir, Splits: told.Splits, Analyzer: analyzer, Log: w.log,
		Advance: func(n int64) { w.Bytes.Add(n) }}
	threads := max(1, runtime.GOMAXPROCS(0)/max(1, told.Threads))
	for _, task := range tasks {
		if task >= len(job.Splits) {
			return fmt.Errorf("%w: task %d of %d", wire.ErrFrame, task, len(job.Splits))
		}
		w.split = job.Splits[task].Path
		rec, err := engine.FingerprintTask(ctx, job, task, threads)
		if err != nil {
			return err
		}
		text, err := json.Marshal(rec)
		if err != nil {
			return err
		}
		// One record a frame, sent at once.
		if err := w.send.Put(0, append(w.send.Record(0), text...)); err != nil {
			return err
		}
		if err := w.send.Flush(); err != nil {
			return err
		}
	}
	w.split = ""
	return nil
}

// collectRecords has the driver check that each task is reported once.
func collectRecords(_ attempt.Dir, s *attempt.Spec) (collector, error) {
	missing := make(recordCollector)
	for _, lane := range s.Assigned {
		for _, task := range lane {
			missing[task] = true
		}
	}
	return missing, nil
}

// recordCollector holds the tasks that were not reported.
type recordCollector map[int]bool

func (missing recordCollector) take(f wire.Frame) error {
	var rec rundir.TaskRecord
	if err := json.Unmarshal(f.Payload, &rec); err != nil {
		return fmt.Errorf("%w: task record: %w", wire.ErrFrame, err)
	}
	if !missing[rec.Task] {
		return fmt.Errorf("%w: task %d was reported twice, or not asked for", wire.ErrFrame, rec.Task)
	}
	delete(missing, rec.Task)
	return nil
}

func (missing recordCollector) finish(uint64) (any, error) {
	if len(missing) > 0 {
		return nil, fmt.Errorf("%w: %d tasks were not reported", wire.ErrIncomplete, len(missing))
	}
	return nil, nil
}
