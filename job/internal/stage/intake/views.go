package intake

import (
	"math"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state/frames"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
)

// viewWriter writes the views of a split from its fingerprint rows, and the frames of
// its short texts.
type viewWriter struct {
	out    *views.Writer
	frames *frames.Writer // nil in a run that does not compare short texts
	names  []string       // of the files, within the run directory
	keep   func(*data.FingerprintRow) float64
	row    views.Row
}

func createViews(job *engine.Job, task int) (*viewWriter, error) {
	out, err := views.Create(corpus.ViewPath(job.Dir, task), method.ViewForm(job.Config))
	w := &viewWriter{out: out, names: []string{rundir.StatePart(corpus.ViewsFolder, task)}, keep: keepValue(job.Config.Clusters.Keep)}
	if method.Rule(job.Config.Match).ShortTexts {
		name := rundir.StatePart(frames.Folder, task)
		w.frames, w.names = frames.NewWriter(job.Dir.Path(name)), append(w.names, name)
	}
	return w, err
}

func (w *viewWriter) write(row *data.FingerprintRow) error {
	mapper.View(row, &w.row.View)
	w.row.ID, w.row.Keep = xxh3.Hash(row.DocID), w.keep(row)
	w.frames.Add(w.row.View.Letters)
	return w.out.Write(&w.row)
}

// Commit completes the files.
func (w *viewWriter) Commit() error {
	if err := w.frames.Commit(); err != nil {
		return err
	}
	return w.out.Commit()
}

// Abort removes what was not committed.
func (w *viewWriter) Abort() error { return w.out.Abort() }

// keepValue returns the function that gives, for a row, the value that the keep
// rule compares: its length, date or rank; NaN if it has none.
func keepValue(rule string) func(*data.FingerprintRow) float64 {
	switch rule {
	case config.KeepLongest:
		return func(r *data.FingerprintRow) float64 { return float64(r.Length) }
	case config.KeepEarliest:
		return func(r *data.FingerprintRow) float64 {
			if r.Date == data.NoDate {
				return math.NaN()
			}
			return float64(r.Date)
		}
	case config.KeepRank:
		return func(r *data.FingerprintRow) float64 { return r.Rank }
	}
	return func(*data.FingerprintRow) float64 { return math.NaN() }
}
