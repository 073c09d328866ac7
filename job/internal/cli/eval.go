package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/eval"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/labels"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/job/internal/version"
)

// evalFlags are the flags of eval that are no settings.
type evalFlags struct {
	labels   []string
	edits    []string
	planting eval.Planting
	protocol string
	methods  []string
	truth    []string
	options  eval.Options
	maxK     int
	show     int
	html     string
	parquet  string
	json     bool
}

const (
	protocolPaper  = "paper" // the one value of --protocol
	plantedUsually = 500     // duplicates, without --count
)

func newEval(std streams) *cobra.Command {
	f := evalFlags{methods: append(config.Presets(), "minhash"), options: eval.Options{Half: eval.AllPairs, Beside: eval.TruthAll}}
	s := newSettings(std, config.PresetBalanced)
	l := *std.language
	var edits, definitions, methods strings.Builder
	var small []string
	for _, m := range eval.Methods() {
		fmt.Fprintf(&methods, "  %s (%s)\n      %s\n", m.Name, l.Help(m.Source), l.Help(m.Doc))
		if m.Small {
			small = append(small, m.Name)
		}
	}
	for _, e := range eval.Edits() {
		fmt.Fprintf(&edits, "  %-9s %s\n", e.Name, l.Help(e.Doc))
	}
	for _, d := range eval.Definitions() {
		fmt.Fprintf(&definitions, "  %-11s  %s\n", d.Name, l.Help(d.Doc))
	}
	cmd := &cobra.Command{
		Use:   "eval INPUT…",
		Short: "Measure how good methods are, on labelled or planted pairs",
		Long: `Compares methods on the same documents: precision, recall, F1 and time, by
each definition of truth; the clusters; by similarity, length, language,
category and edit; over the threshold and over the distance; the worst false
pairs and misses. The documents may have labelled pairs (--labels), or
duplicates planted by edits (--edits).

A file of labels has a and b, and may have a verdict: yes, no or unsure, as
neardup review writes it. A pair that is labelled no is wrong, whatever its
similarity; one that is unsure counts for nothing. Of several readers the
majority counts. A column or an answer that is not understood is an error, and
so is a file whose rows all have the same verdict.

What makes a pair right says --truth, any of

` + definitions.String() + `
All other figures are by that, and one table by each of them alone.

--protocol paper draws the test set of the method's sources: of five categories
2,000 documents each, 500 of them near-duplicates, planted by eleven edits
unless --edits says which. A document's category is the INPUT it comes from, or
of a single folder the folder or file within it.

` + fill("Edits, each with the share of a document that it changes, or of its length that it adds, like drop=0.2 or page=2; 0.1 where none is given:") + `

` + edits.String() + `
Methods, each with the text that describes it:

` + methods.String() + `
` + fill("And k=0 to k=15 for a distance alone. Behind one of ours stand settings that differ, as in balanced+k=6+limit=0.5: "+eval.Settings+". "+strings.Join(small, ", ")+" compare all pairs of texts, of 5,000 documents at most."),
		Example: `  neardup eval pages.jsonl --labels pairs.csv --methods classic,k=8,minhash
  neardup eval pages.jsonl --edits advert=0.1,drop=0.2 --html report.html
  neardup eval news sport law science arts --protocol paper --show 3`,
		Args: needInput,
		RunE: s.run(func(cmd *cobra.Command, cfg config.Config, args []string) error {
			return runEval(cmd.Context(), std, cfg, f, args)
		}),
	}
	group(cmd.Flags(), "Truth", func(fs *pflag.FlagSet) {
		fs.StringArrayVar(&f.labels, "labels", nil, "file of pairs: JSONL, CSV or Parquet with a and b, or id and cluster; again for other readers")
		fs.StringSliceVar(&f.edits, "edits", nil, "plant duplicates by these edits, like drop=0.2")
		fs.IntVar(&f.planting.Count, "count", 0, "duplicates to plant (default: 500, or one a document)")
		fs.Uint64Var(&f.planting.Seed, "seed", 1, "seed of what is drawn")
		fs.StringVar(&f.protocol, "protocol", "", "draw a test set and plant into it: "+protocolPaper)
		fs.StringSliceVar(&f.truth, "truth", []string{"label", "jaccard"}, "what makes a pair right, any of these")
		fs.Float64Var(&f.options.Alike, "alike", 0.5, "least similarity of near-duplicates")
	})
	group(cmd.Flags(), "Measures", func(fs *pflag.FlagSet) {
		fs.StringSliceVar(&f.methods, "methods", f.methods, "methods to compare")
		fs.IntVar(&f.maxK, "max-k", 8, "measure every distance up to this one; 0: off")
		fs.IntVar(&f.options.Half, "half", f.options.Half, "count one half of the ids only: 0 or 1; -1: all")
	})
	s.bind(cmd.Flags(), "format", "encoding", "id-column", "text-column")
	group(cmd.Flags(), "Output", func(fs *pflag.FlagSet) {
		fs.IntVar(&f.options.Examples, "examples", 10, "false pairs and misses to list")
		fs.IntVar(&f.show, "show", 0, "show this many of each method side by side")
		bindHTML(fs, &f.html)
		fs.StringVar(&f.parquet, "parquet", "", "write its figures into this folder, measures.parquet")
		bindJSON(fs, &f.json)
	})
	s.bindAll(cmd.Flags())
	return cmd
}

