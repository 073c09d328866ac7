package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/config"
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/job/eval"
	"github.com/neardup/neardup/job/rundir"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/template"
)

func newExplain(std streams) *cobra.Command {
	var run, method, page string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain A B",
		Short: "Say why two documents do or do not match",
		Long: `Prints what two documents share and do not: features with their weights, distance,
segment keys, estimated and exact similarity, the verdict with its rule, and
the texts side by side. A and B are files of plain text, or with --run ids of a
run, whose input is read again. The verdict is that of --method; without it,
that of the run's own settings, or for files of balanced.

What one text alone has is red or green; where the output is no terminal or
NO_COLOR is set it stands between [- and -], or {+ and +}.`,
		Example: `  neardup explain draft.txt published.txt --html difference.html
  neardup explain --run night1 http://example.org/a http://example.org/b`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{fmt.Errorf("name two files, or with --run two ids; see %s --help", c.CommandPath())}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			m, analyzer, templates, release, err := judge(run, method)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, release()) }()
			var docs [2]eval.Document
			if run != "" {
				docs, err = documentsOfRun(cmd.Context(), run, args, templates)
			} else {
				docs, err = documentsOfFiles(args)
			}
			if err != nil {
				return err
			}
			e, err := eval.Explain(m, analyzer, &docs[0], &docs[1])
			if err != nil {
				return err
			}
			if page != "" {
				if err := writePage(page, e.WriteHTML); err != nil {
					return err
				}
			}
			if asJSON {
				return json.NewEncoder(std.out).Encode(e)
			}
			if err := e.WriteText(std.out); err != nil {
				return err
			}
			cells, colour := terminal(std.out)
			if _, err := fmt.Fprintln(std.out); err != nil {
				return err
			}
			return eval.WriteSideBySide(std.out, e.Rows(), cells, colour)
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "run directory that A and B are ids of")
	cmd.Flags().StringVar(&method, "method", "", "method that judges: classic, balanced, thorough or k=0 to k=15 (default as the run, or balanced)")
	cmd.Flags().StringVar(&page, "html", "", "write the explanation as a page to this file too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// judge returns the named method, or without a name the run's own, with its
// analyzer, which is nil for the method's own features.
func judge(run, method string) (m *eval.Neardup, a *simhash.Analyzer, templates *template.Model, release func() error, err error) {
	release = func() error { return nil }
	if method == "" && run != "" {
		var manifest rundir.Manifest
		if err := rundir.ReadJSON(filepath.Join(run, rundir.ManifestFile), &manifest); err != nil {
			return nil, nil, nil, nil, err
		}
		cfg := config.Default()
		if err := json.Unmarshal(manifest.Config, &cfg); err != nil {
			return nil, nil, nil, nil, fmt.Errorf("%s: %w", filepath.Join(run, rundir.ManifestFile), err)
		}
		m := &eval.Neardup{
			Label: "the settings of " + run, Features: cfg.Features.Options, Distance: cfg.Match.Distance,
			Bands: cfg.Match.Bands, Short: cfg.Match.ShortTexts,
		}
		if cfg.Match.Verified() {
			rules := cfg.Match.Rules()
			m.Rules = &rules
		}
		templates, err = engine.Templates(cfg.Features)
		if err != nil {
			return nil, nil, nil, nil, err
		}
		a, release, err := engine.NewAnalyzer(cfg.Features)
		return m, a, templates, release, err
	}
	if method == "" {
		method = eval.Balanced().Name()
	}
	parsed, err := eval.Parse(method)
	if err != nil {
		return nil, nil, nil, nil, usageError{err}
	}
	m, ok := parsed.(*eval.Neardup)
	if !ok || m.Templates {
		return nil, nil, nil, nil, usageError{fmt.Errorf("method %q does not judge two texts alone: write classic, balanced, thorough or k=0 to k=15", method)}
	}
	return m, nil, nil, release, nil
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

// documentsOfRun reads the documents as the run judged them: without what its
// templates have of their sites.
func documentsOfRun(ctx context.Context, run string, ids []string, templates *template.Model) (docs [2]eval.Document, err error) {
	found, err := job.ReadDocuments(ctx, run, ids)
	if err != nil {
		return docs, err
	}
	for i, d := range found {
		text, _ := templates.Suppress(nil, template.Site(d.ID), d.Text)
		docs[i] = eval.Document{ID: string(d.ID), Title: d.Title, Text: text}
	}
	return docs, nil
}
