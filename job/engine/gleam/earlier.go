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
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/job/rundir"
	"github.com/neardup/neardup/reducer"
)

// The flow that joins tonight with earlier nights has one step: each worker
// indexes tonight's documents once and streams its splits of the library past
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
// is 1 in its last frame. The driver puts each split's records into a file of
// the run directory, which is there only when it is whole: an attempt that
// fails keeps it.

// earlierSpec is the earlier flow's part.
type earlierSpec struct {
	Sequence    int64 // the library's change that is read
	Splits      []library.Split
	Parts       []string // names of the files of what was found in them
	Lanes       [][]int  // splits, by the worker that joins them
	Rows, Units int      // of tonight
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

// dealt are the tasks of each worker of a flow of one step, and its stage; nil
// for the match flow.
func (s *spec) dealt() ([][]int, stageID) {
	switch {
	case s.Fingerprint != nil:
		return s.Fingerprint.Lanes, stageFingerprint
	case s.Earlier != nil:
		return s.Earlier.Lanes, stageEarlier
	}
	return nil, 0
}

// Earlier deals the splits to one worker an agent, which takes all cores of its
// host and holds tonight's index once. What was found in a split is kept in the
// run directory, for further attempts and for a run that goes on.
func (e *Engine) Earlier(ctx context.Context, job *engine.Job, tonight *engine.Tonight, l *library.Library, splits []library.Split, found *reducer.Earliest) error {
	p := earlierParts{dir: job.Dir.Path(rundir.State, engine.EarlierParts), found: found}
	sequence := l.Manifest().Sequence
	for i, s := range splits {
		p.names = append(p.names, fmt.Sprintf("%016x", xxh3.HashString(fmt.Sprintf("%s %s %d %d %d %s %d %d", job.Hash, job.Config.Library.Night, sequence, found.Rows(), found.Units(), s.File, s.Start, s.Rows))))
		p.missing = append(p.missing, i)
	}
	if err := p.tidy(); err != nil {
		return err
	}
	kept, err := p.take()
	if err != nil {
		return err
	}
	if job.Advance != nil {
		job.Advance(kept)
	}
	if len(p.missing) == 0 {
		return nil
	}
	r := &run{o: e.o, checked: &e.checked, job: job, stage: engine.StageEarlier}
	return r.named(r.attempts(ctx, func() (*spec, error) {
		s, err := r.spec(ctx)
		if err != nil {
			return nil, err
		}
		s.Earlier = &earlierSpec{Sequence: sequence, Splits: splits, Parts: p.names, Rows: found.Rows(), Units: found.Units(), Lanes: earlierLanes(r.agents, splits, p.missing)}
		r.onDisk(s)
		return s, nil
	}, func(*spec, *result) error {
		documents, err := p.take()
		if err != nil {
			return &callerError{err}
		}
		r.kept += documents
		r.lost = fmt.Sprintf("%d of %d splits of the library are not joined; the others are kept", len(p.missing), len(splits))
		if len(p.missing) > 0 {
			return &lostError{fmt.Sprintf("%d splits of the library have no result in the run directory", len(p.missing))}
		}
		return nil
	}))
}

// earlierLanes deals the missing splits to one worker an agent.
func earlierLanes(agents []Agent, splits []library.Split, missing []int) [][]int {
	slots := 0
	for _, a := range agents {
		slots += a.Slots
	}
	sizes := make([]data.Split, len(splits))
	for i, s := range splits {
		sizes[i] = data.Split{End: s.Rows}
	}
	lanes := deal(sizes, missing, max(1, min(len(agents), len(missing), slots-1)))
	for len(lanes) < minTasks {
		lanes = append(lanes, nil)
	}
	return lanes
}

// earlierParts are the files of what was found in the splits.
type earlierParts struct {
	dir     string
	names   []string // by split
	missing []int    // splits that found has not taken in
	found   *reducer.Earliest
}

// tidy makes the folder, and removes what is of other splits: the library has
// changed since.
func (p *earlierParts) tidy() error {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return fmt.Errorf("%s: %w", engine.StageEarlier, err)
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return fmt.Errorf("%s: %w", engine.StageEarlier, err)
	}
	for _, e := range entries {
		if !slices.Contains(p.names, e.Name()) {
			if err := os.Remove(filepath.Join(p.dir, e.Name())); err != nil {
				return fmt.Errorf("%s: %w", engine.StageEarlier, err)
			}
		}
	}
	return nil
}

