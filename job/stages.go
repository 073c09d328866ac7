package job

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/spill"
)

// Stages of one task, as records, progress and the summary name them.
const (
	stageTemplates = "templates"
	stageIdentical = "identical"
	stagePrevious  = engine.StageEarlier
	stageMatch     = "match"
	stageResolve   = "resolve"
	stageDecide    = "decide"
	stageNames     = "names"
	stageAdd       = "add"
)

// Stage is one stage of a run, with all that is to be known of it. Both engines,
// records, resume, progress, status and architecture.md read it from the list.
type Stage struct {
	engine.Stage        // its name; of a stage with a task for each split, that task
	Of           string // which runs have it; empty: all
	Doc          string // what becomes of what

	when  func(command string, c *config.Config) bool            // it is a stage of such a run; nil: of all
	task  func(*run, context.Context, *rundir.TaskRecord) error  // of a stage of one task: fills in what it did
	done  func(*run, context.Context, []rundir.TaskRecord) error // takes the records in; may be nil
	stays bool                                                   // what it did holds when the library has changed since
}

// PerSplit reports whether the stage has a task for each split, which the engine
// executes. The others are one task of this process.
func (s *Stage) PerSplit() bool { return s.Task != nil }

// stages are all stages in their order.
var stages = []Stage{
	{
		Stage: engine.Learn,
		Of:    "`run`, own text", Doc: "a sample of the documents → the blocks of their texts, by site",
		when: engine.LearnsTemplates, done: (*run).keepSamples, stays: true,
	},
	{
		Stage: engine.Stage{Name: stageTemplates},
		Of:    "`run`, own text", Doc: "those samples, the library's templates and samples → what the pages of each site share",
		when: engine.LearnsTemplates, task: (*run).buildTemplates, done: (*run).learned, stays: true,
	},
	{
		Stage: engine.Fingerprint,
		Of:    "`run`", Doc: "documents → `fingerprints/`, `texts/` of extracted pages, views, quarantine",
		when: documentsIn, done: (*run).fingerprinted, stays: true,
	},
	{
		Stage: engine.Read,
		Of:    "`match`", Doc: "fingerprint files → views",
		when: fingerprintsIn, done: (*run).read,
	},
	{
		Stage: engine.Stage{Name: stageIdentical},
		Doc:   "hashes of ids and views → for each split, the documents that an earlier one stands for: later rows of an id, deleted ids, equal documents",
		task:  (*run).identical, done: (*run).checkExactDedup,
	},
	{
		Stage: engine.Stage{Name: stagePrevious},
		Of:    "`--library`", Doc: "the library's documents, past this run's → what earlier nights know of each; `drift/`, `growth/`",
		when: hasLibrary, task: (*run).previous, done: (*run).inherited,
	},
	{
		Stage: engine.Stage{Name: stageMatch},
		Doc:   "views → keys → groups → candidate pairs → pairs with their evidence",
		task:  (*run).match, done: (*run).matched,
	},
	{
		Stage: engine.Texts,
		Of:    "preset thorough", Doc: "the documents of pairs near the limit, or one of which may contain the other, read again → their shingles and letters",
		when: consults, done: (*run).consulted,
	},
	{
		Stage: engine.Stage{Name: stageResolve},
		Of:    "preset thorough", Doc: "those pairs and shingles → what the texts say",
		when: consults, task: (*run).verifyTexts,
	},
	{
		Stage: engine.Stage{Name: stageDecide},
		Doc:   "pairs → best matches, clusters, representatives, for each split; a sample of what goes; the check against brute force",
		task:  (*run).cluster, done: (*run).decided,
	},
	{
		Stage: engine.Stage{Name: stageNames},
		Doc:   "decisions → for each split, the ids that its tables have, in their order",
		task:  (*run).resolveIDs, done: (*run).named,
	},
	{
		Stage: engine.Write,
		Doc:   "decisions, names, and the documents once more → `matches/`, `pairs/`, `clusters/`, `removed/`, `clean/`; the sample, text against text",
		done:  (*run).written,
	},
	{
		Stage: engine.Stage{Name: stageAdd},
		Of:    "`--library`", Doc: "fingerprints, clusters → a night of the library",
		when: hasLibrary, task: (*run).publish, done: (*run).added,
	},
}

// SplitStages lists the stages that have a task for each split, for an engine
// whose workers are other processes: they know a stage by its name.
func SplitStages() (of []engine.Stage) {
	for _, s := range stages {
		if s.PerSplit() {
			of = append(of, s.Stage)
		}
	}
	return of
}

func documentsIn(command string, _ *config.Config) bool    { return command == engine.CommandRun }
func fingerprintsIn(command string, _ *config.Config) bool { return command == engine.CommandMatch }
func hasLibrary(command string, c *config.Config) bool {
	return command == engine.CommandRun && c.Library.Path != ""
}
func consults(_ string, c *config.Config) bool { return consultsTexts(c.Match) }

