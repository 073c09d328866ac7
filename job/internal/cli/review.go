package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/neardup/neardup/job/internal/labels"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/review"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/runs"
	"github.com/neardup/neardup/job/internal/show"
)

// reviewFlags are the flags of review.
type reviewFlags struct {
	options  review.Options
	verdicts []string
	terminal bool
	who      string
	html     string
	drawn    string
	suggest  string
	json     bool
}

func newReview(std streams) *cobra.Command {
	f := reviewFlags{options: review.Options{Count: 200, Seed: 1}}
	if me, err := user.Current(); err == nil {
		f.who = me.Username
	}
	cmd := &cobra.Command{
		Use:   "review RUN",
		Short: "Read pairs of a finished run, and learn how good it is",
		Long: `Draws pairs to read and writes them as a page that opens from a file: keys y, n
and ? judge, u takes back, s saves your verdicts as a file of your own. With
--terminal you read them here, and each verdict is appended to the file that
--verdicts names.

With --verdicts alone it says what the verdicts make of the run, of any number
of readers: precision of what it takes for the same, by stratum, with 95 %
intervals; recall, from pairs that a wider search finds and the run does not;
where readers disagree. --suggest writes a settings file with the limits that
the verdicts ask for. neardup eval --labels takes the same files.

The strata: pairs just within the limit and just beyond it, further beyond,
short texts, contained documents, matches of earlier nights, what was left out
by way of other documents, and the other pairs by the run's reason. The pairs
come mixed, so that you judge without knowing. The page and the drawn pairs
stand in RUN/review; a draw of the same --seed and --draw is used again.`,
		Example: `  neardup review night1
  neardup review night1 --terminal --verdicts mine.csv
  neardup review night1 --verdicts me.csv --verdicts her.csv --suggest new.yaml`,
		Args: need(1, message.Key("one run directory")),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runReview(cmd.Context(), std, f, args[0])
		},
	}
	group(cmd.Flags(), "Draw", func(fs *pflag.FlagSet) {
		fs.IntVar(&f.options.Count, "draw", f.options.Count, "pairs to draw")
		fs.Uint64Var(&f.options.Seed, "seed", f.options.Seed, "seed of what is drawn")
		fs.BoolVar(&f.options.Narrow, "narrow", false, "only what the run found: no wider search")
		fs.StringVar(&f.drawn, "drawn", "", "file of the drawn pairs (default: in RUN/review)")
	})
	group(cmd.Flags(), "Verdicts", func(fs *pflag.FlagSet) {
		fs.StringArrayVar(&f.verdicts, "verdicts", nil, "file of verdicts, CSV or JSONL; again for other readers")
		fs.BoolVar(&f.terminal, "terminal", false, "read the pairs on this terminal")
		fs.StringVar(&f.who, "who", f.who, "your name in the file of verdicts")
		fs.StringVar(&f.suggest, "suggest", "", "write a settings file with the limits that the verdicts ask for")
	})
	group(cmd.Flags(), "Output", func(fs *pflag.FlagSet) {
		bindHTML(fs, &f.html)
		bindJSON(fs, &f.json)
	})
	return cmd
}

func (f *reviewFlags) check() error {
	switch {
	case f.options.Count < 1:
		return fmt.Errorf("--draw %d: write a number from 1", f.options.Count)
	case f.terminal && len(f.verdicts) != 1:
		return fmt.Errorf("--terminal: name one file for your verdicts, as --verdicts mine.csv")
	case f.terminal && f.html != "":
		return fmt.Errorf("write either --terminal or --html")
	case f.suggest != "" && len(f.verdicts) == 0:
		return fmt.Errorf("--suggest: name the files of verdicts with --verdicts")
	}
	return nil
}

