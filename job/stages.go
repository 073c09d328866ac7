package job

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/stage/against"
	"github.com/neardup/neardup/job/internal/stage/boilerplate"
	"github.com/neardup/neardup/job/internal/stage/cluster"
	"github.com/neardup/neardup/job/internal/stage/exact"
	"github.com/neardup/neardup/job/internal/stage/history"
	"github.com/neardup/neardup/job/internal/stage/ids"
	"github.com/neardup/neardup/job/internal/stage/intake"
	"github.com/neardup/neardup/job/internal/stage/match"
	"github.com/neardup/neardup/job/internal/stage/write"
	"github.com/neardup/neardup/job/internal/summary"
)

// Stage is one stage of a run. Execution, task records, resume, progress,
// status and architecture.md all read the one list of them.
type Stage struct {
	engine.Stage        // the name, and the task if there is one for each split
	Of           string // which runs have the stage, for documentation; empty: all
	Doc          string // its input → its output, for documentation

	when  func(command string, c *config.Config) bool                  // whether such a run has the stage; nil: every run has
	task  func(context.Context, *stage.Run, *rundir.TaskRecord) error  // the single task, which fills in the record; nil if there is a task for each split
	done  func(context.Context, *stage.Run, []rundir.TaskRecord) error // checks the records of all tasks and adds them to the summary; may be nil
	stays bool                                                         // the result does not depend on the library, and stays valid when that changes
}

// PerSplit reports whether the stage has a task for each split. The engine
// executes those tasks, on any host. Any other stage is one task, which this
// process executes.
func (s *Stage) PerSplit() bool { return s.Task != nil }

