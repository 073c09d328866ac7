// Package gleam executes a job's stages on a gleam cluster: the very stage
// functions of mapper and reducer, in worker processes that gleam starts on
// its agents. gleam itself reports no failure and loses rows with exit code
// 0; this package believes nothing it says. Rows travel in checksummed
// frames, every task accounts to every other for what it sent, and nothing is
// passed on before the account of the whole flow is closed. Each flow runs
// under a supervisor, in a process group of its own, with a deadline and a
// watch over its progress; what fails is tried again, and what gleam leaves
// behind is removed.
//
// It is the only package that imports gleam. It never starts or stops a
// master or an agent.
package gleam

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/numbered"
	"github.com/neardup/neardup/data/object"
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/job/rundir"
)

// ErrFailed is returned when the attempts are used up; the error says what was
// lost and what to do.
var ErrFailed = errors.New("the cluster did not finish the flow")

// Options says where the cluster is and how patient the engine is. Zero
// values stand for the defaults.
type Options struct {
	Master   string        // HOST:PORT; default 127.0.0.1:45326
	Attempts int           // at each flow; default 3
	Stall    time.Duration // an attempt without progress for that long is ended; default 2 minutes
	Deadline time.Duration // an attempt that runs longer is ended; default 12 hours
}

// Engine is the engine on a gleam cluster. The program that uses it calls
// Main first.
type Engine struct {
	o       Options
	checked checked
}

// New returns an engine.
func New(o Options) *Engine {
	o.Master = cmp.Or(o.Master, "127.0.0.1:45326")
	o.Attempts = cmp.Or(o.Attempts, 3)
	o.Stall = cmp.Or(o.Stall, 2*time.Minute)
	o.Deadline = cmp.Or(o.Deadline, 12*time.Hour)
	return &Engine{o: o, checked: checked{agents: make(map[string]bool)}}
}

var _ engine.Engine = (*Engine)(nil)

// Fingerprint deals the tasks to workers on the agents, large splits first. A
// task that finished in an attempt that failed is finished for good.
func (e *Engine) Fingerprint(ctx context.Context, job *engine.Job, tasks []int, done func(rundir.TaskRecord) error) error {
	for _, t := range tasks {
		if job.Splits[t].Path == "-" {
			return errors.New("the agents cannot read standard input: write it to a file that all hosts see, or use --engine local")
		}
	}
	missing := slices.Clone(tasks)
	r := &run{o: e.o, checked: &e.checked, job: job, stage: engine.StageFingerprint}
	return r.named(r.attempts(ctx, func() (*spec, error) {
		s, err := r.spec(ctx)
		if err != nil {
			return nil, err
		}
		lanes, threads := lanes(r.agents, job.Config.Execution.Workers, len(missing))
		s.Fingerprint = &fingerprintSpec{Splits: job.Splits, Lanes: deal(job.Splits, missing, lanes), Threads: threads}
		for _, split := range job.Splits {
			s.Relative = s.Relative || !filepath.IsAbs(split.Path) && !object.Is(split.Path)
		}
		r.onDisk(s)
		return s, nil
	}, func(*spec, *result) error {
		left := missing[:0]
		for _, t := range missing {
			rec, ok, err := job.Dir.Record(engine.StageFingerprint, t)
			if err != nil {
				return err
			}
			if !ok {
				left = append(left, t)
				continue
			}
			if err := rec.Conserved(); err != nil {
				return err
			}
			if err := done(rec); err != nil {
				return &callerError{err}
			}
			r.kept += rec.Bytes
		}
		missing = left
		r.lost = fmt.Sprintf("%d of %d splits are not fingerprinted; the others are kept", len(missing), len(tasks))
		if len(missing) > 0 {
			return &lostError{fmt.Sprintf("%d tasks have no record in the run directory", len(missing))}
		}
		return nil
	}))
}

// callerError is an error of what the engine calls; it is not tried again.
type callerError struct{ err error }

func (e *callerError) Error() string { return e.err.Error() }
func (e *callerError) Unwrap() error { return e.err }

// lanes is how many workers fingerprint at once, and how many of them share
// a host. An agent has several slots for each core (see operations.md); a
// quarter of them fingerprints.
func lanes(agents []Agent, workers, tasks int) (lanes, threads int) {
	slots := 0
	for _, a := range agents {
		slots += a.Slots
	}
	n := workers
	if n == 0 {
		n = max(len(agents), slots/4)
	}
	n = max(min(n, tasks, slots-1), minTasks)
	return n, max(1, n/max(1, len(agents)))
}

