// Package shuffle carries the postings of the join in memory: from the map, by
// way of the two reduces, to the second map, on all cores. The stages are
// mapper's and reducer's; the package decides where and when.
//
//	documents ── mapper ──► column of postings, key and suffix
//	                             │ reducer.Partial: equal ones become one posting list
//	                             ▼
//	       posting lists ── for each table ──► partitions by key
//	                             │ reducer.Grouper: the groups of a key
//	                             ▼
//	                        mapper.SegmentComparer: 1 − h/bits, once for each pair
//
// What a hot key brings together stands in one partition and one group. The
// partial reduce has dealt its postings by other bits before, so that equal ones
// are one; comparing splits the group by the bits that vary in it.
package shuffle

import (
	"context"
	"sync/atomic"

	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/reducer"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/columns"
)

// Worker reduces and compares the partitions of one table after the other. One
// goroutine uses it at a time.
type Worker[F columns.Fingerprint] struct {
	layout  *simhash.Layout
	group   reducer.Grouper[F]
	compare *mapper.SegmentComparer[F]
	parts   []F // of Bucket
}

// NewWorker returns a Worker for the layout's tables that finds what is within k.
func NewWorker[F columns.Fingerprint](layout *simhash.Layout, k int) *Worker[F] {
	return &Worker[F]{layout: layout, compare: mapper.NewSegmentComparer[F](layout, k)}
}

// Partition visits the pairs of a partition of a table, which has all fingerprints
// of each of its keys, distinct ones. All agree outside free. What it did is added
// to count.
func (w *Worker[F]) Partition(ctx context.Context, table int, values []F, free columns.Mask, count *Count, visit func(a, b *F, distance int)) error {
	var did rundir.TableCount
	for key, mask := range w.layout.Keys(table) {
		grouped, ends := w.group.Group(values, mask, free, w.compare.Target())
		from := uint32(0)
		for _, end := range ends {
			if end-from > 1 {
				did.Compared++
			}
			from = end
		}
		err := w.compare.Groups(ctx, table, key, grouped, ends, func(a, b *F, distance int) {
			did.Candidates++
			visit(a, b, distance)
		})
		if err != nil {
			return err
		}
	}
	count.Add(did)
	return nil
}

// Bucket is Partition of more fingerprints than a core's cache holds: they are
// dealt to partitions by the table's key first.
func (w *Worker[F]) Bucket(ctx context.Context, table int, values []F, count *Count, visit func(a, b *F, distance int)) error {
	dealt, bounds, free := columns.Partitions(values, w.layout.Block(table), 1, &w.parts)
	for p, end := range bounds[1:] {
		if err := w.Partition(ctx, table, dealt[bounds[p]:end], free, count, visit); err != nil {
			return err
		}
	}
	return nil
}

// Options of a call.
type Options struct {
	Workers int
	Counts  []*Count                                        // by table of the layout; nil: nobody asks
	Pass    func(total int64, unit string) func(done int64) // told of the tables; may be nil

	once bool // the documents of a fingerprint are equal: the map made one posting of them
}

// count is that of a table; nil: nobody asks.
func (o *Options) count(table int) *Count {
	if o.Counts == nil {
		return nil
	}
	return o.Counts[table]
}

// begin says that work begins to go over so many tables.
func (o *Options) begin(tables int64) (advance func(int64)) {
	if o.Pass == nil {
		return func(int64) {}
	}
	return o.Pass(tables, "tables")
}

// Segments visits every pair of distinct fingerprints of the lists within k, by
// their places i < j, each once, in no particular order. Workers, numbered from
// 0, call visit at the same time, but never twice at once with the same number.
// When ctx is cancelled it soon returns its error, some of the pairs having been
// visited.
func Segments[F columns.Fingerprint](ctx context.Context, l *columns.Lists[F], layout *simhash.Layout, k int, o Options, visit func(worker int, i, j uint32, distance int)) error {
	if err := ctx.Err(); err != nil || k == 0 || l.Len() < 2 {
		return err
	}
	advance := o.begin(int64(layout.Tables()))
	workers := max(o.Workers, 1)
	reduce, found := make([]*Worker[F], workers), make([]*named[F], workers)
	for w := range reduce {
		reduce[w] = NewWorker[F](layout, k)
		found[w] = &named[F]{lists: l, visit: func(i, j uint32, distance int) { visit(w, i, j, distance) }}
	}
	var work []F
	for table := range layout.Tables() {
		if o.count(table) != nil {
			countKeys(l, layout, table, workers, o.once, o.count(table))
		}
		dealt, bounds, free := columns.Partitions(l.Values(), layout.Block(table), workers, &work)
		err := Each(ctx, workers, len(bounds)-1, func(w, p int) error {
			return reduce[w].Partition(ctx, table, dealt[bounds[p]:bounds[p+1]], free, o.count(table), found[w].add)
		})
		if err != nil {
			return err
		}
		advance(1)
	}
	for _, f := range found {
		f.flush()
	}
	return ctx.Err()
}

