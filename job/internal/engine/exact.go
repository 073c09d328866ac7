package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/job/internal/counting"
	"github.com/neardup/neardup/job/internal/state/exactdup"
	"github.com/neardup/neardup/job/internal/state/subset"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/columns"
	"github.com/neardup/neardup/simhash/sketch"
)

// ExactDeduper finds the documents that others stand for: a join by the hash of
// the id, then one by the view. What hashes bring together a second hash of
// the thing itself confirms.
type ExactDeduper struct {
	Documents *Documents
	Rule      mapper.Rule
	Workers   int
	Memory    int64 // bytes

	// IDs calls yield with the ids of a split, in order; Deleted, which may be
	// nil, says which of them the library was told to forget.
	IDs     func(ctx context.Context, split int, yield func(id []byte) error) error
	Deleted func(id []byte) bool

	Pass Pass // each of them over the documents
}

// Find calls emit with the documents, in no particular order and concurrently,
// and has Documents leave them out.
func (x *ExactDeduper) Find(ctx context.Context, emit func(exactdup.Document) error) error {
	d := x.Documents
	drop := func(e exactdup.Document) error {
		d.exclude(e.Doc)
		return emit(e)
	}
	dropOthers := func(kind exactdup.Kind, docs []uint64) error {
		for _, doc := range docs[1:] {
			if err := drop(exactdup.Document{Doc: doc, Kind: kind, Of: docs[0]}); err != nil {
				return err
			}
		}
		return nil
	}
	ids := func(first, last uint64, yield func(doc, key uint64)) error {
		return d.Scan(first, last, views.ID, func(doc uint64, r *views.Row) error {
			yield(doc, r.ID)
			return nil
		})
	}
	err := x.equal(ctx, ids, x.hashIDs, func(docs []uint64, _ uint64) error { return dropOthers(exactdup.DuplicateID, docs) })
	if err != nil {
		return err
	}
	if x.Deleted != nil {
		err := x.eachSplit(ctx, func(split int) error {
			return x.eachID(ctx, split, func(doc uint64, id []byte) error {
				if d.Excluded(doc) || !x.Deleted(id) {
					return nil
				}
				return drop(exactdup.Document{Doc: doc, Kind: exactdup.Deleted})
			})
		})
		if err != nil {
			return err
		}
	}
	prints := func(first, last uint64, yield func(doc, key uint64)) error {
		return d.Each(ctx, first, last, 0, func(doc uint64, r *views.Row) error {
			yield(doc, r.View.Lo^r.View.Hi)
			return nil
		})
	}
	confirm := x.hashViews
	if form := d.Form(); !form.Verified && !form.Wide {
		confirm = nil // the key is all that there is
	}
	return x.equal(ctx, prints, confirm, func(docs []uint64, hash uint64) error {
		if hash&shortText != 0 {
			return dropOthers(exactdup.EqualShort, docs)
		}
		return dropOthers(exactdup.Equal, docs)
	})
}

// keys calls yield with the keys of documents from first to last − 1, in
// ascending order of these.
type keys func(first, last uint64, yield func(doc, key uint64)) error

// within are the keys of documents from first to last − 1.
func (k keys) within(first, last uint64) func(yield func(doc, key uint64)) error {
	return func(yield func(doc, key uint64)) error { return k(first, last, yield) }
}

// documentBytes is about what finding equal keys takes for a document in
// memory, and at most half of it while they are gathered.
const documentBytes = 64

// equal calls found with the documents, ascending, of each two or more that
// share a key, and of which confirm gives the same hash, which found gets too.
// Without confirm the keys are fingerprints, which stay with the documents.
func (x *ExactDeduper) equal(ctx context.Context, keys keys,
	confirm func(ctx context.Context, wanted *subset.Set) ([]uint64, error), found func(docs []uint64, hash uint64) error) error {
	n := x.Documents.Len()
	passesFor := func(documents uint64, memory int64) uint64 { return documents*documentBytes/uint64(max(memory, 1)) + 1 }
	passes, share := passesFor(n, x.Memory), uint64(1)
	pass, of, release := uint64(0), keys, func() {}
	if passes > 1 {
		// Most keys come once. Those that do not are few enough for a pass, or
		// the views are read some times, which costs less than to deal the keys
		// by way of the disk. The counts go before the keys of a single pass are
		// collapsed.
		filter, err := x.repeatedKeys(ctx, keys)
		if err != nil {
			return err
		}
		candidates := filter.Candidates()
		if passes, share = passesFor(candidates, x.Memory), counting.SlotsPerKey; passes > 1 {
			passes = passesFor(candidates, x.Memory/2)
		}
		of = func(first, last uint64, yield func(doc, key uint64)) error {
			return filter.Repeated(keys.within(first, last), func(doc, key uint64) {
				if uint64(mapper.Shard(key, int(passes))) == pass {
					yield(doc, key)
				}
			})
		}
		release = filter.Release
	}
	var groups groups
	for ; pass < passes; pass++ {
		advance := x.begin()
		docs, k, err := Gather(ctx, x.Documents, x.Workers, share, func(first, last uint64, yield func(doc, key uint64)) error {
			defer advance(int64(last - first))
			return of(first, last, yield)
		})
		if err != nil {
			return err
		}
		if pass == passes-1 {
			release()
		}
		lists, err := columns.Collapse(k, 64, x.Workers)
		if err != nil {
			return err
		}
		groups.add(lists, docs)
		if confirm == nil && share == 1 {
			x.Documents.prints = &Prints{Lists: lists, Docs: docs}
		}
	}
	if confirm == nil {
		return groups.each(func(docs []uint64) error { return found(docs, 0) })
	}
	return x.confirmed(ctx, &groups, confirm, found)
}

