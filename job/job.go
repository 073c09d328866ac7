// Package job runs neardup's stages in their order over a run directory:
// ingest and fingerprint, order by id, match, clusters, clean dump. It
// resumes what an earlier process began, checks that no row is lost between
// two stages, and sums up. It never parses flags, prints or exits.
package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/object"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/job/rundir"
	"github.com/neardup/neardup/simhash"
)

// Commands a run directory can be of.
const (
	CommandRun   = "run"   // documents in
	CommandMatch = "match" // fingerprints in
)

// Stages, as records, progress and the summary name them.
const (
	stageOrder = "order"
	stageMatch = "match"
	stageClean = "clean"
)

// Stage is a stage as progress and task records name it.
type Stage struct {
	Name     string
	PerSplit bool // a task for each split, else one task
}

// Stages lists the stages of the run with that manifest in their order. A run
// without a clean dump leaves the last out.
func Stages(m rundir.Manifest) []Stage {
	if m.Command == CommandMatch {
		return []Stage{{Name: stageOrder}, {Name: stageMatch}}
	}
	stages := []Stage{{engine.StageFingerprint, true}, {Name: stageOrder}}
	var c struct {
		Library config.Library `json:"library"`
	}
	if err := json.Unmarshal(m.Config, &c); err == nil && c.Library.Path != "" {
		stages = append(stages, Stage{Name: stageNight}, Stage{Name: stageEarlier})
	}
	return append(stages, Stage{Name: stageMatch}, Stage{stageClean, true})
}

// ErrTooManyBad is returned when more records were unusable than max_bad
// allows.
var ErrTooManyBad = errors.New("too many unusable records")

// Request is what a user asks for.
type Request struct {
	Command string   // CommandRun or CommandMatch
	Inputs  []string // files, folders, globs, "-"
	Out     string   // run directory
	Config  config.Config
	Columns data.ForeignColumns // of a foreign fingerprint file, for CommandMatch
	Engine  engine.Engine
	Log     *slog.Logger
	Stdin   io.Reader

	// Progress, when not nil, is told when a stage starts, with its total of
	// unit ("bytes", "documents" or "tasks"), and returns what is called as it advances.
	Progress func(stage string, total int64, unit string) (advance func(int64), done func())
}

// run is a request under way.
type run struct {
	Request
	config   config.Config
	dir      *rundir.Dir
	manifest rundir.Manifest
	job      *engine.Job
	engine   engine.Engine
	workers  int
	stages   []StageTime
	release  func() error     // the analyzer's memory
	library  *library.Library // nil for a run without one
	change   int64            // of the library, when this run began to read it
}

// rowSource yields the rows that a run matches, in the order of the input.
type rowSource func(ctx context.Context, yield func(*data.FingerprintRow) error) error

