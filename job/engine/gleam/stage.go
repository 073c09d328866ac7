package gleam

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/job/rundir"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/reducer"
	"github.com/neardup/neardup/simhash"
)

// deal passes the driver's frames on: gleam scatters rows only behind a
// worker that stands on an agent.
func (w *worker) deal() error {
	for {
		b, err := w.in.next()
		if errors.Is(err, io.EOF) {
			return w.out.flush()
		}
		if err != nil {
			return err
		}
		f, _, err := decodeFrame(b, w.id)
		if err != nil {
			return err
		}
		if err := w.out.write(f.to, b); err != nil {
			return err
		}
		w.counters.in.Add(1)
		w.counters.out.Add(1)
	}
}

// assigned receives the task numbers that the driver sent to this worker.
func (w *worker) assigned() (tasks []int, err error) {
	_, err = w.receive(stageDriver, 1, func(f frame) error {
		if len(f.payload) != 4*int(f.records) {
			return fmt.Errorf("%w: %d bytes for %d tasks", errFrame, len(f.payload), f.records)
		}
		for b := f.payload; len(b) > 0; b = b[4:] {
			tasks = append(tasks, int(binary.LittleEndian.Uint32(b)))
		}
		return nil
	})
	return tasks, err
}

// fingerprint executes the splits that it was assigned, one after the other,
// and sends each one's record.
func (w *worker) fingerprint(ctx context.Context) (err error) {
	tasks, err := w.assigned()
	if err != nil {
		return err
	}
	w.open(1)
	if len(tasks) > 0 {
		if err := w.fingerprintTasks(ctx, tasks); err != nil {
			return err
		}
	}
	return w.end(0)
}

