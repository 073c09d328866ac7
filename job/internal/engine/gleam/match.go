//go:build linux

package gleam

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/check"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/supervise"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/shuffle"
	"github.com/neardup/neardup/job/internal/state/pairs"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/reducer"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/columns"
)

// The match flow has three steps:
//
//	segment  reads a range of the documents and sends their postings, by (salt, key)
//	partial  reduces by (salt, key) and sends posting lists, by key
//	final    reduces by key, compares inside each group, and writes the pairs into the
//	         attempt's folder

// matchPayload is the payload of a flow for the tables First to Last-1.
type matchPayload struct {
	Splits      int
	Documents   uint64
	Sizes       []uint64 // of the rule's tiers
	First, Last int
	Tables      []uint64 // by table: references to documents under its keys
	References  uint64   // those of the flow's tables, which have to arrive
}

// shuffleBytes is how many bytes one reference to a document takes on all agents
// together while it is reduced: as a record in a reduce, and packed in rows on its way
// (measured, see job/docs/benchmarks). rowBytes of them are in rows, to the partial
// reduce and to the final one.
const (
	shuffleBytes = 100
	rowBytes     = 2 * 32
)

// Match runs the join, in flows of as many tables as the agents have memory for. Tables
// of a flow that has finished are not run again.
func (e *Engine) Match(ctx context.Context, job *engine.Job, documents *corpus.Documents, emit func([]data.Pair) error) error {
	n := documents.Len()
	if n < 2 {
		return nil
	}
	rule, err := method.RuleOf(job.Dir.Path(), job.Config.Match)
	if err != nil {
		return err
	}
	sizes, err := documents.Sizes(ctx, rule.Tiers(), runtime.GOMAXPROCS(0))
	if err != nil {
		return err
	}
	p, err := newPacking(job.Config, rule, sizes)
	if err != nil {
		return err
	}
	references, alone, err := p.references(ctx, job, documents)
	if err != nil {
		return err
	}
	r, counts := e.run(job, "match"), shuffle.NewCounts(p.tiers, p.rule)
	for first := 0; first < p.tables; {
		var m matchPayload
		finals := 0
		err := r.Do(ctx, func(s *attempt.Spec, agents []cluster.Agent) error {
			limit := cluster.Total(agents).Memory / 2
			m = matchPayload{Splits: len(job.Splits), Documents: n, Sizes: sizes, First: first, Last: first, Tables: references}
			for m.Last < p.tables {
				more := references[m.Last]
				if m.Last > first && int64(m.References+more)*shuffleBytes > limit {
					break
				}
				m.References += more
				m.Last++
			}
			r.Lost = fmt.Sprintf("the pairs of tables %d to %d of %d are not known", first+1, m.Last, p.tables)
			s.Rows = rowBytes * int64(m.References)
			s.Steps = matchSteps(s, n, agents)
			finals = s.Steps[2].Tasks
			var paths []string
			for task := range job.Splits {
				paths = append(paths, corpus.ViewPath(job.Dir, task), corpus.ExactPath(job.Dir, task))
				if p.rule.Bands {
					paths = append(paths, bandsPath(job.Dir, task))
				}
			}
			var err error
			if s.Files, err = filesOf(s.Config, check.Spread(paths)); err != nil {
				return supervise.Final(err)
			}
			return setPayload(s, m)
		}, func(dir attempt.Dir, res *attempt.Result) error {
			if res == nil {
				return attempt.Lost("the flow has no result")
			}
			if err := m.arrived(res.Counted); err != nil {
				return err
			}
			return supervise.Final(errors.Join(readPairs(ctx, dir, finals, emit), addCounts(dir, finals, counts)))
		})
		if err != nil {
			return err
		}
		first = m.Last
	}
	for t, n := range alone {
		if n := int64(n); n > 0 {
			counts[t].Add(rundir.TableCount{Postings: n, Keys: n, PostingLists: n, LargestMapped: 1, Largest: 1})
		}
	}
	job.Tables = shuffle.Counted(counts)
	return nil
}

