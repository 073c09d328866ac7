package gleam

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/numbered"
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/job/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/engine/gleam/internal/supervise"
	"github.com/neardup/neardup/job/engine/gleam/internal/wire"
	"github.com/neardup/neardup/job/rundir"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/reducer"
	"github.com/neardup/neardup/simhash"
)

// The match flow has three steps: segment emits the keys of a range of the
// documents, partial reduces by (salt, key), final by key, and compares. The
// driver writes the pairs to the attempt's output file.

// matchPayload is what the workers are told: the tables from First to Last-1.
type matchPayload struct {
	Documents   int
	First, Last int
	References  uint64 // to documents, under the keys of those tables
}

// pairsResult is what the output file of a match flow holds.
type pairsResult struct {
	Pairs uint64
	Sum   uint64 // XXH3-64
}

// shuffleBytes is what a reference to a document takes on the agents while it
// is reduced, in all: as a record while they are sorted, and packed on its way
// to the final reduce (measured, see job/docs/benchmarks). Of them rowBytes are
// rows, to the partial and to the final reduce.
const (
	shuffleBytes = 100
	rowBytes     = 2 * 32
)

// Match runs the shuffle, as many of the layout's tables in one flow as the
// agents have memory for. The tables of a flow that finished are not run
// again.
func (e *Engine) Match(ctx context.Context, job *engine.Job, documents *numbered.Folder, emit func([]data.Pair) error) error {
	n := documents.Len()
	if n < 2 {
		return nil
	}
	p, err := newPacking(job.Config)
	if err != nil {
		return err
	}
	references, err := p.references(job.Config, documents)
	if err != nil {
		return err
	}
	r := e.run(job, "match")
	for first := 0; first < p.tables; {
		next := first
		err := r.Do(ctx, func(s *attempt.Spec, agents []cluster.Agent) error {
			limit := cluster.Total(agents).Memory / 2
			m := matchPayload{Documents: n, First: first, Last: first}
			for m.Last < p.tables {
				more := references[m.Last]
				if m.Last > first && int64(m.References+more)*shuffleBytes > limit {
					break
				}
				m.References += more
				m.Last++
			}
			next = m.Last
			r.Lost = fmt.Sprintf("the pairs of tables %d to %d of %d are not known", first+1, next, p.tables)
			s.Rows = rowBytes * int64(m.References)
			s.Steps = matchSteps(s, n, agents, job.Log)
			paths, err := filepath.Glob(filepath.Join(documentsPath(s.Run), "*"))
			if err != nil {
				return err
			}
			if s.Files, err = filesOf(s.Config, paths); err != nil {
				return supervise.Final(err)
			}
			return setPayload(s, m)
		}, func(dir attempt.Dir, res *attempt.Result) error {
			if res == nil {
				return attempt.Lost("the flow has no result")
			}
			var pairs pairsResult
			if err := json.Unmarshal(res.Payload, &pairs); err != nil {
				return fmt.Errorf("result: %w", err)
			}
			return readPairs(dir.Path(attempt.OutputFile), pairs, emit)
		})
		if err != nil {
			return err
		}
		first = next
	}
	return nil
}

// matchSteps chooses how many tasks each step has, so that all have a slot at
// once if there are enough.
func matchSteps(s *attempt.Spec, documents int, agents []cluster.Agent, log *slog.Logger) []attempt.Step {
	slots := cluster.Total(agents).Slots
	steps := func(segment, partial, final int) []attempt.Step {
		return []attempt.Step{
			{Stage: stageSegment, Tasks: max(cluster.MinTasks, segment)},
			{Stage: stagePartial, Tasks: max(cluster.MinTasks, partial)},
			{Stage: stageFinal, Tasks: max(cluster.MinTasks, final)},
		}
	}
	const fewDocuments = 64 << 10
	unit, e := max(cluster.MinTasks, slots/4), s.Execution
	s.Steps = steps(min(unit, documents/fewDocuments), min(unit, e.Shards*e.Salts), min(unit, e.Shards))
	if cluster.Slots(s) > slots {
		s.Steps = steps(0, 0, 0)
	}
	if got := s.Steps[1].Tasks; got < e.Shards*e.Salts {
		log.Info("fewer reduce tasks than shards × salts: each takes several", "slots", slots, "partial", got, "final", s.Steps[2].Tasks, "shards", e.Shards, "salts", e.Salts)
	}
	return s.Steps
}

// documentsPath is the folder of the run's numbered documents.
func documentsPath(run string) string { return filepath.Join(run, rundir.State, "documents") }

// openDocuments opens the run's numbered documents on an agent.
func (w *worker) openDocuments() (*numbered.Folder, error) {
	documents, err := numbered.Open(documentsPath(w.spec.Run))
	if err != nil {
		return nil, fmt.Errorf("this host does not see the run's documents: %w", err)
	}
	return documents, nil
}

// readPairs passes on what the driver verified.
func readPairs(path string, res pairsResult, emit func([]data.Pair) error) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("pairs: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := xxh3.New()
	size, err := io.Copy(h, f)
	if err != nil {
		return fmt.Errorf("pairs: %w", err)
	}
	if h.Sum64() != res.Sum || uint64(size) != res.Pairs*pairBytes {
		return attempt.Lost("%s is not what the driver wrote", path)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("pairs: %w", err)
	}
	in := bufio.NewReaderSize(f, 1<<20)
	const batch = 4096
	pairs := make([]data.Pair, 0, batch)
	var b [pairBytes]byte
	for left := res.Pairs; left > 0; left-- {
		if _, err := io.ReadFull(in, b[:]); err != nil {
			return supervise.Final(fmt.Errorf("pairs: %w", err))
		}
		pairs = append(pairs, pairAt(b[:]))
		if len(pairs) == batch || left == 1 {
			if err := emit(pairs); err != nil {
				return supervise.Final(err)
			}
			pairs = pairs[:0]
		}
	}
	return nil
}

