package cli

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/eval"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/plan"
	"github.com/neardup/neardup/job/internal/show"
)

func newPlan(std streams) *cobra.Command {
	var asJSON bool
	o := plan.Options{Workers: runtime.GOMAXPROCS(0)}
	s := newSettings(std, config.PresetBalanced)
	cmd := &cobra.Command{
		Use:   "plan INPUT…",
		Short: "Estimate what a run would take and find, from a sample",
		Long: `Reads a sample of the inputs, times it on this machine, plants edited copies
into it and has every preset find them. Prints how many documents there are
about, the time, memory and disk of each preset, its precision and recall on the
planted sample, and which one to take. With --library it counts what the nights
in the library take, and how much this one adds to it. With --against it says
what it takes to look for a reference's texts instead, and how many documents of
the sample have some. It writes nothing.`,
		Example: `  neardup plan crawl/2026-11-20/*.warc.gz
  neardup plan crawl/2026-11-20 --library lib
  neardup plan corpus --against evals.jsonl
  neardup plan pages.parquet --documents 5000 --json`,
		Args: needInput,
		RunE: s.run(func(cmd *cobra.Command, cfg config.Config, args []string) error {
			if o.Documents < 1 {
				return usageError{fmt.Errorf("--documents %d: write how many the sample has, like 2000", o.Documents)}
			}
			pass, done := newScreen(std.err, *std.language, asJSON, false).progress("plan")
			o.Pass = pass
			p, err := plan.New(cmd.Context(), cfg, args, o)
			done()
			if err != nil {
				return err
			}
			return std.printed(asJSON, p, func(w io.Writer, l message.Language) error { return printPlan(w, l, p) })
		}),
	}
	group(cmd.Flags(), "Output", func(fs *pflag.FlagSet) {
		fs.IntVar(&o.Documents, "documents", 2000, "documents of the sample")
		bindJSON(fs, &asJSON)
	})
	s.bind(cmd.Flags(), "format", "encoding", "id-column", "text-column", "against-text", "templates", "library", "against")
	s.bindAll(cmd.Flags())
	return cmd
}

func printPlan(w io.Writer, l message.Language, p *plan.Plan) error {
	var out show.Columns
	size := l.Text("%s in %s", show.Bytes(p.Bytes), l.Count(int64(p.Splits), "split"))
	number := l.Text("about %d", rounded(p.Documents))
	if p.Bytes == 0 {
		size, number = l.Text("a stream, of unknown size"), l.Text("at least %d", rounded(p.Documents))
	}
	out.Row(l.Text("input"), size)
	out.Row(l.Text("documents"), l.Text("%s (from a sample of %s in %s; %s skipped)", number, l.Count(int64(p.Sampled), "document"), l.Count(int64(p.SampledFrom), "split"), l.Count(int64(p.Skipped), "record")))
	out.Row(l.Text("texts"), l.Text("%.0f characters on average", p.Characters))
	if p.Against != nil {
		return printAgainst(w, l, p, out)
	}
	out.Row(l.Text("length"), l.Text("in the sample: normal %d, short %d, empty %d; of at most 160 letters %d", p.LengthClasses["normal"], p.LengthClasses["short"], p.LengthClasses["empty"], p.ShortTexts))
	if p.Library != nil {
		out.Row(l.Text("library"), l.Text("%s in %s (%s)", l.Count(p.Library.Documents, "document"), l.Count(int64(p.Library.Nights), "earlier night"), p.Library.Path))
	}
	if err := out.Write(w); err != nil {
		return err
	}
	out = show.Columns{}
	out.Row("")
	out.Row(l.Text("preset"), "k", l.Text("time"), l.Text("CPU"), l.Text("memory"), l.Text("disk"), l.Text("precision"), l.Text("recall"))
	for _, r := range p.Presets {
		out.Row(r.Name, r.Distance, roughly(r.Total), roughly(r.CPU), show.Bytes(r.Memory), show.Bytes(r.Disk+r.Scratch), interval(r.Precision), interval(r.Recall))
	}
	if err := out.Write(w); err != nil {
		return err
	}
	best := p.Presets[0]
	for _, r := range p.Presets {
		if r.Name == p.Recommended {
			best = r
		}
	}
	note := timeIs(l) + l.Text(" disk is the most that the run directory takes if no document is left out.")
	if p.Library != nil {
		note += l.Text(" The library takes %s of the time, and grows by about %s.", roughly(best.Library), show.Bytes(best.Growth))
	}
	_, err := fmt.Fprintf(w, "\n%s\n%s\n\n%s\n",
		fill(note),
		fill(l.Text("precision and recall are of edited copies planted into the sample, a fifth of each page changed, with their 95 %% interval. Documents that resemble each other by themselves count as right if they share half of their character 5-grams. classic has no verification: its precision is an estimate for all documents.")),
		l.Text("take --preset %s --memory %s: of the planted duplicates it finds %.1f %%, and %.1f %% of what it reports is right", p.Recommended, p.Memory, 100*best.Recall.Value, 100*best.Precision.Value))
	return err
}

// printAgainst prints the rest of the plan of a run against a reference.
func printAgainst(w io.Writer, l message.Language, p *plan.Plan, out show.Columns) error {
	a := p.Against
	for i, s := range a.Sets {
		name := ""
		if i == 0 {
			name = l.Text("reference")
		}
		out.Row(name, l.Text("%s: %s, %d more too short, %d repeated", s.Name, l.Count(s.Texts, "text"), s.Short, s.Repeated))
	}
	out.Row(l.Text("in the sample"), l.Text("documents with hits %s, left out %s", interval(a.Hits), interval(a.Left)))
	if err := out.Write(w); err != nil {
		return err
	}
	out = show.Columns{}
	out.Row("")
	out.Row(l.Text("time"), l.Text("CPU"), l.Text("memory"), l.Text("disk"))
	out.Row(roughly(a.Total), roughly(a.CPU), show.Bytes(a.Memory), show.Bytes(a.Disk))
	if err := out.Write(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n\n%s\n", fill(timeIs(l)+l.Text(" Shares have their 95 %% interval.")), l.Text("take --memory %s", p.Memory))
	return err
}

func timeIs(l message.Language) string {
	return l.Text("time is that of this machine when it does nothing else. CPU is the time of all cores together.")
}

// roughly is so many seconds, to a digit or two.
func roughly(seconds float64) string {
	unit := time.Second
	if seconds < 10 {
		unit = 100 * time.Millisecond
	}
	return time.Duration(seconds * float64(time.Second)).Round(unit).String()
}

// interval is a share with its 95 % interval.
func interval(s eval.Share) string {
	if s.Of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3f (%.3f–%.3f)", s.Value, s.Low, s.High)
}

// rounded keeps two digits: an estimate has no more.
func rounded(n int64) int64 {
	if n < 100 {
		return n
	}
	unit := int64(math.Pow10(int(math.Log10(float64(n))) - 1))
	return (n + unit/2) / unit * unit
}