// deal gives each lane its tasks: the largest split that is left to the lane
// with the least to read.
func deal(splits []data.Split, tasks []int, n int) [][]int {
	size := func(t int) int64 {
		s := splits[t]
		if s.Start == 0 && s.End < 0 || s.End < s.Start {
			return max(s.Size, 1)
		}
		return max(s.End-s.Start, 1)
	}
	order := slices.Clone(tasks)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size(b), size(a)) })
	out := make([][]int, n)
	load := make([]int64, n)
	for _, t := range order {
		least := 0
		for i := range load {
			if load[i] < load[least] {
				least = i
			}
		}
		out[least] = append(out[least], t)
		load[least] += size(t)
	}
	return out
}

// shuffleBytes is what a reference to a document takes on the agents while it
// is reduced, in all: as a record while they are sorted, and packed on its way
// to the final reduce (measured, see job/docs/benchmarks).
const shuffleBytes = 100

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
	r := &run{o: e.o, checked: &e.checked, job: job, stage: "match"}
	for first := 0; first < p.tables; {
		next := first
		err := r.attempts(ctx, func() (*spec, error) {
			s, err := r.spec(ctx)
			if err != nil {
				return nil, err
			}
			memory := int64(0)
			for _, a := range r.agents {
				memory += a.Memory
			}
			s.Match = &matchSpec{Documents: n, First: first, Last: first}
			for s.Match.Last < p.tables {
				more := references[s.Match.Last]
				if s.Match.Last > first && int64(s.Match.References+more)*shuffleBytes > memory/2 {
					break
				}
				s.Match.References += more
				s.Match.Last++
			}
			next = s.Match.Last
			r.lost = fmt.Sprintf("the pairs of tables %d to %d of %d are not known", first+1, next, p.tables)
			return s, r.fit(s)
		}, func(s *spec, res *result) error {
			if res == nil {
				return &lostError{"the flow has no result"}
			}
			return readPairs(r.dir.pairs(), *res, emit)
		})
		if err != nil {
			return err
		}
		first = next
	}
	return nil
}

// fit chooses how many tasks each step has, so that all have a slot at once.
func (r *run) fit(s *spec) error {
	free := 0
	for _, a := range r.agents {
		free += a.Slots
	}
	e := s.Execution
	unit := max(minTasks, free/4)
	const fewDocuments = 64 << 10
	s.Plan = Plan{
		Sources:  max(minTasks, min(unit, s.Match.Documents/fewDocuments)),
		Partials: max(minTasks, min(unit, e.Shards*e.Salts)),
		Finals:   max(minTasks, min(unit, e.Shards)),
	}
	if s.slots() > free {
		s.Plan = Plan{Sources: minTasks, Partials: minTasks, Finals: minTasks}
		r.onDisk(s)
	}
	if wanted := e.Shards * e.Salts; s.Partials < wanted {
		r.job.Log.Info("fewer reduce tasks than shards × salts: each takes several", "slots", free, "partial", s.Partials, "final", s.Finals, "shards", e.Shards, "salts", e.Salts)
	}
	return nil
}

// onDisk lets the steps run one after the other when there are too few slots
// for all at once: gleam would wait for ever.
func (r *run) onDisk(s *spec) {
	slots := 0
	for _, a := range r.agents {
		slots += a.Slots
	}
	if wanted := s.slots(); wanted > slots {
		s.OnDisk = true
		r.job.Log.Warn("too few slots to run all steps at once: they run one after the other, by way of the agents' disks", "slots", slots, "wanted", wanted)
	}
}

// readPairs passes on what the driver verified.
func readPairs(path string, res result, emit func([]data.Pair) error) (err error) {
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
		return &lostError{fmt.Sprintf("%s is not what the driver wrote", path)}
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
			return &callerError{fmt.Errorf("pairs: %w", err)}
		}
		pairs = append(pairs, pairAt(b[:]))
		if len(pairs) == batch || left == 1 {
			if err := emit(pairs); err != nil {
				return &callerError{err}
			}
			pairs = pairs[:0]
		}
	}
	return nil
}
