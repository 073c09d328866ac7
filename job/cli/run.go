package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/object"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/job/engine/gleam"
	"github.com/neardup/neardup/job/engine/local"
)

// common are the flags of run and match that are no part of the Config.
type common struct {
	out, config string
	printConfig bool
	json        bool
	strict      bool
	verbose     bool
	cpuProfile  string
	publish     string
}

func (c *common) bind(fs *pflag.FlagSet) {
	fs.StringVarP(&c.out, "out", "o", "", "run directory to write, or to go on with")
	fs.StringVar(&c.config, "config", "", "YAML file of settings; flags win over it")
	fs.BoolVar(&c.printConfig, "print-config", false, "print the effective settings as such a file, and do nothing")
	fs.BoolVar(&c.json, "json", false, "print the summary as JSON, one object a line")
	fs.BoolVar(&c.strict, "strict", false, "exit with 3 when unusable records or duplicate ids were skipped")
	fs.BoolVarP(&c.verbose, "verbose", "v", false, "log every task")
	fs.StringVar(&c.publish, "publish", "", "upload the finished run to s3://BUCKET/PREFIX, _SUCCESS last")
	fs.StringVar(&c.cpuProfile, "cpu-profile", "", "write a CPU profile of the run to this file")
}

func bindLibrary(fs *pflag.FlagSet, c *config.Config) {
	fs.StringVar(&c.Library.Path, "library", c.Library.Path, "folder of the earlier nights' fingerprints: match against them too, and add this night")
	fs.StringVar(&c.Library.Night, "night", c.Library.Night, "name of this night in the library, like 2026-11-20 (default the last date in the name of --out)")
}

func bindMatch(fs *pflag.FlagSet, c *config.Config) {
	fs.StringVar(&c.Match.Preset, "preset", c.Match.Preset, "how near-duplicates are told: classic (the distance alone), balanced, or thorough; stands for --distance, --bands, --short-texts, --verify and --limit where they are not given")
	fs.IntVarP(&c.Match.Distance, "distance", "k", c.Match.Distance, "largest Hamming distance at which two fingerprints meet")
	fs.StringVar(&c.Match.Verify, "verify", c.Match.Verify, "what confirms a pair that met: none, sketch, or texts where the sketch is not sure")
	fs.BoolVar(&c.Match.Bands, "bands", c.Match.Bands, "documents whose sketches share a band meet too")
	fs.BoolVar(&c.Match.ShortTexts, "short-texts", c.Match.ShortTexts, "texts of at most 40 letters meet and are judged by their edits")
	fs.Float64Var(&c.Match.LimitLong, "limit", c.Match.LimitLong, "least Jaccard similarity of a confirmed pair of long texts")
	fs.BoolVar(&c.Match.AllPairs, "pairs", c.Match.AllPairs, "write all pairs within the distance too")
	fs.Int64Var(&c.Match.MaxPairs, "max-pairs", c.Match.MaxPairs, "fail before writing more pairs than this")
	fs.StringVar(&c.Clusters.Keep, "keep", c.Clusters.Keep, "which document of a cluster stays: longest, earliest (with a library, an earlier night's before any of this one's), rank or id")
	fs.IntVar(&c.Clusters.MaxSpread, "max-spread", c.Clusters.MaxSpread, "cut a cluster of more distinct fingerprints around centres; 0: never")
	fs.StringVar(&c.Input.DuplicateIDs, "duplicate-ids", c.Input.DuplicateIDs, "documents whose id appeared earlier: skip or fail")
	fs.IntVar(&c.Features.Bits, "bits", c.Features.Bits, "width of the fingerprints: 32, 64 or 128")

	fs.StringVar(&c.Execution.Engine, "engine", c.Execution.Engine, "what executes the stages: local, or gleam, a cluster")
	fs.StringVar(&c.Execution.Master, "master", c.Execution.Master, "HOST:PORT of the gleam master")
	fs.IntVar(&c.Execution.Attempts, "attempts", c.Execution.Attempts, "tries at each flow on the cluster")
	fs.StringVar(&c.Execution.Stall, "stall", c.Execution.Stall, "end a try on the cluster after so long without progress")
	fs.StringVar(&c.Execution.Deadline, "deadline", c.Execution.Deadline, "end a try on the cluster that takes longer")
	fs.IntVar(&c.Execution.Workers, "workers", c.Execution.Workers, "goroutines that work at once; 0: one per core")
	fs.StringVar(&c.Execution.Memory, "memory", c.Execution.Memory, "memory cap, like 4GiB: beyond it the matching goes by way of the disk (default half of the machine's)")
	fs.StringVar(&c.Execution.Tmp, "tmp", c.Execution.Tmp, "folder for what does not fit into memory (default the run directory)")
	fs.StringVar(&c.Execution.Matcher, "matcher", c.Execution.Matcher, "how pairs are found: kernel (in memory) or shuffle (as a cluster does)")
	fs.StringVar(&c.Execution.Plan, "plan", c.Execution.Plan, "plan of the kernel, like 32/1/2+32/1/2: bits/errors/agree by region (default by its cost model)")
	fs.IntVar(&c.Execution.Shards, "shards", c.Execution.Shards, "final reduces of the shuffle")
	fs.IntVar(&c.Execution.Salts, "salts", c.Execution.Salts, "partial reduces of each shard of the shuffle")
}

