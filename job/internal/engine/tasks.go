package engine

import (
	"context"
	"errors"
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

// The stages that have a task for each split. Package job's list says in which runs they are, and in which
// order.
var (
	Learn       = Stage{Name: "learn", Task: samplePages, Reads: input, Counts: inBytes}
	Fingerprint = Stage{Name: "fingerprint", Task: fingerprint, Reads: input, Counts: inBytes, Analyzes: true}
	Read        = Stage{Name: "read", Task: readFingerprints, Reads: input, Counts: inRows}
	Texts       = Stage{Name: "texts", Task: readTexts, Reads: inputAgain, Counts: inBytes, Analyzes: true}
	Against     = Stage{Name: "against", Task: searchReference, Reads: input, Counts: inBytes}
	Write       = Stage{Name: "write", Task: writeTables, Reads: inputForClean, Counts: forClean, Analyzes: true}
)

// Stage is one stage of a run as an engine knows it. Those with a Task have one
// for each split, which Engine.Each executes; of the others all but the name is
// zero.
type Stage struct {
	Name string // in records, progress and logs

	// Task executes the task of one split, rec.Task, on workers goroutines, and
	// fills in its record. Nothing but complete files appear under final names.
	Task func(ctx context.Context, job *Job, rec *rundir.TaskRecord, workers int) error

	// Reads reports whether a task opens its split of the input. Of an input that
	// is not read the files may be gone, or out of an agent's sight.
	Reads func(job *Job, task int) bool

	Counts   func(job *Job) Unit // what its progress is counted in
	Analyzes bool                // its tasks use Job.Analyzer, which is nil for other stages, and Job.Templates
}

// What the tasks of a stage read: each its split; its documents once more, of
// which those that were extracted stand in the run's own texts; or the latter if
// there is a clean dump to write.
func input(*Job, int) bool { return true }

func inputAgain(job *Job, task int) bool {
	return job.Manifest.Command != CommandRun || !KeepsTexts(job.Manifest, job.Splits[task])
}

func inputForClean(job *Job, task int) bool { return job.Cleans() && inputAgain(job, task) }

// Unit is what the progress of a stage is counted in.
type Unit string

// The units of stages.
const (
	Bytes  Unit = "bytes"  // of the input, of which tasks tell Job.Advance
	Rows   Unit = "rows"   // of fingerprint files, the same
	Splits Unit = "splits" // finished tasks, which tell Job.Advance nothing
)

func inBytes(*Job) Unit { return Bytes }

func inRows(*Job) Unit { return Rows }

// forClean is of a stage that reads the documents if there is a clean dump to
// write.
func forClean(job *Job) Unit {
	if job.Cleans() {
		return Bytes
	}
	return Splits
}

// Total is how much there is to do in the given splits, or 0 if that is not
// known.
func (u Unit) Total(splits []data.Split) (int64, error) {
	switch u {
	case Bytes:
		return BytesOf(splits), nil
	case Rows:
		return rowsOf(splits)
	}
	return int64(len(splits)), nil
}

// Execute executes the task of one split, writes its record, and returns it.
func (s Stage) Execute(ctx context.Context, job *Job, task, workers int) (rundir.TaskRecord, error) {
	return job.Record(s.Name, task, func(rec *rundir.TaskRecord) error {
		rec.Source = job.Splits[task].Path
		return s.Task(ctx, job, rec, workers)
	})
}

// Record has work do a task and fill in its record, and writes that.
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
