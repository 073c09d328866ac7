package boilerplate

import (
	"context"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/simhash/template"
)

// samplesFolder, within the run directory's state, holds pages for learning
// templates: a file for each split that was sampled.
const samplesFolder = "samples"

const kindSample = "neardup sample 2"

// Bounds on how much of the input is read to learn templates, so that this costs
// little compared with the rest of the run.
const (
	learnShare     = 12        // one byte of the input in so many
	learnExtracted = 24        // the same where texts are extracted
	learnLeast     = 512 << 10 // bytes of the input, if it has so many
	learnMost      = 4 << 30
	learnSplit     = 256 << 10 // bytes of a split: fewer splits are sampled rather
)

// sampling says how much of the input is read to learn templates.
type sampling struct {
	groups      map[string]int64 // splits of a Parquet file
	total, want int64            // bytes
	shift       float64          // 0 to 1: of what is read within what is passed over
}

func (s *sampling) size(split data.Split) int64 {
	switch {
	case split.Format == source.FormatParquet:
		return max(split.Size, 0) / s.groups[split.Path]
	case split.End >= 0:
		return split.End - split.Start
	}
	return max(split.Size, 0)
}

func newSampling(splits []data.Split) *sampling {
	s := &sampling{groups: map[string]int64{}}
	for _, split := range splits {
		if split.Format == source.FormatParquet {
			s.groups[split.Path]++
		}
	}
	for _, split := range splits {
		n, share := s.size(split), int64(learnShare)
		if source.Extracts(split.Format) {
			share = learnExtracted
		}
		s.total, s.want = s.total+n, s.want+n/share
	}
	s.want = min(max(s.want, learnLeast), learnMost)
	return s
}

// SampledShare returns the share of the input that a run reads to learn templates,
// if it learns any.
func SampledShare(splits []data.Split) float64 {
	s := newSampling(splits)
	return min(1, float64(s.want)/float64(max(s.total, 1)))
}

// shiftOf returns a shift of the sampled pieces that depends on the night. A crawl may
// come in the same order every night; the shift makes each night sample other pages,
// so that what few pages show of a site adds up.
func shiftOf(l config.Library) float64 {
	if l.Path == "" {
		return 0
	}
	return float64(xxh3.HashString(l.Night)>>11) / (1 << 53)
}

// samplingOf returns the sampling of a run's input, which all its tasks share.
func samplingOf(job *engine.Job) *sampling {
	shared, _ := job.Shared(stage.Learn, func() (any, error) {
		s := newSampling(job.Splits)
		s.shift = shiftOf(job.Config.Library)
		return s, nil
	})
	return shared.(*sampling) //nolint:forcetypeassert // it is made above
}

// of returns the number of bytes of split task to read to learn templates, and its
// size.
func (s *sampling) of(splits []data.Split, task int) (wanted, size int64) {
	size = s.size(splits[task])
	if s.total <= s.want {
		return size, size
	}
	count := int64(len(splits))
	n := (int64(task) + int64(s.shift*float64(count))) % count
	visited := min(count, s.want/max(1, min(learnSplit, s.total/count))+1)
	if n > 0 && n*visited/count == (n-1)*visited/count {
		return 0, size // splits are passed over at even distances
	}
	return min(size, int64(float64(s.want)/float64(visited)*float64(count)*float64(size)/float64(s.total))), size
}

// Learn is the stage learn as an engine knows it.
var Learn = engine.Stage{Name: stage.Learn, Task: samplePages, Reads: (*engine.Job).ReadsFirst, Counts: engine.Bytes.Always,
	Sampled: func(job *engine.Job) int64 { return min(samplingOf(job).want, samplingOf(job).total) }}

// samplePages is the task of the stage learn: it samples documents of a split, from
// which the stage templates learns what the pages of each site share.
func samplePages(ctx context.Context, job *engine.Job, rec *rundir.TaskRecord, workers int) error {
	learner := template.NewLearner()
	all := samplingOf(job)
	wanted, size := all.of(job.Splits, rec.Task)
	if wanted > 0 {
		options := job.ReaderOptions()
		options.Workers, options.Unverified = workers, true
		windows, held, err := source.Windows(job.Splits[rec.Task], wanted, all.shift, &options)
		if err != nil {
			return fmt.Errorf("%s task %d: %w", rec.Stage, rec.Task, err)
		}
		defer held.Close() //nolint:errcheck // opened for reading
		for _, w := range windows {
			n, read, err := sampleWindow(ctx, w, options, wanted/int64(len(windows)), learner)
			if err != nil {
				return fmt.Errorf("%s task %d: %w", rec.Stage, rec.Task, err)
			}
			rec.RowsIn, rec.Bytes = rec.RowsIn+n, rec.Bytes+read
		}
		blob, err := learner.MarshalBinary()
		if err != nil {
			return err
		}
		rec.Outputs = []string{rundir.StatePart(samplesFolder, rec.Task)}
		if err := state.Write(job.Dir.Path(rec.Outputs[0]), kindSample, blob); err != nil {
			return err
		}
	}
	job.Tell(size)
	rec.RowsOut = rec.RowsIn
	return nil
}

// sampleWindow shows the learner the documents of w, a piece of a split; of a bounded
// one only the first size bytes of it. If a document cannot be read, the piece ends
// there, without an error: the stage fingerprint reports what is wrong.
func sampleWindow(ctx context.Context, w data.Split, o data.ReaderOptions, size int64, learner *template.Learner) (documents, read int64, err error) {
	in, err := source.Open(w, o)
	if err != nil {
		return 0, 0, nil //nolint:nilerr // see above
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	var doc data.Document
	for in.Consumed() < size || !source.Bounded(w) {
		if err := ctx.Err(); err != nil {
			return documents, read, err
		}
		if input.Next(in, &doc) != nil {
			break
		}
		learner.Add(template.Site(doc.ID), doc.ID, doc.Text)
		documents++
	}
	return documents, in.Consumed(), nil
}

// sampled reads what the tasks of the learn stage sampled.
func sampled(job *engine.Job, records []rundir.TaskRecord) (*template.Learner, error) {
	all := template.NewLearner()
	for _, rec := range records {
		for _, name := range rec.Outputs {
			path := job.Dir.Path(name)
			blob, err := state.Read(path, kindSample)
			if err != nil {
				return nil, err
			}
			if err := all.AddSample(blob); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return all, nil
}
