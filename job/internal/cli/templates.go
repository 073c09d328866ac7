package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/simhash/template"
)

func newTemplates(std streams) *cobra.Command {
	var out, older string
	var o template.Options
	s := newSettings(std, config.PresetBalanced)
	cmd := &cobra.Command{
		Use:   "templates INPUT… --out FILE",
		Short: "Learn what the pages of each site share: menus, footers, notices",
		Long: `Run learns what the pages of a site share from a sample of its input. This
command learns it from all of the input, for sites of few pages: it samples
pages of every site (the host of an id that is a URL), and writes the blocks of
text that at least --share of them have, or 20 just so. Run takes the file as
--templates, and learns nothing then.`,
		Example: `  neardup templates crawl/2026-11-19/*.wet.gz --out sites.templates
  neardup run crawl --templates sites.templates --out runs/2026-11-20`,
		Args: needInput,
		RunE: s.run(func(cmd *cobra.Command, cfg config.Config, args []string) error {
			if err := o.Check(); err != nil {
				return usageError{err}
			}
			if out == "" {
				return usageError{fmt.Errorf("name the file to write with --out; see %s --help", cmd.CommandPath())}
			}
			known, err := engine.Templates(config.Features{Templates: older})
			if err != nil {
				return err
			}
			pass, done := newScreen(std.err, false, false).progress("templates")
			m, err := job.Dump{Config: cfg, Inputs: args, Workers: runtime.GOMAXPROCS(0), Pass: pass}.Templates(cmd.Context(), o)
			done()
			if err != nil {
				return err
			}
			learned := m.Sites()
			m.Merge(known)
			blob, err := m.MarshalBinary()
			if err != nil {
				return err
			}
			if err := data.WriteFileAtomic(out, blob); err != nil {
				return err
			}
			_, err = fmt.Fprintf(std.out, "%s %s a template, %s of them learned from this input: %s, %s\n", show.Count(m.Sites(), "site"), show.Agree(m.Sites(), "has", "have"), show.Number(int64(learned)), show.Line(out), job.Bytes(int64(len(blob))))
			return err
		}),
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "file to write")
	cmd.Flags().StringVar(&older, "older", "", "file learned earlier, to be added")
	cmd.Flags().Float64Var(&o.Share, "share", 0.5, "share of a site's pages that have a block")
	cmd.Flags().IntVar(&o.MinPages, "min-pages", 20, "learn nothing of a site with fewer sampled pages")
	s.bind(cmd.Flags(), "format", "encoding", "id-column", "text-column")
	s.bindAll(cmd.Flags())
	return cmd
}