func bindInput(fs *pflag.FlagSet, c *config.Config) {
	in := &c.Input
	fs.StringVar(&in.Format, "format", in.Format, "format of the input: warc, wet, jsonl, csv, tsv or parquet (default by name and content)")
	fs.StringVar(&in.ID, "id-column", in.ID, "column of the document's id (default id, doc_id, url …)")
	fs.StringVar(&in.Title, "title-column", in.Title, "column of the title (default title, headline)")
	fs.StringVar(&in.Text, "text-column", in.Text, "column of the text (default text, content, body …)")
	fs.StringVar(&in.Date, "date-column", in.Date, "column of the date (default date, timestamp …)")
	fs.StringVar(&in.Language, "language-column", in.Language, "column of a document's language, like zh or en-US (default: the usual names)")
	fs.StringVar(&in.Rank, "rank-column", in.Rank, "column that --keep rank compares, the highest stays")
	fs.StringVar(&in.WARCID, "warc-id", in.WARCID, "id of a WARC document: url or record")
	fs.StringVar(&in.HTTPStatus, "http-status", in.HTTPStatus, "WARC responses that are documents: ok (2xx) or all")
	fs.StringVar(&in.HTML, "html", in.HTML, "text of a WARC page: main, or visible (all that a reader sees)")
	fs.StringVar(&in.Encoding, "encoding", in.Encoding, "encoding of all text, like gb18030, whatever files and pages say (default as each declares, or as its bytes look)")
	fs.Int64Var(&in.MaxRecord, "max-record", in.MaxRecord, "bytes; a longer record is skipped")
	fs.StringVar(&in.MaxBad, "max-bad", in.MaxBad, "fail when more records than this are unusable: a count or a share like 10%")
	fs.Int64Var(&in.SplitBytes, "split-bytes", in.SplitBytes, "plain JSONL is cut into splits of about this many bytes")
	fs.BoolVar(&c.Output.Clean, "clean", c.Output.Clean, "write the documents that stay, in the input's own form")
}

func bindFeatures(fs *pflag.FlagSet, c *config.Config) {
	f := &c.Features
	fs.StringVar(&f.Kind, "features", f.Kind, "what is counted: words, or ngrams of characters without segmentation")
	fs.IntVar(&f.N, "ngram", f.N, "characters of an n-gram")
	fs.StringVar(&f.Weight, "weight", f.Weight, "weight of a feature: tf, tfidf, sqrt-tfidf, unit or levels")
	fs.IntVar(&f.TitleWeight, "title-weight", f.TitleWeight, "how many times a feature of the title counts")
	fs.IntVar(&f.Top, "top", f.Top, "only that many features of the highest tf × idf; 0: all")
	fs.StringSliceVar(&f.Tags, "tags", f.Tags, "only dictionary words of these parts of speech, like n,v")
	fs.StringVar(&f.Stop, "stop", f.Stop, "stop words that are left out: none or builtin")
	fs.StringVar(&f.StopList, "stop-list", f.StopList, "file of further stop words, one a line")
	fs.StringVar(&f.Templates, "templates", f.Templates, "file of what the pages of each site share, as neardup templates learns it: left out of their texts")
	fs.IntVar(&f.MinFeatures, "min-features", f.MinFeatures, "a document with fewer distinct features is not matched")
	fs.BoolVar(&f.Simplify, "simplify", f.Simplify, "traditional characters count as simplified ones")
	fs.BoolVar(&f.HMM, "hmm", f.HMM, "find words beyond the dictionary")
	fs.StringVar(&f.Segmenter, "segmenter", f.Segmenter, "of Chinese: builtin or gojieba (the same words, slower)")
	fs.StringSliceVar(&f.UserWords, "user-words", f.UserWords, "files of further dictionary words: word, frequency, tag")
}