// countKeys counts what a table has under its keys.
func countKeys[F columns.Fingerprint](l *columns.Lists[F], layout *simhash.Layout, table, workers int, once bool, count *Count) {
	counters := make([]*Keys[F], workers)
	columns.Each(workers, workers, func(int) func(int) {
		return func(part int) {
			m, values := NewKeys[F](layout, table), l.Values()
			for i := l.Len() * part / workers; i < l.Len()*(part+1)/workers; i++ {
				documents := 1
				if !once {
					documents = len(l.Members(i))
				}
				m.Add(&values[i], documents)
			}
			counters[part] = m
		}
	})
	AddKeys(count, counters...)
}

// named has pairs of fingerprints whose places are yet to be looked up.
type named[F columns.Fingerprint] struct {
	lists     *columns.Lists[F]
	visit     func(i, j uint32, distance int)
	n         int
	values    [columns.FindBatch]F // two a pair
	at        [columns.FindBatch]uint32
	distances [columns.FindBatch / 2]uint8
}

func (f *named[F]) add(a, b *F, distance int) {
	if f.n == columns.FindBatch {
		f.flush()
	}
	f.values[f.n], f.values[f.n+1], f.distances[f.n/2] = *a, *b, uint8(distance)
	f.n += 2
}

func (f *named[F]) flush() {
	f.lists.Find(f.values[:f.n], f.at[:])
	for i := 0; i < f.n; i += 2 {
		x, y := f.at[i], f.at[i+1]
		f.visit(min(x, y), max(x, y), int(f.distances[i/2]))
	}
	f.n = 0
}

// Values calls visit with the places, ascending, of what shares a value of a
// column, as mapper.KeyEmitter.Column makes it: each two or more. Workers call it as
// those of Segments do. It uses work, which is as long, and returns the column
// sorted, and the other of the two.
func Values(ctx context.Context, postings, work []uint64, workers int, count *Count, visit func(worker int, value uint64, places []uint64) error) (sorted, spare []uint64, err error) {
	sorted, spare = reducer.ByValue(postings, work, workers)
	start := func(part int) int { // where a group begins
		at := len(sorted) * part / workers
		for at > 0 && at < len(sorted) && mapper.Value(sorted[at]) == mapper.Value(sorted[at-1]) {
			at++
		}
		return at
	}
	err = Each(ctx, workers, workers, func(w, part int) error {
		at, end := start(part), start(part+1)
		var places []uint64
		var did rundir.TableCount
		for n := 0; at < end; n++ {
			if n&0xffff == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			value := mapper.Value(sorted[at])
			places = places[:0]
			for ; at < end && mapper.Value(sorted[at]) == value; at++ {
				places = append(places, uint64(mapper.Place(sorted[at])))
			}
			AddDocuments(&did, int64(len(places)))
			if len(places) < 2 {
				continue
			}
			if err := visit(w, value, places); err != nil {
				return err
			}
		}
		count.Add(did)
		return nil
	})
	return sorted, spare, err
}

// Each calls f for 0 to n-1 on workers goroutines, in runs of some, with the number
// of the worker, and returns the first error, which may be a panic's.
func Each(ctx context.Context, workers, n int, f func(worker, i int) error) error {
	const most = 4096
	run := max(min(n/(8*workers), most), 1)
	var next atomic.Int64
	return engine.Parallel(ctx, workers, workers, func(ctx context.Context, w int) error {
		for from := int(next.Add(int64(run))) - run; from < n; from = int(next.Add(int64(run))) - run {
			if err := ctx.Err(); err != nil {
				return err
			}
			for i := from; i < min(from+run, n); i++ {
				if err := f(w, i); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