// take has found take in the parts that are there of the missing splits, and
// returns how many documents of the library they are of.
func (p *earlierParts) take() (documents int64, err error) {
	var mu sync.Mutex
	var left []int
	group := errgroup.Group{}
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, split := range p.missing {
		group.Go(func() error {
			path := filepath.Join(p.dir, p.names[split])
			b, err := os.ReadFile(path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				mu.Lock()
				defer mu.Unlock()
				left = append(left, split)
				return nil
			case err != nil:
				return fmt.Errorf("%s: %w", engine.StageEarlier, err)
			}
			n, err := takePart(b, p.found)
			if err != nil {
				return fmt.Errorf("%s: %s: %w: remove it and run the same command again", engine.StageEarlier, path, err)
			}
			mu.Lock()
			defer mu.Unlock()
			documents += n
			return nil
		})
	}
	err = group.Wait()
	slices.Sort(left)
	p.missing = left
	return documents, err
}

// partWriter appends the records of one split to a worker's frames.
type partWriter struct {
	w       *worker
	split   int
	records uint64
	sum     *xxh3.Hasher
}

// put sends a record.
func (p *partWriter) put(record []byte) error {
	b := p.w.record(0)
	if p.w.waiting[0] == 0 {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(p.split)), 0)
	}
	_, _ = p.sum.Write(record) // a hash takes everything
	p.records++
	return p.w.put(0, append(b, record...))
}

