// Package job runs neardup's stages over a run directory.
//
// [Run] plans the input as splits, opens the run directory, and executes the
// list of stages (stages.go) in order:
//
//	documents ─ learn, templates ─► boilerplate ─ fingerprint ─► views
//	views ─ exact, history, match ─► pairs ─ texts, verify ─► verified pairs
//	pairs ─ cluster ─► decisions ─ ids, write, publish ─► tables, clean dump, library
//
// Each finished task leaves a record, written after its outputs. A run that is
// started again skips every task that has one, so it resumes where the earlier
// process stopped and produces the same bytes. Between two stages the run
// checks that no row is lost.
//
// The package never parses flags, prints or exits.
package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/object"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/machine"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/stage/against"
	"github.com/neardup/neardup/job/internal/stage/history"
	"github.com/neardup/neardup/job/internal/stage/intake"
	"github.com/neardup/neardup/job/internal/summary"
	"github.com/neardup/neardup/simhash"
)

// The commands that make a run directory.
const (
	CommandRun   = rundir.CommandRun   // documents in
	CommandMatch = rundir.CommandMatch // fingerprints in
)

// Request is what a user asks for.
type Request struct {
	Command string   // CommandRun or CommandMatch
	Inputs  []string // files, folders, globs, "-"
	Out     string   // run directory
	Config  config.Config
	Columns data.ForeignColumns // how to read fingerprint files of other programs; for CommandMatch
	Engine  engine.Engine
	Log     *slog.Logger
	Stdin   io.Reader

	// Progress reports progress; it may be nil. Run calls it when a stage
	// starts. It returns two functions:
	//   - pass: called when the stage begins a pass over total units. It
	//     returns advance, which is called concurrently with the number of
	//     units just done.
	//   - done: called once, when the stage ends.
	Progress func(stage string) (pass func(total int64, unit string) (advance func(int64)), done func())
}

// run is a request under way.
type run struct {
	stage.Run
	req      Request
	manifest rundir.Manifest
	warnings *atomic.Int64
	analyzer *simhash.Analyzer // nil for a run that only matches
	release  func() error      // frees the analyzer's memory
}

// Summary is what a run did.
type Summary = summary.Summary

// Run executes the request, or resumes it, and returns the summary, which is
// never nil. After an error the run directory keeps all finished tasks, the
// same request resumes there, and the summary says how far the run came.
func Run(ctx context.Context, req Request) (*Summary, error) {
	s := &Summary{Command: req.Command, Out: req.Out, Skipped: map[string]int64{}, LengthClasses: map[string]int64{}, Languages: map[string]int64{}, Began: time.Now().UTC()}
	var warnings atomic.Int64
	if req.Log == nil {
		req.Log = slog.New(slog.DiscardHandler)
	}
	req.Log = slog.New(counted{req.Log.Handler(), &warnings})
	if req.Progress == nil {
		req.Progress = func(string) (func(int64, string) func(int64), func()) {
			return parallel.Pass(nil).Begin, func() {}
		}
	}
	r := &run{req: req, release: func() error { return nil }, warnings: &warnings}
	r.Command, r.Config, r.Engine, r.Workers, r.Log, r.Sum = req.Command, req.Config, req.Engine, req.Config.Execution.Workers, req.Log, s
	if r.Workers == 0 {
		r.Workers = runtime.GOMAXPROCS(0)
	}
	err := r.run(ctx)
	if !s.Done {
		r.ended()
	}
	return s, err
}

// ended fills in what the summary knows only at the end: time, memory,
// excluded hosts, warnings.
func (r *run) ended() {
	s := r.Sum
	s.Seconds, s.PeakMemory = time.Since(s.Began).Seconds(), machine.PeakMemory()
	if e, ok := r.Engine.(interface {
		LeftOut() []engine.LeftOut
		Restarts() int64
	}); ok {
		s.LeftOut, s.Restarts = e.LeftOut(), e.Restarts()
	}
	s.Warnings = r.warnings.Load()
}