// Run does what the request asks for, or what is left of it, and returns the
// summary. With an error the run directory holds all that was finished, and
// the same request goes on from there.
func Run(ctx context.Context, req Request) (_ *Summary, err error) {
	began := time.Now()
	if err := req.Config.Check(); err != nil {
		return nil, err
	}
	if req.Log == nil {
		req.Log = slog.New(slog.DiscardHandler)
	}
	if req.Progress == nil {
		req.Progress = func(string, int64, string) (func(int64), func()) { return func(int64) {}, func() {} }
	}
	if req.Command == CommandMatch && req.Config.Match.Verify == config.VerifyTexts {
		req.Config.Match.Verify = config.VerifySketch
		req.Log.Info("fingerprints come without their texts: the sketches alone decide")
	}
	r := &run{Request: req, config: req.Config, engine: req.Engine, workers: req.Config.Execution.Workers, release: func() error { return nil }}
	if r.workers == 0 {
		r.workers = runtime.GOMAXPROCS(0)
	}
	if req.Config.Library.Path != "" {
		if err := checkLibrary(req.Config); err != nil {
			return nil, err
		}
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	defer func() {
		if r.library != nil {
			err = errors.Join(err, r.library.Close())
		}
		err = errors.Join(err, r.release(), r.dir.Close())
	}()

	if r.dir.Finished() {
		var s Summary
		if err := rundir.ReadJSON(r.dir.Path(rundir.SummaryFile), &s); err != nil {
			return nil, err
		}
		req.Log.Info("this run is finished: nothing to do", "out", req.Out)
		if r.nightGone() {
			req.Log.Warn("the library does not have this night any more: give another --out to add it again", "night", r.config.Library.Night, "library", r.config.Library.Path)
		}
		return &s, nil
	}
	s := &Summary{Command: req.Command, Out: req.Out, Splits: len(r.job.Splits), Skipped: map[string]int64{}, Lanes: map[string]int64{}, Languages: map[string]int64{}}
	if err := r.phases(ctx, s); err != nil {
		return nil, err
	}
	if err := r.files(s); err != nil {
		return nil, err
	}
	s.Stages, s.Seconds, s.PeakMemory = r.stages, time.Since(began).Seconds(), peakMemory()
	if err := rundir.WriteJSON(r.dir.Path(rundir.SummaryFile), s); err != nil {
		return nil, err
	}
	return s, r.dir.Succeed()
}

// open plans the run and adopts its directory.
func (r *run) open() (err error) {
	hash, err := r.config.Hash()
	if err != nil {
		return err
	}
	text, err := json.Marshal(r.config)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	// Without a file on standard input, the input is looked at first, so that
	// a mistyped path leaves no run directory behind.
	var splits []data.Split
	spooled := slices.Contains(r.Inputs, "-")
	if !spooled {
		splits, err = r.expand(r.Inputs)
		if known, ok := r.departed(splits); ok {
			splits, err = known, nil
		}
		if err != nil {
			return err
		}
	}
	if r.dir, err = rundir.Open(r.Out); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.dir.Close())
		}
	}()
	if spooled {
		inputs, err := r.spool()
		if err != nil {
			return err
		}
		if splits, err = r.expand(inputs); err != nil {
			return err
		}
	}
	r.job = &engine.Job{Config: r.config, Hash: hash, Dir: r.dir, Splits: splits, Log: r.Log, Advance: func(int64) {}}
	r.manifest = rundir.Manifest{Version: rundir.LayoutVersion, ConfigHash: hash, Command: r.Command, Config: text, Splits: splits}
	err = r.dir.Adopt(r.manifest)
	if err == nil && r.Command == CommandRun && !r.dir.Finished() {
		if r.job.Templates, err = engine.Templates(r.config.Features); err == nil {
			r.job.Analyzer, r.release, err = engine.NewAnalyzer(r.config.Features)
		}
	}
	return err
}

// departed returns the splits of the run directory that this run is to go on
// with, if files of them are gone from the input since they were fingerprinted
// and the run has their texts itself. found are the splits of what there is.
func (r *run) departed(found []data.Split) (splits []data.Split, ok bool) {
	var m rundir.Manifest
	if r.Command != CommandRun || rundir.ReadJSON(filepath.Join(r.Out, rundir.ManifestFile), &m) != nil || slices.Equal(found, m.Splits) {
		return nil, false
	}
	for _, input := range r.Inputs {
		if !slices.ContainsFunc(m.Splits, func(s data.Split) bool { return names(input, s.Path) }) {
			return nil, false
		}
	}
	dir, err := rundir.Attach(r.Out)
	if err != nil {
		return nil, false
	}
	var here []data.Split
	for task, split := range m.Splits {
		if _, err := object.Stat(split.Path); !errors.Is(err, fs.ErrNotExist) {
			here = append(here, split)
			continue
		}
		named := slices.ContainsFunc(r.Inputs, func(input string) bool { return names(input, split.Path) })
		if _, done, err := dir.Record(engine.StageFingerprint, task); err != nil || !done || !named || !keepsTexts(m, split) {
			return nil, false
		}
	}
	if !slices.Equal(found, here) {
		return nil, false
	}
	r.Log.Info("files of the input are gone: their texts are kept", "files", len(m.Splits)-len(here))
	return m.Splits, true
}

