package rundir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data"
)

// errOtherBytes is returned for an output that differs from its record.
var errOtherBytes = errors.New("it is not what was written")

// sumOf computes the Sum of the file at path, which it reads through buf. On error
// s.Bytes says how much it has read.
func sumOf(ctx context.Context, path string, buf []byte) (s data.Sum, err error) {
	f, err := os.Open(path)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var h data.Summer
	for {
		n, err := f.Read(buf)
		_, _ = h.Write(buf[:n]) // it cannot fail
		if errors.Is(err, io.EOF) {
			return h.Sum(), nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return h.Sum(), fmt.Errorf("%s: %w", path, err)
		}
	}
}

const sumBuffer = 256 << 10

// AddSummed adds a complete output whose sum is known, as that of a file that a task
// wrote: nobody need read it again.
func (r *TaskRecord) AddSummed(name string, s data.Sum) {
	r.Outputs = append(r.Outputs, name)
	if r.Sums == nil {
		r.Sums = map[string]data.Sum{}
	}
	r.Sums[name] = s
}

// sums returns the sums of a task's outputs, by name: those that are known, and those
// of the files that it reads.
func (d *Dir) sums(outputs []string, known map[string]data.Sum) (map[string]data.Sum, error) {
	sums := make(map[string]data.Sum, len(outputs))
	buf := make([]byte, sumBuffer)
	for _, name := range outputs {
		if s, is := known[name]; is {
			sums[name] = s
			continue
		}
		s, err := sumOf(context.Background(), d.Path(name), buf)
		if err != nil {
			return nil, fmt.Errorf("run directory: %w", err)
		}
		sums[name] = s
	}
	return sums, nil
}

// Problem is an output that is missing or differs from its record.
type Problem struct {
	File string // within the run directory
	Err  error
	Task *TaskRecord // whose output it is; nil: it is of no task
}

// Bytes returns the total size, by their records, of the outputs of all finished
// tasks.
func (d *Dir) Bytes() (bytes int64, err error) {
	records, err := d.records()
	for i := range records {
		for _, s := range records[i].Sums {
			bytes += s.Bytes
		}
	}
	return bytes, err
}

// Check compares the outputs of all finished tasks with their records, on workers
// goroutines. It calls found, never concurrently, for each output that is missing
// or differs. Missing state of a finished run is no problem: the run removes it.
// advance is called concurrently with the number of bytes read. A record that
// cannot be read is an error.
func (d *Dir) Check(ctx context.Context, workers int, advance func(int64), found func(Problem) error) error {
	records, err := d.records()
	if err != nil {
		return err
	}
	done := d.Finished()
	var mu sync.Mutex
	buffers := sync.Pool{New: func() any { return make([]byte, sumBuffer) }}
	eg, ctx := errgroup.WithContext(ctx)
	eg.SetLimit(max(workers, 1))
	for i := range records {
		r := &records[i]
		for _, name := range r.Outputs {
			eg.Go(func() error {
				buf := buffers.Get().([]byte) //nolint:forcetypeassert // the pool's own
				defer buffers.Put(buf)        //nolint:staticcheck // a slice's head is small
				bytes, wrong := d.checkOutput(ctx, r, name, buf)
				advance(bytes)
				switch {
				case ctx.Err() != nil:
					return ctx.Err()
				case wrong == nil, done && errors.Is(wrong, fs.ErrNotExist) && strings.HasPrefix(name, State+string(filepath.Separator)):
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				return found(Problem{name, wrong, r})
			})
		}
	}
	return eg.Wait()
}

// checkOutput compares an output with its record, and returns the number of bytes
// that it read.
func (d *Dir) checkOutput(ctx context.Context, r *TaskRecord, name string, buf []byte) (bytes int64, err error) {
	path := d.Path(name)
	info, err := os.Stat(path)
	want, summed := r.Sums[name]
	if err != nil || !summed { // of an earlier program
		return 0, err
	}
	var got data.Sum
	if info.Size() == want.Bytes {
		if got, err = sumOf(ctx, path, buf); err != nil {
			return got.Bytes, err
		}
	}
	if got != want {
		err = fmt.Errorf("%s: %w", path, errOtherBytes)
	}
	return got.Bytes, err
}

// records reads the records of all finished tasks.
func (d *Dir) records() (all []TaskRecord, err error) {
	entries, err := os.ReadDir(d.Path(Tasks))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue
		}
		var r TaskRecord
		path := d.Path(Tasks, e.Name())
		if err := ReadJSON(path, &r); err != nil {
			return nil, err
		}
		if d.RecordPath(r.Stage, r.Task) != path {
			return nil, fmt.Errorf("%s is the record of task %d of %s: delete the file, and the same command makes it again", path, r.Task, r.Stage)
		}
		all = append(all, r)
	}
	return all, nil
}

// Forget removes a task's record, so that the task is done again.
func (d *Dir) Forget(r *TaskRecord) error {
	err := os.Remove(d.RecordPath(r.Stage, r.Task))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Strangers lists the parts of tables and of the clean dump that no record names,
// in order. It leaves out quarantine, which may come from an abandoned attempt.
func (d *Dir) Strangers() (names []string, err error) {
	records, err := d.records()
	if err != nil {
		return nil, err
	}
	named := map[string]bool{}
	for _, r := range records {
		for _, name := range r.Outputs {
			named[name] = true
		}
	}
	for _, folder := range append(slices.Clone(Tables), Clean) {
		parts, err := Parts(d.path, folder)
		if err != nil {
			return nil, err
		}
		for _, part := range parts {
			if name := filepath.Join(folder, filepath.Base(part)); !named[name] {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}