// run checks the settings, opens the run directory, executes the stages that
// have no records yet, and marks the run as finished. For a finished run it
// only reads the summary.
func (r *run) run(ctx context.Context) (err error) {
	if err := r.Config.Check(); err != nil {
		return err
	}
	if r.Command == CommandMatch && r.Config.Against.On() {
		return &config.SettingError{Name: config.SettingAgainst, Value: strings.Join(r.Config.Against.Paths, ","), Remedy: "fingerprints have no texts to search: give it to neardup run, with the documents"}
	}
	if m := &r.Config.Match; r.Command == CommandMatch {
		r.Sum.Method = &summary.Method{Preset: m.Preset, Distance: m.Distance, NoTexts: m.Consults()}
		*m = m.Sketches()
	}
	if r.Config.Library.Path != "" {
		if err := history.Check(r.Config); err != nil {
			return err
		}
	}
	if err := r.open(ctx); err != nil {
		return err
	}
	defer func() {
		if r.Library != nil {
			err = errors.Join(err, r.Library.Close())
		}
		err = errors.Join(err, r.release(), r.Dir.Close())
	}()

	s := r.Sum
	if r.Dir.Finished() {
		if err := rundir.ReadJSON(r.Dir.Path(rundir.SummaryFile), s); err != nil {
			return fmt.Errorf("this run is finished, without a summary that can be read: %w", err)
		}
		s.Done = true // of an earlier program, too
		r.Log.Info("this run is finished: nothing to do", "out", r.req.Out)
		if history.Gone(r.Config) {
			r.Log.Warn("the library does not have this night any more: give another --out to add it again", "night", r.Config.Library.Night, "library", r.Config.Library.Path)
		}
		return nil
	}
	s.Splits = len(r.Job.Splits)
	if err := r.execute(ctx); err != nil {
		if errors.Is(err, intake.ErrNoDocuments) || ctx.Err() == nil && !r.Dir.Begun(stage.Fingerprint) && !r.Dir.Begun(stage.Read) && !r.Dir.Begun(stage.Against) {
			err = errors.Join(err, r.Dir.Reset()) // nothing stands in the way of other settings
		}
		return err
	}
	if err := r.files(s); err != nil {
		return err
	}
	s.Done = true
	r.ended()
	if err := rundir.WriteJSON(r.Dir.Path(rundir.SummaryFile), s); err != nil {
		return err
	}
	if err := r.Dir.Succeed(); err != nil || r.Config.Execution.KeepState {
		return err
	}
	keep := []string{method.TemplatesFile, method.FormsFile, stdinFile}
	if r.Library != nil {
		keep = append(keep, stage.CountsFile) // its merges may have to be made again
	}
	return r.Dir.ClearState(keep...)
}

// open lists the splits of the input, opens and locks the run directory, and
// adopts it: it writes the manifest of a new run, or checks that the existing
// run has the same one. On error it leaves nothing open.
func (r *run) open(ctx context.Context) (err error) {
	hash, err := r.Config.Hash()
	if err != nil {
		return err
	}
	text, err := json.Marshal(r.Config)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	// Unless documents come on standard input, list the input before creating
	// the run directory, so that a mistyped path leaves no directory behind.
	var splits []data.Split
	spooled := slices.Contains(r.req.Inputs, "-")
	if !spooled {
		splits, err = r.expand(r.req.Inputs)
		if known, ok := r.departed(splits); ok {
			splits, err = known, nil
		}
		if err != nil {
			return err
		}
	}
	if r.Dir, err = rundir.Open(r.req.Out); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Dir.Close())
		}
	}()
	if spooled {
		inputs, err := r.spool(ctx)
		if err != nil {
			return err
		}
		if splits, err = r.expand(inputs); errors.Is(err, source.ErrFormat) {
			_, remedy, _ := strings.Cut(err.Error(), source.ErrFormat.Error()+": ")
			return fmt.Errorf("%w: standard input: %s", source.ErrFormat, remedy)
		}
		if err != nil {
			return err
		}
	}
	folder, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	r.manifest = rundir.Manifest{Version: rundir.LayoutVersion, ConfigHash: hash, Command: r.Command, Config: text, Folder: folder, Splits: splits}
	r.Job = &engine.Job{Config: r.Config, Hash: hash, Dir: r.Dir, Manifest: r.manifest, Splits: splits, Columns: r.req.Columns, Log: r.Log, Advance: func(int64) {}}
	if r.Config.Against.On() {
		if !r.Dir.Finished() {
			_, err = against.Read(r.Job)
		}
	} else if r.Command == CommandRun && !r.Dir.Finished() { // before the directory is this run's: what the settings name may be wrong
		if r.Job.Templates, err = method.Templates(r.Config.Features); err == nil {
			r.analyzer, r.release, err = method.NewAnalyzer(r.Config.Features)
		}
	}
	if err != nil {
		return err
	}
	err = r.Dir.Adopt(r.manifest)
	if err == nil {
		err = r.distrust(ctx)
	}
	if err != nil {
		return errors.Join(err, r.release())
	}
	return nil
}

