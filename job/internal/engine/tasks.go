package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
)

// Stages that have a task for each split, as records and logs name them.
const (
	StageLearn       = "learn"       // a sample of the documents, to learn what the pages of a site share
	StageFingerprint = "fingerprint" // documents become fingerprints and views
	StageRead        = "read"        // fingerprint files become views
	StageTexts       = "texts"       // the shingles and letters of the documents whose texts decide
	StageWrite       = "write"       // the tables and the clean dump
)

// tasks execute the task of one split on workers goroutines, and fill in its
// record.
var tasks = map[string]func(ctx context.Context, job *Job, rec *rundir.TaskRecord, workers int) error{
	StageLearn: learn, StageFingerprint: fingerprint, StageRead: read, StageTexts: texts, StageWrite: write,
}

// A Task executes the task of one split on workers goroutines, writes the
// task's record, and returns it. Nothing but complete files appear under final
// names.
type Task func(ctx context.Context, job *Job, task, workers int) (rundir.TaskRecord, error)

// TaskOf returns the task of a stage, by its name: a worker on another host
// knows no more of it.
func TaskOf(stage string) (Task, error) {
	work, ok := tasks[stage]
	if !ok {
		return nil, fmt.Errorf("no stage %q has a task for each split", stage)
	}
	return func(ctx context.Context, job *Job, task, workers int) (rundir.TaskRecord, error) {
		return job.Record(stage, task, func(rec *rundir.TaskRecord) error {
			rec.Source = job.Splits[task].Path
			return work(ctx, job, rec, workers)
		})
	}, nil
}

// Record has work do a task and fill in its record, and writes that.
func (j *Job) Record(stage string, task int, work func(*rundir.TaskRecord) error) (rundir.TaskRecord, error) {
	began := time.Now()
	rec := rundir.TaskRecord{Stage: stage, Task: task, Skipped: map[string]int64{}, Counts: map[string]int64{}, Languages: map[string]int64{}, Sites: rundir.SiteTexts{}}
	if err := work(&rec); err != nil {
		return rec, err
	}
	rec.Seconds = time.Since(began).Seconds()
	return rec, j.Dir.PutRecord(rec)
}

// viewWriter writes the views of a split from its fingerprint rows.
type viewWriter struct {
	out  *views.Writer
	name string // within the run directory
	keep func(*data.FingerprintRow) float64
	row  views.Row

	frames *frameCounter
}

func createViews(job *Job, task int) (*viewWriter, error) {
	out, err := views.Create(ViewPath(job.Dir, task), ViewForm(job.Config))
	return &viewWriter{out: out, name: rundir.StatePart(ViewsFolder, task), keep: keepValue(job.Config.Clusters.Keep), frames: newFrameCounter(job, task)}, err
}

func (w *viewWriter) write(row *data.FingerprintRow) error {
	mapper.View(row, &w.row.View)
	w.row.ID, w.row.Keep = xxh3.Hash(row.DocID), w.keep(row)
	w.frames.add(&w.row.View)
	return w.out.Write(&w.row)
}

// keepValue is what the keep rule compares, NaN where a row has none.
func keepValue(rule string) func(*data.FingerprintRow) float64 {
	switch rule {
	case config.KeepLongest:
		return func(r *data.FingerprintRow) float64 { return float64(r.Length) }
	case config.KeepEarliest:
		return func(r *data.FingerprintRow) float64 {
			if r.Date == data.NoDate {
				return math.NaN()
			}
			return float64(r.Date)
		}
	case config.KeepRank:
		return func(r *data.FingerprintRow) float64 { return r.Rank }
	}
	return func(*data.FingerprintRow) float64 { return math.NaN() }
}

// EachID calls yield with the ids of rows of split task, as they stand in the
// fingerprints table, or in the fingerprint file that was read. next says which
// rows: each greater than the one before, negative after the last; nil stands
// for all that there are.
func (j *Job) EachID(ctx context.Context, task int, next func() int64, yield func(row int64, id []byte) error) (err error) {
	in, err := j.openRows(task, []string{"doc_id"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	var row data.FingerprintRow
	n, all := 0, next == nil
	if all {
		next = func() int64 { return int64(n) }
	}
	for want := next(); want >= 0; want = next() {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := in.SeekRow(want); err != nil {
			return err
		}
		if err := in.Read(&row); errors.Is(err, io.EOF) && all {
			return nil
		} else if errors.Is(err, io.EOF) {
			return ErrChanged(j.Splits[task])
		} else if err != nil {
			return err
		}
		if err := yield(want, row.DocID); err != nil {
			return err
		}
	}
	return nil
}
