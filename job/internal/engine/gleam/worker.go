//go:build linux

package gleam

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/wire"
	"github.com/neardup/neardup/job/internal/parallel"
)

// worker is one task of a step, in a process of its own. It reads rows from standard
// input and writes rows to standard output. If the task fails, the worker sends an Error
// frame and still exits with 0: gleam would restart a process that exits otherwise, in
// the middle of the stream.
type worker struct {
	attempt.Reporter
	work step
	spec *attempt.Spec
	id   uint64 // of the attempt
	step int    // number of its step in the flow, from 1; 0: it deals the driver's rows
	log  *slog.Logger

	stdin  io.Reader
	stdout io.Writer
	in     *wire.Reader
	out    *wire.Writer
	send   *wire.Sender

	split   string // path of the input it is reading, for errors
	halfway bool   // inject was called with middle
}

// newWorker returns the worker of a process.
func newWorker(p attempt.Process, stages []engine.Stage, stdin io.Reader, stdout io.Writer, log *slog.Logger) (*worker, error) {
	work, err := stepOf(p.Stage, stages)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	w := &worker{work: work, id: p.ID, log: log, stdin: stdin, stdout: stdout, in: wire.NewReader(stdin), out: wire.NewWriter(stdout)}
	w.Dir, w.Stage, w.Task, w.Host = p.Dir, p.Stage, p.Task, host
	if folder, err := os.Getwd(); err == nil { // the flow's
		w.Agent = filepath.Dir(folder)
	}
	return w, nil
}

// errForwarded is returned for the failure of an earlier task, which that task has
// reported itself.
var errForwarded = errors.New("an earlier task failed")

// run executes the task to its end.
func (w *worker) run(ctx context.Context) {
	err := parallel.Guard(func() error { return w.execute(ctx) })
	if err != nil && !errors.Is(err, errForwarded) {
		if werr := w.fail(err); werr != nil {
			w.log.Error("the failure could not be reported", "failure", err, "error", werr)
		}
	}
	w.Done.Store(true)
	if err == nil {
		err = w.out.Flush()
	}
	if err != nil {
		w.log.Error("task failed", "stage", w.Stage, "task", w.Task, "error", err)
	}
	_, _ = io.Copy(io.Discard, w.stdin) // so that the sender gets no EPIPE
}

func (w *worker) execute(ctx context.Context) (err error) {
	if err := w.Begin(); err != nil {
		return err
	}
	if w.spec, err = w.Dir.Read(); err != nil {
		return err
	}
	if w.spec.Attempt != w.id {
		return attempt.Lost("this worker belongs to another attempt")
	}
	if err := w.spec.Enter(); err != nil {
		return err
	}
	if err := inject(w, early); err != nil {
		return err
	}
	w.step = 1 + slices.IndexFunc(w.spec.Steps, func(s attempt.Step) bool { return s.Stage == w.Stage })
	switch {
	case w.step == 0 && w.Stage != cluster.Deal:
		return fmt.Errorf("%s is no stage of this flow", w.Stage)
	case w.work.first == nil:
		return w.work.later(w)
	}
	tasks, err := w.assigned()
	if err != nil {
		return err
	}
	return w.work.first(ctx, w, tasks)
}

// moment is a point in a task's execution at which tests make it fail.
type moment string

const (
	early  moment = "early"  // nothing was read yet
	middle moment = "middle" // the first frame of records was received or sent
	late   moment = "late"   // everything was sent but the End frames
)

// inject is called at each moment. Tests replace it to make a worker fail.
var inject = func(*worker, moment) error { return nil }

// half is called for each frame of records received or sent; the first is the moment
// middle.
func (w *worker) half() error {
	if w.halfway {
		return nil
	}
	w.halfway = true
	return inject(w, middle)
}

