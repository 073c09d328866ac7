package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/learn"
	"github.com/neardup/neardup/job/internal/show"
)

func newTemplates(std streams) *cobra.Command {
	var out string
	s := newSettings(std, config.PresetBalanced)
	cmd := &cobra.Command{
		Use:   "templates INPUT… --out FILE",
		Short: "Learn what the pages of each site share: menus, footers, notices",
		Long: `A run learns from a sample what the pages of a site share. This command learns
it from all of the input, for sites of few pages. It samples pages of every site
(the host of an id that is a URL). Of each site with at least 20 pages it writes
the blocks of text that half of its pages have, or 8 with the same digits. With
--templates a run uses this file and learns nothing.`,
		Example: `  neardup templates crawl/2026-11-19/*.wet.gz --out sites.templates
  neardup run crawl --templates sites.templates --out runs/2026-11-20`,
		Args: needInput,
		RunE: s.run(func(cmd *cobra.Command, cfg config.Config, args []string) error {
			if out == "" {
				return usageError{fmt.Errorf("name the file to write with --out; see %s --help", cmd.CommandPath())}
			}
			shown := newScreen(std.err, *std.language, false, false)
			pass, done := shown.progress("templates")
			m, err := learn.Dump{Config: cfg, Inputs: args, Workers: runtime.GOMAXPROCS(0), Pass: pass, Log: shown.log}.Templates(cmd.Context())
			done()
			if err != nil {
				return err
			}
			blob, err := m.MarshalBinary()
			if err != nil {
				return err
			}
			if err := data.WriteFileAtomic(out, blob); err != nil {
				return err
			}
			l := *std.language
			_, err = fmt.Fprintln(std.out, l.Text("%s with shared blocks: %s, %s", l.Count(int64(m.Sites()), "site"), show.Line(out), show.Bytes(int64(len(blob)))))
			return err
		}),
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "file to write")
	s.bind(cmd.Flags(), "format", "encoding", "id-column", "text-column", "max-bad")
	s.bindAll(cmd.Flags())
	return cmd
}
