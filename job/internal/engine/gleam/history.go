//go:build linux

package gleam

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/check"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/supervise"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/wire"
	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
)

// The flow that joins this run with earlier nights has one step. Each worker indexes
// the run's documents once and streams its splits of the library past that index,
// several tasks at once. It writes what a task found to a file in the run directory,
// the task's part. So neither a further attempt nor a run that resumes joins those
// splits again.

// historyPayload is what the workers are told.
type historyPayload struct {
	Sequence    int64             // the library's change that is read
	Splits      [][]library.Split // by task
	Parts       []string          // names of their parts
	Rows, Units int               // of the run
	Documents   int               // splits of the run's documents
}

// part is what was found in the splits of a task.
type part struct {
	Documents int64          // of the library that it covers
	Seen      map[int]string // by row the night in which its id was first there
	Unchanged map[int]string // by row of no unit the night that first has it as it is
	Plain     map[int]history.Nights
	Units     []history.Gathered
}

const kindPart = "neardup part 3"

// History deals the library's splits, in groups, to one worker per agent. The worker
// uses all cores of its host and holds the run's index in memory once.
func (e *Engine) History(ctx context.Context, job *engine.Job, documents *corpus.Night, l *library.Library, splits []library.Split, found *history.Matches) error {
	p := historyParts{dir: job.Dir.Path(rundir.State, history.PartsFolder), found: found}
	sequence := l.Manifest().Sequence
	groups := grouped(splits, e.historyRows)
	missing := make([]int, len(groups))
	for i, group := range groups {
		missing[i] = i
		p.names = append(p.names, fmt.Sprintf("%016x", xxh3.HashString(fmt.Sprintf("%s %s %d %d %d %v", job.Hash, job.Config.Library.Night, sequence, found.Rows(), found.Units(), group))))
	}
	if err := p.tidy(); err != nil {
		return named(stageHistory, err)
	}
	missing, kept, err := p.take(missing)
	if err != nil {
		return named(stageHistory, err)
	}
	job.Tell(kept)
	if len(missing) == 0 {
		return nil
	}
	return e.splits(ctx, job, splitFlow{
		stage: stageHistory, missing: missing, undone: "parts of the library not joined",
		advanced: func(p attempt.Progress) int64 {
			if p.Stage != stageHistory {
				return 0
			}
			return p.In
		},
		prepare: func(s *attempt.Spec, agents []cluster.Agent, missing []int) (payload any, err error) {
			s.Assigned = historyLanes(agents, groups, missing)
			s.Scope = s.Config.Library.Path // its files are known once it is locked
			s.Files, err = libraryFiles(job, splits)
			return historyPayload{Sequence: sequence, Splits: groups, Parts: p.names, Rows: found.Rows(), Units: found.Units(), Documents: len(job.Splits)}, err
		},
		finished: p.take,
	})
}

// historyRows is the least number of library documents in one task, if there are so
// many. Each task passes over all of the run's documents once, however few it streams,
// and a library may have a small file for each night.
const historyRows = 1 << 18

// grouped groups neighbouring splits into tasks of at least so many rows.
func grouped(splits []library.Split, rows int64) (groups [][]library.Split) {
	have := rows
	for _, s := range splits {
		if have >= rows {
			groups, have = append(groups, nil), 0
		}
		last := &groups[len(groups)-1]
		*last = append(*last, s)
		have += s.Rows
	}
	return groups
}

// historyLanes deals the missing tasks to one worker an agent.
func historyLanes(agents []cluster.Agent, groups [][]library.Split, missing []int) [][]int {
	n := min(len(agents), len(missing), cluster.Total(agents).Slots-1)
	lanes := deal(missing, max(1, n), func(i int) (rows int64) {
		for _, s := range groups[i] {
			rows += s.Rows
		}
		return max(1, rows)
	})
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
		prints = append(prints, job.Dir.Path(rundir.Fingerprints, rundir.PartName(task, ".parquet")), corpus.ExactPath(job.Dir, task))
	}
	paths = append(append(paths, filepath.Join(dir, library.ManifestFile)), check.Spread(prints)...)
	return check.Files(paths, attempt.File{Library: true})
}

// historyParts are the parts of the tasks.
type historyParts struct {
	dir   string
	names []string // by task
	found *history.Matches
}