// stages lists all stages in the order in which a run executes them.
var stages = []Stage{
	{
		Stage: against.Stage,
		Of:    "`--against`, alone", Doc: "documents, the reference → `against/`, `clean/`, quarantine",
		when: hasReference, done: against.Done,
	},
	{
		Stage: boilerplate.Learn,
		Of:    "`run`, own text", Doc: "a sample of the documents → the blocks of their texts, by site",
		when: method.LearnsTemplates, done: boilerplate.KeepSamples, stays: true,
	},
	{
		Stage: engine.Stage{Name: stage.Templates},
		Of:    "`run`, own text", Doc: "those samples, the library's templates and samples → what the pages of each site share",
		when: method.LearnsTemplates, task: boilerplate.Build, done: boilerplate.Learned, stays: true,
	},
	{
		Stage: intake.Fingerprint,
		Of:    "`run`", Doc: "documents → `fingerprints/`, `texts/` of extracted pages, views, quarantine",
		when: documentsIn, done: intake.Fingerprinted, stays: true,
	},
	{
		Stage: intake.Read,
		Of:    "`match`", Doc: "fingerprint files → views",
		when: fingerprintsIn, done: intake.FingerprintsRead,
	},
	{
		Stage: engine.Stage{Name: stage.Exact},
		Doc:   "hashes of ids and views → for each split, the documents that an earlier one stands for: later rows of an id, deleted ids, equal documents",
		task:  exact.Find, done: exact.Done,
	},
	{
		Stage: engine.Stage{Name: stage.History},
		Of:    "`--library`", Doc: "the library's documents, past this run's → what earlier nights know of each; `drift/`, `growth/`",
		when: hasLibrary, task: history.Compare, done: history.Done,
	},
	{
		Stage: engine.Stage{Name: stage.Match},
		Doc:   "views → keys → groups → candidate pairs → pairs with their evidence",
		task:  match.Join, done: match.Joined,
	},
	{
		Stage: match.Texts,
		Of:    "preset thorough", Doc: "the documents of pairs near the limit, or one of which may contain the other, read again → their shingles and letters",
		when: consults, done: match.Consulted,
	},
	{
		Stage: engine.Stage{Name: stage.Verify},
		Of:    "presets balanced, thorough", Doc: "pairs near the limit, with their signatures or those shingles → what these say",
		when: settles, task: match.Verify,
	},
	{
		Stage: engine.Stage{Name: stage.Cluster},
		Doc:   "pairs → best matches, clusters, representatives, for each split; a sample of what goes; the check against brute force",
		task:  cluster.Cluster, done: cluster.Done,
	},
	{
		Stage: engine.Stage{Name: stage.IDs},
		Doc:   "decisions → for each split, the ids that its tables have, in their order",
		task:  ids.Resolve, done: ids.Done,
	},
	{
		Stage: write.Stage,
		Doc:   "decisions, names, and the documents once more → `matches/`, `pairs/`, `clusters/`, `removed/`, `clean/`; the sample, text against text",
		done:  write.Done,
	},
	{
		Stage: engine.Stage{Name: stage.Publish},
		Of:    "`--library`", Doc: "fingerprints, clusters → a night of the library",
		when: hasLibrary, task: history.Publish, done: history.Published,
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

func documentsIn(command string, _ *config.Config) bool    { return command == rundir.CommandRun }
func fingerprintsIn(command string, _ *config.Config) bool { return command == rundir.CommandMatch }
func hasLibrary(command string, c *config.Config) bool {
	return command == rundir.CommandRun && c.Library.Path != ""
}
func consults(_ string, c *config.Config) bool { return c.Match.Consults() }
func settles(_ string, c *config.Config) bool  { return c.Match.Settles() }

func hasReference(command string, c *config.Config) bool {
	return command == rundir.CommandRun && c.Against.On()
}

// isOf reports whether a run with that command and configuration has the stage.
// A run against a reference has the stage against and no other.
func (s *Stage) isOf(command string, c *config.Config) bool {
	if hasReference(command, c) {
		return s.Name == stage.Against
	}
	return s.when == nil || s.when(command, c)
}

// Stages lists, in order, the stages of the run with manifest m; none if the
// settings in m cannot be read.
func Stages(m rundir.Manifest) (of []Stage) {
	c, err := config.Recorded(m.Config)
	if err != nil {
		return nil
	}
	return stagesOf(m.Command, &c)
}

func stagesOf(command string, c *config.Config) (of []Stage) {
	for _, s := range stages {
		if s.isOf(command, c) {
			of = append(of, s)
		}
	}
	return of
}

// StageNames lists, in order, the names of the stages of a run with that command
// and configuration.
func StageNames(command string, c *config.Config) (names []string) {
	for _, s := range stagesOf(command, c) {
		names = append(names, s.Name)
	}
	return names
}

// execute executes the stages in order, without the tasks that have a record. It
// calls each stage's done even if all its tasks were finished before, since the
// summary needs what done adds.
func (r *run) execute(ctx context.Context) error {
	if r.Config.Library.Path != "" {
		if err := history.Open(ctx, &r.Run, r.forget); err != nil {
			return err
		}
	}
	for _, s := range stagesOf(r.Command, &r.Config) {
		began := time.Now()
		records, resumed, err := r.records(s)
		if err == nil && resumed < len(records) {
			if s.PerSplit() {
				err = r.perSplit(ctx, s, records)
			} else {
				err = r.single(ctx, s, records)
			}
		}
		if err == nil && s.done != nil {
			err = s.done(ctx, &r.Run, records)
		}
		if err != nil {
			return err
		}
		r.Sum.Stages = append(r.Sum.Stages, summary.StageTime{Stage: s.Name, Tasks: len(records), Resumed: resumed, Seconds: time.Since(began).Seconds()})
	}
	return nil
}

// records returns the records of a stage's tasks, and how many tasks are
// finished. The record of an unfinished task is the zero value.
func (r *run) records(s Stage) (records []rundir.TaskRecord, finished int, err error) {
	records = make([]rundir.TaskRecord, 1)
	if s.PerSplit() {
		records = make([]rundir.TaskRecord, len(r.Job.Splits))
	}
	for i := range records {
		rec, done, err := r.Dir.Record(s.Name, i)
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

// perSplit has the engine execute the tasks that have no record, and fills in
// records.
func (r *run) perSplit(ctx context.Context, s Stage, records []rundir.TaskRecord) error {
	var missing []int
	var splits []data.Split // of them
	for i := range records {
		if records[i].Stage == "" {
			missing, splits = append(missing, i), append(splits, r.Job.Splits[i])
		}
	}
	unit := s.Counts(r.Job)
	total, err := unit.Total(splits)
	if err != nil {
		return err
	}
	pass, finish := r.req.Progress(s.Name)
	defer finish()
	advance, finished := pass(total, string(unit)), func(int64) {}
	if unit == engine.Splits {
		advance, finished = nil, advance
	}
	r.Job.Advance, r.Job.Analyzer = advance, nil
	if s.Analyzes || s.Normalizes {
		r.Job.Analyzer = r.analyzer
	}
	return r.Engine.Each(ctx, r.Job, s.Stage, missing, func(rec rundir.TaskRecord) error {
		finished(1)
		records[rec.Task] = rec
		r.Log.Debug("task done", "stage", rec.Stage, "task", rec.Task, "source", rec.Source, "rows", rec.RowsOut, "seconds", rec.Seconds)
		return nil
	})
}

// single executes a stage of one task in this process, and fills in its record.
// A panic of the task becomes an error.
func (r *run) single(ctx context.Context, s Stage, records []rundir.TaskRecord) error {
	pass, finish := r.req.Progress(s.Name)
	defer finish()
	r.Job.Pass = pass
	return parallel.Guard(func() (err error) {
		records[0], err = r.Job.Record(s.Name, 0, func(rec *rundir.TaskRecord) error { return s.task(ctx, &r.Run, rec) })
		return err
	})
}

// forget removes the records of all stages whose results depend on the library,
// so that the run executes these stages again.
func (r *run) forget() error {
	for _, s := range stages {
		if s.stays {
			continue
		}
		for task := range max(len(r.Job.Splits), 1) {
			if err := os.Remove(r.Dir.RecordPath(s.Name, task)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