// effective returns the Config of the file (if any) with the flags that were
// given on top. What a preset stands for is overlaid by the rest of the file
// and of the flags, wherever the preset is named.
func effective(given *pflag.FlagSet, preset, path string, bind func(*pflag.FlagSet, *config.Config)) (config.Config, error) {
	cfg, err := config.Default().WithPreset(preset)
	if err == nil && path != "" {
		cfg, err = config.Read(path, cfg)
	}
	if flag := given.Lookup("preset"); err == nil && flag != nil && flag.Changed {
		cfg, err = cfg.WithPreset(flag.Value.String())
	}
	if err != nil {
		return cfg, err
	}
	over := pflag.NewFlagSet("", pflag.ContinueOnError)
	bind(over, &cfg)
	given.Visit(func(f *pflag.Flag) {
		to := over.Lookup(f.Name)
		if to == nil || err != nil {
			return
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			err = to.Value.(pflag.SliceValue).Replace(list.GetSlice())
			return
		}
		err = to.Value.Set(f.Value.String())
	})
	return cfg, err
}

func newRun(std streams) *cobra.Command {
	var flags common
	cfg := config.Default()
	bind := func(fs *pflag.FlagSet, c *config.Config) {
		bindInput(fs, c)
		bindFeatures(fs, c)
		bindMatch(fs, c)
		bindLibrary(fs, c)
	}
	cmd := &cobra.Command{
		Use:   "run INPUT… --out DIR",
		Short: "Fingerprint a crawl dump, match its documents, write Parquet",
		Long: `Reads the inputs (files, folders, globs, or - for standard input; WARC, WET,
JSONL, CSV, TSV or Parquet, plain, .gz or .zst), fingerprints every document,
finds each document's best match and the clusters, and writes tables and the
clean dump into the run directory. The same command again goes on with what
an interrupted run left.`,
		Example: `  neardup run data/sample --out night1
  neardup run crawl/2026-11-20/*.warc.gz --out runs/2026-11-20
  zcat pages.jsonl.gz | neardup run - --format jsonl --out night2 --distance 5
  neardup run crawl/2026-11-20 --library lib/ --out runs/2026-11-20`,
		Args: needArgs("an input: a file, a folder, a glob, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return execute(cmd, std, flags, config.PresetBalanced, bind, job.Request{Command: job.CommandRun, Inputs: args})
		},
	}
	flags.bind(cmd.Flags())
	bind(cmd.Flags(), &cfg)
	return cmd
}

func newMatch(std streams) *cobra.Command {
	var flags common
	var columns data.ForeignColumns
	cfg, _ := config.Default().WithPreset(config.PresetClassic) // it exists
	cmd := &cobra.Command{
		Use:   "match FINGERPRINTS… --out DIR",
		Short: "Match fingerprints that exist, without reading text again",
		Long: `Reads fingerprints (a run directory, its fingerprints folder, or any Parquet or
CSV file with an id and a fingerprint column) and writes matches and clusters,
so that another distance does not cost another segmentation.`,
		Example: `  neardup match night1 --out night1-k5 --distance 5
  neardup match prints.parquet --id-column url --fingerprint-column simhash --out m`,
		Args: needArgs("the fingerprints: a run directory, a folder or a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return execute(cmd, std, flags, config.PresetClassic, bindMatch, job.Request{Command: job.CommandMatch, Inputs: args, Columns: columns})
		},
	}
	flags.bind(cmd.Flags())
	bindMatch(cmd.Flags(), &cfg)
	cmd.Flags().StringVar(&columns.ID, "id-column", "", "column of the id (default doc_id, id, url …)")
	cmd.Flags().StringVar(&columns.Fingerprint, "fingerprint-column", "", "column of the fingerprint: integer, decimal or hexadecimal text (default fingerprint, simhash, hash)")
	cmd.Flags().BoolVar(&columns.Hex, "hex", false, "fingerprints that are text are hexadecimal (default: as the first ones look)")
	return cmd
}