// segment emits the keys of its range of the documents; its number says which.
func segment(_ context.Context, w *worker, _ []int) (err error) {
	p, m, err := w.match()
	if err != nil {
		return err
	}
	documents, err := w.openDocuments()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, documents.Close()) }()
	n := m.Documents
	if documents.Len() != n {
		return fmt.Errorf("%d documents here, %d where the run was started", documents.Len(), n)
	}
	_, tasks := w.tasks(w.step)
	first, last := n*w.Task/tasks, n*(w.Task+1)/tasks
	partials := w.open()
	var failed error
	segments, tables := min(m.Last, p.layout.Tables()), m.Last
	err = documents.FingerprintsBetween(first, last, func(doc uint32, hi, lo uint64) {
		print := simhash.Fingerprint{Hi: hi, Lo: lo}
		for table := m.First; table < segments && failed == nil; table++ {
			to := w.partialOf(mapper.SegmentTable(p.layout, table, print, doc), partials)
			b := binary.LittleEndian.AppendUint32(p.appendHead(w.send.Record(to), table, print), doc)
			failed = w.send.Put(to, b)
		}
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	if tables > segments {
		further := mapper.NewFurther(p.layout.Tables(), w.spec.Config.Match.Bands, w.spec.Config.Match.ShortTexts)
		put := func(r data.Keyed) error {
			to := w.partialOf(r, partials)
			return w.send.Put(to, p.appendKeyed(w.send.Record(to), r))
		}
		err = documents.Views(first, last, func(doc uint32, v *data.View) {
			if failed == nil {
				failed = further.Tables(max(segments, m.First)-p.layout.Tables(), tables-p.layout.Tables(), v, doc, put)
			}
		})
		if err := errors.Join(err, failed); err != nil {
			return err
		}
	}
	w.In.Add(int64(last - first))
	return w.end(uint64(last - first))
}

// match is what each step of the flow needs.
func (w *worker) match() (packing, matchPayload, error) {
	p, err := newPacking(w.spec.Config)
	if err != nil {
		return p, matchPayload{}, err
	}
	m, err := payload[matchPayload](w.spec)
	return p, m, err
}

// partialOf is the task of the partial reduce, of so many, that takes the
// record's (salt, key).
func (w *worker) partialOf(r data.Keyed, partials int) int {
	e := w.spec.Execution
	return (mapper.Shard(r, e.Shards)*e.Salts + mapper.Salt(r, e.Salts)) % partials
}

// partial reduces by (salt, key) and sends each key's entries to its final
// reduce.
func partial(w *worker) error {
	p, m, err := w.match()
	if err != nil {
		return err
	}
	// About as many as come: growing would copy them again and again.
	_, tasks := w.tasks(w.step)
	even := int(m.References) / tasks
	records := make([]data.Keyed, 0, even+even/32)
	err = w.receive(func(f wire.Frame) (err error) {
		records, err = p.keyed(records, f)
		return err
	})
	if err != nil {
		return err
	}
	finals := w.open()
	err = reducer.EachPartial(records, func(e *data.Entry) error {
		to := mapper.Shard(data.Keyed{Key: e.Key}, w.spec.Execution.Shards) % finals
		for docs := e.Docs; len(docs) > 0; {
			n := min(len(docs), entryDocs)
			if err := w.send.Put(to, p.appendEntry(w.send.Record(to), e, docs[:n])); err != nil {
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
func final(w *worker) (err error) {
	p, _, err := w.match()
	if err != nil {
		return err
	}
	_, partials := w.tasks(w.step - 1)
	came := make([]entries, partials)
	parts := make([]reducer.Part, len(came))
	for i := range came {
		came[i].p = p
		parts[i] = came[i].next
	}
	if err := w.receive(func(f wire.Frame) error { return came[f.From].add(f) }); err != nil {
		return err
	}
	w.open()
	compare := mapper.NewComparer(p.layout, w.spec.Config.Match.Distance).Group
	confirm := compare
	if p.tables > p.layout.Tables() {
		documents, openErr := w.openDocuments()
		if openErr != nil {
			return openErr
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
			failed = w.send.Put(0, appendPair(w.send.Record(0), pair))
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

// collectPairs has the driver write the pairs.
func collectPairs(dir attempt.Dir, s *attempt.Spec) (collector, error) {
	m, err := payload[matchPayload](s)
	if err != nil {
		return nil, err
	}
	file, err := data.CreateAtomic(dir.Path(attempt.OutputFile))
	if err != nil {
		return nil, err
	}
	return &pairCollector{matchPayload: m, file: file, sum: xxh3.New()}, nil
}

type pairCollector struct {
	matchPayload
	file  *data.AtomicFile
	sum   *xxh3.Hasher
	pairs uint64
}

func (c *pairCollector) take(f wire.Frame) error {
	if len(f.Payload) != pairBytes*int(f.Records) {
		return fmt.Errorf("%w: %d bytes for %d pairs", wire.ErrFrame, len(f.Payload), f.Records)
	}
	c.pairs += uint64(f.Records)
	_, _ = c.sum.Write(f.Payload) // a hash takes everything
	_, err := c.file.Write(f.Payload)
	return err
}

func (c *pairCollector) finish(counted uint64) (any, error) {
	if counted != c.References {
		return nil, fmt.Errorf("%w: %d documents have %d references under the keys of %d tables, %d arrived at the final reduce", wire.ErrIncomplete, c.Documents, c.References, c.Last-c.First, counted)
	}
	return pairsResult{Pairs: c.pairs, Sum: c.sum.Sum64()}, c.file.Commit()
}