func runReview(ctx context.Context, std streams, f reviewFlags, run string) error {
	if err := f.check(); err != nil {
		return usageError{err}
	}
	folder := filepath.Join(run, "review")
	f.drawn = cmp.Or(f.drawn, filepath.Join(folder, fmt.Sprintf("pairs-%d.json", f.options.Seed)))
	language := *std.language
	shown := newScreen(std.err, *std.language, f.json, false)
	draw, err := f.draw(ctx, shown, run)
	if err != nil {
		return err
	}
	if len(f.verdicts) > 0 && !f.terminal {
		return f.judge(std, draw, run, language)
	}
	pass, done := shown.progress("texts")
	items, err := draw.Read(ctx, pass)
	done()
	if err != nil {
		return err
	}
	if f.terminal {
		return f.read(ctx, std, items, language)
	}
	write := func(w io.Writer) error { return draw.WriteHTML(w, items, f.who, language) }
	if f.html == "-" {
		return write(std.out)
	}
	page := cmp.Or(f.html, filepath.Join(folder, fmt.Sprintf("pairs-%d.html", f.options.Seed)))
	if err := writePage(page, write); err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.out, show.Line(page))
	return err
}

// draw returns the pairs that were drawn, or draws them.
func (f *reviewFlags) draw(ctx context.Context, shown *screen, run string) (*review.Draw, error) {
	var draw review.Draw
	err := rundir.ReadJSON(f.drawn, &draw)
	switch {
	case err == nil && (len(f.verdicts) > 0 || draw.Count == f.options.Count && draw.Seed == f.options.Seed && (draw.Widened == "") == f.options.Narrow):
		draw.Run = run
		return &draw, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil && len(f.verdicts) > 0 && !f.terminal:
		return nil, usageError{fmt.Errorf("%s: no pairs were drawn: run neardup review %s first, or name the file of the pairs with --drawn", f.drawn, run)}
	}
	pass, done := shown.progress("draw")
	f.options.Pass = pass
	drawn, err := review.New(ctx, run, f.options)
	done()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(f.drawn), 0o777); err != nil {
		return nil, fmt.Errorf("%w: name a file elsewhere with --drawn, and with --html", err)
	}
	return drawn, rundir.WriteJSON(f.drawn, drawn)
}

// read has somebody read the pairs on the terminal.
func (f *reviewFlags) read(ctx context.Context, std streams, items []review.Item, l message.Language) error {
	s := review.Screen{Keys: std.in, Out: std.out, Language: l, Who: f.who, Path: f.verdicts[0]}
	s.Cells, s.Colour = canvas(std.out)
	in, isFile := std.in.(*os.File)
	if out, ok := std.out.(*os.File); isFile && ok && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd())) {
		_, s.Lines, _ = term.GetSize(int(out.Fd()))
		was, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return err
		}
		defer func() { _ = term.Restore(int(in.Fd()), was) }()
	}
	return s.Read(ctx, items)
}

// judge prints what the verdicts make of the run, and writes what they suggest.
func (f *reviewFlags) judge(std streams, draw *review.Draw, run string, l message.Language) error {
	rows, err := labels.Read(f.verdicts...)
	if err != nil {
		return err
	}
	figures := draw.Judge(rows)
	var suggestion *review.Suggestion
	if f.suggest != "" {
		_, cfg, err := runs.Settings(run)
		if err != nil {
			return err
		}
		suggestion = draw.Suggest(rows, cfg)
		if len(suggestion.Changes) > 0 {
			text, err := suggestion.YAML()
			if err != nil {
				return err
			}
			if err := writePage(f.suggest, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
				return err
			}
		}
	}
	if f.json {
		return json.NewEncoder(std.out).Encode(struct {
			*review.Figures
			Suggestion *review.Suggestion `json:"suggestion,omitempty"`
		}{figures, suggestion})
	}
	if err := figures.WriteText(std.out, l); err != nil || suggestion == nil {
		return err
	}
	if _, err := fmt.Fprintln(std.out); err != nil {
		return err
	}
	if err := suggestion.WriteText(std.out, l); err != nil {
		return err
	}
	written := show.Line(f.suggest)
	if len(suggestion.Changes) == 0 {
		written = l.Text("%s is not written", written)
	}
	_, err = fmt.Fprintln(std.out, written)
	return err
}
