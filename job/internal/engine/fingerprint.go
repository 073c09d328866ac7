package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/simhash/template"
)

// Documents travel through a fingerprint task in batches of about this many
// documents and bytes, whichever comes first.
const (
	batchDocuments = 256
	batchBytes     = 1 << 20
)

// recordedSites is the number of sites that a task's record names.
const recordedSites = 100

// batch is a run of consecutive documents of a split, with their rows. Batches
// are reused, so that a task allocates nothing for each document.
type batch struct {
	docs  []data.Document
	n     int
	ready chan struct{} // receives once the workers are done with it

	rows []data.FingerprintRow // of the stage fingerprint
	hits [][]data.AgainstRow   // of the stage against, for each document
}

// fingerprint is the task of the stage of that name. It reads a split,
// fingerprints its documents, and writes its files. It reads and fingerprints on
// workers goroutines each. Rows are in the order of the input, whatever the
// number of workers.
//
// A file that is one large gzip member is first inflated only once, on trust; its
// checksum comes last. If that is wrong (data.ErrBroken), the task starts over
// and reads the file the careful way, which finds out what of it is sound.
func fingerprint(ctx context.Context, job *Job, rec *rundir.TaskRecord, workers int) error {
	fresh := rec.Fresh()
	told, tell := int64(0), job.Tell
	err := fingerprintSplit(ctx, job, rec, workers, rec.Source != "-", func(n int64) { told += n; tell(n) })
	if !errors.Is(err, data.ErrBroken) {
		return err
	}
	tell(-told)
	*rec = fresh
	return fingerprintSplit(ctx, job, rec, workers, false, tell)
}

