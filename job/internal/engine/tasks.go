package engine

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/rundir"
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

	Counts func(job *Job) Unit // the unit of its progress

	// Sampled returns how many bytes of the input all tasks read, of a stage that
	// reads a sample of it; nil for any other.
	Sampled func(job *Job) int64

	// Whether its tasks use Job.Analyzer and Job.Templates: for fingerprints, or for
	// the normal form of texts alone, which needs no dictionary. Job.Analyzer is nil
	// for other stages.
	Analyzes, Normalizes bool
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

// openRows opens columns of the rows of split task: of its part of the
// fingerprints table, or of the fingerprint file that is read.
func (j *Job) openRows(task int, columns []string) (source.FingerprintReader, error) {
	if j.Manifest.Command == rundir.CommandRun {
		return parquet.OpenFingerprints(j.Dir.Path(rundir.Fingerprints, rundir.PartName(task, ".parquet")), parquet.ReadOptions{Columns: columns})
	}
	return source.OpenFingerprints(j.Splits[task], j.Columns, columns)
}