// fail reports a failure in two ways: by a note in the attempt's folder, and by an
// Error frame to the next step, which passes it on to the driver.
func (w *worker) fail(err error) error {
	f := attempt.Failure{Stage: w.Stage, Task: w.Task, Split: w.split, Host: w.Host, Lost: lostRows(err)}
	f.Of(err)
	const limit = 64 << 10
	if len(f.Message) > limit {
		f.Message = f.Message[:limit] + " …"
	}
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	noted := w.Dir.Note(&f) // first: the next step may not read
	return errors.Join(w.forward(wire.Frame{Payload: text}), noted)
}

// lostRows reports whether the error is that rows were lost or damaged on their way.
func lostRows(err error) bool {
	return errors.Is(err, wire.ErrIncomplete) || errors.Is(err, wire.ErrFrame) || errors.Is(err, wire.ErrRow)
}

// header returns a frame with the fields that all of the worker's frames share.
func (w *worker) header() wire.Frame {
	return wire.Frame{Step: byte(w.step), Attempt: w.id, From: uint32(w.Task)}
}

// forward sends an Error frame with the payload of f, and flushes.
func (w *worker) forward(f wire.Frame) error {
	out := w.header()
	out.Kind, out.Records, out.Payload = wire.Error, 1, f.Payload
	return errors.Join(w.out.Write(out), w.out.Flush())
}

// passOn is the work of the Deal step: it passes all frames on unchanged.
func passOn(w *worker) error {
	err := w.in.Each(w.id, func(f wire.Frame, _ uint64) error {
		w.In.Add(1)
		w.Out.Add(1)
		return w.out.Write(f)
	})
	return errors.Join(err, w.out.Flush())
}

// tasks returns a step's name and its number of tasks. Before the first step and after
// the last is the driver, with one task.
func (w *worker) tasks(step int) (name string, n int) {
	if step < 1 || step > len(w.spec.Steps) {
		return attempt.Driver, 1
	}
	s := w.spec.Steps[step-1]
	return s.Stage, s.Tasks
}

// receive reads all that the step before sends, calls take with each Data frame, and
// returns nil only if the ledger shows that everything arrived. If an Error frame
// comes, it forwards that, takes no more records and returns errForwarded.
func (w *worker) receive(take func(wire.Frame) error) error {
	from, senders := w.tasks(w.step - 1)
	ledger := wire.NewLedger(from, byte(w.step-1), senders)
	failed := false
	err := w.in.Each(w.id, func(f wire.Frame, sum uint64) error {
		if f.Kind == wire.Error {
			failed = true
			return w.forward(f)
		}
		if int(f.To) != w.Task {
			return fmt.Errorf("%w: it is for task %d", wire.ErrFrame, f.To)
		}
		if err := ledger.Enter(f, sum); err != nil || f.Kind != wire.Data || failed {
			return err
		}
		w.In.Add(int64(f.Records))
		if err := take(f); err != nil || w.step == 1 {
			return err
		}
		return w.half()
	})
	switch {
	case err != nil:
		return err
	case failed:
		return errForwarded
	}
	return ledger.Close()
}

// assigned receives the numbers of the tasks that the driver assigned to this worker.
func (w *worker) assigned() (tasks []int, err error) {
	err = w.receive(func(f wire.Frame) error {
		if len(f.Payload) != 4*int(f.Records) {
			return fmt.Errorf("%w: %d bytes for %d tasks", wire.ErrFrame, len(f.Payload), f.Records)
		}
		for b := f.Payload; len(b) > 0; b = b[4:] {
			tasks = append(tasks, int(binary.LittleEndian.Uint32(b)))
		}
		return nil
	})
	return tasks, err
}

// open makes w.send, the sender to the tasks of the next step, and returns how many
// tasks that has.
func (w *worker) open() (destinations int) {
	_, destinations = w.tasks(w.step + 1)
	w.send = wire.NewSender(w.out, w.header(), destinations, func(records uint32) error {
		w.Out.Add(int64(records))
		return w.half()
	})
	return destinations
}

// end flushes the records and sends every destination its End frame; counted is what
// the task counted of its own input.
func (w *worker) end(counted uint64) error {
	if err := w.send.Flush(); err != nil {
		return err
	}
	if err := inject(w, late); err != nil {
		return err
	}
	return w.send.End(counted)
}