// names reports whether an input is a file, its folder, or a pattern of it.
func names(input, path string) bool {
	match, err := filepath.Match(input, path)
	below, notBelow := filepath.Rel(input, path)
	return err == nil && match || notBelow == nil && filepath.IsLocal(below)
}

// expand lists the splits of the inputs.
func (r *run) expand(inputs []string) ([]data.Split, error) {
	if r.Command == CommandMatch {
		return expandFingerprints(inputs)
	}
	var ignored []string
	splits, err := source.Expand(inputs, source.ExpandOptions{
		Format:     r.config.Input.Format,
		Encoding:   r.config.Input.Encoding,
		SplitBytes: r.config.Input.SplitBytes,
		Ignored:    func(path string) { ignored = append(ignored, path) },
	})
	if len(ignored) > 0 {
		r.Log.Warn("files of unknown format are not read", "files", len(ignored), "first", ignored[0])
	}
	return splits, err
}

// stdinFile keeps what came on standard input, within the state folder.
const stdinFile = "stdin"

// spool writes standard input to a file of the run directory, where a resumed
// run and the clean dump can read it again, and puts the file in its place
// among the inputs.
func (r *run) spool() ([]string, error) {
	path := r.dir.Path(rundir.State, stdinFile)
	if _, err := os.Stat(path); err != nil {
		f, err := data.CreateAtomic(path)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(f, r.Stdin); err != nil {
			return nil, errors.Join(fmt.Errorf("standard input: %w", err), f.Abort())
		}
		if err := f.Commit(); err != nil {
			return nil, err
		}
	}
	inputs := slices.Clone(r.Inputs)
	for i, name := range inputs {
		if name == "-" {
			inputs[i] = path
		}
	}
	return inputs, nil
}

// phases executes the stages that are left.
func (r *run) phases(ctx context.Context, s *Summary) error {
	rows := rowSource(r.fingerprintRows)
	var first []int64 // row at which each split starts
	if r.Command == CommandRun {
		records, err := r.fingerprint(ctx, s)
		if err != nil {
			return err
		}
		for _, rec := range records {
			first = append(first, s.Documents)
			s.Documents += rec.RowsOut
			s.Records += rec.RowsIn
			s.Bytes += rec.Bytes
			s.CutPages += rec.Cut
			add(s.Skipped, rec.Skipped)
			add(s.Lanes, rec.Counts)
			add(s.Languages, rec.Languages)
		}
	} else {
		rows = r.foreignRows
	}
	if r.config.Library.Path != "" {
		if err := r.openLibrary(ctx); err != nil {
			return err
		}
	}

	ordered, err := r.single(stageOrder, func() (rundir.TaskRecord, error) { return r.order(ctx, rows) })
	if err != nil {
		return err
	}
	if r.Command == CommandRun && ordered.RowsIn != s.Documents {
		return fmt.Errorf("%s: %w: %d rows fingerprinted, %d rows came in", stageOrder, rundir.ErrNotConserved, s.Documents, ordered.RowsIn)
	}
	if r.Command == CommandMatch {
		s.Documents, s.Records = ordered.RowsIn, ordered.RowsIn
		s.Lanes[simhash.LaneNormal.String()] = ordered.RowsOut
		for reason, n := range ordered.Skipped {
			if reason != data.ReasonDuplicateID {
				s.Lanes[reason] += n
			}
		}
	}
	if n := ordered.Skipped[data.ReasonDuplicateID]; n > 0 {
		s.Skipped[data.ReasonDuplicateID] = n
	}
	if n := ordered.Skipped[data.ReasonDeleted]; n > 0 {
		s.Skipped[data.ReasonDeleted] = n
	}
	for reason, n := range s.Skipped {
		if config.Unusable(reason) || reason == data.ReasonDuplicateID {
			s.Bad += n
		}
	}

	if r.library != nil {
		if err := r.inherit(ctx, s); err != nil {
			return err
		}
	}

	var counts MatchCounts
	matched, err := r.single(stageMatch, func() (rec rundir.TaskRecord, err error) {
		rec, counts, err = r.match(ctx, ordered.RowsIn, first)
		return rec, err
	})
	if err != nil {
		return err
	}
	if matched.RowsIn != ordered.RowsOut {
		return fmt.Errorf("%s: %w: %d documents numbered, %d came in", stageMatch, rundir.ErrNotConserved, ordered.RowsOut, matched.RowsIn)
	}
	if err := rundir.ReadJSON(r.dir.Path(rundir.State, countsFile), &counts); err != nil {
		return err
	}
	s.Checked, s.Matched, s.Pairs, s.Clusters, s.Clustered = counts.Checked, counts.Matched, counts.Pairs, counts.Clusters, counts.Clustered
	s.Consulted, s.Cut, s.CutSize, s.Largest = counts.Consulted, counts.Cut, counts.CutSize, counts.Largest

	if r.Command == CommandRun && r.config.Output.Clean {
		if err := r.clean(ctx, first, s); err != nil {
			return err
		}
	}
	if r.library != nil {
		return r.addNight(ctx, s, counts)
	}
	return nil
}

