// Package ids is the stage ids: it gives each split the ids that its tables need. A
// table names documents of any split, and a read for each would be far too slow.
// So requests are dealt to the splits of the documents, each split reads its ids
// once, in order, and the answers are dealt back:
//
//	split that asks             split of the document
//	decisions ─ ask ── document, asker, slot ──► sorted by document
//	                                                │ answer: one pass over the ids
//	names ◄─ writeNames ─ sorted by slot ◄─ slot, document, id
//
// A slot is the place of an id among those that the asking split needs, in the order
// in which the stage write needs them.
package ids

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/decision"
	"github.com/neardup/neardup/job/internal/state/pairs"
	"github.com/neardup/neardup/job/internal/state/spill"
	"github.com/neardup/neardup/job/internal/summary"
	"github.com/neardup/neardup/simhash/template"
)

// Sizes of the heads of records in package spill.
const (
	requestBytes = state.NumberBytes + 4 + state.NumberBytes // request: document, the split that asks, slot
	answerBytes  = 2 * state.NumberBytes                     // answer: slot, document; the id is the tail
	siteBytes    = decision.SiteBytes                        // site: the cluster's Group, hash of the site of one of its documents
)

// Resolve is the task of the stage. In a run that annotates it also writes, for each
// split, the sites of the documents of each cluster.
func Resolve(ctx context.Context, r *stage.Run, rec *rundir.TaskRecord) (err error) {
	documents, err := r.Documents()
	if err != nil {
		return err
	}
	asked := spill.New(documents.Parts(), spill.Options{Dir: r.Dir.Path(rundir.Scratch, "asked"), Head: requestBytes})
	defer func() { err = errors.Join(err, asked.Close()) }()
	err = r.EachSplit(ctx, func(task int) error {
		deal := asked.Dealer()
		return errors.Join(ask(r, documents, task, deal), deal.Flush())
	})
	if err != nil {
		return err
	}
	answers := spill.New(documents.Parts(), spill.Options{Dir: r.Dir.Path(rundir.Scratch, "answers"), Head: answerBytes, Tail: true})
	defer func() { err = errors.Join(err, answers.Close()) }()
	sites := spill.New(documents.Parts(), spill.Options{Dir: r.Dir.Path(rundir.Scratch, "sites"), Head: siteBytes})
	defer func() { err = errors.Join(err, sites.Close()) }()
	err = r.EachSplit(ctx, func(task int) error {
		s, err := newSites(r, documents, task, sites)
		if err != nil {
			return err
		}
		deal := answers.Dealer()
		return errors.Join(answer(ctx, r, documents, task, asked, deal, s.of), deal.Flush(), s.deal.Flush())
	})
	if err != nil {
		return err
	}
	err = r.EachSplit(ctx, func(task int) error {
		return errors.Join(writeNames(r.Dir.Path(rundir.StatePart(decision.NamesFolder, task)), answers, task), answers.Drop(task))
	})
	rec.Outputs = r.StateParts(decision.NamesFolder)
	if err != nil || r.Config.Output.Annotate == "" {
		return err
	}
	rec.Outputs = append(rec.Outputs, r.StateParts(decision.SitesFolder)...)
	return r.EachSplit(ctx, func(task int) error {
		heads, err := sites.SortedHeads(task)
		if err != nil {
			return err
		}
		return errors.Join(decision.WriteSites(r.Dir.Path(rundir.StatePart(decision.SitesFolder, task)), heads), sites.Drop(task))
	})
}

// sites deals the sites of clustered documents to the split of the document that
// identifies the cluster (decision.Group).
type sites struct {
	documents *corpus.Documents
	split     *decision.Split // nil unless the run annotates
	at        int             // the next decision of split
	deal      *spill.Dealer
	record    []byte
}

func newSites(r *stage.Run, documents *corpus.Documents, task int, all *spill.Buckets) (s *sites, err error) {
	s = &sites{documents: documents, deal: all.Dealer()}
	if r.Config.Output.Annotate != "" {
		s.split, err = decision.Read(r.Dir.Path(rundir.StatePart(decision.Folder, task)))
	}
	return s, err
}

// of deals the site of a document with that id, if the document has a cluster. Call
// it in order of document; to repeat a document does no harm.
func (s *sites) of(doc uint64, id []byte) error {
	var d decision.Decision
	for ; s.split != nil && s.at < s.split.Len(); s.at++ {
		if s.split.At(s.at, &d); d.Doc >= doc {
			break
		}
	}
	site := template.Site(id)
	if d.Doc != doc || d.Group == decision.None || len(site) == 0 {
		return nil
	}
	s.at++
	s.record = binary.BigEndian.AppendUint64(state.AppendNumber(s.record[:0], d.Group), xxh3.Hash(site))
	return s.deal.Put(s.documents.Part(d.Group), s.record, nil)
}

// Done adds the largest clusters to the summary, with their ids.
func Done(ctx context.Context, r *stage.Run, _ []rundir.TaskRecord) error {
	ids := map[uint64]string{}
	for _, c := range r.Counts.Largest {
		if c.ID == "" {
			ids[c.Representative] = ""
		}
	}
	err := r.FillIDs(ctx, ids)
	for _, c := range r.Counts.Largest {
		size := summary.Cluster{ID: c.ID, Example: c.Example, Size: c.Size}
		if c.ID == "" {
			size.ID, size.Example = ids[c.Representative], ids[c.Representative]
			if r.Library != nil {
				size.ID = history.FoundedCluster(r.Config.Library.Night, []byte(size.ID))
			}
		}
		r.Sum.Largest = append(r.Sum.Largest, size)
	}
	return err
}

// writeNames writes the answers to split task, in the order of slots. It returns an
// error if one is missing.
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

// asker deals the requests of split task and numbers their slots.
type asker struct {
	documents *corpus.Documents
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

// ask deals requests for the ids that the tables of split task need, in the order in
// which the stage write needs them.
func ask(r *stage.Run, documents *corpus.Documents, task int, deal *spill.Dealer) error {
	split, err := decision.Read(r.Dir.Path(rundir.StatePart(decision.Folder, task)))
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
	if !r.Config.Match.AllPairs {
		return nil
	}
	body, err := state.Read(r.Dir.Path(rundir.StatePart(pairs.Folder, task)), pairs.FileKind)
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

// answer reads the ids of split task that others asked for, in one pass, and deals
// them to those who asked. It calls each once for every id that it reads.
func answer(ctx context.Context, r *stage.Run, documents *corpus.Documents, task int, asked *spill.Buckets, deal *spill.Dealer, each func(doc uint64, id []byte) error) error {
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
	err = r.Job.EachID(ctx, task, next, func(row int64, id []byte) error {
		if row == next() {
			if err := each(first+uint64(row), id); err != nil {
				return err
			}
		}
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