// matchSteps chooses the number of tasks of each step, and sets s.Steps. All tasks have
// a slot at once if the agents have enough slots.
func matchSteps(s *attempt.Spec, documents uint64, agents []cluster.Agent) []attempt.Step {
	slots := cluster.Total(agents).Slots
	steps := func(segment, partial, final int) []attempt.Step {
		return []attempt.Step{
			{Stage: stageSegment, Tasks: max(cluster.MinTasks, segment)},
			{Stage: stagePartial, Tasks: max(cluster.MinTasks, partial)},
			{Stage: stageFinal, Tasks: max(cluster.MinTasks, final)},
		}
	}
	const fewDocuments = 64 << 10
	unit := max(cluster.MinTasks, slots/4)
	s.Steps = steps(int(min(uint64(unit), documents/fewDocuments)), unit, unit)
	if cluster.Slots(s) > slots {
		s.Steps = steps(0, 0, 0)
	}
	return s.Steps
}

// openDocuments opens the run's documents on an agent.
func (w *worker) openDocuments(m matchPayload) (*corpus.Documents, error) {
	dir, err := rundir.Attach(w.spec.Run)
	if err != nil {
		return nil, err
	}
	documents, err := corpus.Open(dir, m.Splits)
	if err != nil {
		return nil, fmt.Errorf("this host does not see the run's documents: %w", err)
	}
	if documents.Len() != m.Documents {
		return nil, fmt.Errorf("%d documents here, %d where the run was started", documents.Len(), m.Documents)
	}
	return documents, nil
}

// arrived returns a LostError unless all references arrived at the final reduce.
func (m *matchPayload) arrived(counted uint64) error {
	if counted == m.References {
		return nil
	}
	return attempt.Lost("%d documents have %d references under the keys of %d tables, %d arrived at the final reduce", m.Documents, m.References, m.Last-m.First, counted)
}

// pairsPath is the file of the pairs that a task of the final reduce found.
func pairsPath(dir attempt.Dir, task int) string { return dir.Path(fmt.Sprintf("pairs-%d", task)) }

// tableCounts are what a task of the final reduce did in each table.
type tableCounts struct{ Tables []rundir.TableCount }

// countsPath is the file of what that task did in each table.
func countsPath(dir attempt.Dir, task int) string {
	return dir.Path(fmt.Sprintf("tables-%d.json", task))
}

// addCounts adds what the tasks of the final reduce did in each table.
func addCounts(dir attempt.Dir, tasks int, counts []*shuffle.Count) error {
	for task := range tasks {
		var did tableCounts
		if err := rundir.ReadJSON(countsPath(dir, task), &did); err != nil {
			return err
		}
		for _, c := range counts {
			for _, d := range did.Tables {
				if d.Table == c.Table {
					c.Add(d)
				}
			}
		}
	}
	return nil
}

// batchPairs is how many pairs are passed on at once.
const batchPairs = 4096

// readPairs passes on what the tasks of the final reduce found.
func readPairs(ctx context.Context, dir attempt.Dir, tasks int, emit func([]data.Pair) error) error {
	batch := make([]data.Pair, 0, batchPairs)
	for task := range tasks {
		err := pairs.Each(ctx, pairsPath(dir, task), func(p pairs.Pair) error {
			if batch = append(batch, p.Pair); len(batch) < batchPairs {
				return nil
			}
			err := emit(batch)
			batch = batch[:0]
			return err
		})
		if err != nil {
			return err
		}
	}
	if len(batch) == 0 {
		return nil
	}
	return emit(batch)
}

// segment sends the postings of its range of the documents. The task's number
// determines the range.
func segment(ctx context.Context, w *worker, _ []int) error {
	p, m, err := w.match()
	if err != nil {
		return err
	}
	documents, err := w.openDocuments(m)
	if err != nil {
		return err
	}
	_, tasks := w.tasks(w.step)
	first, last := m.Documents*uint64(w.Task)/uint64(tasks), m.Documents*uint64(w.Task+1)/uint64(tasks)
	shared, err := w.sharedBands(p, documents, first, last)
	if err != nil {
		return err
	}
	partials := w.open()
	put := func(r data.Posting) error {
		if band, ok := p.band(r.Key); ok && shared[r.Doc-first]>>band&1 == 0 {
			return nil
		}
		to := partialOf(r, partials)
		return w.send.Put(to, p.appendPosting(w.send.Record(to), r))
	}
	err = documents.Each(ctx, first, last, p.columns(), func(doc uint64, r *views.Row) error {
		return p.keys.Postings(m.First, m.Last, &r.View, doc, put)
	})
	if err != nil {
		return err
	}
	w.In.Add(int64(last - first))
	return w.end(last - first)
}