// departed handles a resumed run some of whose input files were deleted. If the
// files that are missing were all fingerprinted, and the run directory holds
// their texts, it returns the splits of the manifest, and ok: the run can go on
// without the files. found are the splits that the input has now.
func (r *run) departed(found []data.Split) (splits []data.Split, ok bool) {
	var m rundir.Manifest
	if r.Command != CommandRun || rundir.ReadJSON(filepath.Join(r.req.Out, rundir.ManifestFile), &m) != nil || slices.EqualFunc(found, m.Splits, data.Split.Equal) {
		return nil, false
	}
	known := ofFiles(m.Splits)
	for _, input := range r.req.Inputs {
		if !slices.ContainsFunc(known, func(s data.Split) bool { return names(input, s.Path) }) {
			return nil, false
		}
	}
	dir, err := rundir.Attach(r.req.Out)
	if err != nil {
		return nil, false
	}
	var here []data.Split
	gone := 0
	for task, split := range m.Splits {
		kept := sync.OnceValue(func() bool {
			_, done, err := dir.Record(stage.Fingerprint, task)
			return err == nil && done && input.KeepsTexts(m, split)
		})
		for one := range split.OfFiles() {
			if _, err := object.Stat(one.Path); !errors.Is(err, fs.ErrNotExist) {
				here = append(here, one)
				continue
			}
			if named := slices.ContainsFunc(r.req.Inputs, func(input string) bool { return names(input, one.Path) }); !named || !kept() {
				return nil, false
			}
			gone++
		}
	}
	if !slices.EqualFunc(ofFiles(found), here, data.Split.Equal) {
		return nil, false
	}
	r.Log.Info("files of the input are gone: their texts are kept", "files", gone)
	return m.Splits, true
}

// ofFiles lists the splits of one file each that splits consist of.
func ofFiles(splits []data.Split) (all []data.Split) {
	for _, s := range splits {
		all = slices.AppendSeq(all, s.OfFiles())
	}
	return all
}

// names reports whether the argument input refers to the file at path: as the
// file itself, as a folder above it, or as a pattern that matches it.
func names(input, path string) bool {
	match, err := filepath.Match(input, path)
	below, notBelow := filepath.Rel(input, path)
	return err == nil && match || notBelow == nil && filepath.IsLocal(below)
}

// expand lists the splits of the inputs.
func (r *run) expand(inputs []string) ([]data.Split, error) {
	if r.Command == CommandMatch {
		return input.ExpandFingerprints(inputs)
	}
	var ignored []string
	splits, err := input.Expand(inputs, r.Config.Input, func(path string) { ignored = append(ignored, path) })
	if len(ignored) > 0 {
		r.Log.Warn("files of unknown format, pipes and devices are not read", "files", len(ignored), "first", ignored[0])
	}
	if n, size := smallFiles(splits); n >= manySmall {
		r.Log.Warn("the input has many small files, and each takes a time of its own: join them, and the run is faster", "files", n, "bytes", size)
	}
	if err == nil {
		err = source.CheckColumns(splits, r.Config.Input.ReaderOptions())
	}
	return splits, err
}

// From manySmall files of less than smallFile bytes on, most of a run is what each
// file takes by itself, some 30 ms: job/docs/benchmarks/run.md.
const (
	manySmall = 1000
	smallFile = 64 << 10
)

// smallFiles returns how many of the splits are small files, and their bytes.
func smallFiles(splits []data.Split) (n int, size int64) {
	for _, s := range splits {
		if s.Size >= 0 && s.Size < smallFile {
			n++
			size += s.Size
		}
	}
	return n, size
}

// stdinFile, in the state folder, is the copy of standard input.
const stdinFile = "stdin"

// spool copies standard input to a file of the run directory, since a resumed
// run and the clean dump read it again. It returns the inputs with that file in
// place of "-". A copy without a manifest beside it comes from an attempt that
// never became a run; spool replaces it.
func (r *run) spool(ctx context.Context) ([]string, error) {
	path := r.Dir.Path(rundir.State, stdinFile)
	_, spooled := os.Stat(path)
	if _, begun := os.Stat(r.Dir.Path(rundir.ManifestFile)); spooled != nil || begun != nil {
		f, err := data.CreateAtomic(path)
		if err != nil {
			return nil, err
		}
		n, err := io.Copy(f, input.Until(ctx, r.req.Stdin))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("standard input: %w", err), f.Abort())
		}
		if n == 0 {
			return nil, errors.Join(fmt.Errorf("%w: standard input is empty: send the documents into it", intake.ErrNoDocuments), f.Abort())
		}
		if err := f.Commit(); err != nil {
			return nil, err
		}
	}
	inputs := slices.Clone(r.req.Inputs)
	for i, name := range inputs {
		if name == "-" {
			inputs[i] = path
		}
	}
	return inputs, nil
}

// files adds to the summary the output folders that have files, with the number
// and the total size of these.
func (r *run) files(s *Summary) error {
	for _, name := range rundir.Outputs {
		paths, err := rundir.Parts(r.req.Out, name)
		if err != nil {
			return err
		}
		o := summary.Output{Name: name, Path: filepath.Join(r.req.Out, name), Files: len(paths)}
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