// end sends the end of the split.
func (p *partWriter) end(documents int64) error {
	b := append([]byte(nil), recordEnd)
	b = binary.LittleEndian.AppendUint64(b, uint64(documents))
	b = binary.LittleEndian.AppendUint64(b, p.records)
	_, _ = p.sum.Write(b) // a hash takes everything
	b = binary.LittleEndian.AppendUint64(b, p.sum.Sum64())
	w := p.w
	to := w.record(0)
	if w.waiting[0] == 0 {
		to = append(binary.LittleEndian.AppendUint32(to, uint32(p.split)), 0)
	}
	to[frameHeader+4] = 1
	w.pending[0] = append(to, b...)
	w.waiting[0]++
	if err := w.send(0); err != nil {
		return err
	}
	return w.out.flush()
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

// checkPart returns the records of a part and what its end says: errFrame
// unless it is whole.
func checkPart(b []byte) (records []byte, number uint64, documents int64, err error) {
	if len(b) < partEnd || b[len(b)-partEnd] != recordEnd {
		return nil, 0, 0, fmt.Errorf("%w: a part of %d bytes without its end", errFrame, len(b))
	}
	records, end := b[:len(b)-partEnd], b[len(b)-partEnd+1:]
	if binary.LittleEndian.Uint64(end[16:]) != xxh3.Hash(b[:len(b)-8]) {
		return nil, 0, 0, fmt.Errorf("%w: the checksum of a part of %d bytes is wrong", errFrame, len(b))
	}
	return records, binary.LittleEndian.Uint64(end[8:]), int64(binary.LittleEndian.Uint64(end)), nil
}

// takePart has found take in the records of a part, and returns how many
// documents of the library they are of.
func takePart(b []byte, found *reducer.Earliest) (documents int64, err error) {
	records, number, documents, err := checkPart(b)
	if err != nil {
		return 0, err
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
		return 0, fmt.Errorf("%w: record %d is none of tonight's", errFrame, n)
	}
	if n != number {
		return 0, fmt.Errorf("%w: %d records, its end says %d", errFrame, n, number)
	}
	found.Pass(documents)
	return documents, nil
}

// partReader reads records; with err all that it reads is zero.
type partReader struct {
	b   []byte
	err error
}

func (r *partReader) fail() { r.b, r.err = nil, errFrame }

func (r *partReader) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
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

func (r *partReader) text() string {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.fail()
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *partReader) float() float64 {
	if len(r.b) < 8 {
		r.fail()
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(r.b))
	r.b = r.b[8:]
	return v
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
func (w *worker) earlier(ctx context.Context) error {
	tasks, err := w.assigned()
	if err != nil {
		return err
	}
	w.open(1)
	if len(tasks) > 0 {
		if err := w.earlierTasks(ctx, tasks); err != nil {
			return err
		}
	}
	return w.end(0)
}

func (w *worker) earlierTasks(ctx context.Context, tasks []int) (err error) {
	s := w.spec.Earlier
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
		return fmt.Errorf("tonight has %d documents of %d kinds here, %d of %d where the run was started", rows, units, s.Rows, s.Units)
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
			return fmt.Errorf("%w: split %d of %d", errFrame, task, len(s.Splits))
		}
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			err := engine.Guard(func() error {
				found := <-free
				if err := tonight.Join(ctx, l, s.Splits[task:task+1], 1, found, func(n int64) { w.counters.in.Add(n) }); err != nil {
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

// partFile is the file of a split whose records are coming.
type partFile struct {
	split   int
	file    *data.AtomicFile
	sum     *xxh3.Hasher
	records uint64
}

// takeEarlier books what was found in a split.
func (d *driver) takeEarlier(f frame) error {
	s := d.spec.Earlier
	if len(f.payload) < partHead {
		return fmt.Errorf("%w: %d bytes of a part", errFrame, len(f.payload))
	}
	split, last, b := int(binary.LittleEndian.Uint32(f.payload)), f.payload[4] == 1, f.payload[partHead:]
	p := d.parts[f.from]
	if p == nil {
		if !slices.Contains(s.Lanes[f.from], split) || d.joined[split] {
			return fmt.Errorf("%w: split %d was reported twice, or not asked for", errFrame, split)
		}
		file, err := data.CreateAtomic(filepath.Join(d.spec.Run, rundir.State, engine.EarlierParts, s.Parts[split]))
		if err != nil {
			return err
		}
		p = &partFile{split: split, file: file, sum: xxh3.New()}
		d.parts[f.from] = p
	}
	if p.split != split {
		return fmt.Errorf("%w: it is of split %d, where %d did not end", errFrame, split, p.split)
	}
	p.records += uint64(f.records)
	if !last {
		_, _ = p.sum.Write(b) // a hash takes everything
		_, err := p.file.Write(b)
		return err
	}
	if len(b) < partEnd || b[len(b)-partEnd] != recordEnd {
		return fmt.Errorf("%w: split %d has no end", errFrame, split)
	}
	_, _ = p.sum.Write(b[:len(b)-8])
	end := b[len(b)-partEnd+1:]
	if binary.LittleEndian.Uint64(end[8:]) != p.records-1 || binary.LittleEndian.Uint64(end[16:]) != p.sum.Sum64() {
		return fmt.Errorf("%w: not all that was found in split %d came", errFrame, split)
	}
	if _, err := p.file.Write(b); err != nil {
		return err
	}
	if err := p.file.Commit(); err != nil {
		return err
	}
	d.parts[f.from], d.joined[split] = nil, true
	return nil
}

// finishEarlier checks that all splits are there.
func (d *driver) finishEarlier() error {
	for _, lane := range d.spec.Earlier.Lanes {
		for _, split := range lane {
			if !d.joined[split] {
				return fmt.Errorf("%w: nothing was reported of split %d", errIncomplete, split)
			}
		}
	}
	return nil
}

// libraryFiles are what the workers read for the earlier flow; for an earlier
// flow of the run it is the library's manifest alone, if there is one, which may
// still change.
func (s *spec) libraryFiles() (paths []string, err error) {
	dir := s.Config.Library.Path
	if s.Earlier == nil {
		path := filepath.Join(dir, library.ManifestFile)
		if dir == "" || gone(path) {
			return nil, nil
		}
		return []string{path}, nil
	}
	m, err := library.ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	for _, split := range s.Earlier.Splits {
		if path := filepath.Join(dir, filepath.FromSlash(split.File)); len(paths) == 0 || paths[len(paths)-1] != path {
			paths = append(paths, path)
		}
	}
	paths = spread(paths, checkFiles)
	for _, d := range m.Deletions {
		if d.File != "" {
			paths = append(paths, filepath.Join(dir, filepath.FromSlash(d.File)))
		}
	}
	return append(paths, filepath.Join(dir, library.ManifestFile), filepath.Join(s.Run, rundir.State, engine.NightFile)), nil
}