// single executes a stage of one task unless it is done.
func (r *run) single(stage string, f func() (rundir.TaskRecord, error)) (rundir.TaskRecord, error) {
	rec, done, err := r.dir.Record(stage, 0)
	if err != nil {
		return rec, err
	}
	t := StageTime{Stage: stage, Tasks: 1}
	if done {
		t.Resumed = 1
	} else {
		if stage != stageEarlier { // which tells its documents
			_, finish := r.Progress(stage, 1, "tasks")
			defer finish()
		}
		err = engine.Guard(func() (err error) {
			rec, err = f()
			return err
		})
	}
	t.Seconds = rec.Seconds
	r.stages = append(r.stages, t)
	return rec, err
}

// tasks splits a stage's tasks into the finished ones' records and the rest.
func (r *run) tasks(stage string) (records []rundir.TaskRecord, missing []int, err error) {
	records = make([]rundir.TaskRecord, len(r.job.Splits))
	for i := range records {
		rec, done, err := r.dir.Record(stage, i)
		if err != nil {
			return nil, nil, err
		}
		if done {
			records[i] = rec
		} else {
			missing = append(missing, i)
		}
	}
	return records, missing, nil
}

// tellEncodings says which files of lines were decoded, one line for each
// encoding: it was mostly told from their bytes, and may be wrong.
func (r *run) tellEncodings(records []rundir.TaskRecord) {
	sources := make(map[string][]string)
	for _, rec := range records {
		if rec.Encoding != "" {
			sources[rec.Encoding] = append(sources[rec.Encoding], rec.Source)
		}
	}
	for _, encoding := range slices.Sorted(maps.Keys(sources)) {
		files := slices.Compact(sources[encoding])
		r.Log.Warn("files are not UTF-8, and were decoded: --encoding overrides", "encoding", encoding, "files", len(files), "first", files[0])
	}
}

// fingerprint executes the fingerprint tasks that are left.
func (r *run) fingerprint(ctx context.Context, s *Summary) ([]rundir.TaskRecord, error) {
	began := time.Now()
	records, missing, err := r.tasks(engine.StageFingerprint)
	if err != nil {
		return nil, err
	}
	t := StageTime{Stage: engine.StageFingerprint, Tasks: len(records), Resumed: len(records) - len(missing)}
	tooMany, err := r.config.Input.BadLimit()
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		advance, finish := r.Progress(engine.StageFingerprint, bytesOf(r.job.Splits, missing), "bytes")
		r.job.Advance = advance
		err := r.engine.Fingerprint(ctx, r.job, missing, func(rec rundir.TaskRecord) error {
			records[rec.Task] = rec
			r.Log.Debug("task done", "stage", rec.Stage, "task", rec.Task, "source", rec.Source, "rows", rec.RowsOut, "seconds", rec.Seconds)
			return nil
		})
		finish()
		if err != nil {
			return nil, err
		}
	}
	r.tellEncodings(records)
	bad, total := int64(0), int64(0)
	for _, rec := range records {
		total += rec.RowsIn
		for reason, n := range rec.Skipped {
			if config.Unusable(reason) {
				bad += n
			}
		}
	}
	if tooMany(bad, total) {
		return nil, fmt.Errorf("%w: %d of %d records, more than %s: look into %s, mend the input or raise --max-bad",
			ErrTooManyBad, bad, total, r.config.Input.MaxBad, r.dir.Path(rundir.Quarantine))
	}
	t.Seconds = time.Since(began).Seconds()
	r.stages = append(r.stages, t)
	return records, nil
}

