package job

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
)

// Dump is what Lexicon and Templates learn from. Both warn of what they cannot
// use of it, and bear of that what a run does (input.max_bad).
type Dump struct {
	Config  config.Config
	Inputs  []string // as of a Request
	Workers int
	Pass    engine.Pass  // over its bytes
	Log     *slog.Logger // may be nil
}

// documents calls yield with documents, one after the other, up to its first
// error.
type documents func(yield func(*data.Document) error) error

// each calls read with the documents of every split, on the dump's workers, and
// what it returns, one call at a time. That there are none is an error, and so is
// more that cannot be used than input.max_bad allows.
func (d Dump) each(ctx context.Context, read func(documents) (merge func(), err error)) error {
	splits, err := engine.Expand(d.Inputs, d.Config.Input, nil)
	if err != nil {
		return err
	}
	if err := source.CheckColumns(splits, d.Config.Input.ReaderOptions()); err != nil {
		return err
	}
	in := &intake{log: cmp.Or(d.Log, slog.New(slog.DiscardHandler)), input: d.Config.Input, options: d.Config.ReaderOptions(), splits: splits, records: make([]rundir.TaskRecord, len(splits)), sum: &Summary{Skipped: map[string]int64{}}}
	advance := d.Pass.Begin(engine.BytesOf(splits), "bytes")
	first := make([]string, len(splits)) // where the first bad record of each stands
	var mu sync.Mutex
	err = engine.Parallel(ctx, len(splits), d.Workers, func(ctx context.Context, i int) error {
		merge, err := read(func(yield func(*data.Document) error) (err error) {
			first[i], err = in.read(ctx, i, advance, yield)
			return err
		})
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		merge()
		return nil
	})
	if err != nil {
		return err
	}
	in.look = cmp.Or(first...)
	if err := in.check(); err != nil {
		return err
	}
	if s := in.sum; s.Bad > 0 {
		in.log.Warn("records cannot be used and are left out", "records", s.Bad, "of", s.Records, "skipped", counts("", s.Skipped, ""), "first", in.look)
	}
	return nil
}

// read calls yield with the documents of a split, fills in the record of it, and
// says where its first bad record stands.
func (in *intake) read(ctx context.Context, i int, advance func(int64), yield func(*data.Document) error) (first string, err error) {
	rec := &in.records[i]
	rec.Source, rec.Skipped = in.splits[i].Path, map[string]int64{}
	options := in.options
	options.Missing = func(m *data.NoColumn) { rec.Missing = append(rec.Missing, m.Problem()) }
	options.Unread = func(u *data.Unreadable) { rec.Unread = u.Error() }
	err = engine.EachDocument(ctx, in.splits[i], options, func(n int64) {
		rec.Bytes += n
		advance(n)
	}, func(bad *data.BadRecord) {
		engine.Skipped(rec, bad)
		if first == "" && in.isBad(i, bad.Reason) {
			first = fmt.Sprintf("%s at offset %d", bad.Source, bad.Offset)
		}
	}, func(doc *data.Document) error {
		rec.RowsIn++
		rec.RowsOut++
		return yield(doc)
	})
	return first, err
}
