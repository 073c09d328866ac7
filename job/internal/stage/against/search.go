package against

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"

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
	countCut     = "cut"     // documents that it has without the stretches of hits
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
	line, err := pipeline.Open[result](job.Splits[rec.Task], options, rec, job.Tell)
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
				s.search(&b.Made[i], &b.Docs[i])
			}
		}
	}
	line.Writers = []func(*batch) error{w.write}
	if err := line.Run(ctx, workers); err != nil {
		return err
	}
	return w.commit()
}

// batch is documents with what was found in them.
type batch = pipeline.Batch[result]

// result is what was found in a document, and what the clean dump has of it.
type result struct {
	hits []data.AgainstRow
	cuts []clean.Stretch // of the text that it leaves out
	drop bool            // it leaves the document out
}

// referenceSearcher searches documents for the texts of a reference.
type referenceSearcher struct {
	ref      *Reference
	config   config.Against
	searcher *passage.Searcher
	letters  simhash.LetterReader
	form     []uint32
	rest     []byte // of a text
	order    []int  // of hits, by their places
}

// Searcher returns what tells the hits of a document, and whether the clean dump leaves
// it out, as the stage does. The hits are good until the next call.
func (r *Reference) Searcher(a config.Against) func(doc *data.Document) (hits []data.AgainstRow, drop bool) {
	s, found := r.searcher(a), &result{}
	return func(doc *data.Document) ([]data.AgainstRow, bool) {
		s.search(found, doc)
		return found.hits, found.drop
	}
}

func (r *Reference) searcher(a config.Against) *referenceSearcher {
	return &referenceSearcher{ref: r, config: a, searcher: passage.NewSearcher(r.index, passage.Rules{Share: a.Share, Run: a.Run, Least: a.Least})}
}

// search finds what a document has of the reference. The rows share the memory of the
// document's id.
func (s *referenceSearcher) search(r *result, doc *data.Document) {
	*r = result{r.hits[:0], r.cuts[:0], false}
	s.form = s.letters.Read(s.form[:0], doc.Text)
	hits := s.searcher.Search(s.form)
	for i := range hits {
		h := &hits[i]
		item := &s.ref.items[h.Item]
		row := data.AgainstRow{
			DocID: doc.ID, Set: s.ref.Sets[item.set].Name, RefID: item.id, Verdict: h.Verdict.String(),
			Share: h.Share, DocShare: h.Covered, Run: int32(h.Run), Site: template.Site(doc.ID),
		}
		c := s.letters.Cursor(item.text)
		row.RefFrom, row.RefTo = int64(c.Start(h.ItemFrom).Character), int64(c.End(h.ItemTo).Character)
		r.hits = append(r.hits, row)
		r.drop = r.drop || h.Verdict == passage.Copy || h.Verdict == passage.Contained
	}
	s.place(r, doc.Text, hits)
	switch {
	case len(r.hits) == 0 || s.config.Action == config.AgainstKeep:
		r.cuts, r.drop = r.cuts[:0], false
	case s.config.Action == config.AgainstDrop:
		r.drop = true
	case !r.drop:
		r.cuts = widen(r.cuts, doc.Text)
		s.rest = clean.AppendWithout(s.rest[:0], doc.Text, r.cuts)
		s.form = s.letters.Read(s.form[:0], s.rest)
		r.drop = passage.WeightOf(s.form) < s.config.Least
	}
}

// place says where in a document's text its hits are, and what of it they have. A cursor
// goes over the text once for all hits that do not overlap.
func (s *referenceSearcher) place(r *result, text []byte, hits []passage.Hit) {
	s.order = s.order[:0]
	for i := range hits {
		s.order = append(s.order, i)
	}
	slices.SortFunc(s.order, func(a, b int) int { return cmp.Compare(hits[a].From, hits[b].From) })
	var c *simhash.Cursor
	done := 0 // letters that the cursor has passed
	for _, i := range s.order {
		h, row := &hits[i], &r.hits[i]
		if c == nil || h.From < done {
			c = s.letters.Cursor(text)
		}
		done = h.To
		for k, p := range h.Parts {
			from, to := c.Start(p.From), c.End(p.To)
			if k == 0 {
				row.From = int64(from.Character)
			}
			row.To = int64(to.Character)
			if k > 0 && passage.WeightOf(s.form[h.Parts[k-1].To:p.From]) < s.config.Least {
				r.cuts[len(r.cuts)-1].To = to.Byte
				continue
			}
			r.cuts = append(r.cuts, clean.Stretch{From: from.Byte, To: to.Byte})
		}
	}
}

// againstWriter writes the parts of a split, in the order of the input.
type againstWriter struct {
	job *engine.Job
	rec *rundir.TaskRecord

	hits       *parquet.TableWriter[data.AgainstRow]
	clean      *clean.Writer // nil: there is none to write
	quarantine *pipeline.Quarantine
	hitsName   string // within the run directory, as cleanName
	cleanName  string
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
	w.hitsName = filepath.Join(rundir.Against, filepath.Base(path))
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
	w.cleanName = filepath.Join(rundir.Clean, filepath.Base(path))
	w.clean, err = clean.Create(path, split, options, workers)
	return err
}

// write writes the hits of a batch's documents, and those documents that stay.
func (w *againstWriter) write(b *batch) error {
	for i := range b.N {
		r := &b.Made[i]
		row := data.RowNumber(w.rec.Task, uint64(w.rec.RowsOut))
		for h := range r.hits {
			r.hits[h].Row = row
			if err := w.hits.Write(&r.hits[h]); err != nil {
				return err
			}
		}
		w.rec.RowsOut++
		switch {
		case w.clean == nil:
		case r.drop:
			w.rec.Counts[countDropped]++
		case len(r.cuts) > 0:
			w.rec.Counts[countCut]++
			if err := w.clean.KeepWithout(&b.Docs[i], r.cuts); err != nil {
				return err
			}
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
	w.rec.Outputs = append(w.quarantine.Outputs(), w.hitsName)
	if err := errors.Join(w.hits.Commit(), w.quarantine.Commit()); err != nil || w.clean == nil {
		return err
	}
	err := w.clean.Commit()
	if err == nil {
		w.rec.AddSummed(w.cleanName, w.clean.Sum())
	}
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
