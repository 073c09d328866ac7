// Package pipeline takes the documents of a split past workers, for the tasks that read
// the input for the first time. What they write is in the order of the input, whatever
// the number of workers.
//
// Each box is a goroutine; channels carry batches, which go back to free:
//
//	        work     ┌► worker ┐
//	      ┌────────► ├► worker ┤ b.ready
//	reader           └► worker ┘    │
//	      └── ordered ──────────► writer ─► writer ─► free ─► reader
//
// The reader sends each batch to both work and ordered. Any worker takes it from
// work and signals b.ready when done. The first writer takes batches from ordered,
// which keeps the order of the input, and waits for each one's b.ready.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/rundir"
)

// Documents travel in batches of about this many documents and bytes, whichever
// comes first.
const (
	batchDocuments = 256
	batchBytes     = 1 << 20
)

// Batch is a run of consecutive documents of a split, with what a worker makes of each.
// Batches are reused, so that a task allocates nothing for each document.
type Batch[T any] struct {
	Docs []data.Document
	Made []T
	N    int // number of documents

	ready chan struct{} // receives once the worker is done with it
}

// Pipeline reads a split. The caller sets the exported fields before Run, and must call
// Close in the end.
type Pipeline[T any] struct {
	Worker     func() func(*Batch[T])  // called once on each worker's goroutine; the result is called for batches
	Writers    []func(*Batch[T]) error // called in this order for each batch
	Quarantine *Quarantine             // of records that are no documents
	Decoded    bool                    // the settings name an encoding, so count garbled texts

	in      data.SourceReader
	split   data.Split
	options data.ReaderOptions
	rec     *rundir.TaskRecord
	advance func() // reports what in has consumed since the last call

	free, work, ordered chan *Batch[T]
}

// Open opens the split of a task. Its record gets what is to be said of its files. tell
// is called with the bytes of the input as they are read.
func Open[T any](split data.Split, o data.ReaderOptions, rec *rundir.TaskRecord, tell func(int64)) (*Pipeline[T], error) {
	rec.NoteFiles(&o, split)
	in, err := source.Open(split, o)
	if err != nil {
		return nil, err
	}
	return &Pipeline[T]{in: in, split: split, options: o, rec: rec, advance: input.Teller(in, tell)}, nil
}

// Close releases the split.
func (p *Pipeline[T]) Close() error { return p.in.Close() }

// Run runs the pipeline, and notes in the record what is known only at the end of the
// split. It returns when all documents are written, or at the first error, with no
// goroutine left. It returns ErrChanged if the file has another size than when it was
// listed.
func (p *Pipeline[T]) Run(ctx context.Context, workers int) error {
	err := p.run(ctx, workers)
	if err == nil {
		err = p.ended()
	}
	if err != nil {
		return fmt.Errorf("%s task %d: %w", p.rec.Stage, p.rec.Task, err)
	}
	return nil
}

// ended notes digest and bytes.
func (p *Pipeline[T]) ended() error {
	rec := p.rec
	lacks := slices.ContainsFunc(rec.Files, func(n rundir.FileNote) bool { return n.Kind == rundir.FileMissing })
	if missing := (*data.NoColumn)(nil); rec.Skipped[data.ReasonNoText] > 0 && rec.RowsOut == 0 && !lacks &&
		errors.As(source.NoText(p.split, p.options), &missing) { // for lines of JSON, only the end tells that a column is missing
		p.options.Missing(missing)
	}
	rec.Digest, rec.Bytes = p.in.Digest(), p.in.Consumed()
	if p.split.Format != source.FormatParquet && p.split.End < 0 && p.split.Size >= 0 && rec.Bytes != p.split.Size {
		return input.ErrChanged(p.split)
	}
	return nil
}

func (p *Pipeline[T]) run(ctx context.Context, workers int) error {
	p.free = make(chan *Batch[T], 2*workers+2)
	for range cap(p.free) {
		p.free <- &Batch[T]{Docs: make([]data.Document, batchDocuments), Made: make([]T, batchDocuments), ready: make(chan struct{}, 1)}
	}
	p.work, p.ordered = make(chan *Batch[T], cap(p.free)), make(chan *Batch[T], cap(p.free))
	group, ctx := errgroup.WithContext(ctx)
	spawn := func(f func() error) { group.Go(func() error { return parallel.Guard(f) }) }
	spawn(func() error { return p.read(ctx) })
	for range workers {
		spawn(func() error {
			work := p.Worker()
			for b := range p.work {
				work(b)
				b.ready <- struct{}{}
			}
			return nil
		})
	}
	from := p.ordered
	for i, write := range p.Writers {
		in, out, last := from, make(chan *Batch[T], cap(p.free)), i == len(p.Writers)-1
		if last {
			out = p.free
		}
		spawn(func() error {
			if !last {
				defer close(out)
			}
			return pass(ctx, in, out, write, i == 0)
		})
		from = out
	}
	return group.Wait()
}

// pass writes the batches that come in and sends them on to out. If waits, it
// first waits until a worker is done with the batch.
func pass[T any](ctx context.Context, in <-chan *Batch[T], out chan<- *Batch[T], write func(*Batch[T]) error, waits bool) error {
	for b := range in {
		if waits {
			select {
			case <-b.ready:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := write(b); err != nil {
			return err
		}
		out <- b
	}
	return nil
}

func (p *Pipeline[T]) read(ctx context.Context) error {
	defer close(p.work)
	defer close(p.ordered)
	for {
		var b *Batch[T]
		select {
		case b = <-p.free:
		case <-ctx.Done():
			return ctx.Err()
		}
		more, err := p.fill(b)
		if err != nil {
			return err
		}
		if b.N > 0 {
			p.work <- b
			p.ordered <- b
		}
		if !more {
			return nil
		}
	}
}

// fill reads the next documents into b; more is false at the end of the split. It
// counts bad records and goes on.
func (p *Pipeline[T]) fill(b *Batch[T]) (more bool, err error) {
	b.N = 0
	defer p.advance()
	for size := 0; b.N < len(b.Docs) && size < batchBytes; {
		doc := &b.Docs[b.N]
		err := p.in.Read(doc)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if bad, ok := data.IsBadRecord(err); ok {
			if err := p.skip(bad); err != nil {
				return false, err
			}
			continue
		}
		if err != nil {
			return false, err
		}
		p.rec.RowsIn++
		if doc.Cut {
			p.rec.Cut++
		}
		if p.Decoded && garbled(doc.Text) {
			p.rec.Garbled++
		}
		b.N++
		size += len(doc.Text)
	}
	return true, nil
}

// garbled reports whether at least a hundredth of a text's characters are invalid
// UTF-8 or U+FFFD, which stands for bytes that the encoding does not have.
func garbled(text []byte) bool {
	none, all := 0, 0
	for _, r := range string(text) {
		if all++; r == utf8.RuneError {
			none++
		}
	}
	return none > 0 && 100*none >= all
}

// skip counts a record that is no document, and puts it into quarantine. Records
// that are no pages by design are only counted. The raw bytes are kept only of
// unusable records.
func (p *Pipeline[T]) skip(bad *data.BadRecord) error {
	p.rec.Skip(bad)
	if bad.Reason == data.ReasonNotPage {
		return nil
	}
	if !config.Unusable(bad.Reason) {
		bad.Raw = nil
	}
	return p.Quarantine.Add(bad)
}
