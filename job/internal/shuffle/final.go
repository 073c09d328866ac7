package shuffle

import (
	"context"
	"errors"
	"slices"

	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/reducer"
	"github.com/neardup/neardup/simhash/columns"
)

// Comparer compares the documents of groups: a [mapper.Comparer], or a [Batch], which
// does so later.
type Comparer interface {
	Shared(table int, key uint64, docs []uint64) error
	Near(a, b []uint64, distance int) error
}

// Final does the final reduce and the comparison for one partition of keys, one
// table at a time, where the partial reduce ran elsewhere. It is not safe for
// concurrent use.
type Final[F columns.Fingerprint] struct {
	tiers   mapper.Tiers
	compare Comparer
	reduce  []*Worker[F] // by segment table; those of a tier share one
	a, b    []uint64
}

// NewFinal returns a Final that passes the documents it brings together to
// compare.
func NewFinal[F columns.Fingerprint](tiers mapper.Tiers, compare Comparer) *Final[F] {
	f := &Final[F]{tiers: tiers, compare: compare}
	for i := range tiers {
		w := NewWorker[F](&tiers[i])
		for range tiers[i].Layout.Tables() {
			f.reduce = append(f.reduce, w)
		}
	}
	return f
}

// Table finds the candidate pairs among came, the postings of a table. They must
// include all postings of each of their keys. So that each pair is found once, a
// segment table finds the pairs of its tier that no earlier key brings together, and
// only table 0 finds those with the same fingerprint. What it did is added to count.
func (f *Final[F]) Table(ctx context.Context, table int, came *reducer.Postings[F], count *Count) error {
	lists, err := reducer.Final(came, columns.Width[F](), 1)
	if err != nil {
		return err
	}
	tier, of := f.tiers.Table(table)
	if tier == nil {
		return f.values(ctx, of, lists, count)
	}
	keys := NewKeys[F](tier.Layout, of)
	err = lists.Each(func(i int, docs []uint64) error {
		keys.Add(&lists.Values()[i], len(docs))
		if table == 0 && len(docs) > 1 {
			return f.compare.Shared(mapper.SegmentTables, 0, docs)
		}
		return nil
	})
	if err != nil {
		return err
	}
	AddKeys(count, keys)
	var failed error
	found := &named[F]{lists: lists.Lists, visit: func(i, j uint32, distance int) {
		if failed == nil {
			f.a, f.b = lists.Documents(f.a[:0], int(i)), lists.Documents(f.b[:0], int(j))
			failed = f.compare.Near(f.a, f.b, distance)
		}
	}}
	if err := f.reduce[table].Bucket(ctx, of, lists.Values(), count, found.add); err != nil {
		return err
	}
	found.flush()
	return failed
}

// values finds the documents that share a value of mapper.Tables[table].
func (f *Final[F]) values(ctx context.Context, table int, lists *reducer.PostingLists[F], count *Count) error {
	var did rundir.TableCount
	var of uint64 // what the documents in f.a share
	compare := func() error {
		AddDocuments(&did, int64(len(f.a)))
		if len(f.a) < 2 {
			return ctx.Err()
		}
		slices.Sort(f.a)
		return errors.Join(ctx.Err(), f.compare.Shared(table, of, f.a))
	}
	f.a = f.a[:0]
	err := lists.Each(func(i int, docs []uint64) error {
		if value := mapper.Value(columns.Shifted(&lists.Values()[i], 0)); value != of {
			if err := compare(); err != nil {
				return err
			}
			f.a, of = f.a[:0], value
		}
		f.a = append(f.a, docs...)
		return nil
	})
	if err == nil {
		err = compare()
	}
	count.Add(did)
	return err
}