// consultsTexts reports whether texts decide where sketches are near the limit,
// or where one text may contain the other.
func consultsTexts(m config.Match) bool { return m.Rules().Border > 0 || m.Containment > 0 }

// Stages lists the stages of the run with that manifest in their order.
func Stages(m rundir.Manifest) (of []Stage) {
	c, err := config.Recorded(m.Config)
	if err != nil {
		return nil
	}
	for _, s := range stages {
		if s.when == nil || s.when(m.Command, &c) {
			of = append(of, s)
		}
	}
	return of
}

// execute executes what is left of the stages.
func (r *run) execute(ctx context.Context) error {
	if r.config.Library.Path != "" {
		if err := r.openLibrary(ctx); err != nil {
			return err
		}
	}
	for _, stage := range stages {
		if stage.when != nil && !stage.when(r.Command, &r.config) {
			continue
		}
		began := time.Now()
		records, resumed, err := r.records(stage)
		if err == nil && resumed < len(records) {
			if stage.PerSplit() {
				err = r.perSplit(ctx, stage, records)
			} else {
				err = r.single(ctx, stage, records)
			}
		}
		if err == nil && stage.done != nil {
			err = stage.done(r, ctx, records)
		}
		if err != nil {
			return err
		}
		r.sum.Stages = append(r.sum.Stages, StageTime{Stage: stage.Name, Tasks: len(records), Resumed: resumed, Seconds: time.Since(began).Seconds()})
	}
	return nil
}

// records returns the records of a stage's tasks, empty for those that are
// left, and how many are finished.
func (r *run) records(stage Stage) (records []rundir.TaskRecord, finished int, err error) {
	records = make([]rundir.TaskRecord, 1)
	if stage.PerSplit() {
		records = make([]rundir.TaskRecord, len(r.job.Splits))
	}
	for i := range records {
		rec, done, err := r.dir.Record(stage.Name, i)
		if err != nil {
			return nil, 0, err
		}
		if done {
			records[i] = rec
			finished++
		}
	}
	return records, finished, nil
}

// perSplit has the engine execute the tasks without a record.
func (r *run) perSplit(ctx context.Context, stage Stage, records []rundir.TaskRecord) error {
	var missing []int
	var splits []data.Split // of them
	for i := range records {
		if records[i].Stage == "" {
			missing, splits = append(missing, i), append(splits, r.job.Splits[i])
		}
	}
	unit := stage.Counts(r.job)
	total, err := unit.Total(splits)
	if err != nil {
		return err
	}
	pass, finish := r.Progress(stage.Name)
	defer finish()
	advance, finished := pass(total, string(unit)), func(int64) {}
	if unit == engine.Splits {
		advance, finished = nil, advance
	}
	r.job.Advance, r.job.Analyzer = advance, nil
	if stage.Analyzes {
		r.job.Analyzer = r.analyzer
	}
	return r.engine.Each(ctx, r.job, stage.Stage, missing, func(rec rundir.TaskRecord) error {
		finished(1)
		records[rec.Task] = rec
		r.Log.Debug("task done", "stage", rec.Stage, "task", rec.Task, "source", rec.Source, "rows", rec.RowsOut, "seconds", rec.Seconds)
		return nil
	})
}

// single executes a stage of one task.
func (r *run) single(ctx context.Context, stage Stage, records []rundir.TaskRecord) error {
	pass, finish := r.Progress(stage.Name)
	defer finish()
	r.job.Pass = pass
	return engine.Guard(func() (err error) {
		records[0], err = r.job.Record(stage.Name, 0, func(rec *rundir.TaskRecord) error { return stage.task(r, ctx, rec) })
		return err
	})
}

// eachSplit calls f for every split on the run's workers.
func (r *run) eachSplit(ctx context.Context, f func(task int) error) error {
	advance := r.job.Pass.Begin(int64(len(r.job.Splits)), "splits")
	return engine.Parallel(ctx, len(r.job.Splits), r.workers, func(_ context.Context, task int) error {
		defer advance(1)
		return f(task)
	})
}

// stateParts are the files of all splits in a folder of the state, within the
// run directory.
func (r *run) stateParts(folder string) (names []string) {
	for task := range r.job.Splits {
		names = append(names, rundir.StatePart(folder, task))
	}
	return names
}

// writeSorted writes the records of each split, in order, to its file in a folder
// of the state.
func (r *run) writeSorted(ctx context.Context, records *spill.Buckets, folder, kind string) (names []string, err error) {
	names = r.stateParts(folder)
	return names, r.eachSplit(ctx, func(task int) error {
		body, err := records.SortedHeads(task)
		if err != nil {
			return err
		}
		return state.Write(r.dir.Path(names[task]), kind, body)
	})
}

// documents opens the run's documents, once. The run closes them at its end.
func (r *run) documents() (d *engine.Documents, err error) {
	if r.opened == nil {
		r.opened, err = engine.OpenDocuments(r.dir, len(r.job.Splits))
	}
	return r.opened, err
}

