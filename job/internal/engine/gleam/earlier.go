//go:build linux

package gleam

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/internal/earlier"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/check"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/supervise"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/wire"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
)

// The flow that joins this run with previous nights has one step: each worker
// indexes the run's documents once and streams its splits of the library past
// them, several at once. What it found in a split it writes to a file of the run
// directory, the split's part: further attempts, and a run that goes on, need
// not join that split again.

// earlierPayload is what the workers are told.
type earlierPayload struct {
	Sequence    int64 // the library's change that is read
	Splits      []library.Split
	Parts       []string // names of their parts
	Rows, Units int      // of the run
	Documents   int      // splits of the run's documents
}

// part is what was found in one split.
type part struct {
	Documents int64          // of the library that it covers
	Seen      map[int]string // by row the night in which its id was first there
	Unchanged map[int]string // by row of no unit the night that first has it as it is
	Units     []earlier.Gathered
}

const kindPart = "neardup part 2"

// Earlier deals the splits to one worker an agent, which takes all cores of its
// host and holds the index of the run once.
func (e *Engine) Earlier(ctx context.Context, job *engine.Job, tonight *engine.Tonight, l *library.Library, splits []library.Split, found *earlier.Known) error {
	p := earlierParts{dir: job.Dir.Path(rundir.State, engine.EarlierParts), found: found}
	sequence := l.Manifest().Sequence
	missing := make([]int, len(splits))
	for i, s := range splits {
		missing[i] = i
		p.names = append(p.names, fmt.Sprintf("%016x", xxh3.HashString(fmt.Sprintf("%s %s %d %d %d %s %d %d", job.Hash, job.Config.Library.Night, sequence, found.Rows(), found.Units(), s.File, s.Start, s.Rows))))
	}
	if err := p.tidy(); err != nil {
		return named(stageEarlier, err)
	}
	missing, kept, err := p.take(missing)
	if err != nil {
		return named(stageEarlier, err)
	}
	if job.Advance != nil {
		job.Advance(kept)
	}
	if len(missing) == 0 {
		return nil
	}
	return e.splits(ctx, job, splitFlow{
		stage: stageEarlier, missing: missing, undone: "splits of the library not joined",
		advanced: func(p attempt.Progress) int64 {
			if p.Stage != stageEarlier {
				return 0
			}
			return p.In
		},
		prepare: func(s *attempt.Spec, agents []cluster.Agent, missing []int) (payload any, err error) {
			s.Assigned = earlierLanes(agents, splits, missing)
			s.Scope = s.Config.Library.Path // its files are known once it is locked
			s.Files, err = libraryFiles(job, splits)
			return earlierPayload{Sequence: sequence, Splits: splits, Parts: p.names, Rows: found.Rows(), Units: found.Units(), Documents: len(job.Splits)}, err
		},
		finished: p.take,
	})
}

// earlierLanes deals the missing splits to one worker an agent.
func earlierLanes(agents []cluster.Agent, splits []library.Split, missing []int) [][]int {
	n := min(len(agents), len(missing), cluster.Total(agents).Slots-1)
	lanes := deal(missing, max(1, n), func(i int) int64 { return max(1, splits[i].Rows) })
	for len(lanes) < cluster.MinTasks {
		lanes = append(lanes, nil)
	}
	return lanes
}

// libraryFiles are what the workers read.
func libraryFiles(job *engine.Job, splits []library.Split) ([]attempt.File, error) {
	dir := job.Config.Library.Path
	m, err := library.ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, split := range splits {
		paths = append(paths, filepath.Join(dir, filepath.FromSlash(split.File)))
	}
	paths = check.Spread(paths)
	for _, d := range m.Deletions {
		if d.File != "" {
			paths = append(paths, filepath.Join(dir, filepath.FromSlash(d.File)))
		}
	}
	var prints []string
	for task := range job.Splits {
		prints = append(prints, job.Dir.Path(rundir.Fingerprints, rundir.PartName(task, ".parquet")), engine.IdenticalPath(job.Dir, task))
	}
	paths = append(append(paths, filepath.Join(dir, library.ManifestFile)), check.Spread(prints)...)
	return check.Files(paths, attempt.File{Library: true})
}

// earlierParts are the parts of the splits.
type earlierParts struct {
	dir   string
	names []string // by split
	found *earlier.Known
}

