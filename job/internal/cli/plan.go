package cli

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/eval"
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
about, the time and memory of each preset, its precision and recall on the
planted sample, and which one to take. It writes nothing.`,
		Example: `  neardup plan crawl/2026-11-20/*.warc.gz
  neardup plan pages.parquet --documents 5000 --json`,
		Args: needInput,
		RunE: s.run(func(cmd *cobra.Command, cfg config.Config, args []string) error {
			if o.Documents < 1 {
				return usageError{fmt.Errorf("--documents %d: write how many the sample has, like 2000", o.Documents)}
			}
			pass, done := newScreen(std.err, asJSON, false).progress("plan")
			o.Pass = pass
			p, err := plan.New(cmd.Context(), cfg, args, o)
			done()
			if err != nil {
				return err
			}
			return printed(std.out, asJSON, p, func(w io.Writer) error { return printPlan(w, p) })
		}),
	}
	cmd.Flags().IntVar(&o.Documents, "documents", 2000, "documents of the sample")
	bindJSON(cmd.Flags(), &asJSON)
	s.bind(cmd.Flags(), "format", "encoding", "id-column", "text-column", "templates")
	s.bindAll(cmd.Flags())
	return cmd
}

func printPlan(w io.Writer, p *plan.Plan) error {
	about := func(seconds float64) string {
		unit := time.Second
		if seconds < 10 {
			unit = 100 * time.Millisecond
		}
		return time.Duration(seconds * float64(time.Second)).Round(unit).String()
	}
	share := func(s eval.Share) string {
		if s.Of == 0 {
			return "–"
		}
		return fmt.Sprintf("%.3f (%.3f–%.3f)", s.Value, s.Low, s.High)
	}
	var out show.Columns
	size, number := fmt.Sprintf("%s in %s", show.Bytes(p.Bytes), show.Count(p.Splits, "split")), "about"
	if p.Bytes == 0 {
		size, number = "a stream, of unknown size", "at least"
	}
	row := func(name, format string, args ...any) { out.Row(name, fmt.Sprintf(format, args...)) }
	row("input", "%s", size)
	row("documents", "%s %s (by %s read from %s; %s %s none)", number, show.Number(rounded(p.Documents)), show.Number(int64(p.Sampled)), show.Count(p.SampledFrom, "split"), show.Count(p.Skipped, "record"), show.Agree(p.Skipped, "was", "were"))
	row("texts", "%.0f characters on average", p.Characters)
	row("length", "%d normal, %d short, %d empty of the sample; %d %s at most 160 letters", p.LengthClasses["normal"], p.LengthClasses["short"], p.LengthClasses["empty"], p.ShortTexts, show.Agree(p.ShortTexts, "has", "have"))
	if err := out.Write(w); err != nil {
		return err
	}
	out = show.Columns{}
	out.Row("")
	out.Row("preset", "k", "time", "of it matching", "memory", "precision", "recall")
	for _, r := range p.Presets {
		out.Row(r.Name, r.Distance, about(r.Total), about(r.Match), show.Bytes(r.Memory), share(r.Precision), share(r.Recall))
	}
	if err := out.Write(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, `
time is that of this machine when it does nothing else.
precision and recall are of edited copies planted into the sample (a fifth of the page
changed), with their 95 %% interval; what documents resemble by themselves counts as right
when half of their character 5-grams are shared. classic has no second look: its precision
is what remains of it among all documents.

take --preset %s --memory %s: %s
`, p.Recommended, p.Memory, p.Why)
	return err
}

// rounded keeps two digits: an estimate has no more.
func rounded(n int64) int64 {
	if n < 100 {
		return n
	}
	unit := int64(math.Pow10(int(math.Log10(float64(n))) - 1))
	return (n + unit/2) / unit * unit
}
