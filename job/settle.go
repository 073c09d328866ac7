package job

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/job/rundir"
	"github.com/neardup/neardup/simhash/sketch"
)

// settledPair is a pair of units, as their smallest documents, whose texts were
// consulted.
type settledPair struct {
	a, b    uint32
	jaccard float32
	same    bool
}

func (p settledPair) compare(q settledPair) int {
	return cmp.Or(cmp.Compare(p.a, q.a), cmp.Compare(p.b, q.b))
}

// find returns the pair of the units of two documents, in any order, if its
// texts were consulted: any two documents of two units have the same verdict.
func (v *verification) find(a, b uint32) (settledPair, bool) {
	a, b = v.unit(a), v.unit(b)
	at, ok := slices.BinarySearchFunc(v.settled, settledPair{a: min(a, b), b: max(a, b)}, settledPair.compare)
	if !ok {
		return settledPair{}, false
	}
	return v.settled[at], true
}

// settle consults the texts of the open pairs and puts those that are the
// same.
func (v *verification) settle(ctx context.Context, open []data.Pair, put func(data.Pair)) (err error) {
	if len(open) == 0 {
		return nil
	}
	slices.SortFunc(open, func(p, q data.Pair) int { return cmp.Or(cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B)) })
	texts, err := v.consult(ctx, open)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, texts.close()) }()
	v.settled = make([]settledPair, len(open))
	var group errgroup.Group
	workers := max(v.run.workers, 1)
	for w := range workers {
		group.Go(func() error {
			from, to := len(open)*w/workers, len(open)*(w+1)/workers
			var x, y []uint64
			last, read := uint32(0), false
			for i, p := range open[from:to] {
				if i&0xfff == 0 && ctx.Err() != nil {
					return ctx.Err()
				}
				var err error
				if !read || p.A != last {
					if x, err = texts.shingles(x, p.A); err != nil {
						return err
					}
					last, read = p.A, true
				}
				if y, err = texts.shingles(y, p.B); err != nil {
					return err
				}
				v.settled[from+i] = settledPair{a: p.A, b: p.B, jaccard: float32(sketch.Jaccard(x, y))}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, p := range open {
		verdict, err := v.confirmer.Settle(p.A, p.B, float64(v.settled[i].jaccard))
		if err != nil {
			return err
		}
		if v.settled[i].same = verdict.Same; verdict.Same {
			put(p)
		}
	}
	return nil
}

// shingleFile keeps the shingles of the texts that are consulted, on disk.
type shingleFile struct {
	file *os.File
	mu   sync.Mutex
	at   map[uint32]shingleSpan // by document
	size int64
}

type shingleSpan struct {
	offset int64
	n      int
}

func (f *shingleFile) add(doc uint32, shingles []uint64, buf []byte) ([]byte, error) {
	buf = buf[:0]
	for _, s := range shingles {
		buf = binary.LittleEndian.AppendUint64(buf, s)
	}
	f.mu.Lock()
	at := f.size
	f.size += int64(len(buf))
	f.at[doc] = shingleSpan{at, len(shingles)}
	f.mu.Unlock()
	if _, err := f.file.WriteAt(buf, at); err != nil {
		return buf, fmt.Errorf("texts: %w", err)
	}
	return buf, nil
}

// shingles reads those of doc into dst.
func (f *shingleFile) shingles(dst []uint64, doc uint32) ([]uint64, error) {
	span := f.at[doc]
	buf := make([]byte, span.n*8)
	if _, err := f.file.ReadAt(buf, span.offset); err != nil {
		return dst, fmt.Errorf("texts: %w", err)
	}
	dst = dst[:0]
	for ; len(buf) > 0; buf = buf[8:] {
		dst = append(dst, binary.LittleEndian.Uint64(buf))
	}
	return dst, nil
}

func (f *shingleFile) close() error { return errors.Join(f.file.Close(), os.Remove(f.file.Name())) }

// wantedRow is a document whose text is read again.
type wantedRow struct {
	row int64
	doc uint32
}

// consult reads the documents of the open pairs again.
func (v *verification) consult(ctx context.Context, open []data.Pair) (_ *shingleFile, err error) {
	wanted := map[uint32]bool{}
	for _, p := range open {
		wanted[p.A], wanted[p.B] = true, true
	}
	rows := make([]wantedRow, 0, len(wanted))
	err = v.documents.Rows(func(doc uint32, row uint64) {
		if wanted[doc] {
			rows = append(rows, wantedRow{int64(row), doc})
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b wantedRow) int { return cmp.Compare(a.row, b.row) })
	v.run.Log.Info("reading the texts of pairs near the limit", "pairs", len(open), "documents", len(rows))

	file, err := os.Create(v.run.dir.Path(rundir.Scratch, "shingles"))
	if err != nil {
		return nil, fmt.Errorf("texts: %w", err)
	}
	out := &shingleFile{file: file, at: make(map[uint32]shingleSpan, len(rows))}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.close())
		}
	}()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(v.run.workers, 1))
	for task, first := range v.first {
		end := sort.Search(len(rows), func(i int) bool {
			return task+1 < len(v.first) && rows[i].row >= v.first[task+1]
		})
		here := rows[:end]
		rows = rows[end:]
		if len(here) == 0 {
			continue
		}
		group.Go(func() error {
			return engine.Guard(func() error { return v.consultSplit(ctx, task, first, here, out) })
		})
	}
	return out, group.Wait()
}

// consultSplit reads the wanted rows of a split, whose first is row first.
func (v *verification) consultSplit(ctx context.Context, task int, first int64, wanted []wantedRow, out *shingleFile) error {
	w := v.run.job.Analyzer.NewWorkspace()
	f := v.run.job.Fingerprinter()
	defer v.run.job.Release(f)
	var text, buf []byte
	var shingles []uint64
	rows := make([]int64, len(wanted))
	for i := range wanted {
		rows[i] = wanted[i].row - first
	}
	return eachRow(ctx, v.run.dir.Path(), v.run.manifest, task, v.run.config.Input, rows, func(i int, doc *data.Document) (err error) {
		text = w.Normalize(text[:0], f.Text(doc))
		shingles = sketch.Shingles(shingles[:0], text)
		buf, err = out.add(wanted[i].doc, shingles, buf)
		return err
	})
}
