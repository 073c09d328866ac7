package corpus

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/job/internal/counting"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/state/exactdup"
	"github.com/neardup/neardup/job/internal/state/subset"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/columns"
	"github.com/neardup/neardup/simhash/sketch"
)

// Deduper finds the documents that the join leaves out, since an earlier one
// stands for them. It looks for
//
//  1. later documents with the same id,
//  2. documents whose id the library was told to forget,
//  3. documents that no verdict can tell from an earlier one.
//
// The first and the third are joins by a 64-bit key: the hash of the id, then the
// fingerprint. Documents that share a key are compared by a second hash, of the
// id itself or of the whole view, so that a collision of keys removes nothing.
//
// If the keys of all documents do not fit into memory, a counting filter first
// finds those that may come more than once; most come once. What is left is
// handled in as many passes as memory asks for, each for a part of the keys.
type Deduper struct {
	Documents *Documents
	Rule      mapper.Rule
	Workers   int
	Memory    int64 // bytes

	// IDs calls yield with the ids of a split, in order. Deleted reports whether
	// the library was told to forget an id; it may be nil.
	IDs     func(ctx context.Context, split int, yield func(id []byte) error) error
	Deleted func(id []byte) bool

	Pass parallel.Pass // progress of each pass over the documents
}

// Find calls emit with each document to leave out, and excludes it from
// Documents. It calls emit in no particular order, and concurrently.
func (x *Deduper) Find(ctx context.Context, emit func(exactdup.Document) error) error {
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
		confirm = nil // the key is the whole view
	}
	return x.equal(ctx, prints, confirm, func(docs []uint64, hash uint64) error {
		if hash&shortText != 0 {
			return dropOthers(exactdup.EqualShort, docs)
		}
		return dropOthers(exactdup.Equal, docs)
	})
}

// keys calls yield with the keys of the documents numbered first to last − 1, in
// order of document number.
type keys func(first, last uint64, yield func(doc, key uint64)) error

// within returns k for the documents numbered first to last − 1.
func (k keys) within(first, last uint64) func(yield func(doc, key uint64)) error {
	return func(yield func(doc, key uint64)) error { return k(first, last, yield) }
}

// documentBytes estimates the memory, in bytes a document, that finding equal
// keys takes. While keys are gathered it takes at most half of this.
const documentBytes = 64

// equal calls found with each group of two or more documents, ascending, that
// share both a key and the hash that confirm gives them. found gets this hash.
//
// A nil confirm says that keys are whole fingerprints. Then equal keys suffice,
// and hash is 0. If one pass handles all documents, equal leaves the distinct
// fingerprints in x.Documents for the join.
func (x *Deduper) equal(ctx context.Context, keys keys,
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

// confirmed divides each group by the hash that confirm gives its documents, and
// calls found with the parts of two or more documents.
func (x *Deduper) confirmed(ctx context.Context, groups *groups,
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

// The lowest bit of a view's hash says whether the view is a short text's. A view
// on which no verdict is possible has the hash nothing, and is equal to no other.
const (
	shortText = 1
	nothing   = uint64(math.MaxUint64)
)

// groups holds groups of two or more documents that share a key.
type groups struct {
	docs []uint64 // group after group
	ends []int    // end of each group in docs
}

// add adds the groups of two or more documents from lists, whose members are
// indices into docs.
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

// hashIDs returns a second hash of the ids of the wanted documents, by index in
// wanted.
func (x *Deduper) hashIDs(ctx context.Context, wanted *subset.Set) ([]uint64, error) {
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

// eachID calls yield with the documents of a split and their ids. It returns an
// error if the split does not have as many ids as views.
func (x *Deduper) eachID(ctx context.Context, split int, yield func(doc uint64, id []byte) error) error {
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

// hashViews returns a hash of the views of the wanted documents, by index in
// wanted.
func (x *Deduper) hashViews(ctx context.Context, wanted *subset.Set) ([]uint64, error) {
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

func (x *Deduper) eachSplit(ctx context.Context, f func(split int) error) error {
	advance := x.begin()
	return parallel.Each(ctx, x.Documents.Parts(), x.Workers, func(_ context.Context, split int) error {
		defer advance(int64(x.Documents.First(split+1) - x.Documents.First(split)))
		return f(split)
	})
}

func (x *Deduper) begin() (advance func(n int64)) {
	return x.Pass.Begin(int64(x.Documents.Len()), "documents")
}

// repeatedKeys returns a filter for the keys that may come more than once. It
// takes half of the memory.
func (x *Deduper) repeatedKeys(ctx context.Context, keys keys) (*counting.Filter, error) {
	f := counting.New(x.Documents.Len(), x.Memory/2)
	return f, x.eachSplit(ctx, func(split int) error {
		return f.Add(keys.within(x.Documents.First(split), x.Documents.First(split+1)))
	})
}