func fingerprintSplit(ctx context.Context, job *Job, rec *rundir.TaskRecord, workers int, once bool, tell func(int64)) (err error) {
	options := job.intakeOptions(rec, workers)
	options.Once = once
	in, err := source.Open(job.Splits[rec.Task], options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	parts, err := createParts(job, rec.Task)
	defer func() { err = errors.Join(err, parts.abort()) }()
	if err != nil {
		return err
	}
	line := assemble(job, in, rec, parts.quarantine)
	line.advance = input.Teller(in, tell)
	line.fingerprints(job, parts)
	if err := line.run(ctx, workers); err != nil {
		return fmt.Errorf("%s task %d: %w", rec.Stage, rec.Task, err)
	}
	rec.Sites = rec.Sites.Cut(recordedSites)
	if err := ended(job, rec, in, options); err != nil {
		return err
	}
	rec.Outputs, err = parts.commit()
	return err
}

// intakeOptions returns the options with which a task reads its split for the
// first time. They note in rec what is missing, unreadable or unchecked.
func (j *Job) intakeOptions(rec *rundir.TaskRecord, workers int) data.ReaderOptions {
	o := j.ReaderOptions()
	o.Workers = workers
	o.Missing = func(m *data.NoColumn) { rec.Missing = append(rec.Missing, m.Problem()) }
	o.Unread = func(u *data.Unreadable) { rec.Unread = u.Error() }
	o.Unchecked = func() { rec.Unchecked++ }
	return o
}

// ended notes in rec what the reader knows only at the end of the split: digest,
// bytes, encoding. It returns ErrChanged if the file has another size than when
// it was listed.
func ended(job *Job, rec *rundir.TaskRecord, in data.SourceReader, options data.ReaderOptions) error {
	if missing := (*data.NoColumn)(nil); rec.Skipped[data.ReasonNoText] > 0 && rec.RowsOut == 0 && len(rec.Missing) == 0 &&
		errors.As(source.NoText(job.Splits[rec.Task], options), &missing) { // for lines of JSON, only the end tells that a column is missing
		rec.Missing = append(rec.Missing, missing.Problem())
	}
	rec.Digest, rec.Bytes, rec.Encoding = in.Digest(), in.Consumed(), in.Encoding()
	if split := job.Splits[rec.Task]; split.Format != source.FormatParquet && split.End < 0 && split.Size >= 0 && rec.Bytes != split.Size {
		return fmt.Errorf("%s task %d: %w", rec.Stage, rec.Task, input.ErrChanged(split))
	}
	return nil
}

// parts are the files that the fingerprint task of a split writes.
type parts struct {
	prints     *parquet.TableWriter[data.FingerprintRow]
	views      *viewWriter
	signatures *signatureWriter                   // nil unless signatures decide
	texts      *parquet.TableWriter[data.TextRow] // nil for formats that can be read again as cheaply
	quarantine *quarantine
	names      []string // of files but quarantine, within the run directory
	files      []file   // all, in the order in which they are committed
}

// file is an atomic file: Commit gives it its final name, Abort removes it if it
// was not committed.
type file interface {
	Commit() error
	Abort() error
}

// createParts creates the files. The caller must call abort in the end, even if
// createParts returns an error.
func createParts(job *Job, task int) (p *parts, err error) {
	p = &parts{}
	add := func(folder, ext string, f file) {
		p.names, p.files = append(p.names, filepath.Join(folder, rundir.PartName(task, ext))), append(p.files, f)
	}
	path, err := job.Dir.Part(rundir.Fingerprints, task, ".parquet")
	if err != nil {
		return p, err
	}
	options, err := job.printOptions()
	if err != nil {
		return p, err
	}
	if p.prints, err = parquet.Create(path, &data.Fingerprints, options); err != nil {
		return p, err
	}
	add(rundir.Fingerprints, ".parquet", p.prints)
	if p.views, err = createViews(job, task); err != nil {
		return p, err
	}
	add(filepath.Dir(p.views.name), "", p.views.out)
	if p.views.frames != nil {
		add(filepath.Dir(p.views.frames.name), "", p.views.frames)
	}
	if p.signatures, err = createSignatures(job, task); err != nil {
		return p, err
	}
	if p.signatures != nil {
		add(filepath.Dir(p.signatures.name), "", p.signatures)
	}
	if source.Extracts(job.Splits[task].Format) {
		if path, err = job.Dir.Part(rundir.Texts, task, ".parquet"); err != nil {
			return p, err
		}
		if p.texts, err = parquet.Create(path, &data.Texts, job.TableOptions()); err != nil {
			return p, err
		}
		add(rundir.Texts, ".parquet", p.texts)
	}
	if p.quarantine, err = createQuarantine(job.Dir, task); err != nil {
		return p, err
	}
	p.files = append(p.files, p.quarantine)
	return p, nil
}

// commit commits the files and returns their names within the run directory.
func (p *parts) commit() ([]string, error) {
	for _, f := range p.files {
		if err := f.Commit(); err != nil {
			return nil, err
		}
	}
	return append(p.names, p.quarantine.Outputs()...), nil
}

// abort removes the files that were not committed.
func (p *parts) abort() (err error) {
	for _, f := range p.files {
		err = errors.Join(err, f.Abort())
	}
	return err
}

// assembly is the pipeline of a task that reads its split. Each box is a goroutine;
// channels carry batches, which go back to free:
//
//	        work     ┌► worker ┐
//	      ┌────────► ├► worker ┤ b.ready
//	reader           └► worker ┘    │
//	      └── ordered ──────────► writer ─► writer ─► free ─► reader
//
// The reader sends each batch to both work and ordered. Any worker takes it from
// work and signals b.ready when done. The first writer takes batches from ordered,
// which keeps the order of the input, and waits for each one's b.ready.
type assembly struct {
	in         data.SourceReader
	advance    func() // reports what in has consumed since the last call
	quarantine *quarantine
	rec        *rundir.TaskRecord
	decoded    bool // the settings name an encoding, so count garbled texts

	prepare func(b *batch)                         // allocates what a new batch needs
	worker  func() (work func(*batch), end func()) // called once on each worker's goroutine
	writers []func(*batch) error                   // called in this order for each batch

	free, work, ordered chan *batch
}

// assemble returns the pipeline of a split. The caller sets prepare, worker and
// writers.
func assemble(job *Job, in data.SourceReader, rec *rundir.TaskRecord, q *quarantine) *assembly {
	return &assembly{in: in, advance: input.Teller(in, job.Tell), rec: rec, quarantine: q, decoded: job.Config.Input.Encoding != ""}
}

// run runs the pipeline. It returns when all documents are written, or at the
// first error, with no goroutine left.
func (a *assembly) run(ctx context.Context, workers int) error {
	a.free = make(chan *batch, 2*workers+2)
	for range cap(a.free) {
		b := &batch{docs: make([]data.Document, batchDocuments), ready: make(chan struct{}, 1)}
		a.prepare(b)
		a.free <- b
	}
	a.work, a.ordered = make(chan *batch, cap(a.free)), make(chan *batch, cap(a.free))
	group, ctx := errgroup.WithContext(ctx)
	spawn := func(f func() error) { group.Go(func() error { return parallel.Guard(f) }) }
	spawn(func() error { return a.read(ctx) })
	for range workers {
		spawn(func() error {
			work, end := a.worker()
			defer end()
			for b := range a.work {
				work(b)
				b.ready <- struct{}{}
			}
			return nil
		})
	}
	from := a.ordered
	for i, write := range a.writers {
		in, out, last := from, make(chan *batch, cap(a.free)), i == len(a.writers)-1
		if last {
			out = a.free
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
func pass(ctx context.Context, in <-chan *batch, out chan<- *batch, write func(*batch) error, waits bool) error {
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

func (a *assembly) read(ctx context.Context) error {
	defer close(a.work)
	defer close(a.ordered)
	for {
		var b *batch
		select {
		case b = <-a.free:
		case <-ctx.Done():
			return ctx.Err()
		}
		more, err := a.fill(b)
		if err != nil {
			return err
		}
		if b.n > 0 {
			a.work <- b
			a.ordered <- b
		}
		if !more {
			return nil
		}
	}
}

// fingerprints sets up the pipeline to fingerprint documents and write parts.
func (a *assembly) fingerprints(job *Job, parts *parts) {
	a.prepare = func(b *batch) { b.rows = make([]data.FingerprintRow, batchDocuments) }
	a.worker = func() (func(*batch), func()) {
		return func(b *batch) {
			f, release := job.turn()
			defer func() { release(f) }()
			for i := range b.n {
				doc := &b.docs[i]
				f = job.withMemory(len(doc.Text), f, func() { f.Fingerprint(doc, a.rec.Source, &b.rows[i]) })
			}
		}, func() {}
	}
	rec := a.rec
	rows := func(b *batch) error {
		for i := range b.n {
			row := &b.rows[i]
			row.Row, row.Night = data.RowNumber(rec.Task, uint64(rec.RowsOut)), job.Config.Library.Night
			if err := errors.Join(parts.prints.Write(row), parts.views.write(row), parts.signatures.add(row)); err != nil {
				return err
			}
			rec.Counts[row.LengthClass]++
			rec.Languages[row.Language]++
			rec.RowsOut++
			if none := b.docs[i].None; none != "" {
				rec.None.Add(none, string(template.Site(row.DocID)))
			}
			if row.Template > 0 {
				rec.Sites.Add(string(template.Site(row.DocID)), rundir.SiteText{Documents: 1, Own: int64(row.Length), Left: int64(row.Template)})
			}
		}
		return nil
	}
	texts := func(b *batch) error {
		for i := range b.n {
			doc := &b.docs[i]
			if parts.texts != nil {
				row := data.TextRow{DocID: doc.ID, Title: doc.Title, Text: doc.Text, Body: int32(utf8.RuneCount(doc.Text[:doc.Body])), Row: b.rows[i].Row}
				if err := parts.texts.Write(&row); err != nil {
					return err
				}
			}
			if data.MemoryOf(cap(doc.Text)) > 0 {
				*doc = data.Document{} // the next one would hold on to its room
			}
		}
		return nil
	}
	a.writers = []func(*batch) error{rows, texts}
}

// fill reads the next documents into b; more is false at the end of the split. It
// counts bad records and goes on.
func (a *assembly) fill(b *batch) (more bool, err error) {
	b.n = 0
	defer a.advance()
	for size := 0; b.n < len(b.docs) && size < batchBytes; {
		doc := &b.docs[b.n]
		err := a.in.Read(doc)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if bad, ok := data.IsBadRecord(err); ok {
			if err := a.skip(bad); err != nil {
				return false, err
			}
			continue
		}
		if err != nil {
			return false, err
		}
		a.rec.RowsIn++
		if doc.Cut {
			a.rec.Cut++
		}
		if a.decoded && garbled(doc.Text) {
			a.rec.Garbled++
		}
		b.n++
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
func (a *assembly) skip(bad *data.BadRecord) error {
	a.rec.Skip(bad)
	if bad.Reason == data.ReasonNotPage {
		return nil
	}
	if !config.Unusable(bad.Reason) {
		bad.Raw = nil
	}
	return a.quarantine.Add(bad)
}
