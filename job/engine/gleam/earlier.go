package gleam

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/job/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/engine/gleam/internal/check"
	"github.com/neardup/neardup/job/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/engine/gleam/internal/supervise"
	"github.com/neardup/neardup/job/engine/gleam/internal/wire"
	"github.com/neardup/neardup/job/rundir"
	"github.com/neardup/neardup/reducer"
)

// The flow that joins this run with previous nights has one step: each worker
// indexes the run's documents once and streams its splits of the library past
// them, several at once. What it found in a split it sends to the driver, the
// records of one split after the other:
//
//	seen  kind u8 = 1, row, night
//	unit  kind u8 = 2, unit, exact, last, number of matches,
//	      of each night, id, first seen, distance, similarity f64, reason;
//	      number of clusters, the clusters
//	end   kind u8 = 3, documents u64, records before this one u64, XXH3-64 of all before u64
//
// Numbers without a size are varints; a text is its length, a varint, and its
// bytes. In a frame the records follow the split's number u32 and a byte that
// is 1 in its last frame. The driver writes each split's records to a file of
// the run directory, its part, which is there only when it is whole: further
// attempts, and a run that goes on, need not join that split again.

// earlierPayload is what the workers are told.
type earlierPayload struct {
	Sequence    int64 // the library's change that is read
	Splits      []library.Split
	Parts       []string // names of their parts
	Rows, Units int      // of the run
}

// Kinds of records.
const (
	recordSeen = 1
	recordUnit = 2
	recordEnd  = 3
)

const (
	partHead = 4 + 1
	partEnd  = 1 + 3*8
)

// recordClusters is how many bytes of clusters one record holds: a unit of more
// is sent as several.
const recordClusters = 64 << 10

// Earlier deals the splits to one worker an agent, which takes all cores of its
// host and holds the index of the run once.
func (e *Engine) Earlier(ctx context.Context, job *engine.Job, tonight *engine.Tonight, l *library.Library, splits []library.Split, found *reducer.Earliest) error {
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
		stage: stageEarlier, missing: missing, undone: "splits of the library are not joined",
		advanced: func(p attempt.Progress) int64 {
			if p.Stage != stageEarlier {
				return 0
			}
			return p.In
		},
		assign: func(agents []cluster.Agent, missing []int) [][]int { return earlierLanes(agents, splits, missing) },
		prepare: func(s *attempt.Spec, _ []cluster.Agent) (payload any, err error) {
			s.Scope = s.Config.Library.Path // its files are known once it is locked
			s.Files, err = libraryFiles(s.Run, s.Config, splits)
			return earlierPayload{Sequence: sequence, Splits: splits, Parts: p.names, Rows: found.Rows(), Units: found.Units()}, err
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
func libraryFiles(run string, cfg config.Config, splits []library.Split) ([]attempt.File, error) {
	dir := cfg.Library.Path
	m, err := library.ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, split := range splits {
		if path := filepath.Join(dir, filepath.FromSlash(split.File)); len(paths) == 0 || paths[len(paths)-1] != path {
			paths = append(paths, path)
		}
	}
	paths = check.Spread(paths)
	for _, d := range m.Deletions {
		if d.File != "" {
			paths = append(paths, filepath.Join(dir, filepath.FromSlash(d.File)))
		}
	}
	paths = append(paths, filepath.Join(dir, library.ManifestFile), filepath.Join(run, rundir.State, engine.NightFile))
	return check.Files(paths, attempt.File{Library: true})
}

// earlierParts are the parts of the splits.
type earlierParts struct {
	dir   string
	names []string // by split
	found *reducer.Earliest
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
			path := filepath.Join(p.dir, p.names[split])
			b, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			n := int64(0)
			if err == nil {
				if n, err = takePart(b, p.found); err != nil {
					return fmt.Errorf("%s: %w: remove it and run the same command again", path, err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if documents += n; err != nil {
				left = append(left, split)
			}
			return nil
		})
	}
	err = supervise.Final(group.Wait())
	slices.Sort(left)
	return left, documents, err
}

// partWriter appends the records of one split to a worker's frames.
type partWriter struct {
	w       *worker
	split   int
	records uint64
	sum     *xxh3.Hasher
}

// begin returns the buffer that the split's next record is to be appended to.
func (p *partWriter) begin() []byte {
	b := p.w.send.Record(0)
	if p.w.send.Empty(0) {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(p.split)), 0)
	}
	return b
}

// put sends a record.
func (p *partWriter) put(record []byte) error {
	_, _ = p.sum.Write(record) // a hash takes everything
	p.records++
	return p.w.send.Put(0, append(p.begin(), record...))
}

