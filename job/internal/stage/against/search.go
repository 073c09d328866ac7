package against

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/clean"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/pipeline"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/passage"
	"github.com/neardup/neardup/simhash/template"
)

// Stage is the stage as an engine knows it.
var Stage = engine.Stage{Name: stage.Against, Task: searchReference, Reads: (*engine.Job).ReadsFirst, Counts: engine.Bytes.Always}

// Counts of the record of a task.
const (
	countHits    = "hits"    // rows of the table
	countDropped = "dropped" // documents that the clean dump leaves out
)

// searchReference is the task of the stage against. It reads a split, and searches its
// documents for the texts of the reference on workers goroutines. In the same pass it
// writes the table of hits and the clean dump.
func searchReference(ctx context.Context, job *engine.Job, rec *rundir.TaskRecord, workers int) (err error) {
	ref, err := Read(job)
	if err != nil {
		return err
	}
	options := job.ReaderOptions()
	options.Workers, options.KeepRaw = workers, job.Cleans()
	line, err := pipeline.Open[[]data.AgainstRow](job.Splits[rec.Task], options, rec, job.Tell)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, line.Close()) }()
	w := &againstWriter{job: job, rec: rec}
	defer func() { err = errors.Join(err, w.abort()) }()
	if err := w.create(options, workers); err != nil {
		return err
	}
	line.Quarantine, line.Decoded = w.quarantine, job.Config.Input.Encoding != ""
	line.Worker = func() func(*batch) {
		s := ref.searcher(job.Config.Against)
		return func(b *batch) {
			for i := range b.N {
				b.Made[i] = s.search(b.Made[i][:0], &b.Docs[i])
			}
		}
	}
	line.Writers = []func(*batch) error{w.write}
	if err := line.Run(ctx, workers); err != nil {
		return err
	}
	return w.commit()
}

// batch is documents with their hits.
type batch = pipeline.Batch[[]data.AgainstRow]

// referenceSearcher searches documents for the texts of a reference.
type referenceSearcher struct {
	ref      *Reference
	searcher *passage.Searcher
	letters  simhash.LetterReader
	form     []uint32
}

func (r *Reference) searcher(a config.Against) *referenceSearcher {
	return &referenceSearcher{ref: r, searcher: passage.NewSearcher(r.index, passage.Rules{Share: a.Share, Run: a.Run, Least: a.Least})}
}

// search appends the document's hits to rows. The new rows share the memory of the
// document's id.
func (s *referenceSearcher) search(rows []data.AgainstRow, doc *data.Document) []data.AgainstRow {
	s.form = s.letters.Read(s.form[:0], doc.Text)
	for _, h := range s.searcher.Search(s.form) {
		item := &s.ref.items[h.Item]
		row := data.AgainstRow{
			DocID: doc.ID, Set: s.ref.Sets[item.set].Name, RefID: item.id, Verdict: h.Verdict.String(),
			Share: h.Share, DocShare: h.Covered, Run: int32(h.Run), Site: template.Site(doc.ID),
		}
		from, to := s.letters.Place(doc.Text, h.From, h.To)
		row.From, row.To = int64(from), int64(to)
		from, to = s.letters.Place(item.text, h.ItemFrom, h.ItemTo)
		row.RefFrom, row.RefTo = int64(from), int64(to)
		rows = append(rows, row)
	}
	return rows
}

// againstWriter writes the parts of a split, in the order of the input.
type againstWriter struct {
	job *engine.Job
	rec *rundir.TaskRecord

	hits       *parquet.TableWriter[data.AgainstRow]
	clean      *clean.Writer // nil: there is none to write
	quarantine *pipeline.Quarantine
	names      []string // within the run directory, of hits and clean
}

// create creates the files. The caller must call abort in the end.
func (w *againstWriter) create(options data.ReaderOptions, workers int) error {
	job, task := w.job, w.rec.Task
	path, err := job.Dir.Part(rundir.Against, task, ".parquet")
	if err != nil {
		return err
	}
	if w.hits, err = parquet.Create(path, &data.Against, job.TableOptions()); err != nil {
		return err
	}
	w.names = append(w.names, filepath.Join(rundir.Against, filepath.Base(path)))
	if w.quarantine, err = pipeline.CreateQuarantine(job.Dir, task); err != nil {
		return err
	}
	split := job.Splits[task]
	if !job.Cleans() || w.rec.Unread() && len(split.Files) == 0 { // of several files only the first was tried
		return nil
	}
	if path, err = job.Dir.Part(rundir.Clean, task, clean.Extension(split)); err != nil {
		return err
	}
	w.names = append(w.names, filepath.Join(rundir.Clean, filepath.Base(path)))
	w.clean, err = clean.Create(path, split, options, workers)
	return err
}

// write writes the hits of a batch's documents, and those documents that stay.
func (w *againstWriter) write(b *batch) error {
	for i := range b.N {
		hits := b.Made[i]
		row := data.RowNumber(w.rec.Task, uint64(w.rec.RowsOut))
		for h := range hits {
			hits[h].Row = row
			if err := w.hits.Write(&hits[h]); err != nil {
				return err
			}
		}
		w.rec.RowsOut++
		switch {
		case w.clean == nil:
		case len(hits) > 0 && w.job.Config.Against.Action == config.AgainstDrop:
			w.rec.Counts[countDropped]++
		default:
			if err := w.clean.Keep(&b.Docs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// commit commits the files and notes them in the record.
func (w *againstWriter) commit() error {
	w.rec.Counts[countHits] = w.hits.Rows()
	err := errors.Join(w.hits.Commit(), w.quarantine.Commit())
	if err == nil && w.clean != nil {
		err = w.clean.Commit()
	}
	w.rec.Outputs = append(w.names, w.quarantine.Outputs()...)
	return err
}

// abort removes what was not committed.
func (w *againstWriter) abort() (err error) {
	if w.hits != nil {
		err = w.hits.Abort()
	}
	if w.quarantine != nil {
		err = errors.Join(err, w.quarantine.Abort())
	}
	if w.clean != nil {
		err = errors.Join(err, w.clean.Abort())
	}
	return err
}
