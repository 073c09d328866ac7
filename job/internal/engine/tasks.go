package engine

import (
	"context"
	"errors"
	"io"
	"math"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
)

// The stages that have a task for each split. The list of stages in package job
// says which runs have them, and in which order.
var (
	Fingerprint = Stage{Name: "fingerprint", Task: fingerprint, Reads: (*Job).ReadsFirst, Counts: Bytes.Always, Analyzes: true}
	Read        = Stage{Name: "read", Task: readFingerprints, Reads: (*Job).ReadsFirst, Counts: Rows.Always}
)

// Stage is one stage of a run as an engine knows it. A stage with a Task has one
// task for each split, which Engine.Each executes. For any other stage only Name
// is set.
type Stage struct {
	Name string // in records, progress and logs

	// Task executes the task of split rec.Task on workers goroutines, and fills
	// in rec. Its files appear under their final names only when complete.
	Task func(ctx context.Context, job *Job, rec *rundir.TaskRecord, workers int) error

	// Reads reports whether a task opens its split of the input. If not, the
	// input file may be gone, or be unreachable from the host.
	Reads func(job *Job, task int) bool

	Counts   func(job *Job) Unit // the unit of its progress
	Analyzes bool                // whether its tasks use Job.Analyzer and Job.Templates; Job.Analyzer is nil for other stages
}

// ReadsFirst is the Reads of a stage that reads its documents for the first time: every
// task opens its split.
func (*Job) ReadsFirst(int) bool { return true }

// ReadsAgain is the Reads of a stage that reads the documents a second time. A
// task does not open its split if the run has kept the extracted texts.
func (j *Job) ReadsAgain(task int) bool {
	return j.Manifest.Command != rundir.CommandRun || !input.KeepsTexts(j.Manifest, j.Splits[task])
}

// Unit is the unit in which the progress of a stage is counted.
type Unit string

// The units of stages.
const (
	Bytes  Unit = "bytes"  // of the input; tasks report them to Job.Advance
	Rows   Unit = "rows"   // of fingerprint files; tasks report them to Job.Advance
	Splits Unit = "splits" // finished tasks; these do not call Job.Advance
)

// Always is the Counts of a stage that always counts in u.
func (u Unit) Always(*Job) Unit { return u }

// Total returns the number of units in the given splits, or 0 if that is not
// known before they are read.
func (u Unit) Total(splits []data.Split) (int64, error) {
	switch u {
	case Bytes:
		return input.Bytes(splits), nil
	case Rows:
		return input.Rows(splits)
	}
	return int64(len(splits)), nil
}

// Execute executes the stage's task of one split on workers goroutines. It
// writes the task's record and returns it.
func (s Stage) Execute(ctx context.Context, job *Job, task, workers int) (rundir.TaskRecord, error) {
	return job.Record(s.Name, task, func(rec *rundir.TaskRecord) error {
		rec.Source = job.Splits[task].Path
		return s.Task(ctx, job, rec, workers)
	})
}

// Record calls work to do a task and to fill in its record, then writes the
// record. If work fails, no record is written.
func (j *Job) Record(stage string, task int, work func(*rundir.TaskRecord) error) (rundir.TaskRecord, error) {
	began := time.Now()
	rec := rundir.NewTaskRecord(stage, task, "")
	if err := work(&rec); err != nil {
		return rec, err
	}
	rec.Seconds = time.Since(began).Seconds()
	err := j.Dir.PutRecord(&rec)
	return rec, err
}

// printOptions returns the options with which the fingerprints table is written:
// those of any table, and the settings that a later run needs to match it.
func (j *Job) printOptions() (o parquet.Options, err error) {
	o = j.TableOptions()
	o.Settings, err = method.Recorded(j.Config)
	return o, err
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
	out, err := views.Create(ViewPath(job.Dir, task), method.ViewForm(job.Config))
	return &viewWriter{out: out, name: rundir.StatePart(ViewsFolder, task), keep: keepValue(job.Config.Clusters.Keep), frames: newFrameCounter(job, task)}, err
}

func (w *viewWriter) write(row *data.FingerprintRow) error {
	mapper.View(row, &w.row.View)
	w.row.ID, w.row.Keep = xxh3.Hash(row.DocID), w.keep(row)
	w.frames.add(&w.row.View)
	return w.out.Write(&w.row)
}

// keepValue returns the function that gives, for a row, the value that the keep
// rule compares: its length, date or rank; NaN if it has none.
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

// EachID calls yield with the ids of rows of split task, read from the
// fingerprints table or, in a run that matches, from the fingerprint file. next
// returns the rows to read, in ascending order, and a negative number after the
// last; a nil next means all rows. yield must not retain id. A row beyond the
// end of the file is ErrChanged.
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
			return input.ErrChanged(j.Splits[task])
		} else if err != nil {
			return err
		}
		if err := yield(want, row.DocID); err != nil {
			return err
		}
	}
	return nil
}