// parse checks the flags and reads what they stand for.
func (f *evalFlags) parse() (methods []eval.Method, err error) {
	for _, name := range f.methods {
		m, err := eval.Parse(name)
		if err != nil {
			return nil, fmt.Errorf("--methods: %w", err)
		}
		methods = append(methods, m)
	}
	for _, name := range f.edits {
		edit, err := eval.ParsePlanned(name)
		if err != nil {
			return nil, fmt.Errorf("--edits: %w", err)
		}
		f.planting.Edits = append(f.planting.Edits, edit)
	}
	if f.options.Truth, err = eval.ParseTruth(f.truth); err != nil {
		return nil, err
	}
	switch {
	case f.protocol != "" && f.protocol != protocolPaper:
		return nil, fmt.Errorf("--protocol %q: write %s", f.protocol, protocolPaper)
	case len(f.labels) > 0 && (len(f.planting.Edits) > 0 || f.protocol != ""):
		return nil, errors.New("write either --labels, or --edits or --protocol")
	case f.maxK < 0 || f.maxK > 15:
		return nil, fmt.Errorf("--max-k %d: write a number from 0 to 15", f.maxK)
	}
	return methods, f.options.Check()
}

func runEval(ctx context.Context, std streams, cfg config.Config, f evalFlags, inputs []string) (err error) {
	methods, err := f.parse()
	if err != nil {
		return usageError{err}
	}
	shown := newScreen(std.err, *std.language, f.json, false)
	pass, done := shown.progress("read")
	corpus, err := f.corpus(ctx, cfg, inputs, pass)
	done()
	if err != nil {
		return err
	}
	// The laboratory's passes are those of the stage under way.
	f.options.Pass = func(total int64, unit string) func(int64) { return pass(total, unit) }
	stage := func(name string) func() {
		var done func()
		pass, done = shown.progress(name)
		return done
	}
	done = stage("truth")
	lab, err := eval.New(ctx, corpus, f.options)
	done()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lab.Close()) }()
	report := lab.Report(strings.Join(inputs, " "))
	if err := measure(ctx, stage, lab, report, methods, f.maxK); err != nil {
		return err
	}
	if f.html != "" {
		if err := writePage(f.html, func(w io.Writer) error { return report.WriteHTML(w, *std.language) }); err != nil {
			return err
		}
	}
	if f.parquet != "" {
		if err := os.MkdirAll(f.parquet, 0o777); err != nil {
			return err
		}
		if err := report.WriteParquet(filepath.Join(f.parquet, "measures.parquet"), parquet.Options{Version: version.Version}); err != nil {
			return err
		}
	}
	if f.json {
		return report.WriteJSON(std.out)
	}
	if err := report.WriteText(std.out, *std.language); err != nil {
		return err
	}
	cells, colour := canvas(std.out)
	return report.WriteExamples(std.out, *std.language, f.show, cells, colour)
}