// clean writes the documents that stay.
func (r *run) clean(ctx context.Context, first []int64, s *Summary) error {
	began := time.Now()
	records, missing, err := r.tasks(stageClean)
	if err != nil {
		return err
	}
	fingerprinted, _, err := r.tasks(engine.StageFingerprint)
	if err != nil {
		return err
	}
	t := StageTime{Stage: stageClean, Tasks: len(records), Resumed: len(records) - len(missing)}
	if len(missing) > 0 {
		advance, finish := r.Progress(stageClean, bytesOf(r.job.Splits, missing), "bytes")
		r.job.Advance = advance
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(r.workers)
		each := (r.workers + len(missing) - 1) / len(missing) // one large archive has all workers
		for _, task := range missing {
			group.Go(func() error {
				return engine.Guard(func() (err error) {
					records[task], err = r.cleanTask(ctx, task, first[task], fingerprinted[task], each)
					return err
				})
			})
		}
		err := group.Wait()
		finish()
		if err != nil {
			return err
		}
	}
	for _, rec := range records {
		s.Kept += rec.RowsOut
		s.Dropped += rec.RowsIn - rec.RowsOut
	}
	if s.Kept+s.Dropped != s.Documents {
		return fmt.Errorf("%s: %w: %d documents, %d kept, %d dropped", stageClean, rundir.ErrNotConserved, s.Documents, s.Kept, s.Dropped)
	}
	t.Seconds = time.Since(began).Seconds()
	r.stages = append(r.stages, t)
	return nil
}

// fingerprintRows yields the rows that the fingerprint stage wrote.
func (r *run) fingerprintRows(ctx context.Context, yield func(*data.FingerprintRow) error) error {
	columns := append([]string{"doc_id", "fingerprint", "lane"}, keepColumns(r.config.Clusters.Keep)...)
	if r.config.Match.Verified() {
		columns = append(columns, "length", "sketch", "letters")
	}
	for i := range r.job.Splits {
		path := r.dir.Path(rundir.Fingerprints, rundir.PartName(i, ".parquet"))
		if err := parquet.ReadFingerprints(ctx, path, parquet.ReadOptions{Columns: columns}, yield); err != nil {
			return err
		}
	}
	return nil
}

// files lists what the run wrote.
func (r *run) files(s *Summary) error {
	for _, name := range rundir.Outputs {
		paths, err := r.dir.Parts(name)
		if err != nil {
			return err
		}
		o := Output{Name: name, Path: filepath.Join(r.Out, name), Files: len(paths)}
		for _, p := range paths {
			info, err := os.Stat(p)
			if err != nil {
				return fmt.Errorf("run directory: %w", err)
			}
			o.Bytes += info.Size()
		}
		if o.Files > 0 {
			s.Files = append(s.Files, o)
		}
	}
	return nil
}

// bytesOf sums the sizes of the given splits, for progress; 0 when one is not
// known.
func bytesOf(splits []data.Split, tasks []int) (n int64) {
	for _, t := range tasks {
		switch s := splits[t]; {
		case s.Size < 0:
			return 0
		case s.Format == source.FormatParquet:
			if s.Start == 0 { // the first row group's split stands for the file
				n += s.Size
			}
		case s.End < 0:
			n += s.Size
		default:
			n += s.End - s.Start
		}
	}
	return n
}

func add(to, from map[string]int64) {
	for k, v := range from {
		to[k] += v
	}
}
