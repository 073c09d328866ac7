package job

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/decision"
	"github.com/neardup/neardup/data/spill"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
)

// largestFile has the largest clusters, as the summary tells of them.
const largestFile = "largest.json"

// names gives each split the ids of other documents that its tables name: the
// requests are dealt to the splits of those documents, and the answers back.
// The summary, too, asks for some: as if it were one split more.
func (r *run) names(ctx context.Context) (rec rundir.TaskRecord, err error) {
	began := time.Now()
	rec = rundir.TaskRecord{Stage: stageNames}
	documents, err := r.documents()
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, documents.Close()) }()
	limit, err := r.config.Execution.MemoryLimit()
	if err != nil {
		return rec, err
	}
	const head = data.NumberBytes + 4
	asked := spill.New(documents.Parts(), spill.Options{Dir: r.dir.Path(rundir.Scratch, "asked"), Memory: limit / 8, Head: head})
	defer func() { err = errors.Join(err, asked.Close()) }()
	err = r.eachSplit(ctx, func(task int) error {
		deal := asked.Dealer()
		return errors.Join(r.ask(documents, task, deal), deal.Flush())
	})
	if err := errors.Join(err, r.askLargest(documents, asked.Dealer())); err != nil {
		return rec, err
	}
	answers := spill.New(documents.Parts()+1, spill.Options{Dir: r.dir.Path(rundir.Scratch, "answers"), Memory: limit / 4, Head: data.NumberBytes, Tail: true})
	defer func() { err = errors.Join(err, answers.Close()) }()
	err = r.eachSplit(ctx, func(task int) error {
		deal := answers.Dealer()
		return errors.Join(r.answer(ctx, documents, task, asked, deal), deal.Flush())
	})
	if err != nil {
		return rec, err
	}
	if err := os.MkdirAll(r.dir.Path(rundir.State, engine.NamesFolder), 0o755); err != nil {
		return rec, err
	}
	err = r.eachSplit(ctx, func(task int) error {
		names := decision.CreateNames(r.dir.Path(rundir.State, engine.NamesFolder, rundir.PartName(task, "")), answers.Bytes(task))
		err := answers.Sorted(task, func(number, id []byte) error {
			names.Add(data.Number(number), id)
			return nil
		})
		return errors.Join(err, answers.Drop(task), names.Commit())
	})
	if err := errors.Join(err, r.nameLargest(answers, documents.Parts())); err != nil {
		return rec, err
	}
	rec.Outputs = []string{filepath.Join(rundir.State, largestFile)}
	for task := range documents.Parts() {
		rec.Outputs = append(rec.Outputs, filepath.Join(rundir.State, engine.NamesFolder, rundir.PartName(task, "")))
	}
	rec.Seconds = time.Since(began).Seconds()
	return rec, r.dir.PutRecord(rec)
}

// appendRequest appends the request for the id of a document.
func appendRequest(dst []byte, doc uint64, asker int) []byte {
	return binary.BigEndian.AppendUint32(data.AppendNumber(dst, doc), uint32(asker))
}

// askLargest deals the documents that the summary names.
func (r *run) askLargest(documents *engine.Documents, deal *spill.Dealer) (err error) {
	for _, c := range r.counts.Largest {
		for _, doc := range []uint64{c.Cluster, c.Example} {
			err = errors.Join(err, deal.Put(documents.Part(doc), appendRequest(nil, doc, documents.Parts()), nil))
		}
	}
	return errors.Join(err, deal.Flush())
}

// nameLargest writes what the summary tells of the largest clusters.
func (r *run) nameLargest(answers *spill.Buckets, asker int) error {
	id := map[uint64]string{}
	err := answers.Each(asker, func(number, name []byte) error {
		id[data.Number(number)] = string(name)
		return nil
	})
	if err != nil {
		return err
	}
	var largest []ClusterSize
	for _, c := range r.counts.Largest {
		largest = append(largest, ClusterSize{ID: cmp.Or(c.ID, id[c.Cluster]), Example: id[c.Example], Size: c.Size})
	}
	return rundir.WriteJSON(r.dir.Path(rundir.State, largestFile), largest)
}

// named reads the largest clusters.
func (r *run) named(context.Context, []rundir.TaskRecord) error {
	return rundir.ReadJSON(r.dir.Path(rundir.State, largestFile), &r.sum.Largest)
}

// ask deals the documents that the tables of a split name.
func (r *run) ask(documents *engine.Documents, task int, deal *spill.Dealer) error {
	var record []byte
	want := func(doc uint64) error {
		record = appendRequest(record[:0], doc, task)
		return deal.Put(documents.Part(doc), record, nil)
	}
	split, err := decision.Read(r.dir.Path(decisionFile(task)))
	if err != nil {
		return err
	}
	var d decision.Decision
	for i := range split.Len() {
		split.At(i, &d)
		if d.Match != decision.None {
			if err := want(d.Match); err != nil {
				return err
			}
		}
		if d.Cluster != decision.None && d.Cluster != d.Doc && d.Cluster != d.Match {
			if err := want(d.Cluster); err != nil {
				return err
			}
		}
	}
	if !r.config.Match.AllPairs {
		return nil
	}
	body, err := data.ReadChecked(r.dir.Path(rundir.State, engine.PairsFolder, rundir.PartName(task, "")), engine.KindPairs)
	for ; err == nil && len(body) > 0; body = body[engine.PairBytes:] {
		_, b, _, _, _ := engine.UnpackPair(body)
		err = want(b)
	}
	return err
}

// answer reads the ids of a split once and deals those that were asked for to
// the splits that asked.
func (r *run) answer(ctx context.Context, documents *engine.Documents, task int, asked *spill.Buckets, deal *spill.Dealer) error {
	requests := make([]byte, 0, asked.Bytes(task))
	var last []byte
	err := asked.Sorted(task, func(b, _ []byte) error {
		if !bytes.Equal(b, last) {
			requests = append(requests, b...)
			last = b
		}
		return nil
	})
	if err != nil || len(requests) == 0 {
		return errors.Join(err, asked.Drop(task))
	}
	first := documents.First(task)
	next := func() int64 {
		if len(requests) == 0 {
			return -1
		}
		return int64(data.Number(requests) - first)
	}
	err = r.job.EachID(ctx, task, next, func(row int64, id []byte) error {
		for row == next() {
			asker := binary.BigEndian.Uint32(requests[data.NumberBytes:])
			if err := deal.Put(int(asker), requests[:data.NumberBytes], id); err != nil {
				return err
			}
			requests = requests[data.NumberBytes+4:]
		}
		return nil
	})
	return errors.Join(err, asked.Drop(task))
}

// idsOf fills in the ids of some documents, by number.
func (r *run) idsOf(ctx context.Context, documents *engine.Documents, ids map[uint64]string) error {
	docs := slices.Sorted(maps.Keys(ids))
	for len(docs) > 0 {
		task := documents.Part(docs[0])
		first, end := documents.First(task), documents.First(task+1)
		next := func() int64 {
			if len(docs) == 0 || docs[0] >= end {
				return -1
			}
			doc := docs[0]
			docs = docs[1:]
			return int64(doc - first)
		}
		err := r.job.EachID(ctx, task, next, func(row int64, id []byte) error {
			ids[first+uint64(row)] = string(id)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