// end sends the end of the split.
func (p *partWriter) end(documents int64) error {
	end := binary.LittleEndian.AppendUint64([]byte{recordEnd}, uint64(documents))
	end = binary.LittleEndian.AppendUint64(end, p.records)
	_, _ = p.sum.Write(end) // a hash takes everything
	end = binary.LittleEndian.AppendUint64(end, p.sum.Sum64())
	b := p.begin()
	b[wire.Header+4] = 1
	if err := p.w.send.Put(0, append(b, end...)); err != nil {
		return err
	}
	return p.w.send.Flush()
}

// sendPart sends what was found in a split.
func (w *worker) sendPart(split int, found *reducer.Earliest) error {
	p := &partWriter{w: w, split: split, sum: xxh3.New()}
	var b []byte
	for row := range found.Rows() {
		if night := found.FirstSeen(row); night != "" {
			b = appendText(binary.AppendUvarint(append(b[:0], recordSeen), uint64(row)), night)
			if err := p.put(b); err != nil {
				return err
			}
		}
	}
	for unit := range uint32(found.Units()) {
		g, ok := found.Gathered(unit)
		if !ok {
			continue
		}
		for more := true; more; {
			rest := g
			n, size := 0, 0
			for n < len(g.Clusters) && size < recordClusters {
				size += len(g.Clusters[n])
				n++
			}
			rest.Clusters = g.Clusters[:n]
			if err := p.put(appendGathered(b[:0], &rest)); err != nil {
				return err
			}
			g = reducer.Gathered{Unit: unit, Clusters: g.Clusters[n:]}
			more = len(g.Clusters) > 0
		}
	}
	return p.end(found.Documents())
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendGathered(dst []byte, g *reducer.Gathered) []byte {
	dst = append(dst, recordUnit)
	for _, n := range []uint64{uint64(g.Unit), uint64(g.Exact), uint64(g.Last), uint64(len(g.Matches))} {
		dst = binary.AppendUvarint(dst, n)
	}
	for _, m := range g.Matches {
		dst = appendText(appendText(appendText(dst, m.Night), m.ID), m.FirstSeen)
		dst = binary.AppendUvarint(dst, uint64(m.Distance))
		dst = appendText(binary.LittleEndian.AppendUint64(dst, math.Float64bits(m.Similarity)), m.Reason)
	}
	dst = binary.AppendUvarint(dst, uint64(len(g.Clusters)))
	for _, c := range g.Clusters {
		dst = appendText(dst, c)
	}
	return dst
}

// partOf is what the end of a part says of it.
type partOf struct {
	documents    int64
	records, sum uint64
}

// cutPart returns the records before the end of a part and what its end says;
// ErrFrame without one.
func cutPart(b []byte) (records []byte, end partOf, err error) {
	n := len(b) - partEnd
	if n < 0 || b[n] != recordEnd {
		return nil, end, fmt.Errorf("%w: %d bytes of a part without its end", wire.ErrFrame, len(b))
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[n+1+8*i:]) }
	return b[:n], partOf{documents: int64(at(0)), records: at(1), sum: at(2)}, nil
}

// takePart merges the records of a part into found, and returns how many
// documents of the library they cover; ErrFrame unless the part is whole.
func takePart(b []byte, found *reducer.Earliest) (documents int64, err error) {
	records, end, err := cutPart(b)
	if err != nil {
		return 0, err
	}
	if end.sum != xxh3.Hash(b[:len(b)-8]) {
		return 0, fmt.Errorf("%w: the checksum of a part of %d bytes is wrong", wire.ErrFrame, len(b))
	}
	r := partReader{b: records}
	n := uint64(0)
	for ; len(r.b) > 0 && r.err == nil; n++ {
		switch kind := r.byte(); kind {
		case recordSeen:
			row, night := r.number(), r.text()
			if r.err == nil && row < uint64(found.Rows()) {
				found.Seen(int(row), night)
				continue
			}
		case recordUnit:
			g := r.gathered()
			if r.err == nil && int(g.Unit) < found.Units() {
				found.Take(&g)
				continue
			}
		}
		return 0, fmt.Errorf("%w: record %d is of no document of this run", wire.ErrFrame, n)
	}
	if n != end.records {
		return 0, fmt.Errorf("%w: %d records, its end says %d", wire.ErrFrame, n, end.records)
	}
	found.Pass(end.documents)
	return end.documents, nil
}

// partReader reads records; with err all that it reads is zero.
type partReader struct {
	b   []byte
	err error
}

func (r *partReader) fail() { r.b, r.err = nil, wire.ErrFrame }

