package job

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/neardup/neardup/job/internal/earlier"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/decision"
	"github.com/neardup/neardup/job/internal/state/pairs"
	"github.com/neardup/neardup/job/internal/state/spill"
)

// Requests and answers of names, as records of package spill. A slot is the
// place of an id among those that the tables of the split that asks have.
const (
	requestBytes = state.NumberBytes + 4 + state.NumberBytes // document, the split that asks, slot
	answerBytes  = 2 * state.NumberBytes                     // slot, document; the id is the tail
)

// resolveIDs gives each split the ids that its tables have: the requests are dealt
// to the splits of those documents, and the answers back.
func (r *run) resolveIDs(ctx context.Context, rec *rundir.TaskRecord) (err error) {
	documents, err := r.documents()
	if err != nil {
		return err
	}
	asked := spill.New(documents.Parts(), spill.Options{Dir: r.dir.Path(rundir.Scratch, "asked"), Head: requestBytes})
	defer func() { err = errors.Join(err, asked.Close()) }()
	err = r.eachSplit(ctx, func(task int) error {
		deal := asked.Dealer()
		return errors.Join(r.ask(documents, task, deal), deal.Flush())
	})
	if err != nil {
		return err
	}
	answers := spill.New(documents.Parts(), spill.Options{Dir: r.dir.Path(rundir.Scratch, "answers"), Head: answerBytes, Tail: true})
	defer func() { err = errors.Join(err, answers.Close()) }()
	err = r.eachSplit(ctx, func(task int) error {
		deal := answers.Dealer()
		return errors.Join(r.answer(ctx, documents, task, asked, deal), deal.Flush())
	})
	if err != nil {
		return err
	}
	err = r.eachSplit(ctx, func(task int) error {
		return errors.Join(writeNames(r.dir.Path(rundir.StatePart(engine.NamesFolder, task)), answers, task), answers.Drop(task))
	})
	rec.Outputs = r.stateParts(engine.NamesFolder)
	return err
}

// named reads the ids that the summary tells of the largest clusters.
func (r *run) named(ctx context.Context, _ []rundir.TaskRecord) error {
	documents, err := r.documents()
	if err != nil {
		return err
	}
	ids := map[uint64]string{}
	for _, c := range r.counts.Largest {
		if c.ID == "" {
			ids[c.Representative] = ""
		}
	}
	err = r.idsOf(ctx, documents, ids)
	for _, c := range r.counts.Largest {
		size := clusterSize{ID: c.ID, Example: c.Example, Size: c.Size}
		if c.ID == "" {
			size.ID, size.Example = ids[c.Representative], ids[c.Representative]
			if r.library != nil {
				size.ID = earlier.FoundedCluster(r.config.Library.Night, []byte(size.ID))
			}
		}
		r.sum.Largest = append(r.sum.Largest, size)
	}
	return err
}

// writeNames writes the names that a split was answered, in the order of slots.
func writeNames(path string, answers *spill.Buckets, task int) error {
	text, slots := make([]byte, 0, answers.Bytes(task)), uint64(0)
	err := answers.Sorted(task, func(head, id []byte) error {
		if slot := state.Number(head); slot != slots {
			return fmt.Errorf("slot %d of %d: %w", slot, answers.Len(task), rundir.ErrNotConserved)
		}
		slots++
		text = decision.AppendName(text, state.Number(head[state.NumberBytes:]), id)
		return nil
	})
	if err != nil {
		return err
	}
	return decision.WriteNames(path, text)
}

// asker deals the requests of a split.
type asker struct {
	documents *engine.Documents
	deal      *spill.Dealer
	task      int
	slot      uint64
	record    []byte
}

func (a *asker) want(doc uint64) error {
	a.record = binary.BigEndian.AppendUint32(state.AppendNumber(a.record[:0], doc), uint32(a.task))
	a.record = state.AppendNumber(a.record, a.slot)
	a.slot++
	return a.deal.Put(a.documents.Part(doc), a.record, nil)
}

// ask deals the documents whose ids the tables of a split have, in the order in
// which they have them.
func (r *run) ask(documents *engine.Documents, task int, deal *spill.Dealer) error {
	split, err := decision.Read(r.dir.Path(rundir.StatePart(engine.DecisionFolder, task)))
	if err != nil {
		return err
	}
	a := asker{documents: documents, deal: deal, task: task}
	var d decision.Decision
	for i := range split.Len() {
		split.At(i, &d)
		if err := d.Names(a.want); err != nil {
			return err
		}
	}
	if !r.config.Match.AllPairs {
		return nil
	}
	body, err := state.Read(r.dir.Path(rundir.StatePart(engine.PairsFolder, task)), engine.KindPairs)
	for last := decision.None; err == nil && len(body) > 0; body = body[pairs.RecordBytes:] {
		p := pairs.Unpack(body)
		if p.A != last {
			err = a.want(p.A)
		}
		err = errors.Join(err, a.want(p.B))
		last = p.A
	}
	return err
}

// answer reads the ids of a split once and deals those that were asked for to
// the splits that asked.
func (r *run) answer(ctx context.Context, documents *engine.Documents, task int, asked *spill.Buckets, deal *spill.Dealer) error {
	requests, err := asked.SortedHeads(task)
	if err != nil || len(requests) == 0 {
		return errors.Join(err, asked.Drop(task))
	}
	first := documents.First(task)
	next := func() int64 {
		if len(requests) == 0 {
			return -1
		}
		return int64(state.Number(requests) - first)
	}
	var answer []byte
	err = r.job.EachID(ctx, task, next, func(row int64, id []byte) error {
		for row == next() {
			asker, slot := binary.BigEndian.Uint32(requests[state.NumberBytes:]), requests[state.NumberBytes+4:requestBytes]
			answer = append(append(answer[:0], slot...), requests[:state.NumberBytes]...)
			if err := deal.Put(int(asker), answer, id); err != nil {
				return err
			}
			requests = requests[requestBytes:]
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
