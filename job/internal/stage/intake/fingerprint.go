package intake

import (
	"context"
	"errors"
	"path/filepath"
	"unicode/utf8"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/pipeline"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/state/signatures"
	"github.com/neardup/neardup/simhash/template"
)

// recordedSites is the number of sites that a task's record names.
const recordedSites = 100

// Fingerprint is the stage fingerprint as an engine knows it.
var Fingerprint = engine.Stage{Name: stage.Fingerprint, Task: fingerprint, Reads: (*engine.Job).ReadsFirst, Counts: engine.Bytes.Always, Analyzes: true}

// fingerprint is the task of the stage of that name. It reads a split,
// fingerprints its documents, and writes its files. It reads and fingerprints on
// workers goroutines each. Rows are in the order of the input, whatever the
// number of workers.
//
// A file that is one large gzip member is first inflated only once, on trust; its
// checksum comes last. If that is wrong (data.ErrBroken), the task starts over
// and reads the file the careful way, which finds out what of it is sound.
func fingerprint(ctx context.Context, job *engine.Job, rec *rundir.TaskRecord, workers int) error {
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

func fingerprintSplit(ctx context.Context, job *engine.Job, rec *rundir.TaskRecord, workers int, once bool, tell func(int64)) (err error) {
	options := job.ReaderOptions()
	options.Workers, options.Once = workers, once
	line, err := pipeline.Open[data.FingerprintRow](job.Splits[rec.Task], options, rec, tell)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, line.Close()) }()
	parts, err := createParts(job, rec.Task)
	defer func() { err = errors.Join(err, parts.abort()) }()
	if err != nil {
		return err
	}
	line.Quarantine, line.Decoded = parts.quarantine, job.Config.Input.Encoding != ""
	line.Worker = func() func(*batch) {
		return func(b *batch) { job.Fingerprint(job.Splits[rec.Task], b.Docs[:b.N], b.Made[:b.N]) }
	}
	line.Writers = parts.writers(job, rec)
	if err := line.Run(ctx, workers); err != nil {
		return err
	}
	rec.Sites = rec.Sites.Cut(recordedSites)
	rec.Outputs, err = parts.commit()
	return err
}

// batch is documents with their fingerprints.
type batch = pipeline.Batch[data.FingerprintRow]

// parts are the files that the fingerprint task of a split writes.
type parts struct {
	prints     *parquet.TableWriter[data.FingerprintRow]
	views      *viewWriter
	signatures *signatures.Writer                 // nil unless signatures decide
	texts      *parquet.TableWriter[data.TextRow] // nil for formats that can be read again as cheaply
	quarantine *pipeline.Quarantine
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
func createParts(job *engine.Job, task int) (p *parts, err error) {
	p = &parts{}
	add := func(f file, names ...string) { p.files, p.names = append(p.files, f), append(p.names, names...) }
	path, err := job.Dir.Part(rundir.Fingerprints, task, ".parquet")
	if err != nil {
		return p, err
	}
	options := job.TableOptions()
	if options.Settings, err = method.Recorded(job.Config); err != nil { // which a later run needs to match the table
		return p, err
	}
	if p.prints, err = parquet.Create(path, &data.Fingerprints, options); err != nil {
		return p, err
	}
	add(p.prints, filepath.Join(rundir.Fingerprints, filepath.Base(path)))
	if p.views, err = createViews(job, task); err != nil {
		return p, err
	}
	add(p.views, p.views.names...)
	if job.Config.Match.Signs() {
		name := rundir.StatePart(signatures.Folder, task)
		if p.signatures, err = signatures.Create(job.Dir.Path(name)); err != nil {
			return p, err
		}
		add(p.signatures, name)
	}
	if source.Extracts(job.Splits[task].Format) {
		if path, err = job.Dir.Part(rundir.Texts, task, ".parquet"); err != nil {
			return p, err
		}
		if p.texts, err = parquet.Create(path, &data.Texts, job.TableOptions()); err != nil {
			return p, err
		}
		add(p.texts, filepath.Join(rundir.Texts, filepath.Base(path)))
	}
	if p.quarantine, err = pipeline.CreateQuarantine(job.Dir, task); err != nil {
		return p, err
	}
	add(p.quarantine)
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

// writers returns the writers of the pipeline: of rows, and of texts.
func (p *parts) writers(job *engine.Job, rec *rundir.TaskRecord) []func(*batch) error {
	rows := func(b *batch) error {
		for i := range b.N {
			row := &b.Made[i]
			row.Row, row.Night = data.RowNumber(rec.Task, uint64(rec.RowsOut)), job.Config.Library.Night
			if err := errors.Join(p.prints.Write(row), p.views.write(row), p.signatures.Add(row)); err != nil {
				return err
			}
			rec.Counts[row.LengthClass]++
			rec.Languages[row.Language]++
			rec.RowsOut++
			rec.Text += int64(len(b.Docs[i].Text))
			if none := b.Docs[i].None; none != "" {
				rec.None.Add(none, string(template.Site(row.DocID)))
			}
			if row.Template > 0 {
				rec.Sites.Add(string(template.Site(row.DocID)), rundir.SiteText{Documents: 1, Own: int64(row.Length), Left: int64(row.Template)})
			}
		}
		return nil
	}
	texts := func(b *batch) error {
		for i := range b.N {
			doc := &b.Docs[i]
			if p.texts != nil {
				row := data.TextRow{DocID: doc.ID, Title: doc.Title, Text: doc.Text, Body: int32(utf8.RuneCount(doc.Text[:doc.Body])), Row: b.Made[i].Row}
				if err := p.texts.Write(&row); err != nil {
					return err
				}
			}
			if data.MemoryOf(cap(doc.Text)) > 0 {
				*doc = data.Document{} // the next one would hold on to its room
			}
		}
		return nil
	}
	return []func(*batch) error{rows, texts}
}
