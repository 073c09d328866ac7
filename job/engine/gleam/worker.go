package gleam

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/engine"
)

// worker is one task of a stage, in a process of its own: rows come on
// standard input and leave on standard output. A failure leaves as an ERR
// frame, and the process ends with 0 all the same: gleam would start it again
// in the middle of the stream.
type worker struct {
	dir   attemptDir
	spec  *spec
	id    uint64 // of the attempt
	stage stageID
	task  int
	host  string
	log   *slog.Logger

	in  *rowReader
	out *rowWriter
	raw io.Reader // what in reads

	sent     []account // by destination
	pending  [][]byte  // frame under way, by destination; nil: none
	waiting  []uint32  // records in it
	split    string    // what the task reads at the moment
	halfway  bool      // middle was reached
	counters counters
}

// counters is what a worker tells of its progress.
type counters struct {
	in, out, bytes atomic.Int64
	done           atomic.Bool
}

// Progress is what a worker last told, as its file in the run directory holds
// it.
type Progress struct {
	Stage string
	Task  int
	Host  string
	PID   int
	In    int64 // records that came
	Out   int64 // records that left
	Bytes int64 // of input files, by the fingerprint stage
	CPU   int64 // milliseconds of processor time
	Beat  int64 // counts the tellings
	Done  bool
}

// errForwarded is returned for a failure that was reported by its own task.
var errForwarded = errors.New("an earlier task failed")

// run executes the task to its end.
func (w *worker) run(ctx context.Context) {
	err := engine.Guard(func() error { return w.execute(ctx) })
	if err != nil && !errors.Is(err, errForwarded) {
		if werr := w.fail(err); werr != nil {
			w.log.Error("the failure could not be told", "failure", err, "error", werr)
		}
	}
	w.counters.done.Store(true)
	if err == nil {
		err = w.out.flush()
	}
	if err != nil {
		w.log.Error("task failed", "stage", w.stage, "task", w.task, "error", err)
	}
	// Who sends must not find the pipe closed.
	_, _ = io.Copy(io.Discard, w.raw)
}