// confirmed calls found with the documents of each group of which confirm gives
// the same hash.
func (x *ExactDeduper) confirmed(ctx context.Context, groups *groups,
	confirm func(ctx context.Context, wanted *subset.Set) ([]uint64, error), found func(docs []uint64, hash uint64) error) error {
	if len(groups.docs) == 0 {
		return nil
	}
	wanted := subset.New(x.Documents.Len())
	for _, doc := range groups.docs {
		wanted.Add(doc)
	}
	wanted.Seal()
	second, err := confirm(ctx, wanted)
	if err != nil {
		return err
	}
	hash := func(doc uint64) uint64 {
		i, _ := wanted.Index(doc)
		return second[i]
	}
	return groups.each(func(docs []uint64) error {
		slices.SortStableFunc(docs, func(a, b uint64) int { return cmp.Compare(hash(a), hash(b)) })
		for len(docs) > 0 {
			h, same := hash(docs[0]), 1
			for same < len(docs) && hash(docs[same]) == h {
				same++
			}
			if same > 1 && h != nothing {
				if err := found(docs[:same], h); err != nil {
					return err
				}
			}
			docs = docs[same:]
		}
		return nil
	})
}

// Of a view's hash one bit says whether it is a short text's; nothing stands for
// the hash of what resembles nothing.
const (
	shortText = 1
	nothing   = uint64(math.MaxUint64)
)

// groups are the documents of each two or more that share a key.
type groups struct {
	docs []uint64
	ends []int
}

// add adds the groups of documents by their keys, whose lists have their places.
func (g *groups) add(lists *columns.Lists[uint64], docs []uint64) {
	if lists.Len() == len(docs) {
		return
	}
	for i := range lists.Len() {
		members := lists.Members(i)
		if len(members) < 2 {
			continue
		}
		for _, m := range members {
			g.docs = append(g.docs, docs[m])
		}
		g.ends = append(g.ends, len(g.docs))
	}
}

func (g *groups) each(yield func(docs []uint64) error) error {
	start := 0
	for _, end := range g.ends {
		if err := yield(g.docs[start:end:end]); err != nil {
			return err
		}
		start = end
	}
	return nil
}

// hashIDs hashes the ids of the wanted documents once more.
func (x *ExactDeduper) hashIDs(ctx context.Context, wanted *subset.Set) ([]uint64, error) {
	out := make([]uint64, wanted.Len())
	return out, x.eachSplit(ctx, func(split int) error {
		if !wanted.Any(x.Documents.First(split), x.Documents.First(split+1)) {
			return nil
		}
		return x.eachID(ctx, split, func(doc uint64, id []byte) error {
			if i, ok := wanted.Index(doc); ok {
				out[i] = xxh3.HashSeed(id, 1)
			}
			return nil
		})
	})
}

// eachID calls yield with the documents of a split and their ids. A split that
// has not as many ids as views is an error.
func (x *ExactDeduper) eachID(ctx context.Context, split int, yield func(doc uint64, id []byte) error) error {
	doc, end := x.Documents.First(split), x.Documents.First(split+1)
	changed := fmt.Errorf("split %d has not as many documents as when it was fingerprinted: run again into a new folder", split)
	err := x.IDs(ctx, split, func(id []byte) error {
		if doc == end {
			return changed
		}
		doc++
		return yield(doc-1, id)
	})
	if err == nil && doc < end {
		return changed
	}
	return err
}

// hashViews hashes the views of the wanted documents.
func (x *ExactDeduper) hashViews(ctx context.Context, wanted *subset.Set) ([]uint64, error) {
	out := make([]uint64, wanted.Len())
	return out, x.eachSplit(ctx, func(split int) error {
		var b []byte
		first, end := x.Documents.First(split), x.Documents.First(split+1)
		if !wanted.Any(first, end) {
			return nil
		}
		return x.Documents.Each(ctx, first, end, views.Verdict, func(doc uint64, r *views.Row) error {
			i, ok := wanted.Index(doc)
			if !ok {
				return nil
			}
			if !hasVerdict(&x.Rule, &r.View) {
				out[i] = nothing
				return nil
			}
			b = r.View.Append(b[:0])
			if out[i] = xxh3.HashSeed(b, 1) &^ shortText; len(r.View.Letters) > 0 && sketch.Few(r.View.Letters) {
				out[i] = min(out[i]|shortText, nothing-2)
			}
			return nil
		})
	})
}

func (x *ExactDeduper) eachSplit(ctx context.Context, f func(split int) error) error {
	advance := x.begin()
	return Parallel(ctx, x.Documents.Parts(), x.Workers, func(_ context.Context, split int) error {
		defer advance(int64(x.Documents.First(split+1) - x.Documents.First(split)))
		return f(split)
	})
}

func (x *ExactDeduper) begin() (advance func(n int64)) {
	return x.Pass.Begin(int64(x.Documents.Len()), "documents")
}

// repeats finds which keys may come more than once, in half of the memory.
func (x *ExactDeduper) repeatedKeys(ctx context.Context, keys keys) (*counting.Filter, error) {
	f := counting.New(x.Documents.Len(), x.Memory/2)
	return f, x.eachSplit(ctx, func(split int) error {
		return f.Add(keys.within(x.Documents.First(split), x.Documents.First(split+1)))
	})
}