// fingerprinted sums up the fingerprint tasks.
func (r *run) fingerprinted(_ context.Context, records []rundir.TaskRecord) error {
	in := &intake{log: r.Log, input: r.config.Input, splits: r.job.Splits, records: records, sum: r.sum, look: r.dir.Path(rundir.Quarantine)}
	// An encoding was mostly told from the bytes, and may be wrong.
	in.warn("files are not UTF-8, and were decoded: --encoding overrides", "encoding", func(rec *rundir.TaskRecord) []string {
		return strings.Fields(rec.Encoding)
	})
	r.leftOut(records)
	for _, rec := range records {
		r.sum.CutPages += rec.Cut
		r.sum.None.Plus(rec.None)
		addCounts(r.sum.LengthClasses, rec.Counts)
		addCounts(r.sum.Languages, rec.Languages)
	}
	err := in.check()
	if errors.Is(err, errTooManyBad) {
		return errors.Join(err, r.forgetUnread(records))
	}
	return err
}

// forgetUnread has the files that are damaged be read again when the run goes on:
// they may be mended.
func (r *run) forgetUnread(records []rundir.TaskRecord) (err error) {
	for _, rec := range records {
		if rec.Unread != "" || rec.Lost > 0 {
			err = errors.Join(err, os.Remove(r.dir.RecordPath(rec.Stage, rec.Task)))
		}
	}
	return err
}

// read sums up the tasks that read fingerprint files.
func (r *run) read(_ context.Context, records []rundir.TaskRecord) error {
	for _, rec := range records {
		r.sum.Documents += rec.RowsOut
		addCounts(r.sum.LengthClasses, rec.Counts)
	}
	r.sum.Records = r.sum.Documents
	return nil
}

// checkExactDedup checks that no row was lost, and counts those that are left out.
func (r *run) checkExactDedup(_ context.Context, records []rundir.TaskRecord) error {
	rec, s := records[0], r.sum
	if rec.RowsIn != s.Documents {
		return fmt.Errorf("%s: %w: %d rows fingerprinted, %d rows came in", stageIdentical, rundir.ErrNotConserved, s.Documents, rec.RowsIn)
	}
	addCounts(s.Skipped, rec.Skipped)
	s.Bad += rec.Skipped[data.ReasonDuplicateID]
	return nil
}

// matched checks that all documents were there.
func (r *run) matched(_ context.Context, records []rundir.TaskRecord) error {
	if rec := records[0]; rec.RowsIn != r.sum.Documents {
		return fmt.Errorf("%s: %w: %d documents numbered, %d came in", stageMatch, rundir.ErrNotConserved, r.sum.Documents, rec.RowsIn)
	}
	r.sum.Tables = records[0].Tables
	return nil
}

func (r *run) consulted(_ context.Context, records []rundir.TaskRecord) error {
	for _, rec := range records {
		if rec.RowsIn != rec.RowsOut {
			return fmt.Errorf("%s: %w: the texts of %d documents were asked for, %d were read", rec.Stage, rundir.ErrNotConserved, rec.RowsIn, rec.RowsOut)
		}
	}
	return nil
}

// decided reads what was found.
func (r *run) decided(_ context.Context, _ []rundir.TaskRecord) error {
	counts, s := &r.counts, r.sum
	if err := rundir.ReadJSON(r.dir.Path(rundir.State, countsFile), counts); err != nil {
		return err
	}
	s.Matched, s.found = counts.Matched, counts.found
	return nil
}

// written checks that the tables have what was decided, the clean dump all
// documents; what sites lose; and a sample of what goes, text against text.
func (r *run) written(ctx context.Context, records []rundir.TaskRecord) error {
	s := r.sum
	rows := map[string]int64{}
	for _, rec := range records {
		s.Kept += rec.RowsOut
		s.Dropped += rec.RowsIn - rec.RowsOut
		addCounts(rows, rec.Counts)
	}
	for _, t := range []struct {
		table string
		want  int64
	}{{engine.CountMatches, s.Matched}, {engine.CountClusters, s.Clustered + s.Alone}, {engine.CountPairs, s.Pairs}} {
		if rows[t.table] != t.want {
			return fmt.Errorf("%s: %w: %d rows of %s were decided, %d were written", engine.StageWrite, rundir.ErrNotConserved, t.want, t.table, rows[t.table])
		}
	}
	if s.Library != nil {
		s.Library.Dropped = rows[engine.CountEarlier]
	}
	if r.job.Cleans() && s.Kept+s.Dropped != s.Documents {
		return fmt.Errorf("%s: %w: %d documents, %d kept, %d dropped", engine.StageWrite, rundir.ErrNotConserved, s.Documents, s.Kept, s.Dropped)
	}
	return errors.Join(r.lose(ctx), r.reread(ctx))
}