// tidy makes the folder of the parts, and removes parts of other splits, left from
// before the library changed.
func (p *historyParts) tidy() error {
	if err := os.MkdirAll(p.dir, 0o777); err != nil {
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

// take merges the existing parts of the missing tasks into found. It returns the tasks
// without a part, and how many library documents the others covered. Another attempt
// would not fix its errors.
func (p *historyParts) take(missing []int) (left []int, documents int64, err error) {
	var mu sync.Mutex
	err = parallel.Each(context.Background(), len(missing), runtime.GOMAXPROCS(0), func(_ context.Context, i int) error {
		n, err := readPart(filepath.Join(p.dir, p.names[missing[i]]), p.found)
		mu.Lock()
		defer mu.Unlock()
		if errors.Is(err, fs.ErrNotExist) {
			left = append(left, missing[i])
			return nil
		}
		documents += n
		return err
	})
	err = supervise.Final(err)
	slices.Sort(left)
	return left, documents, err
}

// writePart writes what was found in the splits of a task.
func writePart(path string, found *history.Matches) error {
	p := part{Documents: found.Documents(), Seen: map[int]string{}, Unchanged: map[int]string{}, Plain: map[int]history.Nights{}}
	for row := range found.Rows() {
		if night := found.FirstSeen(row); night != "" {
			p.Seen[row] = night
		}
		if night := found.Unchanged(row); night != "" {
			p.Unchanged[row], p.Plain[row] = night, found.Plain(row)
		}
	}
	for unit := range uint32(found.Units()) {
		if g, ok := found.Gathered(unit); ok {
			p.Units = append(p.Units, g)
		}
	}
	return state.WriteGob(path, kindPart, p)
}

// readPart merges a part into found, and returns how many documents of the
// library it covers.
func readPart(path string, found *history.Matches) (documents int64, err error) {
	p, err := state.ReadGob[part](path, kindPart)
	if err != nil {
		return 0, err
	}
	if !p.fits(found) {
		return 0, fmt.Errorf("%s: %w", path, state.ErrDamaged)
	}
	for row, night := range p.Seen {
		found.Seen(row, night, p.Unchanged[row])
		if nights := p.Plain[row]; len(nights) > 0 {
			found.TakePlain(row, nights)
		}
	}
	for i := range p.Units {
		found.Take(&p.Units[i])
	}
	found.Pass(p.Documents)
	return p.Documents, nil
}

// fits reports whether the part belongs to this run's documents.
func (p *part) fits(found *history.Matches) bool {
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

// historyTasks joins splits of the library.
func (w *worker) historyTasks(ctx context.Context, tasks []int) (err error) {
	s, err := payload[historyPayload](w.spec)
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
	documents, err := corpus.ReadNight(ctx, w.spec.Config, dir, s.Documents, runtime.GOMAXPROCS(0), nil)
	if err != nil {
		return err
	}
	if rows, units := documents.IDs.Len(), documents.Views.Len(); rows != s.Rows || units != s.Units {
		return fmt.Errorf("the run has %d documents of %d kinds here, %d of %d where the run was started", rows, units, s.Rows, s.Units)
	}
	free := make(chan *history.Matches, threads)
	for range threads {
		free <- documents.NewMatches(l.Manifest())
	}
	var sending sync.Mutex
	return parallel.Each(ctx, len(tasks), threads, func(ctx context.Context, i int) error {
		task := tasks[i]
		if task >= len(s.Splits) {
			return fmt.Errorf("%w: task %d of %d", wire.ErrFrame, task, len(s.Splits))
		}
		err := parallel.Guard(func() error {
			found := <-free
			if err := documents.Join(ctx, l, s.Splits[task], 1, found, func(n int64) { w.In.Add(n) }); err != nil {
				return err
			}
			if err := writePart(dir.Path(rundir.State, history.PartsFolder, s.Parts[task]), found); err != nil {
				return err
			}
			found.Reset()
			free <- found
			sending.Lock()
			defer sending.Unlock()
			return w.report(rundir.TaskRecord{Stage: stageHistory, Task: task})
		})
		if err != nil && ctx.Err() == nil {
			sending.Lock()
			w.split = l.Path(s.Splits[task][0].File)
			sending.Unlock()
		}
		return err
	})
}
