// Package shuffle runs the join in memory, on all cores. It moves postings from
// the map through the two reduces to the comparison of groups. What each step
// does is in mapper and reducer; this package decides only which goroutine does
// it and when.
//
//	documents ── mapper ──► column of postings, key and suffix
//	                             │ reducer.Partial: equal ones become one posting list
//	                             ▼
//	       posting lists ── for each table ──► partitions by key
//	                             │ reducer.Grouper: the groups of a key
//	                             ▼
//	                        mapper.SegmentComparer: 1 − h/bits, once for each pair
//
// All posting lists of a key are in one partition and one group, even those of a
// hot key. Two things keep a hot group small: the partial reduce, which deals
// postings by other bits than the key, has already merged equal ones, and the
// comparison splits the group further by the bits that vary in it.
package shuffle

import (
	"context"
	"sync/atomic"

	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/reducer"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/columns"
)

// Worker groups and compares the partitions of segment tables, one at a time. It
// is not safe for concurrent use; make one for each goroutine.
type Worker[F columns.Fingerprint] struct {
	tier    *mapper.Tier
	group   reducer.Grouper[F]
	compare *mapper.SegmentComparer[F]
	parts   []F // buffer of Bucket
}

// NewWorker returns a Worker for the tier's tables.
func NewWorker[F columns.Fingerprint](tier *mapper.Tier) *Worker[F] {
	return &Worker[F]{tier: tier, compare: mapper.NewSegmentComparer[F](tier)}
}

// Partition calls visit with the pairs of a partition of a table: the distinct
// fingerprints values. The partition must hold all fingerprints of each of its
// keys, and these may differ only in the bits of free. Partition adds what it
// did to count, which may be nil.
func (w *Worker[F]) Partition(ctx context.Context, table int, values []F, free columns.Mask, count *Count, visit func(a, b *F, distance int)) error {
	var did rundir.TableCount
	for key, mask := range w.tier.Layout.Keys(table) {
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

// Bucket is Partition for more fingerprints than a core's cache holds. It first
// deals them to partitions by the table's key.
func (w *Worker[F]) Bucket(ctx context.Context, table int, values []F, count *Count, visit func(a, b *F, distance int)) error {
	dealt, bounds, free := columns.Partitions(values, w.tier.Layout.Block(table), 1, &w.parts)
	for p, end := range bounds[1:] {
		if err := w.Partition(ctx, table, dealt[bounds[p]:end], free, count, visit); err != nil {
			return err
		}
	}
	return nil
}

// Options are what the joins of this package have in common.
type Options struct {
	Workers int                                             // goroutines; at least 1 is used
	Counts  []*Count                                        // by table; nil if nothing is to be counted
	Pass    func(total int64, unit string) func(done int64) // reports progress, in tables; may be nil

	once bool // count a fingerprint as one posting, however many documents it has
}

// count returns the count of a table, or nil if nothing is to be counted.
func (o *Options) count(table int) *Count {
	if o.Counts == nil {
		return nil
	}
	return o.Counts[table]
}

// begin reports that a pass over so many tables begins.
func (o *Options) begin(tables int64) (advance func(int64)) {
	if o.Pass == nil {
		return func(int64) {}
	}
	return o.Pass(tables, "tables")
}

// Segments calls visit with every pair of distinct fingerprints of l, all of
// documents of the tier, that the tier reports. It visits each pair once, as indices
// i < j into l, in no particular order. It misses no pair, whatever the layout.
//
// Workers are numbered from 0. Several may call visit at the same time, but
// never two with the same number. When ctx is cancelled, Segments soon returns
// the error of ctx; it has visited some of the pairs by then.
func Segments[F columns.Fingerprint](ctx context.Context, l *columns.Lists[F], tier *mapper.Tier, o Options, visit func(worker int, i, j uint32, distance int)) error {
	if err := ctx.Err(); err != nil || tier.K == 0 || l.Len() < 2 {
		return err
	}
	layout := tier.Layout
	advance := o.begin(int64(layout.Tables()))
	workers := max(o.Workers, 1)
	reduce, found := make([]*Worker[F], workers), make([]*named[F], workers)
	for w := range reduce {
		reduce[w] = NewWorker[F](tier)
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

// countKeys adds to count the postings and posting lists of a table, by key.
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

// named turns pairs of fingerprints into pairs of indices into lists. It collects
// them, since looking up many at a time is faster. The last ones need a flush.
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

// Values calls visit for each value that two or more postings share, with the
// places of these, ascending. postings is a column of one table, as
// mapper.KeyEmitter.Column makes it; work is a buffer of the same length. Workers
// call visit as in Segments. places is reused.
//
// It sorts by value, and returns the sorted column and the other of the two
// slices, for reuse.
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

// Each calls f for i from 0 to n-1 on workers goroutines, with the number of the
// worker, which never makes two calls at once. Workers take runs of consecutive
// i. It returns the first error; a panic of f counts as one.
func Each(ctx context.Context, workers, n int, f func(worker, i int) error) error {
	const most = 4096
	run := max(min(n/(8*workers), most), 1)
	var next atomic.Int64
	return parallel.Each(ctx, workers, workers, func(ctx context.Context, w int) error {
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
