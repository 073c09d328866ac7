package match

import (
	"context"
	"errors"
	"fmt"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/state/texts"
	"github.com/neardup/neardup/mapper"
)

// Texts is the stage texts as an engine knows it.
var Texts = engine.Stage{Name: stage.Texts, Task: readTexts, Reads: (*engine.Job).ReadsAgain, Counts: engine.Bytes.Always, Normalizes: true}

// readTexts is the task of the stage texts. It reads the documents of a split again
// whose texts have to decide, and writes their shingles and letters in order of row.
func readTexts(ctx context.Context, job *engine.Job, rec *rundir.TaskRecord, _ int) error {
	rows, err := texts.ReadRows(job.Dir.Path(rundir.StatePart(texts.WantedFolder, rec.Task)))
	if len(rows) == 0 || err != nil {
		return err
	}
	rec.RowsIn = int64(len(rows))
	rec.Outputs = []string{rundir.StatePart(texts.ShinglesFolder, rec.Task)}
	if err := writeTexts(ctx, job, rec, rows); err != nil {
		return fmt.Errorf("%s: %w", rec.Stage, err)
	}
	return nil
}

// writeTexts writes the shingles and letters of the given rows of a split.
func writeTexts(ctx context.Context, job *engine.Job, rec *rundir.TaskRecord, rows []int64) (err error) {
	out, err := texts.Create(job.Dir.Path(rec.Outputs[0]))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Abort()) }()
	of, release := job.Texts()
	defer release()
	err = input.EachRow(ctx, job.Dir.Path(), job.Manifest, rec.Task, job.ReaderOptions(), rows, func(i int, doc *data.Document) error {
		rec.RowsOut++
		return of(doc, func(t *mapper.Text) error { return out.Add(rows[i], t) })
	})
	if err != nil {
		return err
	}
	return out.Commit()
}
