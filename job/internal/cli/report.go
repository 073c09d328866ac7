package cli

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/neardup/neardup/job/internal/report"
	"github.com/neardup/neardup/job/internal/show"
)

func newReport(std streams) *cobra.Command {
	const pageFile = "report.html"
	var page string
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Show a finished run on a page",
		Long: `Writes one page of HTML about a finished run and prints its path: what came
in and what went, by reason, site and language; the largest clusters, pairs
near the limit, contained documents, what the clean dump left out and for which
document, with the texts side by side; of a run with a library what is new. The
page needs no network and no script, and has some MB at most. It is report.html
in RUN, or what --html names; - is standard output.`,
		Example: `  neardup report night1
  neardup report night1 --html - > night1.html`,
		Args: need(1, "one run directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			pass, done := newScreen(std.err, false, false).progress("report")
			r, err := report.Read(cmd.Context(), args[0], pass)
			done()
			if err != nil {
				return err
			}
			if page == "-" {
				return r.WriteHTML(std.out)
			}
			page = cmp.Or(page, filepath.Join(args[0], pageFile))
			if err := writePage(page, r.WriteHTML); err != nil {
				return err
			}
			_, err = fmt.Fprintln(std.out, show.Line(page))
			return err
		},
	}
	bindHTML(cmd.Flags(), &page)
	return cmd
}