// tidy makes the folder, and removes the parts of other splits: those of the
// library before it changed.
func (p *earlierParts) tidy() error {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(p.dir)
	for _, e := range entries {
		if !slices.Contains(p.names, e.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(p.dir, e.Name())))
		}
	}
	return err
}

// take merges the parts that are there of the missing splits into found. It
// returns the splits that are left, and how many documents of the library the
// others have; no error of it is mended by trying again.
func (p *earlierParts) take(missing []int) (left []int, documents int64, err error) {
	var mu sync.Mutex
	group := errgroup.Group{}
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, split := range missing {
		group.Go(func() error {
			n, err := readPart(filepath.Join(p.dir, p.names[split]), p.found)
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, fs.ErrNotExist) {
				left = append(left, split)
				return nil
			}
			documents += n
			return err
		})
	}
	err = supervise.Final(group.Wait())
	slices.Sort(left)
	return left, documents, err
}

// writePart writes what was found in a split.
func writePart(path string, found *earlier.Known) error {
	p := part{Documents: found.Documents(), Seen: map[int]string{}, Unchanged: map[int]string{}}
	for row := range found.Rows() {
		if night := found.FirstSeen(row); night != "" {
			p.Seen[row] = night
		}
		if night := found.Unchanged(row); night != "" {
			p.Unchanged[row] = night
		}
	}
	for unit := range uint32(found.Units()) {
		if g, ok := found.Gathered(unit); ok {
			p.Units = append(p.Units, g)
		}
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(p); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return state.Write(path, kindPart, b.Bytes())
}

// readPart merges a part into found, and returns how many documents of the
// library it covers.
func readPart(path string, found *earlier.Known) (documents int64, err error) {
	b, err := state.Read(path, kindPart)
	if err != nil {
		return 0, err
	}
	var p part
	if gob.NewDecoder(bytes.NewReader(b)).Decode(&p) != nil || !p.fits(found) {
		return 0, fmt.Errorf("%s: %w", path, state.ErrDamaged)
	}
	for row, night := range p.Seen {
		found.Seen(row, night, p.Unchanged[row])
	}
	for i := range p.Units {
		found.Take(&p.Units[i])
	}
	found.Pass(p.Documents)
	return p.Documents, nil
}

// fits reports whether the part is of this run's documents.
func (p *part) fits(found *earlier.Known) bool {
	for row := range p.Seen {
		if row < 0 || row >= found.Rows() {
			return false
		}
	}
	for i := range p.Units {
		if int(p.Units[i].Unit) >= found.Units() {
			return false
		}
	}
	return true
}

// earlierTasks joins splits of the library.
func (w *worker) earlierTasks(ctx context.Context, tasks []int) (err error) {
	s, err := payload[earlierPayload](w.spec)
	if err != nil {
		return err
	}
	dir, err := rundir.Attach(w.spec.Run)
	if err != nil {
		return err
	}
	l, err := library.Attach(w.spec.Config.Library.Path, s.Sequence)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	threads := max(1, min(runtime.GOMAXPROCS(0), len(tasks)))
	tonight, err := engine.ReadTonight(ctx, w.spec.Config, dir, s.Documents, runtime.GOMAXPROCS(0), nil)
	if err != nil {
		return err
	}
	if rows, units := tonight.IDs.Len(), tonight.Views.Len(); rows != s.Rows || units != s.Units {
		return fmt.Errorf("the run has %d documents of %d kinds here, %d of %d where the run was started", rows, units, s.Rows, s.Units)
	}
	free := make(chan *earlier.Known, threads)
	for range threads {
		free <- tonight.NewKnown(l.Manifest())
	}
	var sending sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(threads)
	for _, task := range tasks {
		if task >= len(s.Splits) {
			return fmt.Errorf("%w: split %d of %d", wire.ErrFrame, task, len(s.Splits))
		}
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			err := engine.Guard(func() error {
				found := <-free
				if err := tonight.Join(ctx, l, s.Splits[task:task+1], 1, found, func(n int64) { w.In.Add(n) }); err != nil {
					return err
				}
				if err := writePart(dir.Path(rundir.State, engine.EarlierParts, s.Parts[task]), found); err != nil {
					return err
				}
				found.Reset()
				free <- found
				sending.Lock()
				defer sending.Unlock()
				return w.report(rundir.TaskRecord{Stage: stageEarlier, Task: task})
			})
			if err != nil && ctx.Err() == nil {
				sending.Lock()
				w.split = l.Path(s.Splits[task].File)
				sending.Unlock()
			}
			return err
		})
	}
	return group.Wait()
}
