package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/eval"
)

// evalFlags are the flags of eval.
type evalFlags struct {
	labels   string
	edits    []string
	planting eval.Planting
	methods  []string
	half     int
	options  eval.Options
	html     string
	json     bool
}

func newEval(std streams) *cobra.Command {
	f := evalFlags{methods: []string{"classic", "balanced", "thorough", "minhash"}, half: eval.AllPairs}
	var edits []string
	for _, e := range eval.Edits() {
		edits = append(edits, string(e))
	}
	cfg := config.Default()
	cmd := &cobra.Command{
		Use:   "eval INPUT…",
		Short: "Measure how good methods are on labelled or planted near-duplicates",
		Long: `Compares methods on the same documents: precision, recall, F1 and time, recall by
similarity, the worst false pairs and misses. The truth is the labelled pairs
(--labels), or duplicates planted by edits (--plant), and any two documents
whose character 5-grams have a Jaccard similarity of --alike or more.

Methods: ` + strings.Join(eval.Names(), ", ") + `, or
k=0 to k=15 for a distance alone.`,
		Example: `  neardup eval pages.jsonl --labels pairs.csv --methods classic,k=8,minhash
  neardup eval pages.jsonl --plant advert,drop --strength 0.2 --count 500 --report-html report.html`,
		Args: needArgs("an input: a file, a folder or a glob"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cfg.Check(); err != nil {
				return usageError{err}
			}
			for _, e := range f.edits {
				f.planting.Edits = append(f.planting.Edits, eval.Edit(e))
			}
			f.options.Half = f.half
			return runEval(cmd.Context(), std, cfg, f, args)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.labels, "labels", "", "file of labelled pairs: JSONL or CSV with a and b, or id and cluster")
	fs.StringSliceVar(&f.edits, "plant", nil, "plant duplicates by these edits: "+strings.Join(edits, ", "))
	fs.Float64Var(&f.planting.Strength, "strength", 0.1, "share of a document that an edit changes")
	fs.IntVar(&f.planting.Count, "count", 500, "duplicates to plant")
	fs.Uint64Var(&f.planting.Seed, "seed", 1, "what is planted depends on it")
	fs.StringSliceVar(&f.methods, "methods", f.methods, "methods to compare")
	fs.IntVar(&f.half, "half", f.half, "count only the pairs of this half of the ids, 0 or 1: tune on one, report on the other (default all)")
	fs.Float64Var(&f.options.Alike, "alike", 0.5, "similarity from which on two documents count as near-duplicates")
	fs.IntVar(&f.options.Examples, "examples", 10, "false pairs and misses to list")
	fs.StringVar(&f.html, "report-html", "", "write the report as a page to this file too")
	fs.BoolVar(&f.json, "json", false, "print the report as JSON")
	bindColumns(fs, &cfg)
	return cmd
}

// bindColumns adds the flags that say how documents are read.
func bindColumns(fs *pflag.FlagSet, c *config.Config) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	bindInput(all, c)
	for _, name := range []string{"format", "id-column", "title-column", "text-column", "warc-id", "http-status", "html", "max-record"} {
		fs.AddFlag(all.Lookup(name))
	}
}

func runEval(ctx context.Context, std streams, cfg config.Config, f evalFlags, inputs []string) error {
	var methods []eval.Method
	for _, name := range f.methods {
		m, err := eval.Parse(name)
		if err != nil {
			return usageError{err}
		}
		methods = append(methods, m)
	}
	if (f.labels == "") == (len(f.planting.Edits) == 0) {
		return usageError{errors.New("name the truth: either --labels FILE or --plant EDITS")}
	}
	corpus, err := readCorpus(cfg, inputs)
	if err != nil {
		return err
	}
	if f.labels != "" {
		pairs, err := readLabels(f.labels)
		if err == nil {
			err = corpus.Label(pairs)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.labels, err)
		}
	} else if corpus, err = eval.Plant(corpus, f.planting); err != nil {
		return usageError{err}
	}
	lab, err := eval.New(ctx, corpus, f.options)
	if err != nil {
		return err
	}
	report := lab.Report(strings.Join(inputs, " "))
	for _, m := range methods {
		r, err := lab.Measure(ctx, m)
		if err != nil {
			return err
		}
		report.Results = append(report.Results, r)
	}
	if f.html != "" {
		file, err := data.CreateAtomic(f.html)
		if err != nil {
			return err
		}
		if err := report.WriteHTML(file); err != nil {
			return errors.Join(err, file.Abort())
		}
		if err := file.Commit(); err != nil {
			return err
		}
	}
	if f.json {
		return report.WriteJSON(std.out)
	}
	return report.WriteText(std.out)
}

// readCorpus reads all documents of the inputs.
func readCorpus(cfg config.Config, inputs []string) (*eval.Corpus, error) {
	splits, err := source.Expand(inputs, source.ExpandOptions{Format: cfg.Input.Format})
	if err != nil {
		return nil, err
	}
	var corpus eval.Corpus
	for _, split := range splits {
		in, err := source.Open(split, cfg.Input.ReaderOptions())
		if err != nil {
			return nil, err
		}
		_, err = corpus.Read(in)
		if err := errors.Join(err, in.Close()); err != nil {
			return nil, err
		}
	}
	return &corpus, nil
}

func readLabels(path string) (_ [][2]string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return eval.ReadLabels(f)
}

func newExplain(std streams) *cobra.Command {
	var run, method string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain A B",
		Short: "Say why two documents do or do not match",
		Long: `Prints what two documents share and do not: features with their weights, distance,
segment keys, estimated and exact similarity, and the verdict with its rule. A
and B are files of plain text, or with --run ids of a run, whose input is read
again.`,
		Example: `  neardup explain draft.txt published.txt
  neardup explain --run night1 http://example.org/a http://example.org/b`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{fmt.Errorf("name two files, or with --run two ids; see %s --help", c.CommandPath())}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			parsed, err := eval.Parse(method)
			if err != nil {
				return usageError{err}
			}
			m, ok := parsed.(*eval.Neardup)
			if !ok {
				return usageError{fmt.Errorf("method %q is a baseline: write classic, balanced, thorough or k=0 to k=15", method)}
			}
			var docs [2]eval.Document
			if run != "" {
				docs, err = documentsOfRun(cmd.Context(), run, args)
			} else {
				docs, err = documentsOfFiles(args)
			}
			if err != nil {
				return err
			}
			e, err := eval.Explain(m, nil, &docs[0], &docs[1])
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(std.out).Encode(e)
			}
			return e.WriteText(std.out)
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "run directory that A and B are ids of")
	cmd.Flags().StringVar(&method, "method", "classic", "method that judges: classic, balanced, thorough or k=0 to k=15")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func documentsOfFiles(paths []string) (docs [2]eval.Document, err error) {
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return docs, err
		}
		docs[i] = eval.Document{ID: path, Text: text}
	}
	return docs, nil
}

func documentsOfRun(ctx context.Context, run string, ids []string) (docs [2]eval.Document, err error) {
	found, err := job.ReadDocuments(ctx, run, ids)
	if err != nil {
		return docs, err
	}
	for i, d := range found {
		docs[i] = eval.Document{ID: string(d.ID), Title: d.Title, Text: d.Text}
	}
	return docs, nil
}