// take returns the next n bytes, nil if there are fewer.
func (r *partReader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *partReader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *partReader) number() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *partReader) text() string { return string(r.take(r.number())) }

func (r *partReader) float() float64 {
	if b := r.take(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}

func (r *partReader) gathered() (g reducer.Gathered) {
	unit := r.number()
	if unit > math.MaxUint32 {
		r.fail()
	}
	g.Unit, g.Exact, g.Last = uint32(unit), int64(r.number()), int64(r.number())
	for n := r.number(); n > 0 && r.err == nil; n-- {
		g.Matches = append(g.Matches, reducer.Earlier{
			Night: r.text(), ID: r.text(), FirstSeen: r.text(), Distance: int(r.number()), Similarity: r.float(), Reason: r.text(),
		})
	}
	for n := r.number(); n > 0 && r.err == nil; n-- {
		g.Clusters = append(g.Clusters, r.text())
	}
	return g
}

// earlier joins the splits that it was assigned.
func earlier(ctx context.Context, w *worker, tasks []int) error {
	w.open()
	if len(tasks) > 0 {
		if err := w.earlierTasks(ctx, tasks); err != nil {
			return err
		}
	}
	return w.end(0)
}

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
	tonight, err := engine.ReadTonight(ctx, w.spec.Config, dir, runtime.GOMAXPROCS(0), nil)
	if err != nil {
		return err
	}
	if rows, units := tonight.IDs.Len(), tonight.Views.Len(); rows != s.Rows || units != s.Units {
		return fmt.Errorf("the run has %d documents of %d kinds here, %d of %d where the run was started", rows, units, s.Rows, s.Units)
	}
	free := make(chan *reducer.Earliest, threads)
	for range threads {
		free <- tonight.NewEarliest(l.Manifest())
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
				sending.Lock()
				defer sending.Unlock()
				if err := w.sendPart(task, found); err != nil {
					return err
				}
				found.Reset()
				free <- found
				return nil
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

// collectParts has the driver write the parts.
func collectParts(_ attempt.Dir, s *attempt.Spec) (collector, error) {
	p, err := payload[earlierPayload](s)
	if err != nil {
		return nil, err
	}
	return &partCollector{earlierPayload: p, dir: filepath.Join(s.Run, rundir.State, engine.EarlierParts),
		assigned: s.Assigned, coming: make([]*partFile, len(s.Assigned)), joined: make(map[int]bool)}, nil
}

type partCollector struct {
	earlierPayload
	dir      string
	assigned [][]int
	coming   []*partFile  // by worker: the split under way
	joined   map[int]bool // splits whose parts are there
}

// partFile is the part of a split whose records are coming.
type partFile struct {
	split   int
	file    *data.AtomicFile
	sum     *xxh3.Hasher
	records uint64
}

func (c *partCollector) take(f wire.Frame) (err error) {
	if len(f.Payload) < partHead {
		return fmt.Errorf("%w: %d bytes of a part", wire.ErrFrame, len(f.Payload))
	}
	split, last, b := int(binary.LittleEndian.Uint32(f.Payload)), f.Payload[4] == 1, f.Payload[partHead:]
	p := c.coming[f.From]
	if p == nil {
		if !slices.Contains(c.assigned[f.From], split) || c.joined[split] {
			return fmt.Errorf("%w: split %d was reported twice, or not asked for", wire.ErrFrame, split)
		}
		p = &partFile{split: split, sum: xxh3.New()}
		if p.file, err = data.CreateAtomic(filepath.Join(c.dir, c.Parts[split])); err != nil {
			return err
		}
		c.coming[f.From] = p
	}
	if p.split != split {
		return fmt.Errorf("%w: it is of split %d, where %d did not end", wire.ErrFrame, split, p.split)
	}
	p.records += uint64(f.Records)
	if _, err := p.file.Write(b); err != nil {
		return err
	}
	if !last {
		_, _ = p.sum.Write(b) // a hash takes everything
		return nil
	}
	_, end, err := cutPart(b)
	if err != nil {
		return err
	}
	_, _ = p.sum.Write(b[:len(b)-8])
	if end.records != p.records-1 || end.sum != p.sum.Sum64() {
		return fmt.Errorf("%w: not all that was found in split %d came", wire.ErrFrame, split)
	}
	c.coming[f.From], c.joined[split] = nil, true
	return p.file.Commit()
}

func (c *partCollector) finish(uint64) (any, error) {
	for _, split := range slices.Concat(c.assigned...) {
		if !c.joined[split] {
			return nil, fmt.Errorf("%w: nothing was reported of split %d", wire.ErrIncomplete, split)
		}
	}
	return nil, nil
}
