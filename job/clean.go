package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/clean"
	"github.com/neardup/neardup/job/rundir"
)

// cleanTask reads split task again and writes the documents that stay, on so
// many workers. first is the row of the split's first document; was is the
// split's record of the fingerprint stage, which what is read must still agree
// with.
func (r *run) cleanTask(ctx context.Context, task int, first int64, was rundir.TaskRecord, workers int) (rec rundir.TaskRecord, err error) {
	began := time.Now()
	split, want := r.job.Splits[task], was.RowsOut
	rec = rundir.TaskRecord{Stage: stageClean, Task: task, Source: split.Path, Skipped: map[string]int64{}}

	dropped, err := openBitmap(r.dir.Path(rundir.State, droppedFile), uint64(first))
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, dropped.close()) }()

	options := r.config.Input.ReaderOptions()
	options.KeepRaw, options.Workers = true, r.workers
	in, err := openAgain(r.dir.Path(), r.manifest, task, options)
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	path, err := r.dir.Part(rundir.Clean, task, clean.Extension(split))
	if err != nil {
		return rec, err
	}
	out, err := clean.Create(path, split, options, workers)
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, out.Abort()) }()

	var doc data.Document
	consumed := int64(0)
	advance := func() {
		now := in.Consumed()
		r.job.Advance(now - consumed)
		consumed = now
	}
	defer advance()
	for {
		if rec.RowsIn&0xff == 0 {
			if err := ctx.Err(); err != nil {
				return rec, err
			}
			advance()
		}
		err := nextDocument(in, &doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return rec, err
		}
		if rec.RowsIn == want {
			rec.RowsIn++
			break
		}
		rec.RowsIn++
		gone, err := dropped.next()
		if err != nil {
			return rec, err
		}
		if gone {
			rec.Skipped["dropped"]++
			continue
		}
		rec.RowsOut++
		if err := out.Keep(&doc); err != nil {
			return rec, err
		}
	}
	if rec.RowsIn != want {
		return rec, fmt.Errorf("%s: %s: %w: %d documents when they were fingerprinted, %d or more now: the input has changed; run again into a new folder",
			stageClean, split.Path, rundir.ErrNotConserved, want, rec.RowsIn)
	}
	if !keepsTexts(r.manifest, split) && in.Digest() != was.Digest {
		return rec, fmt.Errorf("%s: %w", stageClean, errChanged(split))
	}
	if err := out.Commit(); err != nil {
		return rec, err
	}
	rec.Bytes = in.Consumed()
	rec.Outputs = []string{filepath.Join(rundir.Clean, filepath.Base(path))}
	rec.Seconds = time.Since(began).Seconds()
	return rec, r.dir.PutRecord(rec)
}
