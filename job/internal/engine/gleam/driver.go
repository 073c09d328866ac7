//go:build linux

package gleam

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/wire"
	"github.com/neardup/neardup/job/internal/rundir"
)

// failureGrace is how long a driver that notices lost rows waits for the failure that
// caused the loss, which may arrive later by another way.
const failureGrace = 5 * time.Second

// runDriver executes the attempt's flow. It verifies that everything arrived and was
// reported, and only then writes the result file.
func runDriver(dir attempt.Dir) error {
	if err := os.Setenv("NO_PROXY", "*"); err != nil { // gleam would ask one for its own servers
		return err
	}
	s, err := dir.Read()
	if err != nil {
		return err
	}
	last := s.Steps[len(s.Steps)-1]
	d := &driver{spec: s, missing: reports(s), ledger: wire.NewLedger(last.Stage, byte(len(s.Steps)), last.Tasks), readers: last.Tasks, done: make(chan struct{}), failed: make(chan attempt.Failure, 1)}
	d.Dir, d.Stage = dir, attempt.Driver
	go d.Beat(os.Getppid(), nil)

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := cluster.Run(dir, s, func(out io.Writer) error { return assign(s, out) }, d.collect); err != nil {
			d.fail(failureOf(err))
		}
	}()
	var res attempt.Result
	select {
	case f := <-d.failed:
		res.Failure = &f
	case <-d.done:
		res = d.finish()
	}
	if err := rundir.WriteJSON(dir.Path(attempt.ResultFile), res); err != nil {
		return err
	}
	if res.Failure != nil {
		return res.Failure
	}
	<-ended // gleam tidies up
	return nil
}

// assign writes the tasks of each worker of the first step.
func assign(s *attempt.Spec, out io.Writer) error {
	send := wire.NewSender(wire.NewWriter(out), wire.Frame{Attempt: s.Attempt}, s.Steps[0].Tasks, nil)
	for to, tasks := range s.Assigned {
		for _, t := range tasks {
			if err := send.Put(to, binary.LittleEndian.AppendUint32(send.Record(to), uint32(t))); err != nil {
				return fmt.Errorf("tasks: %w", err)
			}
		}
	}
	if err := send.Flush(); err != nil {
		return fmt.Errorf("tasks: %w", err)
	}
	return send.End(0)
}

// reports returns the tasks of which a record has to arrive at the driver: the tasks
// of the last step if there are several steps, and those assigned to workers.
func reports(s *attempt.Spec) map[int]bool {
	missing := make(map[int]bool)
	if last := s.Steps[len(s.Steps)-1]; len(s.Steps) > 1 {
		for task := range last.Tasks {
			missing[task] = true
		}
	}
	for _, lane := range s.Assigned {
		for _, task := range lane {
			missing[task] = true
		}
	}
	return missing
}

// driver collects the reports of the flow's last step.
type driver struct {
	attempt.Reporter
	spec *attempt.Spec

	mu      sync.Mutex
	missing map[int]bool // tasks that were not reported
	ledger  *wire.Ledger
	readers int           // that have not ended
	done    chan struct{} // closed when all readers ended and the ledger is closed
	failed  chan attempt.Failure
}

// collect reads the rows of one task of the last stage.
func (d *driver) collect(in io.Reader) error {
	err := wire.NewReader(in).Each(d.spec.Attempt, func(f wire.Frame, sum uint64) error {
		if f.Kind != wire.Error {
			return d.take(f, sum)
		}
		var failure attempt.Failure
		if err := json.Unmarshal(f.Payload, &failure); err != nil {
			return err
		}
		d.fail(failure)
		return nil
	})
	if err != nil {
		d.fail(failureOf(err))
		_, _ = io.Copy(io.Discard, in) // so that the sender gets no EPIPE
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.readers--; d.readers == 0 {
		if err := d.ledger.Close(); err != nil {
			go d.fail(failureOf(err))
			return nil
		}
		close(d.done)
	}
	return nil
}

// failureOf is an error of the driver itself.
func failureOf(err error) attempt.Failure {
	return attempt.Failure{Stage: attempt.Driver, Message: err.Error(), Lost: lostRows(err)}
}

// fail passes a failure to runDriver, which takes the first. Lost rows are usually
// the consequence of another failure, so they are reported after failureGrace.
func (d *driver) fail(f attempt.Failure) {
	if f.Lost {
		time.Sleep(failureGrace)
	}
	select {
	case d.failed <- f:
	default:
	}
}

// take enters a frame into the ledger and notes the task that it reports.
func (d *driver) take(f wire.Frame, sum uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.ledger.Enter(f, sum); err != nil || f.Kind == wire.End {
		return err
	}
	d.In.Add(int64(f.Records))
	var rec rundir.TaskRecord
	if err := json.Unmarshal(f.Payload, &rec); err != nil {
		return fmt.Errorf("%w: task record: %w", wire.ErrFrame, err)
	}
	if !d.missing[rec.Task] {
		return fmt.Errorf("%w: task %d was reported twice, or not asked for", wire.ErrFrame, rec.Task)
	}
	delete(d.missing, rec.Task)
	return nil
}

// finish is the result of a flow whose ledger is closed.
func (d *driver) finish() (res attempt.Result) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.missing) > 0 {
		f := failureOf(fmt.Errorf("%w: %d tasks were not reported", wire.ErrIncomplete, len(d.missing)))
		res.Failure = &f
	}
	res.Counted = d.ledger.Counted()
	return res
}