// match returns what each step of the match flow needs.
func (w *worker) match() (packing, matchPayload, error) {
	m, err := payload[matchPayload](w.spec)
	if err != nil {
		return packing{}, m, err
	}
	rule, err := method.RuleOf(w.spec.Run, w.spec.Config.Match)
	if err != nil {
		return packing{}, m, err
	}
	p, err := newPacking(w.spec.Config, rule, m.Sizes)
	return p, m, err
}

// salts is the number of tasks of the partial reduce over which one key's postings are
// spread.
const salts = 4

// partialOf returns which of so many tasks of the partial reduce gets the posting's
// (salt, key).
func partialOf(r data.Posting, partials int) int {
	return (mapper.Shard(r.Key, partials) + mapper.Salt(r.Hi, r.Lo, salts)) % partials
}

// partial reduces by (salt, key) and sends each key's posting lists to its final
// reduce.
func partial(w *worker) error {
	p, m, err := w.match()
	if err != nil {
		return err
	}
	if p.wide {
		return partialOver[columns.Uint128](w, p, m)
	}
	return partialOver[uint64](w, p, m)
}

func partialOver[F columns.Fingerprint](w *worker, p packing, m matchPayload) error {
	came := partitionOf[F](w, p, m)
	if err := w.receive(came.addPostings); err != nil {
		return err
	}
	finals := w.open()
	records := 0
	for table := range came.tables {
		records += came.tables[table].Len()
		lists, err := reducer.Partial(&came.tables[table], columns.Width[F](), 1)
		if err != nil {
			return err
		}
		err = lists.Each(func(i int, docs []uint64) error {
			value := &lists.Values()[i]
			key := p.keys.Key(table, simhash.Fingerprint(columns.Word(value)))
			to := mapper.Shard(uint64(key), finals)
			for piece := range slices.Chunk(docs, listDocs) {
				if err := w.send.Put(to, appendList(p, w.send.Record(to), table, value, piece)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		came.tables[table] = reducer.Postings[F]{} // which takes memory
	}
	return w.end(uint64(records))
}

// final reduces by key, compares inside each group and writes the pairs.
func final(w *worker) error {
	p, m, err := w.match()
	if err != nil {
		return err
	}
	if p.wide {
		return finalOver[columns.Uint128](w, p, m)
	}
	return finalOver[uint64](w, p, m)
}

func finalOver[F columns.Fingerprint](w *worker, p packing, m matchPayload) (err error) {
	came := partitionOf[F](w, p, m)
	if err := w.receive(came.addPostingLists); err != nil {
		return err
	}
	w.open()
	documents, err := w.openDocuments(m)
	if err != nil {
		return err
	}
	reader := documents.Reader()
	defer reader.Close()
	out, err := pairs.Create(pairsPath(w.Dir, w.Task))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Abort()) }()
	batch := make([]pairs.Pair, 0, batchPairs)
	counts := shuffle.NewCounts(p.tiers, p.rule)
	compare := &shuffle.Batch{Rule: p.rule, Documents: m.Documents, View: reader.View, Counts: counts[p.tiers.Tables():], Emit: func(pair data.Pair) error {
		if batch = append(batch, pairs.Pair{Pair: pair, Overlap: data.UnknownOverlap()}); len(batch) < batchPairs {
			return nil
		}
		err := out.Add(batch)
		batch = batch[:0]
		return err
	}}
	reduce := shuffle.NewFinal[F](p.tiers, compare)
	references := uint64(0)
	for table := range came.tables {
		references += uint64(came.tables[table].Documents())
		if err == nil {
			err = reduce.Table(context.Background(), table, &came.tables[table], counts[table])
		}
		came.tables[table] = reducer.Postings[F]{}
	}
	writeCounts := func() error { return rundir.WriteJSON(countsPath(w.Dir, w.Task), tableCounts{shuffle.Counted(counts)}) }
	for _, step := range []func() error{compare.Flush, func() error { return out.Add(batch) }, writeCounts, out.Commit} {
		if err == nil {
			err = step()
		}
	}
	if err == nil {
		err = w.report(rundir.TaskRecord{Stage: stageFinal, Task: w.Task})
	}
	if err != nil {
		return err
	}
	return w.end(references)
}
