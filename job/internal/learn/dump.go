// Package learn learns from a whole dump, apart from any run: the idf and stop words
// of its words (Lexicon), and what the pages of each of its sites share (Templates).
// It writes nothing but what it is told to.
package learn

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/job/internal/stage/intake"
	"github.com/neardup/neardup/job/internal/summary"
)

// Dump is what Lexicon and Templates learn from. Both warn of what they cannot
// use of it, and bear of that what a run does (input.max_bad).
type Dump struct {
	Config  config.Config
	Inputs  []string // as of a Request
	Workers int
	Pass    parallel.Pass // over its bytes
	Log     *slog.Logger  // may be nil
}

// documents calls yield with documents, one after the other, up to its first
// error.
type documents func(yield func(*data.Document) error) error

// each calls read with the documents of every split, on the dump's workers, and
// what it returns, one call at a time. That there are none is an error, and so is
// more that cannot be used than input.max_bad allows.
func (d Dump) each(ctx context.Context, read func(documents) (merge func(), err error)) error {
	splits, err := input.Expand(d.Inputs, d.Config.Input, nil)
	if err != nil {
		return err
	}
	if err := source.CheckColumns(splits, d.Config.Input.ReaderOptions()); err != nil {
		return err
	}
	in := &intake.Intake{Log: cmp.Or(d.Log, slog.New(slog.DiscardHandler)), Input: d.Config.Input, Options: d.Config.ReaderOptions(), Splits: splits, Records: make([]rundir.TaskRecord, len(splits)), Sum: &summary.Summary{Skipped: map[string]int64{}}}
	advance := d.Pass.Begin(input.Bytes(splits), "bytes")
	first := make([]string, len(splits)) // where the first bad record of each stands
	var mu sync.Mutex
	err = parallel.Each(ctx, len(splits), d.Workers, func(ctx context.Context, i int) error {
		merge, err := read(func(yield func(*data.Document) error) (err error) {
			first[i], err = readSplit(ctx, in, i, advance, yield)
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
	in.Look = cmp.Or(first...)
	if err := in.Check(); err != nil {
		return err
	}
	if s := in.Sum; s.Bad > 0 {
		in.Log.Warn("records cannot be used and are left out", "records", s.Bad, "of", s.Records, "skipped", show.Counts("", s.Skipped, ""), "first", in.Look)
	}
	return nil
}

// readSplit calls yield with the documents of a split, fills in the record of it, and
// says where its first bad record stands.
func readSplit(ctx context.Context, in *intake.Intake, i int, advance func(int64), yield func(*data.Document) error) (first string, err error) {
	rec := &in.Records[i]
	rec.Source, rec.Skipped = in.Splits[i].Path, map[string]int64{}
	options := in.Options
	rec.NoteFiles(&options, in.Splits[i])
	err = input.EachDocument(ctx, in.Splits[i], options, func(n int64) {
		rec.Bytes += n
		advance(n)
	}, func(bad *data.BadRecord) {
		rec.Skip(bad)
		if first == "" && in.IsBad(i, bad.Reason) {
			first = fmt.Sprintf("%s at offset %d", bad.Source, bad.Offset)
		}
	}, func(doc *data.Document) error {
		rec.RowsIn++
		rec.RowsOut++
		return yield(doc)
	})
	return first, err
}
