package gleam

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/chrislusf/gleam/distributed"
	"github.com/chrislusf/gleam/gio"
	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/rundir"
)

// secondThought is how long a driver that learns of lost rows waits for the
// failure that lost them: rows come by many ways.
const secondThought = 5 * time.Second

// runDriver executes the attempt's flow and writes the result file, its last
// act: all that gleam did is verified before.
func runDriver(dir attemptDir) error {
	os.Args[0] = dir.launcher() // gleam ships this file
	gio.HasInitalized = true
	if err := os.Setenv("NO_PROXY", "*"); err != nil { // gleam would ask one for its own servers
		return err
	}
	s, err := readSpec(dir)
	if err != nil {
		return err
	}
	d := &driver{dir: dir, spec: s, done: make(chan struct{}), failed: make(chan Failure, 1)}
	if lanes, stage := s.dealt(); stage != 0 {
		d.book = newLedger(stage, len(lanes))
		d.parts, d.joined = make([]*partFile, len(lanes)), make(map[int]bool)
	} else {
		if d.pairs, err = data.CreateAtomic(dir.pairs()); err != nil {
			return err
		}
		d.book = newLedger(stageFinal, s.Finals)
	}
	w := &worker{dir: dir, id: s.Attempt, stage: stageDriver}
	d.worker = w
	go w.beat(os.Getppid(), nil)

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.build(d.collect).RunContext(context.Background(), distributed.Option().SetMaster(s.Master))
	}()
	var res result
	select {
	case f := <-d.failed:
		res.Failure = &f
	case <-d.done:
		if res, err = d.finish(); err != nil {
			return err
		}
	}
	text, err := json.Marshal(res)
	if err != nil {
		return err
	}
	if err := data.WriteFileAtomic(dir.result(), text); err != nil {
		return err
	}
	if res.Failure != nil {
		return res.Failure
	}
	<-ended // gleam tidies up
	return nil
}

// driver collects what the flow's last stage sends.
type driver struct {
	dir    attemptDir
	spec   *spec
	worker *worker

	mu      sync.Mutex
	book    *ledger
	records []rundir.TaskRecord
	pairs   *data.AtomicFile
	sum     *xxh3.Hasher
	count   uint64
	parts   []*partFile  // of the earlier flow, by worker: the split under way
	joined  map[int]bool // splits whose files are there
	readers int
	done    chan struct{} // closed when all readers ended and the book is closed
	failed  chan Failure
}

// collect reads the rows of one shard.
func (d *driver) collect(in io.Reader) error {
	rows := newRowReader(in)
	for {
		b, err := rows.next()
		if errors.Is(err, io.EOF) {
			break
		}
		var f frame
		var sum uint64
		if err == nil {
			f, sum, err = decodeFrame(b, d.spec.Attempt)
		}
		if err == nil && f.kind == kindError {
			var failure Failure
			if err = json.Unmarshal(f.payload, &failure); err == nil {
				d.fail(failure)
				continue
			}
		}
		if err == nil {
			err = d.take(f, sum)
		}
		if err != nil {
			d.fail(Failure{Stage: stageDriver.String(), Message: err.Error(), Lost: errors.Is(err, errFrame) || errors.Is(err, errRow)})
			_, _ = io.Copy(io.Discard, in)
			break
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.readers++; d.readers == len(d.book.came) {
		if err := d.book.close(); err != nil {
			go d.fail(Failure{Stage: stageDriver.String(), Message: err.Error(), Lost: true})
			return nil
		}
		close(d.done)
	}
	return nil
}

// fail reports the first failure; one that only says that rows were lost lets
// another go first.
func (d *driver) fail(f Failure) {
	if f.Lost {
		time.Sleep(secondThought)
	}
	select {
	case d.failed <- f:
	default:
	}
}

// take books a frame and keeps what it carries.
func (d *driver) take(f frame, sum uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.book.enter(f, sum); err != nil || f.kind == kindEnd {
		return err
	}
	d.worker.counters.in.Add(int64(f.records))
	if d.spec.Fingerprint != nil {
		var rec rundir.TaskRecord
		if err := json.Unmarshal(f.payload, &rec); err != nil {
			return fmt.Errorf("%w: task record: %w", errFrame, err)
		}
		d.records = append(d.records, rec)
		return nil
	}
	if d.spec.Earlier != nil {
		return d.takeEarlier(f)
	}
	if len(f.payload) != pairBytes*int(f.records) {
		return fmt.Errorf("%w: %d bytes for %d pairs", errFrame, len(f.payload), f.records)
	}
	if d.sum == nil {
		d.sum = xxh3.New()
	}
	d.count += uint64(f.records)
	if _, err := d.sum.Write(f.payload); err != nil {
		return err
	}
	_, err := d.pairs.Write(f.payload)
	return err
}

// finish checks the account of the whole flow and completes its output.
func (d *driver) finish() (res result, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	lost := func(format string, args ...any) (result, error) {
		return result{Failure: &Failure{Stage: stageDriver.String(), Message: fmt.Sprintf(format, args...), Lost: true}}, nil
	}
	if d.spec.Fingerprint != nil {
		missing := make(map[int]bool)
		for _, lane := range d.spec.Fingerprint.Lanes {
			for _, t := range lane {
				missing[t] = true
			}
		}
		for _, rec := range d.records {
			if !missing[rec.Task] {
				return lost("task %d was reported twice, or not asked for", rec.Task)
			}
			delete(missing, rec.Task)
		}
		if len(missing) > 0 {
			return lost("%d tasks were not reported", len(missing))
		}
		return result{Records: d.records}, nil
	}
	if d.spec.Earlier != nil {
		if err := d.finishEarlier(); err != nil {
			return lost("%v", err)
		}
		return result{}, nil
	}
	m := d.spec.Match
	if d.book.references != m.References {
		return lost("%d documents have %d references under the keys of %d tables, %d arrived at the final reduce", m.Documents, m.References, m.Last-m.First, d.book.references)
	}
	if err := d.pairs.Commit(); err != nil {
		return result{}, err
	}
	if d.sum == nil {
		d.sum = xxh3.New()
	}
	return result{Pairs: d.count, Sum: d.sum.Sum64()}, nil
}