func (w *worker) fingerprintTasks(ctx context.Context, tasks []int) (err error) {
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
	job := &engine.Job{Templates: templates, Config: w.spec.Config, Hash: w.spec.JobHash, Dir: dir, Splits: w.spec.Fingerprint.Splits, Analyzer: analyzer, Log: w.log,
		Advance: func(n int64) { w.counters.bytes.Add(n) }}
	threads := max(1, runtime.GOMAXPROCS(0)/max(1, w.spec.Fingerprint.Threads))
	for _, task := range tasks {
		if task >= len(job.Splits) {
			return fmt.Errorf("%w: task %d of %d", errFrame, task, len(job.Splits))
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
		if err := w.put(0, append(w.record(0), text...)); err != nil {
			return err
		}
		if err := w.send(0); err != nil { // one record a frame, at once
			return err
		}
		if err := w.out.flush(); err != nil {
			return err
		}
	}
	w.split = ""
	return nil
}

// segment emits the keys of its range of the documents.
func (w *worker) segment() (err error) {
	if _, err := w.assigned(); err != nil {
		return err
	}
	p, err := newPacking(w.spec.Config)
	if err != nil {
		return err
	}
	documents, err := w.spec.openDocuments()
	if err != nil {
		return fmt.Errorf("this host does not see the run's documents: %w", err)
	}
	defer func() { err = errors.Join(err, documents.Close()) }()
	n := w.spec.Match.Documents
	if documents.Len() != n {
		return fmt.Errorf("%d documents here, %d where the run was started", documents.Len(), n)
	}
	first, last := n*w.task/w.spec.Sources, n*(w.task+1)/w.spec.Sources
	w.open(w.spec.Partials)
	var failed error
	segments, tables := min(w.spec.Match.Last, p.layout.Tables()), w.spec.Match.Last
	err = documents.FingerprintsBetween(first, last, func(doc uint32, hi, lo uint64) {
		print := simhash.Fingerprint{Hi: hi, Lo: lo}
		for table := w.spec.Match.First; table < segments && failed == nil; table++ {
			to := w.partialOf(mapper.SegmentTable(p.layout, table, print, doc))
			b := binary.LittleEndian.AppendUint32(p.appendHead(w.record(to), table, print), doc)
			failed = w.put(to, b)
		}
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	if tables > segments {
		further := mapper.NewFurther(p.layout.Tables(), w.spec.Config.Match.Bands, w.spec.Config.Match.ShortTexts)
		put := func(r data.Keyed) error {
			to := w.partialOf(r)
			return w.put(to, p.appendKeyed(w.record(to), r))
		}
		err = documents.Views(first, last, func(doc uint32, v *data.View) {
			if failed == nil {
				failed = further.Tables(max(segments, w.spec.Match.First)-p.layout.Tables(), tables-p.layout.Tables(), v, doc, put)
			}
		})
		if err := errors.Join(err, failed); err != nil {
			return err
		}
	}
	w.counters.in.Add(int64(last - first))
	return w.end(uint64(last - first))
}

// partialOf is the task of the partial reduce that takes the record's
// (salt, key).
func (w *worker) partialOf(r data.Keyed) int {
	e := w.spec.Execution
	return (mapper.Shard(r, e.Shards)*e.Salts + mapper.Salt(r, e.Salts)) % w.spec.Partials
}

// share is about how many of the flow's references come to one of n tasks: to
// have room for them at once spares copying them again and again.
func (w *worker) share(n int) int {
	even := int(w.spec.Match.References) / max(n, 1)
	return even + even/32
}

// partial reduces by (salt, key) and sends each key's entries to its final
// reduce.
func (w *worker) partial() error {
	p, err := newPacking(w.spec.Config)
	if err != nil {
		return err
	}
	records := make([]data.Keyed, 0, w.share(w.spec.Partials))
	_, err = w.receive(stageSegment, w.spec.Sources, func(f frame) (err error) {
		records, err = p.keyed(records, f)
		return err
	})
	if err != nil {
		return err
	}
	w.open(w.spec.Finals)
	err = reducer.EachPartial(records, func(e *data.Entry) error {
		to := mapper.Shard(data.Keyed{Key: e.Key}, w.spec.Execution.Shards) % w.spec.Finals
		for docs := e.Docs; len(docs) > 0; {
			n := min(len(docs), entryDocs)
			if err := w.put(to, p.appendEntry(w.record(to), e, docs[:n])); err != nil {
				return err
			}
			docs = docs[n:]
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.end(uint64(len(records)))
}

// final reduces by key, compares inside each group and sends the pairs to the
// driver.
func (w *worker) final() (err error) {
	p, err := newPacking(w.spec.Config)
	if err != nil {
		return err
	}
	came := make([]entries, w.spec.Partials)
	parts := make([]reducer.Part, len(came))
	for i := range came {
		came[i].p = p
		parts[i] = came[i].next
	}
	if _, err = w.receive(stagePartial, w.spec.Partials, func(f frame) error { return came[f.from].add(f) }); err != nil {
		return err
	}
	w.open(1)
	compare := mapper.NewComparer(p.layout, w.spec.Config.Match.Distance).Group
	confirm := compare
	if p.tables > p.layout.Tables() {
		documents, openErr := w.spec.openDocuments()
		if openErr != nil {
			return fmt.Errorf("this host does not see the run's documents: %w", openErr)
		}
		defer func() { err = errors.Join(err, documents.Close()) }()
		confirmer, newErr := engine.NewConfirmer(w.spec.Config, documents)
		if newErr != nil {
			return newErr
		}
		confirm = confirmer.Group
	}
	references := uint64(0)
	var failed error
	send := func(pair data.Pair) {
		if failed == nil {
			failed = w.put(0, appendPair(w.record(0), pair))
		}
	}
	err = reducer.Final(parts, func(group []data.Entry) error {
		for i := range group {
			references += uint64(len(group[i].Docs))
		}
		find := compare
		if simhash.Key(group[0].Key).Table() >= p.layout.Tables() {
			find = confirm
		}
		return errors.Join(find(group, send), failed)
	})
	if err != nil {
		return err
	}
	return w.end(references)
}
