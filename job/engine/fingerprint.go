package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/rundir"
)

// StageFingerprint names the fingerprint stage in records and logs.
const StageFingerprint = "fingerprint"

// Documents travel through a fingerprint task in batches of about this many
// documents and bytes, whichever comes first.
const (
	batchDocuments = 256
	batchBytes     = 1 << 20
)

// batch is a stretch of a split's documents with their rows. Its buffers are
// used again and again, so a task allocates nothing for each document.
type batch struct {
	docs  []data.Document
	rows  []data.FingerprintRow
	n     int
	ready chan struct{} // receives once the rows are filled
}

// FingerprintTask reads split task of the job and fingerprints its documents,
// each on workers goroutines, and writes its part of the fingerprints table,
// that of the texts where they are extracted, the records that it skipped, and
// last its record. Rows stand in the order of the input, whatever the number of
// workers. Nothing but a complete part appears under a final name.
func FingerprintTask(ctx context.Context, job *Job, task, workers int) (rec rundir.TaskRecord, err error) {
	began := time.Now()
	split := job.Splits[task]
	rec = rundir.TaskRecord{Stage: StageFingerprint, Task: task, Source: split.Path, Skipped: map[string]int64{}, Counts: map[string]int64{}, Languages: map[string]int64{}}

	options := job.Config.Input.ReaderOptions()
	options.Workers = workers
	in, err := source.Open(split, options)
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()

	part, err := job.Dir.Part(rundir.Fingerprints, task, ".parquet")
	if err != nil {
		return rec, err
	}
	out, err := parquet.CreateFingerprints(part, job.TableOptions())
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, out.Abort()) }()

	var texts *parquet.TableWriter[data.TextRow] // nil where the input can be read again as cheaply
	if source.Extracts(split.Format) {
		part, err := job.Dir.Part(rundir.Texts, task, ".parquet")
		if err != nil {
			return rec, err
		}
		if texts, err = parquet.CreateTexts(part, job.TableOptions()); err != nil {
			return rec, err
		}
		defer func() { err = errors.Join(err, texts.Abort()) }()
	}

	quarantine, err := data.CreateQuarantine(job.Dir.Path(rundir.Quarantine, rundir.PartName(task, ".jsonl")), 0)
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, quarantine.Abort()) }()

	group, ctx := errgroup.WithContext(ctx)
	spawn := func(f func() error) { group.Go(func() error { return Guard(f) }) }
	free := make(chan *batch, 2*workers+2)
	for range cap(free) {
		free <- &batch{docs: make([]data.Document, batchDocuments), rows: make([]data.FingerprintRow, batchDocuments), ready: make(chan struct{}, 1)}
	}
	work := make(chan *batch, cap(free))    // to the workers
	ordered := make(chan *batch, cap(free)) // to the writer of fingerprints, in the input's order
	written := make(chan *batch, cap(free)) // from there to the writer of texts

	spawn(func() error {
		defer close(work)
		defer close(ordered)
		r := &splitReader{job: job, in: in, quarantine: quarantine, rec: &rec}
		for {
			var b *batch
			select {
			case b = <-free:
			case <-ctx.Done():
				return ctx.Err()
			}
			more, err := r.fill(b)
			if err != nil {
				return err
			}
			if b.n > 0 {
				work <- b
				ordered <- b
			}
			if !more {
				return nil
			}
		}
	})
	for range workers {
		spawn(func() error {
			f := job.Fingerprinter()
			defer job.Release(f)
			for b := range work {
				for i := range b.n {
					f.Fingerprint(&b.docs[i], split.Path, &b.rows[i])
				}
				b.ready <- struct{}{}
			}
			return nil
		})
	}
	spawn(func() error {
		defer close(written)
		for b := range ordered {
			select {
			case <-b.ready:
			case <-ctx.Done():
				return ctx.Err()
			}
			for i := range b.n {
				row := &b.rows[i]
				if err := out.Write(row); err != nil {
					return err
				}
				rec.Counts[row.Lane]++
				rec.Languages[row.Language]++
				rec.RowsOut++
			}
			written <- b
		}
		return nil
	})
	spawn(func() error {
		for b := range written {
			for i := 0; texts != nil && i < b.n; i++ {
				doc := &b.docs[i]
				if err := texts.Write(&data.TextRow{DocID: doc.ID, Title: doc.Title, Text: doc.Text}); err != nil {
					return err
				}
			}
			free <- b
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return rec, fmt.Errorf("%s task %d: %w", StageFingerprint, task, err)
	}

	rec.Digest, rec.Bytes, rec.Encoding = in.Digest(), in.Consumed(), in.Encoding()
	if err := out.Commit(); err != nil {
		return rec, err
	}
	if texts != nil {
		if err := texts.Commit(); err != nil {
			return rec, err
		}
	}
	if err := quarantine.Commit(); err != nil {
		return rec, err
	}
	rec.Outputs = []string{filepath.Join(rundir.Fingerprints, rundir.PartName(task, ".parquet"))}
	if texts != nil {
		rec.Outputs = append(rec.Outputs, filepath.Join(rundir.Texts, rundir.PartName(task, ".parquet")))
	}
	if quarantine.Rows() > 0 {
		rec.Outputs = append(rec.Outputs, filepath.Join(rundir.Quarantine, rundir.PartName(task, ".jsonl")))
	}
	rec.Seconds = time.Since(began).Seconds()
	return rec, job.Dir.PutRecord(rec)
}

// splitReader fills batches and keeps account of what it skips.
type splitReader struct {
	job        *Job
	in         data.SourceReader
	quarantine *data.Quarantine
	rec        *rundir.TaskRecord
	consumed   int64
}

// fill reads the next documents into b; more is false at the end.
func (r *splitReader) fill(b *batch) (more bool, err error) {
	b.n = 0
	defer func() {
		now := r.in.Consumed()
		r.job.advance(now - r.consumed)
		r.consumed = now
	}()
	for bytes := 0; b.n < len(b.docs) && bytes < batchBytes; {
		doc := &b.docs[b.n]
		err := r.in.Read(doc)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if bad, ok := data.IsBadRecord(err); ok {
			if err := r.skip(bad); err != nil {
				return false, err
			}
			continue
		}
		if err != nil {
			return false, err
		}
		r.rec.RowsIn++
		if doc.Cut {
			r.rec.Cut++
		}
		b.n++
		bytes += len(doc.Text)
	}
	return true, nil
}

// skip counts a record that is no document. What the format is full of by
// design is counted only; the rest is kept in quarantine.
func (r *splitReader) skip(bad *data.BadRecord) error {
	r.rec.RowsIn++
	r.rec.Skipped[bad.Reason]++
	if bad.Reason == data.ReasonNotPage {
		return nil
	}
	if !config.Unusable(bad.Reason) {
		bad.Raw = nil
	}
	return r.quarantine.Add(bad)
}
