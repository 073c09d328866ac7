package local

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/numbered"
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/mapper"
)

// A record of a further table, in memory, is a value and a document's number
// in one integer; sorting takes twice the room.
const recordBytes = 2 * 8

// shortKeys is about how many keys a short text has.
const shortKeys = 24

// further finds and confirms the pairs of the further tables. A table, or a
// range of its keys, is sorted in memory by each worker at a time, so that all
// stay under the memory cap.
func (e *Engine) further(ctx context.Context, job *engine.Job, documents *numbered.Folder, emit func([]data.Pair) error) error {
	limit, err := job.Config.Execution.MemoryLimit()
	if err != nil {
		return err
	}
	counter, _, err := engine.NewFurther(job.Config)
	if err != nil {
		return err
	}
	bands, short := 0, 0 // records of a band's table, and of the short texts'
	err = documents.Views(0, documents.Len(), func(_ uint32, v *data.View) {
		bands += len(counter.Values(0, v))
		if len(v.Letters) > 0 {
			short += shortKeys
		}
	})
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(e.workers)
	for t := range mapper.FurtherTables {
		records := bands
		if t == mapper.TableShort {
			records = short
		}
		ranges := int(int64(records)*recordBytes*2*int64(e.workers)/limit) + 1
		if t == mapper.TableShort && records > 1<<20 {
			ranges = max(ranges, e.workers) // the other tables are as many as there may be workers
		}
		for r := range ranges {
			group.Go(func() error {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return engine.Guard(func() error { return e.furtherRange(ctx, job, documents, t, r, ranges, emit) })
			})
		}
	}
	return group.Wait()
}

// furtherRange does range r, of that many, of the keys of further table t.
func (e *Engine) furtherRange(ctx context.Context, job *engine.Job, documents *numbered.Folder, t, r, ranges int, emit func([]data.Pair) error) error {
	further, first, err := engine.NewFurther(job.Config)
	if err != nil {
		return err
	}
	confirm, err := engine.NewConfirmer(job.Config, documents)
	if err != nil {
		return err
	}
	var records []uint64
	err = documents.Views(0, documents.Len(), func(doc uint32, v *data.View) {
		for _, value := range further.Values(t, v) {
			if mapper.Shard(data.Keyed{Key: uint64(mapper.FurtherKey(first, t, value))}, ranges) == r {
				records = append(records, value<<32|uint64(doc))
			}
		}
	})
	if err != nil {
		return err
	}
	records = sorted(records)
	out := newBatches(emit, 1)
	var docs []uint32
	for n := 0; len(records) > 0; n++ {
		if n&0xffff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		value := records[0] >> 32
		docs = docs[:0]
		for len(records) > 0 && records[0]>>32 == value {
			docs = append(docs, uint32(records[0]))
			records = records[1:]
		}
		if len(docs) < 2 {
			continue
		}
		if err := confirm.Further(mapper.FurtherKey(first, t, value), docs, func(p data.Pair) { out.add(0, p) }); err != nil {
			return err
		}
	}
	return out.flush()
}

// sorted sorts records by their upper 32 bits, keeping the order of those that
// share them: four passes of a radix sort, those of a byte that is the same
// everywhere left out.
func sorted(records []uint64) []uint64 {
	from, to := records, make([]uint64, len(records))
	for shift := 32; shift < 64; shift += 8 {
		var at [257]int
		for _, r := range from {
			at[int(byte(r>>shift))+1]++
		}
		if slices.Contains(at[1:], len(from)) {
			continue
		}
		for i := range 256 {
			at[i+1] += at[i]
		}
		for _, r := range from {
			b := byte(r >> shift)
			to[at[b]] = r
			at[b]++
		}
		from, to = to, from
	}
	return from
}