// begin makes the worker known, and refuses to be a second process of the
// same task: the first died in the middle of the stream.
func (w *worker) begin() error {
	f, err := os.OpenFile(w.dir.started(w.stage, w.task), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrExist) {
		return &lostError{"the worker's process died and was started again"}
	}
	if err != nil {
		return fmt.Errorf("this host cannot write into the run directory: %w", err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	w.spec, err = readSpec(w.dir)
	if err != nil {
		return err
	}
	if w.spec.Attempt != w.id {
		return &lostError{"this worker belongs to another attempt"}
	}
	if w.spec.Relative {
		if err := os.Chdir(w.spec.Work); err != nil {
			return fmt.Errorf("the input is named by relative paths, and this host does not see the folder that they start from: %w", err)
		}
	}
	return nil
}

// lostError is a failure of the cluster, not of the task.
type lostError struct{ text string }

func (e *lostError) Error() string { return e.text }

func (w *worker) execute(ctx context.Context) error {
	if err := w.begin(); err != nil {
		return err
	}
	if err := inject(w, early); err != nil {
		return err
	}
	switch w.stage {
	case stageDeal:
		return w.deal()
	case stageFingerprint:
		return w.fingerprint(ctx)
	case stageSegment:
		return w.segment()
	case stagePartial:
		return w.partial()
	case stageFinal:
		return w.final()
	case stageEarlier:
		return w.earlier(ctx)
	}
	return fmt.Errorf("no such stage: %s", w.stage)
}

// moment is a point in a task's life at which tests make it fail.
type moment string

const (
	early  moment = "early"  // nothing was read yet
	middle moment = "middle" // the first frame of records came or left
	late   moment = "late"   // all left but the END frames
)

// inject is where tests make a worker fail.
var inject = func(*worker, moment) error { return nil }

// half notes that a frame of records came or left.
func (w *worker) half() error {
	if w.halfway {
		return nil
	}
	w.halfway = true
	return inject(w, middle)
}

// fail tells the failure to the next stage, which passes it on, and notes it
// in the attempt's folder, where the supervisor sees it even when no row moves.
func (w *worker) fail(err error) error {
	f := Failure{Stage: w.stage.String(), Task: w.task, Split: w.split, Host: w.host, Message: err.Error()}
	var lost *lostError
	f.Died = errors.As(err, &lost)
	f.Lost = errors.Is(err, errIncomplete) || errors.Is(err, errFrame) || errors.Is(err, errRow)
	const limit = 64 << 10
	if len(f.Message) > limit {
		f.Message = f.Message[:limit] + " …"
	}
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	noted := data.WriteFileAtomic(filepath.Join(w.dir.failures(), fmt.Sprintf("%s-%d.json", w.stage, w.task)), text)
	return errors.Join(w.forward(frame{payload: text}), noted)
}

// forward sends an ERR frame on at once.
func (w *worker) forward(f frame) error {
	f.kind, f.stage, f.attempt, f.from, f.to, f.records = kindError, w.stage, w.id, uint32(w.task), 0, 1
	b, _ := f.encode()
	if err := w.out.write(0, b); err != nil {
		return err
	}
	return w.out.flush()
}

// receive reads what the senders of the stage before sent until the input
// ends, and checks it all. take gets the data frames.
func (w *worker) receive(from stageID, senders int, take func(frame) error) (references uint64, err error) {
	book := newLedger(from, senders)
	failed := false
	for {
		b, err := w.in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
		f, sum, err := decodeFrame(b, w.id)
		if err != nil {
			return 0, err
		}
		if f.kind == kindError {
			failed = true
			if err := w.forward(f); err != nil {
				return 0, err
			}
			continue
		}
		if int(f.to) != w.task {
			return 0, fmt.Errorf("%w: it is for task %d", errFrame, f.to)
		}
		if err := book.enter(f, sum); err != nil {
			return 0, err
		}
		if f.kind == kindData && !failed {
			w.counters.in.Add(int64(f.records))
			if err := take(f); err != nil {
				return 0, err
			}
			if from != stageDriver {
				if err := w.half(); err != nil {
					return 0, err
				}
			}
		}
	}
	if failed {
		return 0, errForwarded
	}
	return book.references, book.close()
}

// open prepares sending to that many destinations.
func (w *worker) open(destinations int) {
	w.sent = make([]account, destinations)
	w.pending = make([][]byte, destinations)
	w.waiting = make([]uint32, destinations)
}

// record returns the buffer that one record for the destination is to be
// appended to; put takes it back.
func (w *worker) record(to int) []byte {
	if w.pending[to] == nil {
		w.pending[to] = make([]byte, 0, frameBytes+frameBytes/8)
	}
	if len(w.pending[to]) == 0 {
		w.pending[to] = frame{kind: kindData, stage: w.stage, attempt: w.id, from: uint32(w.task), to: uint32(to)}.begin(w.pending[to])
	}
	return w.pending[to]
}

func (w *worker) put(to int, b []byte) error {
	w.pending[to] = b
	w.waiting[to]++
	if len(b) >= frameBytes {
		return w.send(to)
	}
	return nil
}

func (w *worker) send(to int) error {
	records := w.waiting[to]
	b, sum := seal(w.pending[to], records)
	w.sent[to].add(records, sum)
	w.counters.out.Add(int64(records))
	w.pending[to], w.waiting[to] = b[:0], 0
	if err := w.out.write(uint32(to), b); err != nil {
		return err
	}
	return w.half()
}

// end sends what is left and ends every destination.
func (w *worker) end(references uint64) error {
	for to := range w.sent {
		if w.waiting[to] > 0 {
			if err := w.send(to); err != nil {
				return err
			}
		}
	}
	if err := inject(w, late); err != nil {
		return err
	}
	for to := range w.sent {
		f := frame{kind: kindEnd, stage: w.stage, attempt: w.id, from: uint32(w.task), to: uint32(to), payload: w.sent[to].append(nil, references)}
		b, _ := f.encode()
		if err := w.out.write(uint32(to), b); err != nil {
			return err
		}
	}
	return w.out.flush()
}

// beat tells the worker's progress once a second, for as long as the process
// lives, and ends the process when its parent or the attempt is gone.
func (w *worker) beat(parent int, stop <-chan struct{}) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for n := int64(1); ; n++ {
		w.tell(n)
		select {
		case <-stop:
			w.tell(n + 1)
			return
		case <-tick.C:
		}
		if os.Getppid() != parent || gone(w.dir.lease()) {
			if w.stage == stageDriver {
				_ = os.Remove(w.dir.lease()) // the guards need not wait
			}
			endSelf()
		}
	}
}

const beatEvery = time.Second

func (w *worker) tell(n int64) {
	p := Progress{Stage: w.stage.String(), Task: w.task, Host: w.host, PID: os.Getpid(), CPU: processorTime(), Beat: n,
		In: w.counters.in.Load(), Out: w.counters.out.Load(), Bytes: w.counters.bytes.Load(), Done: w.counters.done.Load()}
	text, err := json.Marshal(p)
	if err != nil {
		return
	}
	path := w.dir.progress(w.stage, w.task)
	tmp := path + ".tmp"
	if os.WriteFile(tmp, text, 0o644) == nil {
		_ = os.Rename(tmp, path) // the next one tells it
	}
}

// gone reports whether the file was removed; a file system that does not
// answer is no removal.
func gone(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, os.ErrNotExist)
}

// endSelf ends this process at once: nobody is left who would read what it
// has to say.
func endSelf() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// processorTime is what the process used, in milliseconds.
func processorTime() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return (u.Utime.Nano() + u.Stime.Nano()) / 1e6
}