// execute runs the request and prints its summary.
func execute(cmd *cobra.Command, std streams, flags common, preset string, bind func(*pflag.FlagSet, *config.Config), req job.Request) error {
	cfg, err := effective(cmd.Flags(), preset, flags.config, bind)
	if err != nil {
		return usageError{err}
	}
	if cfg.Library.Path != "" && cfg.Library.Night == "" && flags.out != "" {
		if cfg.Library.Night, err = nightOf(flags.out); err != nil {
			return usageError{err}
		}
	}
	if err := cfg.Check(); err != nil {
		return usageError{err}
	}
	if flags.printConfig {
		text, err := cfg.YAML()
		if err != nil {
			return err
		}
		_, err = std.out.Write(text)
		return err
	}
	if flags.publish != "" && !object.Is(flags.publish) {
		return usageError{fmt.Errorf("--publish %s: write s3://BUCKET/PREFIX", flags.publish)}
	}
	if flags.out == "" {
		return usageError{fmt.Errorf("name the run directory with --out; see %s --help", cmd.CommandPath())}
	}
	if n := cfg.Execution.Workers; n > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	}
	limit, err := cfg.Execution.MemoryLimit()
	if err != nil {
		return usageError{err}
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	req.Out, req.Config, req.Stdin = flags.out, cfg, std.in
	if req.Engine, err = newEngine(cfg.Execution); err != nil {
		return usageError{err}
	}
	shown := &screen{w: std.err}
	req.Log = newLog(shown, flags.verbose)
	req.Progress = shown.progress(req.Log)

	stopProfile, err := startProfile(flags.cpuProfile)
	if err != nil {
		return err
	}
	summary, err := job.Run(cmd.Context(), req)
	if err := errors.Join(err, stopProfile()); err != nil {
		return err
	}
	if flags.publish != "" {
		if err := job.Publish(cmd.Context(), flags.out, flags.publish); err != nil {
			return err
		}
	}
	if flags.json {
		err = printJSON(std.out, summary)
	} else {
		err = summary.Print(std.out)
	}
	if err != nil {
		return err
	}
	if flags.strict && summary.Bad > 0 {
		return fmt.Errorf("%w (%d), and --strict was given", errStrict, summary.Bad)
	}
	return nil
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
	if e.Engine != config.EngineGleam {
		return local.New(runtime.GOMAXPROCS(0)), nil
	}
	stall, err := time.ParseDuration(e.Stall)
	if err != nil {
		return nil, err
	}
	deadline, err := time.ParseDuration(e.Deadline)
	if err != nil {
		return nil, err
	}
	return gleam.New(gleam.Options{Master: e.Master, Attempts: e.Attempts, Stall: stall, Deadline: deadline}), nil
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
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	head := *s
	head.Stages, head.Largest, head.Files = nil, nil, nil
	err := enc.Encode(struct {
		Type string `json:"type"`
		job.Summary
	}{"summary", head})
	for _, stage := range s.Stages {
		if err == nil {
			err = enc.Encode(struct {
				Type string `json:"type"`
				job.StageTime
			}{"stage", stage})
		}
	}
	for _, c := range s.Largest {
		if err == nil {
			err = enc.Encode(struct {
				Type string `json:"type"`
				job.ClusterSize
			}{"cluster", c})
		}
	}
	for _, f := range s.Files {
		if err == nil {
			err = enc.Encode(struct {
				Type string `json:"type"`
				job.Output
			}{"output", f})
		}
	}
	return err
}