// corpus reads the inputs, in one pass, and adds the truth to them.
func (f *evalFlags) corpus(ctx context.Context, cfg config.Config, inputs []string, pass passes) (*eval.Corpus, error) {
	var pairs []labels.Pair
	if len(f.labels) > 0 {
		rows, err := labels.Read(f.labels...)
		if err == nil {
			err = labels.Telling(rows)
		}
		if err != nil {
			return nil, err
		}
		pairs = labels.Merge(rows)
	}
	corpus, err := readCorpus(ctx, cfg, inputs, pass)
	if err != nil {
		return nil, err
	}
	switch {
	case len(f.labels) > 0:
		if err := corpus.Label(pairs); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(f.labels, ", "), err)
		}
		return corpus, nil
	case f.protocol == "" && len(f.planting.Edits) == 0:
		return corpus, nil
	case f.protocol != "":
		protocol := eval.PaperProtocol(f.planting.Seed)
		if len(f.planting.Edits) > 0 {
			protocol.Edits = f.planting.Edits
		}
		corpus, err = protocol.Apply(corpus)
	default:
		f.planting.Count = cmp.Or(f.planting.Count, min(plantedUsually, len(corpus.Documents)))
		corpus, err = eval.Plant(corpus, f.planting)
	}
	if err != nil {
		return nil, usageError{err}
	}
	return corpus, nil
}

// measure fills the report: every method, each a stage of its name, and ours at
// every distance to maxK.
func measure(ctx context.Context, stage func(name string) (done func()), lab *eval.Lab, report *eval.Report, methods []eval.Method, maxK int) (err error) {
	for i, m := range methods {
		done := stage(fmt.Sprintf("%s (%d/%d)", m.Name(), i+1, len(methods)))
		r, err := lab.Measure(ctx, m)
		done()
		if err != nil {
			return err
		}
		report.Results = append(report.Results, r)
	}
	if maxK == 0 {
		return nil
	}
	defer stage("distances")()
	report.Sweeps, err = lab.Sweeps(ctx, methods, maxK)
	return err
}

// writePage writes a page to a file that appears when it is complete.
func writePage(path string, write func(io.Writer) error) error {
	file, err := data.CreateAtomic(path)
	if errors.Is(err, fs.ErrNotExist) {
		return usageError{fmt.Errorf("%w: name a file of a folder that is there", err)}
	}
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		return errors.Join(err, file.Abort())
	}
	return file.Commit()
}

// canvas says how wide a line of texts side by side may be, and whether it may
// be coloured: on a terminal that can, unless NO_COLOR is set
// (https://no-color.org).
func canvas(out io.Writer) (cells int, colour bool) {
	const usual = 120
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return usual, false
	}
	cells, _, _ = term.GetSize(int(f.Fd()))
	return cmp.Or(cells, usual), os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// readCorpus reads all documents of the inputs, each with its category: the
// input it comes from, or of one folder what within it.
func readCorpus(ctx context.Context, cfg config.Config, inputs []string, pass passes) (*eval.Corpus, error) {
	o := cfg.Input.ReaderOptions()
	o.Missing, o.Unread = nil, nil // what is measured is what was named
	var splits []data.Split
	var from []string // the input that a split is of
	for _, named := range inputs {
		found, err := input.ExpandFiles([]string{named}, cfg.Input, nil)
		if err != nil {
			return nil, err
		}
		splits, from = append(splits, found...), append(from, slices.Repeat([]string{named}, len(found))...)
	}
	var corpus eval.Corpus
	advance := pass(input.Bytes(splits), "bytes")
	for at, split := range splits {
		first := len(corpus.Documents)
		if err := input.EachDocument(ctx, split, o, advance, func(*data.BadRecord) { corpus.Skipped++ }, corpus.Add); err != nil {
			return nil, err
		}
		for i := range corpus.Documents[first:] {
			d := &corpus.Documents[first+i]
			if d.Category = from[at]; len(inputs) == 1 {
				d.Category = within(from[at], split.Path)
			}
		}
	}
	if len(corpus.Documents) == 0 {
		return nil, source.Textless(fmt.Errorf("no document in %s", show.Count(corpus.Skipped, "record")), splits[0], o)
	}
	return &corpus, nil
}

// within returns the first folder, or the file, on the way from a folder to a
// path in it.
func within(folder, path string) string {
	rel, err := filepath.Rel(folder, path)
	if err != nil || rel == "." || strings.HasPrefix(rel, "..") {
		return ""
	}
	first, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	return first
}
