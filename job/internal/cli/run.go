package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/object"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/machine"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/monitor"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/runs"
	"github.com/neardup/neardup/job/internal/show"
)

// runFlags are the flags of run and match that are no settings.
type runFlags struct {
	out, publish          string
	json, strict, verbose bool

	moves bool // out is a folder of the machine that the run leaves for publish
}

// inStore has a run whose --out names a place in a store write to a folder of this
// machine first: what is in the store is whole, or has no _SUCCESS.
func (f *runFlags) inStore(workDir string) error {
	to := strings.TrimSuffix(f.out, "/")
	place := strings.TrimPrefix(to, "s3://")
	if bucket, prefix, _ := strings.Cut(place, "/"); bucket == "" || prefix == "" || !filepath.IsLocal(filepath.FromSlash(place)) {
		return usageError{fmt.Errorf("--out %s: write s3://BUCKET/PREFIX", f.out)}
	}
	f.out, f.publish, f.moves = filepath.Join(workDir, filepath.FromSlash(place)), to, true
	if _, err := os.Stat(f.out); err == nil {
		return nil // this run goes on
	}
	switch _, err := object.Stat(to + "/" + rundir.SuccessFile); {
	case err == nil:
		return fmt.Errorf("--out %s: %w: it has a finished run: name another prefix, or remove what is there", to, rundir.ErrOther)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

func (f *runFlags) bind(fs *pflag.FlagSet) {
	group(fs, "Output", func(fs *pflag.FlagSet) {
		fs.StringVarP(&f.out, "out", "o", "", "run directory to write or resume, or s3://…")
		fs.StringVar(&f.publish, "publish", "", "upload the finished run to s3://BUCKET/PREFIX")
		fs.BoolVar(&f.strict, "strict", false, "exit with 3 if bad records or ids were skipped")
		bindJSON(fs, &f.json)
		bindVerbose(fs, &f.verbose)
	})
}

// The settings that are flags of run, before and after its own.
var (
	runSettings = []string{"format", "encoding", "id-column", "text-column", "against-text", "max-bad", "preset", "distance", "keep", "templates", "library", "night", "against"}
	runOutput   = []string{"metrics", "alarm-command", "pairs", "clean", "annotate", "workers", "memory", "engine", "master"}
)

func newRun(std streams) *cobra.Command {
	var flags runFlags
	s := newSettings(std, config.PresetBalanced)
	cmd := &cobra.Command{
		Use:   "run INPUT… --out DIR",
		Short: "Fingerprint a crawl dump, match its documents, write Parquet",
		Long: `Reads the inputs (files, folders, globs, or - for standard input; WARC, WET,
JSONL, CSV, TSV, Parquet or Arrow, plain, .gz or .zst), finds each document's
best match and the clusters, and writes tables and the clean dump. The same
command again resumes a run. With --against it looks for a reference's texts.`,
		Example: `  neardup run data/sample --out night1
  zcat pages.jsonl.gz | neardup run - --format jsonl --out night2 --distance 5`,
		Args: needInput,
		RunE: func(cmd *cobra.Command, args []string) error {
			return execute(cmd, std, flags, s, job.Request{Command: job.CommandRun, Inputs: args})
		},
	}
	s.bind(cmd.Flags(), runSettings...)
	flags.bind(cmd.Flags())
	s.bind(cmd.Flags(), runOutput...)
	s.bindAll(cmd.Flags())
	return cmd
}

func newMatch(std streams) *cobra.Command {
	var flags runFlags
	var columns data.ForeignColumns
	s := newSettings(std, config.PresetClassic)
	cmd := &cobra.Command{
		Use:   "match FINGERPRINTS… --out DIR",
		Short: "Match fingerprints that exist, without reading text again",
		Long: `Reads fingerprints (a run directory, its fingerprints folder, or any Parquet or
CSV file with an id and a fingerprint column) and writes matches and clusters,
so that another distance does not cost another segmentation. What a run has
fingerprinted is matched with the run's preset and settings, unless flags say
otherwise, and gives what the run gave but for what texts or earlier nights
decide; fingerprints from elsewhere with the preset classic.`,
		Example: `  neardup match night1 --out night1-k5 --distance 5
  neardup match prints.parquet --fingerprint-column simhash --out m`,
		Args: needInput,
		RunE: func(cmd *cobra.Command, args []string) error {
			usual, err := method.MatchConfig(args, s.usual)
			if err != nil {
				return err
			}
			s.usual = usual
			return execute(cmd, std, flags, s, job.Request{Command: job.CommandMatch, Inputs: args, Columns: columns})
		},
	}
	s.bind(cmd.Flags(), "id-column")
	group(cmd.Flags(), "Input", func(fs *pflag.FlagSet) {
		fs.StringVar(&columns.Fingerprint, "fingerprint-column", "", "column of the fingerprint (default: simhash, hash …)")
		fs.BoolVar(&columns.Hex, "hex", false, "fingerprints that are text are hexadecimal")
	})
	s.bind(cmd.Flags(), "preset", "distance", "keep")
	flags.bind(cmd.Flags())
	s.bind(cmd.Flags(), "metrics", "alarm-command", "pairs", "workers", "memory", "engine", "master")
	s.bindAll(cmd.Flags())
	return cmd
}

// execute runs the request, prints its summary, and tells machines how it ended.
func execute(cmd *cobra.Command, std streams, flags runFlags, s *settings, req job.Request) error {
	cfg, err := s.config()
	if err != nil {
		return err
	}
	if flags.out == "" {
		return usageError{fmt.Errorf("name the run directory with --out; see %s --help", cmd.CommandPath())}
	}
	if object.Is(flags.out) && flags.publish != "" {
		return usageError{fmt.Errorf("--publish %s: --out names a place in a store already: leave one of the two out", flags.publish)}
	}
	if object.Is(flags.out) {
		if err := flags.inStore(cfg.Execution.WorkDir); err != nil {
			return err
		}
	}
	if strings.Contains(flags.out, "://") {
		return usageError{fmt.Errorf("--out %s: name a folder of this machine, or s3://BUCKET/PREFIX", flags.out)}
	}
	if strings.HasPrefix(flags.out, "~") {
		return usageError{fmt.Errorf("--out %s: the shell puts the home folder in the place of ~ where that stands without quotes: write --out ~/…, or $HOME", flags.out)}
	}
	if flags.publish != "" && !object.Is(flags.publish) {
		return usageError{fmt.Errorf("--publish %s: write s3://BUCKET/PREFIX", flags.publish)}
	}
	if cfg.Library.Path != "" && cfg.Library.Night == "" {
		if cfg.Library.Night, err = nightOf(flags.out); err != nil {
			return usageError{err}
		}
	}
	req.Out, req.Config, req.Stdin = flags.out, cfg, std.in
	shown := newScreen(std.err, *std.language, flags.json, flags.verbose)
	shown.file = filepath.Join(flags.out, rundir.Scratch, progressFile)
	shown.ofStages(job.StageNames(req.Command, &cfg))
	req.Log, req.Progress = shown.log, shown.progress
	summary, err := perform(cmd.Context(), std, flags, req)
	err = s.blame(err)
	end := monitor.Outcome{Summary: summary, ExitCode: exitCode(err)}
	if err != nil {
		end.Error = err.Error()
	}
	if wrong := monitor.Tell(cmd.Context(), cfg.Monitor, end); wrong != nil {
		req.Log.Warn("could not tell how the run ended", "error", wrong)
	}
	return err
}

// fits refuses a memory cap that the process has no addresses for: Go's runtime
// would end it on the way, with a page of stack.
func fits(limit, addresses int64) error {
	const least = 256 << 20
	if room := addresses - machine.OwnAddresses; addresses == 0 || room >= max(limit, least) {
		return nil
	}
	return usageError{fmt.Errorf("this process may take %s of addresses (ulimit -v), and needs %s beside its memory cap of %s: raise the limit to %s or more, or lower --memory",
		show.Bytes(addresses), show.Bytes(machine.OwnAddresses), show.Bytes(limit), show.Bytes(machine.OwnAddresses+max(limit, least)))}
}

// collected is how much of a memory cap Go's collector may fill. It may overstep
// that for a moment, for which is a 32nd, and does not count the program's own
// pages, which small caps feel.
func collected(limit int64) int64 {
	return limit - max(limit/32, min(machine.OwnPages, limit/4))
}

// untouched takes so many bytes, in pieces: a slice that begins where the heap has
// been before is cleared, and so touched, all of it.
func untouched(bytes int64) [][]byte {
	const piece = 1 << 20
	pieces := make([][]byte, bytes/piece)
	for i := range pieces {
		pieces[i] = make([]byte, piece)
	}
	return pieces
}

// perform runs the request and prints its summary, which it returns in any case.
func perform(ctx context.Context, std streams, flags runFlags, req job.Request) (*job.Summary, error) {
	cfg, none := req.Config, &job.Summary{Command: req.Command, Out: req.Out, Began: time.Now().UTC()}
	if n := cfg.Execution.Workers; n > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	}
	limit := cfg.Execution.MemoryLimit()
	if err := fits(limit, machine.Addresses()); err != nil {
		return none, err
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(collected(limit)))
	defer runtime.KeepAlive(untouched(machine.Ballast(limit)))
	req.Columns.ID = cfg.Input.ID
	var err error
	if req.Engine, err = newEngine(cfg.Execution); err != nil {
		return none, err
	}
	stopProfile, err := startProfile(cfg.Execution.CPUProfile)
	if err != nil {
		return none, err
	}
	summary, err := job.Run(ctx, req)
	if err := errors.Join(err, stopProfile()); err != nil {
		return summary, err
	}
	if flags.publish != "" {
		if err := runs.Publish(ctx, flags.out, flags.publish); err != nil {
			return summary, err
		}
		if flags.moves {
			if err := rundir.RemoveAll(flags.out); err != nil {
				return summary, err
			}
		}
	}
	print := func(w io.Writer) error { return summary.Print(w, *std.language) }
	if flags.json {
		print = func(w io.Writer) error { return printJSON(w, summary) }
	}
	if err := print(std.out); err != nil {
		return summary, err
	}
	if flags.strict && summary.Bad > 0 {
		return summary, fmt.Errorf("%w (%d), and --strict was given", errStrict, summary.Bad)
	}
	return summary, nil
}

var date = regexp.MustCompile(`\d{4}-\d{2}-\d{2}`)

// nightOf is the night that the name of a run directory tells: its last date.
func nightOf(out string) (string, error) {
	dates := date.FindAllString(filepath.Base(filepath.Clean(out)), -1)
	if len(dates) == 0 {
		return "", fmt.Errorf("the name of %s has no date: name the night with --night 2026-11-20", out)
	}
	return dates[len(dates)-1], nil
}

// newEngine returns the engine that the settings name.
func newEngine(e config.Execution) (engine.Engine, error) {
	if e.Engine == config.EngineGleam {
		return newCluster(e)
	}
	return local.New(runtime.GOMAXPROCS(0)), nil
}

// startProfile writes a CPU profile to path, if there is one, until stop.
func startProfile(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

// printJSON writes the summary as one object a line: the summary itself, then
// one object for each stage, large cluster and table, told apart by "type".
func printJSON(w io.Writer, s *job.Summary) error {
	head := *s
	head.Stages, head.Largest, head.Files = nil, nil, nil
	err := printTyped(w, nil, "summary", head)
	err = printTyped(w, err, "stage", s.Stages...)
	err = printTyped(w, err, "cluster", s.Largest...)
	return printTyped(w, err, "output", s.Files...)
}

// printTyped writes objects with their type as a further field, unless there
// is an error already.
func printTyped[T any](w io.Writer, err error, kind string, objects ...T) error {
	for _, object := range objects {
		var line bytes.Buffer
		enc := json.NewEncoder(&line)
		enc.SetEscapeHTML(false)
		if err == nil {
			err = enc.Encode(object)
		}
		if err == nil {
			_, err = fmt.Fprintf(w, "{\"type\":%q,%s", kind, line.Bytes()[1:])
		}
	}
	return err
}
