package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/charset"
	"github.com/neardup/neardup/data/warc"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/eval"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/runs"
	"github.com/neardup/neardup/job/internal/show"
)

func newExplain(std streams) *cobra.Command {
	var run, method, page string
	var asJSON bool
	s := newSettings(std, config.PresetBalanced)
	cmd := &cobra.Command{
		Use:   "explain A B",
		Short: "Say why two documents do or do not match",
		Long: `Prints what two documents share and do not: features with their weights,
distance, segment keys, estimated and exact similarity, the verdict with its
rule, and the texts side by side. A and B are files of text or HTML, or ids of
the run that --run names. You can also name a document of an earlier night whose
run directory is beside RUN: by its id, or as NIGHT/ID if this run has the id
too. --method chooses the method that judges. By default it is the run's own, or
balanced for files.

Text that only A has is red, text that only B has is green. Without a terminal,
or with NO_COLOR, brackets mark them: [- -] and {+ +}. What is not compared,
which is boilerplate and the title and summary of short news, is grey or between
[~ and ~].`,
		Example: `  neardup explain draft.txt published.txt --html difference.html
  neardup explain --run night1 http://example.org/a http://example.org/b`,
		Args: need(2, message.Key("two files, or with --run two ids")),
		RunE: s.run(func(cmd *cobra.Command, cfg config.Config, args []string) error {
			m, err := methodOf(run, method)
			if err != nil {
				return err
			}
			var docs [2]eval.Document
			if run != "" {
				docs, err = documentsOfRun(cmd.Context(), run, args)
			} else {
				docs, err = documentsOfFiles(args, cfg.Input.ReaderOptions())
			}
			if run == "" && errors.Is(err, fs.ErrNotExist) {
				return usageError{fmt.Errorf("%w: name two files that are there, or two ids and their run with --run", err)}
			}
			if err != nil {
				return err
			}
			e, err := eval.Explain(m, &docs[0], &docs[1])
			if err != nil {
				return err
			}
			if page != "" {
				if err := writePage(page, func(w io.Writer) error { return e.WriteHTML(w, *std.language) }); err != nil {
					return err
				}
			}
			return std.printed(asJSON, e, func(w io.Writer, l message.Language) error {
				if err := e.WriteText(w, l); err != nil {
					return err
				}
				if _, err := fmt.Fprintln(w); err != nil {
					return err
				}
				cells, colour := canvas(w)
				return show.WriteSideBySide(w, e.Rows(), cells, colour, func(n int) string { return l.Text("… %d the same …", n) })
			})
		}),
	}
	cmd.Flags().StringVar(&run, "run", "", "run directory that A and B are ids of")
	cmd.Flags().StringVar(&method, "method", "", "method that judges, as eval takes it (default: the run's)")
	s.bind(cmd.Flags(), "encoding")
	bindHTML(cmd.Flags(), &page)
	bindJSON(cmd.Flags(), &asJSON)
	return cmd
}

// methodOf returns the method of a name, or without one that of the run. The
// texts are those of the run.
func methodOf(run, method string) (*eval.Neardup, error) {
	m, cfg := eval.Preset(config.PresetBalanced), config.Config{}
	if run != "" {
		var err error
		if _, cfg, err = runs.Settings(run); err != nil {
			return nil, err
		}
		m = &eval.Neardup{Label: "the settings of " + run, Config: cfg}
	}
	if method != "" {
		parsed, err := eval.Parse(method)
		if err != nil {
			return nil, usageError{err}
		}
		var ours bool
		if m, ours = parsed.(*eval.Neardup); !ours {
			return nil, usageError{fmt.Errorf("method %q does not judge two texts alone: write classic, balanced, thorough, piecewise or k=0 to k=15", method)}
		}
	}
	m.Run = run
	if run != "" && m.Features.StripBoilerplate {
		m.Features.Templates = runs.TemplatesOf(run, cfg)
	}
	return m, nil
}

// documentsOfFiles reads text, and of a page of HTML its main text, as a run
// does.
func documentsOfFiles(paths []string, options data.ReaderOptions) (docs [2]eval.Document, err error) {
	decoder, err := charset.NewDecoder(options.Encoding)
	if err != nil {
		return docs, err
	}
	for i, path := range paths {
		body, err := os.ReadFile(path)
		if err != nil {
			return docs, err
		}
		// UTF-16 alone has zero bytes.
		if bytes.IndexByte(body[:min(len(body), 4096)], 0) >= 0 && !strings.HasPrefix(decoder.Decide(body, charset.Hint{}).Name(), "utf-16") {
			return docs, fmt.Errorf("%s is not text: name two files of text or HTML, or with --run two ids of a run", path)
		}
		var d data.Document
		kind := pageType(path, body)
		if err := warc.Page(&d, body, kind, kind == "text/html", options); err != nil {
			return docs, fmt.Errorf("%s: %w", path, err)
		}
		d.ID = []byte(path)
		docs[i] = explained(&d)
	}
	return docs, nil
}

func documentsOfRun(ctx context.Context, run string, ids []string) (docs [2]eval.Document, err error) {
	found, err := runs.FindDocuments(ctx, run, ids)
	for i, d := range found {
		docs[i] = explained(&d.Document)
		docs[i].Night = d.Night
	}
	return docs, err
}

// explained returns the document as eval.Explain takes it.
func explained(d *data.Document) eval.Document {
	text := d.Compared()
	return eval.Document{ID: string(d.ID), Title: d.Title, Text: text, Headline: d.Text[:len(d.Text)-len(text)]}
}
